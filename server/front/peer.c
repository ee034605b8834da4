/* Edges to our other programs; see the header. What a message means is the owner's business: here
 * are only order, serials, deadlines and the end of a peer. */
#include "server/front/peer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cua/fdio.h"

#define BUCKETS 64
#define MESSAGES_PER_TURN 64

struct pending {
	struct pending *next;
	struct peer *peer;
	struct peer_call call;
	struct loop_timer *timer;
};

struct peer {
	struct peer_config config;
	struct cua_chan chan;
	struct loop_io *io;
	struct loop_timer *hello; /* until HELLO came */
	struct loop_timer *broken; /* a send failed: tell the owner soon */
	struct cua_err why;
	struct pending *pending[BUCKETS];
	uint32_t last_serial;
	bool wrapped; /* every serial was given out once */
	bool up;
	bool busy; /* inside on_read or the like: freeing waits */
	bool doomed; /* freed by its owner meanwhile */
};

static void pending_free(struct pending *pending) {
	(void)loop_timer_cancel(pending->timer);
	free(pending);
}

/* Where the pending call of a serial hangs; points to NULL if there is none. */
static struct pending **slot_of(struct peer *peer, uint32_t serial) {
	struct pending **slot = &peer->pending[serial % BUCKETS];
	while (*slot && (*slot)->call.serial != serial) {
		slot = &(*slot)->next;
	}
	return slot;
}

static struct pending *pending_take(struct pending **slot) {
	struct pending *pending = *slot;
	*slot = pending->next;
	return pending;
}

static void pending_put(struct peer *peer, struct pending *pending) {
	struct pending **bucket = &peer->pending[pending->call.serial % BUCKETS];
	pending->next = *bucket;
	*bucket = pending;
}

/* Ends one call without a message. */
static void pending_fail(struct pending *pending, const struct cua_err *err) {
	struct peer_call call = pending->call;
	pending_free(pending);
	(void)call.answer(call.data, NULL, err);
}

static void fail_all(struct peer *peer, const struct cua_err *err) {
	for (size_t i = 0; i < BUCKETS; i++) {
		while (peer->pending[i]) {
			pending_fail(pending_take(&peer->pending[i]), err);
		}
	}
}

static void stop_watching(struct peer *peer) {
	peer->io = loop_io_remove(peer->io);
	peer->hello = loop_timer_cancel(peer->hello);
	peer->broken = loop_timer_cancel(peer->broken);
	cua_chan_done(&peer->chan);
	peer->up = false;
}

static void destroy(struct peer *peer) {
	stop_watching(peer);
	free(peer);
}

/* The end of the edge, told to everybody who waits. */
static void go_down(struct peer *peer, const struct cua_err *why) {
	struct cua_err told = *why;
	bool nested = peer->busy;
	peer->busy = true;
	stop_watching(peer);
	struct cua_err lost;
	(void)cua_err_set(&lost, CUA_CONFLICT, "the connection was lost: %s", told.message);
	fail_all(peer, &lost);
	if (!peer->doomed) {
		peer->config.on_down(peer->config.owner, &told);
	}
	peer->busy = nested;
	if (!nested && peer->doomed) {
		destroy(peer);
	}
}

static void on_broken(void *data) {
	struct peer *peer = data;
	peer->broken = NULL;
	go_down(peer, &peer->why);
}

/* Tells the owner when the loop runs again. */
static void break_later(struct peer *peer, const struct cua_err *err) {
	if (!peer->broken && !peer->doomed && peer->chan.sock >= 0) {
		peer->why = *err;
		peer->broken = loop_timer_add(peer->config.loop, 0, on_broken, peer);
	}
}

static const struct peer_row *row_of(const struct peer *peer, enum cua_msg_type type) {
	for (size_t i = 0; i < peer->config.row_count; i++) {
		if (peer->config.rows[i].type == type) {
			return &peer->config.rows[i];
		}
	}
	return NULL;
}

static int take_answer(
	struct peer *peer, const struct peer_row *row, struct cua_msg *msg, struct cua_err *err) {
	uint32_t serial = 0;
	memcpy(&serial, (const char *)msg + row->serial, sizeof(serial));
	if (serial == 0 || (serial > peer->last_serial && !peer->wrapped)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "%s answers a question never asked",
			cua_msg_name(msg->type));
	}
	struct pending **slot = slot_of(peer, serial);
	struct pending *pending = *slot;
	if (!pending) {
		return 0; /* too late: whoever asked has stopped waiting */
	}
	(void)pending_take(slot);
	pending->timer = loop_timer_cancel(pending->timer);
	if (!pending->call.answer(pending->call.data, msg, NULL)) {
		pending_free(pending);
	} else if (peer->doomed) {
		struct cua_err closed;
		(void)cua_err_set(&closed, CUA_CONFLICT, "the connection was closed");
		pending_fail(pending, &closed);
	} else {
		pending_put(peer, pending);
	}
	return 0;
}

static int take_hello(struct peer *peer, const struct cua_msg *msg, struct cua_err *err) {
	if (peer->up || msg->type != CUA_MSG_HELLO) {
		return cua_err_set(
			err, CUA_BAD_REQUEST, "%s instead of hello", cua_msg_name(msg->type));
	}
	int r = cua_hello_check(msg, err);
	if (r < 0) {
		return r;
	}
	peer->up = true;
	peer->hello = loop_timer_cancel(peer->hello);
	return 0;
}

