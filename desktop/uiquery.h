/* Which accessible nodes are meant: role, name, states. Pure. Patterns and texts are untrusted, so
 * the time that a regular expression may take is bounded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cua/msg.h"

struct ui_query;

/* What a query looks at. Strings may be NULL. */
struct ui_subject {
	uint32_t role;
	uint64_t states;
	const char *name;
	const char *value;
};

/* The query of an action's parameters; without any of role, name and states it takes every node.
 * -CUA_INVALID about the parameter. NULL on failure; the caller frees it. */
struct ui_query *ui_query_new(const cua_Args *args, struct cua_err *err);
/* Nodes whose name or value contains the text, without regard to the case of ASCII. NULL on failure. */
struct ui_query *ui_query_text(const char *text, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct ui_query *ui_query_free(struct ui_query *query);

/* True when it looks at this. */
bool ui_query_role(const struct ui_query *query);
bool ui_query_name(const struct ui_query *query);
bool ui_query_values(const struct ui_query *query);
/* True when all that the query asks for is there. */
bool ui_query_matches(struct ui_query *query, const struct ui_subject *subject);
/* True when its regular expression took too long, after which it matches nothing. */
bool ui_query_slow(const struct ui_query *query);
