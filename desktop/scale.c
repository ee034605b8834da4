/* Scaling by area; see the header. Rows are mixed first, which is the larger part of the work and
 * goes along memory; then the columns of the one row that is left. */
#include "desktop/scale.h"

#include <string.h>

#include "desktop/pixels.h"

/* Rows that are mixed in one call. */
#define MIX_ROWS 24

/* How one direction is made smaller: target i is the sum of `count` sources from start[i] on, each with
 * its weight, which are those from weight[i * count] on. Some are 0 so that all have the same count. */
struct axis {
	int in;
	int out;
	int count;
	int *start;
	float *weight;
};

struct scale {
	struct axis x;
	struct axis y;
	const struct pixels *pixels;
};

/* How much of source `from` lies in target `to`, in units in which a source is `out` long and a
 * target `in`. */
static int overlap(const struct axis *axis, int from, int to) {
	int64_t in = axis->in;
	int64_t out = axis->out;
	int64_t begin = from * out > to * in ? from * out : to * in;
	int64_t end = (from + 1) * out < (to + 1) * in ? (from + 1) * out : (to + 1) * in;
	return end > begin ? (int)(end - begin) : 0;
}

static void axis_done(struct axis *axis) {
	free(axis->start);
	free(axis->weight);
}

/* How many sources a target lies in, at most. */
static int most_under(int in, int out) {
	int most = 1;
	for (int64_t to = 0; to < out; to++) {
		int first = (int)(to * in / out);
		int end = (int)(((to + 1) * in + out - 1) / out);
		most = end - first > most ? end - first : most;
	}
	return most;
}

static bool axis_init(struct axis *axis, int in, int out) {
	int count = most_under(in, out);
	*axis = (struct axis){.in = in, .out = out, .count = count};
	if (out < 1 || count < 1) {
		return false;
	}
	axis->start = calloc((size_t)out, sizeof(*axis->start));
	axis->weight = calloc((size_t)out * (size_t)count, sizeof(*axis->weight));
	if (!axis->start || !axis->weight) {
		return false;
	}
	float *weight = axis->weight;
	for (int to = 0; to < out; to++) {
		int from = (int)((int64_t)to * in / out);
		axis->start[to] = from < in - count ? from : in - count;
		for (int i = 0; i < count; i++) {
			*weight++ = (float)overlap(axis, axis->start[to] + i, to) / (float)in;
		}
	}
	return true;
}

CUA_DEFINE_CLEANUP(struct scale *, scale_free)

struct scale *scale_new(const int in[2], const int out[2], struct cua_err *err) {
	if (out[0] < 1 || out[1] < 1 || out[0] > in[0] || out[1] > in[1]) {
		(void)cua_err_set(err, CUA_INVALID, "a picture is only made smaller");
		return NULL;
	}
	_cleanup_(scale_free_p) struct scale *scale = calloc(1, sizeof(*scale));
	if (!scale || !axis_init(&scale->x, in[0], out[0]) ||
		!axis_init(&scale->y, in[1], out[1])) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to scale a picture");
		return NULL;
	}
	scale->pixels = pixels_best();
	return take_ptr(scale);
}

struct scale *scale_free(struct scale *scale) {
	if (scale) {
		axis_done(&scale->x);
		axis_done(&scale->y);
	}
	free(scale);
	return NULL;
}

void scale_span(const struct scale *scale, int first, int count, int ret[2]) {
	const struct axis *y = &scale->y;
	int last = first + count - 1;
	ret[0] = y->start[first];
	ret[1] = y->start[last] + y->count - ret[0];
}

size_t scale_room(const struct scale *scale) {
	return 4 * ((size_t)scale->x.in + (size_t)scale->x.out);
}

/* Mixes the rows under target row `to`. */
static void mix_rows(const struct scale *scale, struct view from, int to, float *sums) {
	const struct axis *y = &scale->y;
	const uint32_t *row[MIX_ROWS];
	size_t count = (size_t)y->count;
	for (size_t done = 0; done < count;) {
		struct pixels_rows rows = {
			.row = row, .weight = y->weight + (size_t)to * count + done};
		for (; rows.count < MIX_ROWS && done + rows.count < count; rows.count++) {
			row[rows.count] = from.pixels + (done + rows.count) * from.stride;
		}
		scale->pixels->mix(sums, &rows, (size_t)from.width, done > 0);
		done += rows.count;
	}
}

/* One pixel's four bytes as floats. */
typedef float cell __attribute__((vector_size(16)));

/* A count that the compiler knows makes the inner loop vanish. */
static inline __attribute__((always_inline)) void mix_columns_of(
	const struct axis *x, size_t count, const float *sums, float *to) {
	const float *weight = x->weight;
	for (size_t i = 0; i < (size_t)x->out; i++, weight += count) {
		const float *from = sums + 4 * (size_t)x->start[i];
		cell total = {0};
		for (size_t k = 0; k < count; k++) {
			cell one;
			memcpy(&one, from + 4 * k, sizeof(one));
			total += one * weight[k];
		}
		memcpy(to + 4 * i, &total, sizeof(total));
	}
}

static void mix_columns(const struct axis *x, const float *sums, float *to) {
	switch (x->count) {
	case 2:
		mix_columns_of(x, 2, sums, to);
		break;
	case 3:
		mix_columns_of(x, 3, sums, to);
		break;
	default:
		mix_columns_of(x, (size_t)x->count, sums, to);
	}
}

void scale_rows(
	const struct scale *scale, struct view from, const int rows[2], float *room, uint32_t *to) {
	float *shrunk = room + 4 * (size_t)scale->x.in;
	int base = scale->y.start[rows[0]];
	for (int i = 0; i < rows[1]; i++) {
		struct view under = from;
		under.pixels += (size_t)(scale->y.start[rows[0] + i] - base) * from.stride;
		mix_rows(scale, under, rows[0] + i, room);
		mix_columns(&scale->x, room, shrunk);
		scale->pixels->round(
			to + (size_t)i * (size_t)scale->x.out, shrunk, (size_t)scale->x.out);
	}
}
