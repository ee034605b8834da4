/* WebSocket /v1/sessions/{id}/pty: one command with its streams as they flow, or with a terminal.
 *
 * The client's first message says what to run. Then binary messages carry one byte for the channel
 * (0 stdin, 1 stdout, 2 stderr) and the bytes; text messages are {"resize":[columns,rows]},
 * {"eof":true} and {"signal":"INT"}. It ends with {"exit_code":N}, {"signal":N} or {"error":{…}}. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cua/action_json.h"
#include "server/front/api.h"
#include "server/front/front.h"
#include "server/front/guest.h"
#include "server/front/json_text.h"
#include "server/front/perform.h"
#include "server/front/result.h"
#include "server/front/stream.h"
#include "server/front/strings.h"

#define UNSENT_MAX (256u << 10)
#define PIPE_CAPACITY 65536
#define SOCKET_CAPACITY (1u << 20)

enum channel { CHANNEL_IN = 0, CHANNEL_OUT = 1, CHANNEL_ERR = 2, CHANNELS };

struct pty;

/* One of the command's streams; with a terminal CHANNEL_OUT is both directions. */
struct side {
	struct pty *pty;
	enum channel channel;
	struct stream *stream;
};

struct pty {
	struct ws *ws; /* NULL after the client has left */
	struct front *front;
	struct identity who;
	struct watcher watcher;
	char session[CUA_ID_SIZE];
	struct guest *guest; /* while the command runs */
	uint32_t serial;
	struct side side[CHANNELS];
	struct loop_timer *timer; /* the timeout, or the kill after a hang-up */
	uint64_t since;
	bool tty;
	bool runs;
	bool over; /* the last message was sent */
	bool timed_out;
};

/* ---------------------------------------------------------------- the end */

static void close_sides(struct pty *pty) {
	for (size_t i = 0; i < CHANNELS; i++) {
		pty->side[i].stream = stream_free(pty->side[i].stream);
	}
}

static void free_if_over(struct pty *pty) {
	if (!pty->ws && !pty->runs) {
		(void)loop_timer_cancel(pty->timer);
		close_sides(pty);
		free(pty);
	}
}

/* The last message, then a normal close. */
static void finish(struct pty *pty, json_t *last) {
	if (pty->ws && !pty->over) {
		(void)ws_send_json(pty->ws, last);
		ws_pause(pty->ws, false); /* or the client's own close would not be seen */
		ws_close(pty->ws, 1000, "");
	} else {
		json_decref(last);
	}
	pty->over = true;
}

static void fail(struct pty *pty, const struct cua_err *err) {
	finish(pty, json_pack("{s:o}", "error", result_error(err, NULL)));
}

static json_t *exit_json(const struct pty *pty, const cua_ExecExit *told) {
	json_t *json = told->has_signal ? json_pack("{s:i}", "signal", told->signal)
					: json_pack("{s:i}", "exit_code", told->exit_code);
	if (json && pty->timed_out) {
		(void)json_object_set_new(json, "timed_out", json_true());
	}
	return json;
}

/* What the command wrote before its end is still to be read. */
static void drain(struct pty *pty) {
	for (size_t i = CHANNEL_OUT; i < CHANNELS; i++) {
		if (pty->side[i].stream) {
			stream_drain(
				pty->side[i].stream, pty->tty ? SOCKET_CAPACITY : PIPE_CAPACITY);
		}
	}
}

static void on_ended(void *data, const cua_ExecExit *told, const struct cua_err *err) {
	struct pty *pty = data;
	pty->runs = false;
	pty->timer = loop_timer_cancel(pty->timer);
	perform_end(pty->front, &pty->who, pty->session, CUA_ACTION_EXEC, pty->since, err);
	if (err) {
		fail(pty, err);
	} else {
		drain(pty);
		finish(pty, exit_json(pty, told));
	}
	close_sides(pty);
	free_if_over(pty);
}

static const struct guest_command_ops command_ops = {.ended = on_ended};

static void on_timeout(void *data) {
	struct pty *pty = data;
	pty->timer = NULL;
	pty->timed_out = true;
	guest_signal(pty->guest, pty->serial, SIGKILL);
}

/* ---------------------------------------------------------------- output */

