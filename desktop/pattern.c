/* The only file with PCRE2; see the header. Its compiler for machine code is not used: memory that can
 * be written and run has no place in the worker. */
#include "desktop/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cua/limits.h"

#define STEPS_MAX 50000 /* on one text: about a millisecond */
#define HEAP_MAX_KIB 1024
#define BUDGET_US 300000 /* on all of them */

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *limits;
	uint64_t spent_us;
};

/* Processor time, so that a busy machine refuses no good pattern. */
static uint64_t now_us(void) {
	struct timespec t = {0};
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static int compile(struct pattern *pattern, const char *text, struct cua_err *err) {
	int code = 0;
	PCRE2_SIZE at = 0;
	pattern->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
		PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
	if (pattern->code) {
		return 0;
	}
	PCRE2_UCHAR why[128] = "";
	(void)pcre2_get_error_message(code, why, sizeof(why));
	return cua_err_about(err, CUA_INVALID, "name",
		"%.200s is no regular expression: %s at byte %zu", text, (const char *)why, at);
}

struct pattern *pattern_new(const char *text, struct cua_err *err) {
	if (strlen(text) > CUA_UI_PATTERN_MAX) {
		(void)cua_err_about(err, CUA_INVALID, "name",
			"a regular expression has at most %d bytes", CUA_UI_PATTERN_MAX);
		return NULL;
	}
	struct pattern *pattern = calloc(1, sizeof(*pattern));
	if (!pattern) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a pattern");
		return NULL;
	}
	if (compile(pattern, text, err) < 0) {
		return pattern_free(pattern);
	}
	pattern->data = pcre2_match_data_create(1, NULL);
	pattern->limits = pcre2_match_context_create(NULL);
	if (!pattern->data || !pattern->limits) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a pattern");
		return pattern_free(pattern);
	}
	(void)pcre2_set_match_limit(pattern->limits, STEPS_MAX);
	(void)pcre2_set_heap_limit(pattern->limits, HEAP_MAX_KIB);
	return pattern;
}

struct pattern *pattern_free(struct pattern *pattern) {
	if (pattern) {
		pcre2_match_context_free(pattern->limits);
		pcre2_match_data_free(pattern->data);
		pcre2_code_free(pattern->code);
	}
	free(pattern);
	return NULL;
}

int pattern_matches(struct pattern *pattern, const char *text) {
	if (pattern->spent_us > BUDGET_US) {
		return -CUA_TIMEOUT;
	}
	uint64_t start_us = now_us();
	int r = pcre2_match(pattern->code, (PCRE2_SPTR)text, strlen(text), 0, 0, pattern->data,
		pattern->limits);
	pattern->spent_us += now_us() - start_us;
	if (r < 0 && r != PCRE2_ERROR_NOMATCH) {
		pattern->spent_us = BUDGET_US + 1; /* a limit was met */
		return -CUA_TIMEOUT;
	}
	return r >= 0;
}
