/* Captures a real Xvfb and compares every pixel with what XGetImage says. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <X11/Xutil.h>
#include <X11/extensions/Xfixes.h>

#include "cua/ident.h"
#include "desktop/picture.h"
#include "desktop/scene.h"
#include "desktop/screen.h"
#include "desktop/x11_priv.h"
#include "tests/lib/decode.h"
#include "tests/lib/suite.h"
#include "tests/lib/xvfb.h"

#define WIDTH 1280
#define HEIGHT 800

/* libXtst frees this only when the server answers, and one test kills the server. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
	return "leak:XRecordEnableContextAsync";
}

static struct {
	struct xvfb xvfb;
	struct loop *loop;
	struct scene *scene;
	struct x11 *x;
	Display *painter; /* another client */
	GC gc;
	struct picture_cache *cache;
	struct cua_err err;
} s;

static bool on_waiting(void *ctx) {
	(void)ctx;
	bool more = x11_dispatch(s.x, (x11_event_fn *)scene_event, s.scene);
	scene_pump(s.scene);
	x11_flush(s.x);
	return more;
}

static void on_readable(void *ctx) {
	(void)ctx;
}

static void setup(void) {
	ck_assert(xvfb_start(&s.xvfb, "1920x1200x24"));
	s.loop = loop_new(&s.err);
	s.scene = scene_new(s.loop, &s.err);
	s.cache = picture_cache_new(NULL, &s.err);
	ck_assert_ptr_nonnull(s.cache);
	s.x = x11_open(s.xvfb.display, &s.err);
	ck_assert_msg(s.x != NULL, "%s", s.err.message);
	ck_assert_msg(screen_set(s.x, WIDTH, HEIGHT, 96, &s.err) == 0, "%s", s.err.message);
	ck_assert_msg(scene_attach(s.scene, s.x, &s.err) == 0, "%s", s.err.message);
	loop_on_turn(s.loop, on_waiting, NULL, NULL);
	ck_assert_ptr_nonnull(loop_io_add(s.loop, x11_fd(s.x), on_readable, NULL, &s.err));
	s.painter = XOpenDisplay(s.xvfb.display);
	ck_assert_ptr_nonnull(s.painter);
	s.gc = XCreateGC(s.painter, DefaultRootWindow(s.painter), 0, NULL);
	XSetSubwindowMode(s.painter, s.gc, IncludeInferiors);
}

static void teardown(void) {
	s.cache = picture_cache_free(s.cache);
	s.scene = scene_free(s.scene);
	s.x = x11_close(s.x);
	if (s.painter) {
		(void)XCloseDisplay(s.painter);
	}
	s.loop = loop_free(s.loop);
	xvfb_stop(&s.xvfb);
}

/* ---------------------------------------------------------------- drawing and looking */

static void fill(int x, int y, int width, int height, unsigned long colour) {
	XSetForeground(s.painter, s.gc, colour);
	XFillRectangle(s.painter, DefaultRootWindow(s.painter), s.gc, x, y, (unsigned)width,
		(unsigned)height);
	XSync(s.painter, False);
}

/* Text-like strokes, blocks, and a part that is pure noise. */
static void paint_busy(void) {
	srand(1);
	for (int i = 0; i < 6000; i++) {
		XSetForeground(s.painter, s.gc, (unsigned long)rand() & 0xffffff);
		XFillRectangle(s.painter, DefaultRootWindow(s.painter), s.gc, rand() % WIDTH,
			rand() % HEIGHT, (unsigned)(1 + rand() % (i < 200 ? 300 : 9)),
			(unsigned)(1 + rand() % (i < 200 ? 200 : 12)));
	}
	XImage *noise = XCreateImage(s.painter, DefaultVisual(s.painter, 0), 24, ZPixmap, 0,
		malloc(300 * 200 * 4), 300, 200, 32, 0);
	for (size_t i = 0; i < 300 * 200; i++) {
		((uint32_t *)(void *)noise->data)[i] = (uint32_t)rand();
	}
	XPutImage(s.painter, DefaultRootWindow(s.painter), s.gc, noise, 0, 0, 700, 500, 300, 200);
	XSync(s.painter, False);
	XDestroyImage(noise);
}

