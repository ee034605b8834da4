/* What handlers may ask of a request and how they answer it; declared in http.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/front/http_priv.h"
#include "server/front/json_text.h"

/* ---------------------------------------------------------------- asking */

struct front *request_front(const struct request *req) {
	return req->front;
}

enum http_method request_method(const struct request *req) {
	return req->method;
}

const char *request_param(const struct request *req, const char *name) {
	return route_param(&req->params, name);
}

const char *request_query(const struct request *req, const char *name) {
	for (size_t i = 0; i < req->query_count; i++) {
		if (strcmp(req->query[i].name, name) == 0) {
			return req->query[i].value;
		}
	}
	return NULL;
}

const char *request_header(const struct request *req, const char *name) {
	return http_head_field(&req->head, name);
}

const struct identity *request_identity(const struct request *req) {
	return &req->identity;
}

/* The body; of length 0 without one. */
static struct cua_span request_body(const struct request *req) {
	return (struct cua_span){.data = req->body, .len = req->body_len};
}

json_t *request_json(const struct request *req, struct cua_err *err) {
	if (req->body_len == 0) {
		return json_object();
	}
	json_t *json = json_text_decode(request_body(req), err);
	if (!json) {
		(void)cua_err_prefix(err, "the body");
	}
	return json;
}

void request_on_body(
	struct request *req, void (*fn)(void *data, struct cua_span piece), void *data) {
	req->on_body = fn;
	req->on_body_data = data;
}

void request_body_pause(struct request *req, bool paused) {
	if (req->hc) {
		http_conn_body_pause(req->hc, paused);
	}
}

void request_on_gone(struct request *req, void (*fn)(void *data), void *data) {
	req->on_gone = fn;
	req->on_gone_data = data;
}

void request_free(struct request *req) {
	if (req) {
		free(req->head_bytes);
		free(req->body);
		free(req);
	}
}

/* ---------------------------------------------------------------- the head of an answer */

