/* HTTP and WebSocket client on libwebsockets; see the header. Nothing here knows what the calls
 * mean. */
#include "server/ctl/client.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 16384, TIMEOUT_SECS = 600, WATCH_DRAIN_MAX = 4096 };

struct client {
	struct lws_context *context;
	struct client_options options;
	char address[256]; /* "+path" for a Unix socket */
	char prefix[256]; /* path of the URL, put before every path */
	char authorization[256];
	int port;
	int tls;
	size_t active;
	bool stop;
};

/* Everything that hangs on one connection; `ws` or `http` by the kind. */
enum kind { KIND_HTTP, KIND_WS, KIND_WATCH };

struct piece {
	struct piece *next;
	size_t len;
	bool binary;
	unsigned char bytes[]; /* LWS_PRE, then the message */
};

struct http_call {
	struct client_request request;
	_Alignas(16) unsigned char *body;
	size_t sent;
	char *answer;
	size_t len;
	int status;
	bool failed;
};

struct client_ws {
	const struct client_ws_ops *ops;
	void *data;
	struct piece *head;
	struct piece *tail;
	size_t queued;
	char *partial;
	size_t partial_len;
	bool opened;
};

struct conn {
	enum kind kind;
	bool connecting; /* inside lws_client_connect_via_info() */
	struct client *client;
	struct lws *wsi;
	struct cua_err err;
	union {
		struct http_call http;
		struct client_ws ws;
		struct {
			void (*fn)(void *data);
			void *data;
		} watch;
	};
};

static struct conn *conn_of_ws(struct client_ws *ws) {
	return (struct conn *)((char *)ws - offsetof(struct conn, ws));
}

static void unreachable(struct conn *conn, const char *text) {
	(void)cua_err_set(
		&conn->err, CUA_INTERNAL, "cannot reach the server: %s", text ? text : "no answer");
}

/* ---------------------------------------------------------------- HTTP */

static void http_error_from_body(struct conn *conn) {
	struct http_call *call = &conn->http;
	json_t *root = call->answer ? json_loads(call->answer, 0, NULL) : NULL;
	const char *kind = NULL;
	const char *message = NULL;
	json_t *detail = NULL;
	if (json_unpack(root, "{s:{s:s,s:s,s?o}}", "error", "kind", &kind, "message", &message,
		    "detail", &detail) == 0) {
		(void)cua_err_set(&conn->err, cua_code_from_name(kind), "%s", message);
	} else {
		(void)cua_err_set(&conn->err, CUA_INTERNAL, "the server answered with status %d",
			call->status);
	}
	json_decref(root);
}

static void http_finish(struct conn *conn) {
	struct http_call *call = &conn->http;
	if (call->status >= 400) {
		http_error_from_body(conn);
	} else if (call->status == 0 || call->failed) {
		call->status = 0;
		if (conn->err.code == CUA_OK) {
			(void)cua_err_set(
				&conn->err, CUA_INTERNAL, "the server closed the connection");
		}
	}
	struct client_reply reply = {
		.status = call->status, .body = call->answer, .len = call->len, .err = conn->err};
	call->request.done(call->request.data, &reply);
	free(call->answer);
	free(call->body);
	free((void *)(uintptr_t)call->request.path);
	conn->client->active--;
	free(conn);
}

static int header_add(struct conn *conn, enum lws_token_indexes token, const char *value,
	unsigned char **p, unsigned char *end) {
	return lws_add_http_header_by_token(
		conn->wsi, token, (const unsigned char *)value, (int)strlen(value), p, end);
}

