/* Moves the pointer along a path at even speed with a button held. */
#include "desktop/drag.h"

#include <math.h>

#include "desktop/input_priv.h"

#define STEP_MS 8
#define DWELL_MAX_MS 60
#define MOVES_AT_ONCE 32 /* when there is no time for motion, there is still this much of it */

struct drag {
	struct input *in;
	uint32_t lease;
	cua_Button button;
	size_t count;
	double length; /* of the path, in pixels */
	size_t corner; /* the next point of the path */
	double passed; /* length of the path up to the point before it */
	uint64_t start;
	unsigned motion_ms;
	unsigned dwell_ms;
	enum { DRAG_WAITING, DRAG_MOVING, DRAG_STANDING, DRAG_DONE } phase;
	int32_t points[]; /* x, y, … */
};

static double segment(const struct drag *d, size_t i) {
	double dx = d->points[2 * i + 2] - d->points[2 * i];
	double dy = d->points[2 * i + 3] - d->points[2 * i + 1];
	return sqrt(dx * dx + dy * dy);
}

static int check(
	struct input *in, const struct drag_path *path, cua_Button button, struct cua_err *err) {
	if (in->busy) {
		return cua_err_set(err, CUA_CONFLICT, "another input action is under way");
	}
	if (path->count < 2 || path->count > CUA_PATH_POINTS) {
		return cua_err_about(
			err, CUA_INVALID, "path", "a path has 2 to %d points", CUA_PATH_POINTS);
	}
	uint8_t number = input_button_number(button);
	if (!number) {
		return cua_err_about(err, CUA_INVALID, "button", "there is no such button");
	}
	if (hold_any(in, number, true)) {
		return cua_err_about(err, CUA_CONFLICT, "button", "the button is being held");
	}
	for (size_t i = 0; i < path->count; i++) {
		int r = input_check_point(in, path->points[2 * i], path->points[2 * i + 1], err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

struct drag *drag_start(struct input *in, uint32_t lease, cua_Button button,
	const struct drag_path *path, unsigned duration_ms, struct cua_err *err) {
	if (check(in, path, button, err) < 0) {
		return NULL;
	}
	struct drag *d = calloc(1, sizeof(*d) + path->count * 2 * sizeof(d->points[0]));
	if (!d) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the path");
		return NULL;
	}
	d->in = in;
	d->lease = lease;
	d->button = button;
	d->count = path->count;
	memcpy(d->points, path->points, path->count * 2 * sizeof(d->points[0]));
	d->corner = 1;
	for (size_t i = 0; i + 1 < d->count; i++) {
		d->length += segment(d, i);
	}
	d->dwell_ms = duration_ms / 4 < DWELL_MAX_MS ? duration_ms / 4 : DWELL_MAX_MS;
	d->motion_ms = duration_ms - d->dwell_ms;
	in->busy = true;
	return d;
}

/* Moves to where the path is after this part of its length, by every corner on the way. */
static int move_to(struct drag *d, double part, struct cua_err *err) {
	double target = d->length * part;
	while (d->corner + 1 < d->count && d->passed + segment(d, d->corner - 1) <= target) {
		const int32_t *corner = &d->points[2 * d->corner];
		int r = input_move(d->in, corner[0], corner[1], err);
		if (r < 0) {
			return r;
		}
		d->passed += segment(d, d->corner++ - 1);
	}
	double length = segment(d, d->corner - 1);
	double t = length > 0 ? fmin((target - d->passed) / length, 1) : 1;
	const int32_t *p = &d->points[2 * (d->corner - 1)];
	return input_move(d->in, (int)lround(p[0] + t * (p[2] - p[0])),
		(int)lround(p[1] + t * (p[3] - p[1])), err);
}

static int move_to_end(struct drag *d, struct cua_err *err) {
	const int32_t *end = &d->points[2 * (d->count - 1)];
	return input_move(d->in, end[0], end[1], err);
}

static void let_go(struct drag *d) {
	hold_release(d->in, d->lease, 0, input_button_number(d->button));
	x11_flush(d->in->x);
}

static int begin(struct drag *d, struct cua_err *err) {
	int r = input_move(d->in, d->points[0], d->points[1], err);
	if (r == 0) {
		r = input_button_down(d->in, d->lease, d->button, err);
	}
	d->start = input_now();
	d->phase = DRAG_MOVING;
	return r;
}

static int move_at_once(struct drag *d, struct cua_err *err) {
	int r = 0;
	for (int i = 1; i < MOVES_AT_ONCE && r == 0; i++) {
		r = move_to(d, (double)i / MOVES_AT_ONCE, err);
	}
	return r;
}

static int move(struct drag *d, struct cua_err *err) {
	uint64_t passed = input_now() - d->start;
	int r = 0;
	if (d->motion_ms == 0) {
		r = move_at_once(d, err);
	} else if (passed < d->motion_ms) {
		r = move_to(d, (double)passed / d->motion_ms, err);
		return r < 0 ? r : STEP_MS;
	}
	if (r == 0) {
		r = move_to(d, 1, err); /* corners that are left */
	}
	if (r == 0) {
		r = move_to_end(d, err);
	}
	d->phase = DRAG_STANDING;
	return r < 0 || d->dwell_ms == 0 ? r : (int)d->dwell_ms;
}

static int finish(struct drag *d, struct cua_err *err) {
	d->phase = DRAG_DONE;
	let_go(d);
	return x11_sync(d->in->x, err);
}

int drag_step(struct drag *d, struct cua_err *err) {
	int r = d->phase == DRAG_WAITING ? begin(d, err) : 0;
	if (r == 0 && d->phase == DRAG_MOVING) {
		r = move(d, err);
	}
	if (r == 0 && d->phase == DRAG_STANDING) {
		r = finish(d, err);
	}
	if (r < 0 && d->phase != DRAG_DONE) {
		d->phase = DRAG_DONE;
		let_go(d);
	}
	return r;
}

struct drag *drag_free(struct drag *d) {
	if (d) {
		if (d->phase == DRAG_MOVING || d->phase == DRAG_STANDING) {
			let_go(d);
		}
		d->in->busy = false;
	}
	free(d);
	return NULL;
}
