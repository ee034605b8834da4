/* HTTP and WebSocket client for cuactl, over the control socket or a remote URL. The only file of
 * cuactl that includes libwebsockets.
 *
 * Calls are started and then all run together by client_run(), so that N sessions launch in
 * parallel on one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/err.h"
#include "cua/msg.h"

struct client;
struct client_ws;

struct client_options {
	const char *host; /* "http://…" or "https://…"; NULL: the control socket */
	const char *socket; /* path of the control socket */
	const char *token; /* NULL: none */
};

/* A finished answer; valid during the callback only. */
struct client_reply {
	int status; /* 0: no answer, see err */
	const char *body; /* NUL-terminated; NULL when it went to a sink */
	size_t len;
	struct cua_err err; /* set when status is 0 or an error of the server */
};

struct client_request {
	const char *method;
	const char *path; /* with its query, already encoded */
	const char *mime; /* of the body; NULL: JSON */
	struct cua_span body;
	/* instead of body: gives up to max bytes; 0 at the end, negative on failure */
	ssize_t (*source)(void *data, void *ret_bytes, size_t max);
	int64_t source_len; /* bytes that source will give */
	/* takes the answer's bytes instead of keeping them, only for status 2xx; negative aborts */
	int (*sink)(void *data, struct cua_span bytes);
	void (*done)(void *data, const struct client_reply *reply);
	void *data;
};

/* NULL and err when the URL is malformed. */
struct client *client_new(const struct client_options *options, struct cua_err *err);
struct client *client_free(struct client *client);

/* Starts a request; done is called exactly once, also on failure, from client_run() or, when the
 * server cannot be reached at all, from here. path and body are copied. */
int client_start(
	struct client *client, const struct client_request *request, struct cua_err *err) CUA_CHECK;

/* Runs until every call is done and every WebSocket is closed, or client_stop(). */
void client_run(struct client *client);
void client_stop(struct client *client);

/* ---- WebSocket ---- */
struct client_ws_ops {
	void (*open)(void *data, struct client_ws *ws);
	void (*message)(void *data, struct cua_span bytes, bool binary);
	/* the queue is empty again: more may be sent */
	void (*drained)(void *data);
	/* err->code is CUA_OK after a normal close */
	void (*closed)(void *data, const struct cua_err *err);
};

int client_ws_start(struct client *client, const char *path, const char *protocol,
	const struct client_ws_ops *ops, void *data) CUA_CHECK;
/* Queues a message (copied); returns how many bytes wait to be sent. */
size_t client_ws_send(struct client_ws *ws, struct cua_span bytes, bool binary);

/* Calls fn while fd is readable; until client_unwatch(). */
struct client_watch;
struct client_watch *client_watch(
	struct client *client, int fd, void (*fn)(void *data), void *data);
struct client_watch *client_unwatch(struct client_watch *watch);
void client_watch_pause(struct client_watch *watch, bool paused);
