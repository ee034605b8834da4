/* HTTP/1.x as bytes: request head, percent-encoding, chunked bodies. Pure functions; no connection, no
 * route, no answer. Strict where leniency lets two parsers disagree: CRLF only, no folded headers, no
 * length given twice or in two ways. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cua/msg.h"

struct http_field {
	const char *name; /* lower case */
	const char *value;
};

/* Views into the buffer that was parsed; all strings end with NUL. */
struct http_head {
	const char *method;
	char *path; /* still percent-encoded; starts with '/' */
	char *query; /* behind the '?', or NULL */
	int minor; /* HTTP/1.minor */
	struct http_field field[CUA_HEADERS_MAX];
	size_t field_count;
	/* what the head says about the rest */
	bool keep_alive;
	bool chunked;
	bool has_length;
	bool expect_continue;
	uint64_t length;
};

/* Length of the head at the start of these bytes, its empty line included; 0: not complete yet;
 * -CUA_BAD_REQUEST for a line end that is not CRLF. Looks at bytes from `seen` on only. */
ssize_t http_head_find(const char *data, size_t len, size_t seen, struct cua_err *err) CUA_CHECK;
/* Parses a whole head in place (len as from http_head_find()). 0 or -CUA_BAD_REQUEST, -CUA_TOO_LARGE. */
int http_head_parse(char *data, size_t len, struct http_head *ret, struct cua_err *err) CUA_CHECK;
/* A header's value by lower-case name, or NULL. */
const char *http_head_field(const struct http_head *head, const char *name);

/* Decodes percent-encoding in place ('+' becomes a space if plus is set). -CUA_BAD_REQUEST for bad
 * digits, NUL and what is not UTF-8. */
int http_decode(char *text, bool plus, struct cua_err *err) CUA_CHECK;

/* Splits a query in place into decoded fields (value "" without '='). Count, or negative. */
ssize_t http_query_split(
	char *query, struct http_field *ret, size_t max, struct cua_err *err) CUA_CHECK;

/* Value of one cookie in a Cookie header; its length, or -1. */
ssize_t http_cookie_find(const char *header, const char *name, const char **ret_value);
/* True if a comma-separated header value holds this token, without regard to case. */
bool http_has_token(const char *value, const char *token);

/* A chunked body. Start with {0}. */
struct http_chunks {
	uint64_t left; /* of the current chunk */
	unsigned state; /* private */
	unsigned line; /* length of the current line, to bound it */
	bool done;
};
/* Takes bytes of a chunked body. Returns how many were consumed, *ret_piece being the data among
 * them (may be empty); call again while bytes are left and it is not done. -CUA_BAD_REQUEST when it
 * is malformed. */
ssize_t http_chunks_feed(struct http_chunks *chunks, const uint8_t *data, size_t len,
	struct cua_span *ret_piece, struct cua_err *err) CUA_CHECK;
