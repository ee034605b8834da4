/* Pictures of single windows: covered, beyond the edge, with windows inside, shaped, with alpha, of
 * programs that hang; and the size of the screen. A real worker, real programs. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/Xcomposite.h>
#include <X11/extensions/shape.h>

#include "desktop/screen.h"
#include "desktop/x11_priv.h"
#include "tests/lib/decode.h"
#include "tests/lib/desk.h"
#include "tests/lib/suite.h"

#define READY_MS 5000
#define BLUE 0x2040c0
#define RED 0xc02020
#define GREEN 0x20c040

static struct desk d;
static Display *display;
static Window root;
static struct decoded picture;

static void setup(void) {
	desk_init(&d);
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	display = desk_paint();
	root = DefaultRootWindow(display);
	ck_assert(desk_wait_ready(&d, true, READY_MS));
	XDeleteProperty(display, root, XInternAtom(display, "_NET_SUPPORTING_WM_CHECK", False));
	XSync(display, False);
}

static void teardown(void) {
	free(picture.pixels);
	(void)XCloseDisplay(display);
	desk_done(&d);
}

/* ---------------------------------------------------------------- windows of our own */

static Window open_window(Window parent, XRectangle at, unsigned long colour) {
	Window w =
		XCreateSimpleWindow(display, parent, at.x, at.y, at.width, at.height, 0, 0, colour);
	(void)XMapWindow(display, w);
	(void)XSync(display, False);
	return w;
}

static void fill(Window w, XRectangle at, unsigned long colour) {
	GC gc = XCreateGC(display, w, 0, NULL);
	(void)XSetForeground(display, gc, colour);
	(void)XFillRectangle(display, w, gc, at.x, at.y, at.width, at.height);
	(void)XFreeGC(display, gc);
	(void)XSync(display, False);
}

static void decode(const cua_ActionResult *result) {
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	free(picture.pixels);
	picture.pixels = NULL;
	ck_assert_uint_eq(d.msg.blob_count, 1);
	ck_assert(decode_png(d.msg.blob[0].data, d.msg.blob[0].len, &picture));
	ck_assert_int_eq(picture.width, (int)result->width);
	ck_assert_int_eq(picture.height, (int)result->height);
}

static void take(Window w) {
	decode(desk_do(
		&d, CUA_ACTION_WINDOW_SCREENSHOT, &(cua_Args){.has_id = true, .id = (uint32_t)w}));
}

static void take_screen(void) {
	decode(desk_do(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0}));
}

static uint32_t pixel(int x, int y) {
	ck_assert(x >= 0 && x < picture.width && y >= 0 && y < picture.height);
	return picture.pixels[y * picture.width + x];
}

static void check_size(int width, int height) {
	ck_assert_int_eq(picture.width, width);
	ck_assert_int_eq(picture.height, height);
}

/* ---------------------------------------------------------------- pictures of windows */

START_TEST(a_covered_window_is_whole) {
	Window below = open_window(root, (XRectangle){100, 100, 300, 200}, BLUE);
	Window above = open_window(root, (XRectangle){50, 50, 600, 500}, RED);
	/* Drawn while it is covered. */
	fill(below, (XRectangle){10, 20, 30, 40}, GREEN);
	take(below);
	check_size(300, 200);
	ck_assert_uint_eq(pixel(0, 0), BLUE);
	ck_assert_uint_eq(pixel(299, 199), BLUE);
	ck_assert_uint_eq(pixel(10, 20), GREEN);
	ck_assert_uint_eq(pixel(39, 59), GREEN);
	ck_assert_uint_eq(pixel(40, 60), BLUE);
	take(above);
	check_size(600, 500);
	ck_assert_uint_eq(pixel(60, 60), RED);
	take_screen();
	ck_assert_uint_eq(pixel(110, 120), RED);
}
END_TEST

