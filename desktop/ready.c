/* See the header. The conditions are met one after the other, so that each phase has its cost. */
#include "desktop/ready.h"

#include "desktop/x11_priv.h"

/* After that, input is enough: there may be no window manager. */
#define PATIENCE_MS 8000
/* A window manager is there and still nobody paints: the desktop may well be empty. */
#define EMPTY_MS 2000
/* Between two tries while a program keeps the pointer to itself. */
#define AGAIN_MS 250

enum phase {
	PHASE_MANAGER,
	PHASE_PAINT,
	PHASE_INPUT,
	PHASE_DONE,
};

static const char *const names[PHASE_DONE] = {
	[PHASE_MANAGER] = "wm",
	[PHASE_PAINT] = "paint",
	[PHASE_INPUT] = "input",
};

struct ready {
	struct scene *scene;
	struct loop_timer *timer; /* only wakes the loop, which pumps */
	loop_fn *done;
	void *ctx;
	enum phase phase;
	bool check_manager; /* its property has changed */
	uint64_t start_us;
	uint64_t passed_us[PHASE_DONE]; /* when each phase was over */
	uint64_t judged_frame;
};

static void on_timer(void *ctx) {
	(void)ctx;
}

static void on_event(void *ctx, XEvent *event) {
	struct ready *ready = ctx;
	const struct x11 *x = ready->scene->x;
	if (event->type == PropertyNotify &&
		event->xproperty.atom == x->atom._NET_SUPPORTING_WM_CHECK) {
		ready->check_manager = true;
	}
}

struct ready *ready_new(struct scene *scene, loop_fn *done, void *ctx, struct cua_err *err) {
	_cleanup_free_ struct ready *ready = calloc(1, sizeof(*ready));
	if (!ready) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to judge the desktop");
		return NULL;
	}
	ready->timer = loop_timer_new(scene->loop, on_timer, ready, err);
	if (!ready->timer) {
		return NULL;
	}
	ready->scene = scene;
	ready->done = done;
	ready->ctx = ctx;
	ready->check_manager = true;
	ready->start_us = loop_now_us();
	scene->watched = true;
	scene->on_event = on_event;
	scene->on_event_ctx = ready;
	return take_ptr(ready);
}

struct ready *ready_free(struct ready *ready) {
	if (ready) {
		ready->scene->watched = false;
		ready->scene->on_event = NULL;
		loop_timer_free(ready->timer);
	}
	free(ready);
	return NULL;
}

static uint64_t since_ms(uint64_t us) {
	return (loop_now_us() - us) / 1000;
}

/* The window that names the window manager by its property; None when it names none. */
static Window manager_of(struct x11 *x, Window window) {
	unsigned long manager = None;
	size_t n =
		x11_get_longs(x, window, x->atom._NET_SUPPORTING_WM_CHECK, XA_WINDOW, &manager, 1);
	return n == 1 ? (Window)manager : None;
}

/* The root names a window that names itself: what a dead window manager left does not count. Some
 * set the root's property first, so the other one's change must be heard, too. */
static bool manager_there(struct ready *ready) {
	struct x11 *x = ready->scene->x;
	if (!ready->check_manager) {
		return false;
	}
	ready->check_manager = false;
	Window window = manager_of(x, x->root);
	if (window == None || window == x->root) {
		return false;
	}
	XSelectInput(x->display, window, PropertyChangeMask);
	return manager_of(x, window) == window;
}

/* Looks only when there is something new to see. */
static bool painted(struct ready *ready) {
	struct capture *capture = ready->scene->capture;
	struct cua_err ignored;
	if (ready->judged_frame != 0 && capture_frame(capture) == ready->judged_frame) {
		return false;
	}
	if (ready->judged_frame == 0 && scene_look(ready->scene, &ignored) < 0) {
		return false;
	}
	ready->judged_frame = capture_frame(capture);
	/* A look that failed midway raises the number, too, and leaves no pixels. */
	return capture_tiles(capture) && !view_uniform(capture_view(capture));
}

/* Moves the pointer by one pixel and back. */
static bool input_works(struct ready *ready) {
	struct input *input = ready->scene->input;
	struct cua_err ignored;
	int from[2];
	int to[2];
	if (input_position(input, &from[0], &from[1], &ignored) < 0) {
		return false;
	}
	int step = from[0] > 0 ? -1 : 1;
	bool works = input_move(input, from[0] + step, from[1], &ignored) == 0 &&
		     input_position(input, &to[0], &to[1], &ignored) == 0 &&
		     to[0] == from[0] + step && to[1] == from[1];
	return input_move(input, from[0], from[1], &ignored) == 0 && works;
}

/* True when the condition of the present phase is met, or is no longer waited for. */
static bool phase_over(struct ready *ready) {
	bool patience_over = since_ms(ready->start_us) >= PATIENCE_MS;
	switch (ready->phase) {
	case PHASE_MANAGER:
		return manager_there(ready) || patience_over;
	case PHASE_PAINT:
		return painted(ready) || patience_over ||
		       since_ms(ready->passed_us[PHASE_MANAGER]) >= EMPTY_MS;
	case PHASE_INPUT:
		return input_works(ready);
	case PHASE_DONE:
		break;
	}
	return false;
}

static uint64_t left_ms(uint64_t from_us, uint64_t ms) {
	uint64_t past = since_ms(from_us);
	return past < ms ? ms - past : 1;
}

/* Has the loop come back when the present phase could end without an event. */
static void set_timer(struct ready *ready) {
	uint64_t left = left_ms(ready->start_us, PATIENCE_MS);
	if (ready->phase == PHASE_INPUT) {
		left = AGAIN_MS;
	} else if (ready->phase == PHASE_PAINT) {
		uint64_t empty = left_ms(ready->passed_us[PHASE_MANAGER], EMPTY_MS);
		left = empty < left ? empty : left;
	}
	loop_timer_start(ready->timer, left);
}

void ready_pump(struct ready *ready) {
	bool moved = false;
	while (ready->phase != PHASE_DONE && x11_alive(ready->scene->x) && phase_over(ready)) {
		ready->passed_us[ready->phase++] = loop_now_us();
		moved = true;
		if (ready->phase == PHASE_DONE) {
			ready->scene->watched = false;
			loop_timer_stop(ready->timer);
			ready->done(ready->ctx);
			return;
		}
	}
	if (moved || (ready->phase != PHASE_DONE && !loop_timer_running(ready->timer))) {
		set_timer(ready);
	}
}

size_t ready_phases(const struct ready *ready, struct ready_phase *ret, size_t max) {
	uint64_t before = ready->start_us;
	size_t count = 0;
	for (size_t i = 0; i < (size_t)ready->phase && count < max; i++) {
		ret[count++] =
			(struct ready_phase){names[i], (uint32_t)(ready->passed_us[i] - before)};
		before = ready->passed_us[i];
	}
	return count;
}
