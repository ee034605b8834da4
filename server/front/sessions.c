/* The registry of sessions; see the header. It keeps what it was told and never asks: calls to the
 * supervisor are in edge_supervisor.c, the public object in session_json.c. */
#include "server/front/sessions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cua/log.h"
#include "server/front/sessions_priv.h"
#include "server/front/socket_relay.h"
#include "server/front/strings.h"
#include "server/front/tokens.h"

/* Leases 0 and 1 are nobody's and HTTP's. */
#define FIRST_LEASE 2
/* The longest timer that is set at once. */
#define TIMER_MAX_MS (24ull * 3600 * 1000)

/* ---------------------------------------------------------------- looking up */

const char *sessions_state_dir(const struct sessions *sessions) {
	return sessions->state_dir;
}

struct counters *sessions_counters(struct sessions *sessions) {
	return &sessions->counters;
}

struct peer *sessions_supervisor(struct sessions *sessions) {
	return sessions->supervisor;
}

uint32_t sessions_lease_new(struct sessions *sessions) {
	sessions->last_lease++;
	if (sessions->last_lease < FIRST_LEASE) {
		sessions->last_lease = FIRST_LEASE;
	}
	return sessions->last_lease;
}

bool sessions_synced(const struct sessions *sessions) {
	return sessions->synced;
}

size_t sessions_count(const struct sessions *sessions) {
	return sessions->count;
}

struct session *sessions_at(struct sessions *sessions, size_t number) {
	return number < sessions->count ? sessions->list[number] : NULL;
}

struct session *sessions_get(struct sessions *sessions, const char *id) {
	for (size_t i = 0; i < sessions->count; i++) {
		if (strcmp(sessions->list[i]->told.id, id) == 0) {
			return sessions->list[i];
		}
	}
	return NULL;
}

bool session_visible(const struct session *session, const struct identity *who) {
	return who->role >= CUA_ROLE_VIEWER &&
	       (who->session[0] == '\0' || strcmp(who->session, session->told.id) == 0);
}

bool session_ready(const struct session *session) {
	return session->told.state == cua_State_STATE_RUNNING && session->worker && session->guest;
}

struct match {
	struct session *exact;
	struct session *first; /* that begins so */
	unsigned count;
};

static void match_one(struct match *match, struct session *session, const char *word) {
	if (strcmp(session->told.id, word) == 0 ||
		(strcmp(session->told.name, word) == 0 && !match->exact)) {
		match->exact = session;
	} else if (strncmp(session->told.id, word, strlen(word)) == 0) {
		match->first = session;
		match->count++;
	}
}

struct session *sessions_find(struct sessions *sessions, const char *word,
	const struct identity *who, struct cua_err *err) {
	struct match match = {0};
	for (size_t i = 0; i < sessions->count && *word; i++) {
		if (session_visible(sessions->list[i], who)) {
			match_one(&match, sessions->list[i], word);
		}
	}
	if (match.exact || match.count == 1) {
		return match.exact ? match.exact : match.first;
	}
	if (match.count > 1) {
		(void)cua_err_about(err, CUA_CONFLICT, "session",
			"%.32s is the beginning of %u ids", word, match.count);
	} else if (!sessions->synced) {
		(void)cua_err_about(err, CUA_EXHAUSTED, "sessions", "the server is starting");
	} else {
		(void)cua_err_about(
			err, CUA_NOT_FOUND, "session", "there is no session %.32s", word);
	}
	return NULL;
}

/* ---------------------------------------------------------------- watchers */

void sessions_watch(struct sessions *sessions, struct watcher *watcher) {
	watcher->next = sessions->watchers;
	sessions->watchers = watcher;
}

static void drop_watcher(struct sessions *sessions, struct watcher *watcher) {
	struct watcher **link = &sessions->watchers;
	while (*link && *link != watcher) {
		link = &(*link)->next;
	}
	if (*link) {
		*link = watcher->next;
	}
}

void sessions_unwatch(struct sessions *sessions, struct watcher *watcher) {
	/* The loop below holds the next one: it must not vanish. */
	if (sessions->telling_next == watcher) {
		sessions->telling_next = watcher->next;
	}
	drop_watcher(sessions, watcher);
}

/* Tells the watchers. */
static void sessions_tell(struct sessions *sessions, struct session *session, bool gone) {
	struct watcher *watcher = sessions->watchers;
	while (watcher) {
		sessions->telling_next = watcher->next;
		watcher->changed(watcher->data, session, gone);
		watcher = sessions->telling_next;
	}
	sessions->telling_next = NULL;
}

/* ---------------------------------------------------------------- life time */

