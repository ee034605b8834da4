/* Requests as bytes, the route table, WebSocket frames, and the description made from the tables. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "server/front/front.h"
#include "server/front/http_parse.h"
#include "server/front/openapi.h"
#include "server/front/routes.h"
#include "server/front/ws_frame.h"
#include "tests/lib/suite.h"

static const struct route *route;
static struct route_params params;
static char allow[64];
static char path_buffer[512];

static enum route_found find(enum http_method method, bool ws, const char *path) {
	const struct route_query query = {.method = method, .method_known = true, .ws = ws};
	(void)snprintf(path_buffer, sizeof(path_buffer), "%s", path);
	return routes_find(&query, path_buffer, &route, &params, allow);
}

START_TEST(matching) {
	ck_assert_int_eq(find(HTTP_GET, false, "/v1/health"), ROUTE_FOUND);
	ck_assert_str_eq(route->pattern, "/v1/health");
	ck_assert_int_eq(find(HTTP_HEAD, false, "/v1/health"), ROUTE_FOUND);
	ck_assert_int_eq(find(HTTP_GET, false, "/"), ROUTE_FOUND);
	ck_assert_int_eq(find(HTTP_GET, false, "/v1/sessions/a%2Fb%20c"), ROUTE_FOUND);
	ck_assert_str_eq(route_param(&params, "id"), "a/b c");
	ck_assert_ptr_null(route_param(&params, "path"));
	ck_assert_int_eq(
		find(HTTP_GET, false, "/v1/sessions/x/files/a+b&c;d//e%2Ff/"), ROUTE_FOUND);
	ck_assert_str_eq(route_param(&params, "id"), "x");
	ck_assert_str_eq(route_param(&params, "path"), "a+b&c;d//e/f/");
	ck_assert_int_eq(find(HTTP_GET, false, "/v1/sessions/x/files/"), ROUTE_FOUND);
	ck_assert_str_eq(route_param(&params, "path"), "");
}
END_TEST

START_TEST(not_matching) {
	static const char *const nowhere[] = {"/v1", "/v1/", "/v1/health/", "//v1/health",
		"/v1//health", "/V1/health", "/v1/sessions//rpc", "/v1/tokens/a/b", "/v1/healthy",
		"/v1/healt"};
	for (size_t i = 0; i < CUA_COUNT(nowhere); i++) {
		ck_assert_msg(
			find(HTTP_GET, false, nowhere[i]) == ROUTE_NOT_FOUND, "%s", nowhere[i]);
	}
	ck_assert_int_eq(find(HTTP_POST, false, "/v1/health"), ROUTE_NOT_METHOD);
	ck_assert_str_eq(allow, "GET, HEAD");
	ck_assert_int_eq(find(HTTP_PUT, false, "/v1/tokens"), ROUTE_NOT_METHOD);
	ck_assert_str_eq(allow, "GET, HEAD, POST");
	ck_assert_int_eq(find(HTTP_GET, false, "/v1/sessions/%f"), ROUTE_MALFORMED);
	ck_assert_int_eq(find(HTTP_GET, false, "/v1/sessions/%00"), ROUTE_MALFORMED);
	ck_assert_int_eq(find(HTTP_GET, false, "/v1/sessions/%C3%28"), ROUTE_MALFORMED);
}
END_TEST

START_TEST(websockets) {
	ck_assert_int_eq(find(HTTP_GET, true, "/v1/sessions/x/rpc"), ROUTE_FOUND);
	ck_assert_ptr_nonnull(route->ws);
	ck_assert_int_eq(find(HTTP_GET, false, "/v1/sessions/x/rpc"), ROUTE_NOT_WS);
	ck_assert_int_eq(find(HTTP_GET, true, "/v1/health"), ROUTE_FOUND);
	ck_assert_ptr_null(route->ws);
}
END_TEST

START_TEST(rows_are_whole) {
	for (size_t i = 0; (route = front_route(i)) != NULL; i++) {
		ck_assert_int_eq(route->pattern[0], '/');
		ck_assert_msg(!route->handler == !!route->ws, "%s", route->pattern);
		ck_assert_msg(route->summary != NULL, "%s", route->pattern);
		ck_assert_msg(!route->ws || route->method == HTTP_GET, "%s", route->pattern);
		for (size_t k = 0; k < i; k++) {
			const struct route *other = front_route(k);
			ck_assert_msg(other->method != route->method || !other->ws != !route->ws ||
					      strcmp(other->pattern, route->pattern) != 0,
				"twice: %s", route->pattern);
		}
	}
}
END_TEST

START_TEST(description) {
	json_t *document = openapi_document();
	ck_assert_ptr_nonnull(document);
	json_t *paths = json_object_get(document, "paths");
	for (size_t i = 0; (route = front_route(i)) != NULL; i++) {
		ck_assert_msg(json_object_get(paths, route->pattern) != NULL, "%s", route->pattern);
	}
	json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas");
	ck_assert_ptr_nonnull(json_object_get(schemas, "action_click"));
	const char *name = NULL;
	json_t *schema = NULL;
	json_object_foreach(schemas, name, schema) {
		ck_assert_msg(json_object_size(schema) > 0, "%s is no JSON", name);
	}
	json_decref(document);
}
END_TEST

/* ---------------------------------------------------------------- heads */

