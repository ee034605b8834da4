/* WebSocket /v1/events: sessions as they come, change and go. The first messages tell of those that
 * exist. */
#include <stdlib.h>

#include "server/front/api.h"
#include "server/front/front.h"
#include "server/front/sessions.h"

struct events {
	struct ws *ws;
	struct front *front;
	struct identity who;
	struct watcher watcher;
};

static void send_change(struct events *events, const struct session *session, bool gone) {
	if (session_visible(session, &events->who)) {
		(void)ws_send_json(
			events->ws, json_pack("{s:s, s:b, s:o}", "event", "session", "gone",
					    (int)gone, "session", session_json(session)));
	}
}

static void on_changed(void *data, struct session *session, bool gone) {
	send_change(data, session, gone);
}

static void *on_open(struct ws *ws, struct cua_err *err) {
	struct events *events = calloc(1, sizeof(*events));
	if (!events) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a connection");
		return NULL;
	}
	events->ws = ws;
	events->front = ws_front(ws);
	events->who = *request_identity(ws_request(ws));
	events->watcher = (struct watcher){.changed = on_changed, .data = events};
	struct sessions *sessions = events->front->sessions;
	for (size_t i = 0; i < sessions_count(sessions); i++) {
		send_change(events, sessions_at(sessions, i), false);
	}
	sessions_watch(sessions, &events->watcher);
	return events;
}

static void on_message(void *state, struct cua_span data, bool binary) {
	(void)data;
	(void)binary;
	struct events *events = state;
	ws_close(events->ws, 1008, "nothing is expected here");
}

static void on_close(void *state) {
	struct events *events = state;
	sessions_unwatch(events->front->sessions, &events->watcher);
	free(events);
}

static const struct ws_ops ops = {.open = on_open, .message = on_message, .close = on_close};

static const struct route routes[] = {
	{.method = HTTP_GET,
		.pattern = "/v1/events",
		.role = CUA_ROLE_VIEWER,
		.ws = &ops,
		.protocol = "cua.events.v1",
		.summary = "Changes of sessions as they happen."},
};

const struct route *events_routes(size_t *ret_count) {
	*ret_count = CUA_COUNT(routes);
	return routes;
}
