/* WebSocket connections: handshake, messages from frames and back, closing. Declared in http.h and
 * http_priv.h; frames as bytes are in ws_frame.c. No extensions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cua/ident.h"
#include "server/front/digest.h"
#include "server/front/front.h"
#include "server/front/http_priv.h"
#include "server/front/json_text.h"
#include "server/front/ws_frame.h"

struct buffer {
	uint8_t *data;
	size_t len;
	size_t size;
};

struct ws {
	struct http_conn *hc;
	struct conn *conn;
	struct request *req;
	const struct ws_ops *ops;
	void *state;
	struct loop_timer *ping;
	/* what comes */
	uint8_t head_bytes[WS_HEAD_MAX];
	size_t head_len;
	struct ws_head head;
	bool in_frame;
	uint64_t frame_left;
	uint8_t control[WS_CONTROL_MAX];
	size_t control_len;
	struct buffer message;
	enum ws_opcode message_opcode; /* WS_CONTINUATION: none has begun */
	bool heard; /* since the last ping */
	unsigned silent; /* pings without a sign of life */
	size_t unsent; /* bytes for it at the last ping */
	/* what goes */
	struct buffer cork; /* sent by open() before the handshake was answered */
	bool corked;
	bool closing; /* our close frame is sent: no message is taken or given any more */
	bool paused;
};

static bool buffer_add(struct buffer *buf, const void *data, size_t len) {
	if (buf->len + len > buf->size) {
		size_t size = buf->size > 0 ? buf->size : 4096;
		while (size < buf->len + len) {
			size *= 2;
		}
		uint8_t *grown = realloc(buf->data, size);
		if (!grown) {
			return false;
		}
		buf->data = grown;
		buf->size = size;
	}
	if (len > 0) {
		memcpy(buf->data + buf->len, data, len);
		buf->len += len;
	}
	return true;
}

/* ---------------------------------------------------------------- sending */

/* One frame whose payload is both spans; the second one is not copied unless it must wait. */
static size_t send_frame_of(
	struct ws *ws, enum ws_opcode opcode, struct cua_span first, struct cua_span second) {
	uint8_t head[WS_HEAD_MAX];
	size_t size = ws_head_make(head, opcode, first.len + second.len);
	struct buffer own = {0};
	struct buffer *front = ws->corked ? &ws->cork : &own;
	if (!buffer_add(front, head, size) || !buffer_add(front, first.data, first.len) ||
		(ws->corked && !buffer_add(front, second.data, second.len))) {
		conn_abort(ws->conn);
	} else if (!ws->corked) {
		(void)conn_write(
			ws->conn, (struct cua_span){.data = own.data, .len = own.len}, second);
	}
	free(own.data);
	return ws->corked ? ws->cork.len : conn_queued(ws->conn);
}

static size_t send_frame(struct ws *ws, enum ws_opcode opcode, struct cua_span payload) {
	return send_frame_of(ws, opcode, (struct cua_span){0}, payload);
}

static void send_close(struct ws *ws, unsigned code, const char *reason) {
	uint8_t payload[WS_CONTROL_MAX] = {(uint8_t)(code >> 8), (uint8_t)code};
	size_t len = reason ? strnlen(reason, sizeof(payload) - 2) : 0;
	while (len > 0 && !cua_utf8_ok(reason, len)) {
		len--; /* not in the middle of a character */
	}
	if (len > 0) {
		memcpy(payload + 2, reason, len);
	}
	bool has_code = code != WS_CODE_NONE;
	(void)send_frame(
		ws, WS_CLOSE, (struct cua_span){.data = payload, .len = has_code ? len + 2 : 0});
	ws->closing = true;
	bool waits = conn_queued(ws->conn) > 0;
	conn_deadline(ws->conn, waits ? CUA_STALL_SECS : CUA_WS_CLOSE_SECS);
	ws->paused = false;
	http_conn_ws_pause(ws->hc, false);
}

