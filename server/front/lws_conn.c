/* Connections: listeners that are handed over, accepting, TLS, bytes in and a queue of bytes out.
 * Not HTTP. Plain sockets are written to directly, for libwebsockets would copy what did not fit and
 * then spin on input while that copy is pending; TLS goes through it in pieces of one record. */
#include "server/front/conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "server/front/front.h"
#include "server/front/http_conn.h"
#include "server/front/lws_priv.h"

#define TLS_RECORD 16384
#define ACCEPT_BURST 16
#define ACCEPT_RETRY_MS 200
#define ROOM 64 /* connections cut off go from the loop: so many are accepted meanwhile at most */

struct piece {
	struct piece *next;
	size_t len;
	size_t sent;
	uint8_t bytes[]; /* LWS_PRE of room first */
};

struct listener {
	struct server *server;
	struct lws_vhost *vhost;
	struct loop_io *io;
	struct loop_timer *retry;
	enum listener_kind kind;
	bool tls;
	int fd;
};

struct server {
	struct front *front;
	struct loop *loop;
	struct listener listeners[CUA_LISTENERS_MAX + 1];
	size_t listener_count;
	struct conn *conns; /* the newest first */
	unsigned conn_count;
	bool closing;
};

struct conn {
	struct server *server;
	struct conn *next;
	struct conn **link;
	struct lws *wsi;
	struct loop_io *hangup;
	struct loop_timer *stall;
	const struct conn_ops *ops;
	void *state;
	struct piece *head;
	struct piece *tail;
	size_t queued;
	size_t stall_mark; /* what was queued in all when the stall timer was set */
	size_t sent_total;
	char peer[INET6_ADDRSTRLEN];
	bool control;
	bool tls;
	bool paused;
	bool idle;
	bool was_high; /* the queue was above its low-water mark since the last drain */
	bool was_queued; /* and was not empty */
	bool finishing;
	bool half_closed;
	bool dead; /* nothing but gone is reported any more */
};

/* ---------------------------------------------------------------- the end */

void conn_abort(struct conn *conn) {
	conn->dead = true;
	if (conn->wsi) {
		lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
	}
}

static void drop_pieces(struct conn *conn, struct piece *piece) {
	while (piece) {
		struct piece *next = piece->next;
		conn->queued -= piece->len - piece->sent;
		free(piece);
		piece = next;
	}
}

static void conn_free(struct conn *conn) {
	*conn->link = conn->next;
	if (conn->next) {
		conn->next->link = conn->link;
	}
	conn->server->conn_count--;
	(void)loop_io_remove(conn->hangup);
	(void)loop_timer_cancel(conn->stall);
	drop_pieces(conn, conn->head);
	free(conn);
}

static void conn_gone(struct conn *conn) {
	conn->dead = true;
	conn->wsi = NULL;
	if (conn->ops) {
		conn->ops->gone(conn->state);
	}
	conn_free(conn);
}

/* ---------------------------------------------------------------- reading */

static void on_hangup(void *data) {
	conn_abort(data);
}

/* Reading stops on demand, and while libwebsockets holds back bytes of ours: until they are out it
 * would not look at input, yet be woken by it. */
static void update_reading(struct conn *conn) {
	bool held = conn->tls && conn->wsi && lws_partial_buffered(conn->wsi);
	bool stop = (conn->paused && !conn->finishing) || held;
	if (!conn->wsi) {
		return;
	}
	(void)lws_rx_flow_control(conn->wsi, !stop);
	if (stop && !conn->hangup) {
		conn->hangup = loop_io_add_hangup(
			conn->server->loop, lws_get_socket_fd(conn->wsi), on_hangup, conn, NULL);
	} else if (conn->hangup) {
		loop_io_pause(conn->hangup, !stop);
	}
}

void conn_pause(struct conn *conn, bool paused) {
	if (conn->paused != paused && !conn->dead) {
		conn->paused = paused;
		update_reading(conn);
	}
}

