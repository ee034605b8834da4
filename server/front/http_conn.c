/* HTTP on a connection: from bytes to a request that has passed route, authentication and role, then
 * its body, then the next request. One request at a time; what a client sends ahead waits. Answers
 * are made in request.c. */
#include "server/front/http_conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/front/auth.h"
#include "server/front/config.h"
#include "server/front/front.h"
#include "server/front/http_priv.h"

enum hc_state {
	HC_HEAD, /* reading a request's head */
	HC_BODY, /* reading its body */
	HC_BUSY, /* waiting for its answer */
	HC_WS,
	HC_OVER,
};

struct http_conn {
	struct conn *conn;
	struct front *front;
	enum hc_state state;
	char *head;
	size_t head_len;
	struct request *req;
	struct ws *ws;
	struct http_chunks chunks;
	uint64_t body_left;
	uint8_t *pending; /* read, but not wanted yet */
	size_t pending_len;
	struct loop_timer *resume;
	bool in_input;
	bool keep_alive;
	bool ws_paused;
};

/* ---------------------------------------------------------------- going on and ending */

/* The time for the next request runs from when the client has taken the last answer. */
static void expect_head(struct http_conn *hc) {
	bool taken = conn_queued(hc->conn) == 0;
	conn_set_idle(hc->conn, taken);
	conn_deadline(hc->conn, taken ? CUA_IDLE_SECS : 0);
}

static void read_next_head(struct http_conn *hc) {
	hc->state = HC_HEAD;
	hc->head_len = 0;
	expect_head(hc);
}

/* Whoever sends requests ahead must take the answers too. */
static bool takes_heads(const struct http_conn *hc) {
	return conn_queued(hc->conn) < CUA_QUEUE_LOW;
}

static bool wants_input(const struct http_conn *hc) {
	switch (hc->state) {
	case HC_HEAD:
		return takes_heads(hc);
	case HC_BODY:
		return !hc->req->body_paused;
	case HC_WS:
		return !hc->ws_paused;
	case HC_BUSY:
		return false;
	default:
		return true;
	}
}

static void input_all(struct http_conn *hc, const uint8_t *data, size_t len);

static void on_resume(void *data) {
	struct http_conn *hc = data;
	hc->resume = NULL;
	_cleanup_free_ uint8_t *pending = take_ptr(hc->pending);
	size_t len = hc->pending_len;
	hc->pending_len = 0;
	input_all(hc, pending, len);
}

/* Reads on or stops, as the state wants; bytes that were read ahead are looked at from the loop. */
static void update_input(struct http_conn *hc) {
	bool wants = wants_input(hc);
	if (wants && hc->pending_len > 0 && !hc->in_input && !hc->resume) {
		hc->resume = loop_timer_add(hc->front->loop, 0, on_resume, hc);
	}
	conn_pause(hc->conn, !wants || hc->pending_len > 0);
}

void http_conn_answered(struct http_conn *hc, bool aborted) {
	bool complete = hc->state == HC_BUSY;
	hc->req = NULL;
	if (aborted) {
		hc->state = HC_OVER;
		conn_abort(hc->conn);
	} else if (!complete || !hc->keep_alive) {
		hc->state = HC_OVER;
		conn_finish(hc->conn);
	} else {
		read_next_head(hc);
		update_input(hc);
	}
}

bool http_conn_keeps_alive(const struct http_conn *hc) {
	return hc->keep_alive && hc->state == HC_BUSY;
}

void http_conn_close_after(struct http_conn *hc) {
	hc->keep_alive = false;
}

struct conn *http_conn_of(const struct http_conn *hc) {
	return hc->conn;
}

void http_conn_body_pause(struct http_conn *hc, bool paused) {
	hc->req->body_paused = paused;
	if (hc->state == HC_BODY) {
		conn_deadline(hc->conn, paused ? 0 : CUA_IDLE_SECS);
		update_input(hc);
	}
}