void ws_close(struct ws *ws, unsigned code, const char *reason) {
	if (!ws->closing) {
		send_close(ws, code, reason);
	}
}

static size_t send_message(
	struct ws *ws, enum ws_opcode opcode, struct cua_span first, struct cua_span second) {
	if (ws->closing) {
		return conn_queued(ws->conn);
	}
	size_t queued = send_frame_of(ws, opcode, first, second);
	if (queued > CUA_WS_QUEUE_MAX) {
		conn_drop_unsent(ws->conn);
		send_close(ws, WS_CODE_SLOW, "the client reads too slowly");
		conn_deadline(ws->conn, CUA_WS_CLOSE_SECS);
	}
	return queued;
}

size_t ws_send(struct ws *ws, struct cua_span data, bool binary) {
	return send_message(ws, binary ? WS_BINARY : WS_TEXT, (struct cua_span){0}, data);
}

size_t ws_send_binary(struct ws *ws, struct cua_span head, struct cua_span body) {
	return send_message(ws, WS_BINARY, head, body);
}

size_t ws_send_json(struct ws *ws, json_t *json) {
	char *text = json ? json_dumps(json, JSON_OUT) : NULL;
	json_decref(json);
	if (!text) {
		ws_close(ws, 1011, "no memory for an answer");
		return conn_queued(ws->conn);
	}
	size_t queued = ws_send(ws, (struct cua_span){.data = text, .len = strlen(text)}, false);
	free(text);
	return queued;
}

void ws_pause(struct ws *ws, bool paused) {
	if (!ws->closing && ws->paused != paused) {
		ws->paused = paused;
		http_conn_ws_pause(ws->hc, paused);
	}
}

struct front *ws_front(const struct ws *ws) {
	return ws->req->front;
}

const struct request *ws_request(const struct ws *ws) {
	return ws->req;
}

void ws_drained(struct ws *ws) {
	if (!ws->closing && ws->ops->drain) {
		ws->ops->drain(ws->state);
	}
}

/* An answer to the ping, or anything else; where none was sent for there was something unsent before
 * it, that some of this was taken. While we do not read, nothing can be heard. */
static bool shows_life(const struct ws *ws) {
	size_t queued = conn_queued(ws->conn);
	if (ws->heard || ws->closing || (ws->paused && queued == 0)) {
		return true;
	}
	return ws->unsent > 0 ? queued < ws->unsent : queued > 0;
}

bool ws_silent(const struct ws *ws) {
	return ws->silent > 0 && !shows_life(ws);
}

static void on_ping(void *data) {
	struct ws *ws = data;
	ws->ping = NULL;
	ws->silent = shows_life(ws) ? 0 : ws->silent + 1;
	if (ws->silent * CUA_WS_PING_SECS >= CUA_WS_SILENT_SECS) {
		conn_abort(ws->conn);
		return;
	}
	if (ws->silent == 1 && ws->ops->silent) {
		ws->ops->silent(ws->state);
	}
	ws->heard = false;
	ws->unsent = conn_queued(ws->conn);
	if (!ws->closing && ws->unsent == 0) {
		(void)send_frame(ws, WS_PING, (struct cua_span){0});
	}
	ws->ping = loop_timer_add(
		ws->req->front->loop, CUA_WS_PING_SECS * UINT64_C(1000), on_ping, ws);
}

/* ---------------------------------------------------------------- receiving */

/* RFC 6455 allows NUL in text, our own check does not. */
static bool text_ok(const uint8_t *data, size_t len) {
	while (len > 0) {
		const uint8_t *zero = memchr(data, '\0', len);
		size_t n = zero ? (size_t)(zero - data) : len;
		if (!cua_utf8_ok(data, n)) {
			return false;
		}
		n += zero != NULL;
		data += n;
		len -= n;
	}
	return true;
}

