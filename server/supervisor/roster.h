/* The list of sessions and the questions that are asked of it before a new one is let in. */
#pragma once

#include "server/supervisor/session.h"

/* By exact id; NULL if there is none. */
struct session *roster_find(const struct supervisor *sup, const char *id);
/* A zeroed session at the end of the list. */
struct session *roster_add(struct supervisor *sup);
/* Takes it out of the list and frees the struct alone. */
void roster_remove(struct session *session);
/* Lowest slot that no session has. */
uint32_t roster_free_slot(const struct supervisor *sup);
/* The oldest husk, when there are more than are kept; else NULL. */
struct session *roster_surplus(const struct supervisor *sup);

/* May a session of this record start now? -CUA_CONFLICT for an id or name in use, -CUA_NOT_FOUND
 * about the template, -CUA_EXHAUSTED about "sessions" or "memory". */
int roster_admit(const struct supervisor *sup, const struct plan_record *record,
	struct cua_err *err) CUA_CHECK;

/* Names of the sessions made from the template, with commas, as many as fit; "" if there are none. */
void roster_users(const struct supervisor *sup, const char *template, char *ret, size_t size);

/* Copies of the plans of the sessions that may have a container, behind a reclaim_args head. The
 * caller frees it. */
struct reclaim_args *roster_plans(const struct supervisor *sup, size_t *ret_size);
