/* Rectangles, frames and views; see the header. The inner loops are plain so that the compiler turns
 * them into vector code on every machine. */
#include "desktop/frame.h"

#include <limits.h>
#include <string.h>

#include "cua/limits.h"

static int min_int(int a, int b) {
	return a < b ? a : b;
}

static int max_int(int a, int b) {
	return a > b ? a : b;
}

/* ---------------------------------------------------------------- rectangles */

bool rect_empty(struct rect r) {
	return r.width <= 0 || r.height <= 0;
}

struct rect rect_intersect(struct rect a, struct rect b) {
	int x = max_int(a.x, b.x);
	int y = max_int(a.y, b.y);
	int right = min_int(a.x + a.width, b.x + b.width);
	int bottom = min_int(a.y + a.height, b.y + b.height);
	if (right <= x || bottom <= y) {
		return (struct rect){0};
	}
	return (struct rect){x, y, right - x, bottom - y};
}

struct rect rect_union(struct rect a, struct rect b) {
	if (rect_empty(a)) {
		return b;
	}
	if (rect_empty(b)) {
		return a;
	}
	int x = min_int(a.x, b.x);
	int y = min_int(a.y, b.y);
	return (struct rect){x, y, max_int(a.x + a.width, b.x + b.width) - x,
		max_int(a.y + a.height, b.y + b.height) - y};
}

static int64_t area(struct rect r) {
	return (int64_t)r.width * r.height;
}

/* How many pixels a union of both covers that neither does. */
static int64_t join_cost(struct rect a, struct rect b) {
	return area(rect_union(a, b)) - area(a) - area(b) + area(rect_intersect(a, b));
}

static size_t cheapest(const struct rect *list, size_t count, struct rect r, int64_t *ret_cost) {
	size_t best = 0;
	*ret_cost = INT64_MAX;
	for (size_t i = 0; i < count; i++) {
		int64_t cost = join_cost(list[i], r);
		if (cost < *ret_cost) {
			*ret_cost = cost;
			best = i;
		}
	}
	return best;
}

size_t rect_list_add(struct rect *list, size_t count, size_t max, struct rect r) {
	for (;;) {
		int64_t cost = 0;
		size_t i = cheapest(list, count, r, &cost);
		if (count == 0 || (cost > 0 && count < max)) {
			list[count] = r;
			return count + 1;
		}
		/* The joined one may now touch a third: take it out and try again. */
		r = rect_union(list[i], r);
		list[i] = list[--count];
	}
}

/* ---------------------------------------------------------------- frames */

struct frame *frame_new(int width, int height, struct cua_err *err) {
	if (width < 1 || height < 1 || width > CUA_SCREEN_MAX_W || height > CUA_SCREEN_MAX_H) {
		(void)cua_err_set(err, CUA_INVALID, "a picture cannot be %d x %d", width, height);
		return NULL;
	}
	size_t count = (size_t)width * (size_t)height;
	struct frame *frame = calloc(1, sizeof(*frame) + count * sizeof(uint32_t));
	if (!frame) {
		(void)cua_err_set(
			err, CUA_EXHAUSTED, "no memory for %d x %d pixels", width, height);
		return NULL;
	}
	frame->refs = 1;
	frame->width = width;
	frame->height = height;
	return frame;
}

struct frame *frame_unref(struct frame *frame) {
	if (frame && --frame->refs == 0) {
		free(frame);
	}
	return NULL;
}

struct view frame_view(const struct frame *frame) {
	return (struct view){.pixels = frame->pixels,
		.width = frame->width,
		.height = frame->height,
		.stride = (size_t)frame->width};
}

struct view view_part(struct view view, struct rect part) {
	return (struct view){
		.pixels = view.pixels + (size_t)part.y * view.stride + (size_t)part.x,
		.width = part.width,
		.height = part.height,
		.stride = view.stride,
	};
}

bool view_uniform(struct view view) {
	const uint32_t colour = 0x00ffffff;
	uint32_t first = view.pixels[0];
	uint32_t differs = 0;
	for (int y = 0; y < view.height && !differs; y++) {
		const uint32_t *row = view.pixels + (size_t)y * view.stride;
		for (int x = 0; x < view.width; x++) {
			differs |= (row[x] ^ first) & colour;
		}
	}
	return differs == 0;
}

struct frame *frame_copy(struct view view, struct cua_err *err) {
	struct frame *copy = frame_new(view.width, view.height, err);
	for (int y = 0; copy && y < view.height; y++) {
		memcpy(copy->pixels + (size_t)y * (size_t)view.width,
			view.pixels + (size_t)y * view.stride,
			(size_t)view.width * sizeof(uint32_t));
	}
	return copy;
}

/* ---------------------------------------------------------------- sizes */

void frame_fit(int width, int height, const int max[2], int ret_size[2]) {
	double factor = 1;
	if (max[0] < width) {
		factor = (double)max[0] / width;
	}
	if (max[1] < height && (double)max[1] / height < factor) {
		factor = (double)max[1] / height;
	}
	ret_size[0] = max_int(1, min_int(width, (int)(width * factor + 0.5)));
	ret_size[1] = max_int(1, min_int(height, (int)(height * factor + 0.5)));
}

/* ---------------------------------------------------------------- blending */

static uint32_t blend(uint32_t below, uint32_t above) {
	uint32_t keep = 255 - (above >> 24);
	uint32_t pixel = 0;
	for (int shift = 0; shift < 24; shift += 8) {
		uint32_t value =
			((above >> shift) & 255) + (((below >> shift) & 255) * keep + 127) / 255;
		pixel |= (value > 255 ? 255 : value) << shift;
	}
	return pixel;
}

void frame_blend(struct frame *frame, struct view image, int x, int y) {
	struct rect part = rect_intersect((struct rect){x, y, image.width, image.height},
		(struct rect){0, 0, frame->width, frame->height});
	for (int row = part.y; row < part.y + part.height; row++) {
		uint32_t *to = frame->pixels + (size_t)row * (size_t)frame->width;
		const uint32_t *from = image.pixels + (size_t)(row - y) * image.stride;
		for (int column = part.x; column < part.x + part.width; column++) {
			to[column] = blend(to[column], from[column - x]);
		}
	}
}