void http_conn_ws_pause(struct http_conn *hc, bool paused) {
	hc->ws_paused = paused;
	update_input(hc);
}

/* ---------------------------------------------------------------- a request's checks */

static int refuse(struct http_conn *hc, const struct cua_err *err, const char *header) {
	request_reply_error_with(hc->req, err, header);
	return -1;
}

static bool is_upgrade(const struct request *req) {
	return req->method == HTTP_GET &&
	       http_has_token(http_head_field(&req->head, "upgrade"), "websocket") &&
	       http_has_token(http_head_field(&req->head, "connection"), "upgrade");
}

static int find_route(struct http_conn *hc) {
	struct request *req = hc->req;
	struct route_query query = {
		.method_known = http_method_find(req->head.method, &req->method)};
	query.method = req->method;
	query.ws = query.method_known && is_upgrade(req);
	char allow[64];
	char header[96];
	struct cua_err err;
	switch (routes_find(&query, req->head.path, &req->route, &req->params, allow)) {
	case ROUTE_FOUND:
		return 0;
	case ROUTE_NOT_METHOD:
		(void)snprintf(header, sizeof(header), "Allow: %s\r\n", allow);
		(void)cua_err_set(&err, CUA_BAD_REQUEST,
			"%.32s is not a method of this address, but %s", req->head.method, allow);
		return refuse(hc, &err, header);
	case ROUTE_NOT_WS:
		(void)cua_err_set(&err, CUA_BAD_REQUEST, "this address is a WebSocket's");
		break;
	case ROUTE_MALFORMED:
		(void)cua_err_set(&err, CUA_BAD_REQUEST, "the address is not well-formed");
		break;
	default:
		(void)cua_err_set(&err, CUA_NOT_FOUND, "there is nothing at this address");
		break;
	}
	return refuse(hc, &err, NULL);
}

static int authenticate(struct http_conn *hc, bool *ret_by_cookie, struct cua_err *err) {
	struct request *req = hc->req;
	const char *ticket = request_query(req, "ticket");
	*ret_by_cookie = false;
	if (conn_is_control(hc->conn)) {
		req->identity.role = CUA_ROLE_ADMIN;
		return 0;
	}
	if (req->route->role == CUA_ROLE_NONE && !ticket) {
		return 0;
	}
	const struct auth_credentials credentials = {
		.authorization = request_header(req, "authorization"),
		.api_key = request_header(req, "x-api-key"),
		.cookie = request_header(req, "cookie"),
		.ticket = ticket,
		.peer = conn_peer(hc->conn),
	};
	struct auth_result result;
	int r = auth_check(hc->front->auth, &credentials, &result, err);
	if (r < 0) {
		return req->route->role == CUA_ROLE_NONE ? 0 : r;
	}
	req->identity = result.identity;
	*ret_by_cookie = result.by_cookie;
	if (result.cookie[0] != '\0') {
		(void)snprintf(req->set_cookie, sizeof(req->set_cookie),
			"Set-Cookie: " AUTH_COOKIE
			"=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s\r\n",
			result.cookie, CUA_COOKIE_SECS, conn_is_tls(hc->conn) ? "; Secure" : "");
	}
	return 0;
}

/* Browsers send cookies and open WebSockets for any page; only our own pages may. */
static int check_origin(struct http_conn *hc, bool by_cookie, struct cua_err *err) {
	const struct request *req = hc->req;
	bool harmless = req->method == HTTP_GET || req->method == HTTP_HEAD;
	if (!req->route->ws && (!by_cookie || harmless)) {
		return 0;
	}
	const char *const *allowed = hc->front->config ? config_origins(hc->front->config) : NULL;
	if (!auth_origin_ok(request_header(req, "origin"), request_header(req, "host"), allowed)) {
		return cua_err_set(
			err, CUA_FORBIDDEN, "pages of this origin may not use this server");
	}
	return 0;
}

