/* /v1/sessions: creating, listing, showing, changing and removing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/front/api.h"
#include "server/front/config.h"
#include "server/front/front.h"
#include "server/front/sessions.h"
#include "server/front/spec.h"

/* A request that is answered later. */
struct pending {
	struct request *req; /* NULL after the client has left */
	struct front *front;
	struct watcher watcher;
	bool watching;
	bool wait; /* until it runs */
	char id[CUA_ID_SIZE]; /* "" as long as it has none */
	struct identity who;
	char (*ids)[CUA_ID_SIZE]; /* list: whose figures were asked for */
	size_t id_count;
};

static void on_gone(void *data) {
	struct pending *pending = data;
	pending->req = NULL;
}

static struct pending *pending_new(struct request *req) {
	struct pending *pending = calloc(1, sizeof(*pending));
	if (!pending) {
		abort();
	}
	pending->req = req;
	pending->front = request_front(req);
	pending->who = *request_identity(req);
	request_on_gone(req, on_gone, pending);
	return pending;
}

static void pending_free(struct pending *pending) {
	if (pending->watching) {
		sessions_unwatch(pending->front->sessions, &pending->watcher);
	}
	free(pending->ids);
	free(pending);
}

static void pending_fail(struct pending *pending, const struct cua_err *err) {
	if (pending->req) {
		request_reply_error(pending->req, err);
	}
	pending_free(pending);
}

static struct session *find(struct request *req, struct cua_err *err) {
	return sessions_find(
		request_front(req)->sessions, request_param(req, "id"), request_identity(req), err);
}

/* ---------------------------------------------------------------- creating */

static void created_reply(struct pending *pending, const struct session *session) {
	if (pending->req) {
		request_reply_json(pending->req, 201, session_json(session));
	}
	pending_free(pending);
}

/* Answers when the session is as far as the client wants it. */
static void on_created_change(void *data, struct session *session, bool gone) {
	struct pending *pending = data;
	if (strcmp(session->told.id, pending->id) != 0) {
		return;
	}
	struct cua_err err;
	if (gone) {
		(void)cua_err_set(&err, CUA_CONFLICT, "session %s was removed before it ran",
			session->told.id);
		pending_fail(pending, &err);
	} else if (session->told.state == cua_State_STATE_FAILED) {
		(void)cua_err_about(&err, CUA_INTERNAL, "session", "session %s failed: %s",
			session->told.id, session->told.reason);
		pending_fail(pending, &err);
	} else if (!pending->wait || session_ready(session)) {
		created_reply(pending, session);
	}
}

/* The supervisor has taken it; what becomes of it is told by its state. */
static void on_accepted(void *data, const char *id, const struct cua_err *err) {
	struct pending *pending = data;
	if (err) {
		pending_fail(pending, err);
		return;
	}
	(void)snprintf(pending->id, sizeof(pending->id), "%s", id);
	pending->watcher = (struct watcher){.changed = on_created_change, .data = pending};
	pending->watching = true;
	sessions_watch(pending->front->sessions, &pending->watcher);
	struct session *session = sessions_get(pending->front->sessions, id);
	if (session) {
		on_created_change(pending, session, false);
	}
}

