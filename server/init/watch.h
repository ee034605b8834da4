/* Tells when something appears in a directory. */
#pragma once

#include "server/init/loop.h"

/* A watched directory, embedded in its owner. */
struct watch {
	struct loop *loop;
	struct loop_source source;
	void (*on_change)(void *self);
	void *self;
};

/* Prepares the struct; nothing is watched yet. */
void watch_init(struct watch *watch, struct loop *loop, void (*on_change)(void *self), void *self);
/* Calls on_change whenever a name was created in or moved into the directory of this path (its last
 * component may be missing, the directory may not). Replaces what was watched. */
int watch_parent(struct watch *watch, const char *path, struct cua_err *err) CUA_CHECK;
/* Stops; fine if nothing is watched. */
void watch_stop(struct watch *watch);
