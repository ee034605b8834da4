/* The COMPOSITE extension in its automatic form: the server itself brings the windows together. No
 * compositing manager, but one may run beside it. */
#include "desktop/composite.h"

#include <X11/extensions/Xcomposite.h>
#include <X11/extensions/shape.h>

#include "desktop/shm.h"
#include "desktop/windows.h"
#include "desktop/x11_priv.h"

/* A window that is resized meanwhile is read again, at most so often. */
#define TRIES 8

/* ---------------------------------------------------------------- keeping pixels */

/* Redirection ends with the client that asked for it, and each beginning and end has all programs
 * repaint. So a client asks that leaves at once and whose resources stay. */
static int redirect(struct x11 *keeper, struct cua_err *err) {
	int event = 0;
	int error = 0;
	if (!XCompositeQueryExtension(keeper->display, &event, &error)) {
		return cua_err_set(err, CUA_INTERNAL, "the X server lacks COMPOSITE");
	}
	const long yes = 1;
	unsigned mark = x11_trap(keeper);
	XCompositeRedirectSubwindows(keeper->display, keeper->root, CompositeRedirectAutomatic);
	int r = x11_trap_end(keeper, mark);
	if (r > 0) {
		return cua_err_set(
			err, CUA_INTERNAL, "the X server does not keep windows (error %d)", r);
	}
	if (r == 0) {
		(void)XChangeProperty(keeper->display, keeper->root, keeper->atom._CUAD_REDIRECTED,
			XA_CARDINAL, 32, PropModeReplace, (const unsigned char *)&yes, 1);
		(void)XSelectInput(keeper->display, keeper->root, NoEventMask);
		(void)XSetCloseDownMode(keeper->display, RetainPermanent);
		r = x11_sync(keeper, NULL);
	}
	return r < 0 ? cua_err_set(err, CUA_NOT_FOUND, "the X server is gone") : 0;
}

CUA_DEFINE_CLEANUP(struct x11 *, x11_close)

int composite_begin(struct x11 *x, struct cua_err *err) {
	unsigned long done = 0;
	int event = 0;
	int error = 0;
	/* Each connection greets the extension before it names a pixmap. */
	(void)XCompositeQueryExtension(x->display, &event, &error);
	if (x11_get_longs(x, x->root, x->atom._CUAD_REDIRECTED, XA_CARDINAL, &done, 1) == 1) {
		return 0;
	}
	_cleanup_(x11_close_p) struct x11 *keeper = x11_open(DisplayString(x->display), err);
	return keeper ? redirect(keeper, err) : -(int)err->code;
}

/* ---------------------------------------------------------------- one picture */

/* Where a window's pixels are: in the pixmap of the child of the root that it is in. */
struct place {
	Window top;
	struct rect part; /* the window's own, in the pixmap */
	int border; /* of top, which the pixmap includes */
	int width; /* of the pixmap */
	int height;
};

static int gone(const struct x11 *x, uint32_t window, struct cua_err *err) {
	return x->lost ? cua_err_set(err, CUA_NOT_FOUND, "the X server is gone")
		       : cua_err_about(err, CUA_NOT_FOUND, "id", "there is no window %u", window);
}

static int find_place(struct x11 *x, uint32_t window, struct place *ret, struct cua_err *err) {
	XWindowAttributes own = {0};
	XWindowAttributes top = {0};
	struct place place = {0};
	Window child = None;
	if (x->lost || !XGetWindowAttributes(x->display, window, &own) || x->lost ||
		own.root != x->root || window == x->root) {
		return gone(x, window, err);
	}
	if (own.map_state != IsViewable || own.class != InputOutput) {
		return cua_err_about(err, CUA_CONFLICT, "id",
			"window %u is not shown, perhaps minimized: window_restore brings it back",
			window);
	}
	place.top = windows_top(x, window);
	if (place.top == None || !XGetWindowAttributes(x->display, place.top, &top) || x->lost ||
		!XTranslateCoordinates(x->display, window, place.top, 0, 0, &place.part.x,
			&place.part.y, &child)) {
		return gone(x, window, err);
	}
	place.border = top.border_width;
	place.part.x += top.border_width;
	place.part.y += top.border_width;
	place.part.width = own.width;
	place.part.height = own.height;
	place.width = top.width + 2 * top.border_width;
	place.height = top.height + 2 * top.border_width;
	*ret = place;
	return 0;
}

static bool same_place(const struct place *a, const struct place *b) {
	return a->top == b->top && a->border == b->border && a->width == b->width &&
	       a->height == b->height && a->part.x == b->part.x && a->part.y == b->part.y &&
	       a->part.width == b->part.width && a->part.height == b->part.height;
}

