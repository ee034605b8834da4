/* The session spec of clients (contract.md section 4), read strictly: every key is in one table, and
 * an unknown key, a wrong type or a value out of range is an error that names the key. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cua/err.h"
#include "cua/limits.h"
#include "wire.pb.h"

struct spec {
	char name[CUA_NAME_SIZE]; /* "" without one */
	char template[CUA_NAME_SIZE]; /* "" without one */
	char title[CUA_TITLE_SIZE];
	cua_Screen screen;
	cua_Limits limits; /* only what was given */
	cua_Network network;
	json_t *labels; /* object of strings; NULL without any */
	json_t *env; /* object of strings; NULL without any */
	json_t *command; /* list of strings; NULL without one */
	uint64_t ttl_ms; /* 0: none */
	uint64_t idle_ms; /* 0: none */
	bool has_title, has_ttl, has_idle;
};

/* Frees what the spec refers to. */
void spec_done(struct spec *spec);

/* Width and height where a spec does not say. */
struct spec_screens {
	uint32_t usual[2];
	uint32_t max[2]; /* or the session's own size where that is larger */
};

/* Reads the spec of a new session. 0 and *ret, which must be given to spec_done(); or negative. */
int spec_read(const json_t *json, const struct spec_screens *defaults, struct spec *ret,
	struct cua_err *err) CUA_CHECK;
/* Reads a change of a session: labels (null removes one), title, ttl, idle. */
int spec_read_change(const json_t *json, struct spec *ret, struct cua_err *err) CUA_CHECK;

/* Both as JSON Schema. */
json_t *spec_schema(void);
json_t *spec_change_schema(void);
