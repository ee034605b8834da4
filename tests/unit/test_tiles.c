/* Which part of the screen changed, and what moves by itself: on made-up pixels and made-up time. */
#include <stdlib.h>
#include <string.h>

#include "desktop/tiles.h"
#include "tests/lib/suite.h"

#define WIDTH 300
#define HEIGHT 200
#define MS UINT64_C(1000)

static struct {
	struct tiles *tiles;
	uint32_t seen[WIDTH * HEIGHT];
	uint32_t screen[WIDTH * HEIGHT];
	uint64_t frame;
	uint64_t us;
} s;

/* Fetches as capture does and compares. */
static size_t look(void) {
	static uint32_t fetched[WIDTH * HEIGHT];
	struct rect box = tiles_dirty_box(s.tiles);
	for (int y = 0; y < box.height; y++) {
		memcpy(fetched + (ptrdiff_t)y * box.width,
			s.screen + (ptrdiff_t)(box.y + y) * WIDTH + box.x,
			(size_t)box.width * sizeof(uint32_t));
	}
	const struct tiles_look look = {.before = s.seen,
		.now = {.pixels = fetched,
			.width = box.width,
			.height = box.height,
			.stride = (size_t)box.width},
		.box = box,
		.copy = true,
		.at_us = s.us,
		.now_us = s.us};
	size_t changed = tiles_compare(s.tiles, &look, s.frame + 1);
	s.frame += changed > 0;
	ck_assert_int_eq(memcmp(s.seen, s.screen, sizeof(s.seen)), 0);
	return changed;
}

static void setup(void) {
	memset(&s, 0, sizeof(s));
	s.frame = 100;
	s.us = 1000000000;
	s.tiles = tiles_new(WIDTH, HEIGHT, s.frame, NULL);
	ck_assert_ptr_nonnull(s.tiles);
	(void)look();
}

static void teardown(void) {
	s.tiles = tiles_free(s.tiles);
}

static void fill(struct rect r, uint32_t colour) {
	for (int y = r.y; y < r.y + r.height; y++) {
		for (int x = r.x; x < r.x + r.width; x++) {
			s.screen[y * WIDTH + x] = colour;
		}
	}
	tiles_mark(s.tiles, r);
}

/* Time goes by, something is drawn, somebody looks. */
static void later(int ms, struct rect r, uint32_t colour) {
	s.us += (uint64_t)ms * MS;
	fill(r, colour);
	(void)look();
}

static size_t told(uint64_t since, enum tiles_which which, struct rect *ret) {
	return tiles_changed(s.tiles, since, which, ret, 16);
}

START_TEST(test_any_damage_is_found) {
	srand(3);
	for (int i = 0; i < 3000; i++) {
		struct rect r = {rand() % WIDTH, rand() % HEIGHT, 1 + rand() % 70, 1 + rand() % 70};
		r = rect_intersect(r, (struct rect){0, 0, WIDTH, HEIGHT});
		fill(r, (uint32_t)rand());
		uint64_t before = s.frame;
		if (i % 7 == 0) {
			tiles_doubt(s.tiles);
		}
		if (i % 3 != 0) {
			continue;
		}
		(void)look(); /* compares all pixels */
		struct rect list[16];
		size_t count = told(before, TILES_ANY, list);
		ck_assert_uint_gt(count, 0);
		ck_assert_uint_eq(tiles_frame_of(s.tiles, r), s.frame);
	}
}
END_TEST

START_TEST(test_lost_damage_is_found_by_doubt) {
	s.screen[WIDTH * HEIGHT - 1] = 0x123456;
	ck_assert(!tiles_dirty(s.tiles));
	tiles_doubt(s.tiles);
	ck_assert(tiles_dirty(s.tiles));
	ck_assert_uint_eq(look(), 1);
	ck_assert(!tiles_dirty(s.tiles));
}
END_TEST