/* Copies this part of the window's; `from` has its rows without gaps. */
static void copy_part(
	struct frame *to, const uint32_t *from, const struct place *place, struct rect part) {
	for (int y = part.y; y < part.y + part.height; y++) {
		size_t row = (size_t)(y - place->part.y) * (size_t)to->width;
		for (int x = part.x - place->part.x; x < part.x - place->part.x + part.width; x++) {
			to->pixels[row + (size_t)x] = from[row + (size_t)x] & 0x00ffffffu;
		}
	}
}

/* The parts of a window that are seen; all of it when rects is NULL. */
struct shape {
	XRectangle *rects;
	int count;
};

static void shape_done(struct shape *shape) {
	if (shape->rects) {
		(void)XFree(shape->rects);
	}
}

/* What a shape leaves out has pixels in the pixmap that nobody ever sees. */
static void read_shape(struct x11 *x, Window top, struct shape *ret) {
	int order = 0;
	int event = 0;
	int error = 0;
	if (!x->lost && XShapeQueryExtension(x->display, &event, &error)) {
		ret->rects =
			XShapeGetRectangles(x->display, top, ShapeBounding, &ret->count, &order);
	}
}

static void copy_shaped(const struct shape *shape, const struct place *place, const uint32_t *from,
	struct frame *to) {
	if (!shape->rects) {
		copy_part(to, from, place, place->part);
		return;
	}
	/* Rectangles of a shape do not overlap: a server that says so would have us copy for ever. */
	int64_t left = (int64_t)to->width * to->height;
	for (int i = 0; i < shape->count && left > 0; i++) {
		const XRectangle *r = &shape->rects[i];
		const struct rect seen = {
			r->x + place->border, r->y + place->border, r->width, r->height};
		struct rect part = rect_intersect(seen, place->part);
		left -= (int64_t)part.width * part.height;
		copy_part(to, from, place, part);
	}
}

/* Reads the part of the pixmap that there is, into the place where the window has it. 0; 1 when the
 * server refuses. */
static int read_pixmap(
	struct x11 *x, const struct place *place, Pixmap pixmap, const struct shm *shm) {
	struct rect there =
		rect_intersect(place->part, (struct rect){0, 0, place->width, place->height});
	if (rect_empty(there)) {
		return 0;
	}
	/* A window that sticks out of its frame is read row by row: it is a strange one. */
	bool whole = there.width == place->part.width;
	int step = whole ? there.height : 1;
	for (int y = 0; y < there.height; y += step) {
		size_t at = (size_t)(there.y + y - place->part.y) * (size_t)place->part.width +
			    (size_t)(there.x - place->part.x);
		const struct shm_part part = {.drawable = pixmap,
			.x = there.x,
			.y = there.y + y,
			.width = there.width,
			.height = step};
		if (shm_get(shm, x, &part, (uint32_t)(at * sizeof(uint32_t))) != 0) {
			return 1;
		}
	}
	return 0;
}

/* 1: a picture; 0: the window has changed meanwhile; negative: none can be had. */
static int try_take(
	struct x11 *x, uint32_t window, struct shm *shm, struct frame **ret, struct cua_err *err) {
	struct place place = {0};
	struct place after = {0};
	int r = find_place(x, window, &place, err);
	if (r < 0) {
		return r;
	}
	_cleanup_(frame_unref_p) struct frame *frame =
		frame_new(place.part.width, place.part.height, err);
	if (!frame) {
		return -(int)err->code;
	}
	size_t len = (size_t)frame->width * (size_t)frame->height * sizeof(uint32_t);
	r = shm->len == len ? 0 : shm_make(shm, x, len, err);
	if (r < 0) {
		return r;
	}
	_cleanup_(shape_done) struct shape shape = {0};
	Pixmap pixmap = XCompositeNameWindowPixmap(x->display, place.top);
	int refused = read_pixmap(x, &place, pixmap, shm);
	unsigned mark = x11_trap(x);
	(void)XFreePixmap(x->display, pixmap);
	if (x11_trap_end(x, mark) < 0) {
		return gone(x, window, err);
	}
	read_shape(x, place.top, &shape);
	r = find_place(x, window, &after, err);
	if (r < 0 || refused || !same_place(&place, &after)) {
		return r;
	}
	copy_shaped(&shape, &place, shm->pixels, frame);
	*ret = take_ptr(frame);
	return 1;
}

struct frame *composite_take(struct x11 *x, uint32_t window, struct cua_err *err) {
	struct shm shm = {0};
	struct frame *frame = NULL;
	int r = 0;
	for (int i = 0; r == 0 && i < TRIES; i++) {
		r = try_take(x, window, &shm, &frame, err);
	}
	shm_done(&shm, x);
	if (r == 0) {
		(void)cua_err_about(err, CUA_CONFLICT, "id",
			"window %u keeps changing its size, or the X server does not keep its "
			"pixels",
			window);
	}
	return frame;
}
