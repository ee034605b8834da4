/* Capture by XDamage and MIT-SHM; see the header. */
#include "desktop/capture.h"

#include <string.h>
#include <X11/extensions/Xdamage.h>
#include <X11/extensions/Xfixes.h>

#include "cua/ident.h"
#include "cua/limits.h"
#include "desktop/shm.h"
#include "desktop/x11_priv.h"

#define COLOUR 0x00ffffffu /* the fourth byte of a pixel holds whatever drawing left there */
#define CURSOR_MAX 512
/* A screen that shrinks between our look at its size and the request is met again at most so often. */
#define SIZE_TRIES 4

struct tile {
	uint64_t frame; /* with which it last changed */
	bool dirty;
};

struct capture {
	struct x11 *x;
	Damage damage;
	uint64_t frame;
	struct frame *picture;
	struct tile *tiles;
	int columns;
	int rows;
	bool dirty; /* any tile */
	struct shm shared;
};

/* ---------------------------------------------------------------- buffers */

static struct tile *tile_at(const struct capture *c, int column, int row) {
	return &c->tiles[(size_t)row * (size_t)c->columns + (size_t)column];
}

static void mark(struct capture *c, struct rect r) {
	r = rect_intersect(r, (struct rect){0, 0, c->picture->width, c->picture->height});
	if (rect_empty(r)) {
		return;
	}
	int right = (r.x + r.width - 1) / CAPTURE_TILE;
	int bottom = (r.y + r.height - 1) / CAPTURE_TILE;
	for (int row = r.y / CAPTURE_TILE; row <= bottom; row++) {
		for (int column = r.x / CAPTURE_TILE; column <= right; column++) {
			tile_at(c, column, row)->dirty = true;
		}
	}
	c->dirty = true;
}

void capture_doubt(struct capture *c) {
	mark(c, (struct rect){0, 0, c->picture->width, c->picture->height});
}

/* Buffers for a screen of another size; all of it counts as changed by the next frame. */
static int resize(struct capture *c, struct cua_err *err) {
	int width = c->x->width;
	int height = c->x->height;
	int columns = (width + CAPTURE_TILE - 1) / CAPTURE_TILE;
	int rows = (height + CAPTURE_TILE - 1) / CAPTURE_TILE;
	_cleanup_(frame_unref_p) struct frame *picture = frame_new(width, height, err);
	_cleanup_free_ struct tile *tiles = calloc((size_t)columns * (size_t)rows, sizeof(*tiles));
	if (!picture || !tiles) {
		return cua_err_set(
			err, CUA_EXHAUSTED, "no memory for a screen of %dx%d", width, height);
	}
	int r = shm_make(&c->shared, c->x, (size_t)width * (size_t)height * sizeof(uint32_t), err);
	if (r < 0) {
		return r;
	}
	c->frame++;
	for (size_t i = 0; i < (size_t)columns * (size_t)rows; i++) {
		tiles[i].frame = c->frame;
	}
	frame_unref(c->picture);
	free(c->tiles);
	c->picture = take_ptr(picture);
	c->tiles = take_ptr(tiles);
	c->columns = columns;
	c->rows = rows;
	capture_doubt(c);
	return 0;
}

/* ---------------------------------------------------------------- life */

CUA_DEFINE_CLEANUP(struct capture *, capture_free)

struct capture *capture_new(struct x11 *x, uint64_t frame, struct cua_err *err) {
	_cleanup_(capture_free_p) struct capture *c = calloc(1, sizeof(*c));
	if (!c) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to capture the screen");
		return NULL;
	}
	c->x = x;
	c->frame = frame - 1; /* the first look raises it */
	int event = 0;
	int error = 0;
	int major = 0;
	int minor = 0;
	/* Each library wants its own greeting before the first request. */
	if (!XDamageQueryExtension(x->display, &event, &error) ||
		!XFixesQueryVersion(x->display, &major, &minor)) {
		(void)cua_err_set(err, CUA_INTERNAL, "the X server lacks DAMAGE or XFIXES");
		return NULL;
	}
	c->damage = XDamageCreate(x->display, x->root, XDamageReportRawRectangles);
	if (resize(c, err) < 0) {
		return NULL;
	}
	return take_ptr(c);
}

