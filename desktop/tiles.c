/* See the header. The inner loops are plain so that the compiler turns them into vector code. Where a
 * tile changed exactly is only looked for while few tiles are dirty or the tile is known to move:
 * comparing stops at the first difference otherwise. */
#include "desktop/tiles.h"

#include <string.h>

#include "cua/limits.h"

#define COLOUR 0x00ffffffu /* the fourth byte of a pixel holds whatever drawing left there */
/* Between two looks, nobody has seen more of what went on than this. */
#define UNSEEN_US 500000

struct tile {
	uint64_t frame; /* with which it last changed */
	uint64_t real_frame; /* the same, but for animations */
	uint64_t real_us; /* when that was */
	uint64_t run_frame; /* both before the present run of changes */
	uint64_t run_us;
	struct rect box; /* of the last change */
	struct motion motion;
	bool dirty;
};

struct tiles {
	int width;
	int height;
	int columns;
	int rows;
	size_t dirty; /* tiles */
	bool doubted; /* all of them, whatever was marked */
	uint64_t looked_us; /* the last look */
	uint64_t clock_us; /* time that somebody has watched */
	uint64_t input_us; /* on that clock; UINT64_MAX while it goes on */
	struct tile tile[];
};

struct tiles *tiles_new(int width, int height, uint64_t frame, struct cua_err *err) {
	int columns = (width + TILE - 1) / TILE;
	int rows = (height + TILE - 1) / TILE;
	size_t count = (size_t)columns * (size_t)rows;
	struct tiles *t = calloc(1, sizeof(*t) + count * sizeof(t->tile[0]));
	if (!t) {
		(void)cua_err_set(
			err, CUA_EXHAUSTED, "no memory for a screen of %dx%d", width, height);
		return NULL;
	}
	t->width = width;
	t->height = height;
	t->columns = columns;
	t->rows = rows;
	/* Later than the start, so that nothing seems to follow an input. */
	t->clock_us = 2 * MOTION_LEARN_US;
	for (size_t i = 0; i < count; i++) {
		t->tile[i].frame = frame;
		t->tile[i].real_frame = frame;
	}
	tiles_mark(t, (struct rect){0, 0, width, height});
	return t;
}

struct tiles *tiles_free(struct tiles *t) {
	free(t);
	return NULL;
}

/* ---------------------------------------------------------------- geometry */

static struct rect screen(const struct tiles *t) {
	return (struct rect){0, 0, t->width, t->height};
}

static struct rect rect_of(const struct tiles *t, size_t index) {
	int column = (int)(index % (size_t)t->columns);
	int row = (int)(index / (size_t)t->columns);
	return rect_intersect((struct rect){column * TILE, row * TILE, TILE, TILE}, screen(t));
}

static size_t count_of(const struct tiles *t) {
	return (size_t)t->columns * (size_t)t->rows;
}

/* The columns and rows of tiles that a part of the screen touches, as a rectangle. */
static struct rect cells(const struct tiles *t, struct rect part) {
	part = rect_intersect(part, screen(t));
	if (rect_empty(part)) {
		return (struct rect){0};
	}
	int x = part.x / TILE;
	int y = part.y / TILE;
	return (struct rect){x, y, (part.x + part.width - 1) / TILE - x + 1,
		(part.y + part.height - 1) / TILE - y + 1};
}

static size_t index_of(const struct tiles *t, int column, int row) {
	return (size_t)row * (size_t)t->columns + (size_t)column;
}

void tiles_mark(struct tiles *t, struct rect r) {
	struct rect c = cells(t, r);
	for (int row = c.y; row < c.y + c.height; row++) {
		for (int column = c.x; column < c.x + c.width; column++) {
			struct tile *tile = &t->tile[index_of(t, column, row)];
			t->dirty += !tile->dirty;
			tile->dirty = true;
		}
	}
}

void tiles_doubt(struct tiles *t) {
	t->doubted = true;
}

bool tiles_dirty(const struct tiles *t) {
	return t->doubted || t->dirty > 0;
}