static uint64_t epoch_ms(void) {
	struct timespec ts;
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Milliseconds until the session has to end; UINT64_MAX if it has not. */
static uint64_t time_left(const struct session *session) {
	uint64_t left = UINT64_MAX;
	const struct record *record = session->record;
	if (record->expires_ms > 0) {
		uint64_t now = epoch_ms();
		left = record->expires_ms > now ? record->expires_ms - now : 0;
	}
	if (record->idle_ms > 0) {
		bool busy = session->guest && guest_commands(session->guest) > 0;
		uint64_t quiet = busy ? 0 : loop_now_ms() - session->active_ms;
		uint64_t idle_left = record->idle_ms > quiet ? record->idle_ms - quiet : 0;
		left = idle_left < left ? idle_left : left;
	}
	return left;
}

static void on_removed(void *data, const char *id, const struct cua_err *err) {
	(void)data;
	if (err) {
		cua_log(CUA_LOG_WARN, "session=%s cannot be removed at its end: %s", id,
			err->message);
	}
}

static void on_expiry(void *data) {
	struct session *session = data;
	session->expiry = NULL;
	if (time_left(session) > 0) {
		session_arm(session);
		return;
	}
	cua_log(CUA_LOG_INFO, "session=%s reached the end of its life time", session->told.id);
	struct cua_err err;
	if (sessions_remove(session, on_removed, NULL, &err) < 0) {
		on_removed(NULL, session->told.id, &err);
	}
}

void session_arm(struct session *session) {
	session->expiry = loop_timer_cancel(session->expiry);
	uint64_t left = time_left(session);
	if (left != UINT64_MAX) {
		session->expiry = loop_timer_add(session->all->front->loop,
			left < TIMER_MAX_MS ? left : TIMER_MAX_MS, on_expiry, session);
	}
}

void session_touch(struct session *session) {
	session->active_ms = loop_now_ms();
}

int session_save(struct session *session, struct cua_err *err) {
	int r = record_save(session->all->records, session->told.id, session->record, err);
	if (r == 0) {
		sessions_tell(session->all, session, false);
	}
	return r;
}

/* ---------------------------------------------------------------- being told */

/* Calls that are open end with an error. */
static void drop_edges(struct session *session) {
	struct worker *worker = take_ptr(session->worker);
	struct guest *guest = take_ptr(session->guest);
	(void)worker_free(worker);
	(void)guest_free(guest);
}

static struct session *session_free(struct session *session) {
	(void)loop_timer_cancel(session->expiry);
	(void)loop_timer_cancel(session->http_lease);
	drop_edges(session);
	(void)record_free(session->record);
	free(session);
	return NULL;
}

static struct session *session_add(struct sessions *sessions, const cua_SessionState *state) {
	if (sessions->count == sessions->room) {
		size_t room = sessions->room ? 2 * sessions->room : 32;
		struct session **list = realloc(sessions->list, room * sizeof(*list));
		if (!list) {
			return NULL;
		}
		sessions->list = list;
		sessions->room = room;
	}
	struct session *session = calloc(1, sizeof(*session));
	if (!session) {
		return NULL;
	}
	struct cua_err err;
	session->record = record_load(sessions->records, state->id, &err);
	if (err.code != CUA_OK) {
		cua_log(CUA_LOG_WARN, "session=%s %s", state->id, err.message);
	}
	session->all = sessions;
	session->active_ms = loop_now_ms();
	sessions->list[sessions->count++] = session;
	return session;
}

/* Takes it out of the list, ends what is open, tells everybody, then frees it. */
static void session_end(struct sessions *sessions, struct session *session) {
	for (size_t i = 0; i < sessions->count; i++) {
		if (sessions->list[i] == session) {
			memmove(&sessions->list[i], &sessions->list[i + 1],
				(sessions->count - i - 1) * sizeof(session));
			sessions->count--;
			break;
		}
	}
	record_remove(sessions->records, session->told.id);
	struct cua_err err;
	if (sessions->front->tokens &&
		tokens_revoke_session(sessions->front->tokens, session->told.id, &err) < 0) {
		cua_log(CUA_LOG_WARN, "session=%s its tokens remain: %s", session->told.id,
			err.message);
	}
	drop_edges(session); /* answers to what is open come before the news */
	sessions_tell(sessions, session, true);
	(void)session_free(session);
}

/* Commands of a spec start once the desktop is there, for a window manager that is still starting may
 * overlook a window; a running one is left alone by cuad-init. */
static void start_command(struct session *session) {
	if (!session->guest || !session->record->command ||
		session->told.state != cua_State_STATE_RUNNING) {
		return;
	}
	struct strings argv = {0};
	struct strings env = {0};
	struct cua_err err;
	int r = strings_from_list(&argv, session->record->command, &err);
	if (r == 0) {
		r = strings_from_map(&env, session->record->env, &err);
	}
	if (r == 0) {
		r = guest_desktop_command(
			session->guest, strings_span(&argv), strings_span(&env), &err);
	}
	if (r < 0) {
		cua_log(CUA_LOG_WARN, "session=%s its command was not started: %s",
			session->told.id, err.message);
	}
	strings_done(&argv);
	strings_done(&env);
}

void sessions_take_state(struct sessions *sessions, const cua_SessionState *state) {
	struct session *session = sessions_get(sessions, state->id);
	if (state->state == cua_State_STATE_GONE) {
		if (session) {
			session_end(sessions, session);
		}
		return;
	}
	bool fresh = session == NULL;
	if (fresh) {
		session = session_add(sessions, state);
	}
	if (!session) {
		cua_log(CUA_LOG_ERROR, "session=%s no memory to list it", state->id);
		return;
	}
	session->told = *state;
	if (fresh) {
		session_arm(session);
	}
	start_command(session);
	sessions_tell(sessions, session, false);
}

static void on_worker_down(void *owner, const struct cua_err *why) {
	struct session *session = owner;
	cua_log(CUA_LOG_INFO, "session=%s desktop worker: %s", session->told.id, why->message);
	session->worker = worker_free(session->worker);
	sessions_tell(session->all, session, false);
}

static void on_guest_down(void *owner, const struct cua_err *why) {
	struct session *session = owner;
	cua_log(CUA_LOG_INFO, "session=%s init: %s", session->told.id, why->message);
	session->guest = guest_free(session->guest);
	sessions_tell(session->all, session, false);
}

static const struct worker_ops worker_ops = {
	.down = on_worker_down,
	.socket = session_socket,
};

static void take_worker(struct session *session, int sock, struct cua_err *err) {
	struct sessions *all = session->all;
	session->worker = worker_free(session->worker);
	session->worker =
		worker_new(all->front->loop, all->scratch, sock, &worker_ops, session, err);
}

static void take_guest(struct session *session, int sock, struct cua_err *err) {
	struct sessions *all = session->all;
	session->guest = guest_free(session->guest);
	session->guest =
		guest_new(all->front->loop, all->scratch, sock, on_guest_down, session, err);
	start_command(session);
}

void sessions_take_link(struct sessions *sessions, const cua_SessionLink *link, int sock) {
	struct session *session = sessions_get(sessions, link->id);
	if (!session) {
		(void)close(sock);
		cua_log(CUA_LOG_WARN, "session=%s a link came for an unknown session", link->id);
		return;
	}
	struct cua_err err = {.code = CUA_OK};
	if (link->edge == 3) {
		take_worker(session, sock, &err);
	} else {
		take_guest(session, sock, &err);
	}
	if (err.code != CUA_OK) {
		cua_log(CUA_LOG_WARN, "session=%s E%" PRIu32 ": %s", link->id, link->edge,
			err.message);
	}
	sessions_tell(sessions, session, false);
}

static bool is_known(void *data, const char *id) {
	return sessions_get(data, id) != NULL;
}

void sessions_take_synced(struct sessions *sessions) {
	sessions->synced = true;
	record_sweep(sessions->records, is_known, sessions);
}

/* ---------------------------------------------------------------- the whole */

struct sessions *sessions_new(
	struct front *front, int supervisor, const char *state_dir, struct cua_err *err) {
	_cleanup_fd_ int sock = supervisor;
	struct sessions *sessions = calloc(1, sizeof(*sessions));
	if (!sessions) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the sessions");
		return NULL;
	}
	sessions->front = front;
	(void)snprintf(sessions->state_dir, sizeof(sessions->state_dir), "%s", state_dir);
	sessions->records = record_dir_open(state_dir, err);
	if (sessions->records < 0) {
		return sessions_free(sessions);
	}
	sessions->scratch = calloc(1, sizeof(*sessions->scratch));
	if (!sessions->scratch) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a message");
		return sessions_free(sessions);
	}
	if (edge_supervisor_open(sessions, take_fd(sock), err) < 0) {
		return sessions_free(sessions);
	}
	return sessions;
}

struct sessions *sessions_free(struct sessions *sessions) {
	if (!sessions) {
		return NULL;
	}
	(void)peer_free(sessions->supervisor);
	while (sessions->count > 0) {
		(void)session_free(sessions->list[--sessions->count]);
	}
	free(sessions->list);
	free(sessions->scratch);
	if (sessions->records >= 0) {
		(void)close(sessions->records);
	}
	free(sessions);
	return NULL;
}
