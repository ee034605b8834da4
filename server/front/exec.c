/* Commands with collected output; see the header. The pipes are read beyond what is kept, so that a
 * talkative command is never held up. */
#include "server/front/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/front/stream.h"

/* How long a killed command may take to be reported dead. */
#define KILL_DEADLINE_MS (CUA_KILL_MS + 5000)
#define PIPE_CAPACITY 65536

struct exec;

struct sink {
	struct exec *exec;
	struct stream *stream;
	struct exec_output output;
};

struct exec {
	struct guest *guest;
	uint32_t serial;
	struct stream *input;
	struct sink out;
	struct sink err;
	struct loop_timer *timer;
	bool timed_out;
	exec_done *done;
	void *data;
};

static void sink_done(struct sink *sink) {
	sink->stream = stream_free(sink->stream);
	exec_output_done(&sink->output);
}

static void exec_free(struct exec *exec) {
	if (exec) {
		exec->timer = loop_timer_cancel(exec->timer);
		exec->input = stream_free(exec->input);
		sink_done(&exec->out);
		sink_done(&exec->err);
		free(exec);
	}
}
CUA_DEFINE_CLEANUP(struct exec *, exec_free)

static void on_output(void *data, struct cua_span bytes) {
	struct sink *sink = data;
	/* without memory the bytes are still counted, and the answer says that they were cut */
	(void)!exec_output_add(&sink->output, bytes, NULL);
}

static void on_output_closed(void *data) {
	(void)data; /* the command may live on: its exit decides */
}

static const struct stream_ops output_ops = {.bytes = on_output, .closed = on_output_closed};

static void on_input_bytes(void *data, struct cua_span bytes) {
	(void)data;
	(void)bytes;
}

static const struct stream_ops input_ops = {.bytes = on_input_bytes};

/* What the command wrote before it ended is in the pipe now, which holds no more than this. */
static struct exec_kept sink_take(struct sink *sink) {
	if (sink->stream) {
		stream_drain(sink->stream, PIPE_CAPACITY);
	}
	struct exec_kept kept = {
		.total = sink->output.total, .cut = exec_output_cut(&sink->output)};
	kept.bytes = exec_output_take(&sink->output, &kept.head);
	return kept;
}

static void on_ended(void *data, const cua_ExecExit *exit, const struct cua_err *err) {
	_cleanup_(exec_free_p) struct exec *exec = data;
	if (!exec->done) {
		return; /* whoever asked was told that it could not be killed */
	}
	if (!exit) {
		exec->done(exec->data, NULL, err);
		return;
	}
	struct exec_result result = {.exit = *exit, .timed_out = exec->timed_out};
	result.out = sink_take(&exec->out);
	result.err = sink_take(&exec->err);
	exec->done(exec->data, &result, NULL);
}

static const struct guest_command_ops command_ops = {.ended = on_ended};

/* The kill was not answered. The command keeps its place among those that run. */
static void on_kill_deadline(void *data) {
	struct exec *exec = data;
	exec->timer = NULL;
	struct cua_err err;
	(void)cua_err_set(&err, CUA_TIMEOUT, "the command could not be killed after its timeout");
	exec_done *done = exec->done;
	exec->done = NULL;
	done(exec->data, NULL, &err);
}

static void on_timeout(void *data) {
	struct exec *exec = data;
	exec->timed_out = true;
	guest_signal(exec->guest, exec->serial, SIGKILL);
	exec->timer =
		loop_timer_add(guest_loop(exec->guest), KILL_DEADLINE_MS, on_kill_deadline, exec);
}

/* Makes a pipe of which `ours` (0 reads, 1 writes) stays here as a stream. Returns the other end. */
static int open_pipe(struct loop *loop, int ours, const struct stream_ops *ops, void *data,
	struct stream **ret_stream, struct cua_err *err) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0) {
		return cua_err_errno(err, errno, "cannot make a pipe");
	}
	*ret_stream = stream_new(loop, ends[ours], ops, data, err);
	if (!*ret_stream) {
		(void)close(ends[!ours]);
		return -CUA_INTERNAL;
	}
	return ends[!ours];
}

/* The command's standard input, which is at its end at once if there is none. */
static int open_input(struct exec *exec, struct cua_span input, struct cua_err *err) {
	int fd = open_pipe(guest_loop(exec->guest), 1, &input_ops, exec, &exec->input, err);
	if (fd < 0) {
		return fd;
	}
	_cleanup_fd_ int theirs = fd;
	int r = stream_write(exec->input, input, err);
	if (r < 0) {
		return r;
	}
	stream_finish(exec->input);
	return take_fd(theirs);
}

static int open_sink(struct exec *exec, struct sink *sink, size_t max, struct cua_err *err) {
	sink->exec = exec;
	exec_output_init(&sink->output, max);
	return open_pipe(guest_loop(exec->guest), 0, &output_ops, sink, &sink->stream, err);
}

static int start(struct exec *exec, const struct exec_wanted *wanted, struct cua_err *err) {
	_cleanup_fd_ int in = open_input(exec, wanted->input, err);
	_cleanup_fd_ int out = in < 0 ? in : open_sink(exec, &exec->out, wanted->max_output, err);
	_cleanup_fd_ int errors =
		out < 0 ? out : open_sink(exec, &exec->err, wanted->max_output, err);
	if (errors < 0) {
		return errors;
	}
	const int fds[] = {in, out, errors};
	int r = guest_start(exec->guest, &wanted->command, fds, CUA_COUNT(fds), &command_ops, exec,
		&exec->serial, err);
	if (r < 0) {
		return r;
	}
	exec->timer = loop_timer_add(guest_loop(exec->guest), wanted->timeout_ms, on_timeout, exec);
	return 0;
}

int exec_run(struct guest *guest, const struct exec_wanted *wanted, exec_done *done, void *data,
	struct cua_err *err) {
	_cleanup_(exec_free_p) struct exec *exec = calloc(1, sizeof(*exec));
	if (!exec) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a command");
	}
	exec->guest = guest;
	exec->done = done;
	exec->data = data;
	int r = start(exec, wanted, err);
	if (r < 0) {
		return r;
	}
	(void)take_ptr(exec);
	return 0;
}
