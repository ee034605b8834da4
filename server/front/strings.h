/* Lists of strings as messages carry them: one after the other, each with its NUL. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cua/msg.h"

struct strings {
	char *bytes;
	size_t len;
	size_t room;
};

/* Frees the bytes; the list is empty then. */
void strings_done(struct strings *strings);
/* All of it; valid until the next change. */
struct cua_span strings_span(const struct strings *strings);
/* Appends bytes as they are. */
int strings_append(struct strings *strings, struct cua_span bytes, struct cua_err *err) CUA_CHECK;
/* Appends every string of a JSON list. */
int strings_from_list(struct strings *strings, const json_t *list, struct cua_err *err) CUA_CHECK;
/* Appends KEY=VALUE for every member of a JSON object of strings. */
int strings_from_map(struct strings *strings, const json_t *map, struct cua_err *err) CUA_CHECK;
/* The environment of a command: the session's variables (a JSON object), with those of the call
 * ("K=V" strings) in place of the ones of the same name. Negative also for a malformed blob. */
int strings_environment(struct strings *strings, const json_t *session, struct cua_span call,
	struct cua_err *err) CUA_CHECK;