static int look(void) {
	int r = scene_look(s.scene, &s.err);
	ck_assert_msg(r >= 0, "%s", s.err.message);
	return r;
}

static struct picture take(const cua_Args *args) {
	struct picture picture;
	(void)look();
	int r = picture_look(s.scene->capture, args, s.cache, &s.err);
	ck_assert_msg(r == 0, "%s", s.err.message);
	r = picture_take(s.scene->capture, args, s.cache, &picture, &s.err);
	ck_assert_msg(r == 0, "%s", s.err.message);
	return picture;
}

static struct decoded decode(const struct picture *picture) {
	struct decoded d = {0};
	bool ok = false;
	switch (picture->format) {
	case cua_Format_FORMAT_PNG:
		ok = decode_png(picture->bytes.data, picture->bytes.len, &d);
		break;
	case cua_Format_FORMAT_JPEG:
		ok = decode_jpeg(picture->bytes.data, picture->bytes.len, &d);
		break;
	case cua_Format_FORMAT_WEBP:
		ok = decode_webp(picture->bytes.data, picture->bytes.len, &d);
		break;
	}
	ck_assert(ok);
	ck_assert_int_eq(d.width, picture->width);
	ck_assert_int_eq(d.height, picture->height);
	return d;
}

/* The mean difference of a colour between a picture and the screen at x, y; the largest in *worst. */
static double difference(const struct decoded *d, int x, int y, int *worst) {
	XImage *image = XGetImage(s.painter, DefaultRootWindow(s.painter), x, y, (unsigned)d->width,
		(unsigned)d->height, AllPlanes, ZPixmap);
	ck_assert_ptr_nonnull(image);
	uint64_t sum = 0;
	*worst = 0;
	for (int row = 0; row < d->height; row++) {
		for (int column = 0; column < d->width; column++) {
			unsigned long a = XGetPixel(image, column, row);
			uint32_t b = d->pixels[row * d->width + column];
			for (int shift = 0; shift < 24; shift += 8) {
				int delta =
					abs((int)((a >> shift) & 255) - (int)((b >> shift) & 255));
				*worst = delta > *worst ? delta : *worst;
				sum += (uint64_t)delta;
			}
		}
	}
	XDestroyImage(image);
	return (double)sum / (3.0 * d->width * d->height);
}

static void check_exact(const cua_Args *args, int x, int y) {
	struct picture picture = take(args);
	struct decoded d = decode(&picture);
	int worst = 0;
	ck_assert_double_eq(difference(&d, x, y, &worst), 0);
	free(d.pixels);
}

/* ---------------------------------------------------------------- pictures */

START_TEST(test_png_is_exact) {
	paint_busy();
	check_exact(&(cua_Args){0}, 0, 0);
	fill(10, 10, 33, 17, 0x123456);
	check_exact(&(cua_Args){0}, 0, 0);
}
END_TEST

START_TEST(test_region) {
	paint_busy();
	check_exact(&(cua_Args){.region_count = 4, .region = {701, 503, 127, 66}}, 701, 503);
	check_exact(&(cua_Args){.region_count = 4, .region = {1279, 799, 1, 1}}, 1279, 799);
	const int32_t bad[][4] = {{-1, 0, 10, 10}, {0, 0, 1281, 10}, {1280, 0, 1, 1}, {0, 0, 0, 5},
		{5, 5, -3, 4}, {INT32_MAX, 0, INT32_MAX, 1}, {1, 799, 5, 2},
		{2, 2, INT32_MAX, INT32_MAX}};
	for (size_t i = 0; i < CUA_COUNT(bad); i++) {
		cua_Args args = {.region_count = 4};
		memcpy(args.region, bad[i], sizeof(bad[i]));
		struct picture picture;
		ck_assert_int_eq(picture_take(s.scene->capture, &args, s.cache, &picture, &s.err),
			-CUA_OUT_OF_SCREEN);
		ck_assert_str_eq(s.err.subject, "region");
	}
}
END_TEST

