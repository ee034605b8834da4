/* E2 and E3; see the header. Both are handled alike: greet, expect a greeting, then messages by the
 * rows of msg.c, a bounded number per turn so that neither starves the other. */
#include "desktop/control.h"

#include <sys/socket.h>

#include "cua/fdio.h"

#define MESSAGES_PER_TURN 64
/* A peer with so many answers unread is not read from: pictures are large. */
#define UNREAD_MAX 32

struct edge {
	struct control *control;
	struct cua_chan chan;
	struct loop_io *io;
	unsigned dirs;
	bool greeted; /* the peer's HELLO was right */
	void (*on_message)(struct control *control, struct cua_msg *msg);
	void (*on_lost)(struct control *control, const struct cua_err *why);
};

struct control {
	struct loop *loop;
	const struct control_ops *ops;
	void *ctx;
	struct edge supervisor;
	struct edge front;
	bool started;
	struct cua_msg msg; /* the one being handled: it is large */
};

/* ---------------------------------------------------------------- one edge */

static void edge_close(struct edge *edge) {
	edge->io = loop_io_remove(edge->io);
	cua_chan_done(&edge->chan);
	edge->greeted = false;
}

static void edge_lost(struct edge *edge, const struct cua_err *why) {
	if (edge->chan.sock >= 0) {
		edge_close(edge);
		edge->on_lost(edge->control, why);
	}
}

static bool edge_full(const struct edge *edge) {
	return edge->chan.count >= UNREAD_MAX;
}

static void edge_watch(struct edge *edge) {
	loop_io_want(edge->io, !edge_full(edge), cua_chan_pending(&edge->chan));
}

/* A peer that does not take it is dropped, but not before the caller has returned. */
static void edge_send(struct edge *edge, const struct cua_out *out) {
	if (edge->chan.sock < 0) {
		return;
	}
	if (cua_chan_send(&edge->chan, out, NULL) < 0) {
		/* Whoever sends is in the middle of something: the loop will find the edge closed. */
		(void)shutdown(edge->chan.sock, SHUT_RDWR);
		return;
	}
	edge_watch(edge);
}

/* 0, or negative when the message must not come now. */
static int edge_greeting(struct edge *edge, const struct cua_msg *msg, struct cua_err *err) {
	if ((msg->type == CUA_MSG_HELLO) == edge->greeted) {
		return cua_err_set(err, CUA_BAD_REQUEST, "message %s at the wrong time",
			cua_msg_name(msg->type));
	}
	if (edge->greeted) {
		return 0;
	}
	edge->greeted = true;
	return cua_hello_check(msg, err);
}

/* Handles one message. 1 when there was one, 0 when not, negative to drop the peer. */
static int edge_receive(struct edge *edge, struct cua_err *err) {
	struct cua_msg *msg = &edge->control->msg;
	int r = cua_msg_recv(edge->chan.sock, edge->dirs, msg, err);
	if (r <= 0) {
		return r;
	}
	r = edge_greeting(edge, msg, err);
	if (r == 0 && msg->type != CUA_MSG_HELLO) {
		edge->on_message(edge->control, msg);
	}
	cua_msg_done(msg);
	return r < 0 ? r : 1;
}

static void edge_ready(void *ctx) {
	struct edge *edge = ctx;
	struct cua_err err;
	int r = cua_chan_flush(&edge->chan, &err);
	for (int i = 0; r >= 0 && i < MESSAGES_PER_TURN && !edge_full(edge); i++) {
		r = edge_receive(edge, &err);
		if (edge->chan.sock < 0) {
			return;
		}
		if (r == 0) {
			break;
		}
	}
	if (r < 0) {
		edge_lost(edge, &err);
	} else {
		edge_watch(edge);
	}
}

/* Takes over a socket and greets. On failure the socket is closed. */
static int edge_open(struct edge *edge, int sock, struct cua_err *err) {
	cua_chan_init(&edge->chan, sock);
	edge->greeted = false;
	int r = fd_set_nonblock(sock, 1);
	if (r < 0) {
		r = cua_err_errno(err, r, "cannot use an edge");
	} else {
		edge->io = loop_io_add(edge->control->loop, sock, edge_ready, edge, err);
		r = edge->io ? cua_hello_send(sock, err) : -CUA_EXHAUSTED;
	}
	if (r < 0) {
		edge_close(edge);
	}
	return r;
}

/* ---------------------------------------------------------------- E3 */

static void on_socket(struct control *control, struct cua_msg *msg) {
	const cua_SocketResult *result = &msg->body.socket_result;
	struct cua_err err;
	(void)cua_err_set(&err, CUA_INTERNAL, "the session gave no socket");
	if (result->has_error) {
		(void)cua_error_from_wire(&result->error, &err);
	}
	int fd = result->has_error || msg->fd_count == 0 ? -1 : take_fd(msg->fd[0]);
	control->ops->socket(control->ctx, result->serial, fd, fd < 0 ? &err : NULL);
}

