/* One accepted connection as a stream of bytes, with or without TLS (lws_conn.c). What the bytes mean
 * is known above (http_conn.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/msg.h"
#include "server/front/lws.h"

struct conn;

struct conn_ops {
	/* Bytes arrived. */
	void (*input)(void *state, const uint8_t *data, size_t len);
	/* The queue fell below CUA_QUEUE_LOW, or became empty; comes from the loop, never from inside
	 * conn_write(). */
	void (*drain)(void *state);
	/* The connection is over, and the conn invalid afterwards. */
	void (*gone)(void *state);
};

/* The one user of a connection; called by http_conn_new(). */
void conn_set_ops(struct conn *conn, const struct conn_ops *ops, void *state);

/* Sends head and then body, and queues a copy of what the connection does not take at once. Returns the
 * bytes queued now. A client that takes nothing for CUA_STALL_SECS is cut off. */
size_t conn_write(struct conn *conn, struct cua_span head, struct cua_span body);
/* Bytes that wait for the client. */
size_t conn_queued(const struct conn *conn);
/* Forgets the queued pieces of which nothing was sent yet. */
void conn_drop_unsent(struct conn *conn);

/* Stops and starts reading. While it is stopped, a client that leaves is noticed all the same. */
void conn_pause(struct conn *conn, bool paused);
/* Cuts the connection off after so many seconds; 0 takes that back. */
void conn_deadline(struct conn *conn, int secs);
/* Marks the connection as one that may be cut off for a new one when there are too many. */
void conn_set_idle(struct conn *conn, bool idle);

/* Sends what is queued, then closes in a way that lets the client read it: half-closes and throws
 * away what still comes, for CUA_LINGER_SECS at most. No input is reported any more. */
void conn_finish(struct conn *conn);
/* Cuts the connection off from the loop; gone follows. */
void conn_abort(struct conn *conn);

/* The client's address as text; "unix" on the control socket. */
const char *conn_peer(const struct conn *conn);
bool conn_is_control(const struct conn *conn);
bool conn_is_tls(const struct conn *conn);
struct front *conn_front(const struct conn *conn);
