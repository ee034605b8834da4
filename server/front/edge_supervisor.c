/* E1: what the supervisor tells and what is asked of it. Sessions are created and removed here; what
 * becomes of them arrives in sessions.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cua/ident.h"
#include "cua/log.h"
#include "server/front/lws.h"
#include "server/front/sessions_priv.h"

/* ---------------------------------------------------------------- what comes unasked */

static int on_state(void *owner, struct cua_msg *msg, struct cua_err *err) {
	const cua_SessionState *state = &msg->body.session_state;
	if (!cua_id_ok(state->id)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "the state of a session without an id");
	}
	sessions_take_state(owner, state);
	return 0;
}

static int on_link(void *owner, struct cua_msg *msg, struct cua_err *err) {
	if (msg->body.session_link.edge != 3 && msg->body.session_link.edge != 5) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a link of an unknown kind");
	}
	sessions_take_link(owner, &msg->body.session_link, take_fd(msg->fd[0]));
	return 0;
}

static int on_listener(void *owner, struct cua_msg *msg, struct cua_err *err) {
	struct sessions *sessions = owner;
	const cua_ListenerHandover *told = &msg->body.listener;
	const cua_Listener *listener = told->has_listener ? &told->listener : NULL;
	struct listener_tls tls = {0};
	if (listener && listener->has_tls_cert && listener->has_tls_key) {
		tls = (struct listener_tls){.cert = listener->tls_cert, .key = listener->tls_key};
	}
	struct cua_err why;
	int r = server_add_listener(sessions->front->server, take_fd(msg->fd[0]),
		told->kind == 0 ? LISTENER_CONTROL : LISTENER_TCP, tls.cert ? &tls : NULL, &why);
	if (r < 0) {
		cua_log(CUA_LOG_ERROR, "cannot listen on %s: %s",
			listener ? listener->address : "the control socket", why.message);
	}
	(void)err;
	return 0;
}

static int on_synced(void *owner, struct cua_msg *msg, struct cua_err *err) {
	(void)msg;
	(void)err;
	sessions_take_synced(owner);
	return 0;
}

static const struct peer_row rows[] = {
	PEER_ANSWER(CUA_MSG_REPLY, reply),
	PEER_ANSWER(CUA_MSG_USAGE, usage),
	PEER_ANSWER(CUA_MSG_BUILD_PROGRESS, build_progress),
	{.type = CUA_MSG_SESSION_STATE, .handle = on_state},
	{.type = CUA_MSG_SESSION_LINK, .handle = on_link},
	{.type = CUA_MSG_LISTENER, .handle = on_listener},
	{.type = CUA_MSG_SYNCED, .handle = on_synced},
};

/* Nothing can be done without it, and whoever starts it again starts us too. */
static void on_down(void *owner, const struct cua_err *why) {
	struct sessions *sessions = owner;
	cua_log(CUA_LOG_ERROR, "the supervisor is gone: %s", why->message);
	loop_stop(sessions->front->loop);
}

int edge_supervisor_open(struct sessions *sessions, int sock, struct cua_err *err) {
	sessions->supervisor = peer_new(sock,
		&(struct peer_config){.loop = sessions->front->loop,
			.scratch = sessions->scratch,
			.dirs = CUA_DIR_SUPERVISOR_TO_CUAD,
			.rows = rows,
			.row_count = CUA_COUNT(rows),
			.on_down = on_down,
			.owner = sessions},
		err);
	return sessions->supervisor ? 0 : -CUA_INTERNAL;
}

/* ---------------------------------------------------------------- creating */

struct request_op {
	struct sessions *sessions;
	char id[CUA_ID_SIZE];
	uint32_t serial;
	sessions_done *done;
	void *data;
	struct watcher watcher; /* removal only */
};

static int reply_error(const struct cua_msg *msg, struct cua_err *ret) {
	if (msg->type != CUA_MSG_REPLY) {
		return cua_err_set(ret, CUA_INTERNAL, "the supervisor answered with %s",
			cua_msg_name(msg->type));
	}
	return msg->body.reply.has_error ? cua_error_from_wire(&msg->body.reply.error, ret) : 0;
}

static bool on_created(void *data, struct cua_msg *msg, const struct cua_err *err) {
	_cleanup_free_ struct request_op *op = data;
	struct cua_err own;
	if (msg && reply_error(msg, &own) < 0) {
		err = &own;
	}
	if (err && !sessions_get(op->sessions, op->id)) {
		record_remove(op->sessions->records, op->id);
	}
	if (!err) {
		op->sessions->counters.created++;
	}
	op->done(op->data, op->id, err);
	return false;
}

static int check_name(struct sessions *sessions, const char *name, struct cua_err *err) {
	for (size_t i = 0; i < sessions->count; i++) {
		const cua_SessionState *told = &sessions->list[i]->told;
		if (strcmp(told->name, name) == 0 || strcmp(told->id, name) == 0) {
			return cua_err_about(
				err, CUA_CONFLICT, "name", "a session is called %s already", name);
		}
	}
	return 0;
}

static int send_create(struct request_op *op, cua_SessionCreate *body, struct cua_err *err) {
	op->serial = body->serial = peer_serial(op->sessions->supervisor);
	return peer_call(op->sessions->supervisor,
		&(struct peer_call){.serial = body->serial,
			.deadline_ms = CUA_CREATE_REPLY_MS,
			.answer = on_created,
			.data = op},
		&(struct cua_out){.type = CUA_MSG_SESSION_CREATE, .body = body}, err);
}