/* Which sessions an identity sees is decided where they are looked up (sessions_find()). */
static int check_role(const struct request *req, struct cua_err *err) {
	if (req->identity.role < req->route->role) {
		return cua_err_set(err, CUA_FORBIDDEN, "this needs the role %s; the token's is %s",
			cua_role_name(req->route->role), cua_role_name(req->identity.role));
	}
	return 0;
}

static int check_who(struct http_conn *hc) {
	struct cua_err err;
	bool by_cookie = false;
	int r = authenticate(hc, &by_cookie, &err);
	if (r < 0) {
		const char *header = r == -CUA_UNAUTHORIZED   ? "WWW-Authenticate: Bearer\r\n"
				     : r == -CUA_RATE_LIMITED ? "Retry-After: 60\r\n"
							      : NULL;
		return refuse(hc, &err, header);
	}
	r = check_origin(hc, by_cookie, &err);
	r = r < 0 ? r : check_role(hc->req, &err);
	return r < 0 ? refuse(hc, &err, NULL) : 0;
}

/* ---------------------------------------------------------------- a request's body */

static void dispatch(struct http_conn *hc) {
	struct request *req = hc->req;
	hc->state = HC_BUSY;
	conn_deadline(hc->conn, 0);
	if (req->route->ws) {
		struct ws *ws = ws_new(hc, req);
		if (ws) {
			hc->req = NULL;
			hc->ws = ws;
			hc->state = HC_WS;
		}
		return;
	}
	req->route->handler(req);
}

/* The body is complete. */
static void body_end(struct http_conn *hc) {
	if (!hc->req->route->stream) {
		dispatch(hc);
		return;
	}
	hc->state = HC_BUSY;
	conn_deadline(hc->conn, 0);
	if (hc->req->on_body) {
		hc->req->on_body(hc->req->on_body_data, (struct cua_span){0});
	}
}

static int body_keep(struct request *req, struct cua_span piece, struct cua_err *err) {
	if (piece.len > CUA_BODY_MAX - req->body_len) {
		return cua_err_set(
			err, CUA_TOO_LARGE, "the body is larger than %u bytes", CUA_BODY_MAX);
	}
	if (req->body_len + piece.len > req->body_size) {
		size_t size = req->body_size > 0 ? req->body_size : 4096;
		while (size < req->body_len + piece.len) {
			size *= 2;
		}
		uint8_t *body = realloc(req->body, size);
		if (!body) {
			return cua_err_set(err, CUA_EXHAUSTED, "no memory for the body");
		}
		req->body = body;
		req->body_size = size;
	}
	memcpy(req->body + req->body_len, piece.data, piece.len);
	req->body_len += piece.len;
	return 0;
}

/* Takes bytes of the body and tells the data among them. */
static ssize_t body_take(struct http_conn *hc, const uint8_t *data, size_t len,
	struct cua_span *ret_piece, struct cua_err *err) {
	if (hc->req->head.chunked) {
		return http_chunks_feed(&hc->chunks, data, len, ret_piece, err);
	}
	size_t n = len < hc->body_left ? len : (size_t)hc->body_left;
	hc->body_left -= n;
	*ret_piece = (struct cua_span){.data = data, .len = n};
	return (ssize_t)n;
}

static void body_piece(struct http_conn *hc, struct cua_span piece) {
	struct request *req = hc->req;
	struct cua_err err;
	if (piece.len == 0) {
		return;
	}
	if (!req->route->stream) {
		if (body_keep(req, piece, &err) < 0) {
			request_reply_error(req, &err);
		}
	} else if (req->on_body) {
		req->on_body(req->on_body_data, piece);
	}
}

/* Whoever takes the body as a stream learns that its rest will not come. */
static void body_lost(struct request *req) {
	if (req->route->stream && req->on_gone) {
		req->on_gone(req->on_gone_data);
		req->on_gone = NULL;
	}
}

