/* E3; see the header. Only messages: what results look like to clients is in result.c. */
#include "server/front/worker.h"

#include <stdlib.h>
#include <unistd.h>

/* `settle_max` where an action that settles does not say. */
#define SETTLE_MAX_MS 5000

struct worker {
	struct peer *peer;
	const struct worker_ops *ops;
	void *owner;
};

struct asked {
	worker_answer *answer;
	void *data;
};

static int on_socket_request(void *owner, struct cua_msg *msg, struct cua_err *err) {
	struct worker *worker = owner;
	(void)err;
	worker->ops->socket(worker->owner, &msg->body.socket_request);
	return 0;
}

static const struct peer_row rows[] = {
	PEER_ANSWER(CUA_MSG_ACTION_RESULT, action_result),
	{.type = CUA_MSG_SOCKET_REQUEST, .handle = on_socket_request},
};

static void on_peer_down(void *owner, const struct cua_err *why) {
	struct worker *worker = owner;
	worker->ops->down(worker->owner, why);
}

struct worker *worker_new(struct loop *loop, struct cua_msg *scratch, int sock,
	const struct worker_ops *ops, void *owner, struct cua_err *err) {
	struct worker *worker = calloc(1, sizeof(*worker));
	if (!worker) {
		(void)close(sock);
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for an edge");
		return NULL;
	}
	worker->ops = ops;
	worker->owner = owner;
	worker->peer = peer_new(sock,
		&(struct peer_config){.loop = loop,
			.scratch = scratch,
			.dirs = CUA_DIR_WORKER_TO_CUAD,
			.rows = rows,
			.row_count = CUA_COUNT(rows),
			.on_down = on_peer_down,
			.owner = worker},
		err);
	if (!worker->peer) {
		free(worker);
		return NULL;
	}
	return worker;
}

struct worker *worker_free(struct worker *worker) {
	if (worker) {
		(void)peer_free(worker->peer);
		free(worker);
	}
	return NULL;
}

static bool on_result(void *data, struct cua_msg *msg, const struct cua_err *err) {
	_cleanup_free_ struct asked *request = data;
	struct cua_span none = {0};
	struct cua_err own;
	if (!msg) {
		request->answer(request->data, NULL, none, err);
	} else if (msg->body.action_result.has_error) {
		(void)cua_error_from_wire(&msg->body.action_result.error, &own);
		request->answer(request->data, NULL, none, &own);
	} else {
		request->answer(request->data, &msg->body.action_result,
			msg->blob_count > 0 ? msg->blob[0] : none, NULL);
	}
	return false;
}

static uint64_t text_ms(const struct cua_call *call) {
	const cua_Args *args = &call->args;
	if (call->id != CUA_ACTION_TYPE && call->id != CUA_ACTION_UI_SET_VALUE) {
		return 0;
	}
	struct cua_span text = cua_call_blob(call, args->has_text, args->text);
	/* characters are at most as many as bytes; one millisecond for each is ample */
	return text.len * (1 + (args->has_delay ? (uint64_t)args->delay : 0));
}

static uint64_t timeout_ms(const struct cua_call *call) {
	const cua_Args *args = &call->args;
	if (call->id == CUA_ACTION_WAIT_FOR) {
		return args->has_timeout ? args->timeout : CUA_WAIT_FOR_MS;
	}
	/* of the actions on accessible nodes: to find the node, to tell it, and to see that it did it */
	return args->has_timeout ? UINT64_C(3) * args->timeout : 0;
}

/* A program that hangs has this time to handle the keys before these. */
static uint64_t keyboard_ms(const struct cua_call *call) {
	switch (call->id) {
	case CUA_ACTION_KEY:
	case CUA_ACTION_KEY_DOWN:
	case CUA_ACTION_TYPE:
	case CUA_ACTION_PASTE:
	case CUA_ACTION_UI_SET_VALUE:
		return CUA_KEYBOARD_MS;
	default:
		return call->args.modifiers_count > 0 ? CUA_KEYBOARD_MS : 0;
	}
}

/* How long the worker may take for it, in milliseconds. */
uint64_t worker_deadline_ms(const struct cua_call *call) {
	const cua_Args *args = &call->args;
	uint64_t repeat = args->has_repeat ? args->repeat : 1;
	uint64_t keys = args->keys_count > 0 ? args->keys_count : 1;
	uint64_t ms = CUA_ACTION_SPARE_MS;
	ms += args->has_settle_max ? args->settle_max : SETTLE_MAX_MS;
	ms += args->has_settle ? args->settle : 0;
	ms += args->has_quiet ? args->quiet : 0;
	ms += args->has_ms ? args->ms : 0;
	ms += args->has_duration ? args->duration : 0;
	ms += keys * repeat * (args->has_hold ? (uint64_t)args->hold : 1);
	return ms + timeout_ms(call) + keyboard_ms(call) + text_ms(call);
}

int worker_request(struct worker *worker, const struct cua_call *call, uint32_t lease,
	worker_answer *answer, void *data, struct cua_err *err) {
	_cleanup_free_ struct asked *request = calloc(1, sizeof(*request));
	_cleanup_free_ cua_ActionRequest *body = calloc(1, sizeof(*body));
	if (!request || !body) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for an action");
	}
	*request = (struct asked){.answer = answer, .data = data};
	body->serial = peer_serial(worker->peer);
	body->action = call->id;
	body->lease = lease;
	body->args = call->args;
	int r = peer_call(worker->peer,
		&(struct peer_call){.serial = body->serial,
			.deadline_ms = worker_deadline_ms(call),
			.answer = on_result,
			.data = request},
		&(struct cua_out){.type = CUA_MSG_ACTION_REQUEST,
			.body = body,
			.blob = call->blob,
			.blob_count = call->blob_count},
		err);
	if (r < 0) {
		return r;
	}
	(void)take_ptr(request);
	return 0;
}

void worker_lease_end(struct worker *worker, uint32_t lease) {
	cua_LeaseEnd body = {.lease = lease};
	/* a worker that is gone holds nothing */
	(void)!peer_send(
		worker->peer, &(struct cua_out){.type = CUA_MSG_LEASE_END, .body = &body}, NULL);
}

void worker_socket(struct worker *worker, uint32_t serial, int fd, const struct cua_err *err) {
	cua_SocketResult body = {.serial = serial, .has_error = fd < 0};
	if (fd < 0) {
		body.error = cua_error_to_wire(err);
	}
	/* a worker that is gone asks again when it is back */
	(void)!peer_send(worker->peer,
		&(struct cua_out){.type = CUA_MSG_SOCKET_RESULT,
			.body = &body,
			.fd = &fd,
			.fd_count = fd >= 0},
		NULL);
}