int sessions_create(struct sessions *sessions, const cua_SessionCreate *wanted,
	struct record *taken, sessions_done *done, void *data, struct cua_err *err) {
	_cleanup_(record_free_p) struct record *record = taken;
	if (!sessions->synced) {
		return cua_err_about(err, CUA_EXHAUSTED, "sessions", "the server is starting");
	}
	cua_SessionCreate body = *wanted;
	cua_id_new(body.id);
	if (body.name[0] == '\0') {
		(void)snprintf(body.name, sizeof(body.name), "%s", body.id);
	}
	int r = check_name(sessions, body.name, err);
	if (r < 0) {
		return r;
	}
	_cleanup_free_ struct request_op *op = calloc(1, sizeof(*op));
	if (!op) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a session");
	}
	*op = (struct request_op){.sessions = sessions, .done = done, .data = data};
	memcpy(op->id, body.id, sizeof(op->id));
	r = record_save(sessions->records, body.id, record, err);
	if (r == 0) {
		r = send_create(op, &body, err);
	}
	if (r < 0) {
		record_remove(sessions->records, body.id);
		return r;
	}
	(void)take_ptr(op);
	return 0;
}

/* ---------------------------------------------------------------- removing */

static void removal_end(struct request_op *op, const struct cua_err *err) {
	sessions_unwatch(op->sessions, &op->watcher);
	op->done(op->data, op->id, err);
	free(op);
}

static void on_removal_progress(void *data, struct session *session, bool gone) {
	struct request_op *op = data;
	if (gone && strcmp(session->told.id, op->id) == 0) {
		peer_forget(op->sessions->supervisor, op->serial);
		removal_end(op, NULL);
	}
}

/* After a plain yes the end of the session itself is still to come. */
static bool on_removed(void *data, struct cua_msg *msg, const struct cua_err *err) {
	struct request_op *op = data;
	struct cua_err own;
	if (msg && reply_error(msg, &own) < 0) {
		err = &own;
	}
	if (err || !sessions_get(op->sessions, op->id)) {
		removal_end(op, err);
	}
	return false;
}

int sessions_remove(struct session *session, sessions_done *done, void *data, struct cua_err *err) {
	struct sessions *sessions = session->all;
	_cleanup_free_ struct request_op *op = calloc(1, sizeof(*op));
	if (!op) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory to remove a session");
	}
	*op = (struct request_op){.sessions = sessions, .done = done, .data = data};
	op->watcher = (struct watcher){.changed = on_removal_progress, .data = op};
	memcpy(op->id, session->told.id, sizeof(op->id));
	cua_SessionDelete body = {.serial = peer_serial(sessions->supervisor)};
	op->serial = body.serial;
	memcpy(body.id, session->told.id, sizeof(body.id));
	int r = peer_call(sessions->supervisor,
		&(struct peer_call){.serial = body.serial,
			.deadline_ms = CUA_CREATE_REPLY_MS,
			.answer = on_removed,
			.data = op},
		&(struct cua_out){.type = CUA_MSG_SESSION_DELETE, .body = &body}, err);
	if (r < 0) {
		return r;
	}
	sessions_watch(sessions, &op->watcher);
	(void)take_ptr(op);
	return 0;
}

/* ---------------------------------------------------------------- usage */

struct refresh {
	struct sessions *sessions;
	size_t open; /* questions without an answer, and one for the asking itself */
	void (*done)(void *data);
	void *data;
};

struct question {
	struct refresh *refresh;
	char id[CUA_ID_SIZE];
};

static void refresh_close_one(struct refresh *refresh) {
	if (--refresh->open == 0) {
		refresh->done(refresh->data);
		free(refresh);
	}
}

/* Figures that do not come stay as they were. */
static bool on_usage(void *data, struct cua_msg *msg, const struct cua_err *err) {
	_cleanup_free_ struct question *question = data;
	(void)err;
	struct session *session = sessions_get(question->refresh->sessions, question->id);
	if (session && msg && msg->type == CUA_MSG_USAGE && !msg->body.usage.has_error) {
		session->usage = msg->body.usage;
	}
	refresh_close_one(question->refresh);
	return false;
}

static void ask_usage(struct refresh *refresh, const char *id) {
	struct question *question = calloc(1, sizeof(*question));
	if (!question) {
		return;
	}
	question->refresh = refresh;
	memcpy(question->id, id, sizeof(question->id));
	cua_UsageRequest body = {.serial = peer_serial(refresh->sessions->supervisor)};
	memcpy(body.id, id, sizeof(body.id));
	int r = peer_call(refresh->sessions->supervisor,
		&(struct peer_call){.serial = body.serial,
			.deadline_ms = CUA_USAGE_MS,
			.answer = on_usage,
			.data = question},
		&(struct cua_out){.type = CUA_MSG_USAGE_REQUEST, .body = &body}, NULL);
	if (r < 0) {
		free(question);
		return;
	}
	refresh->open++;
}

static void on_asked(void *data) {
	refresh_close_one(data);
}

void sessions_refresh_usage(struct sessions *sessions, const char (*ids)[CUA_ID_SIZE], size_t count,
	void (*done)(void *data), void *data) {
	struct refresh *refresh = calloc(1, sizeof(*refresh));
	if (!refresh) {
		abort();
	}
	*refresh = (struct refresh){.sessions = sessions, .open = 1, .done = done, .data = data};
	for (size_t i = 0; i < count; i++) {
		ask_usage(refresh, ids[i]);
	}
	(void)loop_timer_add(sessions->front->loop, 0, on_asked, refresh);
}