static uint64_t epoch_ms(void) {
	struct timespec ts;
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static struct record *record_of(struct spec *spec, const struct identity *who) {
	struct record *record = record_new();
	if (spec->labels) {
		json_decref(record->labels);
		record->labels = take_ptr(spec->labels);
	}
	if (spec->env) {
		json_decref(record->env);
		record->env = take_ptr(spec->env);
	}
	record->command = take_ptr(spec->command);
	memcpy(record->title, spec->title, sizeof(record->title));
	memcpy(record->owner, who->token_id, sizeof(record->owner));
	record->idle_ms = spec->idle_ms;
	record->expires_ms = spec->ttl_ms > 0 ? epoch_ms() + spec->ttl_ms : 0;
	return record;
}

static int create(struct pending *pending, struct spec *spec, struct cua_err *err) {
	cua_SessionCreate wanted = {
		.screen = spec->screen, .limits = spec->limits, .network = spec->network};
	const char *template =
		spec->template[0] ? spec->template : pending->front->config->default_template;
	(void)snprintf(wanted.name, sizeof(wanted.name), "%s", spec->name);
	(void)snprintf(wanted.template, sizeof(wanted.template), "%s", template);
	return sessions_create(pending->front->sessions, &wanted, record_of(spec, &pending->who),
		on_accepted, pending, err);
}

static int read_spec(
	struct request *req, const json_t *json, struct spec *ret, struct cua_err *err) {
	const struct config *config = request_front(req)->config;
	struct spec_screens screens;
	memcpy(screens.usual, config->screen, sizeof(screens.usual));
	memcpy(screens.max, config->screen_max, sizeof(screens.max));
	return spec_read(json, &screens, ret, err);
}

static void post_session(struct request *req) {
	struct cua_err err;
	struct spec spec;
	json_t *json = request_json(req, &err);
	if (!json || read_spec(req, json, &spec, &err) < 0) {
		json_decref(json);
		request_reply_error(req, &err);
		return;
	}
	json_decref(json);
	struct pending *pending = pending_new(req);
	const char *wait = request_query(req, "wait");
	pending->wait = !wait || strcmp(wait, "0") != 0;
	if (create(pending, &spec, &err) < 0) {
		pending_fail(pending, &err);
	}
	spec_done(&spec);
}

/* ---------------------------------------------------------------- showing */

static bool label_matches(const struct session *session, const char *wanted) {
	const char *equals = strchr(wanted, '=');
	char key[128];
	(void)snprintf(key, sizeof(key), "%.*s",
		equals ? (int)(equals - wanted) : (int)strlen(wanted), wanted);
	const char *value = json_string_value(json_object_get(session->record->labels, key));
	return value && (!equals || strcmp(value, equals + 1) == 0);
}

static bool is_wanted(const struct request *req, const struct session *session) {
	const char *state = request_query(req, "state");
	const char *label = request_query(req, "label");
	return session_visible(session, request_identity(req)) &&
	       (!state || strcmp(state, session_state_name(session->told.state)) == 0) &&
	       (!label || label_matches(session, label));
}

static void on_list_figures(void *data) {
	struct pending *pending = data;
	json_t *list = json_array();
	for (size_t i = 0; pending->req && i < pending->id_count; i++) {
		struct session *session = sessions_get(pending->front->sessions, pending->ids[i]);
		if (session) {
			(void)json_array_append_new(list, session_json(session));
		}
	}
	if (pending->req) {
		request_reply_json(pending->req, 200, json_pack("{s:O}", "sessions", list));
	}
	json_decref(list);
	pending_free(pending);
}

static void get_sessions(struct request *req) {
	struct pending *pending = pending_new(req);
	struct sessions *sessions = pending->front->sessions;
	pending->ids = calloc(sessions_count(sessions) + 1, sizeof(*pending->ids));
	for (size_t i = 0; pending->ids && i < sessions_count(sessions); i++) {
		const struct session *session = sessions_at(sessions, i);
		if (is_wanted(req, session)) {
			memcpy(pending->ids[pending->id_count++], session->told.id, CUA_ID_SIZE);
		}
	}
	sessions_refresh_usage(sessions, (const char(*)[CUA_ID_SIZE])pending->ids,
		pending->id_count, on_list_figures, pending);
}

static void on_figures(void *data) {
	struct pending *pending = data;
	struct session *session = sessions_get(pending->front->sessions, pending->id);
	struct cua_err err;
	if (!session) {
		(void)cua_err_about(&err, CUA_NOT_FOUND, "session", "the session is gone");
		pending_fail(pending, &err);
		return;
	}
	if (pending->req) {
		request_reply_json(pending->req, 200, session_json(session));
	}
	pending_free(pending);
}

/* Answers with the session, its figures fresh. */
static void show(struct request *req, const struct session *session) {
	struct pending *pending = pending_new(req);
	memcpy(pending->id, session->told.id, sizeof(pending->id));
	sessions_refresh_usage(pending->front->sessions, (const char(*)[CUA_ID_SIZE]) & pending->id,
		1, on_figures, pending);
}

static void get_session(struct request *req) {
	struct cua_err err;
	struct session *session = find(req, &err);
	if (session) {
		show(req, session);
	} else {
		request_reply_error(req, &err);
	}
}

/* ---------------------------------------------------------------- changing */

/* Null takes a label away. */
static int change_labels(json_t **labels, const json_t *change, struct cua_err *err) {
	json_t *merged = json_copy(*labels);
	const char *key = NULL;
	json_t *value = NULL;
	json_object_foreach((json_t *)(uintptr_t)change, key, value) {
		if (json_is_null(value)) {
			(void)json_object_del(merged, key);
		} else {
			(void)json_object_set(merged, key, value);
		}
	}
	if (json_object_size(merged) > CUA_LABELS_MAX) {
		json_decref(merged);
		return cua_err_about(
			err, CUA_INVALID, "labels", "at most %d labels", CUA_LABELS_MAX);
	}
	json_decref(*labels);
	*labels = merged;
	return 0;
}

static int change(struct session *session, const struct spec *spec, struct cua_err *err) {
	struct record *record = session->record;
	int r = spec->labels ? change_labels(&record->labels, spec->labels, err) : 0;
	if (r < 0) {
		return r;
	}
	if (spec->has_title) {
		memcpy(record->title, spec->title, sizeof(record->title));
	}
	if (spec->has_ttl) {
		record->expires_ms = spec->ttl_ms > 0 ? epoch_ms() + spec->ttl_ms : 0;
	}
	if (spec->has_idle) {
		record->idle_ms = spec->idle_ms;
	}
	session_arm(session);
	return session_save(session, err);
}

static void patch_session(struct request *req) {
	struct cua_err err;
	struct spec spec = {0};
	struct session *session = find(req, &err);
	json_t *json = session ? request_json(req, &err) : NULL;
	int r = json ? spec_read_change(json, &spec, &err) : -1;
	if (r == 0) {
		r = change(session, &spec, &err);
		spec_done(&spec);
	}
	json_decref(json);
	if (r < 0) {
		request_reply_error(req, &err);
	} else {
		show(req, session);
	}
}

/* ---------------------------------------------------------------- removing */

static void on_removed(void *data, const char *id, const struct cua_err *err) {
	struct pending *pending = data;
	(void)id;
	if (err) {
		pending_fail(pending, err);
		return;
	}
	if (pending->req) {
		request_reply_empty(pending->req, 204, NULL);
	}
	pending_free(pending);
}

static void delete_session(struct request *req) {
	struct cua_err err;
	struct session *session = find(req, &err);
	if (!session) {
		request_reply_error(req, &err);
		return;
	}
	struct pending *pending = pending_new(req);
	if (sessions_remove(session, on_removed, pending, &err) < 0) {
		pending_fail(pending, &err);
	}
}

static const struct route routes[] = {
	{.method = HTTP_POST,
		.pattern = "/v1/sessions",
		.role = CUA_ROLE_OPERATOR,
		.handler = post_session,
		.summary = "Launch a session and wait until it runs; ?wait=0 answers at once."},
	{.method = HTTP_GET,
		.pattern = "/v1/sessions",
		.role = CUA_ROLE_VIEWER,
		.handler = get_sessions,
		.summary = "List sessions; ?state=S and ?label=K=V choose."},
	{.method = HTTP_GET,
		.pattern = "/v1/sessions/{id}",
		.role = CUA_ROLE_VIEWER,
		.handler = get_session,
		.summary = "Show a session."},
	{.method = HTTP_PATCH,
		.pattern = "/v1/sessions/{id}",
		.role = CUA_ROLE_OPERATOR,
		.handler = patch_session,
		.summary = "Change labels, title, ttl or idle of a session."},
	{.method = HTTP_DELETE,
		.pattern = "/v1/sessions/{id}",
		.role = CUA_ROLE_OPERATOR,
		.handler = delete_session,
		.summary = "Remove a session; answers when it is gone."},
};

const struct route *api_session_routes(size_t *ret_count) {
	*ret_count = CUA_COUNT(routes);
	return routes;
}