struct rect tiles_dirty_box(const struct tiles *t) {
	struct rect box = {0};
	if (t->doubted || t->dirty == count_of(t)) {
		return screen(t);
	}
	for (size_t i = 0; t->dirty > 0 && i < count_of(t); i++) {
		if (t->tile[i].dirty) {
			box = rect_union(box, rect_of(t, i));
		}
	}
	return box;
}

size_t tiles_dirty_area(const struct tiles *t) {
	return t->dirty * TILE * TILE;
}

/* ---------------------------------------------------------------- comparing */

static bool row_differs(const uint32_t *restrict a, const uint32_t *restrict b, int count) {
	uint32_t differs = 0;
	for (int i = 0; i < count; i++) {
		differs |= a[i] ^ b[i];
	}
	return (differs & COLOUR) != 0;
}

/* Two pictures of the same part of the screen. */
struct pair {
	uint32_t *before;
	size_t before_stride;
	const uint32_t *now;
	size_t now_stride;
	struct rect at;
};

static struct pair pair_of(const struct tiles *t, const struct tiles_look *look, struct rect at) {
	size_t x = (size_t)(at.x - look->box.x);
	size_t y = (size_t)(at.y - look->box.y);
	return (struct pair){
		.before = look->before + (size_t)at.y * (size_t)t->width + (size_t)at.x,
		.before_stride = (size_t)t->width,
		.now = look->now.pixels + y * look->now.stride + x,
		.now_stride = look->now.stride,
		.at = at,
	};
}

static uint32_t *before_row(const struct pair *p, int y) {
	return p->before + (size_t)y * p->before_stride;
}

static const uint32_t *now_row(const struct pair *p, int y) {
	return p->now + (size_t)y * p->now_stride;
}

/* The smallest rectangle around all differences from row `top` on, on the screen. */
static struct rect difference(const struct pair *p, int top) {
	int left = p->at.width;
	int right = 0;
	int bottom = top;
	for (int y = top; y < p->at.height; y++) {
		const uint32_t *a = before_row(p, y);
		const uint32_t *b = now_row(p, y);
		if (!row_differs(a, b, p->at.width)) {
			continue;
		}
		bottom = y + 1;
		int x = 0;
		while (x < left && ((a[x] ^ b[x]) & COLOUR) == 0) {
			x++;
		}
		left = x;
		x = p->at.width;
		while (x > right && ((a[x - 1] ^ b[x - 1]) & COLOUR) == 0) {
			x--;
		}
		right = x;
	}
	return (struct rect){p->at.x + left, p->at.y + top, right - left, bottom - top};
}

/* Never 0. */
static uint64_t hash(const uint32_t *pixels, size_t stride, struct rect box) {
	uint64_t h = 0xcbf29ce484222325u;
	for (int y = 0; y < box.height; y++) {
		for (int x = 0; x < box.width; x++) {
			h = (h ^ (pixels[(size_t)y * stride + (size_t)x] & COLOUR)) *
			    0x100000001b3u;
		}
	}
	return h | 1;
}

/* Describes a change for those who look for animations. */
static struct motion_change describe(const struct tiles *t, const struct pair *p, struct rect box) {
	struct motion_change change = {.box = box, .at_us = t->clock_us, .input_us = t->input_us};
	if (!rect_empty(box) && box.width <= MOTION_CARET_W && box.height <= MOTION_CARET_H) {
		size_t x = (size_t)(box.x - p->at.x);
		int y = box.y - p->at.y;
		change.before = hash(before_row(p, y) + x, p->before_stride, box);
		change.after = hash(now_row(p, y) + x, p->now_stride, box);
	}
	return change;
}

static void copy_from(const struct pair *p, int top) {
	for (int y = top; y < p->at.height; y++) {
		memcpy(before_row(p, y), now_row(p, y), (size_t)p->at.width * sizeof(uint32_t));
	}
}

