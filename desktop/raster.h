/* A picture's rows, made when they are asked for: cut from the screen, with the pointer drawn over
 * it, made smaller. Nothing is kept but working memory, so that any part may be made at any time and
 * several at once. */
#pragma once

#include "desktop/frame.h"
#include "desktop/scale.h"

/* Everything is borrowed. */
struct raster {
	struct view view; /* what is to be seen */
	const struct scale *scale; /* of the view's size; NULL: as large as it is */
	int width; /* of the picture */
	int height;
	const struct frame *over; /* drawn over the view, premultiplied alpha; NULL: nothing */
	int over_x; /* where, in the view */
	int over_y;
};

/* Working memory of one user at a time; zero at first. */
struct raster_room {
	struct frame *drawn;
	uint32_t *scaled;
	size_t scaled_len;
	float *sums;
	size_t sums_len;
};

/* Frees the memory; fine on a zero struct. */
void raster_room_done(struct raster_room *room);

/* The part of the view that rows first … first + count - 1 of the picture are made of. */
struct rect raster_span(const struct raster *raster, int first, int count);
/* True when those rows show something of what is drawn over the view. */
bool raster_is_over(const struct raster *raster, int first, int count);
/* Makes those rows: *ret points into the view itself or into the room, whose former content is gone.
 * 0 or -CUA_EXHAUSTED. */
int raster_rows(const struct raster *raster, const int rows[2], struct raster_room *room,
	struct view *ret, struct cua_err *err) CUA_CHECK;
