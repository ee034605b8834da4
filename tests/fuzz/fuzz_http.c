/* What the network sends: request heads with address, query and cookies, chunked bodies, WebSocket
 * frames. The first byte chooses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/front/http_parse.h"
#include "server/front/routes.h"
#include "server/front/ws_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void head(const uint8_t *data, size_t size) {
	struct cua_err err;
	struct http_head parsed;
	struct http_field query[CUA_QUERY_MAX];
	struct route_params params;
	const struct route *route = NULL;
	const char *value = NULL;
	char allow[64];
	char *copy = malloc(size + 1);
	if (!copy) {
		abort();
	}
	memcpy(copy, data, size);
	ssize_t len = http_head_find(copy, size, 0, &err);
	if (len > 0 && http_head_parse(copy, (size_t)len, &parsed, &err) == 0) {
		struct route_query wanted = {.ws = http_head_field(&parsed, "upgrade") != NULL};
		wanted.method_known = http_method_find(parsed.method, &wanted.method);
		(void)routes_find(&wanted, parsed.path, &route, &params, allow);
		(void)!http_query_split(
			(char *)(uintptr_t)parsed.query, query, CUA_QUERY_MAX, &err);
		(void)http_cookie_find(http_head_field(&parsed, "cookie"), "a", &value);
	}
	free(copy);
}

static void chunks(const uint8_t *data, size_t size) {
	struct cua_err err;
	struct cua_span piece;
	struct http_chunks state = {0};
	for (size_t at = 0; at < size && !state.done;) {
		ssize_t n = http_chunks_feed(&state, data + at, size - at, &piece, &err);
		if (n <= 0) {
			return;
		}
		at += (size_t)n;
	}
}

static void frames(const uint8_t *data, size_t size) {
	struct ws_head frame;
	while (size > 0 && ws_head_parse(data, size, &frame) == 1) {
		data += frame.size;
		size -= frame.size;
		size_t n = frame.len < size ? (size_t)frame.len : size;
		if (frame.opcode == WS_CLOSE) {
			(void)ws_close_parse(data, n);
		}
		data += n;
		size -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static void (*const parts[])(const uint8_t *data, size_t size) = {head, chunks, frames};
	if (size > 0) {
		parts[data[0] % 3](data + 1, size - 1);
	}
	return 0;
}