static void on_front_message(struct control *control, struct cua_msg *msg) {
	if (msg->type == CUA_MSG_ACTION_REQUEST) {
		control->ops->request(control->ctx, msg);
	} else if (msg->type == CUA_MSG_LEASE_END) {
		control->ops->lease_end(control->ctx, msg->body.lease_end.lease);
	} else if (msg->type == CUA_MSG_SOCKET_RESULT) {
		on_socket(control, msg);
	}
}

static void on_front_lost(struct control *control, const struct cua_err *why) {
	control->ops->front_gone(control->ctx, why);
}

/* A new E3 in place of the old one, if there is one. */
static void replace_front(struct control *control, int sock) {
	struct cua_err err;
	if (control->front.chan.sock >= 0) {
		(void)cua_err_set(&err, CUA_NOT_FOUND, "replaced by a new edge");
		edge_lost(&control->front, &err);
	}
	if (edge_open(&control->front, sock, &err) < 0) {
		control->ops->front_gone(control->ctx, &err);
	}
}

/* ---------------------------------------------------------------- E2 */

static void on_start(struct control *control, struct cua_msg *msg) {
	struct cua_err err;
	_cleanup_fd_ int x11_dir = take_fd(msg->fd[0]);
	int front = take_fd(msg->fd[1]);
	int r = -CUA_BAD_REQUEST;
	if (control->started) {
		(void)cua_err_set(&err, CUA_BAD_REQUEST, "started twice");
	} else {
		r = control->ops->start(control->ctx, &msg->body.worker_start, x11_dir, &err);
	}
	control->started = true;
	if (r < 0) {
		(void)close(front);
		cua_WorkerState state = {.has_error = true, .error = cua_error_to_wire(&err)};
		control_state(control, &state);
		edge_lost(&control->supervisor, &err);
		return;
	}
	replace_front(control, front);
}

static void on_supervisor_message(struct control *control, struct cua_msg *msg) {
	if (msg->type == CUA_MSG_WORKER_START) {
		on_start(control, msg);
	} else if (msg->type == CUA_MSG_WORKER_LINK && control->started) {
		replace_front(control, take_fd(msg->fd[0]));
	}
}

static void on_supervisor_lost(struct control *control, const struct cua_err *why) {
	control->ops->ended(control->ctx, why);
}

/* ---------------------------------------------------------------- both */

CUA_DEFINE_CLEANUP(struct control *, control_free)

struct control *control_new(struct loop *loop, int supervisor, const struct control_ops *ops,
	void *ctx, struct cua_err *err) {
	_cleanup_(control_free_p) struct control *control = calloc(1, sizeof(*control));
	if (!control) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the edges");
		return NULL;
	}
	control->loop = loop;
	control->ops = ops;
	control->ctx = ctx;
	control->supervisor = (struct edge){.control = control,
		.chan = {.sock = -1},
		.dirs = CUA_DIR_SUPERVISOR_TO_WORKER,
		.on_message = on_supervisor_message,
		.on_lost = on_supervisor_lost};
	control->front = (struct edge){.control = control,
		.chan = {.sock = -1},
		.dirs = CUA_DIR_CUAD_TO_WORKER,
		.on_message = on_front_message,
		.on_lost = on_front_lost};
	if (edge_open(&control->supervisor, supervisor, err) < 0) {
		return NULL;
	}
	return take_ptr(control);
}

struct control *control_free(struct control *control) {
	if (control) {
		edge_close(&control->supervisor);
		edge_close(&control->front);
	}
	free(control);
	return NULL;
}

void control_state(struct control *control, const cua_WorkerState *state) {
	edge_send(&control->supervisor,
		&(struct cua_out){.type = CUA_MSG_WORKER_STATE, .body = state});
}

void control_answer(struct control *control, const cua_ActionResult *result,
	struct cua_span picture, const int *memfd) {
	edge_send(&control->front, &(struct cua_out){.type = CUA_MSG_ACTION_RESULT,
					   .body = result,
					   .blob = &picture,
					   .blob_count = picture.len > 0,
					   .memfd = memfd});
}

int control_socket(
	struct control *control, uint32_t serial, const char *path, struct cua_err *err) {
	if (control->front.chan.sock < 0 || !control->front.greeted) {
		return cua_err_set(err, CUA_CONFLICT, "the front end is not connected");
	}
	cua_SocketRequest body = {.serial = serial};
	int n = snprintf(body.path, sizeof(body.path), "%s", path);
	if (n < 0 || (size_t)n >= sizeof(body.path)) {
		return cua_err_set(err, CUA_INVALID, "the address of a bus is too long");
	}
	edge_send(
		&control->front, &(struct cua_out){.type = CUA_MSG_SOCKET_REQUEST, .body = &body});
	return 0;
}