static void message_end(struct ws *ws) {
	bool binary = ws->message_opcode == WS_BINARY;
	ws->message_opcode = WS_CONTINUATION;
	if (!binary && !text_ok(ws->message.data, ws->message.len)) {
		ws_close(ws, WS_CODE_NOT_UTF8, "a text message is not UTF-8");
		return;
	}
	struct buffer message = ws->message;
	ws->message = (struct buffer){0};
	ws->ops->message(ws->state,
		(struct cua_span){.data = message.data ? message.data : (const uint8_t *)"",
			.len = message.len},
		binary);
	free(message.data);
}

static void close_received(struct ws *ws) {
	int code = ws_close_parse(ws->control, ws->control_len);
	if (!ws->closing) {
		send_close(ws, (unsigned)(code < 0 ? -code : code), NULL);
	}
	conn_finish(ws->conn);
}

static void control_end(struct ws *ws) {
	struct cua_span payload = {.data = ws->control, .len = ws->control_len};
	if (ws->head.opcode == WS_CLOSE) {
		close_received(ws);
	} else if (ws->head.opcode == WS_PING && !ws->closing &&
		   conn_queued(ws->conn) < CUA_QUEUE_LOW) {
		(void)send_frame(ws, WS_PONG, payload);
	}
}

static bool is_control(const struct ws *ws) {
	return ws->head.opcode >= WS_CLOSE;
}

static void frame_end(struct ws *ws) {
	ws->in_frame = false;
	ws->head_len = 0;
	if (is_control(ws)) {
		control_end(ws);
	} else if (ws->head.fin && !ws->closing) {
		message_end(ws);
	}
}

static int frame_begin(struct ws *ws) {
	if (is_control(ws)) {
		ws->control_len = 0;
		return 0;
	}
	bool continues = ws->head.opcode == WS_CONTINUATION;
	if (continues != (ws->message_opcode != WS_CONTINUATION)) {
		return WS_CODE_PROTOCOL;
	}
	if (!continues) {
		ws->message_opcode = ws->head.opcode;
		ws->message.len = 0;
	}
	return ws->head.len > CUA_BODY_MAX - ws->message.len ? WS_CODE_TOO_BIG : 0;
}

/* A fault of the client: we say so, and read on only for its close frame. */
static void fault(struct ws *ws, int code) {
	ws_close(ws, (unsigned)code,
		code == WS_CODE_TOO_BIG ? "a message is too large" : "malformed frame");
	conn_finish(ws->conn);
}

static size_t take_head(struct ws *ws, const uint8_t *data, size_t len) {
	size_t before = ws->head_len;
	size_t n = len < WS_HEAD_MAX - before ? len : WS_HEAD_MAX - before;
	memcpy(ws->head_bytes + before, data, n);
	int r = ws_head_parse(ws->head_bytes, before + n, &ws->head);
	if (r == 0) {
		ws->head_len += n;
		return n;
	}
	int code = r < 0 ? -r : frame_begin(ws);
	if (code != 0 && !ws->closing) {
		fault(ws, code);
		return len;
	}
	ws->in_frame = true;
	ws->frame_left = ws->head.len;
	return ws->head.size - before;
}

static void take_payload(struct ws *ws, const uint8_t *data, size_t n) {
	uint64_t offset = ws->head.len - ws->frame_left;
	ws->frame_left -= n;
	if (is_control(ws)) {
		memcpy(ws->control + ws->control_len, data, n);
		ws_unmask(ws->control + ws->control_len, n, ws->head.mask, offset);
		ws->control_len += n;
	} else if (!ws->closing) {
		size_t at = ws->message.len;
		if (n > 0 && !buffer_add(&ws->message, data, n)) {
			conn_abort(ws->conn);
			return;
		}
		if (n > 0) {
			ws_unmask(ws->message.data + at, n, ws->head.mask, offset);
		}
	}
}

