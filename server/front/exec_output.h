/* What is kept of a command's output: the first and the last bytes up to a maximum, and the exact
 * number of all bytes. Memory grows with the output and never beyond the maximum. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/msg.h"

struct exec_output {
	size_t max;
	uint64_t total; /* bytes ever added */
	/* private */
	char *bytes;
	size_t room;
};

/* Keeps at most max bytes. Owns nothing yet. */
void exec_output_init(struct exec_output *output, size_t max);
void exec_output_done(struct exec_output *output);
/* Adds bytes. -CUA_EXHAUSTED without memory: from then on nothing is kept, only counted. */
int exec_output_add(
	struct exec_output *output, struct cua_span bytes, struct cua_err *err) CUA_CHECK;
/* True if bytes in the middle were left out. */
bool exec_output_cut(const struct exec_output *output);
/* What was kept, in one piece; valid until done. Of a cut output, *ret_head bytes are from its
 * start and the rest from its end, and no character of UTF-8 is cut in two. May be called once,
 * after the last byte. */
struct cua_span exec_output_take(struct exec_output *output, size_t *ret_head);