START_TEST(test_top_byte_does_not_count) {
	fill((struct rect){10, 10, 50, 50}, 0x11223344);
	ck_assert_uint_eq(look(), 1);
	memcpy(s.seen, s.screen, sizeof(s.seen));
	for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++) {
		s.seen[i] ^= 0xab000000;
	}
	tiles_doubt(s.tiles);
	uint32_t keep[4] = {s.seen[0], s.seen[1], s.seen[2], s.seen[3]};
	const struct tiles_look look = {.before = s.seen,
		.now = {.pixels = s.screen, .width = WIDTH, .height = HEIGHT, .stride = WIDTH},
		.box = {0, 0, WIDTH, HEIGHT},
		.copy = true};
	ck_assert_uint_eq(tiles_compare(s.tiles, &look, s.frame + 1), 0);
	ck_assert_int_eq(memcmp(keep, s.seen, sizeof(keep)), 0);
}
END_TEST

START_TEST(test_touched_is_exact) {
	later(10, (struct rect){100, 100, 5, 5}, 0xffffff);
	ck_assert(tiles_touched(s.tiles, s.frame - 1, (struct rect){104, 104, 1, 1}));
	ck_assert(tiles_touched(s.tiles, s.frame - 1, (struct rect){0, 0, WIDTH, HEIGHT}));
	ck_assert(!tiles_touched(s.tiles, s.frame - 1, (struct rect){105, 100, 20, 5}));
	ck_assert(!tiles_touched(s.tiles, s.frame - 1, (struct rect){70, 70, 30, 30}));
}
END_TEST

/* A dot that walks around in a square of 30. */
static void spin(int ms, int step) {
	static const int x[] = {0, 10, 20, 20, 20, 10, 0, 0};
	static const int y[] = {0, 0, 0, 10, 20, 20, 20, 10};
	s.us += (uint64_t)ms * MS;
	fill((struct rect){150, 70, 30, 30}, 0);
	fill((struct rect){150 + x[step % 8], 70 + y[step % 8], 10, 10}, 0xffffff);
	(void)look();
}

START_TEST(test_spinner_is_learned) {
	struct rect list[16];
	int step = 0;
	tiles_input(s.tiles, s.us, false);
	uint64_t input_us = s.us;
	while (s.us - input_us < 2000 * MS && told(s.frame - 1, TILES_ANIMATED, list) == 0) {
		spin(50, step++);
	}
	ck_assert_uint_ge(s.us - input_us, MOTION_LEARN_US);
	ck_assert_uint_lt(s.us - input_us, 2000 * MS);
	/* nothing but what came at once after the input counts */
	ck_assert_uint_lt(tiles_restless_us(s.tiles), input_us + MOTION_CAUSED_US);
	/* from now on it is no effect, whatever input comes */
	tiles_input(s.tiles, s.us, true);
	uint64_t frame = s.frame;
	for (int i = 0; i < 40; i++) {
		spin(40, step++);
	}
	ck_assert_uint_eq(told(frame, TILES_REAL, list), 0);
	ck_assert_uint_ge(told(frame, TILES_ANIMATED, list), 1);
	for (size_t i = 0; i < told(frame, TILES_ANIMATED, list); i++) {
		ck_assert(rect_empty(list[i]) ||
			  rect_intersect(list[i], (struct rect){150, 70, 30, 30}).width ==
				  list[i].width);
	}
	/* but what happens beside it in the same tile is */
	frame = s.frame;
	fill((struct rect){182, 110, 6, 6}, 0xff0000);
	spin(40, step++);
	ck_assert_uint_eq(told(frame, TILES_REAL, list), 1);
}
END_TEST