/* A comparison under way. */
struct compare {
	const struct tiles_look *look;
	bool exact; /* find out where tiles changed */
	uint64_t frame;
	int top[CUA_SCREEN_MAX_W / TILE +
		1]; /* of each tile of a row the first difference, or -1 */
};

/* Animations do not end where tiles do. */
static bool reached_from_beside(const struct tiles *t, size_t index, struct rect box) {
	struct rect r = rect_of(t, index);
	struct rect c = cells(t, (struct rect){r.x - 1, r.y - 1, TILE + 2, TILE + 2});
	for (int row = c.y; row < c.y + c.height; row++) {
		for (int column = c.x; column < c.x + c.width; column++) {
			size_t other = index_of(t, column, row);
			if (other != index && motion_reaches(&t->tile[other].motion, box)) {
				return true;
			}
		}
	}
	return false;
}

/* Writes down what a change of a tile means. */
static void judge(struct tiles *t, size_t index, const struct motion_change *change,
	const struct compare *c) {
	struct tile *tile = &t->tile[index];
	enum motion_verdict verdict = motion_change(&tile->motion, change);
	if (verdict <= MOTION_BEGINS && reached_from_beside(t, index, change->box)) {
		motion_adopt(&tile->motion, change->box);
		verdict = MOTION_KNOWN;
	}
	if (verdict == MOTION_BEGINS) {
		tile->run_frame = tile->real_frame;
		tile->run_us = tile->real_us;
	}
	if (verdict == MOTION_LEARNED) {
		tile->real_frame = tile->run_frame;
		tile->real_us = tile->run_us;
	} else if (verdict != MOTION_KNOWN) {
		tile->real_frame = c->frame;
		tile->real_us = c->look->at_us;
	}
	tile->frame = c->frame;
	tile->box = change->box;
}

/* Takes a tile over that differs from row `top` on. */
static void take_tile(struct tiles *t, const struct compare *c, size_t index, int top) {
	struct tile *tile = &t->tile[index];
	struct pair p = pair_of(t, c->look, rect_of(t, index));
	struct rect box = {0};
	motion_expire(&tile->motion, t->clock_us);
	if (c->exact || tile->motion.kind != MOTION_NONE) {
		box = difference(&p, top);
	}
	struct motion_change change = describe(t, &p, box);
	judge(t, index, &change, c);
	if (c->look->copy) {
		copy_from(&p, top);
	}
}

static bool in_question(const struct tiles *t, size_t index) {
	return t->doubted || t->tile[index].dirty;
}

/* Compares one line of a row of tiles; the number of tiles whose first difference it holds. */
static int compare_line(const struct tiles *t, struct compare *c, size_t first, int y) {
	const struct tiles_look *look = c->look;
	const uint32_t *before = look->before + (size_t)y * (size_t)t->width;
	const uint32_t *now = look->now.pixels + (size_t)(y - look->box.y) * look->now.stride;
	int found = 0;
	for (int i = 0; i < t->columns; i++) {
		int x = i * TILE;
		if (c->top[i] >= 0 || !in_question(t, first + (size_t)i)) {
			continue;
		}
		int width = t->width - x < TILE ? t->width - x : TILE;
		if (row_differs(before + x, now + (x - look->box.x), width)) {
			c->top[i] = y % TILE;
			found++;
		}
	}
	return found;
}

/* Finds the first difference of each tile of a row of tiles: line by line, as memory likes it. */
static void compare_row(const struct tiles *t, struct compare *c, int row) {
	size_t first = index_of(t, 0, row);
	int height = rect_of(t, first).height;
	int left = 0; /* tiles without a difference */
	for (int i = 0; i < t->columns; i++) {
		c->top[i] = -1;
		left += in_question(t, first + (size_t)i);
	}
	for (int y = 0; left > 0 && y < height; y++) {
		left -= compare_line(t, c, first, row * TILE + y);
	}
}

/* The number of tiles of a row that changed. */
static size_t take_row(struct tiles *t, struct compare *c, int row) {
	size_t changed = 0;
	compare_row(t, c, row);
	for (int i = 0; i < t->columns; i++) {
		size_t index = index_of(t, i, row);
		if (c->top[i] >= 0) {
			take_tile(t, c, index, c->top[i]);
			changed++;
		}
		t->tile[index].dirty = false;
	}
	return changed;
}