START_TEST(test_lossy_formats_are_close) {
	for (int i = 0; i < WIDTH; i += 5) {
		fill(i, 0, 5, HEIGHT, (unsigned long)(i / 5) << 16 | (unsigned long)(255 - i / 5));
	}
	int worst = 0;
	struct picture picture = take(&(cua_Args){.has_format = true,
		.format = cua_Format_FORMAT_JPEG,
		.has_quality = true,
		.quality = 95});
	struct decoded jpeg = decode(&picture);
	ck_assert_double_lt(difference(&jpeg, 0, 0, &worst), 3);
	free(jpeg.pixels);
	picture = take(&(cua_Args){.has_format = true, .format = cua_Format_FORMAT_WEBP});
	struct decoded webp = decode(&picture);
	ck_assert_double_lt(difference(&webp, 0, 0, &worst), 4);
	free(webp.pixels);
	size_t good = picture.bytes.len;
	picture = take(&(cua_Args){.has_format = true,
		.format = cua_Format_FORMAT_WEBP,
		.has_quality = true,
		.quality = 5});
	ck_assert_uint_lt(picture.bytes.len, good);
}
END_TEST

START_TEST(test_scale_and_max) {
	fill(0, 0, WIDTH, HEIGHT, 0x000000);
	for (int x = 0; x < WIDTH; x += 2) {
		fill(x, 0, 1, HEIGHT, 0xfefefe);
	}
	struct picture picture = take(&(cua_Args){.has_scale = true, .scale = 0.5});
	ck_assert_int_eq(picture.width, 640);
	ck_assert_int_eq(picture.height, 400);
	struct decoded d = decode(&picture);
	for (size_t i = 0; i < 640 * 400; i++) {
		ck_assert_uint_eq(d.pixels[i], 0x7f7f7f);
	}
	free(d.pixels);
	picture = take(&(cua_Args){.max_count = 2, .max = {500, 500}});
	ck_assert_int_eq(picture.width, 500);
	ck_assert_int_eq(picture.height, 313);
	picture = take(&(cua_Args){.max_count = 2, .max = {5000, 5000}});
	ck_assert_int_eq(picture.width, WIDTH);
	picture = take(&(cua_Args){
		.has_scale = true, .scale = 0.05, .region_count = 4, .region = {3, 3, 7, 9}});
	ck_assert_int_eq(picture.width, 1);
	ck_assert_int_eq(picture.height, 1);
}
END_TEST

START_TEST(test_cursor_only_on_request) {
	fill(0, 0, WIDTH, HEIGHT, 0x336699);
	XWarpPointer(s.painter, None, DefaultRootWindow(s.painter), 0, 0, 0, 0, 400, 300);
	XSync(s.painter, False);
	check_exact(&(cua_Args){0}, 0, 0);
	struct picture picture = take(&(cua_Args){.has_cursor = true, .cursor = true});
	struct decoded d = decode(&picture);
	size_t near = 0;
	size_t far = 0;
	for (int y = 0; y < HEIGHT; y++) {
		for (int x = 0; x < WIDTH; x++) {
			bool differs = d.pixels[y * WIDTH + x] != 0x336699;
			bool close = abs(x - 400) < 32 && abs(y - 300) < 32;
			near += differs && close;
			far += differs && !close;
		}
	}
	ck_assert_uint_gt(near, 20);
	ck_assert_uint_eq(far, 0);
	free(d.pixels);
	struct capture_cursor cursor;
	ck_assert_int_eq(capture_cursor(s.scene->capture, false, &cursor, &s.err), 0);
	ck_assert_int_eq(cursor.x, 400);
	ck_assert_int_eq(cursor.y, 300);
	ck_assert_ptr_null(cursor.image);
	/* a part whose edge cuts the cursor */
	picture = take(&(cua_Args){
		.has_cursor = true, .cursor = true, .region_count = 4, .region = {395, 295, 6, 6}});
	d = decode(&picture);
	free(d.pixels);
}
END_TEST

