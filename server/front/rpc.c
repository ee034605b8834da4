/* WebSocket /v1/sessions/{id}/rpc: JSON-RPC whose methods are the actions. Calls may be pipelined;
 * ordered actions of a connection wait for each other, the others run at once. */
#include <stdlib.h>
#include <string.h>

#include "cua/limits.h"
#include "server/front/api.h"
#include "server/front/front.h"
#include "server/front/perform.h"
#include "server/front/result.h"
#include "server/front/rpc_message.h"
#include "server/front/worker.h"

/* Beyond these the client is not read until it has taken its answers. */
#define UNSENT_MAX (8u << 20)

struct rpc {
	struct ws *ws; /* NULL after the connection's end */
	struct front *front;
	struct identity who;
	struct watcher watcher;
	char session[CUA_ID_SIZE];
	uint32_t lease;
	size_t open; /* calls without an answer */
	size_t size; /* bytes that they came in */
	bool full; /* the client has not taken its answers */
	bool ordered_runs;
	bool over; /* the connection has ended */
	struct call *first; /* ordered calls that wait */
	struct call *last;
};

/* A JSON-RPC batch: its answers leave together. */
struct group {
	size_t open;
	json_t *answers;
};

struct call {
	struct call *next;
	struct rpc *rpc;
	struct group *group; /* NULL for a call of its own */
	json_t *value; /* what rpc_call borrows from; owned */
	struct rpc_call rpc_call;
	bool ordered;
	size_t size; /* of the text that it came in */
};

/* ---------------------------------------------------------------- the connection */

static void rpc_free_if_over(struct rpc *rpc) {
	if (!rpc->ws && rpc->open == 0) {
		free(rpc);
	}
}

/* Reading stops while too much is unanswered or unsent. */
static void update_reading(struct rpc *rpc) {
	if (rpc->ws) {
		ws_pause(rpc->ws,
			rpc->full || rpc->open >= CUA_RPC_INFLIGHT || rpc->size > CUA_RPC_BYTES);
	}
}

static void note_queued(struct rpc *rpc, size_t queued) {
	rpc->full = queued > UNSENT_MAX;
}

static void send_json(struct rpc *rpc, json_t *json) {
	if (rpc->ws) {
		note_queued(rpc, ws_send_json(rpc->ws, json));
	} else {
		json_decref(json);
	}
}

static void send_binary(struct rpc *rpc, json_t *answer, struct cua_span bytes) {
	size_t len = 0;
	_cleanup_free_ void *head = rpc->ws ? rpc_binary_head(answer, &len) : NULL;
	json_decref(answer);
	if (head) {
		note_queued(rpc, ws_send_binary(rpc->ws,
					 (struct cua_span){.data = head, .len = len}, bytes));
	}
}

/* ---------------------------------------------------------------- answers */

static void group_add(struct rpc *rpc, struct group *group, json_t *answer) {
	if (answer) {
		(void)json_array_append_new(group->answers, answer);
	}
	if (--group->open > 0) {
		return;
	}
	if (json_array_size(group->answers) > 0) {
		send_json(rpc, group->answers);
	} else {
		json_decref(group->answers);
	}
	free(group);
}

/* Sends an answer where it belongs; NULL for a notification. */
static void deliver(struct rpc *rpc, struct group *group, json_t *answer) {
	if (group) {
		group_add(rpc, group, answer);
	} else if (answer) {
		send_json(rpc, answer);
	}
}

static int code_of(const struct outcome *outcome) {
	switch (outcome->fault) {
	case PERFORM_UNKNOWN_ACTION:
		return RPC_METHOD_NOT_FOUND;
	case PERFORM_BAD_PARAMS:
		return RPC_INVALID_PARAMS;
	case PERFORM_FAILED:
		break;
	}
	return RPC_FAILED;
}

static json_t *error_answer(json_t *id, const struct outcome *outcome, const struct cua_err *err) {
	json_t *data = result_error(err, outcome->detail);
	(void)json_object_del(data, "message");
	return rpc_error(id, code_of(outcome), err->message, data);
}

