/* exec and shell: one WebSocket that carries a command's three streams, or a terminal. */
#include "server/ctl/ctl.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "cua/fdio.h"

enum {
	EXIT_TIMED_OUT = 124,
	EXIT_OURS = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL = 128,
	QUEUE_HIGH = 256 * 1024,
};

/* First byte of a binary message. */
enum channel { CHANNEL_STDIN = 0, CHANNEL_STDOUT = 1, CHANNEL_STDERR = 2 };

struct run {
	struct ctl *ctl;
	struct client *client;
	struct client_ws *ws;
	struct client_watch *input;
	struct client_watch *signals;
	json_t *start;
	bool tty;
	bool interactive;
	bool ended;
	int signal_fd;
	int status;
	struct termios saved;
	bool raw;
};

static void send_json(struct run *run, json_t *json) {
	_cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	if (text && run->ws) {
		(void)client_ws_send(
			run->ws, (struct cua_span){.data = text, .len = strlen(text)}, false);
	}
}

/* ---------------------------------------------------------------- our terminal */

static void terminal_raw(struct run *run) {
	if (!run->tty || tcgetattr(STDIN_FILENO, &run->saved) < 0) {
		return;
	}
	struct termios raw = run->saved;
	cfmakeraw(&raw);
	run->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

static void terminal_restore(struct run *run) {
	if (run->raw) {
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &run->saved);
		run->raw = false;
	}
}

static json_t *window_size(void) {
	struct winsize size = {0};
	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0) {
		size.ws_col = 80;
		size.ws_row = 24;
	}
	return json_pack("[i,i]", size.ws_col, size.ws_row);
}

/* ---------------------------------------------------------------- what we send */

static void on_input(void *data) {
	struct run *run = data;
	char buf[16385];
	buf[0] = CHANNEL_STDIN;
	ssize_t n = read(STDIN_FILENO, buf + 1, sizeof(buf) - 1);
	if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
		return;
	}
	if (n <= 0) {
		run->input = client_unwatch(run->input);
		send_json(run, json_pack("{s:b}", "eof", 1));
		return;
	}
	struct cua_span bytes = {.data = buf, .len = (size_t)n + 1};
	if (client_ws_send(run->ws, bytes, true) > QUEUE_HIGH) {
		client_watch_pause(run->input, true);
	}
}

static void on_drained(void *data) {
	struct run *run = data;
	client_watch_pause(run->input, false);
}

static void on_signal(void *data) {
	struct run *run = data;
	struct signalfd_siginfo info;
	if (read(run->signal_fd, &info, sizeof(info)) != sizeof(info)) {
		return;
	}
	if (info.ssi_signo == SIGWINCH) {
		if (run->tty) {
			send_json(run, json_pack("{s:o}", "resize", window_size()));
		}
		return;
	}
	const char *name = sigabbrev_np((int)info.ssi_signo);
	send_json(run, json_pack("{s:s}", "signal", name ? name : "TERM"));
}

static void on_open(void *data, struct client_ws *ws) {
	struct run *run = data;
	run->ws = ws;
	send_json(run, json_incref(run->start));
	run->signals = client_watch(run->client, run->signal_fd, on_signal, run);
	if (run->interactive) {
		terminal_raw(run);
		run->input = client_watch(run->client, STDIN_FILENO, on_input, run);
	} else {
		send_json(run, json_pack("{s:b}", "eof", 1));
	}
}

/* ---------------------------------------------------------------- what we receive */

static int status_of_error(const char *kind, const char *subject) {
	bool command = strcmp(subject, "command") == 0;
	if (command && strcmp(kind, "not_found") == 0) {
		return EXIT_NOT_FOUND;
	}
	if (command && strcmp(kind, "forbidden") == 0) {
		return EXIT_NOT_EXECUTABLE;
	}
	return EXIT_OURS;
}

static void on_error(struct run *run, const json_t *error) {
	const json_t *detail = json_object_get(error, "detail");
	run->status = status_of_error(json_text(error, "kind"), json_text(detail, "parameter"));
	terminal_restore(run);
	(void)fprintf(stderr, "cuactl: %s\n", json_text(error, "message"));
}

static void on_control(struct run *run, struct cua_span bytes) {
	json_t *json = json_loadb(bytes.data, bytes.len, 0, NULL);
	const json_t *code = json_object_get(json, "exit_code");
	const json_t *signal_number = json_object_get(json, "signal");
	const json_t *error = json_object_get(json, "error");
	if (json_is_true(json_object_get(json, "timed_out"))) {
		run->status = EXIT_TIMED_OUT;
	} else if (json_is_integer(signal_number)) {
		run->status = EXIT_SIGNAL + (int)json_integer_value(signal_number);
	} else if (json_is_integer(code)) {
		run->status = (int)json_integer_value(code);
	} else if (error) {
		on_error(run, error);
	} else {
		json_decref(json);
		return;
	}
	run->ended = true;
	json_decref(json);
	client_stop(run->client);
}

static void on_message(void *data, struct cua_span bytes, bool binary) {
	struct run *run = data;
	if (!binary) {
		on_control(run, bytes);
		return;
	}
	const char *p = bytes.data;
	if (bytes.len > 0) {
		int fd = p[0] == CHANNEL_STDERR ? STDERR_FILENO : STDOUT_FILENO;
		if (fd_write_all(fd, p + 1, bytes.len - 1) < 0) {
			client_stop(run->client); /* nobody reads us: as a pipe would, end */
		}
	}
}

