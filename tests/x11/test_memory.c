/* What a real cuad-desktop costs in memory that nobody shares with it, while it takes pictures. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <X11/Xlib.h>
#include <X11/Xutil.h>

#include "tests/lib/desk.h"
#include "tests/lib/page.h"
#include "tests/lib/suite.h"

#define WIDTH 1920
#define HEIGHT 1080
#define READY_MS 5000
/* Of a worker with such a screen. */
#define MOST_KB 25600

static struct desk d;
static Display *display;

static void setup(void) {
	desk_init(&d);
	d.screen[0] = WIDTH;
	d.screen[1] = HEIGHT;
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
}

static void teardown(void) {
	(void)XCloseDisplay(display);
	desk_done(&d);
}

/* Paints the whole screen with the frame. */
static void show(const struct frame *frame) {
	XImage *image = XCreateImage(display, DefaultVisual(display, 0), 24, ZPixmap, 0,
		(char *)(uintptr_t)frame->pixels, WIDTH, HEIGHT, 32, 0);
	GC gc = XCreateGC(display, DefaultRootWindow(display), 0, NULL);
	XPutImage(display, DefaultRootWindow(display), gc, image, 0, 0, 0, 0, WIDTH, HEIGHT);
	XSync(display, False);
	XFreeGC(display, gc);
	image->data = NULL;
	XDestroyImage(image);
}

static void take(const cua_Args *args) {
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_SCREENSHOT, args);
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	ck_assert_uint_eq(d.msg.blob_count, 1);
}

/* Pictures as clients ask for them, more kinds than are kept. */
static void take_many(void) {
	static const cua_Format formats[] = {
		cua_Format_FORMAT_PNG, cua_Format_FORMAT_JPEG, cua_Format_FORMAT_WEBP};
	for (size_t i = 0; i < CUA_COUNT(formats); i++) {
		cua_Args args = {.has_format = true, .format = formats[i]};
		take(&args);
		args.max_count = 2;
		args.max[0] = 1280;
		args.max[1] = 800;
		take(&args);
		args.has_cursor = true;
		args.cursor = true;
		take(&args);
	}
	take(&(cua_Args){0});
}

/* A figure of the worker's memory map in KiB, summed over the lines that begin so. */
static unsigned long memory_kb(const char *begin) {
	char path[64];
	char line[256];
	unsigned long sum = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)d.worker);
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		const char *colon = strchr(line, ':');
		if (colon && strncmp(line, begin, strlen(begin)) == 0) {
			sum += strtoul(colon + 1, NULL, 10);
		}
	}
	(void)fclose(file);
	return sum;
}

START_TEST(test_private_memory) {
	struct cua_err err;
	struct frame *frame = frame_new(WIDTH, HEIGHT, &err);
	ck_assert_ptr_nonnull(frame);
	printf("at first %lu KiB\n", memory_kb("Private_"));
	for (unsigned round = 0; round < 6; round++) {
		page_draw(frame, round);
		show(frame);
		take_many();
		printf("busy page %lu KiB\n", memory_kb("Private_"));
		ck_assert_uint_le(memory_kb("Private_"), MOST_KB);
	}
	/* nothing that compresses */
	for (int i = 0; i < WIDTH * HEIGHT; i++) {
		frame->pixels[i] = (uint32_t)rand();
	}
	show(frame);
	take_many();
	printf("noise %lu KiB\n", memory_kb("Private_"));
	ck_assert_uint_le(memory_kb("Private_"), MOST_KB);
	frame_unref(frame);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {test_private_memory};
	const struct suite_case cases[] = {
		{.name = "memory",
			.setup = setup,
			.teardown = teardown,
			.seconds = 100,
			.tests = tests,
			.count = CUA_COUNT(tests)},
	};
	return suite_run_cases("memory", cases, CUA_COUNT(cases));
}