static void answer_picture(struct call *call, const struct outcome *outcome) {
	(void)json_object_set_new(
		outcome->picture, "bytes", json_integer((json_int_t)outcome->bytes.len));
	send_binary(call->rpc, rpc_answer(call->rpc_call.id, json_incref(outcome->result)),
		outcome->bytes);
}

static void answer(struct call *call, const struct outcome *outcome, const struct cua_err *err) {
	json_t *id = call->rpc_call.id;
	struct cua_err own;
	if (!id) {
		deliver(call->rpc, call->group, NULL);
		return;
	}
	if (!err && outcome->picture && call->rpc_call.binary && !call->group) {
		answer_picture(call, outcome);
		return;
	}
	if (!err && outcome_inline_picture(outcome, &own) < 0) {
		err = &own;
	}
	deliver(call->rpc, call->group,
		err ? error_answer(id, outcome, err)
		    : rpc_answer(id, json_incref(outcome->result)));
}

/* ---------------------------------------------------------------- calls */

static void run_next(struct rpc *rpc);

/* Lets go of what the connection holds. */
static void let_go(struct rpc *rpc) {
	struct session *session = sessions_get(rpc->front->sessions, rpc->session);
	if (session && session->worker) {
		worker_lease_end(session->worker, rpc->lease);
	}
}

static void call_free(struct call *call) {
	call->rpc->open--;
	call->rpc->size -= call->size;
	rpc_call_done(&call->rpc_call);
	json_decref(call->value);
	free(call);
}

static void on_done(void *data, const struct outcome *outcome, const struct cua_err *err) {
	struct call *call = data;
	struct rpc *rpc = call->rpc;
	answer(call, outcome, err);
	if (call->ordered) {
		rpc->ordered_runs = false;
	}
	call_free(call);
	if (rpc->over || ws_silent(rpc->ws)) {
		let_go(rpc); /* an action that had begun or waited meanwhile may have pressed something */
	}
	run_next(rpc);
	update_reading(rpc);
	rpc_free_if_over(rpc);
}

static void run(struct call *call) {
	struct rpc *rpc = call->rpc;
	perform(&(struct perform_ask){.front = rpc->front,
			.who = &rpc->who,
			.session = rpc->session,
			.lease = rpc->lease,
			.action = call->rpc_call.method,
			.params = call->rpc_call.params,
			.over = &rpc->over},
		on_done, call);
}

static struct call *take_first(struct rpc *rpc) {
	struct call *call = rpc->first;
	rpc->first = call->next;
	if (!rpc->first) {
		rpc->last = NULL;
	}
	return call;
}

/* The next ordered call, if its predecessor has ended. After the connection's end none begins. */
static void run_next(struct rpc *rpc) {
	if (rpc->ws && rpc->first && !rpc->ordered_runs) {
		rpc->ordered_runs = true;
		run(take_first(rpc));
	}
}

static void enqueue(struct rpc *rpc, struct call *call) {
	if (rpc->last) {
		rpc->last->next = call;
	} else {
		rpc->first = call;
	}
	rpc->last = call;
	run_next(rpc);
}

static bool is_ordered(const char *method) {
	int id = cua_action_find(method);
	return id >= 0 && cua_action_get((unsigned)id)->ordered;
}

/* A notification that is well-formed as such gets no answer, whatever is wrong with its content. */
static void refuse(struct rpc *rpc, struct group *group, const struct rpc_call *parsed, int code,
	const char *why) {
	bool silent = !parsed->id && code != RPC_INVALID_REQUEST;
	deliver(rpc, group, silent ? NULL : rpc_error(parsed->id, code, why, NULL));
}

/* One call of a message; what cannot be understood is answered at once. */
static void take_call(struct rpc *rpc, json_t *value, size_t size, struct group *group) {
	struct rpc_call parsed;
	const char *why = NULL;
	int code = rpc_read(value, &parsed, &why);
	struct call *call = code == 0 ? calloc(1, sizeof(*call)) : NULL;
	if (!call) {
		if (code == 0) {
			rpc_call_done(&parsed);
		}
		refuse(rpc, group, &parsed, code ? code : RPC_FAILED, why ? why : "no memory");
		return;
	}
	*call = (struct call){.rpc = rpc,
		.group = group,
		.value = json_incref(value),
		.rpc_call = parsed,
		.ordered = is_ordered(parsed.method),
		.size = size};
	rpc->open++;
	rpc->size += size;
	if (call->ordered) {
		enqueue(rpc, call);
	} else {
		run(call);
	}
}

