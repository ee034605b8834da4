/* The pure parts of the worker: rectangles, frames, checks of parameters. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "desktop/args.h"
#include "desktop/frame.h"
#include "tests/lib/suite.h"

static struct cua_err err;

static struct frame *noise(int width, int height) {
	struct frame *frame = frame_new(width, height, &err);
	ck_assert_ptr_nonnull(frame);
	for (int i = 0; i < width * height; i++) {
		frame->pixels[i] = (uint32_t)rand() & 0xffffff;
	}
	return frame;
}

/* ---------------------------------------------------------------- rectangles */

START_TEST(test_rect) {
	struct rect a = {0, 0, 10, 10};
	struct rect b = {5, 6, 10, 10};
	struct rect both = rect_intersect(a, b);
	ck_assert_int_eq(both.x, 5);
	ck_assert_int_eq(both.y, 6);
	ck_assert_int_eq(both.width, 5);
	ck_assert_int_eq(both.height, 4);
	ck_assert(rect_empty(rect_intersect(a, (struct rect){10, 0, 5, 5})));
	struct rect around = rect_union(a, b);
	ck_assert_int_eq(around.width, 15);
	ck_assert_int_eq(around.height, 16);
	around = rect_union((struct rect){0}, b);
	ck_assert_int_eq(around.x, 5);
}
END_TEST

START_TEST(test_rect_list) {
	struct rect list[4];
	size_t count = 0;
	/* a row of tiles, then the row below: one rectangle */
	for (int i = 0; i < 8; i++) {
		count = rect_list_add(
			list, count, 4, (struct rect){i % 4 * 64, i / 4 * 64, 64, 64});
	}
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(list[0].width, 256);
	ck_assert_int_eq(list[0].height, 128);
	/* far more than fit: every one is still covered */
	for (int i = 0; i < 50; i++) {
		count = rect_list_add(
			list, count, 4, (struct rect){i * 97 % 1900, i * 61 % 1000, 3, 3});
		ck_assert_uint_le(count, 4);
	}
	for (int i = 0; i < 50; i++) {
		struct rect r = {i * 97 % 1900, i * 61 % 1000, 3, 3};
		bool covered = false;
		for (size_t k = 0; k < count; k++) {
			struct rect in = rect_intersect(list[k], r);
			covered = covered || (in.width == 3 && in.height == 3);
		}
		ck_assert(covered);
	}
}
END_TEST

/* ---------------------------------------------------------------- frames */

START_TEST(test_frame_bounds) {
	ck_assert_ptr_null(frame_new(0, 5, &err));
	ck_assert_ptr_null(frame_new(5, -1, &err));
	ck_assert_ptr_null(frame_new(CUA_SCREEN_MAX_W + 1, 5, &err));
	struct frame *f = noise(8, 8);
	ck_assert(!view_uniform(frame_view(f)));
	ck_assert(view_uniform(view_part(frame_view(f), (struct rect){3, 3, 1, 1})));
	/* the top byte of a pixel means nothing */
	f->pixels[1] = f->pixels[0] ^ 0xab000000;
	ck_assert(view_uniform(view_part(frame_view(f), (struct rect){0, 0, 2, 1})));
	int size[2];
	frame_fit(1280, 800, (int[]){500, 500}, size);
	ck_assert_int_eq(size[0], 500);
	ck_assert_int_eq(size[1], 313);
	frame_fit(7680, 1, (int[]){1, 1}, size);
	ck_assert_int_eq(size[0], 1);
	ck_assert_int_eq(size[1], 1);
	frame_unref(f);
}
END_TEST

START_TEST(test_blend) {
	struct frame *f = frame_new(4, 4, &err);
	f->pixels[0] = 0x204060;
	uint32_t image[4] = {0x00000000, 0xff010203, 0x80402010, 0xffffffff};
	struct view view = {.pixels = image, .width = 2, .height = 2, .stride = 2};
	frame_blend(f, view, 0, 0);
	ck_assert_uint_eq(f->pixels[0], 0x204060); /* transparent */
	ck_assert_uint_eq(f->pixels[1], 0x010203); /* opaque */
	ck_assert_uint_eq(f->pixels[4], 0x402010); /* half over black */
	frame_blend(f, view, 3, 3);
	frame_blend(f, view, -1, -1);
	ck_assert_uint_eq(f->pixels[0], 0xffffff);
	frame_blend(f, view, 100, -100);
	frame_unref(f);
}
END_TEST

