/* Xvfb: its command line, its remains, its readiness. X itself is not spoken here. */
#include "server/init/display.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/limits.h"
#include "cua/log.h"
#include "server/init/spawn.h"

#define OWN_ARGS 20

struct display {
	struct loop *loop;
	struct display_config config;
	pid_t pid;
	bool ready;
	bool stopping;
	unsigned backoff_ms;
	uint64_t started_us;
	struct loop_source ready_pipe; /* owned */
	struct loop_timer ready_timer;
	struct loop_timer restart_timer;
};

/* A lock of a server that was killed stops the next one. The names may also have been taken by
 * something that is no socket. */
static void clean_remains(void) {
	(void)unlink("/tmp/.X0-lock");
	(void)unlink("/tmp/.tX0-lock");
	(void)mkdir("/tmp/.X11-unix", 01777);
	(void)chmod("/tmp/.X11-unix", 01777);
	if (unlink("/tmp/.X11-unix/X0") < 0 && errno == EISDIR) {
		(void)rmdir("/tmp/.X11-unix/X0");
	}
}

static _Noreturn void become_server(const struct display *display, int ready_fd) {
	char screen[64];
	char dpi[16];
	char fd[16];
	(void)snprintf(screen, sizeof(screen), "%ux%ux24", display->config.max_width,
		display->config.max_height);
	(void)snprintf(dpi, sizeof(dpi), "%u", display->config.dpi);
	(void)snprintf(fd, sizeof(fd), "%d", ready_fd);
	char *argv[OWN_ARGS + CUA_SERVICE_ARGS + 1] = {"Xvfb", ":0", "-screen", "0", screen, "-dpi",
		dpi, "-nolisten", "tcp", "-noreset", "-s", "0", "-dpms", "-ac", "-displayfd", fd};
	size_t n = 0;
	while (argv[n]) {
		n++;
	}
	char *const *extra = display->config.extra;
	for (size_t i = 0; extra && extra[i] && n < CUA_COUNT(argv) - 1; i++) {
		argv[n++] = extra[i];
	}
	clean_remains();
	struct spawn spawn = SPAWN_INIT;
	spawn.argv = argv;
	spawn.log = "xvfb";
	spawn.keep_fd = ready_fd;
	struct cua_err err;
	(void)!spawn_exec(&spawn, &err);
	cua_log(CUA_LOG_ERROR, "xvfb: %s", err.message);
	_exit(127);
}

static void close_ready_pipe(struct display *display) {
	int fd = display->ready_pipe.fd;
	loop_remove(display->loop, &display->ready_pipe);
	if (fd >= 0) {
		(void)close(fd);
	}
}

static void on_ready_pipe(void *self, uint32_t events) {
	(void)events;
	struct display *display = self;
	char text[16];
	ssize_t n = read(display->ready_pipe.fd, text, sizeof(text));
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	/* The number and the newline are two writes, and Xvfb gives up when the second one fails. */
	if (n > 0 && !memchr(text, '\n', (size_t)n)) {
		return;
	}
	close_ready_pipe(display);
	if (n > 0) {
		display->ready = true;
		loop_timer_stop(display->loop, &display->ready_timer);
		display->config.on_change(display->config.self, true, 0);
	}
}

static void on_ready_timeout(void *self) {
	const struct display *display = self;
	cua_log(CUA_LOG_ERROR, "xvfb: not ready within %d ms, killed", CUA_DISPLAY_READY_MS);
	if (display->pid > 0) {
		(void)kill(display->pid, SIGKILL);
	}
}

static void restart_later(struct display *display) {
	if (display->stopping) {
		return;
	}
	loop_timer_set(display->loop, &display->restart_timer, display->backoff_ms);
	display->backoff_ms *= 2;
	if (display->backoff_ms > CUA_SERVICE_BACKOFF_MAX_MS) {
		display->backoff_ms = CUA_SERVICE_BACKOFF_MAX_MS;
	}
}

static int start_server(struct display *display, struct cua_err *err) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		return cua_err_errno(err, errno, "cannot make a pipe");
	}
	_cleanup_fd_ int ours = ends[0];
	_cleanup_fd_ int theirs = ends[1];
	const int keep[] = {theirs};
	pid_t pid = spawn_fork(keep, CUA_COUNT(keep), err);
	if (pid == 0) {
		become_server(display, theirs);
	}
	if (pid < 0) {
		return (int)pid;
	}
	display->pid = pid;
	display->started_us = loop_now_us();
	loop_timer_set(display->loop, &display->ready_timer, CUA_DISPLAY_READY_MS);
	int r = loop_add(display->loop, &display->ready_pipe, ours, EPOLLIN, err);
	if (r == 0) {
		(void)take_fd(ours);
	}
	return r;
}

void display_start(struct display *display) {
	struct cua_err err;
	if (start_server(display, &err) < 0) {
		cua_log(CUA_LOG_ERROR, "xvfb: %s", err.message);
		if (display->pid == 0) {
			restart_later(display);
		}
	}
}

static void on_restart(void *self) {
	display_start(self);
}

bool display_on_exit(struct display *display, pid_t pid, int status) {
	if (display->pid == 0 || pid != display->pid) {
		return false;
	}
	display->pid = 0;
	display->ready = false;
	close_ready_pipe(display);
	loop_timer_stop(display->loop, &display->ready_timer);
	if (loop_now_us() - display->started_us > CUA_SERVICE_BACKOFF_MAX_MS * 1000ULL) {
		display->backoff_ms = CUA_SERVICE_BACKOFF_MS;
	}
	if (!display->stopping) {
		cua_log(CUA_LOG_WARN, "xvfb ended with status %#x, it starts again in %u ms",
			(unsigned)status, display->backoff_ms);
	}
	restart_later(display);
	display->config.on_change(display->config.self, false, status);
	return true;
}

bool display_is_ready(const struct display *display) {
	return display->ready;
}

struct display *display_new(struct loop *loop, const struct display_config *config) {
	struct display *display = calloc(1, sizeof(*display));
	if (!display) {
		return NULL;
	}
	display->loop = loop;
	display->config = *config;
	display->backoff_ms = CUA_SERVICE_BACKOFF_MS;
	display->ready_pipe = (struct loop_source){.fd = -1, .fn = on_ready_pipe, .self = display};
	display->ready_timer = (struct loop_timer){.fn = on_ready_timeout, .self = display};
	display->restart_timer = (struct loop_timer){.fn = on_restart, .self = display};
	return display;
}

void display_stop(struct display *display) {
	display->stopping = true;
	loop_timer_stop(display->loop, &display->restart_timer);
	loop_timer_stop(display->loop, &display->ready_timer);
}

struct display *display_free(struct display *display) {
	if (display) {
		display_stop(display);
		close_ready_pipe(display);
		free(display);
	}
	return NULL;
}