static void take_group(struct rpc *rpc, const json_t *list, size_t size) {
	size_t count = json_array_size(list);
	if (count == 0 || count > CUA_BATCH_MAX) {
		send_json(rpc,
			rpc_error(NULL, RPC_INVALID_REQUEST,
				count ? "too many calls in one message" : "no calls in the message",
				NULL));
		return;
	}
	struct group *group = calloc(1, sizeof(*group));
	if (!group) {
		return;
	}
	group->answers = json_array();
	group->open = count;
	for (size_t i = 0; i < count; i++) {
		take_call(rpc, json_array_get(list, i), size / count, group);
	}
}

/* ---------------------------------------------------------------- the socket */

static void on_changed(void *data, struct session *session, bool gone) {
	struct rpc *rpc = data;
	if (gone && strcmp(session->told.id, rpc->session) == 0) {
		ws_close(rpc->ws, 1001, "the session is gone");
	}
}

static void *on_open(struct ws *ws, struct cua_err *err) {
	const struct request *req = ws_request(ws);
	struct front *front = ws_front(ws);
	struct session *session = sessions_find(
		front->sessions, request_param(req, "id"), request_identity(req), err);
	if (!session) {
		return NULL;
	}
	struct rpc *rpc = calloc(1, sizeof(*rpc));
	if (!rpc) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a connection");
		return NULL;
	}
	rpc->ws = ws;
	rpc->front = front;
	rpc->who = *request_identity(req);
	rpc->lease = sessions_lease_new(front->sessions);
	memcpy(rpc->session, session->told.id, sizeof(rpc->session));
	rpc->watcher = (struct watcher){.changed = on_changed, .data = rpc};
	sessions_watch(front->sessions, &rpc->watcher);
	return rpc;
}

static void on_message(void *state, struct cua_span data, bool binary) {
	struct rpc *rpc = state;
	const char *why = "a message is text";
	json_t *json = binary ? NULL : rpc_decode(data, &why);
	if (!json) {
		send_json(rpc, rpc_error(NULL, RPC_PARSE_ERROR, why, NULL));
	} else if (json_is_array(json)) {
		take_group(rpc, json, data.len);
	} else {
		take_call(rpc, json, data.len, NULL);
	}
	json_decref(json);
	update_reading(rpc);
}

static void on_drain(void *state) {
	struct rpc *rpc = state;
	rpc->full = false;
	update_reading(rpc);
}

/* Forgets the calls that wait; a group whose calls are all forgotten goes with them. */
static void drop_waiting(struct rpc *rpc) {
	while (rpc->first) {
		struct call *call = take_first(rpc);
		deliver(rpc, call->group, NULL);
		call_free(call);
	}
}

static void on_close(void *state) {
	struct rpc *rpc = state;
	rpc->ws = NULL;
	rpc->over = true;
	sessions_unwatch(rpc->front->sessions, &rpc->watcher);
	drop_waiting(rpc);
	let_go(rpc);
	rpc_free_if_over(rpc);
}

static void on_silent(void *state) {
	let_go(state);
}

static const struct ws_ops ops = {
	.open = on_open,
	.message = on_message,
	.drain = on_drain,
	.silent = on_silent,
	.close = on_close,
};

static const struct route routes[] = {
	{.method = HTTP_GET,
		.pattern = "/v1/sessions/{id}/rpc",
		.role = CUA_ROLE_VIEWER,
		.ws = &ops,
		.protocol = "cua.rpc.v1",
		.summary = "JSON-RPC 2.0: every action is a method."},
};

const struct route *rpc_routes(size_t *ret_count) {
	*ret_count = CUA_COUNT(routes);
	return routes;
}