/* Names of every length around the longest that is told, the last character of several bytes. */
START_TEST(test_cursor_names_are_text) {
	Display *display = s.painter;
	Window root = DefaultRootWindow(display);
	Cursor shape = XCreateFontCursor(display, 2);
	for (size_t len = 0; len < 80; len++) {
		char name[96];
		struct capture_cursor cursor;
		memset(name, 'x', len);
		(void)snprintf(name + len, sizeof(name) - len, "\303\251");
		XFixesSetCursorName(display, shape, name);
		XDefineCursor(display, root, shape);
		XSync(display, False);
		ck_assert_int_eq(capture_cursor(s.scene->capture, false, &cursor, &s.err), 0);
		ck_assert(cua_utf8_ok(cursor.shape, strlen(cursor.shape)));
		ck_assert(len > 61 || strcmp(cursor.shape, name) == 0);
	}
	XFreeCursor(display, shape);
}
END_TEST

/* While a picture is encoded nobody watches over the server. */
START_TEST(test_taking_does_not_ask_the_server) {
	const cua_Args args = {.has_cursor = true, .cursor = true};
	struct picture picture;
	(void)look();
	ck_assert_int_eq(picture_look(s.scene->capture, &args, s.cache, &s.err), 0);
	ck_assert_int_eq(kill(s.xvfb.pid, SIGSTOP), 0);
	(void)alarm(5);
	ck_assert_int_eq(picture_take(s.scene->capture, &args, s.cache, &picture, &s.err), 0);
	(void)alarm(0);
	ck_assert_int_eq(kill(s.xvfb.pid, SIGCONT), 0);
}
END_TEST

START_TEST(test_unchanged_is_told_and_cached) {
	paint_busy();
	struct picture first = take(&(cua_Args){0});
	const void *bytes = first.bytes.data;
	struct picture second = take(&(cua_Args){0});
	ck_assert_ptr_eq(second.bytes.data, bytes);
	ck_assert_uint_eq(second.frame, first.frame);
	cua_Args since = {.has_if_changed_since = true, .if_changed_since = first.frame};
	ck_assert(take(&since).unchanged);
	since.if_changed_since = first.frame + 1000;
	ck_assert(!take(&since).unchanged);
	fill(5, 5, 5, 5, 0xabcdef);
	since.if_changed_since = first.frame;
	ck_assert(!take(&since).unchanged);
	/* a region that the change did not touch */
	since.region_count = 4;
	memcpy(since.region, (int32_t[]){640, 400, 64, 64}, sizeof(since.region));
	ck_assert(take(&since).unchanged);
}
END_TEST

/* More kinds of pictures than are kept, taken in turns while the screen changes and the pointer moves. */
START_TEST(test_kept_pictures_are_right) {
	srand(3);
	paint_busy();
	for (int i = 0; i < 30; i++) {
		fill(rand() % WIDTH, rand() % HEIGHT, 1 + rand() % 200, 1 + rand() % 60,
			(unsigned long)rand() & 0xffffff);
		int kind = rand() % 12;
		cua_Args args = {.has_quality = true, .quality = (uint32_t)(1 + rand() % 100)};
		if (kind > 0) {
			args.region_count = 4;
			memcpy(args.region,
				(int32_t[]){kind * 37, kind * 23, 700 - kind, 500 + kind},
				sizeof(args.region));
		}
		check_exact(&args, kind * 37, kind * 23);
		if (i % 5 == 0) {
			args.has_cursor = true;
			args.cursor = true;
			XWarpPointer(s.painter, None, DefaultRootWindow(s.painter), 0, 0, 0, 0,
				rand() % WIDTH, rand() % HEIGHT);
			XSync(s.painter, False);
			struct picture first = take(&args);
			struct cua_span copy = {
				memcpy(malloc(first.bytes.len), first.bytes.data, first.bytes.len),
				first.bytes.len};
			(void)picture_cache_tidy(s.cache, 0);
			struct picture anew = take(&args);
			ck_assert_uint_eq(anew.bytes.len, copy.len);
			ck_assert_mem_eq(anew.bytes.data, copy.data, copy.len);
			free((void *)(uintptr_t)copy.data);
		}
	}
}
END_TEST