static void on_closed(void *data, const struct cua_err *err) {
	struct run *run = data;
	run->ws = NULL;
	terminal_restore(run);
	if (!run->ended) {
		(void)fprintf(stderr, "cuactl: %s\n",
			err->code != CUA_OK ? err->message : "the connection was lost");
		run->status = EXIT_OURS;
	}
	client_stop(run->client);
}

/* ---------------------------------------------------------------- commands */

/* The first --env that is not KEY=VALUE, or NULL. */
static const char *wrong_env(const struct args *args) {
	for (size_t i = 0; i < args->option_count; i++) {
		const char *equals = strchr(args->options[i].value, '=');
		if (strcmp(args->options[i].name, "env") == 0 &&
			(!equals || equals == args->options[i].value)) {
			return args->options[i].value;
		}
	}
	return NULL;
}

static void add_env(json_t *start, const struct args *args) {
	json_t *env = json_object();
	for (size_t i = 0; i < args->option_count; i++) {
		const char *equals = strchr(args->options[i].value, '=');
		if (strcmp(args->options[i].name, "env") == 0 && equals) {
			_cleanup_free_ char *key = strndup(
				args->options[i].value, (size_t)(equals - args->options[i].value));
			(void)json_object_set_new(env, key ? key : "", json_string(equals + 1));
		}
	}
	(void)json_object_set_new(start, "env", env);
}

static int open_signals(void) {
	sigset_t set;
	(void)sigemptyset(&set);
	static const int wanted[] = {SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	for (size_t i = 0; i < CUA_COUNT(wanted); i++) {
		(void)sigaddset(&set, wanted[i]);
	}
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int run_command(struct ctl *ctl, const char *session, json_t *start, bool interactive) {
	static const struct client_ws_ops ops = {
		.open = on_open, .message = on_message, .drained = on_drained, .closed = on_closed};
	struct run run = {.ctl = ctl,
		.start = start,
		.tty = json_is_true(json_object_get(start, "tty")),
		.interactive = interactive,
		.signal_fd = open_signals(),
		.status = EXIT_OURS};
	run.client = ctl_client(ctl, &run.status);
	if (run.client) {
		_cleanup_free_ char *id = url_escape(session, false);
		char path[256];
		(void)snprintf(path, sizeof(path), "/v1/sessions/%s/pty", id ? id : "");
		if (client_ws_start(run.client, path, "cua.pty.v1", &ops, &run) == 0) {
			client_run(run.client);
		}
		terminal_restore(&run);
		run.ended = true;
		(void)client_free(run.client);
	}
	json_decref(start);
	(void)close(run.signal_fd);
	return run.status;
}

static json_t *start_message(const struct args *args, bool tty) {
	json_t *start = json_object();
	const char *user = args_get(args, "user");
	const char *cwd = args_get(args, "cwd");
	if (user) {
		(void)json_object_set_new(start, "user", json_string(user));
	}
	if (cwd) {
		(void)json_object_set_new(start, "cwd", json_string(cwd));
	}
	if (tty) {
		json_t *size = window_size();
		(void)json_object_set_new(start, "tty", json_true());
		(void)json_object_set(start, "columns", json_array_get(size, 0));
		(void)json_object_set(start, "rows", json_array_get(size, 1));
		json_decref(size);
	}
	add_env(start, args);
	return start;
}

int cmd_exec(struct ctl *ctl, const struct args *args) {
	struct cua_err err;
	long timeout = 0;
	if (args->rest_count == 0) {
		return ctl_usage(ctl, "give the command after --");
	}
	if (args_number(args, "timeout", 0, CUA_EXEC_TIMEOUT_MAX_MS / 1000, &timeout, &err) < 0) {
		return ctl_usage(ctl, "%s", err.message);
	}
	const char *wrong = wrong_env(args);
	if (wrong) {
		return ctl_usage(ctl, "--env \"%s\" is not KEY=VALUE", wrong);
	}
	bool tty = args_has(args, "tty");
	if (tty && !isatty(STDIN_FILENO)) {
		return ctl_usage(ctl, "-t needs a terminal as standard input");
	}
	json_t *start = start_message(args, tty);
	if (timeout > 0) {
		(void)json_object_set_new(start, "timeout", json_integer(timeout * 1000));
	}
	json_t *command = json_array();
	for (size_t i = 0; i < args->rest_count; i++) {
		if (json_array_append_new(command, json_string(args->rest[i])) < 0) {
			json_decref(command);
			json_decref(start);
			return ctl_usage(ctl, "word %zu of the command is not UTF-8", i + 1);
		}
	}
	(void)json_object_set_new(start, "command", command);
	return run_command(ctl, args->operands[0], start, tty || args_has(args, "interactive"));
}

int cmd_shell(struct ctl *ctl, const struct args *args) {
	bool tty = isatty(STDIN_FILENO) == 1;
	json_t *start = start_message(args, tty);
	(void)json_object_set_new(start, "command", json_pack("[s,s]", "/bin/bash", "-l"));
	return run_command(ctl, args->operands[0], start, true);
}
