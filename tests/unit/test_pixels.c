/* What pictures are computed with: loops for several kinds of processor, scaling, threads. */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cua/limits.h"
#include "desktop/pixels.h"
#include "desktop/pool.h"
#include "desktop/scale.h"
#include "tests/lib/suite.h"

#define LENGTH_MAX 140
#define GUARD 0xa5

static struct cua_err err;

/* Random pixels with a random top byte. */
static struct frame *noise(int width, int height) {
	struct frame *frame = frame_new(width, height, &err);
	ck_assert_ptr_nonnull(frame);
	for (int i = 0; i < width * height; i++) {
		frame->pixels[i] = (uint32_t)rand() << 16 ^ (uint32_t)rand();
	}
	return frame;
}

/* ---------------------------------------------------------------- kinds */

static void check_pack(const struct pixels *pixels, size_t count) {
	uint32_t from[LENGTH_MAX];
	uint8_t to[3 * LENGTH_MAX + 64];
	memset(to, GUARD, sizeof(to));
	for (size_t i = 0; i < count; i++) {
		from[i] = (uint32_t)rand() << 16 ^ (uint32_t)rand();
	}
	pixels->pack(to, from, count);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(to[3 * i], from[i] >> 16 & 255);
		ck_assert_uint_eq(to[3 * i + 1], from[i] >> 8 & 255);
		ck_assert_uint_eq(to[3 * i + 2], from[i] & 255);
	}
	ck_assert_uint_eq(to[3 * count], GUARD);
}

/* As PNG's specification writes it. */
static int paeth(int a, int b, int c) {
	int p = a + b - c;
	int pa = abs(p - a);
	int pb = abs(p - b);
	int pc = abs(p - c);
	if (pa <= pb && pa <= pc) {
		return a;
	}
	return pb <= pc ? b : c;
}

static void check_paeth(const struct pixels *pixels, size_t len, int mask) {
	uint8_t now[LENGTH_MAX + 3];
	uint8_t above[LENGTH_MAX + 3];
	uint8_t to[LENGTH_MAX + 64];
	memset(to, GUARD, sizeof(to));
	for (size_t i = 0; i < len + 3; i++) {
		now[i] = (uint8_t)(rand() & mask);
		above[i] = (uint8_t)(rand() & mask);
	}
	pixels->paeth(to, now + 3, above + 3, len);
	for (size_t i = 0; i < len; i++) {
		ck_assert_uint_eq(
			to[i], (uint8_t)(now[i + 3] - paeth(now[i], above[i + 3], above[i])));
	}
	ck_assert_uint_eq(to[len], GUARD);
}

static void check_mix(const struct pixels *pixels, size_t count) {
	const struct pixels *plain = pixels_kind(0);
	uint32_t from[8][LENGTH_MAX];
	const uint32_t *row[8];
	float weight[8];
	float sums[2][4 * LENGTH_MAX + 1];
	uint32_t rounded[2][LENGTH_MAX + 1];
	struct pixels_rows rows = {row, weight, 1 + (size_t)rand() % 8};
	for (size_t k = 0; k < 8; k++) {
		row[k] = from[k];
		weight[k] = (float)(rand() % 1000) / 1000 / (float)rows.count / 2;
		for (size_t i = 0; i < count; i++) {
			from[k][i] = (uint32_t)rand() << 16 ^ (uint32_t)rand();
		}
	}
	sums[0][4 * count] = 7;
	rounded[0][count] = 7;
	for (int add = 0; add < 2; add++) {
		pixels->mix(sums[0], &rows, count, add);
		plain->mix(sums[1], &rows, count, add);
		ck_assert_mem_eq(sums[0], sums[1], 4 * count * sizeof(float));
	}
	pixels->round(rounded[0], sums[0], count);
	plain->round(rounded[1], sums[1], count);
	ck_assert_mem_eq(rounded[0], rounded[1], count * sizeof(uint32_t));
	ck_assert(sums[0][4 * count] == 7 && rounded[0][count] == 7);
}

