/* The life of a worker: greet, start (sandbox), find the X server, set its screen, become ready,
 * perform, and find it again when it is lost. The top of every chain: errors are logged here. */
#include "desktop/desktop.h"

#include <signal.h>

#include "cua/ident.h"
#include "cua/log.h"
#include "desktop/a11y.h"
#include "desktop/composite.h"
#include "desktop/control.h"
#include "desktop/perform.h"
#include "desktop/ready.h"
#include "desktop/sandbox.h"
#include "desktop/screen.h"
#include "desktop/xlink.h"

/* The session's server is always the first of its container. */
#define DISPLAY 0
#define DPI_MAX 1200

struct desktop {
	struct loop *loop;
	struct control *control;
	struct watchdog dog;
	struct scene *scene;
	struct perform *perform;
	struct a11y *a11y;
	struct xlink *link; /* NULL before WORKER_START */
	struct pool *pool;
	struct ready *ready; /* while it is judged */
	cua_WorkerStart start;
	struct loop_timer *size_pause; /* runs after a size of the screen was told */
	uint64_t waiting_us; /* since when there is no X server */
	cua_WorkerState state; /* the one being gathered */
	int status;
};

static void add_phase(struct desktop *d, const char *name, uint64_t us) {
	cua_WorkerState *state = &d->state;
	if (state->phases_count < CUA_COUNT(state->phases)) {
		cua_Phase *phase = &state->phases[state->phases_count++];
		(void)snprintf(phase->name, sizeof(phase->name), "%s", name);
		phase->us = (uint32_t)us;
	}
}

/* A size that a session's screen may have. */
static bool size_ok(const cua_Screen *screen, uint32_t width, uint32_t height) {
	return width >= CUA_SCREEN_MIN_W && width <= screen->max_width &&
	       height >= CUA_SCREEN_MIN_H && height <= screen->max_height;
}

/* ---------------------------------------------------------------- the X server */

static void on_ready(void *ctx) {
	struct desktop *d = ctx;
	struct ready_phase phases[4];
	size_t count = ready_phases(d->ready, phases, CUA_COUNT(phases));
	for (size_t i = 0; i < count; i++) {
		add_phase(d, phases[i].name, phases[i].us);
	}
	d->state.ready = true;
	cua_log(CUA_LOG_INFO, "session=%s ready, %dx%d", d->start.id, x11_width(d->scene->x),
		x11_height(d->scene->x));
	control_state(d->control, &d->state);
}

static int attach(struct desktop *d, struct x11 *x, struct cua_err *err) {
	d->state = (cua_WorkerState){0};
	uint64_t up_us = loop_now_us();
	add_phase(d, "x", up_us - d->waiting_us);
	int r = screen_set(x, (int)d->start.screen.width, (int)d->start.screen.height,
		(int)d->start.screen.dpi, err);
	if (r == 0 && composite_begin(x, err) < 0) {
		/* A server that a user brought may lack it: pictures of covered windows, too. */
		cua_log(CUA_LOG_WARN, "session=%s windows: %s", d->start.id, err->message);
	}
	if (r == 0) {
		r = scene_attach(d->scene, x, err);
	}
	if (r < 0) {
		return r;
	}
	add_phase(d, "screen", loop_now_us() - up_us);
	d->ready = ready_new(d->scene, on_ready, d, err);
	if (!d->ready) {
		scene_detach(d->scene);
		return -CUA_EXHAUSTED;
	}
	return 0;
}

/* However it came to be so, a new server gets this size, too. A program that changes it all the time
 * is told of now and then. */
static void follow_size(void *ctx) {
	struct desktop *d = ctx;
	const struct x11 *x = d->scene->x;
	cua_Screen *screen = &d->start.screen;
	if (!x || !d->state.ready || loop_timer_running(d->size_pause)) {
		return;
	}
	uint32_t width = (uint32_t)x11_width(x);
	uint32_t height = (uint32_t)x11_height(x);
	if ((width == screen->width && height == screen->height) ||
		!size_ok(screen, width, height)) {
		return;
	}
	screen->width = width;
	screen->height = height;
	cua_WorkerState state = {.ready = true,
		.has_width = true,
		.width = width,
		.has_height = true,
		.height = height};
	control_state(d->control, &state);
	loop_timer_start(d->size_pause, CUA_SIZE_PAUSE_MS);
}