START_TEST(beyond_the_edge_it_is_whole) {
	Window w = open_window(root, (XRectangle){-150, -50, 300, 200}, BLUE);
	fill(w, (XRectangle){0, 0, 20, 20}, GREEN);
	take(w);
	check_size(300, 200);
	ck_assert_uint_eq(pixel(0, 0), GREEN);
	ck_assert_uint_eq(pixel(20, 20), BLUE);
	XMoveWindow(display, w, DESK_WIDTH + 100, 100);
	fill(w, (XRectangle){30, 30, 20, 20}, RED);
	take(w);
	ck_assert_uint_eq(pixel(0, 0), GREEN);
	ck_assert_uint_eq(pixel(30, 30), RED);
}
END_TEST

/* As under a window manager: the frame is the root's child, the window inside it. */
START_TEST(the_frame_is_left_out_and_what_is_inside_is_in) {
	Window frame = XCreateSimpleWindow(display, root, 100, 100, 320, 240, 3, 0xffffff, RED);
	(void)XMapWindow(display, frame);
	Window client = open_window(frame, (XRectangle){10, 30, 300, 200}, BLUE);
	(void)open_window(client, (XRectangle){50, 60, 70, 80}, GREEN);
	(void)open_window(root, (XRectangle){0, 0, 800, 600}, 0x777777);
	take(client);
	check_size(300, 200);
	ck_assert_uint_eq(pixel(0, 0), BLUE);
	ck_assert_uint_eq(pixel(299, 199), BLUE);
	ck_assert_uint_eq(pixel(49, 60), BLUE);
	ck_assert_uint_eq(pixel(50, 60), GREEN);
	ck_assert_uint_eq(pixel(119, 139), GREEN);
	take(frame);
	ck_assert_uint_eq(pixel(0, 0), RED);
	ck_assert_uint_eq(pixel(10, 30), BLUE);
}
END_TEST

START_TEST(a_shape_leaves_the_rest_black) {
	Window w = open_window(root, (XRectangle){100, 100, 300, 200}, BLUE);
	XRectangle rects[] = {{0, 0, 100, 200}, {200, 50, 100, 100}};
	XShapeCombineRectangles(display, w, ShapeBounding, 0, 0, rects, 2, ShapeSet, Unsorted);
	XSync(display, False);
	take(w);
	check_size(300, 200);
	ck_assert_uint_eq(pixel(99, 199), BLUE);
	ck_assert_uint_eq(pixel(100, 0), 0);
	ck_assert_uint_eq(pixel(250, 49), 0);
	ck_assert_uint_eq(pixel(200, 50), BLUE);
}
END_TEST

START_TEST(alpha_is_taken_as_the_screen_takes_it) {
	XVisualInfo info;
	ck_assert(XMatchVisualInfo(display, DefaultScreen(display), 32, TrueColor, &info));
	XSetWindowAttributes a = {.background_pixel = 0x80204060,
		.border_pixel = 0,
		.colormap = XCreateColormap(display, root, info.visual, AllocNone)};
	Window w = XCreateWindow(display, root, 100, 100, 300, 200, 0, 32, InputOutput, info.visual,
		CWBackPixel | CWBorderPixel | CWColormap, &a);
	(void)XMapWindow(display, w);
	(void)XSync(display, False);
	take_screen();
	uint32_t shown = pixel(150, 150);
	take(w);
	ck_assert_uint_eq(pixel(50, 50), shown);
	/* The same inside of another window. */
	Window frame = open_window(root, (XRectangle){450, 100, 320, 240}, RED);
	XReparentWindow(display, w, frame, 10, 30);
	XSync(display, False);
	take(w);
	check_size(300, 200);
	ck_assert_uint_eq(pixel(50, 50), shown);
}
END_TEST