static int conn_input(struct conn *conn, const uint8_t *data, size_t len) {
	if (!conn->dead && !conn->finishing) {
		conn->ops->input(conn->state, data, len);
	}
	return conn->dead ? -1 : 0;
}

/* ---------------------------------------------------------------- writing */

static void on_stall(void *data) {
	struct conn *conn = data;
	conn->stall = NULL;
	if (conn->sent_total == conn->stall_mark) {
		conn_abort(conn);
		return;
	}
	conn->stall_mark = conn->sent_total;
	conn->stall =
		loop_timer_add(conn->server->loop, CUA_STALL_SECS * UINT64_C(1000), on_stall, conn);
}

static void watch_stall(struct conn *conn) {
	if (conn->queued == 0) {
		conn->stall = loop_timer_cancel(conn->stall);
	} else if (!conn->stall) {
		conn->stall_mark = conn->sent_total;
		conn->stall = loop_timer_add(
			conn->server->loop, CUA_STALL_SECS * UINT64_C(1000), on_stall, conn);
	}
}

/* What the connection takes of these bytes now; 0: nothing; -1: it is broken. */
static ssize_t send_some(struct conn *conn, uint8_t *data, size_t len) {
	if (conn->tls) {
		if (lws_partial_buffered(conn->wsi) || lws_send_pipe_choked(conn->wsi)) {
			return 0;
		}
		size_t n = len < TLS_RECORD ? len : TLS_RECORD;
		return lws_write(conn->wsi, data, n, LWS_WRITE_RAW) < 0 ? -1 : (ssize_t)n;
	}
	for (;;) {
		ssize_t n =
			send(lws_get_socket_fd(conn->wsi), data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0) {
			return n;
		}
		if (errno != EINTR) {
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
		}
	}
}

static void half_close(struct conn *conn) {
	conn->half_closed = true;
	if (!conn->tls) {
		(void)shutdown(lws_get_socket_fd(conn->wsi), SHUT_WR);
	}
	lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_REASON_BASE, CUA_LINGER_SECS);
}

static void piece_sent(struct conn *conn, size_t n) {
	struct piece *piece = conn->head;
	piece->sent += n;
	conn->queued -= n;
	conn->sent_total += n;
	if (piece->sent == piece->len) {
		conn->head = piece->next;
		if (!conn->head) {
			conn->tail = NULL;
		}
		free(piece);
	}
}

/* Sends what the connection takes. */
static void flush(struct conn *conn) {
	while (conn->head && !conn->dead) {
		struct piece *piece = conn->head;
		uint8_t *from = piece->bytes + LWS_PRE + piece->sent;
		ssize_t n = send_some(conn, from, piece->len - piece->sent);
		if (n < 0) {
			conn_abort(conn);
			return;
		}
		if (n == 0) {
			break;
		}
		piece_sent(conn, (size_t)n);
	}
	watch_stall(conn);
	bool held = conn->tls && lws_partial_buffered(conn->wsi);
	if (conn->head || held) {
		(void)lws_callback_on_writable(conn->wsi);
	} else if (conn->finishing && !conn->half_closed && !conn->dead) {
		half_close(conn);
	}
	if (conn->tls) {
		update_reading(conn);
	}
}

/* Sends what a plain connection takes of both at once, so that a large picture is not copied first.
 * Their bytes that went; 0 when there is a queue before them. */
