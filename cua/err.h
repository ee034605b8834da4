/* The one error type: a code from the public contract and a sentence for a person.
 *
 * Functions that can fail return 0 or a negative `enum cua_code` and take `struct cua_err *err`
 * last. The caller owns the struct; it needs no clean-up, so failing cannot fail. */
#pragma once

#include "cua/cleanup.h"

enum cua_code {
	CUA_OK = 0,
	CUA_BAD_REQUEST,
	CUA_UNAUTHORIZED,
	CUA_FORBIDDEN,
	CUA_NOT_FOUND,
	CUA_CONFLICT,
	CUA_TOO_LARGE,
	CUA_OUT_OF_SCREEN,
	CUA_INVALID,
	CUA_RATE_LIMITED,
	CUA_INTERNAL,
	CUA_EXHAUSTED,
	CUA_TIMEOUT,
	CUA_DENIED,
	CUA_CODE_MAX_,
};

struct cua_err {
	enum cua_code code;
	char message[384];
	char subject[64]; /* the parameter, key or resource that the error is about, or "" */
};

/* Fills *err (which may be NULL) and returns -code, so that it can be returned in one line. */
int cua_err_set(struct cua_err *err, enum cua_code code, const char *fmt, ...) CUA_PRINTF(3, 4);

/* The same, and names the parameter or resource; it becomes `detail` for clients. */
int cua_err_about(struct cua_err *err, enum cua_code code, const char *subject, const char *fmt,
	...) CUA_PRINTF(4, 5);

/* An errno of the kernel: appends its text; ENOENT, EACCES, EEXIST, ENOSPC and the like get the
 * fitting code, everything else is CUA_INTERNAL. errnum may be negative. Returns -code. */
int cua_err_errno(struct cua_err *err, int errnum, const char *fmt, ...) CUA_PRINTF(3, 4);

/* Puts "context: " before the message. Returns -code of the error. */
int cua_err_prefix(struct cua_err *err, const char *fmt, ...) CUA_PRINTF(2, 3);

/* `bad_request` and so on; "ok" for 0. Never NULL. */
const char *cua_code_name(enum cua_code code);
/* The code of a name, or CUA_INTERNAL for an unknown one. */
enum cua_code cua_code_from_name(const char *name);
/* HTTP status, for example 404. */
int cua_code_http(enum cua_code code);
/* Exit status of cuactl, for example 3. */
int cua_code_exit(enum cua_code code);
