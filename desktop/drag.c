/* Moves the pointer along a path at even speed with a button held.
 *
 * Most programs begin to drag when the pointer has gone some pixels with the button down, then ask
 * what is below it and wait for the answer at each motion; where the button is let go before an
 * answer has come, nothing is dropped. None tells when it is ready for that. What can be seen is that
 * one begins and how long that takes, and how late our own steps are: both measure how busy the
 * machine is. */
#include "desktop/drag.h"

#include <math.h>

#include "desktop/input_priv.h"

#define STEP_MS 8
#define NUDGE_PIXELS 20 /* beyond every toolkit's threshold, also along a diagonal */
#define NUDGES 5 /* in so many steps */
#define DWELL_MAX_MS 60
#define BEGIN_MS 150 /* a program that has not begun to drag by then does not do so */
#define DROP_MS 200 /* what it needs to find out where to drop, at least */
#define WAIT_MAX_MS 2000 /* for either, however busy the machine is */
#define LATE_TIMES 6 /* programs have more to do than we, and do it in turns */
#define MOTION_MIN_MS 60 /* at once, programs would see the end of the motion only */

struct drag {
	struct input *in;
	uint32_t lease;
	cua_Button button;
	size_t count;
	double length; /* of the path, in pixels */
	double nudge; /* length of its first piece */
	size_t corner; /* the next point of the path */
	double passed; /* length of the path up to the point before it */
	uint64_t started; /* when the button was pressed, in ms */
	uint64_t nudged; /* when the first piece was done */
	uint64_t arrived; /* on the last point */
	uint64_t due; /* when this step is to be */
	unsigned late_ms; /* most that one was late */
	unsigned nudge_ms; /* of one step */
	unsigned motion_ms;
	unsigned dwell_ms;
	unsigned moves; /* of the phase that it is in */
	uint32_t drags; /* that programs had begun before */
	enum { DRAG_WAITING, DRAG_NUDGING, DRAG_MOVING, DRAG_STANDING, DRAG_DONE } phase;
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
	int r = input_check_free(in, button, err);
	for (size_t i = 0; i < path->count && r == 0; i++) {
		r = input_check_point(in, path->points[2 * i], path->points[2 * i + 1], err);
	}
	return r;
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
	d->nudge = fmin(d->length, NUDGE_PIXELS);
	d->nudge_ms = STEP_MS;
	d->dwell_ms = duration_ms / 4 < DWELL_MAX_MS ? duration_ms / 4 : DWELL_MAX_MS;
	unsigned other_ms = NUDGES * STEP_MS + d->dwell_ms;
	d->motion_ms =
		duration_ms < other_ms + MOTION_MIN_MS ? MOTION_MIN_MS : duration_ms - other_ms;
	in->busy = true;
	return d;
}