START_TEST(pictures_are_scaled_and_encoded_as_wanted) {
	Window w = open_window(root, (XRectangle){100, 100, 300, 200}, BLUE);
	cua_Args args = {.has_id = true, .id = (uint32_t)w, .has_scale = true, .scale = 0.5};
	decode(desk_do(&d, CUA_ACTION_WINDOW_SCREENSHOT, &args));
	check_size(150, 100);
	ck_assert_uint_eq(pixel(75, 50), BLUE);
	args = (cua_Args){.has_id = true,
		.id = (uint32_t)w,
		.has_format = true,
		.format = cua_Format_FORMAT_JPEG,
		.max_count = 2,
		.max = {60, 60}};
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_WINDOW_SCREENSHOT, &args);
	ck_assert(!result->has_error);
	struct decoded jpeg = {0};
	ck_assert(decode_jpeg(d.msg.blob[0].data, d.msg.blob[0].len, &jpeg));
	ck_assert_int_eq(jpeg.width, 60);
	ck_assert_int_eq(jpeg.height, 40);
	free(jpeg.pixels);
}
END_TEST

/* A window that changes its size all the time has a picture of one of its sizes. */
START_TEST(a_window_that_is_resized_meanwhile) {
	Window w = open_window(root, (XRectangle){100, 100, 300, 200}, BLUE);
	pid_t child = fork();
	if (child == 0) {
		Display *other = XOpenDisplay(":0");
		for (unsigned i = 0; other && i < 3000; i++) {
			XResizeWindow(other, w, 200 + i % 300, 150 + i % 200);
			XSync(other, False);
		}
		_exit(0);
	}
	for (int i = 0; i < 60; i++) {
		const cua_ActionResult *result = desk_do(&d, CUA_ACTION_WINDOW_SCREENSHOT,
			&(cua_Args){.has_id = true, .id = (uint32_t)w});
		if (result->has_error) {
			ck_assert_uint_eq(result->error.code, CUA_CONFLICT);
			continue;
		}
		decode(result);
		ck_assert_uint_eq(pixel(picture.width / 2, picture.height / 2), BLUE);
	}
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	take(w);
}
END_TEST

/* What a program has drawn is there although it hangs and was covered since. */
START_TEST(a_program_that_hangs_is_seen_as_it_was) {
	pid_t child = fork();
	if (child == 0) {
		Display *other = XOpenDisplay(":0");
		Window w = XCreateSimpleWindow(
			other, DefaultRootWindow(other), 100, 100, 300, 200, 0, 0, BLUE);
		XStoreName(other, w, "hangs");
		XSelectInput(other, w, ExposureMask);
		XMapWindow(other, w);
		XEvent event;
		XNextEvent(other, &event);
		GC gc = XCreateGC(other, w, 0, NULL);
		XSetForeground(other, gc, GREEN);
		XFillRectangle(other, w, gc, 20, 20, 100, 100);
		XSync(other, False);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	int status = 0;
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_WINDOWS, &(cua_Args){0});
	ck_assert_uint_eq(result->windows_count, 1);
	uint32_t id = result->windows[0].id;
	Window above = open_window(root, (XRectangle){90, 90, 200, 200}, RED);
	take(id);
	ck_assert_uint_eq(pixel(5, 5), BLUE);
	ck_assert_uint_eq(pixel(30, 30), GREEN);
	/* Nor does what was above it leave traces on the screen. */
	XMoveWindow(display, above, 600, 500);
	XSync(display, False);
	take_screen();
	ck_assert_uint_eq(pixel(105, 105), BLUE);
	ck_assert_uint_eq(pixel(130, 130), GREEN);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}
END_TEST

