/* Capture by XDamage and MIT-SHM; see the header. */
#include "desktop/capture.h"

#include <string.h>
#include <X11/extensions/Xdamage.h>
#include <X11/extensions/Xfixes.h>

#include "cua/ident.h"
#include "cua/limits.h"
#include "desktop/loop.h"
#include "desktop/shm.h"
#include "desktop/x11_priv.h"

#define CURSOR_MAX 512
/* A screen that shrinks between our look at its size and the request is met again at most so often. */
#define SIZE_TRIES 4
/* Whoever looks gets a whole comparison when the last one is older: damage can be lost. */
#define DOUBT_US 1000000
/* Damage that nobody has looked at; beyond it, one does better without being told. */
#define UNSEEN_MAX 64

struct capture {
	struct x11 *x;
	Damage damage; /* None while nobody is interested */
	unsigned unseen; /* damage since the last look */
	uint64_t damage_us; /* the last */
	uint64_t whole_us; /* the last comparison of the whole screen */
	uint64_t frame;
	struct tiles *tiles;
	int width;
	int height;
	/* Two pictures, shared with the server: what was seen last, and where the next is fetched. */
	struct shm shared;
	unsigned front; /* 0 or 1 */
};

/* ---------------------------------------------------------------- buffers */

static size_t picture_pixels(const struct capture *c) {
	return (size_t)c->width * (size_t)c->height;
}

static uint32_t *picture_of(const struct capture *c, unsigned which) {
	return c->shared.pixels + which * picture_pixels(c);
}

static bool size_right(const struct capture *c) {
	return c->tiles && c->width == c->x->width && c->height == c->x->height;
}

