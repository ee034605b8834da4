/* HTTP/1.x as bytes; see the header. The first code of ours that sees what the network sends. */
#include "server/front/http_parse.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cua/ident.h"
#include "cua/parse.h"

/* ---------------------------------------------------------------- finding the end */

ssize_t http_head_find(const char *data, size_t len, size_t seen, struct cua_err *err) {
	for (size_t i = seen; i < len; i++) {
		if (data[i] != '\n') {
			continue;
		}
		if (i == 0 || data[i - 1] != '\r') {
			return cua_err_set(
				err, CUA_BAD_REQUEST, "a line of the head does not end with CRLF");
		}
		if (i >= 3 && data[i - 2] == '\n') {
			return (ssize_t)i + 1;
		}
	}
	return 0;
}

/* ---------------------------------------------------------------- request line */

static bool is_token_char(unsigned char c) {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_token(const char *text) {
	size_t len = 0;
	while (is_token_char((unsigned char)text[len])) {
		len++;
	}
	return len > 0 && text[len] == '\0';
}

/* Cuts the line at the next CRLF, which must be there, and returns what follows. */
static char *cut_line(char *line) {
	char *end = strstr(line, "\r\n");
	if (!end) {
		return NULL;
	}
	*end = '\0';
	return end + 2;
}

/* "http://host/path" as proxies send it is reduced to its path. */
static char *origin_form(char *target) {
	if (strncasecmp(target, "http://", 7) == 0 || strncasecmp(target, "https://", 8) == 0) {
		return strchr(strchr(target, ':') + 3, '/');
	}
	return target;
}

static int target_parse(char *target, struct http_head *head, struct cua_err *err) {
	target = origin_form(target);
	if (!target || target[0] != '/') {
		return cua_err_set(
			err, CUA_BAD_REQUEST, "the request's path does not start with '/'");
	}
	for (const char *p = target; *p; p++) {
		if ((unsigned char)*p <= ' ' || *p == 0x7f) {
			return cua_err_set(
				err, CUA_BAD_REQUEST, "the request's path has control characters");
		}
	}
	target[strcspn(target, "#")] = '\0';
	head->path = target;
	head->query = strchr(target, '?');
	if (head->query) {
		*head->query++ = '\0';
	}
	return 0;
}

static int request_line(char *line, struct http_head *head, struct cua_err *err) {
	char *target = strchr(line, ' ');
	char *version = target ? strrchr(line, ' ') : NULL;
	if (!target || version == target) {
		return cua_err_set(err, CUA_BAD_REQUEST, "the request line is malformed");
	}
	*target++ = '\0';
	*version++ = '\0';
	if (!is_token(line)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "the request's method is malformed");
	}
	if (strncmp(version, "HTTP/1.", 7) != 0 || (version[7] != '0' && version[7] != '1') ||
		version[8] != '\0') {
		return cua_err_set(
			err, CUA_BAD_REQUEST, "only HTTP/1.1 and HTTP/1.0 are spoken here");
	}
	head->method = line;
	head->minor = version[7] - '0';
	return target_parse(target, head, err);
}

/* ---------------------------------------------------------------- headers */

static void trim(char **text) {
	while (**text == ' ' || **text == '\t') {
		(*text)++;
	}
	size_t len = strlen(*text);
	while (len > 0 && ((*text)[len - 1] == ' ' || (*text)[len - 1] == '\t')) {
		(*text)[--len] = '\0';
	}
}

static int field_parse(char *line, struct http_head *head, struct cua_err *err) {
	char *value = strchr(line, ':');
	if (!value) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a header has no colon");
	}
	*value++ = '\0';
	if (!is_token(line)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a header's name is malformed");
	}
	for (char *p = line; *p; p++) {
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p);
	}
	trim(&value);
	for (const char *p = value; *p; p++) {
		if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f) {
			return cua_err_set(
				err, CUA_BAD_REQUEST, "header %.40s has control characters", line);
		}
	}
	if (head->field_count >= CUA_HEADERS_MAX) {
		return cua_err_set(err, CUA_TOO_LARGE, "more than %d headers", CUA_HEADERS_MAX);
	}
	head->field[head->field_count++] = (struct http_field){.name = line, .value = value};
	return 0;
}

const char *http_head_field(const struct http_head *head, const char *name) {
	for (size_t i = 0; i < head->field_count; i++) {
		if (strcmp(head->field[i].name, name) == 0) {
			return head->field[i].value;
		}
	}
	return NULL;
}