/* ---------------------------------------------------------------- parameters */

static int check(int action, const cua_Args *args) {
	struct cua_call call = {
		.id = (unsigned)action, .action = cua_action_get((unsigned)action), .args = *args};
	return args_check(&call, &err);
}

START_TEST(test_args) {
	ck_assert_int_eq(check(CUA_ACTION_SCREENSHOT, &(cua_Args){0}), 0);
	ck_assert_int_eq(check(CUA_ACTION_MOVE, &(cua_Args){.has_x = true}), -CUA_INVALID);
	ck_assert_str_eq(err.subject, "y");
	ck_assert_int_eq(
		check(CUA_ACTION_CLICK, &(cua_Args){.has_count = true, .count = 4}), -CUA_INVALID);
	ck_assert_str_eq(err.subject, "count");
	ck_assert_int_eq(check(CUA_ACTION_SCREENSHOT, &(cua_Args){.has_scale = true, .scale = NAN}),
		-CUA_INVALID);
	ck_assert_int_eq(check(CUA_ACTION_CLICK, &(cua_Args){.has_settle = true, .settle = 60001}),
		-CUA_INVALID);
	ck_assert_int_eq(check(CUA_ACTION_CLICK, &(cua_Args){.space_count = 1}), -CUA_INVALID);
	ck_assert_int_eq(check(CUA_ACTION_TYPE, &(cua_Args){.has_text = true}), -CUA_INVALID);
	ck_assert_int_eq(check(CUA_ACTION_DRAG, &(cua_Args){.path_points_count = 4}), 0);
	ck_assert_int_eq(check(CUA_ACTION_DRAG, &(cua_Args){.path_points_count = 5}), -CUA_INVALID);
}
END_TEST

START_TEST(test_points) {
	const int screen[2] = {1280, 800};
	int at[2];
	ck_assert_int_eq(args_point(&(cua_Args){0}, screen, (int32_t[]){1279, 799}, at, &err), 0);
	ck_assert_int_eq(at[0], 1279);
	ck_assert_int_eq(at[1], 799);
	ck_assert_int_eq(args_point(&(cua_Args){0}, screen, (int32_t[]){1280, 0}, at, &err),
		-CUA_OUT_OF_SCREEN);
	ck_assert_int_eq(args_point(&(cua_Args){0}, screen, (int32_t[]){0, -1}, at, &err),
		-CUA_OUT_OF_SCREEN);
	cua_Args space = {.space_count = 2, .space = {640, 1600}};
	ck_assert_int_eq(args_point(&space, screen, (int32_t[]){639, 1599}, at, &err), 0);
	ck_assert_int_eq(at[0], 1279);
	ck_assert_int_eq(at[1], 799);
	ck_assert_int_eq(args_point(&space, screen, (int32_t[]){0, 0}, at, &err), 0);
	ck_assert_int_eq(at[0], 1);
	ck_assert_int_eq(at[1], 0);
	ck_assert_int_eq(
		args_point(&space, screen, (int32_t[]){640, 0}, at, &err), -CUA_OUT_OF_SCREEN);
	space.space[0] = INT32_MAX;
	ck_assert_int_eq(args_point(&space, screen, (int32_t[]){INT32_MAX - 1, 0}, at, &err), 0);
	ck_assert_int_eq(at[0], 1279);
	space.space[0] = -5;
	ck_assert_int_eq(
		args_point(&space, screen, (int32_t[]){0, 0}, at, &err), -CUA_OUT_OF_SCREEN);
	space.space[0] = 1;
	args_step(&space, screen, (int32_t[]){INT32_MIN, INT32_MAX}, at);
	args_step(&(cua_Args){0}, screen, (int32_t[]){-7, 9}, at);
	ck_assert_int_eq(at[0], -7);
	ck_assert_int_eq(at[1], 9);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {
		test_rect, test_rect_list, test_frame_bounds, test_blend, test_args, test_points};
	const struct suite_case cases[] = {
		{.name = "desktop", .seconds = 60, .tests = tests, .count = CUA_COUNT(tests)},
	};
	return suite_run_cases("desktop", cases, CUA_COUNT(cases));
}