static const struct {
	int status;
	const char *text;
} statuses[] = {
	{200, "OK"},
	{201, "Created"},
	{202, "Accepted"},
	{204, "No Content"},
	{206, "Partial Content"},
	{304, "Not Modified"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{409, "Conflict"},
	{413, "Content Too Large"},
	{416, "Range Not Satisfiable"},
	{422, "Unprocessable Content"},
	{429, "Too Many Requests"},
	{500, "Internal Server Error"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
};

static const char *status_text(int status) {
	for (size_t i = 0; i < CUA_COUNT(statuses); i++) {
		if (statuses[i].status == status) {
			return statuses[i].text;
		}
	}
	return "Status";
}

static const char page_headers[] = "Content-Security-Policy: default-src 'self'; img-src 'self' "
				   "blob: data:; object-src 'none'; "
				   "base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n"
				   "Referrer-Policy: no-referrer\r\n";

struct answer {
	int status;
	const char *mime; /* NULL: no body */
	int64_t length; /* < 0: not known */
	const char *etag;
	const char *header; /* further lines, or NULL */
};

/* Adds a piece of text to a head that is long enough for all that we say in one. */
static void add(char *head, size_t size, const char *fmt, ...) CUA_PRINTF(3, 4);
static void add(char *head, size_t size, const char *fmt, ...) {
	size_t used = strlen(head);
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(head + used, size - used, fmt, ap);
	va_end(ap);
}

static void add_body_headers(char *head, size_t size, struct request *req, const struct answer *a) {
	if (a->mime) {
		bool page = strncmp(a->mime, "text/html", 9) == 0;
		add(head, size, "Content-Type: %s\r\n%s", a->mime, page ? page_headers : "");
	}
	if (a->length >= 0 && a->status != 204 && a->status != 304) {
		add(head, size, "Content-Length: %lld\r\n", (long long)a->length);
	} else if (req->chunked) {
		add(head, size, "Transfer-Encoding: chunked\r\n");
	}
}

static bool closes(const struct request *req, const struct answer *a) {
	bool framed = a->length >= 0 || req->chunked || a->status == 204 || a->status == 304 ||
		      req->method == HTTP_HEAD;
	return !framed || !http_conn_keeps_alive(req->hc);
}

static void send_head(struct request *req, const struct answer *a, struct cua_span body) {
	char head[2048] = "";
	add(head, sizeof(head), "HTTP/1.1 %d %s\r\n", a->status, status_text(a->status));
	add_body_headers(head, sizeof(head), req, a);
	add(head, sizeof(head), "X-Content-Type-Options: nosniff\r\nCache-Control: %s\r\n",
		a->etag ? "private, no-cache" : "no-store");
	if (a->etag) {
		add(head, sizeof(head), "ETag: \"%.64s\"\r\n", a->etag);
	}
	add(head, sizeof(head), "%s%s", req->set_cookie, a->header ? a->header : "");
	if (closes(req, a)) {
		add(head, sizeof(head), "Connection: close\r\n");
	} else if (req->head.minor == 0) {
		add(head, sizeof(head), "Connection: keep-alive\r\n");
	}
	add(head, sizeof(head), "\r\n");
	if (req->method == HTTP_HEAD) {
		body = (struct cua_span){0};
	}
	(void)conn_write(
		http_conn_of(req->hc), (struct cua_span){.data = head, .len = strlen(head)}, body);
}

/* ---------------------------------------------------------------- whole answers */

static void finish(struct request *req, bool aborted) {
	struct http_conn *hc = req->hc;
	request_free(req);
	if (hc) {
		http_conn_answered(hc, aborted);
	}
}

static void reply(struct request *req, const struct answer *a, struct cua_span body) {
	if (req->hc) {
		send_head(req, a, body);
	}
	finish(req, false);
}

static void reply_json(struct request *req, int status, json_t *body, const char *header) {
	char *text = body ? json_dumps(body, JSON_OUT) : NULL;
	json_decref(body);
	static const char failed[] = "{\"error\":{\"kind\":\"internal\",\"message\":\"no memory "
				     "for the answer\",\"detail\":{}}}";
	const char *out = text ? text : failed;
	const struct answer a = {.status = text ? status : 500,
		.mime = "application/json",
		.length = (int64_t)strlen(out),
		.header = header};
	reply(req, &a, (struct cua_span){.data = out, .len = strlen(out)});
	free(text);
}

void request_reply_json(struct request *req, int status, json_t *body) {
	reply_json(req, status, body, NULL);
}

/* Text of an error may hold what a client sent, cut off anywhere. */
static json_t *clean_string(const char *text) {
	json_t *string = json_string(text);
	if (!string) {
		char copy[sizeof(((struct cua_err *)0)->message)];
		(void)snprintf(copy, sizeof(copy), "%s", text);
		for (char *p = copy; *p; p++) {
			*p = (char)((unsigned char)*p < 0x80 ? *p : '?');
		}
		string = json_string(copy);
	}
	return string;
}

json_t *error_to_json(const struct cua_err *err) {
	json_t *detail = json_object();
	if (err->subject[0] != '\0') {
		const char *key = err->code == CUA_EXHAUSTED ? "resource" : "parameter";
		(void)json_object_set_new(detail, key, clean_string(err->subject));
	}
	return json_pack("{s:s, s:o, s:o}", "kind", cua_code_name(err->code), "message",
		clean_string(err->message), "detail", detail);
}

void request_reply_error_with(struct request *req, const struct cua_err *err, const char *header) {
	int status = cua_code_http(err->code);
	if (header && strncmp(header, "Allow:", 6) == 0) {
		status = 405;
	}
	reply_json(req, status, json_pack("{s:o}", "error", error_to_json(err)), header);
}

void request_reply_error(struct request *req, const struct cua_err *err) {
	request_reply_error_with(req, err, NULL);
}

void request_reply_bytes(struct request *req, int status, const char *mime, struct cua_span bytes,
	const char *etag) {
	const struct answer a = {
		.status = status, .mime = mime, .length = (int64_t)bytes.len, .etag = etag};
	reply(req, &a, bytes);
}

void request_reply_empty(struct request *req, int status, const char *etag) {
	const struct answer a = {.status = status, .etag = etag};
	reply(req, &a, (struct cua_span){0});
}

/* ---------------------------------------------------------------- streamed answers */

void request_stream_begin(struct request *req, int status, const char *mime, int64_t length) {
	req->streaming = true;
	req->chunked = length < 0 && req->head.minor == 1;
	req->stream_left = length < 0 ? 0 : (uint64_t)length;
	const struct answer a = {.status = status, .mime = mime, .length = length};
	req->stream_sized = length >= 0;
	req->stream_closes = req->hc && closes(req, &a);
	if (req->hc) {
		send_head(req, &a, (struct cua_span){0});
	}
}

size_t request_stream_write(struct request *req, struct cua_span bytes) {
	if (!req->hc || req->method == HTTP_HEAD || bytes.len == 0) {
		return req->hc ? conn_queued(http_conn_of(req->hc)) : 0;
	}
	char head[32] = "";
	if (req->chunked) {
		(void)snprintf(
			head, sizeof(head), "%s%zx\r\n", req->chunks_sent ? "\r\n" : "", bytes.len);
		req->chunks_sent = true;
	} else if (req->stream_sized) {
		bytes.len = bytes.len < req->stream_left ? bytes.len : (size_t)req->stream_left;
		req->stream_left -= bytes.len;
	}
	return conn_write(
		http_conn_of(req->hc), (struct cua_span){.data = head, .len = strlen(head)}, bytes);
}

void request_stream_on_drain(struct request *req, void (*fn)(void *data), void *data) {
	req->on_drain = fn;
	req->on_drain_data = data;
}

void request_stream_end(struct request *req, bool abort) {
	bool head_only = req->method == HTTP_HEAD;
	bool cut = abort || (req->stream_left > 0 && !head_only);
	if (req->hc && req->chunked && !cut && !head_only) {
		const char *end = req->chunks_sent ? "\r\n0\r\n\r\n" : "0\r\n\r\n";
		(void)conn_write(http_conn_of(req->hc),
			(struct cua_span){.data = end, .len = strlen(end)}, (struct cua_span){0});
	}
	if (req->hc && req->stream_closes) {
		http_conn_close_after(req->hc);
	}
	finish(req, cut);
}
