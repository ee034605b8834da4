/* The directory of finished templates: one build at a time, replaced as a whole. */
#pragma once

#include <stdint.h>

#include "cua/err.h"
#include "cua/limits.h"

struct store {
	char dir[256]; /* STATE/templates */
	char name[CUA_NAME_SIZE];
	char building[512]; /* dir/.building-NAME-PID */
	char final[512]; /* dir/NAME */
	int lock; /* owned; -1 when closed */
};

/* Opens the store of a state directory for building one template: makes it, waits for another build
 * to end, removes what builds that died left behind and replaced templates that nothing uses. */
int store_open(
	struct store *store, const char *state, const char *name, struct cua_err *err) CUA_CHECK;
/* Removes an unfinished build and gives the lock back. Fine after store_commit(). */
void store_close(struct store *store);

/* Puts the finished build in place at once. An older template of the name that sessions still use is
 * renamed to .old-NAME-PID and goes away with a later build. */
int store_commit(struct store *store, struct cua_err *err) CUA_CHECK;