static void report_not_ready(struct desktop *d, const struct cua_err *why) {
	cua_WorkerState state = {.has_error = true, .error = cua_error_to_wire(why)};
	cua_log(CUA_LOG_WARN, "session=%s not ready: %s", d->start.id, why->message);
	control_state(d->control, &state);
}

static bool on_up(void *ctx, struct x11 *x) {
	struct desktop *d = ctx;
	struct cua_err err;
	if (attach(d, x, &err) < 0) {
		report_not_ready(d, &err);
		return false;
	}
	return true;
}

static void on_down(void *ctx, const struct cua_err *why) {
	struct desktop *d = ctx;
	perform_fail(d->perform);
	d->ready = ready_free(d->ready);
	scene_detach(d->scene);
	d->waiting_us = loop_now_us();
	report_not_ready(d, why);
}

static void on_event(void *ctx, union _XEvent *event) {
	struct desktop *d = ctx;
	scene_event(d->scene, event);
}

static void on_fd(void *ctx, int fd) {
	struct desktop *d = ctx;
	struct cua_err err;
	if (watchdog_guard(&d->dog, fd, &err) < 0) {
		cua_log(CUA_LOG_ERROR, "session=%s %s", d->start.id, err.message);
	}
	watchdog_wake(&d->dog);
}

/* ---------------------------------------------------------------- the edges */

static int check_start(const cua_WorkerStart *start, struct cua_err *err) {
	const cua_Screen *screen = &start->screen;
	if (!cua_id_ok(start->id)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "the session's id is none");
	}
	if (!size_ok(screen, screen->width, screen->height) ||
		screen->max_width > CUA_SCREEN_MAX_W || screen->max_height > CUA_SCREEN_MAX_H ||
		screen->dpi < 1 || screen->dpi > DPI_MAX) {
		return cua_err_set(err, CUA_BAD_REQUEST, "the screen cannot be %ux%u at %u dpi",
			screen->width, screen->height, screen->dpi);
	}
	return 0;
}

static void on_answer(
	void *ctx, const cua_ActionResult *result, const struct perform_blob *picture) {
	struct desktop *d = ctx;
	control_answer(d->control, result, picture->bytes, picture->memfd);
}

static int begin(struct desktop *d, struct cua_err *err) {
	d->perform = perform_new(
		&(struct perform_config){.loop = d->loop,
			.scene = d->scene,
			.dog = &d->dog,
			.pool = d->pool,
			.dpi = d->start.screen.dpi,
			.screen_max = {d->start.screen.max_width, d->start.screen.max_height},
			.a11y = d->a11y,
			.answer = on_answer,
			.ctx = d},
		err);
	d->link = d->perform ? xlink_new(&(struct xlink_config){.loop = d->loop,
						 .dir = SANDBOX_X11_DIR,
						 .display = DISPLAY,
						 .on_up = on_up,
						 .on_event = on_event,
						 .on_down = on_down,
						 .on_fd = on_fd,
						 .ctx = d},
				       err)
			     : NULL;
	d->waiting_us = loop_now_us();
	return d->link ? 0 : -CUA_INTERNAL;
}

static int start_threads(void *ctx, struct cua_err *err) {
	struct desktop *d = ctx;
	d->pool = pool_new(err);
	return d->pool ? 0 : -CUA_EXHAUSTED;
}

static int on_start(void *ctx, const cua_WorkerStart *start, int x11_dir, struct cua_err *err) {
	struct desktop *d = ctx;
	int r = check_start(start, err);
	if (r == 0) {
		struct sandbox sandbox = {.x11_dir = x11_dir,
			.uid = (uid_t)start->uid,
			.start_threads = start_threads,
			.ctx = d};
		r = sandbox_enter(&sandbox, err);
	}
	d->start = *start;
	return r < 0 ? r : begin(d, err);
}