/* Moves to where the path is after this length, by every corner on the way. */
static int move_to(struct drag *d, double target, struct cua_err *err) {
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

/* One pixel off the last point. */
static int move_aside(struct drag *d, struct cua_err *err) {
	const int32_t *end = &d->points[2 * (d->count - 1)];
	return input_move(d->in, end[0] > 0 ? end[0] - 1 : end[0] + 1, end[1], err);
}

static void let_go(struct drag *d) {
	hold_release(d->in, d->lease, 0, input_button_number(d->button));
	x11_flush(d->in->x);
}

static void enter(struct drag *d, int phase) {
	d->phase = phase;
	d->moves = 0;
}

static int begin(struct drag *d, struct cua_err *err) {
	d->drags = d->in->pointing.drags;
	int r = input_move(d->in, d->points[0], d->points[1], err);
	if (r == 0) {
		r = input_button_down(d->in, d->lease, d->button, err);
	}
	d->started = input_now();
	enter(d, DRAG_NUDGING);
	return r;
}

static int nudge(struct drag *d, struct cua_err *err) {
	int r = 0;
	while (d->moves < NUDGES && r == 0) {
		r = move_to(d, d->nudge * ++d->moves / NUDGES, err);
		if (r == 0 && d->nudge_ms > 0) {
			return (int)d->nudge_ms;
		}
	}
	d->nudged = input_now();
	enter(d, DRAG_MOVING);
	return r;
}

static int move(struct drag *d, struct cua_err *err) {
	uint64_t passed = input_now() - d->nudged;
	if (passed < d->motion_ms) {
		double part = (double)passed / d->motion_ms;
		int r = move_to(d, d->nudge + (d->length - d->nudge) * part, err);
		return r < 0 ? r : STEP_MS;
	}
	int r = move_to(d, d->length, err); /* corners that are left */
	if (r == 0) {
		r = move_to_end(d, err);
	}
	d->arrived = input_now();
	enter(d, DRAG_STANDING);
	return r;
}

static bool has_begun(const struct drag *d) {
	return d->in->pointing.drags != d->drags;
}

/* A time that is longer on a busy machine. */
static uint64_t patience(const struct drag *d, uint64_t ms) {
	ms += (uint64_t)LATE_TIMES * d->late_ms;
	return ms < WAIT_MAX_MS ? ms : WAIT_MAX_MS;
}

/* While a program drags: moves that it can ask about, at a third and at two thirds of its time. */
static int show_where(struct drag *d, struct cua_err *err) {
	uint64_t begun = d->in->pointing.drag_ms;
	uint64_t since = begun > d->arrived ? begun : d->arrived;
	/* A program that begins again and again must not keep the button down. */
	since = since < d->arrived + WAIT_MAX_MS ? since : d->arrived + WAIT_MAX_MS;
	uint64_t took = begun > d->started ? begun - d->started : 0;
	uint64_t need = patience(d, 3 * took > DROP_MS ? 3 * took : DROP_MS);
	uint64_t passed = input_now() - since;
	if (d->moves > 2 || passed * 3 < need * d->moves) {
		return passed < need ? STEP_MS : 0;
	}
	int r = d->moves == 1 ? move_aside(d, err) : move_to_end(d, err);
	d->moves++;
	return r < 0 ? r : STEP_MS;
}

/* Milliseconds to stand on the last point before the next look; 0 when it is enough. */
static int stand(struct drag *d, struct cua_err *err) {
	if (has_begun(d)) {
		return show_where(d, err);
	}
	uint64_t now = input_now();
	return now < d->arrived + d->dwell_ms || now < d->nudged + patience(d, BEGIN_MS) ? STEP_MS
											 : 0;
}

static int finish(struct drag *d, struct cua_err *err) {
	d->phase = DRAG_DONE;
	let_go(d);
	return pointer_released(d->in, input_button_number(d->button), err);
}

static void note_late(struct drag *d) {
	uint64_t now = input_now();
	if (d->due && now > d->due + d->late_ms) {
		d->late_ms = (unsigned)(now - d->due);
	}
}

static int step(struct drag *d, struct cua_err *err) {
	int r = d->phase == DRAG_WAITING ? begin(d, err) : 0;
	if (r == 0 && d->phase == DRAG_NUDGING) {
		r = nudge(d, err);
	}
	if (r == 0 && d->phase == DRAG_MOVING) {
		r = move(d, err);
	}
	if (r == 0 && d->phase == DRAG_STANDING) {
		r = stand(d, err);
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

int drag_step(struct drag *d, struct cua_err *err) {
	note_late(d);
	int r = step(d, err);
	d->due = r > 0 ? input_now() + (uint64_t)r : 0;
	return r;
}

void drag_hurry(struct drag *d) {
	d->nudge_ms = 0;
	d->motion_ms = 0;
	d->dwell_ms = 0;
	d->due = 0;
}

struct drag *drag_free(struct drag *d) {
	if (d) {
		if (d->phase != DRAG_WAITING && d->phase != DRAG_DONE) {
			let_go(d);
		}
		d->in->busy = false;
	}
	free(d);
	return NULL;
}
