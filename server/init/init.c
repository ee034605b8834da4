/* What happens when: messages, signals, the end. The work is done by the modules below. */
#include "server/init/init.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/log.h"
#include "cua/msg.h"
#include "cua/parse.h"
#include "server/init/account.h"
#include "server/init/exec.h"
#include "server/init/files.h"
#include "server/init/link.h"
#include "server/init/loop.h"
#include "server/init/services.h"

struct init {
	struct loop loop;
	struct link *link;
	struct exec_table *exec;
	struct files *files;
	struct services *services;
	struct service_list list;
	struct loop_timer stop_timer;
	bool stopping;
	bool killed;
};

/* ---------------------------------------------------------------- options */

static int parse_size(
	const char *text, unsigned *ret_width, unsigned *ret_height, struct cua_err *err) {
	uint32_t size[2];
	if (!parse_pair(text, size) || size[0] < CUA_SCREEN_MIN_W || size[0] > CUA_SCREEN_MAX_W ||
		size[1] < CUA_SCREEN_MIN_H || size[1] > CUA_SCREEN_MAX_H) {
		return cua_err_set(err, CUA_INVALID, "%s is no size of a screen", text);
	}
	*ret_width = size[0];
	*ret_height = size[1];
	return 0;
}

static int parse_dpi(const char *text, unsigned *ret, struct cua_err *err) {
	uint64_t dpi = 0;
	if (!parse_number(text, 20, 1000, &dpi)) {
		return cua_err_set(err, CUA_INVALID, "%s is no resolution", text);
	}
	*ret = (unsigned)dpi;
	return 0;
}

static int take_option(
	int option, const char *value, struct init_options *options, struct cua_err *err) {
	switch (option) {
	case 's':
		return parse_size(value, &options->width, &options->height, err);
	case 'm':
		return parse_size(value, &options->max_width, &options->max_height, err);
	case 'd':
		return parse_dpi(value, &options->dpi, err);
	case 'l':
		options->link = value;
		return 0;
	case 'S':
		options->services = value;
		return 0;
	default:
		return cua_err_set(err, CUA_BAD_REQUEST, "unknown option");
	}
}

int init_parse_options(int argc, char **argv, struct init_options *ret, struct cua_err *err) {
	static const struct option known[] = {{"screen", required_argument, NULL, 's'},
		{"max", required_argument, NULL, 'm'}, {"dpi", required_argument, NULL, 'd'},
		{"link", required_argument, NULL, 'l'}, {"services", required_argument, NULL, 'S'},
		{0}};
	struct init_options options = {
		.width = 1280,
		.height = 800,
		.dpi = 96,
		.link = "/run/cuad/link/sock",
		.services = "/etc/cuad/services",
	};
	opterr = 0;
	for (int o = getopt_long(argc, argv, "", known, NULL); o != -1;
		o = getopt_long(argc, argv, "", known, NULL)) {
		int r = take_option(o, optarg, &options, err);
		if (r < 0) {
			return r;
		}
	}
	if (optind != argc) {
		return cua_err_set(err, CUA_BAD_REQUEST, "%s is no option", argv[optind]);
	}
	/* The X server's screen never grows, so it holds the session's first size at least. */
	if (options.max_width < options.width) {
		options.max_width = options.width;
	}
	if (options.max_height < options.height) {
		options.max_height = options.height;
	}
	*ret = options;
	return 0;
}

/* ---------------------------------------------------------------- messages */

static void send_body(void *self, enum cua_msg_type type, const void *body) {
	const struct init *init = self;
	link_send(init->link, &(struct cua_out){.type = type, .body = body});
}

static void send_out(void *self, const struct cua_out *out) {
	const struct init *init = self;
	link_send(init->link, out);
}

static int on_desktop_command(struct init *init, const struct cua_msg *msg) {
	struct cua_span argv = {0};
	struct cua_span env = {0};
	if (msg->blob_count > 0) {
		argv = msg->blob[0];
	}
	if (msg->blob_count > 1) {
		env = msg->blob[1];
	}
	cua_Reply reply = {.serial = msg->body.desktop_command.serial};
	struct cua_err err;
	if (services_command(init->services, argv, env, &err) < 0) {
		reply.has_error = true;
		reply.error = cua_error_to_wire(&err);
	}
	send_body(init, CUA_MSG_REPLY, &reply);
	return 0;
}