static void on_output(void *data, struct cua_span bytes) {
	const struct side *side = data;
	struct pty *pty = side->pty;
	char message[1 + 65536];
	message[0] = (char)side->channel;
	const char *p = bytes.data;
	while (pty->ws && bytes.len > 0) {
		size_t part = bytes.len < sizeof(message) - 1 ? bytes.len : sizeof(message) - 1;
		memcpy(message + 1, p, part);
		size_t queued =
			ws_send(pty->ws, (struct cua_span){.data = message, .len = part + 1}, true);
		if (queued > UNSENT_MAX && side->stream) {
			stream_pause(side->stream, true);
		}
		p += part;
		bytes.len -= part;
	}
}

static void on_input_taken(void *data) {
	const struct side *side = data;
	if (side->pty->ws) {
		ws_pause(side->pty->ws, false);
	}
}

static const struct stream_ops side_ops = {.bytes = on_output, .drained = on_input_taken};

static void on_drain(void *state) {
	struct pty *pty = state;
	for (size_t i = CHANNEL_OUT; i < CHANNELS; i++) {
		if (pty->side[i].stream) {
			stream_pause(pty->side[i].stream, false);
		}
	}
}

/* ---------------------------------------------------------------- starting */

/* The descriptors for the command, closed together. */
struct ends {
	int fd[CHANNELS];
	size_t count;
};

static void ends_close(const struct ends *ends) {
	for (size_t i = 0; i < ends->count; i++) {
		(void)close(ends->fd[i]);
	}
}

/* Keeps `ours` as a stream and puts `theirs` into the list. */
static int add_side(struct pty *pty, enum channel channel, int ours, int theirs, struct ends *ends,
	struct cua_err *err) {
	struct side *side = &pty->side[channel];
	*side = (struct side){.pty = pty, .channel = channel};
	ends->fd[ends->count++] = theirs;
	side->stream = stream_new(pty->front->loop, ours, &side_ops, side, err);
	return side->stream ? 0 : -(int)CUA_INTERNAL;
}

static int open_terminal(struct pty *pty, struct ends *ends, struct cua_err *err) {
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		return cua_err_errno(err, errno, "cannot make a socket pair");
	}
	return add_side(pty, CHANNEL_OUT, pair[0], pair[1], ends, err);
}

