/* Rows of a picture on request; see the header. */
#include "desktop/raster.h"

void raster_room_done(struct raster_room *room) {
	frame_unref(room->drawn);
	free(room->scaled);
	free(room->sums);
	*room = (struct raster_room){0};
}

/* Makes *memory at least len items of `size` bytes; its content is lost. */
static bool enlarge(void *memory, size_t *has, size_t len, size_t size) {
	void **at = memory;
	if (*has >= len) {
		return true;
	}
	free(*at);
	*at = malloc(len * size);
	*has = *at ? len : 0;
	return *at != NULL;
}

struct rect raster_span(const struct raster *raster, int first, int count) {
	int span[2] = {first, count};
	if (raster->scale) {
		scale_span(raster->scale, first, count, span);
	}
	return (struct rect){0, span[0], raster->view.width, span[1]};
}

static struct rect over_rect(const struct raster *raster) {
	if (!raster->over) {
		return (struct rect){0};
	}
	return (struct rect){
		raster->over_x, raster->over_y, raster->over->width, raster->over->height};
}

bool raster_is_over(const struct raster *raster, int first, int count) {
	return !rect_empty(rect_intersect(over_rect(raster), raster_span(raster, first, count)));
}

/* A copy of the part with what belongs over it. */
static int draw(const struct raster *raster, struct rect part, struct raster_room *room,
	struct view *ret, struct cua_err *err) {
	frame_unref(room->drawn);
	room->drawn = frame_copy(view_part(raster->view, part), err);
	if (!room->drawn) {
		return -CUA_EXHAUSTED;
	}
	frame_blend(room->drawn, frame_view(raster->over), raster->over_x - part.x,
		raster->over_y - part.y);
	*ret = frame_view(room->drawn);
	return 0;
}

static int shrink(const struct raster *raster, const int rows[2], struct raster_room *room,
	struct view *ret, struct cua_err *err) {
	size_t width = (size_t)raster->width;
	if (!enlarge(&room->scaled, &room->scaled_len, width * (size_t)rows[1],
		    sizeof(*room->scaled)) ||
		!enlarge(&room->sums, &room->sums_len, scale_room(raster->scale),
			sizeof(*room->sums))) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory to scale a picture");
	}
	scale_rows(raster->scale, *ret, rows, room->sums, room->scaled);
	*ret = (struct view){room->scaled, raster->width, rows[1], width};
	return 0;
}

int raster_rows(const struct raster *raster, const int rows[2], struct raster_room *room,
	struct view *ret, struct cua_err *err) {
	struct rect part = raster_span(raster, rows[0], rows[1]);
	struct view view = view_part(raster->view, part);
	int r = 0;
	if (raster_is_over(raster, rows[0], rows[1])) {
		r = draw(raster, part, room, &view, err);
	}
	if (r == 0 && raster->scale) {
		r = shrink(raster, rows, room, &view, err);
	}
	if (r == 0) {
		*ret = view;
	}
	return r;
}