size_t ws_input(struct ws *ws, const uint8_t *data, size_t len) {
	ws->heard = true;
	size_t used = 0;
	while (used < len && !ws->paused) {
		if (!ws->in_frame) {
			used += take_head(ws, data + used, len - used);
		}
		if (ws->in_frame) {
			size_t n =
				len - used < ws->frame_left ? len - used : (size_t)ws->frame_left;
			take_payload(ws, data + used, n);
			used += n;
		}
		if (ws->in_frame && ws->frame_left == 0) {
			frame_end(ws);
		}
	}
	return used;
}

/* ---------------------------------------------------------------- handshake */

static int check_handshake(const struct request *req, bool *ret_protocol, struct cua_err *err) {
	const char *version = request_header(req, "sec-websocket-version");
	const char *key = request_header(req, "sec-websocket-key");
	const char *protocols = request_header(req, "sec-websocket-protocol");
	if (!version || strcmp(version, "13") != 0) {
		return cua_err_set(err, CUA_BAD_REQUEST, "Sec-WebSocket-Version is 13");
	}
	if (!key || strlen(key) != 24) {
		return cua_err_set(
			err, CUA_BAD_REQUEST, "Sec-WebSocket-Key is missing or malformed");
	}
	*ret_protocol = req->route->protocol && protocols;
	if (*ret_protocol && !http_has_token(protocols, req->route->protocol)) {
		return cua_err_set(
			err, CUA_BAD_REQUEST, "the subprotocol here is %s", req->route->protocol);
	}
	return 0;
}

static void send_handshake(struct ws *ws, bool protocol) {
	char accept[DIGEST_WS_ACCEPT];
	char head[512];
	digest_ws_accept(request_header(ws->req, "sec-websocket-key"), accept);
	int len = snprintf(head, sizeof(head),
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		"Sec-WebSocket-Accept: %s\r\n%s%s%s%s\r\n",
		accept, ws->req->set_cookie, protocol ? "Sec-WebSocket-Protocol: " : "",
		protocol ? ws->req->route->protocol : "", protocol ? "\r\n" : "");
	ws->corked = false;
	(void)conn_write(ws->conn, (struct cua_span){.data = head, .len = (size_t)len},
		(struct cua_span){.data = ws->cork.data, .len = ws->cork.len});
	free(ws->cork.data);
	ws->cork = (struct buffer){0};
}

static struct ws *ws_alloc(struct http_conn *hc, struct request *req) {
	struct ws *ws = calloc(1, sizeof(*ws));
	if (ws) {
		ws->hc = hc;
		ws->conn = http_conn_of(hc);
		ws->req = req;
		ws->ops = req->route->ws;
		ws->corked = true;
		ws->heard = true;
	}
	return ws;
}

static void ws_discard(struct ws *ws) {
	(void)loop_timer_cancel(ws->ping);
	free(ws->message.data);
	free(ws->cork.data);
	free(ws);
}

struct ws *ws_new(struct http_conn *hc, struct request *req) {
	struct cua_err err = {.code = CUA_INTERNAL};
	bool protocol = false;
	if (check_handshake(req, &protocol, &err) < 0) {
		request_reply_error(req, &err);
		return NULL;
	}
	struct ws *ws = ws_alloc(hc, req);
	if (!ws) {
		(void)cua_err_set(&err, CUA_EXHAUSTED, "no memory for a WebSocket");
		request_reply_error(req, &err);
		return NULL;
	}
	ws->state = ws->ops->open(ws, &err);
	if (!ws->state) {
		ws_discard(ws);
		request_reply_error(req, &err);
		return NULL;
	}
	send_handshake(ws, protocol);
	ws->ping = loop_timer_add(req->front->loop, CUA_WS_PING_SECS * UINT64_C(1000), on_ping, ws);
	return ws;
}

void ws_free(struct ws *ws) {
	ws->ops->close(ws->state);
	request_free(ws->req);
	ws_discard(ws);
}
