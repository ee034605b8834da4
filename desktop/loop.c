/* libuv behind our own names; see the header. A libuv handle may be freed only after it has been
 * closed, so each is on the heap and freed by its close callback. */
#include "desktop/loop.h"

#include <uv.h>

struct loop {
	uv_loop_t uv;
	uv_prepare_t prepare;
	uv_idle_t idle; /* runs while there is more to do than to wait for */
	bool working; /* this turn has called somebody */
	bool (*on_waiting)(void *ctx);
	loop_fn *on_working;
	void *ctx;
};

struct loop_io {
	uv_poll_t poll;
	loop_fn *fn;
	void *ctx;
};

struct loop_timer {
	uv_timer_t timer;
	loop_fn *fn;
	void *ctx;
};

static void on_idle(uv_idle_t *idle) {
	(void)idle;
}

/* To be called before anybody else's code. */
static void work(const uv_loop_t *uv) {
	struct loop *loop = uv->data;
	if (!loop->working && loop->on_working) {
		loop->on_working(loop->ctx);
	}
	loop->working = true;
}

static void on_prepare(uv_prepare_t *prepare) {
	struct loop *loop = prepare->data;
	work(&loop->uv);
	bool more = loop->on_waiting && loop->on_waiting(loop->ctx);
	loop->working = false;
	if (more) {
		(void)uv_idle_start(&loop->idle, on_idle);
	} else {
		(void)uv_idle_stop(&loop->idle);
	}
}

struct loop *loop_new(struct cua_err *err) {
	_cleanup_free_ struct loop *loop = calloc(1, sizeof(*loop));
	int r = loop ? uv_loop_init(&loop->uv) : UV_ENOMEM;
	if (r < 0) {
		(void)cua_err_errno(err, r, "cannot create an event loop");
		return NULL;
	}
	(void)uv_prepare_init(&loop->uv, &loop->prepare);
	(void)uv_idle_init(&loop->uv, &loop->idle);
	loop->prepare.data = loop;
	loop->uv.data = loop;
	(void)uv_prepare_start(&loop->prepare, on_prepare);
	return take_ptr(loop);
}

static void on_closed(uv_handle_t *handle) {
	free(handle->data);
}

static void close_left(uv_handle_t *handle, void *ctx) {
	struct loop *loop = ctx;
	if (uv_is_closing(handle)) {
		return;
	}
	bool embedded =
		handle == (uv_handle_t *)&loop->prepare || handle == (uv_handle_t *)&loop->idle;
	uv_close(handle, embedded ? NULL : on_closed);
}

struct loop *loop_free(struct loop *loop) {
	if (loop) {
		uv_walk(&loop->uv, close_left, loop);
		(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
		(void)uv_loop_close(&loop->uv);
	}
	free(loop);
	return NULL;
}

void loop_run(struct loop *loop) {
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_turn(struct loop *loop) {
	(void)uv_run(&loop->uv, UV_RUN_ONCE);
}

void loop_stop(struct loop *loop) {
	uv_stop(&loop->uv);
}

void loop_on_turn(struct loop *loop, bool (*waiting)(void *ctx), loop_fn *working, void *ctx) {
	loop->on_waiting = waiting;
	loop->on_working = working;
	loop->ctx = ctx;
}

/* ---------------------------------------------------------------- descriptors */

static void on_poll(uv_poll_t *poll, int status, int events) {
	(void)status; /* the next read or write tells the error */
	(void)events;
	struct loop_io *io = poll->data;
	work(poll->loop);
	io->fn(io->ctx);
}

struct loop_io *loop_io_add(
	struct loop *loop, int fd, loop_fn *fn, void *ctx, struct cua_err *err) {
	_cleanup_free_ struct loop_io *io = calloc(1, sizeof(*io));
	int r = io ? uv_poll_init(&loop->uv, &io->poll, fd) : UV_ENOMEM;
	if (r < 0) {
		(void)cua_err_errno(err, r, "cannot watch a descriptor");
		return NULL;
	}
	io->fn = fn;
	io->ctx = ctx;
	io->poll.data = io;
	(void)uv_poll_start(&io->poll, UV_READABLE, on_poll);
	return take_ptr(io);
}

void loop_io_want(struct loop_io *io, bool readable, bool writable) {
	/* Never nothing: libuv would not tell of a hang-up. */
	int events = (readable ? UV_READABLE : UV_DISCONNECT) | (writable ? UV_WRITABLE : 0);
	(void)uv_poll_start(&io->poll, events, on_poll);
}

struct loop_io *loop_io_remove(struct loop_io *io) {
	if (io) {
		uv_close((uv_handle_t *)&io->poll, on_closed);
	}
	return NULL;
}

/* ---------------------------------------------------------------- timers */

static void on_timer(uv_timer_t *handle) {
	struct loop_timer *timer = handle->data;
	work(handle->loop);
	timer->fn(timer->ctx);
}

struct loop_timer *loop_timer_new(struct loop *loop, loop_fn *fn, void *ctx, struct cua_err *err) {
	struct loop_timer *timer = calloc(1, sizeof(*timer));
	if (!timer) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a timer");
		return NULL;
	}
	(void)uv_timer_init(&loop->uv, &timer->timer);
	timer->fn = fn;
	timer->ctx = ctx;
	timer->timer.data = timer;
	return timer;
}

void loop_timer_start(struct loop_timer *timer, uint64_t ms) {
	/* libuv counts from the beginning of the turn, which may be long ago. */
	uv_update_time(timer->timer.loop);
	(void)uv_timer_start(&timer->timer, on_timer, ms, 0);
}

bool loop_timer_running(const struct loop_timer *timer) {
	return uv_is_active((const uv_handle_t *)&timer->timer) != 0;
}

void loop_timer_stop(struct loop_timer *timer) {
	(void)uv_timer_stop(&timer->timer);
}

struct loop_timer *loop_timer_free(struct loop_timer *timer) {
	if (timer) {
		uv_close((uv_handle_t *)&timer->timer, on_closed);
	}
	return NULL;
}

uint64_t loop_now_us(void) {
	return uv_hrtime() / 1000;
}
