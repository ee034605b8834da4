/* Codes, their public names and what they become for HTTP and for the shell. */
#include "cua/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct code_def {
	const char *name;
	int http;
	int exit;
};

static const struct code_def codes[CUA_CODE_MAX_] = {
	[CUA_OK] = {"ok", 200, 0},
	[CUA_BAD_REQUEST] = {"bad_request", 400, 1},
	[CUA_UNAUTHORIZED] = {"unauthorized", 401, 4},
	[CUA_FORBIDDEN] = {"forbidden", 403, 4},
	[CUA_NOT_FOUND] = {"not_found", 404, 3},
	[CUA_CONFLICT] = {"conflict", 409, 1},
	[CUA_TOO_LARGE] = {"too_large", 413, 1},
	[CUA_OUT_OF_SCREEN] = {"out_of_screen", 422, 1},
	[CUA_INVALID] = {"invalid", 422, 1},
	[CUA_RATE_LIMITED] = {"rate_limited", 429, 1},
	[CUA_INTERNAL] = {"internal", 500, 1},
	[CUA_EXHAUSTED] = {"exhausted", 503, 1},
	[CUA_TIMEOUT] = {"timeout", 504, 1},
	[CUA_DENIED] = {"denied_by_policy", 403, 4},
};

static const struct {
	int errnum;
	enum cua_code code;
} errnos[] = {
	{ENOENT, CUA_NOT_FOUND},
	{ENOTDIR, CUA_NOT_FOUND},
	{EACCES, CUA_FORBIDDEN},
	{EPERM, CUA_FORBIDDEN},
	{EROFS, CUA_FORBIDDEN},
	{EEXIST, CUA_CONFLICT},
	{ENOTEMPTY, CUA_CONFLICT},
	{EISDIR, CUA_INVALID},
	{EINVAL, CUA_INVALID},
	{ENAMETOOLONG, CUA_INVALID},
	{ELOOP, CUA_INVALID},
	{E2BIG, CUA_TOO_LARGE},
	{EFBIG, CUA_TOO_LARGE},
	{ENOSPC, CUA_EXHAUSTED},
	{EDQUOT, CUA_EXHAUSTED},
	{ENOMEM, CUA_EXHAUSTED},
	{EMFILE, CUA_EXHAUSTED},
	{EAGAIN, CUA_EXHAUSTED},
	{ETIMEDOUT, CUA_TIMEOUT},
};

static enum cua_code code_of_errno(int errnum) {
	for (size_t i = 0; i < CUA_COUNT(errnos); i++) {
		if (errnos[i].errnum == errnum) {
			return errnos[i].code;
		}
	}
	return CUA_INTERNAL;
}

CUA_PRINTF(3, 0)
static int set_v(struct cua_err *err, enum cua_code code, const char *fmt, va_list ap) {
	if (err) {
		err->code = code;
		err->subject[0] = '\0';
		(void)vsnprintf(err->message, sizeof(err->message), fmt, ap);
	}
	return -(int)code;
}

int cua_err_set(struct cua_err *err, enum cua_code code, const char *fmt, ...) {
	va_list ap;
	va_start(ap, fmt);
	int r = set_v(err, code, fmt, ap);
	va_end(ap);
	return r;
}

int cua_err_about(
	struct cua_err *err, enum cua_code code, const char *subject, const char *fmt, ...) {
	va_list ap;
	va_start(ap, fmt);
	int r = set_v(err, code, fmt, ap);
	va_end(ap);
	if (err) {
		(void)snprintf(err->subject, sizeof(err->subject), "%s", subject);
	}
	return r;
}

int cua_err_errno(struct cua_err *err, int errnum, const char *fmt, ...) {
	int number = abs(errnum);
	va_list ap;
	va_start(ap, fmt);
	int r = set_v(err, code_of_errno(number), fmt, ap);
	va_end(ap);
	if (err) {
		size_t used = strlen(err->message);
		(void)snprintf(
			err->message + used, sizeof(err->message) - used, ": %s", strerror(number));
	}
	return r;
}

int cua_err_prefix(struct cua_err *err, const char *fmt, ...) {
	if (!err) {
		return -CUA_INTERNAL;
	}
	char old[sizeof(err->message)];
	memcpy(old, err->message, sizeof(old));
	va_list ap;
	va_start(ap, fmt);
	int used = vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	if (used >= 0 && (size_t)used < sizeof(err->message)) {
		(void)snprintf(
			err->message + used, sizeof(err->message) - (size_t)used, ": %s", old);
	}
	return -(int)err->code;
}

const char *cua_code_name(enum cua_code code) {
	return code < CUA_CODE_MAX_ ? codes[code].name : codes[CUA_INTERNAL].name;
}

enum cua_code cua_code_from_name(const char *name) {
	for (size_t i = 0; i < CUA_COUNT(codes); i++) {
		if (strcmp(codes[i].name, name) == 0) {
			return (enum cua_code)i;
		}
	}
	return CUA_INTERNAL;
}

int cua_code_http(enum cua_code code) {
	return code < CUA_CODE_MAX_ ? codes[code].http : codes[CUA_INTERNAL].http;
}

int cua_code_exit(enum cua_code code) {
	return code < CUA_CODE_MAX_ ? codes[code].exit : codes[CUA_INTERNAL].exit;
}