struct capture *capture_free(struct capture *c) {
	if (!c) {
		return NULL;
	}
	shm_done(&c->shared, c->x);
	if (c->damage && x11_alive(c->x)) {
		XDamageDestroy(c->x->display, c->damage);
	}
	frame_unref(c->picture);
	free(c->tiles);
	free(c);
	return NULL;
}

bool capture_event(struct capture *c, const XEvent *event) {
	if (event->type != c->x->damage_event + XDamageNotify) {
		return false;
	}
	const XDamageNotifyEvent *damage = (const XDamageNotifyEvent *)event;
	mark(c, (struct rect){
			damage->area.x, damage->area.y, damage->area.width, damage->area.height});
	return true;
}

bool capture_dirty(const struct capture *c) {
	return c->dirty || c->picture->width != c->x->width || c->picture->height != c->x->height;
}

/* ---------------------------------------------------------------- looking */

/* The rows of pixels that dirty tiles lie in; empty when there is none. */
static struct rect dirty_rows(const struct capture *c) {
	int first = c->rows;
	int last = -1;
	for (int row = 0; row < c->rows; row++) {
		for (int column = 0; column < c->columns; column++) {
			if (tile_at(c, column, row)->dirty) {
				first = row < first ? row : first;
				last = row;
			}
		}
	}
	if (last < 0) {
		return (struct rect){0};
	}
	int bottom = (last + 1) * CAPTURE_TILE;
	bottom = bottom < c->picture->height ? bottom : c->picture->height;
	return (struct rect){
		0, first * CAPTURE_TILE, c->picture->width, bottom - first * CAPTURE_TILE};
}

/* Reads rows into the same place of the shared memory. 0; 1 when the screen has another size by now;
 * negative when the server is gone. One request, so that all rows are of one moment. */
static int fetch(struct capture *c, struct rect rows, struct cua_err *err) {
	uint32_t offset = (uint32_t)((size_t)rows.y * (size_t)rows.width * sizeof(uint32_t));
	const struct shm_part part = {
		.drawable = c->x->root, .y = rows.y, .width = rows.width, .height = rows.height};
	if (shm_get(&c->shared, c->x, &part, offset) == 0) {
		return 0;
	}
	Window root = None;
	int at[2] = {0};
	unsigned width = 0;
	unsigned height = 0;
	unsigned other[2] = {0};
	if (x11_sync(c->x, err) < 0 || !XGetGeometry(c->x->display, c->x->root, &root, &at[0],
					       &at[1], &width, &height, &other[0], &other[1])) {
		return cua_err_set(err, CUA_NOT_FOUND, "the X server is gone");
	}
	c->x->width = (int)width;
	c->x->height = (int)height;
	return 1;
}

static bool row_differs(const uint32_t *restrict a, const uint32_t *restrict b, int count) {
	uint32_t differs = 0;
	for (int i = 0; i < count; i++) {
		differs |= a[i] ^ b[i];
	}
	return (differs & COLOUR) != 0;
}

static void copy_row(uint32_t *restrict to, const uint32_t *restrict from, int count) {
	for (int i = 0; i < count; i++) {
		to[i] = from[i] & COLOUR;
	}
}

/* Takes over one tile's pixels; true when they differ from the ones before. */
static bool update_tile(struct capture *c, int column, int row) {
	struct rect r = rect_intersect((struct rect){column * CAPTURE_TILE, row * CAPTURE_TILE,
					       CAPTURE_TILE, CAPTURE_TILE},
		(struct rect){0, 0, c->picture->width, c->picture->height});
	size_t stride = (size_t)c->picture->width;
	bool differs = false;
	for (int y = r.y; y < r.y + r.height; y++) {
		uint32_t *to = c->picture->pixels + (size_t)y * stride + (size_t)r.x;
		const uint32_t *from = c->shared.pixels + (size_t)y * stride + (size_t)r.x;
		if (row_differs(to, from, r.width)) {
			differs = true;
			copy_row(to, from, r.width);
		}
	}
	return differs;
}

/* Compares the dirty tiles; true when any changed. */
static bool update(struct capture *c) {
	bool changed = false;
	uint64_t frame = c->frame + 1;
	for (int row = 0; row < c->rows; row++) {
		for (int column = 0; column < c->columns; column++) {
			struct tile *tile = tile_at(c, column, row);
			if (tile->dirty && update_tile(c, column, row)) {
				tile->frame = frame;
				changed = true;
			}
			tile->dirty = false;
		}
	}
	c->dirty = false;
	c->frame += changed;
	return changed;
}