static int on_message(void *self, struct cua_msg *msg, struct cua_err *err) {
	struct init *init = self;
	switch (msg->type) {
	case CUA_MSG_EXEC_START:
		return exec_start(init->exec, msg, err);
	case CUA_MSG_EXEC_SIGNAL:
		exec_signal(init->exec, &msg->body.exec_signal);
		return 0;
	case CUA_MSG_EXEC_RESIZE:
		exec_resize(init->exec, &msg->body.exec_resize);
		return 0;
	case CUA_MSG_DESKTOP_COMMAND:
		return on_desktop_command(init, msg);
	case CUA_MSG_FILE_REQUEST:
		return files_request(init->files, msg, err);
	case CUA_MSG_FILE_END:
		files_end(init->files, &msg->body.file_end);
		return 0;
	default:
		return cua_err_set(err, CUA_BAD_REQUEST, "message %s is not expected",
			cua_msg_name(msg->type));
	}
}

static void on_drop(void *self) {
	struct init *init = self;
	exec_kill_all(init->exec);
	files_abort_all(init->files);
}

static void on_service_event(void *self, const char *name, bool running, int status) {
	cua_ServiceEvent body = {.running = running, .has_status = !running, .status = status};
	(void)snprintf(body.name, sizeof(body.name), "%s", name);
	send_body(self, CUA_MSG_SERVICE_EVENT, &body);
}

/* ---------------------------------------------------------------- signals and the end */

/* kill(-1) means the container's processes only from where PID 1 stands. */
static void signal_everything(int signal) {
	assert(getpid() == 1);
	(void)kill(-1, signal);
}

static void on_stop_timer(void *self) {
	struct init *init = self;
	if (init->killed) {
		/* What even KILL does not end goes with this process: the kernel sees to it. */
		loop_quit(&init->loop);
		return;
	}
	init->killed = true;
	signal_everything(SIGKILL);
	loop_timer_set(&init->loop, &init->stop_timer, CUA_INIT_STOP_MS);
}

static void reap(struct init *init) {
	int status = 0;
	pid_t pid = waitpid(-1, &status, WNOHANG);
	for (; pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
		(void)services_on_exit(init->services, pid, status);
	}
	if (pid < 0 && errno == ECHILD && init->stopping) {
		loop_quit(&init->loop);
	}
}

static void stop(struct init *init) {
	if (init->stopping) {
		return;
	}
	init->stopping = true;
	services_stop(init->services);
	signal_everything(SIGTERM);
	/* A stopped process takes its TERM only when it runs again. */
	signal_everything(SIGCONT);
	loop_timer_set(&init->loop, &init->stop_timer, CUA_INIT_STOP_MS);
	reap(init);
}

static void on_signal(void *self, int signal) {
	if (signal == SIGCHLD) {
		reap(self);
	} else {
		stop(self);
	}
}

/* ---------------------------------------------------------------- life */

static void read_services(struct init *init, const char *path) {
	struct cua_err err;
	char *text = account_read_file(path, &err);
	if (!text) {
		cua_log(CUA_LOG_WARN, "%s", err.message);
		return;
	}
	int bad = service_list_parse(text, &init->list, &err);
	if (bad > 0) {
		cua_log(CUA_LOG_ERROR, "%s: %d lines are left out: %s", path, bad, err.message);
	}
}

static int make_parts(struct init *init, const struct init_options *options, struct cua_err *err) {
	struct services_config services = {.max_width = options->max_width,
		.max_height = options->max_height,
		.dpi = options->dpi,
		.list = &init->list,
		.on_event = on_service_event,
		.self = init};
	struct link_config link = {
		.path = options->link, .on_message = on_message, .on_drop = on_drop, .self = init};
	init->link = link_new(&init->loop, &link);
	init->exec = exec_table_new(&init->loop, send_body, init);
	init->files = files_new(&init->loop, send_out, init);
	init->services = services_new(&init->loop, &services);
	if (!init->link || !init->exec || !init->files || !init->services) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory");
	}
	return 0;
}

static int init_loop(struct init *init, struct cua_err *err) {
	sigset_t signals;
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGPWR);
	(void)signal(SIGPIPE, SIG_IGN);
	init->stop_timer = (struct loop_timer){.fn = on_stop_timer, .self = init};
	return loop_init(&init->loop, &signals, on_signal, init, err);
}

static void free_parts(struct init *init) {
	init->files = files_free(init->files);
	init->exec = exec_table_free(init->exec);
	init->services = services_free(init->services);
	init->link = link_free(init->link);
	service_list_done(&init->list);
	loop_done(&init->loop);
}

int init_run(const struct init_options *options, struct cua_err *err) {
	struct init *init = calloc(1, sizeof(*init));
	if (!init) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory");
	}
	read_services(init, options->services);
	int r = init_loop(init, err);
	if (r == 0) {
		r = make_parts(init, options, err);
	}
	if (r == 0) {
		services_start(init->services);
		link_start(init->link);
		r = loop_run(&init->loop, err);
	}
	free_parts(init);
	free(init);
	return r;
}
