/* A child program and its socket; see the header. */
#include "server/supervisor/edge.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/fdio.h"

struct edge {
	struct edge_spec spec;
	struct cua_chan chan;
	struct loop_io *io;
	struct loop_child *child;
	struct loop_timer *down;
	struct cua_err why;
	bool up;
	bool failed; /* why is set: on_down comes when the child has been reaped */
};

static void on_down_timer(void *data) {
	struct edge *edge = data;
	const struct cua_err why = edge->why; /* the owner frees the edge, then reads this */
	edge->down = NULL;
	edge->spec.on_down(edge->spec.data, &why);
}

static void schedule_down(struct edge *edge) {
	if (!edge->child && !edge->down) {
		edge->down = loop_timer_add(edge->spec.loop, 0, on_down_timer, edge);
	}
}

/* Cuts the program off and kills it; err may be NULL when its exit status will say why. */
static void edge_cut(struct edge *edge, const struct cua_err *err) {
	edge->io = loop_io_remove(edge->io);
	cua_chan_done(&edge->chan);
	if (err && !edge->failed) {
		edge->failed = true;
		edge->why = *err;
	}
	if (edge->child) {
		loop_child_kill(edge->child, SIGKILL);
	} else {
		schedule_down(edge);
	}
}

static int handle(struct edge *edge, struct cua_msg *msg, struct cua_err *err) {
	if (msg->type == CUA_MSG_HELLO && !edge->up) {
		int r = cua_hello_check(msg, err);
		if (r == 0) {
			edge->up = true;
			edge->spec.on_up(edge->spec.data);
		}
		return r;
	}
	if (!edge->up || msg->type == CUA_MSG_HELLO) {
		return cua_err_set(
			err, CUA_BAD_REQUEST, "a %s is out of place", cua_msg_name(msg->type));
	}
	return edge->spec.on_message(edge->spec.data, msg, err);
}

/* Takes one message. False when there is no more. */
static bool take(struct edge *edge) {
	struct cua_err err = {0};
	struct cua_msg *msg = edge->spec.scratch;
	int r = cua_msg_recv(edge->chan.sock, edge->spec.dirs, msg, &err);
	if (r == 0) {
		return false;
	}
	if (r == -CUA_NOT_FOUND) {
		edge_cut(edge, NULL);
		return false;
	}
	if (r > 0) {
		r = handle(edge, msg, &err);
		cua_msg_done(msg);
	}
	if (r < 0) {
		edge_cut(edge, &err);
		return false;
	}
	return edge->chan.sock >= 0;
}

static void on_read(void *data) {
	struct edge *edge = data;
	for (int i = 0; i < CUA_EDGE_BURST && take(edge); i++) {
	}
}

static void on_write(void *data) {
	struct edge *edge = data;
	struct cua_err err = {0};
	if (cua_chan_flush(&edge->chan, &err) < 0) {
		edge_cut(edge, &err);
		return;
	}
	if (!cua_chan_pending(&edge->chan)) {
		loop_io_want_write(edge->io, false);
		if (edge->spec.on_drained) {
			edge->spec.on_drained(edge->spec.data);
		}
	}
}

static void describe_exit(struct cua_err *err, int status) {
	if (WIFSIGNALED(status)) {
		(void)cua_err_set(err, CUA_INTERNAL, "killed by signal %d", WTERMSIG(status));
	} else if (WEXITSTATUS(status) == 127) {
		(void)cua_err_set(err, CUA_NOT_FOUND, "the program cannot be executed");
	} else {
		(void)cua_err_set(err, CUA_INTERNAL, "ended with status %d", WEXITSTATUS(status));
	}
}

static void on_exit_status(void *data, int status) {
	struct edge *edge = data;
	edge->child = NULL;
	/* Its last words may still be in the socket. */
	for (int i = 0; edge->chan.sock >= 0 && i < CUA_EDGE_BURST && take(edge); i++) {
	}
	struct cua_err why = {0};
	describe_exit(&why, status);
	edge_cut(edge, &why);
}

static int launch(struct edge *edge, struct cua_err *err) {
	int pair[2];
	int r = fd_seqpacket_pair(pair, err);
	if (r < 0) {
		return r;
	}
	_cleanup_fd_ int theirs = pair[1];
	cua_chan_init(&edge->chan, pair[0]);
	edge->spec.spawn.edge = theirs;
	int pidfd = -1;
	pid_t pid = spawn_program(&edge->spec.spawn, &pidfd, err);
	if (pid < 0) {
		return (int)pid;
	}
	edge->child = loop_child_add(edge->spec.loop, pid, pidfd, on_exit_status, edge, err);
	edge->io = edge->child ? loop_io_add(edge->spec.loop, edge->chan.sock, on_read, on_write,
					 edge, err)
			       : NULL;
	return edge->io ? cua_hello_send(edge->chan.sock, err) : -(int)CUA_INTERNAL;
}

struct edge *edge_start(const struct edge_spec *spec, struct cua_err *err) {
	struct edge *edge = loop_alloc(sizeof(*edge));
	*edge = (struct edge){.spec = *spec, .chan = {.sock = -1}};
	return launch(edge, err) == 0 ? edge : edge_free(edge);
}

struct edge *edge_free(struct edge *edge) {
	if (edge) {
		edge->io = loop_io_remove(edge->io);
		edge->down = loop_timer_cancel(edge->down);
		edge->child = loop_child_drop(edge->child);
		cua_chan_done(&edge->chan);
		free(edge);
	}
	return NULL;
}

bool edge_is_up(const struct edge *edge) {
	return edge && edge->up && edge->chan.sock >= 0;
}

void edge_send(struct edge *edge, const struct cua_out *out) {
	if (edge->chan.sock < 0) {
		return;
	}
	struct cua_err err = {0};
	if (cua_chan_send(&edge->chan, out, &err) < 0) {
		edge_cut(edge, &err);
		return;
	}
	loop_io_want_write(edge->io, cua_chan_pending(&edge->chan));
}

size_t edge_backlog(const struct edge *edge) {
	return edge->chan.count;
}
