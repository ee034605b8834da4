/* HTTP and WebSocket as the handlers see them; implemented on libwebsockets in lws_*.c.
 *
 * A request is handed to its route's handler with the whole body (routes may ask for a stream
 * instead). The handler answers now or later, exactly once; until then the request lives. When the
 * client leaves early, on_gone is called and the request must not be touched again. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/action.h"
#include "cua/err.h"

struct front;
struct request;
struct ws;

/* Who is asking. */
struct identity {
	enum cua_role role; /* CUA_ROLE_NONE: nobody */
	char session[CUA_ID_SIZE]; /* bound to this session, or "" for any */
	char token_id[CUA_ID_SIZE]; /* "" on the control socket */
};

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE };

/* ---- the request as it came ---- */
struct front *request_front(const struct request *req);
enum http_method request_method(const struct request *req);
/* Value of a `{name}` part of the route's path, percent-decoded; NULL if the route has none such.
 * `{path}` at the end of a pattern takes the rest with its slashes. */
const char *request_param(const struct request *req, const char *name);
/* Query parameter, percent-decoded; "" for a bare `?list`; NULL if absent. */
const char *request_query(const struct request *req, const char *name);
/* Header by lower-case name, for those that routes need (if-none-match, content-type, content-length,
 * origin, host, range); NULL if absent. */
const char *request_header(const struct request *req, const char *name);
const struct identity *request_identity(const struct request *req);
/* The body as JSON (NULL object for an empty body gives {}); caller decrefs. NULL: err is filled. */
json_t *request_json(const struct request *req, struct cua_err *err);

/* ---- answering, once ---- */
/* Takes the reference. */
void request_reply_json(struct request *req, int status, json_t *body);
/* The contract's error object with its status. */
void request_reply_error(struct request *req, const struct cua_err *err);
/* {"kind","message","detail"} of an error, as it stands in answers of every dialect. */
json_t *error_to_json(const struct cua_err *err);
/* Copies the bytes. etag (without quotes) may be NULL. */
void request_reply_bytes(
	struct request *req, int status, const char *mime, struct cua_span bytes, const char *etag);
/* Only a status (204, 304); etag may be NULL. */
void request_reply_empty(struct request *req, int status, const char *etag);

/* A streamed answer: head, then bytes as they come. length < 0: unknown (chunked or close). */
void request_stream_begin(struct request *req, int status, const char *mime, int64_t length);
/* Queues bytes (copied). Returns how much is queued now, so that the source can pause above a limit. */
size_t request_stream_write(struct request *req, struct cua_span bytes);
/* Called when the queue has drained below a low-water mark. */
void request_stream_on_drain(struct request *req, void (*fn)(void *data), void *data);
/* Ends the answer; abort cuts the connection so that the client sees the failure. */
void request_stream_end(struct request *req, bool abort);

/* A streamed body (routes with .stream): called with each piece, then with len 0 at the end. */
void request_on_body(
	struct request *req, void (*fn)(void *data, struct cua_span piece), void *data);
/* Back-pressure on the client. */
void request_body_pause(struct request *req, bool paused);

/* The client left before the answer; data is the handler's own state. */
void request_on_gone(struct request *req, void (*fn)(void *data), void *data);

/* ---- routes ---- */
typedef void request_handler(struct request *req);

struct ws_ops {
	/* The socket is open. Returns the state that the other callbacks get, or NULL to close with err. */
	void *(*open)(struct ws *ws, struct cua_err *err);
	/* One whole message (fragments are joined, at most CUA_BODY_MAX). */
	void (*message)(void *state, struct cua_span data, bool binary);
	/* The queue has drained below its low-water mark. May be NULL. */
	void (*drain)(void *state);
	/* The client has not answered a ping nor taken what is there for it, for 7 to 14 seconds: it may
	 * be gone, stopped, or not reading just now. Called once until it is heard again. May be NULL. */
	void (*silent)(void *state);
	/* The socket is gone; free the state. */
	void (*close)(void *state);
};

struct route {
	enum http_method method;
	const char *pattern; /* "/v1/sessions/{id}/screenshot" */
	enum cua_role role; /* NONE: no token needed */
	request_handler *handler; /* for HTTP */
	const struct ws_ops *ws; /* for WebSocket (method GET) */
	const char *protocol; /* its subprotocol, also accepted when the client names none */
	bool stream; /* the handler gets the head; the body by request_on_body() */
	const char *summary; /* for OpenAPI */
};

/* ---- WebSocket ---- */
struct front *ws_front(const struct ws *ws);
/* The HTTP request that opened it (params, query, identity); valid while the socket is. */
const struct request *ws_request(const struct ws *ws);
/* Sends a message, and queues a copy of what the client does not take at once. Returns bytes queued
 * now; above a hard limit the socket is closed as too slow by itself. */
size_t ws_send(struct ws *ws, struct cua_span data, bool binary);
/* One binary message of both. */
size_t ws_send_binary(struct ws *ws, struct cua_span head, struct cua_span body);
/* Sends text made from JSON; takes the reference. */
size_t ws_send_json(struct ws *ws, json_t *json);
/* True when ops->silent was called and the client has shown no sign of life since. */
bool ws_silent(const struct ws *ws);
/* Stops and starts reading from the client. */
void ws_pause(struct ws *ws, bool paused);
/* Closes with an RFC 6455 code and a reason, after what is queued was sent. */
void ws_close(struct ws *ws, unsigned code, const char *reason);