static int http_headers(struct conn *conn, unsigned char **p, size_t room) {
	struct http_call *call = &conn->http;
	unsigned char *end = *p + room;
	if (conn->client->authorization[0] && header_add(conn, WSI_TOKEN_HTTP_AUTHORIZATION,
						      conn->client->authorization, p, end)) {
		return -1;
	}
	if (conn->kind != KIND_HTTP || strcmp(call->request.method, "GET") == 0) {
		return 0;
	}
	char length[32];
	(void)snprintf(length, sizeof(length), "%lld",
		call->request.source ? (long long)call->request.source_len
				     : (long long)call->request.body.len);
	const char *mime = call->request.mime ? call->request.mime : "application/json";
	if (header_add(conn, WSI_TOKEN_HTTP_CONTENT_LENGTH, length, p, end) ||
		header_add(conn, WSI_TOKEN_HTTP_CONTENT_TYPE, mime, p, end)) {
		return -1;
	}
	if (call->request.source || call->request.body.len > 0) {
		lws_client_http_body_pending(conn->wsi, 1);
		lws_callback_on_writable(conn->wsi);
	}
	return 0;
}

/* Fills the next piece of the body; its length, 0 when nothing is left, negative on failure. */
static ssize_t http_next_piece(struct http_call *call, unsigned char *buf) {
	if (call->request.source) {
		return call->request.source(call->request.data, buf, CHUNK);
	}
	size_t n = call->request.body.len - call->sent;
	n = n > CHUNK ? CHUNK : n;
	memcpy(buf, call->body + call->sent, n);
	return (ssize_t)n;
}

static int http_write(struct conn *conn) {
	struct http_call *call = &conn->http;
	unsigned char buf[LWS_PRE + CHUNK];
	ssize_t n = http_next_piece(call, buf + LWS_PRE);
	if (n < 0) {
		call->failed = true;
		(void)cua_err_set(&conn->err, CUA_INTERNAL, "cannot read what is to be sent");
		return -1;
	}
	size_t total =
		call->request.source ? (size_t)call->request.source_len : call->request.body.len;
	call->sent += (size_t)n;
	bool last = n == 0 || call->sent >= total;
	if (n > 0 && lws_write(conn->wsi, buf + LWS_PRE, (size_t)n,
			     last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)n) {
		return -1;
	}
	if (last) {
		lws_client_http_body_pending(conn->wsi, 0);
	} else {
		lws_callback_on_writable(conn->wsi);
	}
	return 0;
}

static int http_keep(struct http_call *call, const void *in, size_t len) {
	char *grown = realloc(call->answer, call->len + len + 1);
	if (!grown) {
		return -1;
	}
	memcpy(grown + call->len, in, len);
	call->answer = grown;
	call->len += len;
	grown[call->len] = '\0';
	return 0;
}

static int http_data(struct conn *conn, const void *in, size_t len) {
	struct http_call *call = &conn->http;
	if (call->request.sink && call->status < 300) {
		if (call->request.sink(
			    call->request.data, (struct cua_span){.data = in, .len = len}) < 0) {
			call->failed = true;
			(void)cua_err_set(
				&conn->err, CUA_INTERNAL, "cannot write what was received");
			return -1;
		}
		return 0;
	}
	return http_keep(call, in, len);
}

static int http_read(struct lws *wsi) {
	char buf[LWS_PRE + CHUNK];
	char *at = buf + LWS_PRE;
	int len = CHUNK;
	return lws_http_client_read(wsi, &at, &len) < 0 ? -1 : 0;
}

static int on_http(
	struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len) {
	struct conn *conn = user;
	if (!conn) {
		return 0;
	}
	switch ((int)reason) {
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		conn->wsi = wsi;
		return http_headers(conn, in, len);
	case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE:
		return http_write(conn);
	case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
		conn->http.status = (int)lws_http_client_http_response(wsi);
		return 0;
	case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
		return http_read(wsi);
	case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
		return http_data(conn, in, len);
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		if (conn->http.status == 0) {
			unreachable(conn, in);
		}
		if (!conn->connecting) {
			http_finish(conn);
		}
		return 0;
	case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
		return -1; /* one call, one connection */
	case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
		http_finish(conn);
		return 0;
	default:
		return 0;
	}
}