static size_t send_now(struct conn *conn, struct cua_span head, struct cua_span body) {
	struct iovec parts[2] = {{.iov_base = (void *)(uintptr_t)head.data, .iov_len = head.len},
		{.iov_base = (void *)(uintptr_t)body.data, .iov_len = body.len}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = CUA_COUNT(parts)};
	if (conn->tls || conn->head) {
		return 0;
	}
	/* An error is met again by flush(), which handles it. */
	ssize_t n = sendmsg(lws_get_socket_fd(conn->wsi), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	conn->sent_total += n > 0 ? (size_t)n : 0;
	return n > 0 ? (size_t)n : 0;
}

/* What is left of a span without its first n bytes; *n is lowered by those that it had. */
static struct cua_span span_after(struct cua_span span, size_t *n) {
	size_t skip = *n < span.len ? *n : span.len;
	*n -= skip;
	return (struct cua_span){.data = skip ? (const uint8_t *)span.data + skip : span.data,
		.len = span.len - skip};
}

static struct piece *piece_new(struct cua_span head, struct cua_span body) {
	struct piece *piece = malloc(sizeof(*piece) + LWS_PRE + head.len + body.len);
	if (!piece) {
		return NULL;
	}
	*piece = (struct piece){.len = head.len + body.len};
	uint8_t *to = piece->bytes + LWS_PRE;
	if (head.len > 0) {
		memcpy(to, head.data, head.len);
	}
	if (body.len > 0) {
		memcpy(to + head.len, body.data, body.len);
	}
	return piece;
}

size_t conn_write(struct conn *conn, struct cua_span head, struct cua_span body) {
	if (conn->dead || conn->half_closed || head.len + body.len == 0) {
		return conn->queued;
	}
	size_t sent = send_now(conn, head, body);
	head = span_after(head, &sent);
	body = span_after(body, &sent);
	struct piece *piece = head.len + body.len > 0 ? piece_new(head, body) : NULL;
	if (!piece && head.len + body.len == 0) {
		return 0;
	}
	if (!piece) {
		conn_abort(conn);
		return conn->queued;
	}
	if (conn->tail) {
		conn->tail->next = piece;
	} else {
		conn->head = piece;
	}
	conn->tail = piece;
	conn->queued += piece->len;
	flush(conn);
	conn->was_high = conn->was_high || conn->queued >= CUA_QUEUE_LOW;
	conn->was_queued = conn->was_queued || conn->queued > 0;
	return conn->queued;
}

size_t conn_queued(const struct conn *conn) {
	return conn->queued;
}

void conn_drop_unsent(struct conn *conn) {
	struct piece *first = conn->head;
	if (first && first->sent > 0) {
		drop_pieces(conn, first->next);
		first->next = NULL;
		conn->tail = first;
	} else {
		drop_pieces(conn, first);
		conn->head = conn->tail = NULL;
	}
}

void conn_finish(struct conn *conn) {
	if (conn->finishing || conn->dead) {
		return;
	}
	conn->finishing = true;
	conn_deadline(conn, 0);
	update_reading(conn);
	flush(conn);
}

static int conn_writeable(struct conn *conn) {
	flush(conn);
	bool low = conn->was_high && conn->queued < CUA_QUEUE_LOW;
	bool empty = conn->was_queued && conn->queued == 0;
	if (!conn->dead && !conn->finishing && (low || empty)) {
		conn->was_high = false;
		conn->was_queued = !empty;
		conn->ops->drain(conn->state);
	}
	return conn->dead ? -1 : 0;
}

/* ---------------------------------------------------------------- small things */

void conn_set_ops(struct conn *conn, const struct conn_ops *ops, void *state) {
	conn->ops = ops;
	conn->state = state;
}

void conn_deadline(struct conn *conn, int secs) {
	if (!conn->dead && conn->wsi && !conn->half_closed) {
		lws_set_timeout(conn->wsi,
			secs > 0 ? PENDING_TIMEOUT_USER_REASON_BASE : NO_PENDING_TIMEOUT, secs);
	}
}

void conn_set_idle(struct conn *conn, bool idle) {
	conn->idle = idle;
}

const char *conn_peer(const struct conn *conn) {
	return conn->peer;
}

bool conn_is_control(const struct conn *conn) {
	return conn->control;
}

bool conn_is_tls(const struct conn *conn) {
	return conn->tls;
}

struct front *conn_front(const struct conn *conn) {
	return conn->server->front;
}

/* ---------------------------------------------------------------- libwebsockets' callback */

static int on_event(
	struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len) {
	(void)user;
	struct conn *conn = lws_get_opaque_user_data(wsi);
	switch (reason) {
	case LWS_CALLBACK_RAW_ADOPT:
		conn->wsi = wsi;
		return 0;
	case LWS_CALLBACK_RAW_RX:
		return conn_input(conn, in, len);
	case LWS_CALLBACK_RAW_WRITEABLE:
		return conn_writeable(conn);
	case LWS_CALLBACK_RAW_CLOSE:
		if (conn) {
			lws_set_opaque_user_data(wsi, NULL);
			conn_gone(conn);
		}
		return 0;
	default:
		return 0;
	}
}

static const struct lws_protocols protocols[] = {
	{.name = "conn", .callback = on_event},
	{0},
};

/* ---------------------------------------------------------------- accepting */

static void peer_name(const struct sockaddr_storage *addr, char ret[INET6_ADDRSTRLEN]) {
	const void *raw = NULL;
	if (addr->ss_family == AF_INET) {
		raw = &((const struct sockaddr_in *)addr)->sin_addr;
	} else if (addr->ss_family == AF_INET6) {
		raw = &((const struct sockaddr_in6 *)addr)->sin6_addr;
	}
	if (!raw || !inet_ntop(addr->ss_family, raw, ret, INET6_ADDRSTRLEN)) {
		(void)snprintf(ret, INET6_ADDRSTRLEN, "unix");
	}
}

static struct conn *conn_new(struct listener *listener, const struct sockaddr_storage *addr) {
	struct conn *conn = calloc(1, sizeof(*conn));
	if (!conn) {
		return NULL;
	}
	struct server *server = listener->server;
	conn->server = server;
	conn->control = listener->kind == LISTENER_CONTROL;
	conn->tls = listener->tls;
	peer_name(addr, conn->peer);
	conn->next = server->conns;
	conn->link = &server->conns;
	if (conn->next) {
		conn->next->link = &conn->next;
	}
	server->conns = conn;
	server->conn_count++;
	return conn;
}

static bool conn_known(const struct server *server, const struct conn *conn) {
	for (const struct conn *c = server->conns; c; c = c->next) {
		if (c == conn) {
			return true;
		}
	}
	return false;
}

/* The longest idle connection makes room. */
static void make_room(struct server *server) {
	struct conn *oldest = NULL;
	for (struct conn *c = server->conns; c; c = c->next) {
		if (c->idle && !c->dead) {
			oldest = c;
		}
	}
	if (oldest) {
		conn_abort(oldest);
	}
}

static bool adopt(struct listener *listener, struct conn *conn, int fd) {
	const lws_adopt_desc_t desc = {.vh = listener->vhost,
		.type = LWS_ADOPT_SOCKET | LWS_ADOPT_ALLOW_SSL,
		.fd.sockfd = fd,
		.vh_prot_name = "conn",
		.opaque = conn};
	if (!lws_adopt_descriptor_vhost_via_info(&desc)) {
		if (conn_known(listener->server, conn)) {
			conn_free(conn);
		}
		return false;
	}
	return true;
}

static void take_connection(
	struct listener *listener, int fd, const struct sockaddr_storage *addr) {
	struct server *server = listener->server;
	if (server->conn_count >= CUA_CONNECTIONS_MAX - ROOM) {
		make_room(server);
	}
	struct conn *conn =
		server->conn_count < CUA_CONNECTIONS_MAX ? conn_new(listener, addr) : NULL;
	if (!conn) {
		(void)close(fd);
		return;
	}
	int one = 1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (!adopt(listener, conn, fd)) {
		return;
	}
	if (http_conn_new(conn) < 0) {
		conn_abort(conn);
	}
}

static void on_retry(void *data) {
	struct listener *listener = data;
	listener->retry = NULL;
	loop_io_pause(listener->io, false);
}

static void on_accept(void *data) {
	struct listener *listener = data;
	for (int i = 0; i < ACCEPT_BURST; i++) {
		struct sockaddr_storage addr = {0};
		socklen_t len = sizeof(addr);
		int fd = accept4(
			listener->fd, (struct sockaddr *)&addr, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			take_connection(listener, fd, &addr);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
			   errno == ENOBUFS) {
			loop_io_pause(listener->io, true);
			listener->retry = loop_timer_add(
				listener->server->loop, ACCEPT_RETRY_MS, on_retry, listener);
			return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return;
		}
	}
}

/* ---------------------------------------------------------------- the server */

struct server *server_new(struct front *front, struct cua_err *err) {
	struct server *server = calloc(1, sizeof(*server));
	if (!server) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the server");
		return NULL;
	}
	server->front = front;
	server->loop = front->loop;
	return server;
}