START_TEST(test_unused_pictures_are_dropped) {
	(void)take(&(cua_Args){0});
	ck_assert(picture_cache_tidy(s.cache, 60000));
	ck_assert(!picture_cache_tidy(s.cache, 0));
	ck_assert(!picture_cache_tidy(s.cache, 60000));
	check_exact(&(cua_Args){0}, 0, 0);
}
END_TEST

/* ---------------------------------------------------------------- frames */

static size_t tell_changed(uint64_t since, struct rect *ret) {
	return tiles_changed(
		capture_tiles(s.scene->capture), since, TILES_ANY, ret, CUA_CHANGED_MAX);
}

START_TEST(test_frame_rises_with_pixels_only) {
	fill(0, 0, WIDTH, HEIGHT, 0x202020);
	(void)look();
	uint64_t frame = capture_frame(s.scene->capture);
	ck_assert_int_eq(look(), 0);
	fill(0, 0, WIDTH, HEIGHT, 0x202020); /* the same again: damage without a change */
	ck_assert_int_eq(look(), 0);
	ck_assert_uint_eq(capture_frame(s.scene->capture), frame);
	fill(200, 130, 10, 10, 0x202021);
	ck_assert_int_eq(look(), 1);
	ck_assert_uint_eq(capture_frame(s.scene->capture), frame + 1);
	struct rect changed[CUA_CHANGED_MAX];
	ck_assert_uint_eq(tell_changed(frame, changed), 1);
	ck_assert_int_eq(changed[0].x, 192);
	ck_assert_int_eq(changed[0].y, 128);
	ck_assert_int_eq(changed[0].width, 64);
	ck_assert_int_eq(changed[0].height, 64);
	ck_assert_uint_eq(tell_changed(frame + 1, changed), 0);
}
END_TEST

/* One change is enough, whatever changes in the same tile before somebody asks. */
START_TEST(test_watched_part) {
	fill(0, 0, WIDTH, HEIGHT, 0x202020);
	(void)look();
	struct scene_part part = {.part = {200, 200, 10, 10}};
	struct scene_part other = {.part = {240, 240, 10, 10}};
	scene_watch(s.scene, &part);
	scene_watch(s.scene, &other);
	fill(195, 195, 4, 4, 0xffffff);
	ck_assert_int_eq(look(), 1);
	ck_assert(!part.touched);
	fill(205, 205, 1, 1, 0xffffff);
	ck_assert_int_eq(look(), 1);
	fill(195, 195, 4, 4, 0xff0000);
	ck_assert_int_eq(look(), 1);
	ck_assert(part.touched && !other.touched);
	scene_unwatch(s.scene, &part);
	scene_unwatch(s.scene, &part);
	fill(245, 245, 1, 1, 0xffffff);
	ck_assert_int_eq(look(), 1);
	ck_assert(other.touched);
	scene_unwatch(s.scene, &other);
}
END_TEST

START_TEST(test_changed_rectangles_are_few_and_cover) {
	fill(0, 0, WIDTH, HEIGHT, 0);
	(void)look();
	uint64_t frame = capture_frame(s.scene->capture);
	for (int i = 0; i < 30; i++) {
		fill((i * 379) % WIDTH, (i * 211) % HEIGHT, 3, 3, 0xffffff);
	}
	(void)look();
	struct rect changed[CUA_CHANGED_MAX];
	size_t count = tell_changed(frame, changed);
	ck_assert_uint_le(count, CUA_CHANGED_MAX);
	for (int i = 0; i < 30; i++) {
		bool covered = false;
		for (size_t k = 0; k < count; k++) {
			covered |= !rect_empty(rect_intersect(changed[k],
				(struct rect){(i * 379) % WIDTH, (i * 211) % HEIGHT, 1, 1}));
		}
		ck_assert(covered);
	}
	for (size_t k = 0; k < count; k++) {
		ck_assert_int_ge(changed[k].x, 0);
		ck_assert_int_le(changed[k].x + changed[k].width, WIDTH);
		ck_assert_int_le(changed[k].y + changed[k].height, HEIGHT);
	}
}
END_TEST