static size_t field_times(const struct http_head *head, const char *name) {
	size_t times = 0;
	for (size_t i = 0; i < head->field_count; i++) {
		times += strcmp(head->field[i].name, name) == 0;
	}
	return times;
}

bool http_has_token(const char *value, const char *token) {
	size_t len = strlen(token);
	while (value && *value) {
		value += strspn(value, " \t,");
		size_t n = strcspn(value, ",");
		size_t trimmed = n;
		while (trimmed > 0 && (value[trimmed - 1] == ' ' || value[trimmed - 1] == '\t')) {
			trimmed--;
		}
		if (trimmed == len && strncasecmp(value, token, len) == 0) {
			return true;
		}
		value += n;
	}
	return false;
}

/* ---------------------------------------------------------------- framing */

static int length_parse(const char *text, struct http_head *head, struct cua_err *err) {
	if (!parse_number(text, 0, INT64_MAX, &head->length)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "Content-Length is not a number");
	}
	head->has_length = true;
	return 0;
}

static int framing_parse(struct http_head *head, struct cua_err *err) {
	const char *length = http_head_field(head, "content-length");
	const char *coding = http_head_field(head, "transfer-encoding");
	if (field_times(head, "content-length") > 1 || field_times(head, "transfer-encoding") > 1 ||
		(length && coding)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "the body's length is given twice");
	}
	if (coding) {
		if (strcasecmp(coding, "chunked") != 0 || head->minor < 1) {
			return cua_err_set(err, CUA_BAD_REQUEST,
				"the only transfer coding spoken here is chunked");
		}
		head->chunked = true;
	}
	return length ? length_parse(length, head, err) : 0;
}

static int rest_parse(struct http_head *head, struct cua_err *err) {
	size_t hosts = field_times(head, "host");
	if (hosts > 1 || (hosts == 0 && head->minor == 1)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a request has exactly one Host header");
	}
	const char *connection = http_head_field(head, "connection");
	head->keep_alive = head->minor == 1 ? !http_has_token(connection, "close")
					    : http_has_token(connection, "keep-alive");
	const char *expect = http_head_field(head, "expect");
	head->expect_continue =
		expect && strcasecmp(expect, "100-continue") == 0 && head->minor == 1;
	return framing_parse(head, err);
}

int http_head_parse(char *data, size_t len, struct http_head *ret, struct cua_err *err) {
	*ret = (struct http_head){0};
	if (len < 4 || memchr(data, '\0', len)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "the request's head has zero bytes");
	}
	data[len - 2] = '\0'; /* the empty line, so that every line before it ends with CRLF */
	char *next = cut_line(data);
	int r = next ? request_line(data, ret, err)
		     : cua_err_set(err, CUA_BAD_REQUEST, "the request line is malformed");
	while (r == 0 && *next) {
		char *line = next;
		next = cut_line(line);
		if (!next) {
			return cua_err_set(err, CUA_BAD_REQUEST, "a header line is malformed");
		}
		r = field_parse(line, ret, err);
	}
	return r < 0 ? r : rest_parse(ret, err);
}

/* ---------------------------------------------------------------- percent-encoding */