static int take_message(struct peer *peer, struct cua_msg *msg, struct cua_err *err) {
	if (!peer->up || msg->type == CUA_MSG_HELLO) {
		return take_hello(peer, msg, err);
	}
	const struct peer_row *row = row_of(peer, msg->type);
	if (!row) {
		return cua_err_set(
			err, CUA_BAD_REQUEST, "%s is not for this edge", cua_msg_name(msg->type));
	}
	if (row->handle) {
		return row->handle(peer->config.owner, msg, err);
	}
	return take_answer(peer, row, msg, err);
}

/* Receives one message. 1: there may be more, 0: nothing there, negative: the edge is down. */
static int receive(struct peer *peer, struct cua_err *err) {
	struct cua_msg *msg = peer->config.scratch;
	int r = cua_msg_recv(peer->chan.sock, peer->config.dirs, msg, err);
	if (r <= 0) {
		return r;
	}
	r = take_message(peer, msg, err);
	cua_msg_done(msg);
	return r < 0 ? r : 1;
}

static void on_read(void *data) {
	struct peer *peer = data;
	struct cua_err err;
	int r = 1;
	peer->busy = true;
	for (int i = 0; i < MESSAGES_PER_TURN && r > 0 && !peer->doomed; i++) {
		r = receive(peer, &err);
	}
	peer->busy = false;
	if (peer->doomed) {
		destroy(peer);
	} else if (r < 0) {
		go_down(peer, &err);
	}
}

static void on_write(void *data) {
	struct peer *peer = data;
	struct cua_err err;
	if (cua_chan_flush(&peer->chan, &err) < 0) {
		break_later(peer, &err);
	} else if (cua_chan_pending(&peer->chan)) {
		loop_io_want_write(peer->io);
	}
}

static void on_no_hello(void *data) {
	struct peer *peer = data;
	peer->hello = NULL;
	struct cua_err err;
	(void)cua_err_set(&err, CUA_TIMEOUT, "the peer did not say hello");
	go_down(peer, &err);
}

static int start(struct peer *peer, struct cua_err *err) {
	int r = fd_set_nonblock(peer->chan.sock, 1);
	if (r < 0) {
		return cua_err_errno(err, r, "cannot use an edge");
	}
	r = cua_hello_send(peer->chan.sock, err);
	if (r < 0) {
		return r;
	}
	peer->io = loop_io_add(peer->config.loop, peer->chan.sock, on_read, on_write, peer, err);
	if (!peer->io) {
		return -CUA_INTERNAL;
	}
	peer->hello = loop_timer_add(peer->config.loop, CUA_HELLO_MS, on_no_hello, peer);
	return 0;
}

struct peer *peer_new(int sock, const struct peer_config *config, struct cua_err *err) {
	struct peer *peer = calloc(1, sizeof(*peer));
	if (!peer) {
		(void)close(sock);
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for an edge");
		return NULL;
	}
	peer->config = *config;
	cua_chan_init(&peer->chan, sock);
	if (start(peer, err) < 0) {
		destroy(peer);
		return NULL;
	}
	return peer;
}

struct peer *peer_free(struct peer *peer) {
	if (!peer || peer->doomed) {
		return NULL;
	}
	peer->doomed = true;
	bool nested = peer->busy;
	peer->busy = true;
	stop_watching(peer);
	struct cua_err err;
	(void)cua_err_set(&err, CUA_CONFLICT, "the connection was closed");
	fail_all(peer, &err);
	peer->busy = nested;
	if (!nested) {
		destroy(peer);
	}
	return NULL;
}

bool peer_is_up(const struct peer *peer) {
	return peer->up;
}

int peer_send(struct peer *peer, const struct cua_out *out, struct cua_err *err) {
	if (peer->doomed || peer->broken || peer->chan.sock < 0) {
		return cua_err_set(err, CUA_CONFLICT, "the connection is down");
	}
	struct cua_err own;
	int r = cua_chan_send(&peer->chan, out, &own);
	if (r == -CUA_NOT_FOUND || (r < 0 && peer->chan.count >= CUA_CHAN_BACKLOG)) {
		break_later(peer, &own);
	}
	if (r < 0) {
		if (err) {
			*err = own;
		}
		return r;
	}
	if (cua_chan_pending(&peer->chan)) {
		loop_io_want_write(peer->io);
	}
	return 0;
}

uint32_t peer_serial(struct peer *peer) {
	do {
		if (++peer->last_serial == 0) {
			peer->wrapped = true;
		}
	} while (peer->last_serial == 0 || *slot_of(peer, peer->last_serial));
	return peer->last_serial;
}

static void on_deadline(void *data) {
	struct pending *pending = data;
	struct peer *peer = pending->peer;
	pending->timer = NULL;
	struct pending **slot = slot_of(peer, pending->call.serial);
	assert(*slot == pending);
	struct cua_err err;
	(void)cua_err_set(&err, CUA_TIMEOUT, "no answer within %llu ms",
		(unsigned long long)pending->call.deadline_ms);
	pending_fail(pending_take(slot), &err);
}

int peer_call(struct peer *peer, const struct peer_call *call, const struct cua_out *out,
	struct cua_err *err) {
	struct pending *pending = calloc(1, sizeof(*pending));
	if (!pending) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a call");
	}
	int r = peer_send(peer, out, err);
	if (r < 0) {
		free(pending);
		return r;
	}
	pending->peer = peer;
	pending->call = *call;
	pending_put(peer, pending);
	if (call->deadline_ms > 0) {
		pending->timer =
			loop_timer_add(peer->config.loop, call->deadline_ms, on_deadline, pending);
	}
	return 0;
}

void peer_forget(struct peer *peer, uint32_t serial) {
	struct pending **slot = slot_of(peer, serial);
	if (*slot) {
		pending_free(pending_take(slot));
	}
}