static struct lws_vhost *vhost_new(
	struct server *server, const char *name, const struct listener_tls *tls) {
	struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN_SERVER,
		.vhost_name = name,
		.protocols = protocols,
		.alpn = "http/1.1",
		.uid = (uid_t)-1,
		.gid = (gid_t)-1};
	if (tls) {
		info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
		info.ssl_cert_filepath = tls->cert;
		info.ssl_private_key_filepath = tls->key;
	}
	return lws_create_vhost(loop_lws(server->loop), &info);
}

static int listener_open(struct listener *listener, const struct listener_tls *tls, size_t number,
	struct cua_err *err) {
	char name[32];
	(void)snprintf(name, sizeof(name), "listener-%zu", number);
	listener->tls = tls != NULL;
	int r = fd_set_nonblock(listener->fd, 1);
	if (r < 0) {
		return cua_err_errno(err, r, "cannot use a listening socket");
	}
	listener->vhost = vhost_new(listener->server, name, tls);
	if (!listener->vhost) {
		return tls ? cua_err_about(err, CUA_INVALID, "tls",
				     "cannot use the certificate %s with the key %s", tls->cert,
				     tls->key)
			   : cua_err_set(err, CUA_INTERNAL, "cannot set up a listener");
	}
	listener->io =
		loop_io_add(listener->server->loop, listener->fd, on_accept, NULL, listener, err);
	return listener->io ? 0 : -CUA_INTERNAL;
}