START_TEST(test_typing_is_never_learned) {
	struct rect list[16];
	for (int i = 0; i < 200; i++) {
		tiles_input(s.tiles, s.us, false);
		uint64_t frame = s.frame;
		later(100, (struct rect){10 + i % 40, 20, 6, 10}, (uint32_t)(i * 7919 + 1));
		ck_assert_uint_eq(told(frame, TILES_REAL, list), 1);
	}
	/* a key that is held */
	tiles_input(s.tiles, s.us, true);
	for (int i = 0; i < 200; i++) {
		uint64_t frame = s.frame;
		later(33, (struct rect){10, 20, 50, 10}, (uint32_t)(i * 7919 + 1));
		ck_assert_uint_eq(told(frame, TILES_REAL, list), 1);
	}
}
END_TEST

static void blink(int ms, int step) {
	later(ms, (struct rect){40, 40, 2, 16}, step % 2 ? 0x000000 : 0xffffff);
}

START_TEST(test_caret_is_learned) {
	struct rect list[16];
	blink(500, 0);
	blink(500, 1);
	uint64_t frame = s.frame;
	blink(500, 2);
	ck_assert_uint_eq(told(frame, TILES_REAL, list), 0);
	ck_assert_uint_eq(told(frame, TILES_ANIMATED, list), 1);
	ck_assert_int_eq(list[0].x, 40);
	ck_assert_int_eq(list[0].height, 16);
	/* at GTK's pace, too */
	blink(800, 3);
	blink(400, 4);
	ck_assert_uint_eq(told(frame, TILES_REAL, list), 0);
	/* a third picture is something new */
	frame = s.frame;
	later(500, (struct rect){40, 40, 8, 16}, 0x00ff00);
	ck_assert_uint_eq(told(frame, TILES_REAL, list), 1);
}
END_TEST

/* Switched on and off by clicks, a box is no caret. */
START_TEST(test_clicked_box_is_no_caret) {
	struct rect list[16];
	for (int i = 0; i < 12; i++) {
		tiles_input(s.tiles, s.us, false);
		uint64_t frame = s.frame;
		later(40, (struct rect){40, 40, 12, 12}, i % 2 ? 0x000000 : 0xffffff);
		ck_assert_uint_eq(told(frame, TILES_REAL, list), 1);
		s.us += 500 * MS;
		(void)look();
	}
}
END_TEST

/* A dialog appears with a spinner in it: the dialog's other parts are no animation. */
START_TEST(test_painting_is_not_the_animation) {
	struct rect list[16];
	later(0, (struct rect){0, 0, 200, 190}, 0x404040);
	for (int i = 0; i < 60; i++) {
		spin(50, i);
	}
	ck_assert_uint_eq(told(s.frame - 1, TILES_REAL, list), 0);
	uint64_t frame = s.frame;
	later(50, (struct rect){20, 20, 10, 10}, 0xffff00);
	ck_assert_uint_eq(told(frame, TILES_REAL, list), 1);
	frame = s.frame;
	later(50, (struct rect){132, 68, 10, 10}, 0xffff00); /* in the spinner's tile */
	ck_assert_uint_eq(told(frame, TILES_REAL, list), 1);
}
END_TEST

START_TEST(test_animation_is_forgotten) {
	struct rect list[16];
	int step = 0;
	for (; step < 60; step++) {
		spin(50, step);
	}
	for (int i = 0; i < 20; i++) { /* it stands still, and something else goes on */
		later(450, (struct rect){0, 0, 3, 3}, (uint32_t)(i + 1));
	}
	uint64_t frame = s.frame;
	spin(50, step);
	ck_assert_uint_ge(told(frame, TILES_REAL, list), 1);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {test_any_damage_is_found, test_lost_damage_is_found_by_doubt,
		test_top_byte_does_not_count, test_touched_is_exact, test_spinner_is_learned,
		test_typing_is_never_learned, test_caret_is_learned, test_clicked_box_is_no_caret,
		test_painting_is_not_the_animation, test_animation_is_forgotten};
	const struct suite_case cases[] = {
		{.name = "tiles",
			.setup = setup,
			.teardown = teardown,
			.tests = tests,
			.count = sizeof(tests) / sizeof(tests[0])},
	};
	return suite_run_cases("tiles", cases, 1);
}
