/* Runs a command in a session and collects its output: made for answers that fit into one message.
 * The command's end decides, not the end of its pipes: a child left in the background does not hold
 * the answer. */
#pragma once

#include "server/front/exec_output.h"
#include "server/front/guest.h"

struct exec_wanted {
	struct guest_command command;
	struct cua_span input; /* for stdin; copied */
	uint64_t timeout_ms; /* then the command's whole session is killed */
	size_t max_output; /* bytes kept of each of stdout and stderr */
};

struct exec_kept {
	struct cua_span bytes;
	uint64_t total; /* bytes that were written */
	size_t head; /* see exec_output_take() */
	bool cut;
};

struct exec_result {
	cua_ExecExit exit; /* exit_code or signal, duration */
	struct exec_kept out;
	struct exec_kept err;
	bool timed_out;
};

/* result is NULL when err says why there is none; valid during the call. */
typedef void exec_done(void *data, const struct exec_result *result, const struct cua_err *err);

/* done is called exactly once, later, if this returns 0. */
int exec_run(struct guest *guest, const struct exec_wanted *wanted, exec_done *done, void *data,
	struct cua_err *err) CUA_CHECK;
