/* Pixels, rectangles and scaling; see the header. The inner loops are plain so that the compiler
 * turns them into vector code on every machine. */
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

/* ---------------------------------------------------------------- scaling */

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

/* One pixel's four bytes as floats. */
typedef float pixel_sum __attribute__((vector_size(16)));

/* How much of source cell `at` lies in target cell `to`, in units in which a source cell is `out`
 * long and a target cell `in`. */
static int overlap(int at, int to, int in, int out) {
	int64_t from = (int64_t)at * out > (int64_t)to * in ? (int64_t)at * out : (int64_t)to * in;
	int64_t end_at = (int64_t)(at + 1) * out;
	int64_t end_to = (int64_t)(to + 1) * in;
	int64_t end = end_at < end_to ? end_at : end_to;
	return end > from ? (int)(end - from) : 0;
}

/* Adds a row of bytes with a weight to a row of sums. */
static void add_row(
	float *restrict sums, const uint8_t *restrict bytes, size_t count, float weight) {
	for (size_t i = 0; i < count; i++) {
		sums[i] += weight * (float)bytes[i];
	}
}

static uint32_t to_pixel(pixel_sum sum) {
	uint32_t pixel = 0;
	for (int i = 0; i < 3; i++) {
		int value = (int)(sum[i] + 0.5f);
		pixel |= (uint32_t)(value > 255 ? 255 : value) << (8 * i);
	}
	return pixel;
}

/* Sums columns into target pixels; `sums` holds one row of the source's width. */
static void shrink_row(const float *sums, int in, uint32_t *ret, int out) {
	for (int to = 0; to < out; to++) {
		pixel_sum total = {0};
		int at = (int)((int64_t)to * in / out);
		for (; at < in; at++) {
			int weight = overlap(at, to, in, out);
			if (weight == 0) {
				break;
			}
			pixel_sum cell;
			memcpy(&cell, sums + 4 * (size_t)at, sizeof(cell));
			total += cell * ((float)weight / (float)in);
		}
		ret[to] = to_pixel(total);
	}
}

/* Sums the source rows under one target row. */
static void sum_rows(struct view view, int to, int out, float *sums) {
	size_t count = 4 * (size_t)view.width;
	memset(sums, 0, count * sizeof(*sums));
	for (int at = (int)((int64_t)to * view.height / out); at < view.height; at++) {
		int weight = overlap(at, to, view.height, out);
		if (weight == 0) {
			break;
		}
		/* Byte 0 of a pixel in memory is its lowest on every machine that is supported. */
		add_row(sums, (const uint8_t *)(view.pixels + (size_t)at * view.stride), count,
			(float)weight / (float)view.height);
	}
}

struct frame *frame_scale(struct view view, int width, int height, struct cua_err *err) {
	if (width > view.width || height > view.height) {
		(void)cua_err_set(err, CUA_INVALID, "a picture is only made smaller");
		return NULL;
	}
	_cleanup_free_ float *sums = malloc(4 * (size_t)view.width * sizeof(*sums));
	_cleanup_(frame_unref_p) struct frame *frame = frame_new(width, height, err);
	if (!sums || !frame) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to scale a picture");
		return NULL;
	}
	for (int y = 0; y < height; y++) {
		sum_rows(view, y, height, sums);
		shrink_row(sums, view.width, frame->pixels + (size_t)y * (size_t)width, width);
	}
	return take_ptr(frame);
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
