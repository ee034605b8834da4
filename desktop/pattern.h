/* Regular expressions as in Perl, by PCRE2, whose limits hold whatever pattern and text are: both come
 * from outside. */
#pragma once

#include "cua/err.h"

struct pattern;

/* Compiles; the text is UTF-8. NULL and -CUA_INVALID about `name`, with the place of the fault. The
 * caller frees it. */
struct pattern *pattern_new(const char *text, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct pattern *pattern_free(struct pattern *pattern);
/* 1: the text contains a match, 0: it does not. -CUA_TIMEOUT: this text, or all texts so far together,
 * took more than a pattern may take; from then on every answer is this one, at once. */
int pattern_matches(struct pattern *pattern, const char *text) CUA_CHECK;