/* ---------------------------------------------------------------- WebSocket */

static void ws_finish(struct conn *conn) {
	struct client_ws *ws = &conn->ws;
	while (ws->head) {
		struct piece *piece = ws->head;
		ws->head = piece->next;
		free(piece);
	}
	ws->ops->closed(ws->data, &conn->err);
	free(ws->partial);
	conn->client->active--;
	free(conn);
}

static int ws_write(struct conn *conn) {
	struct client_ws *ws = &conn->ws;
	struct piece *piece = ws->head;
	if (!piece) {
		return 0;
	}
	if (lws_write(conn->wsi, piece->bytes + LWS_PRE, piece->len,
		    piece->binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT) < (int)piece->len) {
		return -1;
	}
	ws->head = piece->next;
	ws->queued -= piece->len;
	free(piece);
	if (ws->head) {
		lws_callback_on_writable(conn->wsi);
	} else {
		ws->tail = NULL;
		if (ws->ops->drained) {
			ws->ops->drained(ws->data);
		}
	}
	return 0;
}

static int ws_data(struct conn *conn, const void *in, size_t len) {
	struct client_ws *ws = &conn->ws;
	char *grown = realloc(ws->partial, ws->partial_len + len + 1);
	if (!grown || ws->partial_len + len > CUA_BLOB_MAX) {
		return -1;
	}
	memcpy(grown + ws->partial_len, in, len);
	ws->partial = grown;
	ws->partial_len += len;
	grown[ws->partial_len] = '\0';
	if (lws_is_final_fragment(conn->wsi) && lws_remaining_packet_payload(conn->wsi) == 0) {
		struct cua_span whole = {.data = ws->partial, .len = ws->partial_len};
		ws->partial_len = 0;
		ws->ops->message(ws->data, whole, lws_frame_is_binary(conn->wsi));
	}
	return 0;
}

/* The server answered the upgrade with a status of its own; the body is not given to us. */
static void ws_refused(struct conn *conn, struct lws *wsi, const char *text) {
	static const struct {
		unsigned status;
		enum cua_code code;
		const char *message;
	} known[] = {
		{401, CUA_UNAUTHORIZED, "the token is missing or not valid"},
		{403, CUA_FORBIDDEN, "the token's role does not allow this"},
		{404, CUA_NOT_FOUND, "there is no such session; see: cuactl list"},
		{409, CUA_CONFLICT, "the session is not running"},
	};
	unsigned status = lws_http_client_http_response(wsi);
	for (size_t i = 0; i < CUA_COUNT(known); i++) {
		if (known[i].status == status) {
			(void)cua_err_set(&conn->err, known[i].code, "%s", known[i].message);
			return;
		}
	}
	unreachable(conn, text);
}

static int on_ws(
	struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len) {
	struct conn *conn = user;
	if (!conn) {
		return 0;
	}
	switch ((int)reason) {
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		conn->wsi = wsi;
		return http_headers(conn, in, len);
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		conn->wsi = wsi;
		conn->ws.opened = true;
		conn->ws.ops->open(conn->ws.data, &conn->ws);
		return 0;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		return ws_data(conn, in, len);
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		return ws_write(conn);
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		ws_refused(conn, wsi, in);
		if (!conn->connecting) {
			ws_finish(conn);
		}
		return 0;
	case LWS_CALLBACK_CLIENT_CLOSED:
		ws_finish(conn);
		return 0;
	default:
		return 0;
	}
}

size_t client_ws_send(struct client_ws *ws, struct cua_span bytes, bool binary) {
	struct piece *piece = malloc(sizeof(*piece) + LWS_PRE + bytes.len);
	if (!piece) {
		return ws->queued;
	}
	*piece = (struct piece){.len = bytes.len, .binary = binary};
	if (bytes.len > 0) {
		memcpy(piece->bytes + LWS_PRE, bytes.data, bytes.len);
	}
	if (ws->tail) {
		ws->tail->next = piece;
	} else {
		ws->head = piece;
	}
	ws->tail = piece;
	ws->queued += bytes.len;
	lws_callback_on_writable(conn_of_ws(ws)->wsi);
	return ws->queued;
}