static void on_request(void *ctx, const struct cua_msg *msg) {
	struct desktop *d = ctx;
	perform_request(d->perform, msg);
}

static void on_lease_end(void *ctx, uint32_t lease) {
	struct desktop *d = ctx;
	perform_lease_end(d->perform, lease);
}

static int ask_socket(void *ctx, uint32_t serial, const char *path, struct cua_err *err) {
	struct desktop *d = ctx;
	return control_socket(d->control, serial, path, err);
}

static void on_socket(void *ctx, uint32_t serial, int fd, const struct cua_err *why) {
	struct desktop *d = ctx;
	a11y_socket(d->a11y, serial, fd, why);
}

static void on_front_gone(void *ctx, const struct cua_err *why) {
	struct desktop *d = ctx;
	cua_log(CUA_LOG_INFO, "session=%s lost cuad: %s", d->start.id, why->message);
	perform_cancel(d->perform);
	a11y_front_gone(d->a11y, why);
}

static void on_ended(void *ctx, const struct cua_err *why) {
	struct desktop *d = ctx;
	/* Hanging up is how the supervisor ends a worker. */
	d->status = why->code != CUA_NOT_FOUND;
	cua_log(d->status ? CUA_LOG_ERROR : CUA_LOG_INFO, "session=%s ends: %s", d->start.id,
		why->message);
	loop_stop(d->loop);
}

static const struct control_ops ops = {
	.start = on_start,
	.request = on_request,
	.lease_end = on_lease_end,
	.socket = on_socket,
	.front_gone = on_front_gone,
	.ended = on_ended,
};

/* ---------------------------------------------------------------- the loop */

/* Actions make Xlib read events while they wait for answers, so all that has been read is handled
 * before the loop waits for the socket. */
static bool before_waiting(void *ctx) {
	struct desktop *d = ctx;
	bool more = d->link && xlink_pump(d->link);
	if (d->ready) {
		ready_pump(d->ready);
	}
	if (d->perform) {
		perform_pump(d->perform);
	}
	scene_pump(d->scene);
	follow_size(d);
	more = more || (d->scene->x && x11_pending(d->scene->x));
	watchdog_sleep(&d->dog);
	return more;
}

static void before_working(void *ctx) {
	struct desktop *d = ctx;
	watchdog_wake(&d->dog);
}

static void done(struct desktop *d) {
	d->ready = ready_free(d->ready);
	d->perform = perform_free(d->perform);
	d->pool = pool_free(d->pool);
	d->a11y = a11y_free(d->a11y);
	d->scene = scene_free(d->scene);
	d->link = xlink_free(d->link);
	d->control = control_free(d->control);
	watchdog_done(&d->dog);
	d->size_pause = loop_timer_free(d->size_pause);
	d->loop = loop_free(d->loop);
}

static int init(struct desktop *d, int supervisor, struct cua_err *err) {
	d->loop = loop_new(err);
	d->scene = d->loop ? scene_new(d->loop, err) : NULL;
	d->size_pause = d->loop ? loop_timer_new(d->loop, follow_size, d, err) : NULL;
	if (!d->scene || !d->size_pause) {
		return -CUA_EXHAUSTED;
	}
	int r = watchdog_init(&d->dog, err);
	if (r < 0) {
		return r;
	}
	loop_on_turn(d->loop, before_waiting, before_working, d);
	d->a11y = a11y_new(
		&(struct a11y_config){.loop = d->loop, .socket = ask_socket, .ctx = d}, err);
	d->control = d->a11y ? control_new(d->loop, supervisor, &ops, d, err) : NULL;
	return d->control ? 0 : -CUA_INTERNAL;
}

int desktop_run(int supervisor) {
	struct desktop d = {0};
	struct cua_err err;
	(void)signal(SIGPIPE, SIG_IGN); /* xcb writes without MSG_NOSIGNAL */
	if (init(&d, supervisor, &err) < 0) {
		cua_log(CUA_LOG_ERROR, "%s", err.message);
		d.status = 1;
	} else {
		loop_run(d.loop);
	}
	done(&d);
	return d.status;
}
