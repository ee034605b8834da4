/* Runs other programs to their end and hands over their output line by line. */
#pragma once

#include <stdbool.h>

#include "cua/err.h"

/* One line of output without its line end; lines beyond the buffer come in pieces. */
typedef void proc_line_fn(void *ctx, const char *line);

struct proc {
	const char *const *argv; /* NULL-terminated, argv[0] looked up in PATH */
	const char *const *env; /* "KEY=value" to set besides our own environment; NULL for none */
	proc_line_fn *on_line; /* NULL: output is thrown away */
	void *ctx;
	bool errors_too; /* standard error goes the same way; else it stays ours */
};

/* Runs it, without standard input, and waits. The child dies with us. Its exit status, 128+N after
 * signal N, or a negative cua_code when it cannot be run. */
int proc_run(const struct proc *proc, struct cua_err *err) CUA_CHECK;