START_TEST(test_damage_flood) {
	for (int i = 0; i < 20000; i++) {
		XSetForeground(s.painter, s.gc, (unsigned long)i);
		XFillRectangle(
			s.painter, DefaultRootWindow(s.painter), s.gc, i % WIDTH, i % HEIGHT, 2, 2);
	}
	XSync(s.painter, False);
	check_exact(&(cua_Args){0}, 0, 0);
}
END_TEST

/* ---------------------------------------------------------------- size */

START_TEST(test_resize) {
	static const int sizes[][2] = {{1920, 1200}, {320, 240}, {1281, 801}, {1024, 768},
		{800, 1200}, {1919, 300}, {1280, 800}};
	for (size_t i = 0; i < CUA_COUNT(sizes); i++) {
		ck_assert_msg(screen_set(s.x, sizes[i][0], sizes[i][1], 96, &s.err) == 0, "%s",
			s.err.message);
		paint_busy();
		struct picture picture = take(&(cua_Args){0});
		ck_assert_int_eq(picture.width, sizes[i][0]);
		ck_assert_int_eq(picture.height, sizes[i][1]);
		check_exact(&(cua_Args){0}, 0, 0);
	}
	ck_assert_int_eq(screen_set(s.x, 1921, 1200, 96, &s.err), -CUA_INVALID);
	ck_assert_int_eq(screen_set(s.x, 1920, 1201, 96, &s.err), -CUA_INVALID);
	check_exact(&(cua_Args){0}, 0, 0);
}
END_TEST

/* The guest changes the size behind our back, many times, between looks. */
START_TEST(test_resize_by_the_guest) {
	struct x11 *guest = x11_open(s.xvfb.display, &s.err);
	ck_assert_ptr_nonnull(guest);
	srand(7);
	for (int i = 0; i < 100; i++) {
		int width = 320 + rand() % 1600;
		int height = 240 + rand() % 960;
		ck_assert_int_eq(screen_set(guest, width, height, 96, &s.err), 0);
		if (i % 3 == 0) {
			struct picture picture = take(&(cua_Args){0});
			ck_assert_int_eq(picture.width, width);
			ck_assert_int_eq(picture.height, height);
		}
	}
	guest = x11_close(guest);
	check_exact(&(cua_Args){0}, 0, 0);
}
END_TEST

/* ---------------------------------------------------------------- settling */

struct waiter {
	struct settle_wait wait;
	bool ended;
	bool settled;
	uint64_t us;
};

static void on_settled(struct settle_wait *wait, bool settled) {
	struct waiter *w = (struct waiter *)wait;
	w->ended = true;
	w->settled = settled;
	w->us = loop_now_us() - w->wait.start_us;
}

static void begin(struct waiter *w, uint32_t quiet, uint32_t max) {
	const struct settle_want want = {.quiet_ms = quiet, .max_ms = max};
	settle_begin(s.scene->settle, &w->wait, &want, on_settled);
}

static void animate(void *ctx) {
	static unsigned long colour;
	fill(100, 100, 20, 20, ++colour);
	loop_timer_start(*(struct loop_timer **)ctx, 30);
}

START_TEST(test_settle_quiet) {
	(void)look();
	struct waiter w = {0};
	begin(&w, 100, 3000);
	while (!w.ended) {
		loop_turn(s.loop);
	}
	ck_assert(w.settled);
	ck_assert_uint_ge(w.us, 100000);
	ck_assert_uint_lt(w.us, 400000);
}
END_TEST

