/* All sessions as cuad knows them, and the edges to the supervisor, the workers and the inits.
 *
 * The supervisor tells the truth about a session's life; cuad adds what only clients care for
 * (labels, title, environment, command, life time), kept in STATE/front/sessions/ID.json. A session
 * is looked up by id, by name, or by a unique prefix of its id. Pointers to a session are valid
 * until the loop runs again: keep the id. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/front/http.h"
#include "server/front/record.h"

struct peer;
struct sessions;
struct worker;
struct guest;

struct session {
	cua_SessionState told; /* id, name, state, … as the supervisor told them last */
	struct record *record; /* labels and so on; never NULL */
	struct sessions *all;
	struct worker *worker; /* NULL while its E3 is down */
	struct guest *guest; /* NULL while its E5 is down */
	cua_Usage usage; /* as last told */
	unsigned sockets; /* that the worker has asked for and not got yet */
	uint64_t active_ms; /* loop_now_ms() of the last action */
	struct loop_timer *expiry;
	struct loop_timer *http_lease;
};

/* Where sessions' numbers for /metrics are counted. */
struct counters {
	uint64_t actions[CUA_ACTION_MAX_];
	uint64_t failures[CUA_ACTION_MAX_];
	uint64_t commands; /* started by exec, launch and pty */
	uint64_t created;
};

/* Takes the supervisor's socket (E1). Listeners that come over it go to front->server. When the
 * supervisor is gone the loop is stopped. NULL on failure; the socket is closed then. */
struct sessions *sessions_new(
	struct front *front, int supervisor, const char *state_dir, struct cua_err *err);
/* Frees everything; sessions live on. NULL is fine. Returns NULL. */
struct sessions *sessions_free(struct sessions *sessions);

/* The directory of the state ("/var/lib/cuad"). */
const char *sessions_state_dir(const struct sessions *sessions);
struct counters *sessions_counters(struct sessions *sessions);
/* The edge to the supervisor, for calls by serial. */
struct peer *sessions_supervisor(struct sessions *sessions);
/* A number that no other connection has, for keys and buttons held (see ActionRequest). */
uint32_t sessions_lease_new(struct sessions *sessions);
/* True when the supervisor has told of all that exist; none is made before. */
bool sessions_synced(const struct sessions *sessions);
/* Number of sessions, those that are starting or failed included. */
size_t sessions_count(const struct sessions *sessions);
/* The number-th one; NULL beyond the end. */
struct session *sessions_at(struct sessions *sessions, size_t number);

/* Finds a session for somebody: by id, name or unique prefix of the id. NULL with not_found (also
 * for what the identity may not see) or conflict (several begin so). */
struct session *sessions_find(struct sessions *sessions, const char *word,
	const struct identity *who, struct cua_err *err);
/* By exact id; NULL if there is none. */
struct session *sessions_get(struct sessions *sessions, const char *id);
/* True if the identity may see it. */
bool session_visible(const struct session *session, const struct identity *who);
/* True when it runs and both of its edges are up. */
bool session_ready(const struct session *session);
/* Notes that somebody uses it, for the idle limit. */
void session_touch(struct session *session);
/* "starting" and so on. */
const char *session_state_name(cua_State state);
/* The public object of contract.md; the caller decrefs. */
json_t *session_json(const struct session *session);
/* Saves the record after a change and tells the watchers. */
int session_save(struct session *session, struct cua_err *err) CUA_CHECK;
/* Starts the timer that ends the session by its ttl or idle limit, after a change of either. */
void session_arm(struct session *session);

/* Answers of the calls below: err is NULL on success. Called once, never from inside the call. */
typedef void sessions_done(void *data, const char *id, const struct cua_err *err);
/* Asks the supervisor for a new session. The record is taken over in any case. done is called when
 * the supervisor has accepted or refused; ret_id tells the new id. 0 or negative (done is not
 * called then). */
int sessions_create(struct sessions *sessions, const cua_SessionCreate *wanted,
	struct record *record, sessions_done *done, void *data, struct cua_err *err) CUA_CHECK;
/* Asks the supervisor to remove it; done is called when it is gone, or could not be removed. */
int sessions_remove(
	struct session *session, sessions_done *done, void *data, struct cua_err *err) CUA_CHECK;
/* Asks for fresh figures of these sessions; done (with err NULL) when all came or a deadline is
 * over. ids is copied. */
void sessions_refresh_usage(struct sessions *sessions, const char (*ids)[CUA_ID_SIZE], size_t count,
	void (*done)(void *data), void *data);

/* Somebody who wants to know of every change. */
struct watcher {
	/* gone: the last call for this session. */
	void (*changed)(void *data, struct session *session, bool gone);
	void *data;
	/* private */
	struct watcher *next;
};
/* The struct is the caller's until sessions_unwatch(); both are fine inside a callback. */
void sessions_watch(struct sessions *sessions, struct watcher *watcher);
void sessions_unwatch(struct sessions *sessions, struct watcher *watcher);
