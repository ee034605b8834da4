/* The sessions' records on disk: STATE/sessions/ID/record, the only memory that outlives us.
 *
 * A record is short text: a line with the version, then KEY=VALUE lines. It is written whole and
 * renamed, so that a reader sees the old or the new one. Blocking (fsync): writes happen in op
 * children. */
#pragma once

#include "server/supervisor/plan.h"

/* Makes STATE (0711), STATE/sessions and STATE/templates where they are missing. */
int store_open(const struct plan_host *host, struct cua_err *err) CUA_CHECK;

/* Writes the record, with its directory where that is missing. */
int store_write(const struct plan_host *host, const struct plan_record *record,
	struct cua_err *err) CUA_CHECK;

/* Reads a record. -CUA_NOT_FOUND: there is none. -CUA_INVALID: it is damaged, or of a version that
 * this program does not know; ret is untouched. */
int store_read(const struct plan_host *host, const char *id, struct plan_record *ret,
	struct cua_err *err) CUA_CHECK;

/* The record of the text; results as above. Any bytes are fine as input. */
int store_parse(
	const char *text, size_t len, struct plan_record *ret, struct cua_err *err) CUA_CHECK;
/* The text of a record. Returns its length; size must be at least STORE_TEXT_MAX. */
size_t store_format(const struct plan_record *record, char *ret_text, size_t size);

/* Names of the directories below STATE/sessions that are ids, at most CUA_SESSIONS_MAX of them. The
 * caller frees *ret_ids. Returns their number. */
int store_list(
	const struct plan_host *host, char (**ret_ids)[CUA_ID_SIZE], struct cua_err *err) CUA_CHECK;

/* The same for the directories below RUN/sessions. */
int store_list_run(
	const struct plan_host *host, char (**ret_ids)[CUA_ID_SIZE], struct cua_err *err) CUA_CHECK;

#define STORE_TEXT_MAX 2048
