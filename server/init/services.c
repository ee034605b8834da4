/* Order and restarts. One function, step(), walks the list as far as it can get; every event (an
 * exit, the display, a path, a timer) changes a state and calls it again. */
#include "server/init/services.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/log.h"
#include "server/init/display.h"
#include "server/init/spawn.h"
#include "server/init/watch.h"

enum state {
	SERVICE_PENDING, /* to be started when its turn comes */
	SERVICE_RUNNING,
	SERVICE_BACKOFF, /* its timer starts it again */
	SERVICE_ENDED, /* for good */
};

struct service {
	struct services *owner;
	const struct service_def *def;
	char *const *env;
	enum state state;
	pid_t pid; /* 0: none; may belong to an earlier run that is still dying */
	bool on_failure; /* start again only after a failure */
	unsigned backoff_ms;
	uint64_t started_us;
	struct loop_timer timer;
};

struct services {
	struct loop *loop;
	struct services_config config;
	struct display *display;
	struct service service[CUA_SERVICES_MAX + 1];
	size_t count;
	struct service *waiting; /* its path is waited for */
	struct watch watch;
	struct loop_timer wait_timer;
	bool stopping;
	/* the session's command */
	struct service_def command;
	char *command_argv;
	char *command_env;
	char **command_env_list;
};

static void step(struct services *services);

static void tell(const struct services *services, const char *name, bool running, int status) {
	services->config.on_event(services->config.self, name, running, status);
}

/* ---------------------------------------------------------------- one service */

static _Noreturn void become_service(const struct service *service) {
	struct spawn spawn = SPAWN_INIT;
	spawn.user = service->def->user;
	spawn.argv = service->def->argv;
	spawn.env = service->env;
	spawn.log = service->def->name;
	struct cua_err err;
	(void)!spawn_exec(&spawn, &err);
	cua_log(CUA_LOG_ERROR, "service %s: %s", service->def->name, err.message);
	_exit(err.code == CUA_FORBIDDEN ? 126 : 127);
}

static void back_off(struct service *service) {
	service->state = SERVICE_BACKOFF;
	loop_timer_set(service->owner->loop, &service->timer, service->backoff_ms);
	service->backoff_ms *= 2;
	if (service->backoff_ms > CUA_SERVICE_BACKOFF_MAX_MS) {
		service->backoff_ms = CUA_SERVICE_BACKOFF_MAX_MS;
	}
}

static void start_service(struct service *service) {
	struct cua_err err;
	pid_t pid = spawn_fork(NULL, 0, &err);
	if (pid == 0) {
		become_service(service);
	}
	if (pid < 0) {
		cua_log(CUA_LOG_ERROR, "service %s: %s", service->def->name, err.message);
		back_off(service);
		return;
	}
	service->pid = pid;
	service->state = SERVICE_RUNNING;
	service->started_us = loop_now_us();
	tell(service->owner, service->def->name, true, 0);
}

static void on_backoff_over(void *self) {
	struct service *service = self;
	struct services *services = service->owner;
	if (services->stopping) {
		return;
	}
	if (service->def->screen && !display_is_ready(services->display)) {
		service->state = SERVICE_PENDING;
		return;
	}
	start_service(service);
}

static bool was_no_failure(int status) {
	/* 126 and 127: it could not be executed, and will not be the next time. */
	return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 126 ||
					    WEXITSTATUS(status) == 127);
}

static void on_service_exit(struct service *service, int status) {
	struct services *services = service->owner;
	service->pid = 0;
	tell(services, service->def->name, false, status);
	if (service->state != SERVICE_RUNNING || services->stopping) {
		return;
	}
	if (service->def->once || (service->on_failure && was_no_failure(status))) {
		if (status != 0) {
			cua_log(CUA_LOG_WARN, "service %s ended with status %#x",
				service->def->name, (unsigned)status);
		}
		service->state = SERVICE_ENDED;
		return;
	}
	cua_log(CUA_LOG_WARN, "service %s ended with status %#x, it starts again in %u ms",
		service->def->name, (unsigned)status, service->backoff_ms);
	if (loop_now_us() - service->started_us > CUA_SERVICE_BACKOFF_MAX_MS * 1000ULL) {
		service->backoff_ms = CUA_SERVICE_BACKOFF_MS;
	}
	back_off(service);
}

static void add_service(struct services *services, const struct service_def *def) {
	struct service *service = &services->service[services->count++];
	*service = (struct service){
		.owner = services, .def = def, .backoff_ms = CUA_SERVICE_BACKOFF_MS};
	service->timer = (struct loop_timer){.fn = on_backoff_over, .self = service};
}

/* ---------------------------------------------------------------- waiting for a path */

static void end_wait(struct services *services) {
	watch_stop(&services->watch);
	loop_timer_stop(services->loop, &services->wait_timer);
	services->waiting = NULL;
}

static void on_path_change(void *self) {
	struct services *services = self;
	if (services->waiting && access(services->waiting->def->wait, F_OK) == 0) {
		end_wait(services);
		step(services);
	}
}

static void on_wait_over(void *self) {
	struct services *services = self;
	cua_log(CUA_LOG_WARN, "service %s: %s did not appear", services->waiting->def->name,
		services->waiting->def->wait);
	end_wait(services);
	step(services);
}

static void begin_wait(struct services *services, struct service *service) {
	struct cua_err err;
	services->waiting = service;
	loop_timer_set(services->loop, &services->wait_timer, CUA_SERVICE_WAIT_MS);
	if (watch_parent(&services->watch, service->def->wait, &err) < 0) {
		cua_log(CUA_LOG_WARN, "service %s: %s", service->def->name, err.message);
	}
	if (access(service->def->wait, F_OK) == 0) {
		end_wait(services);
	}
}