int server_add_listener(struct server *server, int fd, enum listener_kind kind,
	const struct listener_tls *tls, struct cua_err *err) {
	_cleanup_fd_ int owned = fd;
	/* however it was made: accept() must not wait when a client has left again */
	int r = fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	if (r < 0) {
		return cua_err_errno(err, errno, "the listener cannot be set not to block");
	}
	if (server->listener_count >= CUA_COUNT(server->listeners)) {
		return cua_err_about(
			err, CUA_EXHAUSTED, "listen", "more than %d listeners", CUA_LISTENERS_MAX);
	}
	struct listener *listener = &server->listeners[server->listener_count];
	*listener = (struct listener){.server = server, .kind = kind, .fd = fd};
	r = listener_open(listener, tls, server->listener_count, err);
	if (r < 0) {
		return r;
	}
	server->listener_count++;
	(void)take_fd(owned);
	return 0;
}

unsigned server_connections(const struct server *server) {
	return server->conn_count;
}

struct server *server_free(struct server *server) {
	if (!server) {
		return NULL;
	}
	for (size_t i = 0; i < server->listener_count; i++) {
		struct listener *listener = &server->listeners[i];
		(void)loop_timer_cancel(listener->retry);
		(void)loop_io_remove(listener->io);
		(void)close(listener->fd);
	}
	while (server->conns) {
		struct conn *conn = server->conns;
		conn->dead = true;
		lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_SYNC);
	}
	free(server);
	return NULL;
}