static struct http_head head;
static char head_buffer[4096];

static int parse(const char *text) {
	struct cua_err err;
	size_t len = strlen(text);
	memcpy(head_buffer, text, len + 1);
	ssize_t end = http_head_find(head_buffer, len, 0, &err);
	return end <= 0 ? (int)end - 1000 : http_head_parse(head_buffer, (size_t)end, &head, &err);
}

START_TEST(heads) {
	ck_assert_int_eq(parse("POST /a%20b?c=d HTTP/1.1\r\nHost: x\r\nX-Thing:  a b \t\r\n"
			       "Content-Length: 12\r\n\r\nbody"),
		0);
	ck_assert_str_eq(head.method, "POST");
	ck_assert_str_eq(head.path, "/a%20b");
	ck_assert_str_eq(head.query, "c=d");
	ck_assert_str_eq(http_head_field(&head, "x-thing"), "a b");
	ck_assert_ptr_null(http_head_field(&head, "x-other"));
	ck_assert(head.keep_alive && head.has_length && head.length == 12);
	ck_assert_int_eq(parse("GET http://h:1/p HTTP/1.1\r\nHost: x\r\n\r\n"), 0);
	ck_assert_str_eq(head.path, "/p");
	ck_assert_int_eq(parse("GET / HTTP/1.0\r\n\r\n"), 0);
	ck_assert(!head.keep_alive);
	ck_assert_int_eq(
		parse("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\n\r\n"), 0);
	ck_assert(!head.keep_alive);
	ck_assert_int_eq(parse("GET http://nopath HTTP/1.1\r\nHost: x\r\n\r\n"), -CUA_BAD_REQUEST);
	ck_assert_int_eq(parse("GET / HTTP/1.1\r\nHost: x\r\nA\tb: c\r\n\r\n"), -CUA_BAD_REQUEST);
	ck_assert_int_eq(parse("GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n"), -CUA_BAD_REQUEST);
	ck_assert_int_eq(parse("GET / HTTP/1.1\r\nHost: x\r\n"), -1000);
	ck_assert_int_eq(parse("GET / HTTP/1.1\nHost: x\n\n"), -1000 - CUA_BAD_REQUEST);
}
END_TEST

START_TEST(queries_and_cookies) {
	char query[] = "a=1&b&c=x%26y+z&&=v&d=%E2%82%AC";
	struct http_field field[8];
	struct cua_err err;
	ck_assert_int_eq(http_query_split(query, field, 8, &err), 5);
	ck_assert_str_eq(field[1].name, "b");
	ck_assert_str_eq(field[1].value, "");
	ck_assert_str_eq(field[2].value, "x&y z");
	ck_assert_str_eq(field[4].value, "€");
	char many[] = "a&b&c";
	ck_assert_int_lt(http_query_split(many, field, 2, &err), 0);
	const char *value = NULL;
	ck_assert_int_eq(http_cookie_find("xa=1; a=22;b=3", "a", &value), 2);
	ck_assert_int_eq(strncmp(value, "22", 2), 0);
	ck_assert_int_eq(http_cookie_find("xa=1", "a", &value), -1);
	ck_assert_int_eq(http_cookie_find(NULL, "a", &value), -1);
	ck_assert(
		http_has_token("a , Upgrade", "upgrade") && !http_has_token("upgraded", "upgrade"));
	ck_assert(!http_has_token(NULL, "a") && !http_has_token("", "a"));
}
END_TEST