/* Buffers for a screen of another size; all of it counts as changed by the next frame. */
static int resize(struct capture *c, struct cua_err *err) {
	int width = c->x->width;
	int height = c->x->height;
	if (width < 1 || height < 1 || width > CUA_SCREEN_MAX_W || height > CUA_SCREEN_MAX_H) {
		return cua_err_set(
			err, CUA_INTERNAL, "a screen of %dx%d is too large", width, height);
	}
	c->tiles = tiles_free(c->tiles);
	c->width = width;
	c->height = height;
	c->front = 0;
	int r = shm_make(&c->shared, c->x, 2 * picture_pixels(c) * sizeof(uint32_t), err);
	c->tiles = r == 0 ? tiles_new(width, height, ++c->frame, err) : NULL;
	return r == 0 && !c->tiles ? -CUA_EXHAUSTED : r;
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
	c->frame = frame - 1; /* the buffers' first use raises it */
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

static void damage_end(struct capture *c) {
	if (c->damage != None && x11_alive(c->x)) {
		XDamageDestroy(c->x->display, c->damage);
	}
	c->damage = None;
}

struct capture *capture_free(struct capture *c) {
	if (!c) {
		return NULL;
	}
	shm_done(&c->shared, c->x);
	damage_end(c);
	tiles_free(c->tiles);
	free(c);
	return NULL;
}

bool capture_event(struct capture *c, const XEvent *event) {
	if (event->type != c->x->damage_event + XDamageNotify) {
		return false;
	}
	const XDamageNotifyEvent *damage = (const XDamageNotifyEvent *)event;
	if (c->tiles) {
		tiles_mark(c->tiles, (struct rect){damage->area.x, damage->area.y,
					     damage->area.width, damage->area.height});
	}
	c->unseen++;
	c->damage_us = loop_now_us();
	return true;
}

bool capture_dirty(const struct capture *c) {
	return !size_right(c) || tiles_dirty(c->tiles);
}

void capture_doubt(struct capture *c) {
	if (c->tiles) {
		tiles_doubt(c->tiles);
	}
}

void capture_rest(struct capture *c) {
	if (c->unseen > UNSEEN_MAX && c->damage != None) {
		damage_end(c);
		capture_doubt(c);
	}
}

/* ---------------------------------------------------------------- looking */

/* Before the request for pixels, so that nothing is missed in between. */
static void damage_begin(struct capture *c) {
	c->unseen = 0;
	if (c->damage == None && x11_alive(c->x)) {
		c->damage = XDamageCreate(c->x->display, c->x->root, XDamageReportRawRectangles);
		capture_doubt(c);
	}
}

/* What to fetch: what is to be compared, or all, where taking it over would cost more than that. */
static struct rect fetch_box(const struct capture *c) {
	struct rect box = tiles_dirty_box(c->tiles);
	size_t cost = (size_t)box.width * (size_t)box.height + tiles_dirty_area(c->tiles);
	return rect_empty(box) || cost < picture_pixels(c)
		       ? box
		       : (struct rect){0, 0, c->width, c->height};
}

/* Reads a part of the screen into the picture behind, rows without gaps. 0; 1 when the screen has
 * another size by now; negative when the server is gone. One request, so that all is of one moment. */
static int fetch(struct capture *c, struct rect box, struct cua_err *err) {
	x11_stay_awake(c->x);
	size_t offset = (1 - c->front) * picture_pixels(c) * sizeof(uint32_t);
	const struct shm_part part = {.drawable = c->x->root,
		.x = box.x,
		.y = box.y,
		.width = box.width,
		.height = box.height};
	if (shm_get(&c->shared, c->x, &part, (uint32_t)offset) == 0) {
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

/* Compares what was fetched; true when any of it changed. */
static bool update(struct capture *c, struct rect box) {
	bool whole = box.width == c->width && box.height == c->height;
	uint64_t now = loop_now_us();
	struct tiles_look look = {
		.before = picture_of(c, c->front),
		.now = {.pixels = picture_of(c, 1 - c->front),
			.width = box.width,
			.height = box.height,
			.stride = (size_t)box.width},
		.box = box,
		.copy = !whole,
		.at_us = tiles_dirty_area(c->tiles) > 0 ? c->damage_us : now,
		.now_us = now,
	};
	if (whole) {
		/* It takes the other one's place with all that is in it, told by damage or not yet. */
		tiles_doubt(c->tiles);
	}
	bool changed = tiles_compare(c->tiles, &look, c->frame + 1) > 0;
	c->frame += changed;
	if (whole) {
		c->front = 1 - c->front;
		c->whole_us = now;
	}
	return changed;
}

int capture_look(struct capture *c, struct cua_err *err) {
	bool resized = false;
	damage_begin(c);
	for (int i = 0; i < SIZE_TRIES; i++) {
		if (!size_right(c)) {
			int r = resize(c, err);
			if (r < 0) {
				return r;
			}
			resized = true;
		}
		if (loop_now_us() - c->whole_us > DOUBT_US) {
			tiles_doubt(c->tiles);
		}
		struct rect box = fetch_box(c);
		int r = rect_empty(box) ? 0 : fetch(c, box, err);
		if (r < 0) {
			return r;
		}
		if (r == 0) {
			return (!rect_empty(box) && update(c, box)) || resized;
		}
	}
	return cua_err_set(err, CUA_INTERNAL, "the screen cannot be captured");
}

struct view capture_view(const struct capture *c) {
	return (struct view){.pixels = picture_of(c, c->front),
		.width = c->width,
		.height = c->height,
		.stride = (size_t)c->width};
}

uint64_t capture_frame(const struct capture *c) {
	return c->frame;
}

const struct tiles *capture_tiles(const struct capture *c) {
	return c->tiles;
}

uint64_t capture_frame_of(const struct capture *c, struct rect part) {
	return tiles_frame_of(c->tiles, part);
}

void capture_input(struct capture *c, bool going_on) {
	if (c->tiles) {
		tiles_input(c->tiles, loop_now_us(), going_on);
	}
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
	/* No more than is copied: cut anywhere else, a name may end within a character. */
	size_t kept = sizeof(cursor.shape) - 1;
	if (image->name && cua_utf8_ok(image->name, strnlen(image->name, kept))) {
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