START_TEST(test_kinds_agree) {
	ck_assert_ptr_nonnull(pixels_kind(0));
	ck_assert_ptr_null(pixels_kind(100));
	for (size_t i = 0; pixels_kind(i); i++) {
		for (size_t count = 1; count < LENGTH_MAX; count++) {
			check_pack(pixels_kind(i), count);
			check_paeth(pixels_kind(i), count, 255);
			check_paeth(pixels_kind(i), count, 3); /* many equal distances */
			check_mix(pixels_kind(i), count);
		}
	}
}
END_TEST

/* Every left, upper and upper left neighbour that there can be. */
START_TEST(test_paeth_of_everything) {
	static uint8_t now[256 * 3 + 3];
	static uint8_t above[256 * 3 + 3];
	static uint8_t to[256 * 3];
	size_t wrong = 0;
	for (size_t i = 0; pixels_kind(i); i++) {
		for (int pair = 0; pair < 65536; pair++) {
			int a = pair & 255;
			int c = pair >> 8;
			/* pixel k: left a, upper k, upper left c */
			for (int k = 0; k < 256; k += 2) {
				memset(now + 3 * k, a, 3);
				memset(now + 3 * k + 3, 0, 3);
				memset(above + 3 * k, c, 3);
				memset(above + 3 * k + 3, k, 3);
			}
			pixels_kind(i)->paeth(to, now + 3, above + 3, sizeof(to));
			for (int k = 0; k < 256; k += 2) {
				wrong += to[3 * k] != (uint8_t)-paeth(a, k, c);
			}
		}
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* ---------------------------------------------------------------- scaling */

static struct frame *scaled(const struct frame *from, const int size[2]) {
	int in[2] = {from->width, from->height};
	struct scale *scale = scale_new(in, size, &err);
	ck_assert_ptr_nonnull(scale);
	struct frame *to = frame_new(size[0], size[1], &err);
	float *room = malloc(scale_room(scale) * sizeof(*room));
	scale_rows(scale, frame_view(from), (int[]){0, size[1]}, room, to->pixels);
	free(room);
	scale_free(scale);
	return to;
}

/* The mean over an area by plain arithmetic. */
static double mean(const struct frame *f, const double area[4], int shift) {
	double sum = 0;
	for (int y = (int)area[1]; y < f->height && y < area[3]; y++) {
		for (int x = (int)area[0]; x < f->width && x < area[2]; x++) {
			double w = fmin(x + 1, area[2]) - fmax(x, area[0]);
			double h = fmin(y + 1, area[3]) - fmax(y, area[1]);
			sum += w * h * ((f->pixels[y * f->width + x] >> shift) & 255);
		}
	}
	return sum / ((area[2] - area[0]) * (area[3] - area[1]));
}

START_TEST(test_scale_is_the_mean) {
	static const int sizes[][4] = {{64, 48, 32, 24}, {97, 61, 40, 33}, {33, 7, 1, 1},
		{10, 10, 10, 10}, {50, 3, 49, 1}, {7, 200, 3, 199}, {300, 401, 9, 8}};
	for (size_t i = 0; i < CUA_COUNT(sizes); i++) {
		const int *s = sizes[i];
		struct frame *from = noise(s[0], s[1]);
		struct frame *to = scaled(from, s + 2);
		for (int p = 0; p < s[2] * s[3]; p++) {
			double x = p % s[2];
			double y = p / s[2];
			double area[4] = {x * s[0] / s[2], y * s[1] / s[3], (x + 1) * s[0] / s[2],
				(y + 1) * s[1] / s[3]};
			for (int shift = 0; shift < 24; shift += 8) {
				ck_assert_double_le(fabs(((to->pixels[p] >> shift) & 255) -
							    mean(from, area, shift)),
					0.51);
			}
			ck_assert_uint_eq(to->pixels[p] >> 24, 0);
		}
		frame_unref(from);
		frame_unref(to);
	}
}
END_TEST

START_TEST(test_scale_in_parts) {
	static const int sizes[][4] = {
		{640, 480, 320, 240}, {97, 61, 40, 33}, {50, 200, 50, 199}, {33, 7, 1, 1}};
	for (size_t i = 0; i < CUA_COUNT(sizes); i++) {
		const int *s = sizes[i];
		struct frame *from = noise(s[0], s[1]);
		struct frame *whole = scaled(from, s + 2);
		struct scale *scale = scale_new(s, s + 2, &err);
		float *room = malloc(scale_room(scale) * sizeof(*room));
		uint32_t *to = malloc((size_t)s[2] * 16 * sizeof(*to));
		for (int y = 0, count; y < s[3]; y += count) {
			int span[2];
			count = 1 + rand() % 16;
			count = count < s[3] - y ? count : s[3] - y;
			scale_span(scale, y, count, span);
			struct view part = view_part(
				frame_view(from), (struct rect){0, span[0], s[0], span[1]});
			scale_rows(scale, part, (int[]){y, count}, room, to);
			ck_assert_mem_eq(
				to, whole->pixels + y * s[2], (size_t)(s[2] * count) * sizeof(*to));
		}
		free(to);
		free(room);
		scale_free(scale);
		frame_unref(whole);
		frame_unref(from);
	}
}
END_TEST

START_TEST(test_scale_bounds) {
	static const int bad[][2] = {{11, 10}, {10, 11}, {0, 5}, {5, 0}, {-1, 5}};
	for (size_t i = 0; i < CUA_COUNT(bad); i++) {
		ck_assert_ptr_null(scale_new((int[]){10, 10}, bad[i], &err));
	}
	/* white stays white, however many pixels become one */
	struct frame *from = frame_new(CUA_SCREEN_MAX_W, CUA_SCREEN_MAX_H, &err);
	memset(from->pixels, 0xff, sizeof(uint32_t) * CUA_SCREEN_MAX_W * CUA_SCREEN_MAX_H);
	struct frame *to = scaled(from, (int[]){1, 1});
	ck_assert_uint_eq(to->pixels[0], 0xffffff);
	frame_unref(to);
	frame_unref(from);
}
END_TEST

/* ---------------------------------------------------------------- threads */

struct tally {
	atomic_int done[300];
	atomic_int in_slot[POOL_MAX];
	atomic_int clashes;
	atomic_int elsewhere;
	pthread_t caller;
};

static void count_piece(void *ctx, size_t slot, size_t i) {
	struct tally *tally = ctx;
	ck_assert_uint_lt(slot, POOL_MAX);
	if (atomic_fetch_add(&tally->in_slot[slot], 1) != 0) {
		atomic_fetch_add(&tally->clashes, 1);
	}
	if (!pthread_equal(pthread_self(), tally->caller)) {
		atomic_fetch_add(&tally->elsewhere, 1);
	}
	for (volatile int spin = 0; spin < 300; spin++) {
	}
	atomic_fetch_add(&tally->done[i], 1);
	atomic_fetch_sub(&tally->in_slot[slot], 1);
}

static int run_pieces(struct pool *pool, size_t count) {
	static struct tally tally;
	memset(&tally, 0, sizeof(tally));
	tally.caller = pthread_self();
	pool_run(pool, count_piece, &tally, count);
	for (size_t i = 0; i < CUA_COUNT(tally.done); i++) {
		ck_assert_int_eq(tally.done[i], i < count);
	}
	ck_assert_int_eq(tally.clashes, 0);
	return tally.elsewhere;
}

START_TEST(test_pool) {
	for (int i = 0; i < 20; i++) {
		struct pool *pool = pool_new(&err);
		ck_assert_ptr_nonnull(pool);
		ck_assert_uint_ge(pool_size(pool), 1);
		ck_assert_uint_le(pool_size(pool), POOL_MAX);
		for (int k = 0; k < 200; k++) {
			(void)run_pieces(
				pool, (size_t)rand() % CUA_COUNT(((struct tally *)0)->done));
		}
		ck_assert_int_eq(run_pieces(pool, 1), 0);
		ck_assert_int_eq(run_pieces(NULL, 50), 0);
		ck_assert_ptr_null(pool_free(pool));
	}
	ck_assert_uint_eq(pool_size(NULL), 1);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {test_kinds_agree, test_paeth_of_everything,
		test_scale_is_the_mean, test_scale_in_parts, test_scale_bounds, test_pool};
	const struct suite_case cases[] = {
		{.name = "pixels", .seconds = 120, .tests = tests, .count = CUA_COUNT(tests)},
	};
	return suite_run_cases("pixels", cases, CUA_COUNT(cases));
}
