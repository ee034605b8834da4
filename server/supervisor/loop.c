/* libuv for the supervisor; see the header. Every watch is one heap block that begins with its uv
 * handle and is freed in the handle's close callback, for libuv still needs it until then. */
#include "server/supervisor/loop.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "cua/limits.h"

struct loop {
	uv_loop_t uv;
};

struct loop_io {
	uv_poll_t poll;
	loop_fn *on_read;
	loop_fn *on_write;
	void *data;
	bool paused;
	bool writing;
};

struct loop_timer {
	uv_timer_t timer;
	loop_fn *fn;
	void *data;
};

struct loop_signal {
	uv_signal_t signal;
	loop_fn *fn;
	void *data;
};

struct loop_child {
	uv_poll_t poll;
	loop_exit_fn *on_exit;
	void *data;
	pid_t pid;
	int pidfd;
};

static int uv_err(struct cua_err *err, int r, const char *what) {
	return cua_err_set(err, CUA_INTERNAL, "%s: %s", what, uv_strerror(r));
}

void *loop_alloc(size_t size) {
	void *p = calloc(1, size);
	if (!p) {
		abort();
	}
	return p;
}

uint64_t loop_now_us(void) {
	struct timespec ts;
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

struct loop *loop_new(struct cua_err *err) {
	struct loop *loop = loop_alloc(sizeof(*loop));
	int r = uv_loop_init(&loop->uv);
	if (r < 0) {
		(void)uv_err(err, r, "cannot create an event loop");
		free(loop);
		return NULL;
	}
	return loop;
}

static void on_closed(uv_handle_t *handle) {
	free(handle);
}

static void close_handle(uv_handle_t *handle, void *unused) {
	(void)unused;
	if (!uv_is_closing(handle)) {
		uv_close(handle, on_closed);
	}
}

struct loop *loop_free(struct loop *loop) {
	if (loop) {
		uv_walk(&loop->uv, close_handle, NULL);
		(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
		(void)uv_loop_close(&loop->uv);
		free(loop);
	}
	return NULL;
}

void loop_run(struct loop *loop) {
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop) {
	uv_stop(&loop->uv);
}

/* ---------------------------------------------------------------- descriptors */

static void on_poll(uv_poll_t *poll, int status, int events) {
	struct loop_io *io = (struct loop_io *)poll;
	/* libuv stops watching after an error: on_read will meet the same error and end the watch. */
	if ((status < 0 || (events & (UV_READABLE | UV_DISCONNECT))) && !io->paused) {
		io->on_read(io->data);
	}
	if (status == 0 && (events & UV_WRITABLE) && io->writing &&
		!uv_is_closing((uv_handle_t *)poll)) {
		io->on_write(io->data);
	}
}

static int io_update(struct loop_io *io) {
	int events =
		(io->paused ? 0 : UV_READABLE | UV_DISCONNECT) | (io->writing ? UV_WRITABLE : 0);
	return events ? uv_poll_start(&io->poll, events, on_poll) : uv_poll_stop(&io->poll);
}

struct loop_io *loop_io_add(struct loop *loop, int fd, loop_fn *on_read, loop_fn *on_write,
	void *data, struct cua_err *err) {
	struct loop_io *io = loop_alloc(sizeof(*io));
	*io = (struct loop_io){.on_read = on_read, .on_write = on_write, .data = data};
	int r = uv_poll_init(&loop->uv, &io->poll, fd);
	if (r < 0) {
		(void)uv_err(err, r, "cannot watch a descriptor");
		free(io);
		return NULL;
	}
	r = io_update(io);
	if (r < 0) {
		(void)uv_err(err, r, "cannot watch a descriptor");
		return loop_io_remove(io);
	}
	return io;
}

void loop_io_want_write(struct loop_io *io, bool wanted) {
	if (io->writing != wanted && io->on_write) {
		io->writing = wanted;
		(void)io_update(io);
	}
}

void loop_io_pause(struct loop_io *io, bool paused) {
	if (io->paused != paused) {
		io->paused = paused;
		(void)io_update(io);
	}
}

struct loop_io *loop_io_remove(struct loop_io *io) {
	if (io) {
		close_handle((uv_handle_t *)&io->poll, NULL);
	}
	return NULL;
}

/* ---------------------------------------------------------------- timers and signals */

static void on_timer(uv_timer_t *handle) {
	struct loop_timer *timer = (struct loop_timer *)handle;
	loop_fn *fn = timer->fn;
	void *data = timer->data;
	close_handle((uv_handle_t *)handle, NULL);
	fn(data);
}

struct loop_timer *loop_timer_add(struct loop *loop, uint64_t ms, loop_fn *fn, void *data) {
	struct loop_timer *timer = loop_alloc(sizeof(*timer));
	timer->fn = fn;
	timer->data = data;
	(void)uv_timer_init(&loop->uv, &timer->timer);
	/* The loop's clock stands still while callbacks run; long ones must not shorten the wait. */
	uv_update_time(&loop->uv);
	(void)uv_timer_start(&timer->timer, on_timer, ms, 0);
	return timer;
}

struct loop_timer *loop_timer_cancel(struct loop_timer *timer) {
	if (timer) {
		close_handle((uv_handle_t *)&timer->timer, NULL);
	}
	return NULL;
}

static void on_signal(uv_signal_t *handle, int number) {
	(void)number;
	struct loop_signal *watch = (struct loop_signal *)handle;
	watch->fn(watch->data);
}

int loop_signal_add(struct loop *loop, int number, loop_fn *fn, void *data, struct cua_err *err) {
	struct loop_signal *watch = loop_alloc(sizeof(*watch));
	watch->fn = fn;
	watch->data = data;
	(void)uv_signal_init(&loop->uv, &watch->signal);
	int r = uv_signal_start(&watch->signal, on_signal, number);
	if (r < 0) {
		close_handle((uv_handle_t *)&watch->signal, NULL);
		return uv_err(err, r, "cannot watch a signal");
	}
	return 0;
}

/* ---------------------------------------------------------------- children */

static int status_of(const siginfo_t *info) {
	return info->si_code == CLD_EXITED ? (info->si_status & 0xff) << 8 : info->si_status & 0x7f;
}

static void on_pidfd(uv_poll_t *poll, int status, int events) {
	(void)status;
	(void)events;
	struct loop_child *child = (struct loop_child *)poll;
	siginfo_t info = {0};
	int r = waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG);
	if (r == 0 ? info.si_pid == 0 : errno != ECHILD) {
		return;
	}
	loop_exit_fn *on_exit = child->on_exit;
	void *data = child->data;
	close_handle((uv_handle_t *)poll, NULL);
	(void)close(child->pidfd);
	if (on_exit) {
		on_exit(data, status_of(&info));
	}
}

static struct loop_child *child_abandon(
	struct loop_child *child, int r, const char *what, struct cua_err *err) {
	(void)kill(child->pid, SIGKILL);
	(void)waitid(P_PID, (id_t)child->pid, NULL, WEXITED);
	(void)close(child->pidfd);
	free(child);
	(void)uv_err(err, r, what);
	return NULL;
}

struct loop_child *loop_child_add(struct loop *loop, pid_t pid, int pidfd, loop_exit_fn *on_exit,
	void *data, struct cua_err *err) {
	struct loop_child *child = loop_alloc(sizeof(*child));
	*child = (struct loop_child){.on_exit = on_exit, .data = data, .pid = pid, .pidfd = pidfd};
	int r = uv_poll_init(&loop->uv, &child->poll, pidfd);
	if (r < 0) {
		return child_abandon(child, r, "cannot watch a child", err);
	}
	(void)uv_poll_start(&child->poll, UV_READABLE, on_pidfd);
	return child;
}

pid_t loop_child_pid(const struct loop_child *child) {
	return child->pid;
}

void loop_child_kill(struct loop_child *child, int number) {
	(void)syscall(SYS_pidfd_send_signal, child->pidfd, number, NULL, 0);
}

struct loop_child *loop_child_drop(struct loop_child *child) {
	if (child) {
		child->on_exit = NULL;
		loop_child_kill(child, SIGKILL);
	}
	return NULL;
}

/* ---------------------------------------------------------------- backoff */

void loop_backoff_started(struct loop_backoff *backoff) {
	backoff->since_us = loop_now_us();
}

unsigned loop_backoff_next(struct loop_backoff *backoff) {
	bool lived = loop_now_us() - backoff->since_us > 2000ull * CUA_BACKOFF_MAX_MS;
	if (backoff->ms == 0 || lived) {
		backoff->ms = CUA_BACKOFF_MIN_MS;
	} else if (backoff->ms < CUA_BACKOFF_MAX_MS) {
		backoff->ms =
			backoff->ms * 2 < CUA_BACKOFF_MAX_MS ? backoff->ms * 2 : CUA_BACKOFF_MAX_MS;
	}
	return backoff->ms;
}