/* ---------------------------------------------------------------- descriptors */

static int on_watch(
	struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len) {
	(void)wsi;
	(void)in;
	(void)len;
	struct conn *conn = user;
	if (conn && reason == LWS_CALLBACK_RAW_RX_FILE && conn->watch.fn) {
		conn->watch.fn(conn->watch.data);
	} else if (conn && reason == LWS_CALLBACK_RAW_CLOSE_FILE) {
		/* a pipe whose writer has gone is closed by the library without a word, also when
		 * something is left in it: the reader has to see the end */
		conn->wsi = NULL;
		for (int left = WATCH_DRAIN_MAX; conn->watch.fn && left > 0; left--) {
			conn->watch.fn(conn->watch.data);
		}
		free(conn);
	}
	return 0;
}

struct client_watch *client_watch(
	struct client *client, int fd, void (*fn)(void *data), void *data) {
	struct conn *conn = calloc(1, sizeof(*conn));
	/* the library closes what it was given */
	lws_sock_file_fd_type desc = {.filefd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
	if (!conn || desc.filefd < 0) {
		free(conn);
		return NULL;
	}
	conn->kind = KIND_WATCH;
	conn->client = client;
	conn->watch.fn = fn;
	conn->watch.data = data;
	conn->wsi = lws_adopt_descriptor_vhost(lws_get_vhost_by_name(client->context, "default"),
		LWS_ADOPT_RAW_FILE_DESC, desc, "watch", NULL);
	if (!conn->wsi) {
		(void)close(desc.filefd);
		free(conn);
		return NULL;
	}
	lws_set_wsi_user(conn->wsi, conn);
	return (struct client_watch *)conn;
}

struct client_watch *client_unwatch(struct client_watch *watch) {
	struct conn *conn = (struct conn *)watch;
	if (conn) {
		conn->watch.fn = NULL;
		client_watch_pause(watch, true);
	}
	return NULL;
}

void client_watch_pause(struct client_watch *watch, bool paused) {
	struct conn *conn = (struct conn *)watch;
	if (conn && conn->wsi) {
		lws_rx_flow_control(conn->wsi, paused ? 0 : 1);
	}
}

/* ---------------------------------------------------------------- the client */

static const struct lws_protocols protocols[] = {
	{.name = "http", .callback = on_http},
	{.name = "ws", .callback = on_ws, .rx_buffer_size = CHUNK},
	{.name = "watch", .callback = on_watch},
	{0},
};

/* Splits "http[s]://host[:port][/prefix]". */
static int parse_url(struct client *client, const char *url, struct cua_err *err) {
	char *copy = strdup(url);
	const char *scheme = NULL;
	const char *host = NULL;
	const char *path = NULL;
	int port = 0;
	if (!copy || lws_parse_uri(copy, &scheme, &host, &port, &path)) {
		free(copy);
		return cua_err_set(err, CUA_BAD_REQUEST, "\"%s\" is not a URL", url);
	}
	bool tls = strcmp(scheme, "https") == 0 || strcmp(scheme, "wss") == 0;
	bool known = tls || strcmp(scheme, "http") == 0 || strcmp(scheme, "ws") == 0;
	client->tls = tls ? LCCSCF_USE_SSL : 0;
	client->port = port;
	(void)snprintf(client->address, sizeof(client->address), "%s", host);
	size_t len = strlen(path);
	while (len > 0 && path[len - 1] == '/') {
		len--;
	}
	(void)snprintf(client->prefix, sizeof(client->prefix), "%s%.*s",
		len > 0 && path[0] != '/' ? "/" : "", (int)len, path);
	free(copy);
	return known ? 0
		     : cua_err_set(err, CUA_BAD_REQUEST,
			       "\"%s\" must begin with http:// or https://", url);
}

struct client *client_new(const struct client_options *options, struct cua_err *err) {
	lws_set_log_level(0, NULL);
	struct client *client = calloc(1, sizeof(*client));
	if (!client) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "out of memory");
		return NULL;
	}
	client->options = *options;
	if (options->host && parse_url(client, options->host, err) < 0) {
		return client_free(client);
	}
	if (!options->host) {
		(void)snprintf(client->address, sizeof(client->address), "+%s", options->socket);
	}
	if (options->token) {
		(void)snprintf(client->authorization, sizeof(client->authorization), "Bearer %s",
			options->token);
	}
	struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN,
		.protocols = protocols,
		.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
		.timeout_secs = TIMEOUT_SECS,
		.vhost_name = "default",
	};
	client->context = lws_create_context(&info);
	if (!client->context) {
		(void)cua_err_set(err, CUA_INTERNAL, "cannot set up the network library");
		return client_free(client);
	}
	return client;
}