START_TEST(test_settle_under_animation) {
	struct loop_timer *timer = NULL;
	timer = loop_timer_new(s.loop, animate, &timer, &s.err);
	animate(&timer);
	struct waiter cap = {0};
	struct waiter brief = {0};
	struct waiter gone = {0};
	begin(&cap, 200, 700);
	begin(&brief, 5, 5000);
	begin(&gone, 200, 600);
	settle_cancel(&gone.wait);
	while (!cap.ended || !brief.ended) {
		loop_turn(s.loop);
	}
	ck_assert(!cap.settled);
	ck_assert_uint_ge(cap.us, 700000);
	ck_assert_uint_lt(cap.us, 1500000);
	ck_assert(brief.settled);
	ck_assert(!gone.ended);
	loop_timer_free(timer);
}
END_TEST

/* Redrawing the same pixels is not a change. */
static void redraw(void *ctx) {
	fill(100, 100, 20, 20, 0x808080);
	loop_timer_start(*(struct loop_timer **)ctx, 20);
}

START_TEST(test_settle_ignores_equal_pixels) {
	struct loop_timer *timer = NULL;
	timer = loop_timer_new(s.loop, redraw, &timer, &s.err);
	redraw(&timer);
	(void)look();
	struct waiter w = {0};
	begin(&w, 150, 5000);
	while (!w.ended) {
		loop_turn(s.loop);
	}
	ck_assert(w.settled);
	ck_assert_uint_lt(w.us, 1000000);
	loop_timer_free(timer);
}
END_TEST

/* ---------------------------------------------------------------- trouble */

START_TEST(test_errors_do_not_abort) {
	unsigned long value = 0;
	ck_assert_uint_eq(x11_get_longs(s.x, 0x7fffffff, XA_WM_NAME, XA_WINDOW, &value, 1), 0);
	unsigned mark = x11_trap(s.x);
	XMapWindow(s.x->display, 0x7fffffff);
	ck_assert_int_eq(x11_trap_end(s.x, mark), BadWindow);
	ck_assert(x11_alive(s.x));
	check_exact(&(cua_Args){0}, 0, 0);
}
END_TEST

START_TEST(test_server_dies) {
	paint_busy();
	(void)look();
	(void)XCloseDisplay(s.painter);
	s.painter = NULL;
	xvfb_kill(s.xvfb.pid);
	s.xvfb.pid = -1;
	capture_doubt(s.scene->capture);
	ck_assert_int_lt(scene_look(s.scene, &s.err), 0);
	ck_assert(!x11_alive(s.x));
	struct capture_cursor cursor;
	ck_assert_int_lt(capture_cursor(s.scene->capture, true, &cursor, &s.err), 0);
	ck_assert_int_lt(screen_set(s.x, 800, 600, 96, &s.err), 0);
	ck_assert_int_lt(x11_sync(s.x, &s.err), 0);
	ck_assert(!x11_dispatch(s.x, (x11_event_fn *)scene_event, s.scene));
}
END_TEST

int main(void) {
	const TTest *const tests[] = {test_png_is_exact, test_region, test_lossy_formats_are_close,
		test_scale_and_max, test_cursor_only_on_request, test_cursor_names_are_text,
		test_taking_does_not_ask_the_server, test_unchanged_is_told_and_cached,
		test_kept_pictures_are_right, test_unused_pictures_are_dropped,
		test_frame_rises_with_pixels_only, test_watched_part,
		test_changed_rectangles_are_few_and_cover, test_damage_flood, test_resize,
		test_resize_by_the_guest, test_settle_quiet, test_settle_under_animation,
		test_settle_ignores_equal_pixels, test_errors_do_not_abort, test_server_dies};
	const struct suite_case cases[] = {
		{.name = "capture",
			.setup = setup,
			.teardown = teardown,
			.seconds = 60,
			.tests = tests,
			.count = CUA_COUNT(tests)},
	};
	return suite_run_cases("capture", cases, CUA_COUNT(cases));
}