/* ---------------------------------------------------------------- order */

/* True when the walk may go on to the next service. */
static bool step_service(struct services *services, struct service *service) {
	if (service->state == SERVICE_PENDING) {
		bool blocked = service->pid > 0 ||
			       (service->def->screen && !display_is_ready(services->display));
		if (blocked) {
			return false;
		}
		start_service(service);
		if (service->def->wait) {
			begin_wait(services, service);
		}
	}
	bool must_end = service->def->once && service->state != SERVICE_ENDED;
	return !must_end && !services->waiting;
}

static void step(struct services *services) {
	if (services->stopping || services->waiting) {
		return;
	}
	for (size_t i = 0; i < services->count; i++) {
		if (!step_service(services, &services->service[i])) {
			return;
		}
	}
}

/* Clients of a dead server are worth nothing: they are ended and wait for the next one. */
static void reset_screen_services(struct services *services, int signal) {
	for (size_t i = 0; i < services->count; i++) {
		struct service *service = &services->service[i];
		bool ended = service->state == SERVICE_ENDED && !service->def->once;
		if (!service->def->screen || ended) {
			continue;
		}
		loop_timer_stop(services->loop, &service->timer);
		service->state = SERVICE_PENDING;
		if (service->pid > 0) {
			(void)kill(-service->pid, signal);
		}
		if (services->waiting == service) {
			end_wait(services);
		}
	}
}

static void on_display(void *self, bool ready, int status) {
	struct services *services = self;
	tell(services, "xvfb", ready, status);
	if (services->stopping) {
		return;
	}
	reset_screen_services(services, ready ? SIGKILL : SIGTERM);
	step(services);
}

/* ---------------------------------------------------------------- life */

struct services *services_new(struct loop *loop, const struct services_config *config) {
	struct services *services = calloc(1, sizeof(*services));
	if (!services) {
		return NULL;
	}
	services->loop = loop;
	services->config = *config;
	watch_init(&services->watch, loop, on_path_change, services);
	services->wait_timer = (struct loop_timer){.fn = on_wait_over, .self = services};
	struct display_config display = {.max_width = config->max_width,
		.max_height = config->max_height,
		.dpi = config->dpi,
		.on_change = on_display,
		.self = services};
	for (size_t i = 0; i < config->list->count; i++) {
		const struct service_def *def = &config->list->def[i];
		if (strcmp(def->name, "xvfb") == 0) {
			display.extra = def->argv;
		} else {
			add_service(services, def);
		}
	}
	services->display = display_new(loop, &display);
	return services->display ? services : services_free(services);
}

struct services *services_free(struct services *services) {
	if (services) {
		services_stop(services);
		services->display = display_free(services->display);
		free(services->command_argv);
		free(services->command_env);
		free(services->command_env_list);
		free(services);
	}
	return NULL;
}

void services_start(struct services *services) {
	display_start(services->display);
	step(services);
}

bool services_on_exit(struct services *services, pid_t pid, int status) {
	if (display_on_exit(services->display, pid, status)) {
		return true;
	}
	for (size_t i = 0; i < services->count; i++) {
		if (services->service[i].pid == pid) {
			on_service_exit(&services->service[i], status);
			step(services);
			return true;
		}
	}
	return false;
}

void services_stop(struct services *services) {
	services->stopping = true;
	for (size_t i = 0; i < services->count; i++) {
		loop_timer_stop(services->loop, &services->service[i].timer);
	}
	end_wait(services);
	if (services->display) {
		display_stop(services->display);
	}
}

/* ---------------------------------------------------------------- the session's command */

static char *copy_span(struct cua_span span) {
	char *copy = malloc(span.len + 1);
	if (copy && span.len > 0) {
		memcpy(copy, span.data, span.len);
	}
	return copy;
}

static int keep_command(
	struct services *services, struct cua_span argv, struct cua_span env, struct cua_err *err) {
	services->command_argv = copy_span(argv);
	services->command_env = copy_span(env);
	if (!services->command_argv || !services->command_env) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for the session's command");
	}
	_cleanup_free_ char **list = cua_strings_split(
		(struct cua_span){.data = services->command_argv, .len = argv.len},
		CUA_SERVICE_ARGS, err);
	if (!list) {
		return -(int)err->code;
	}
	services->command =
		(struct service_def){.name = "command", .user = "agent", .screen = true};
	for (size_t i = 0; list[i]; i++) {
		services->command.argv[i] = list[i];
	}
	services->command_env_list =
		cua_strings_split((struct cua_span){.data = services->command_env, .len = env.len},
			CUA_ARGV_COUNT, err);
	return services->command_env_list ? 0 : -(int)err->code;
}

int services_command(
	struct services *services, struct cua_span argv, struct cua_span env, struct cua_err *err) {
	if (services->command_env_list) {
		return 0;
	}
	if (argv.len == 0 || argv.len + env.len > CUA_ARGV_BYTES) {
		return cua_err_about(
			err, CUA_INVALID, "command", "the session's command is empty or too long");
	}
	int r = keep_command(services, argv, env, err);
	if (r < 0) {
		free(services->command_argv);
		free(services->command_env);
		services->command_argv = NULL;
		services->command_env = NULL;
		return r;
	}
	add_service(services, &services->command);
	struct service *service = &services->service[services->count - 1];
	service->env = services->command_env_list;
	service->on_failure = true;
	step(services);
	return 0;
}