struct client *client_free(struct client *client) {
	if (client) {
		if (client->context) {
			lws_context_destroy(client->context);
		}
		explicit_bzero(client->authorization, sizeof(client->authorization));
		free(client);
	}
	return NULL;
}

static int connect_now(
	struct conn *conn, const char *method, const char *path, const char *protocol) {
	struct client *client = conn->client;
	char *full = NULL;
	if (asprintf(&full, "%s%s", client->prefix, path) < 0) {
		return -CUA_EXHAUSTED;
	}
	struct lws_client_connect_info info = {
		.context = client->context,
		.address = client->address,
		.port = client->port,
		.ssl_connection = client->tls,
		.path = full,
		.host = client->options.host ? client->address : "localhost",
		.origin = NULL,
		.protocol = protocol,
		.local_protocol_name = conn->kind == KIND_HTTP ? "http" : "ws",
		.method = method,
		.alpn = "http/1.1",
		.userdata = conn,
	};
	client->active++;
	/* a failure at once is told by the result, with or without a callback before; a later one by
	 * the callback alone */
	conn->connecting = true;
	bool started = lws_client_connect_via_info(&info) != NULL;
	conn->connecting = false;
	if (!started) {
		if (conn->err.code == CUA_OK) {
			unreachable(conn, NULL);
		}
		conn->kind == KIND_HTTP ? http_finish(conn) : ws_finish(conn);
	}
	free(full);
	return 0;
}

int client_start(struct client *client, const struct client_request *request, struct cua_err *err) {
	struct conn *conn = calloc(1, sizeof(*conn));
	unsigned char *body = malloc(request->body.len + 1);
	char *path = strdup(request->path);
	if (!conn || !body || !path) {
		free(conn);
		free(body);
		free(path);
		return cua_err_set(err, CUA_EXHAUSTED, "out of memory");
	}
	if (request->body.len > 0) {
		memcpy(body, request->body.data, request->body.len);
	}
	conn->kind = KIND_HTTP;
	conn->client = client;
	conn->http.request = *request;
	conn->http.request.path = path;
	conn->http.body = body;
	return connect_now(conn, request->method, path, NULL);
}

int client_ws_start(struct client *client, const char *path, const char *protocol,
	const struct client_ws_ops *ops, void *data) {
	struct conn *conn = calloc(1, sizeof(*conn));
	if (!conn) {
		return -CUA_EXHAUSTED;
	}
	conn->kind = KIND_WS;
	conn->client = client;
	conn->ws.ops = ops;
	conn->ws.data = data;
	return connect_now(conn, NULL, path, protocol);
}

void client_run(struct client *client) {
	client->stop = false;
	while (client->active > 0 && !client->stop && lws_service(client->context, 0) >= 0) {
	}
}

void client_stop(struct client *client) {
	client->stop = true;
	lws_cancel_service(client->context);
}
