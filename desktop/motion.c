/* See the header. The times of carets: GTK 800/400 ms, Chromium and Qt 500, xterm 600/300. */
#include "desktop/motion.h"

#define CARET_MIN_US 200000
#define CARET_MAX_US 1000000
#define CARET_TOGGLES 3
#define CHANGES_MIN 3
/* A bar that sweeps to and fro leaves a tile alone for that long. */
#define GAP_US 2500000
/* A run that begins so soon after the input went on before it. */
#define BEFORE_US 800000
/* So many pixels from it something still belongs to an animation. */
#define EDGE 4
#define FORGET_US 5000000

static int64_t area(struct rect r) {
	return (int64_t)r.width * r.height;
}

static bool same(struct rect a, struct rect b) {
	return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
}

static bool inside(struct rect inner, struct rect outer) {
	return same(rect_intersect(inner, outer), inner);
}

static bool caused(const struct motion_change *c) {
	return c->at_us < c->input_us + MOTION_CAUSED_US || c->input_us >= c->at_us;
}

/* Toggling must go on between the same two pictures and at a caret's pace, or begins anew. */
static void note_toggle(struct motion *m, const struct motion_change *c) {
	uint64_t pause = c->at_us - m->last_us;
	bool back = m->toggles > 0 && same(m->caret, c->box) && c->before == m->picture[1] &&
		    c->after == m->picture[0];
	if (c->before == 0 || c->after == 0 || caused(c)) {
		m->toggles = 0;
		return;
	}
	if (back && pause >= CARET_MIN_US && pause <= CARET_MAX_US) {
		m->toggles++;
	} else {
		m->toggles = 1;
		m->caret = c->box;
	}
	m->picture[0] = c->before;
	m->picture[1] = c->after;
}

/* One of the two pictures of a known caret, at any pace: typing shows it at once. */
static bool caret_known(struct motion *m, const struct motion_change *c) {
	bool known = m->kind == MOTION_CARET && same(m->caret, c->box) &&
		     c->before == m->picture[1] && c->after == m->picture[0];
	if (known) {
		m->picture[0] = c->before;
		m->picture[1] = c->after;
	}
	return known;
}

static void begin_run(struct motion *m, const struct motion_change *c) {
	m->changes = 1;
	m->box = (struct rect){0}; /* the first change is what appears there */
	m->run_us = c->at_us - c->input_us < BEFORE_US ? c->input_us : c->at_us;
}

static enum motion_verdict unknown(struct motion *m, const struct motion_change *c) {
	if (caused(c)) {
		m->changes = 0;
		return MOTION_REAL;
	}
	if (m->changes == 0 || c->at_us - m->last_us > GAP_US || m->run_us < c->input_us) {
		begin_run(m, c);
		return MOTION_BEGINS;
	}
	m->changes++;
	m->box = rect_union(m->box, c->box);
	if (m->toggles >= CARET_TOGGLES) {
		m->kind = MOTION_CARET;
		return MOTION_LEARNED;
	}
	if (m->changes >= CHANGES_MIN && c->at_us - m->run_us >= MOTION_LEARN_US &&
		!rect_empty(m->box)) {
		m->kind = MOTION_MOVING;
		return MOTION_LEARNED;
	}
	return MOTION_REAL;
}

/* More of what moves comes into sight: nobody else has a reason to be there now. */
static bool grows(struct motion *m, const struct motion_change *c) {
	struct rect both = rect_union(m->box, c->box);
	if (caused(c) || rect_empty(rect_intersect(m->box, c->box)) ||
		area(both) > 2 * area(m->box)) {
		return false;
	}
	m->box = both;
	return true;
}

static bool moving_known(struct motion *m, const struct motion_change *c) {
	return m->kind == MOTION_MOVING && !rect_empty(c->box) &&
	       (inside(c->box, m->box) || grows(m, c));
}

enum motion_verdict motion_change(struct motion *m, const struct motion_change *c) {
	enum motion_verdict verdict = MOTION_REAL;
	if (caret_known(m, c) || moving_known(m, c)) {
		verdict = MOTION_KNOWN;
	} else if (m->kind == MOTION_MOVING && !rect_empty(c->box) &&
		   area(c->box) <= 2 * area(m->box)) {
		/* Something beside the animation: that goes on. */
		verdict = MOTION_REAL;
	} else {
		m->changes = m->kind == MOTION_NONE ? m->changes : 0;
		m->kind = MOTION_NONE;
		note_toggle(m, c);
		verdict = unknown(m, c);
	}
	m->last_us = c->at_us;
	return verdict;
}

bool motion_reaches(const struct motion *neighbour, struct rect box) {
	struct rect b = neighbour->box;
	struct rect around = {b.x - EDGE, b.y - EDGE, b.width + 2 * EDGE, b.height + 2 * EDGE};
	return neighbour->kind == MOTION_MOVING && !rect_empty(box) && area(box) <= area(b) &&
	       !rect_empty(rect_intersect(around, box));
}

void motion_adopt(struct motion *m, struct rect box) {
	m->kind = MOTION_MOVING;
	m->box = rect_union(m->box, box);
}

void motion_expire(struct motion *m, uint64_t now_us) {
	if (m->kind != MOTION_NONE && now_us - m->last_us > FORGET_US) {
		*m = (struct motion){0};
	}
}