int capture_look(struct capture *c, struct cua_err *err) {
	bool resized = false;
	for (int i = 0; i < SIZE_TRIES; i++) {
		if (c->picture->width != c->x->width || c->picture->height != c->x->height) {
			int r = resize(c, err);
			if (r < 0) {
				return r;
			}
			resized = true;
		}
		struct rect rows = dirty_rows(c);
		int r = rect_empty(rows) ? 0 : fetch(c, rows, err);
		if (r < 0) {
			return r;
		}
		if (r == 0) {
			return update(c) || resized;
		}
	}
	return cua_err_set(err, CUA_INTERNAL, "the screen cannot be captured");
}

struct view capture_view(const struct capture *c) {
	return frame_view(c->picture);
}

uint64_t capture_frame(const struct capture *c) {
	return c->frame;
}

uint64_t capture_frame_of(const struct capture *c, struct rect part) {
	uint64_t newest = 0;
	int right = (part.x + part.width - 1) / CAPTURE_TILE;
	int bottom = (part.y + part.height - 1) / CAPTURE_TILE;
	for (int row = part.y / CAPTURE_TILE; row <= bottom && row < c->rows; row++) {
		for (int column = part.x / CAPTURE_TILE; column <= right && column < c->columns;
			column++) {
			uint64_t frame = tile_at(c, column, row)->frame;
			newest = frame > newest ? frame : newest;
		}
	}
	return newest;
}

/* The run of changed tiles that begins at this one, as pixels; 0 wide when it has not changed. */
static struct rect changed_run(const struct capture *c, uint64_t since, int column, int row) {
	int end = column;
	while (end < c->columns && tile_at(c, end, row)->frame > since) {
		end++;
	}
	return rect_intersect((struct rect){column * CAPTURE_TILE, row * CAPTURE_TILE,
				      (end - column) * CAPTURE_TILE, CAPTURE_TILE},
		(struct rect){0, 0, c->picture->width, c->picture->height});
}

size_t capture_changed(const struct capture *c, uint64_t since, struct rect *ret, size_t max) {
	size_t count = 0;
	for (int row = 0; row < c->rows; row++) {
		for (int column = 0; column < c->columns;) {
			struct rect run = changed_run(c, since, column, row);
			if (!rect_empty(run)) {
				count = rect_list_add(ret, count, max, run);
			}
			column += 1 + (run.width + CAPTURE_TILE - 1) / CAPTURE_TILE;
		}
	}
	return count;
}

/* ---------------------------------------------------------------- cursor */

static void cursor_free(XFixesCursorImage **image) {
	if (*image) {
		(void)XFree(*image);
	}
}

/* Xlib gives every pixel as an unsigned long. */
static struct frame *cursor_pixels(const XFixesCursorImage *image, struct cua_err *err) {
	if (image->width > CURSOR_MAX || image->height > CURSOR_MAX) {
		(void)cua_err_set(err, CUA_INTERNAL, "the cursor is too large");
		return NULL;
	}
	struct frame *frame = frame_new(image->width, image->height, err);
	for (size_t i = 0; frame && i < (size_t)image->width * image->height; i++) {
		frame->pixels[i] = (uint32_t)image->pixels[i];
	}
	return frame;
}

int capture_cursor(
	struct capture *c, bool with_image, struct capture_cursor *ret, struct cua_err *err) {
	_cleanup_(cursor_free) XFixesCursorImage *image =
		x11_alive(c->x) ? XFixesGetCursorImage(c->x->display) : NULL;
	if (!image || !x11_alive(c->x)) {
		return cua_err_set(err, CUA_NOT_FOUND, "the X server does not tell its cursor");
	}
	struct capture_cursor cursor = {.x = image->x, .y = image->y};
	cursor.image_x = image->x - image->xhot;
	cursor.image_y = image->y - image->yhot;
	if (image->name && cua_utf8_ok(image->name, strnlen(image->name, sizeof(cursor.shape)))) {
		(void)snprintf(cursor.shape, sizeof(cursor.shape), "%s", image->name);
	}
	if (with_image) {
		cursor.image = cursor_pixels(image, err);
		if (!cursor.image) {
			return -CUA_INTERNAL;
		}
	}
	*ret = cursor;
	return 0;
}
