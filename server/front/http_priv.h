/* Shared by http_conn.c (requests come), request.c (answers go) and ws.c. */
#pragma once

#include "server/front/conn.h"
#include "server/front/http.h"
#include "server/front/http_parse.h"
#include "server/front/routes.h"

struct http_conn;

struct request {
	struct http_conn *hc; /* NULL when the client has left before the answer */
	struct front *front;
	const struct route *route;
	enum http_method method;
	struct http_head head;
	char *head_bytes; /* what the views of head, params and query point into */
	struct route_params params;
	struct http_field query[CUA_QUERY_MAX];
	size_t query_count;
	struct identity identity;
	char set_cookie[192]; /* whole header line, or "" */
	/* body */
	uint8_t *body;
	size_t body_len;
	size_t body_size;
	void (*on_body)(void *data, struct cua_span piece);
	void *on_body_data;
	bool body_paused;
	/* answer */
	bool streaming; /* between begin and end */
	bool chunked;
	bool chunks_sent;
	bool stream_sized;
	bool stream_closes; /* the client was told that the connection ends */
	uint64_t stream_left;
	void (*on_drain)(void *data);
	void *on_drain_data;
	void (*on_gone)(void *data);
	void *on_gone_data;
};

/* Frees a request. */
void request_free(struct request *req);
/* request_reply_error() with further header lines, each with its CRLF; NULL for none. */
void request_reply_error_with(struct request *req, const struct cua_err *err, const char *header);

/* ---- http_conn.c, for request.c and ws.c ---- */

struct conn *http_conn_of(const struct http_conn *hc);
/* The answer is complete: go on with the next request, or close. */
void http_conn_answered(struct http_conn *hc, bool aborted);
/* The connection ends with the answer that is being made. */
void http_conn_close_after(struct http_conn *hc);
/* The body should (not) be read. */
void http_conn_body_pause(struct http_conn *hc, bool paused);
/* Whether the client may send a further request on this connection, as things stand. */
bool http_conn_keeps_alive(const struct http_conn *hc);
/* Stops and starts reading of a WebSocket. */
void http_conn_ws_pause(struct http_conn *hc, bool paused);

/* ---- ws.c, for http_conn.c ---- */

/* Answers the upgrade and opens the socket by its route. NULL: an error was answered instead. On
 * success the request belongs to the socket. */
struct ws *ws_new(struct http_conn *hc, struct request *req);
/* Bytes of the client; returns how many were taken: fewer when reading was paused meanwhile. */
size_t ws_input(struct ws *ws, const uint8_t *data, size_t len);
void ws_drained(struct ws *ws);
/* The connection is gone. */
void ws_free(struct ws *ws);