/* A worker that is started again finds pixels kept, and has nobody repaint. */
START_TEST(another_worker_changes_nothing) {
	Window w = open_window(root, (XRectangle){100, 100, 300, 200}, BLUE);
	fill(w, (XRectangle){10, 20, 30, 40}, GREEN);
	(void)open_window(root, (XRectangle){50, 50, 600, 500}, RED);
	int status = 0;
	ck_assert_int_eq(kill(d.worker, SIGKILL), 0);
	ck_assert(desk_worker_ended(&d, READY_MS, &status));
	(void)XSelectInput(display, w, ExposureMask | StructureNotifyMask);
	(void)XSync(display, False);
	desk_start_worker(&d);
	ck_assert(desk_wait_ready(&d, true, 12000));
	take(w);
	ck_assert_uint_eq(pixel(10, 20), GREEN);
	(void)XSync(display, False);
	ck_assert_int_eq(XPending(display), 0);
}
END_TEST

/* A compositing manager can come and go. */
START_TEST(beside_a_compositing_manager) {
	Window w = open_window(root, (XRectangle){100, 100, 300, 200}, BLUE);
	(void)open_window(root, (XRectangle){50, 50, 600, 500}, RED);
	struct x11 *manager = x11_open(":0", &d.err);
	ck_assert_ptr_nonnull(manager);
	int event = 0;
	int error = 0;
	ck_assert(XCompositeQueryExtension(manager->display, &event, &error));
	unsigned mark = x11_trap(manager);
	XCompositeRedirectSubwindows(manager->display, manager->root, CompositeRedirectManual);
	ck_assert_int_eq(x11_trap_end(manager, mark), 0);
	fill(w, (XRectangle){10, 20, 30, 40}, GREEN);
	take(w);
	ck_assert_uint_eq(pixel(5, 5), BLUE);
	ck_assert_uint_eq(pixel(10, 20), GREEN);
	(void)x11_close(manager);
	take(w);
	ck_assert_uint_eq(pixel(5, 5), BLUE);
	ck_assert_uint_eq(pixel(10, 20), GREEN);
	take_screen();
	ck_assert_uint_eq(pixel(110, 120), RED);
}
END_TEST

/* ---------------------------------------------------------------- the screen's size */

static const cua_ActionResult *set_screen(int width, int height) {
	return desk_do(&d, CUA_ACTION_SET_SCREEN,
		&(cua_Args){.has_width = true,
			.width = (uint32_t)width,
			.has_height = true,
			.height = (uint32_t)height});
}

/* The worker tells its supervisor of this size. */
static void wait_told(int width, int height) {
	for (;;) {
		ck_assert(desk_receive(&d, d.supervisor, CUA_DIR_WORKER_TO_SUPERVISOR, READY_MS));
		const cua_WorkerState *state = &d.msg.body.worker_state;
		ck_assert(state->ready && state->has_width && state->has_height);
		if ((int)state->width == width && (int)state->height == height) {
			return;
		}
	}
}

START_TEST(sets_the_screen) {
	static const int sizes[][2] = {
		{800, 600}, {1920, 1200}, {320, 240}, {1023, 769}, {1280, 800}};
	for (size_t i = 0; i < CUA_COUNT(sizes); i++) {
		const cua_ActionResult *result = set_screen(sizes[i][0], sizes[i][1]);
		ck_assert_msg(!result->has_error, "%s", result->error.message);
		ck_assert_int_eq((int)result->width, sizes[i][0]);
		ck_assert_int_eq((int)result->height, sizes[i][1]);
		ck_assert_uint_eq(result->dpi, 96);
		take_screen();
		check_size(sizes[i][0], sizes[i][1]);
		ck_assert_uint_eq(pixel(sizes[i][0] - 1, sizes[i][1] - 1), 0x336699);
		wait_told(sizes[i][0], sizes[i][1]);
	}
	/* Input has the new bounds. */
	(void)set_screen(1600, 1000);
	cua_Args move = {.has_x = true, .x = 1599, .has_y = true, .y = 999};
	ck_assert(!desk_do(&d, CUA_ACTION_MOVE, &move)->has_error);
	(void)set_screen(800, 600);
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_MOVE, &move);
	ck_assert_uint_eq(result->error.code, CUA_OUT_OF_SCREEN);
}
END_TEST

