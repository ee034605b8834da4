/* `exec` and `launch`: commands in the session, with the session's own environment below theirs. */
#include "server/front/exec.h"
#include "server/front/perform_priv.h"
#include "server/front/result.h"
#include "server/front/strings.h"

/* The command of a call; env must be given to strings_done() after use. */
static int command_of(const struct op *op, const struct session *session, struct strings *env,
	struct guest_command *ret, struct cua_err *err) {
	const cua_Args *args = &op->call.args;
	struct cua_span own = cua_call_blob(&op->call, args->has_env, args->env);
	int r = strings_environment(env, session->record->env, own, err);
	if (r < 0) {
		return r;
	}
	*ret = (struct guest_command){
		.argv = cua_call_blob(&op->call, args->has_command, args->command),
		.env = strings_span(env),
		.user = args->has_user ? args->user : NULL,
		.cwd = args->has_cwd ? args->cwd : NULL,
	};
	return 0;
}

/* ---------------------------------------------------------------- exec */

static void on_exec_done(void *data, const struct exec_result *result, const struct cua_err *err) {
	if (err) {
		op_fail(data, err);
	} else {
		op_result(data, result_exec(result));
	}
}

int perform_exec(struct op *op, struct session *session, struct cua_err *err) {
	const cua_Args *args = &op->call.args;
	struct strings env = {0};
	struct exec_wanted wanted = {
		.input = cua_call_blob(&op->call, args->has_stdin_data, args->stdin_data),
		.timeout_ms = args->has_timeout ? args->timeout : CUA_EXEC_TIMEOUT_MS,
		.max_output = args->has_max_output ? args->max_output : CUA_OUTPUT_DEFAULT,
	};
	int r = command_of(op, session, &env, &wanted.command, err);
	if (r == 0) {
		r = exec_run(session->guest, &wanted, on_exec_done, op, err);
	}
	strings_done(&env);
	if (r == 0) {
		sessions_counters(op->front->sessions)->commands++;
	}
	return r;
}

/* ---------------------------------------------------------------- launch */

static void on_launched(void *data, uint32_t pid) {
	struct op *op = data;
	op->first = json_pack("{s:I}", "pid", (json_int_t)pid);
}

static void on_launch_end(void *data, const cua_ExecExit *exit, const struct cua_err *err) {
	struct op *op = data;
	(void)exit;
	if (err) {
		op_fail(op, err);
	} else {
		op_result(op, take_ptr(op->first));
	}
}

static const struct guest_command_ops launch_ops = {
	.started = on_launched,
	.ended = on_launch_end,
};

int perform_launch(struct op *op, struct session *session, struct cua_err *err) {
	struct strings env = {0};
	struct guest_command wanted;
	uint32_t serial = 0;
	int r = command_of(op, session, &env, &wanted, err);
	if (r == 0) {
		wanted.detach = true;
		r = guest_start(session->guest, &wanted, NULL, 0, &launch_ops, op, &serial, err);
	}
	strings_done(&env);
	if (r == 0) {
		sessions_counters(op->front->sessions)->commands++;
	}
	return r;
}