static int open_pipes(struct pty *pty, struct ends *ends, struct cua_err *err) {
	for (enum channel c = CHANNEL_IN; c < CHANNELS; c++) {
		int pipe_ends[2];
		if (pipe2(pipe_ends, O_CLOEXEC) < 0) {
			return cua_err_errno(err, errno, "cannot make a pipe");
		}
		int ours = c == CHANNEL_IN ? 1 : 0;
		int r = add_side(pty, c, pipe_ends[ours], pipe_ends[!ours], ends, err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* Takes a number out of the first message. */
static int take_number(
	json_t *start, const char *key, uint64_t max, uint64_t *ret, struct cua_err *err) {
	const json_t *value = json_object_get(start, key);
	if (!value) {
		return 0;
	}
	if (!json_is_integer(value) || json_integer_value(value) < 1 ||
		(uint64_t)json_integer_value(value) > max) {
		return cua_err_about(err, CUA_BAD_REQUEST, key, "%s must be 1 to %llu", key,
			(unsigned long long)max);
	}
	*ret = (uint64_t)json_integer_value(value);
	return json_object_del(start, key);
}

struct start {
	struct cua_call call;
	struct cua_call_mem mem;
	struct guest_command command;
	struct strings env;
	uint64_t columns, rows;
};

/* What the terminal adds is taken out; the rest is what `exec` takes, its timeout included. */
static int read_start(struct pty *pty, json_t *json, struct start *ret, struct cua_err *err) {
	const json_t *tty = json_object_get(json, "tty");
	if (tty && !json_is_boolean(tty)) {
		return cua_err_about(err, CUA_BAD_REQUEST, "tty", "tty must be true or false");
	}
	pty->tty = json_is_true(tty);
	(void)json_object_del(json, "tty");
	ret->columns = 80;
	ret->rows = 24;
	int r = take_number(json, "columns", UINT16_MAX, &ret->columns, err);
	if (r == 0) {
		r = take_number(json, "rows", UINT16_MAX, &ret->rows, err);
	}
	if (r == 0) {
		r = cua_call_from_json(
			json, cua_action_get(CUA_ACTION_EXEC), &ret->call, &ret->mem, err);
	}
	if (r == 0 && (ret->call.args.has_stdin_data || ret->call.args.has_max_output)) {
		r = cua_err_set(err, CUA_BAD_REQUEST, "here input and output are streams");
	}
	return r;
}

static int fill_command(
	struct pty *pty, const struct session *session, struct start *start, struct cua_err *err) {
	const cua_Args *args = &start->call.args;
	int r = strings_environment(&start->env, session->record->env,
		cua_call_blob(&start->call, args->has_env, args->env), err);
	start->command = (struct guest_command){
		.argv = cua_call_blob(&start->call, args->has_command, args->command),
		.env = strings_span(&start->env),
		.user = args->has_user ? args->user : NULL,
		.cwd = args->has_cwd ? args->cwd : NULL,
		.tty = pty->tty,
		.columns = (uint32_t)start->columns,
		.rows = (uint32_t)start->rows,
	};
	return r;
}

static int launch(
	struct pty *pty, struct session *session, struct start *start, struct cua_err *err) {
	struct ends ends = {0};
	int r = pty->tty ? open_terminal(pty, &ends, err) : open_pipes(pty, &ends, err);
	if (r == 0) {
		r = guest_start(session->guest, &start->command, ends.fd, ends.count, &command_ops,
			pty, &pty->serial, err);
	}
	ends_close(&ends);
	if (r < 0) {
		close_sides(pty);
		return r;
	}
	pty->guest = session->guest;
	pty->runs = true;
	sessions_counters(pty->front->sessions)->commands++;
	if (start->call.args.has_timeout) {
		pty->timer =
			loop_timer_add(pty->front->loop, start->call.args.timeout, on_timeout, pty);
	}
	return 0;
}

static int try_start(struct pty *pty, json_t *json, struct start *start, struct cua_err *err) {
	if (!json_is_object(json)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "the first message says what to run");
	}
	int r = read_start(pty, json, start, err);
	if (r < 0) {
		return r;
	}
	struct session *session =
		perform_begin(pty->front, &pty->who, pty->session, CUA_ACTION_EXEC, err);
	if (!session) {
		return -(int)err->code;
	}
	r = fill_command(pty, session, start, err);
	return r < 0 ? r : launch(pty, session, start, err);
}

static void take_start(struct pty *pty, json_t *json) {
	struct cua_err err;
	struct start *start = calloc(1, sizeof(*start));
	if (!start) {
		abort();
	}
	pty->since = loop_now_ms();
	if (try_start(pty, json, start, &err) < 0) {
		fail(pty, &err);
	}
	cua_call_mem_done(&start->mem);
	strings_done(&start->env);
	free(start);
}

/* ---------------------------------------------------------------- input */

static struct stream *input_of(const struct pty *pty) {
	return pty->side[pty->tty ? CHANNEL_OUT : CHANNEL_IN].stream;
}

static void take_input(struct pty *pty, struct cua_span data) {
	const char *bytes = data.data;
	struct stream *input = input_of(pty);
	struct cua_err err;
	if (data.len < 1 || bytes[0] != CHANNEL_IN) {
		(void)cua_err_set(&err, CUA_BAD_REQUEST, "input comes on channel 0");
		fail(pty, &err);
		return;
	}
	struct cua_span rest = {.data = bytes + 1, .len = data.len - 1};
	if (input && stream_write(input, rest, &err) < 0) {
		fail(pty, &err);
	} else if (input && stream_queued(input) > STREAM_HIGH_WATER) {
		ws_pause(pty->ws, true);
	}
}

struct signal_name {
	const char *name;
	int number;
};

static const struct signal_name signals[] = {
	{"HUP", SIGHUP},
	{"INT", SIGINT},
	{"QUIT", SIGQUIT},
	{"KILL", SIGKILL},
	{"USR1", SIGUSR1},
	{"USR2", SIGUSR2},
	{"TERM", SIGTERM},
	{"CONT", SIGCONT},
	{"STOP", SIGSTOP},
	{"TSTP", SIGTSTP},
	{"WINCH", SIGWINCH},
};

static int take_signal(struct pty *pty, const json_t *value, struct cua_err *err) {
	const char *name = json_string_value(value);
	for (size_t i = 0; name && i < CUA_COUNT(signals); i++) {
		if (strcmp(signals[i].name, name) == 0) {
			guest_signal(pty->guest, pty->serial, signals[i].number);
			return 0;
		}
	}
	return cua_err_about(err, CUA_BAD_REQUEST, "signal", "that is no signal to send");
}

static int take_resize(struct pty *pty, const json_t *value, struct cua_err *err) {
	json_int_t columns = json_integer_value(json_array_get(value, 0));
	json_int_t lines = json_integer_value(json_array_get(value, 1));
	if (columns < 1 || columns > UINT16_MAX || lines < 1 || lines > UINT16_MAX) {
		return cua_err_about(
			err, CUA_BAD_REQUEST, "resize", "resize must be [columns, rows]");
	}
	guest_resize(pty->guest, pty->serial, (uint32_t)columns, (uint32_t)lines);
	return 0;
}

static int take_control(struct pty *pty, const json_t *json, struct cua_err *err) {
	const json_t *resize = json_object_get(json, "resize");
	const json_t *signal_name = json_object_get(json, "signal");
	if (resize) {
		return take_resize(pty, resize, err);
	}
	if (signal_name) {
		return take_signal(pty, signal_name, err);
	}
	if (!json_is_true(json_object_get(json, "eof"))) {
		return cua_err_set(err, CUA_BAD_REQUEST, "expected resize, signal or eof");
	}
	struct stream *input = input_of(pty);
	if (input && pty->tty) {
		return stream_write(input, (struct cua_span){.data = "\x04", .len = 1}, err);
	}
	if (input) {
		stream_finish(input);
	}
	return 0;
}

/* ---------------------------------------------------------------- the socket */

static void on_changed(void *data, struct session *session, bool gone) {
	struct pty *pty = data;
	if (gone && strcmp(session->told.id, pty->session) == 0) {
		ws_close(pty->ws, 1001, "the session is gone");
	}
}

static void *on_open(struct ws *ws, struct cua_err *err) {
	const struct request *req = ws_request(ws);
	struct front *front = ws_front(ws);
	const struct identity *who = request_identity(req);
	struct session *session =
		perform_begin(front, who, request_param(req, "id"), CUA_ACTION_EXEC, err);
	if (!session) {
		return NULL;
	}
	struct pty *pty = calloc(1, sizeof(*pty));
	if (!pty) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a connection");
		return NULL;
	}
	pty->ws = ws;
	pty->front = front;
	pty->who = *who;
	memcpy(pty->session, session->told.id, sizeof(pty->session));
	pty->watcher = (struct watcher){.changed = on_changed, .data = pty};
	sessions_watch(front->sessions, &pty->watcher);
	return pty;
}

static void take_text(struct pty *pty, struct cua_span data) {
	struct cua_err err;
	json_t *json = json_text_decode(data, &err);
	if (!pty->runs) {
		take_start(pty, json);
	} else if (take_control(pty, json, &err) < 0) {
		fail(pty, &err);
	}
	json_decref(json);
}

static void on_message(void *state, struct cua_span data, bool binary) {
	struct pty *pty = state;
	if (pty->over) {
		return; /* crossed with the end */
	}
	if (!binary) {
		take_text(pty, data);
	} else if (pty->runs) {
		take_input(pty, data);
	} else {
		struct cua_err err;
		(void)cua_err_set(&err, CUA_BAD_REQUEST, "the first message says what to run");
		fail(pty, &err);
	}
}

static void on_hangup_over(void *data) {
	struct pty *pty = data;
	pty->timer = NULL;
	guest_signal(pty->guest, pty->serial, SIGKILL);
}

/* As a terminal does when its line is cut. */
static void on_close(void *state) {
	struct pty *pty = state;
	pty->ws = NULL;
	sessions_unwatch(pty->front->sessions, &pty->watcher);
	if (pty->runs) {
		guest_signal(pty->guest, pty->serial, SIGHUP);
		close_sides(pty);
		(void)loop_timer_cancel(pty->timer);
		pty->timer = loop_timer_add(pty->front->loop, CUA_HANGUP_MS, on_hangup_over, pty);
	}
	free_if_over(pty);
}

static const struct ws_ops ops = {
	.open = on_open,
	.message = on_message,
	.drain = on_drain,
	.close = on_close,
};

static const struct route routes[] = {
	{.method = HTTP_GET,
		.pattern = "/v1/sessions/{id}/pty",
		.role = CUA_ROLE_AGENT,
		.ws = &ops,
		.protocol = "cua.pty.v1",
		.summary = "Run a command with its streams or a terminal."},
};

const struct route *pty_routes(size_t *ret_count) {
	*ret_count = CUA_COUNT(routes);
	return routes;
}