static size_t feed_body(struct http_conn *hc, const uint8_t *data, size_t len) {
	struct cua_span piece;
	struct cua_err err;
	ssize_t n = body_take(hc, data, len, &piece, &err);
	if (n < 0) {
		body_lost(hc->req);
		if (hc->req->streaming) {
			request_stream_end(hc->req, true);
		} else {
			request_reply_error(hc->req, &err);
		}
		return len;
	}
	conn_deadline(hc->conn, CUA_IDLE_SECS);
	bool complete = hc->req->head.chunked ? hc->chunks.done : hc->body_left == 0;
	body_piece(hc, piece);
	if (hc->state == HC_BODY && complete) {
		body_end(hc);
	}
	return (size_t)n;
}

static int body_begin(struct http_conn *hc) {
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct request *req = hc->req;
	struct cua_err err;
	if (!req->route->stream && req->head.length > CUA_BODY_MAX) {
		(void)cua_err_set(
			&err, CUA_TOO_LARGE, "the body is larger than %u bytes", CUA_BODY_MAX);
		return refuse(hc, &err, NULL);
	}
	if (req->head.expect_continue) {
		(void)conn_write(hc->conn, (struct cua_span){go_on, sizeof(go_on) - 1},
			(struct cua_span){0});
	}
	hc->chunks = (struct http_chunks){0};
	hc->body_left = req->head.length;
	conn_deadline(hc->conn, CUA_IDLE_SECS);
	return 0;
}

/* ---------------------------------------------------------------- a request's head */

static int parse_head(struct http_conn *hc, struct cua_err *err) {
	struct request *req = hc->req;
	int r = http_head_parse(req->head_bytes, hc->head_len, &req->head, err);
	if (r < 0) {
		return r;
	}
	hc->keep_alive = req->head.keep_alive;
	if (!req->head.query) {
		return 0;
	}
	char *query = (char *)(uintptr_t)req->head.query;
	ssize_t count = http_query_split(query, req->query, CUA_QUERY_MAX, err);
	req->query_count = count < 0 ? 0 : (size_t)count;
	return count < 0 ? (int)count : 0;
}

/* Makes the request of the head that was read; the buffer moves to it. */
static bool request_make(struct http_conn *hc) {
	struct request *req = calloc(1, sizeof(*req));
	if (!req) {
		conn_abort(hc->conn);
		return false;
	}
	req->hc = hc;
	req->front = hc->front;
	req->method = HTTP_GET;
	req->head_bytes = take_ptr(hc->head);
	hc->req = req;
	hc->state = HC_BODY; /* an answer before the end of the body ends the connection */
	hc->keep_alive = false;
	conn_set_idle(hc->conn, false);
	return true;
}

static void head_complete(struct http_conn *hc) {
	struct cua_err err;
	if (!request_make(hc)) {
		return;
	}
	if (parse_head(hc, &err) < 0) {
		request_reply_error(hc->req, &err);
		return;
	}
	struct request *req = hc->req;
	bool has_body = req->head.chunked || req->head.length > 0;
	hc->state = has_body ? HC_BODY : HC_BUSY;
	if (find_route(hc) < 0 || check_who(hc) < 0 || (has_body && body_begin(hc) < 0)) {
		return;
	}
	if (req->route->stream) {
		req->route->handler(req);
	}
	if (!has_body && hc->req == req) {
		body_end(hc);
	}
}

static void head_refuse(struct http_conn *hc, const struct cua_err *err) {
	if (request_make(hc)) {
		request_reply_error(hc->req, err);
	}
}