static void advance(struct tiles *t, uint64_t now_us) {
	uint64_t past = now_us - t->looked_us;
	t->clock_us += past < UNSEEN_US ? past : UNSEEN_US;
	t->looked_us = now_us;
}

size_t tiles_compare(struct tiles *t, const struct tiles_look *look, uint64_t frame) {
	struct compare c = {.look = look, .exact = 2 * t->dirty <= count_of(t), .frame = frame};
	size_t changed = 0;
	advance(t, look->now_us);
	for (int row = look->box.y / TILE; row * TILE < look->box.y + look->box.height; row++) {
		changed += take_row(t, &c, row);
	}
	t->doubted = false;
	t->dirty = 0;
	return changed;
}

void tiles_input(struct tiles *t, uint64_t now_us, bool going_on) {
	advance(t, now_us);
	t->input_us = going_on ? UINT64_MAX : t->clock_us;
}

/* ---------------------------------------------------------------- telling */

uint64_t tiles_restless_us(const struct tiles *t) {
	uint64_t last = 0;
	for (size_t i = 0; i < count_of(t); i++) {
		last = t->tile[i].real_us > last ? t->tile[i].real_us : last;
	}
	return last;
}

uint64_t tiles_frame_of(const struct tiles *t, struct rect part) {
	uint64_t newest = 0;
	struct rect c = cells(t, part);
	for (int row = c.y; row < c.y + c.height; row++) {
		for (int column = c.x; column < c.x + c.width; column++) {
			uint64_t frame = t->tile[index_of(t, column, row)].frame;
			newest = frame > newest ? frame : newest;
		}
	}
	return newest;
}

static bool wanted(const struct tile *tile, uint64_t since, enum tiles_which which) {
	bool real = tile->real_frame > since;
	switch (which) {
	case TILES_REAL:
		return real;
	case TILES_ANIMATED:
		return tile->frame > since && tile->motion.kind != MOTION_NONE;
	case TILES_ANY:
		break;
	}
	return tile->frame > since;
}

/* What of a tile to tell: of an animation just what moves. */
static struct rect told(const struct tiles *t, size_t index, enum tiles_which which) {
	const struct motion *m = &t->tile[index].motion;
	if (which == TILES_ANIMATED && m->kind == MOTION_CARET) {
		return m->caret;
	}
	if (which == TILES_ANIMATED && m->kind == MOTION_MOVING) {
		return m->box;
	}
	return rect_of(t, index);
}

size_t tiles_changed(const struct tiles *t, uint64_t since, enum tiles_which which,
	struct rect *ret, size_t max) {
	size_t count = 0;
	struct rect run = {0}; /* of neighbours in one row */
	for (size_t i = 0; i < count_of(t); i++) {
		struct rect r =
			wanted(&t->tile[i], since, which) ? told(t, i, which) : (struct rect){0};
		bool joins = r.x == run.x + run.width && r.y == run.y && r.height == run.height;
		if (!rect_empty(run) && !rect_empty(r) && joins) {
			run.width += r.width;
			continue;
		}
		if (!rect_empty(run)) {
			count = rect_list_add(ret, count, max, run);
		}
		run = r;
	}
	return rect_empty(run) ? count : rect_list_add(ret, count, max, run);
}

bool tiles_touched(const struct tiles *t, uint64_t since, struct rect part) {
	struct rect c = cells(t, part);
	for (int row = c.y; row < c.y + c.height; row++) {
		for (int column = c.x; column < c.x + c.width; column++) {
			const struct tile *tile = &t->tile[index_of(t, column, row)];
			struct rect box = rect_empty(tile->box)
						  ? rect_of(t, index_of(t, column, row))
						  : tile->box;
			if (tile->frame > since && !rect_empty(rect_intersect(box, part))) {
				return true;
			}
		}
	}
	return false;
}