/* The data of a chunked body that comes in pieces of so many bytes; -1 when it is malformed. */
static int chunked(const char *text, size_t step, char *ret) {
	struct http_chunks chunks = {0};
	struct cua_err err;
	size_t out = 0;
	size_t len = strlen(text);
	for (size_t at = 0; at < len && !chunks.done;) {
		struct cua_span piece;
		size_t n = step < len - at ? step : len - at;
		ssize_t used =
			http_chunks_feed(&chunks, (const uint8_t *)text + at, n, &piece, &err);
		if (used < 0) {
			return -1;
		}
		if (piece.len > 0) {
			memcpy(ret + out, piece.data, piece.len);
		}
		out += piece.len;
		at += (size_t)used;
	}
	ret[out] = '\0';
	return chunks.done ? (int)out : -2;
}

START_TEST(chunks) {
	char out[64];
	for (size_t step = 1; step < 20; step++) {
		ck_assert_int_eq(
			chunked("5\r\nhello\r\nA;x=y\r\n0123456789\r\n000\r\nT: x\r\n\r\nrest",
				step, out),
			15);
		ck_assert_str_eq(out, "hello0123456789");
		ck_assert_int_eq(chunked("0\r\n\r\n", step, out), 0);
		ck_assert_int_eq(chunked("5\r\nhel", step, out), -2);
		ck_assert_int_eq(chunked("5\r\nhelloX", step, out), -1);
		ck_assert_int_eq(chunked("\r\n", step, out), -1);
		ck_assert_int_eq(chunked("5\nhello", step, out), -1);
		ck_assert_int_eq(chunked("0000000000000005\r\nhello", step, out), -1);
	}
}
END_TEST

/* ---------------------------------------------------------------- frames */

START_TEST(frames) {
	struct ws_head frame;
	const uint8_t hello[] = {0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58};
	for (size_t i = 0; i < 6; i++) {
		ck_assert_int_eq(ws_head_parse(hello, i, &frame), 0);
	}
	ck_assert_int_eq(ws_head_parse(hello, sizeof(hello), &frame), 1);
	ck_assert(frame.fin && frame.opcode == WS_TEXT && frame.len == 5 && frame.size == 6);
	uint8_t text[5];
	memcpy(text, hello + 6, 5);
	ws_unmask(text, 2, frame.mask, 0);
	ws_unmask(text + 2, 3, frame.mask, 2);
	ck_assert_mem_eq(text, "Hello", 5);
	static const uint8_t wrong[][2] = {
		{0x81, 0x05}, {0xc1, 0x85}, {0x83, 0x85}, {0x8b, 0x85}, {0x09, 0x80}, {0x89, 0xfe}};
	for (size_t i = 0; i < CUA_COUNT(wrong); i++) {
		ck_assert_int_eq(ws_head_parse(wrong[i], 2, &frame), -WS_CODE_PROTOCOL);
	}
	uint8_t out[WS_HEAD_MAX];
	ck_assert_uint_eq(ws_head_make(out, WS_BINARY, 125), 2);
	ck_assert_uint_eq(ws_head_make(out, WS_BINARY, 126), 4);
	ck_assert_uint_eq(ws_head_make(out, WS_BINARY, 65536), 10);
	ck_assert_mem_eq(out, "\x82\x7f\0\0\0\0\0\1\0\0", 10);
}
END_TEST

START_TEST(close_codes) {
	ck_assert_int_eq(ws_close_parse(NULL, 0), WS_CODE_NONE);
	ck_assert_int_eq(ws_close_parse((const uint8_t *)"\x03\xe8"
							 "bye",
				 5),
		1000);
	ck_assert_int_eq(ws_close_parse((const uint8_t *)"\x03", 1), -WS_CODE_PROTOCOL);
	ck_assert_int_eq(ws_close_parse((const uint8_t *)"\x03\xed", 2), -WS_CODE_PROTOCOL);
	ck_assert_int_eq(ws_close_parse((const uint8_t *)"\x13\x88", 2), -WS_CODE_PROTOCOL);
	ck_assert_int_eq(ws_close_parse((const uint8_t *)"\x0f\xa0", 2), 4000);
	ck_assert_int_eq(ws_close_parse((const uint8_t *)"\x03\xe8\xc3\x28", 4), -WS_CODE_NOT_UTF8);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {matching, not_matching, websockets, rows_are_whole,
		description, heads, queries_and_cookies, chunks, frames, close_codes};
	return suite_run("routes", tests, CUA_COUNT(tests));
}
