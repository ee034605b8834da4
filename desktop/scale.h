/* Making a picture smaller: every pixel becomes the mean of the area it covers, whole or in part.
 * That keeps thin strokes of text, which picking or blending neighbours would lose. */
#pragma once

#include "desktop/frame.h"

struct scale;

/* Prepares for pictures of this size, {width, height}. The caller frees it. NULL when `out` is not
 * within 1 … in, or without memory. */
struct scale *scale_new(const int in[2], const int out[2], struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct scale *scale_free(struct scale *scale);

/* Which rows of the original the rows first … first + count - 1 are made of: ret = {first, count}. */
void scale_span(const struct scale *scale, int first, int count, int ret[2]);
/* How many floats of working memory scale_rows() needs. */
size_t scale_room(const struct scale *scale);
/* Makes count rows from `first` on, without gaps, into `to`. `from` are just the rows of
 * scale_span(). */
void scale_rows(
	const struct scale *scale, struct view from, const int rows[2], float *room, uint32_t *to);