START_TEST(refuses_a_screen_that_cannot_be) {
	static const int sizes[][2] = {{1921, 1200}, {1920, 1201}, {319, 600}, {800, 239}};
	for (size_t i = 0; i < CUA_COUNT(sizes); i++) {
		const cua_ActionResult *result = set_screen(sizes[i][0], sizes[i][1]);
		ck_assert(result->has_error);
		ck_assert_uint_eq(result->error.code, CUA_INVALID);
		if (i < 2) {
			ck_assert_ptr_nonnull(strstr(result->error.message, "1920x1200"));
		}
	}
	take_screen();
	check_size(DESK_WIDTH, DESK_HEIGHT);
}
END_TEST

/* A program of the session changes the size by itself, and a new server gets it, too. */
START_TEST(follows_whoever_sets_the_screen) {
	struct x11 *guest = x11_open(":0", &d.err);
	ck_assert_ptr_nonnull(guest);
	ck_assert_int_eq(screen_set(guest, 1000, 700, 96, &d.err), 0);
	wait_told(1000, 700);
	(void)x11_close(guest);
	take_screen();
	check_size(1000, 700);
	(void)XCloseDisplay(display);
	desk_kill_xvfb(&d);
	ck_assert(desk_wait_ready(&d, false, READY_MS));
	desk_start_xvfb(&d);
	display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
	take_screen();
	check_size(1000, 700);
}
END_TEST

/* Sizes at random while pictures are taken: none of them fails, and each is of one size. */
START_TEST(random_sizes_while_pictures_are_taken) {
	unsigned seed = 7;
	for (int i = 0; i < 60; i++) {
		seed = seed * 1103515245u + 12345u;
		int width = 320 + (int)(seed >> 8) % 1600;
		int height = 240 + (int)(seed >> 17) % 960;
		uint32_t set = desk_send(&d, CUA_ACTION_SET_SCREEN,
			&(cua_Args){.has_width = true,
				.width = (uint32_t)width,
				.has_height = true,
				.height = (uint32_t)height},
			NULL);
		uint32_t shot = desk_send(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0}, NULL);
		for (int answers = 0; answers < 2; answers++) {
			const cua_ActionResult *result = desk_answer(&d, READY_MS);
			ck_assert_msg(!result->has_error, "%s", result->error.message);
			if (result->serial == shot) {
				decode(result);
			} else {
				ck_assert_uint_eq(result->serial, set);
				ck_assert_int_eq((int)result->width, width);
			}
		}
		take_screen();
		check_size(width, height);
		uint32_t corner = pixel(width - 1, height - 1);
		ck_assert(corner == 0x336699 || corner == 0x99cc33);
	}
	int status = 0;
	ck_assert_int_eq(waitpid(d.worker, &status, WNOHANG), 0);
}
END_TEST

int main(void) {
	const TTest *const windows[] = {a_covered_window_is_whole, beyond_the_edge_it_is_whole,
		the_frame_is_left_out_and_what_is_inside_is_in, a_shape_leaves_the_rest_black,
		alpha_is_taken_as_the_screen_takes_it, pictures_are_scaled_and_encoded_as_wanted,
		a_window_that_is_resized_meanwhile, a_program_that_hangs_is_seen_as_it_was,
		another_worker_changes_nothing, beside_a_compositing_manager};
	const TTest *const screen[] = {sets_the_screen, refuses_a_screen_that_cannot_be,
		follows_whoever_sets_the_screen, random_sizes_while_pictures_are_taken};
	const struct suite_case cases[] = {
		{.name = "windows",
			.setup = setup,
			.teardown = teardown,
			.seconds = 60,
			.tests = windows,
			.count = CUA_COUNT(windows)},
		{.name = "screen",
			.setup = setup,
			.teardown = teardown,
			.seconds = 60,
			.tests = screen,
			.count = CUA_COUNT(screen)},
	};
	return suite_run_cases("composite", cases, CUA_COUNT(cases));
}
