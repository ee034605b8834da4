/* What cuad itself remembers of a session, beyond what the supervisor keeps: one JSON file for each,
 * STATE/front/sessions/ID.json, replaced as a whole. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cua/err.h"
#include "cua/limits.h"

struct record {
	json_t *labels; /* object of strings; never NULL */
	json_t *env; /* object of strings; never NULL */
	json_t *command; /* list of strings; NULL without one */
	char title[CUA_TITLE_SIZE];
	char owner[CUA_ID_SIZE]; /* the token that made it; "" for the control socket */
	uint64_t expires_ms; /* since the epoch; 0: never */
	uint64_t idle_ms; /* 0: no limit */
};

/* An empty record; aborts without memory, which a handful of bytes does not lack. */
struct record *record_new(void);
/* NULL is fine. Returns NULL. */
struct record *record_free(struct record *record);
CUA_DEFINE_CLEANUP(struct record *, record_free)

/* Opens STATE/front/sessions, which is made if need be. The descriptor, or negative. */
int record_dir_open(const char *state_dir, struct cua_err *err) CUA_CHECK;
/* Writes the record of a session. */
int record_save(
	int dir, const char *id, const struct record *record, struct cua_err *err) CUA_CHECK;
/* Reads it; an empty one if there is none or if it cannot be understood (err then says why and has
 * a code, else its code is CUA_OK). Never NULL. */
struct record *record_load(int dir, const char *id, struct cua_err *err);
void record_remove(int dir, const char *id);
/* Removes the records of which `keep` says no. */
void record_sweep(int dir, bool (*keep)(void *data, const char *id), void *data);
