/* Pixels in memory and rectangles. Knows nothing of X, of scaling or of encodings.
 *
 * A pixel is a uint32_t 0x??RRGGBB; what the top byte holds means nothing but where alpha is spoken
 * of. A view may lie in memory that somebody else is just writing to: who needs a pixel twice, and the
 * same, copies it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/err.h"

struct rect {
	int x;
	int y;
	int width;
	int height;
};

/* Somebody's pixels to look at; valid as long as their owner says. */
struct view {
	const uint32_t *pixels;
	int width;
	int height;
	size_t stride; /* pixels from one row to the next */
};

/* Pixels of one's own, counted. */
struct frame {
	unsigned refs;
	int width;
	int height;
	uint32_t pixels[]; /* rows without gaps */
};

/* The part that both have; width and height 0 when there is none. */
struct rect rect_intersect(struct rect a, struct rect b);
/* The smallest rectangle around both; an empty one does not count. */
struct rect rect_union(struct rect a, struct rect b);
/* True when there is nothing inside. */
bool rect_empty(struct rect r);
/* Puts r into a list of at most max: joined with a neighbour where that adds no area, else with the
 * one that grows least when the list is full. The new length. */
size_t rect_list_add(struct rect *list, size_t count, size_t max, struct rect r);

/* A black frame of this size, one reference. NULL for a size outside 1 … CUA_SCREEN_MAX or without
 * memory. */
struct frame *frame_new(int width, int height, struct cua_err *err);
/* Gives a reference back. NULL is fine. Returns NULL. */
struct frame *frame_unref(struct frame *frame);
CUA_DEFINE_CLEANUP(struct frame *, frame_unref)

/* All of a frame. */
struct view frame_view(const struct frame *frame);
/* A part of a view; the rectangle must lie inside. */
struct view view_part(struct view view, struct rect part);
/* True when every pixel has the same colour. */
bool view_uniform(struct view view);

/* The size that fits into max_width x max_height and keeps the proportions; never larger than the
 * original, never below 1. */
void frame_fit(int width, int height, const int max[2], int ret_size[2]);
/* A copy of the same size. The caller unrefs it. */
struct frame *frame_copy(struct view view, struct cua_err *err);

/* Draws an image with premultiplied alpha (0xAARRGGBB) over a frame at x, y; what lies outside is
 * cut off. */
void frame_blend(struct frame *frame, struct view image, int x, int y);