static int hex_digit(char c) {
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int http_decode(char *text, bool plus, struct cua_err *err) {
	char *to = text;
	for (const char *p = text; *p; p++) {
		char c = *p;
		if (c == '%') {
			int high = hex_digit(p[1]);
			int low = high >= 0 ? hex_digit(p[2]) : -1;
			if (low < 0 || (high == 0 && low == 0)) {
				return cua_err_set(
					err, CUA_BAD_REQUEST, "percent-encoding is malformed");
			}
			c = (char)(high << 4 | low);
			p += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		*to++ = c;
	}
	*to = '\0';
	if (!cua_utf8_ok(text, (size_t)(to - text))) {
		return cua_err_set(err, CUA_BAD_REQUEST, "the request's address is not UTF-8");
	}
	return 0;
}

ssize_t http_query_split(char *query, struct http_field *ret, size_t max, struct cua_err *err) {
	size_t count = 0;
	for (char *rest = query; rest && *rest;) {
		char *item = strsep(&rest, "&");
		if (*item == '\0') {
			continue;
		}
		if (count >= max) {
			return cua_err_set(
				err, CUA_BAD_REQUEST, "more than %zu query parameters", max);
		}
		char *value = strchr(item, '=');
		if (value) {
			*value++ = '\0';
		}
		int r = http_decode(item, true, err);
		if (r == 0 && value) {
			r = http_decode(value, true, err);
		}
		if (r < 0) {
			return r;
		}
		ret[count++] = (struct http_field){.name = item, .value = value ? value : ""};
	}
	return (ssize_t)count;
}

ssize_t http_cookie_find(const char *header, const char *name, const char **ret_value) {
	size_t name_len = strlen(name);
	while (header && *header) {
		header += strspn(header, " ;");
		size_t len = strcspn(header, ";");
		if (len > name_len && strncmp(header, name, name_len) == 0 &&
			header[name_len] == '=') {
			*ret_value = header + name_len + 1;
			return (ssize_t)(len - name_len - 1);
		}
		header += len;
	}
	return -1;
}

/* ---------------------------------------------------------------- chunks */

enum { CHUNK_SIZE, CHUNK_EXTENSION, CHUNK_SIZE_LF, CHUNK_DATA, CHUNK_CR, CHUNK_LF, CHUNK_TRAILER };
#define CHUNK_LINE_MAX 4096

static int chunk_bad(struct cua_err *err) {
	return cua_err_set(err, CUA_BAD_REQUEST, "the chunked body is malformed");
}

/* After the line of a chunk's size: its data, or the trailer after the last one. */
static void chunk_begin(struct http_chunks *chunks) {
	chunks->state = chunks->left > 0 ? CHUNK_DATA : CHUNK_TRAILER;
	chunks->line = 0;
}

static int chunk_size(struct http_chunks *chunks, char c, struct cua_err *err) {
	int digit = hex_digit(c);
	if (digit >= 0) {
		if (++chunks->line > 12) {
			return chunk_bad(err);
		}
		chunks->left = chunks->left << 4 | (unsigned)digit;
		return 0;
	}
	if (chunks->line == 0 || (c != ';' && c != '\r' && c != ' ')) {
		return chunk_bad(err);
	}
	chunks->state = c == '\r' ? CHUNK_SIZE_LF : CHUNK_EXTENSION;
	return 0;
}

/* The trailer ends with an empty line; line counts its characters without CR. */
static int chunk_trailer(struct http_chunks *chunks, char c) {
	if (c == '\n') {
		chunks->done = chunks->line == 0;
		chunks->line = 0;
	} else if (c != '\r') {
		chunks->line++;
	}
	return 0;
}

static int chunk_byte(struct http_chunks *chunks, char c, struct cua_err *err) {
	switch (chunks->state) {
	case CHUNK_SIZE:
		return chunk_size(chunks, c, err);
	case CHUNK_EXTENSION:
		chunks->state = c == '\r' ? CHUNK_SIZE_LF : CHUNK_EXTENSION;
		return ++chunks->line > CHUNK_LINE_MAX ? chunk_bad(err) : 0;
	case CHUNK_SIZE_LF:
		if (c != '\n') {
			return chunk_bad(err);
		}
		chunk_begin(chunks);
		return 0;
	case CHUNK_CR:
		chunks->state = CHUNK_LF;
		return c == '\r' ? 0 : chunk_bad(err);
	case CHUNK_LF:
		chunks->state = CHUNK_SIZE;
		chunks->line = 0;
		return c == '\n' ? 0 : chunk_bad(err);
	default:
		return chunks->line > CHUNK_LINE_MAX ? chunk_bad(err) : chunk_trailer(chunks, c);
	}
}

ssize_t http_chunks_feed(struct http_chunks *chunks, const uint8_t *data, size_t len,
	struct cua_span *ret_piece, struct cua_err *err) {
	*ret_piece = (struct cua_span){0};
	size_t used = 0;
	while (used < len && !chunks->done) {
		if (chunks->state == CHUNK_DATA) {
			size_t n = len - used < chunks->left ? len - used : (size_t)chunks->left;
			*ret_piece = (struct cua_span){.data = data + used, .len = n};
			chunks->left -= n;
			chunks->state = chunks->left == 0 ? CHUNK_CR : CHUNK_DATA;
			return (ssize_t)(used + n);
		}
		int r = chunk_byte(chunks, (char)data[used++], err);
		if (r < 0) {
			return r;
		}
	}
	return (ssize_t)used;
}
