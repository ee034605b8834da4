/* One edge to another of our programs: a SEQPACKET socket on the loop, with HELLO first in both
 * directions, calls answered by serial, and a table of the messages that come unasked.
 *
 * A peer that sends what its table does not have, answers a serial that was never given out, or
 * skips HELLO is dropped. Nothing here calls back from inside a send: a broken socket shows later,
 * by on_down. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/msg.h"
#include "server/front/loop.h"

struct peer;

/* A message that this peer may send. Either a handler, or the offset in cua_msg of the serial of
 * the call that it answers. */
struct peer_row {
	enum cua_msg_type type;
	/* Handles a message that comes unasked. 0, or negative to drop the peer with err. May move
	 * descriptors out of the message. */
	int (*handle)(void *owner, struct cua_msg *msg, struct cua_err *err);
	size_t serial;
};

/* A row for answers: the message's member and its field `serial`. */
#define PEER_ANSWER(msg_type, member)                                                              \
	{ .type = (msg_type), .serial = offsetof(struct cua_msg, body.member.serial) }

struct peer_config {
	struct loop *loop;
	struct cua_msg *scratch; /* where messages are received; shared by all peers of the loop */
	unsigned dirs; /* or-ed enum cua_dir: what it may send */
	const struct peer_row *rows;
	size_t row_count;
	/* The edge is down; every call has been answered with an error. The owner frees the peer. */
	void (*on_down)(void *owner, const struct cua_err *why);
	void *owner;
};

/* Takes the socket, which is closed on failure too, and sends HELLO. NULL on failure. */
struct peer *peer_new(int sock, const struct peer_config *config, struct cua_err *err);
/* Closes the edge. Calls still open get their last callback, with an error; on_down is not called.
 * Fine inside callbacks of this peer; NULL is fine. Returns NULL. */
struct peer *peer_free(struct peer *peer);

/* True after the other side's HELLO. */
bool peer_is_up(const struct peer *peer);
/* Sends or queues a message that needs no answer. */
int peer_send(struct peer *peer, const struct cua_out *out, struct cua_err *err) CUA_CHECK;

/* An answer to a call: msg is NULL when there will be none, and err says why (timeout, conflict).
 * Returns true to wait for another message of the same serial; ignored when msg is NULL. */
typedef bool peer_answer(void *data, struct cua_msg *msg, const struct cua_err *err);

struct peer_call {
	uint32_t serial; /* from peer_serial(), also in the message's body */
	uint64_t deadline_ms; /* until the first answer; 0: as long as the peer lives */
	peer_answer *answer;
	void *data;
};

/* A fresh serial for the body of a call. */
uint32_t peer_serial(struct peer *peer);
/* Sends a message whose answers go to call->answer. On failure answer is never called. */
int peer_call(struct peer *peer, const struct peer_call *call, const struct cua_out *out,
	struct cua_err *err) CUA_CHECK;
/* Forgets a call; its answer is not called any more, late messages are dropped. */
void peer_forget(struct peer *peer, uint32_t serial);
