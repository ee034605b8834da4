/* The server: connections on listening sockets that somebody else has bound.
 *
 * libwebsockets brings the loop (loop.h), TLS and the bytes. The HTTP and WebSocket on top are ours
 * (http_parse.h, ws_frame.h): libwebsockets 4.1.6 gives a handler the path only after it has turned
 * '+' into a space, cut it at '&' and ';' and joined slashes, so that a file's name cannot be told;
 * it hands over chunked bodies as they came, and closes on a malformed request without an answer. */
#pragma once

#include <stdbool.h>

#include "cua/err.h"
#include "server/front/loop.h"

struct front;
struct server;

enum listener_kind {
	LISTENER_CONTROL = 0, /* the Unix socket: who can open it is admin */
	LISTENER_TCP = 1,
};

/* Files of a certificate chain and its key in PEM; readable for us. */
struct listener_tls {
	const char *cert;
	const char *key;
};

/* A server without listeners. front is borrowed and must have its loop. NULL on failure. */
struct server *server_new(struct front *front, struct cua_err *err);
/* Cuts every connection and closes the listeners. NULL is fine. Returns NULL. */
struct server *server_free(struct server *server);

/* Takes over a listening stream socket. tls may be NULL. On failure the descriptor is closed. */
int server_add_listener(struct server *server, int fd, enum listener_kind kind,
	const struct listener_tls *tls, struct cua_err *err) CUA_CHECK;
/* Connections there are now. */
unsigned server_connections(const struct server *server);