static size_t feed_head(struct http_conn *hc, const uint8_t *data, size_t len) {
	if (hc->head_len == 0 && (data[0] == '\r' || data[0] == '\n')) {
		return 1;
	}
	if (!hc->head && !(hc->head = malloc(CUA_HEAD_MAX))) {
		conn_abort(hc->conn);
		return len;
	}
	size_t before = hc->head_len;
	size_t n = len < CUA_HEAD_MAX - before ? len : CUA_HEAD_MAX - before;
	memcpy(hc->head + before, data, n);
	hc->head_len += n;
	struct cua_err err;
	ssize_t end = http_head_find(hc->head, hc->head_len, before, &err);
	if (end == 0 && hc->head_len == CUA_HEAD_MAX) {
		end = cua_err_set(
			&err, CUA_TOO_LARGE, "the head is larger than %d bytes", CUA_HEAD_MAX);
	}
	if (end < 0) {
		head_refuse(hc, &err);
		return n;
	}
	if (end == 0) {
		return n;
	}
	hc->head_len = (size_t)end;
	head_complete(hc);
	return (size_t)end - before;
}

/* ---------------------------------------------------------------- bytes */

static size_t feed(struct http_conn *hc, const uint8_t *data, size_t len) {
	switch (hc->state) {
	case HC_HEAD:
		return takes_heads(hc) ? feed_head(hc, data, len) : 0;
	case HC_BODY:
		return hc->req->body_paused ? 0 : feed_body(hc, data, len);
	case HC_WS:
		return hc->ws_paused ? 0 : ws_input(hc->ws, data, len);
	case HC_BUSY:
		return 0;
	default:
		return len;
	}
}

static void keep_pending(struct http_conn *hc, const uint8_t *data, size_t len) {
	if (len == 0) {
		return;
	}
	uint8_t *pending = realloc(hc->pending, hc->pending_len + len);
	if (!pending) {
		conn_abort(hc->conn);
		return;
	}
	memcpy(pending + hc->pending_len, data, len);
	hc->pending = pending;
	hc->pending_len += len;
}

static void input_all(struct http_conn *hc, const uint8_t *data, size_t len) {
	hc->in_input = true;
	size_t used = 0;
	while (used < len && hc->pending_len == 0) {
		size_t n = feed(hc, data + used, len - used);
		if (n == 0) {
			break;
		}
		used += n;
	}
	keep_pending(hc, data + used, len - used);
	hc->in_input = false;
	update_input(hc);
}

static void on_input(void *state, const uint8_t *data, size_t len) {
	struct http_conn *hc = state;
	if (hc->pending_len > 0) {
		keep_pending(hc, data, len);
	} else {
		input_all(hc, data, len);
	}
}

static void on_drain(void *state) {
	struct http_conn *hc = state;
	if (hc->ws) {
		ws_drained(hc->ws);
	} else if (hc->req && hc->req->on_drain) {
		hc->req->on_drain(hc->req->on_drain_data);
	} else if (hc->state == HC_HEAD) {
		if (hc->head_len == 0) {
			expect_head(hc);
		}
		update_input(hc);
	}
}

/* A request without an on_gone lives on until its handler answers into the void. */
static void request_gone(struct request *req) {
	req->hc = NULL;
	if (req->on_gone) {
		req->on_gone(req->on_gone_data);
		request_free(req);
	}
}

static void on_gone(void *state) {
	struct http_conn *hc = state;
	(void)loop_timer_cancel(hc->resume);
	if (hc->ws) {
		ws_free(hc->ws);
	}
	if (hc->req) {
		bool handled = hc->req->route && (hc->state == HC_BUSY || hc->req->route->stream);
		if (handled) {
			request_gone(hc->req);
		} else {
			request_free(hc->req);
		}
	}
	free(hc->head);
	free(hc->pending);
	free(hc);
}

int http_conn_new(struct conn *conn) {
	static const struct conn_ops ops = {.input = on_input, .drain = on_drain, .gone = on_gone};
	struct http_conn *hc = calloc(1, sizeof(*hc));
	if (!hc) {
		return -CUA_EXHAUSTED;
	}
	hc->conn = conn;
	hc->front = conn_front(conn);
	conn_set_ops(conn, &ops, hc);
	read_next_head(hc);
	return 0;
}
