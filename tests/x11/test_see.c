/* Waiting for quiet, effects, idling, and what spoils pictures: a real cuad-desktop on a real Xvfb,
 * with programs beside it that draw at their own pace. */
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <X11/Xlib.h>
#include <X11/Xutil.h>

#include "tests/lib/decode.h"
#include "tests/lib/desk.h"
#include "tests/lib/suite.h"
#include "tests/lib/xvfb.h"

#define READY_MS 5000
#define PROGRAMS_MAX 4

static struct desk d;
static Display *display;
static pid_t program[PROGRAMS_MAX];
static size_t programs;

static void setup(void) {
	desk_init(&d);
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
}

static void end_program(void) {
	xvfb_kill(program[--programs]);
}

static void teardown(void) {
	while (programs > 0) {
		end_program();
	}
	if (display) {
		(void)XCloseDisplay(display);
	}
	desk_done(&d);
}

static void pause_ms(int ms) {
	(void)poll(NULL, 0, ms);
}

/* A number of /proc/PID/FILE behind a name. */
static long proc_number(const char *file, const char *name) {
	char path[64];
	char line[256];
	long value = -1;
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)d.worker, file);
	FILE *f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, strlen(name)) == 0) {
			value = strtol(line + strlen(name), NULL, 10);
		}
	}
	(void)fclose(f);
	ck_assert_int_ge(value, 0);
	return value;
}

static long wakeups(void) {
	return proc_number("status", "voluntary_ctxt_switches:");
}

/* ---------------------------------------------------------------- programs that draw */

/* What a program draws, on, into its window. */
struct canvas {
	Display *display;
	Window window;
	GC gc;
	int step;
};

static void fill(struct canvas *c, const int at[4], unsigned long colour) {
	XSetForeground(c->display, c->gc, colour);
	XFillRectangle(
		c->display, c->window, c->gc, at[0], at[1], (unsigned)at[2], (unsigned)at[3]);
}

static struct canvas canvas_open(int x, int y, int size) {
	struct canvas c = {.display = XOpenDisplay(":0")};
	if (!c.display) {
		_exit(1);
	}
	Window root = DefaultRootWindow(c.display);
	c.window = XCreateSimpleWindow(
		c.display, root, x, y, (unsigned)size, (unsigned)size, 0, 0, 0x222222);
	XSelectInput(c.display, c.window, ExposureMask | ButtonPressMask);
	c.gc = XCreateGC(c.display, c.window, 0, NULL);
	XMapRaised(c.display, c.window);
	XEvent event;
	do {
		(void)XNextEvent(c.display, &event);
	} while (event.type != Expose);
	return c;
}

/* Runs draw() in a process of its own, again and again, in a window of 200 at x, y. */
static void start(int x, int y, int period_ms, void (*draw)(struct canvas *c)) {
	int ready[2];
	char byte = 0;
	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		struct canvas c = canvas_open(x, y, 200);
		for (;; c.step++) {
			draw(&c);
			XSync(c.display, False);
			if (c.step == 0 && write(ready[1], "x", 1) != 1) {
				_exit(1);
			}
			pause_ms(period_ms);
		}
	}
	(void)close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	program[programs++] = pid;
}

static void draw_spinner(struct canvas *c) {
	static const int x[] = {0, 7, 15, 22, 22, 15, 7, 0};
	static const int y[] = {7, 0, 0, 7, 15, 22, 22, 15};
	fill(c, (int[]){80, 80, 30, 30}, 0x222222);
	fill(c, (int[]){80 + x[c->step % 8], 80 + y[c->step % 8], 8, 8}, 0xeeeeee);
}

static void draw_caret(struct canvas *c) {
	fill(c, (int[]){50, 50, 2, 16}, c->step % 2 ? 0x222222 : 0xeeeeee);
}

static void draw_bar(struct canvas *c) {
	int x = c->step % 40 * 4;
	fill(c, (int[]){0, 100, 200, 12}, 0x222222);
	fill(c, (int[]){x, 100, 40, 12}, 0x44aa44);
}

static void draw_video(struct canvas *c) {
	for (int i = 0; i < 400; i++) {
		fill(c, (int[]){i % 20 * 10, i / 20 * 10, 10, 10},
			(unsigned long)(c->step * 7919 + i * 104729) & 0xffffff);
	}
}

/* Paints itself anew so long after each click. */
static void react(struct canvas *c, int ms) {
	XEvent event;
	do {
		(void)XNextEvent(c->display, &event);
	} while (event.type != ButtonPress);
	pause_ms(ms);
	fill(c, (int[]){0, 0, 64, 64}, (unsigned long)(c->step + 1) * 0x3b5b7b);
}

static void react_at_once(struct canvas *c) {
	if (c->step > 0) {
		react(c, 0);
	}
}

static void react_after_100ms(struct canvas *c) {
	if (c->step > 0) {
		react(c, 100);
	}
}

/* ---------------------------------------------------------------- settling */

static const cua_ActionResult *click(int x, int y, uint32_t settle) {
	cua_Args args = {
		.has_x = true, .x = x, .has_y = true, .y = y, .has_settle = true, .settle = settle};
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_CLICK, &args);
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	return result;
}

static const cua_ActionResult *wait_settled(uint32_t quiet, uint32_t max) {
	cua_Args args = {
		.has_quiet = true, .quiet = quiet, .has_settle_max = true, .settle_max = max};
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_WAIT_SETTLED, &args);
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	return result;
}

/* Every animated rectangle lies in this part of the screen, and there is one. */
static void check_animated(const cua_ActionResult *result, int x, int y, int size) {
	ck_assert_uint_gt(result->animated_count, 0);
	for (size_t i = 0; i < result->animated_count; i++) {
		const cua_Rect *r = &result->animated[i];
		ck_assert_int_ge(r->x, x);
		ck_assert_int_ge(r->y, y);
		ck_assert_int_le(r->x + r->width, x + size);
		ck_assert_int_le(r->y + r->height, y + size);
	}
}

/* The first wait ends by the cap, and the ones after it do not wait for the animation at all. */
static void check_known_after_one_wait(int x, int y) {
	const cua_ActionResult *result = click(5, 700, 200);
	ck_assert_uint_lt(result->elapsed_us, 2400000);
	ck_assert(!result->settled || result->animated_count > 0);
	for (int i = 0; i < 3; i++) {
		result = click(5, 700, 200);
		ck_assert(result->settled);
		ck_assert_uint_lt(result->elapsed_us, 800000);
		ck_assert_int_eq(result->effect, cua_Effect_EFFECT_UNCHANGED);
		ck_assert_uint_eq(result->changed_count, 0);
		check_animated(result, x, y, 200);
	}
}

START_TEST(test_spinner) {
	start(600, 300, 40, draw_spinner);
	check_known_after_one_wait(600, 300);
	/* something else that happens is an effect, and the spinner still none */
	start(100, 100, 0, react_at_once);
	(void)wait_settled(200, 2000);
	const cua_ActionResult *result = click(110, 110, 100);
	ck_assert(result->settled);
	ck_assert_uint_lt(result->elapsed_us, 800000);
	ck_assert_int_eq(result->effect, cua_Effect_EFFECT_CHANGED);
	for (size_t i = 0; i < result->changed_count; i++) {
		ck_assert_int_lt(result->changed[i].x, 300);
	}
	check_animated(result, 600, 300, 200);
}
END_TEST

START_TEST(test_video) {
	start(600, 300, 33, draw_video);
	check_known_after_one_wait(600, 300);
}
END_TEST

/* It comes to some places seldom, so one wait may not be enough to know all of it. */
START_TEST(test_progress_bar) {
	start(600, 300, 40, draw_bar);
	(void)wait_settled(200, 5000);
	(void)wait_settled(200, 5000);
	const cua_ActionResult *result = click(5, 700, 200);
	ck_assert(result->settled);
	ck_assert_int_eq(result->effect, cua_Effect_EFFECT_UNCHANGED);
	ck_assert_uint_lt(result->elapsed_us, 1000000);
}
END_TEST

START_TEST(test_caret) {
	start(600, 300, 500, draw_caret);
	const cua_ActionResult *result = wait_settled(800, 5000);
	ck_assert(result->settled);
	check_animated(result, 600, 300, 200);
	result = click(5, 700, 800);
	ck_assert(result->settled);
	ck_assert_uint_lt(result->elapsed_us, 1300000);
	ck_assert_int_eq(result->effect, cua_Effect_EFFECT_UNCHANGED);
}
END_TEST

/* A screenshot shows that somebody is interested: what moves is known some seconds later. */
START_TEST(test_learned_between_actions) {
	start(600, 300, 40, draw_spinner);
	ck_assert(!desk_do(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0})->has_error);
	pause_ms(2500);
	const cua_ActionResult *result = click(5, 700, 200);
	ck_assert(result->settled);
	ck_assert_uint_lt(result->elapsed_us, 800000);
	ck_assert_int_eq(result->effect, cua_Effect_EFFECT_UNCHANGED);
}
END_TEST

/* The quiet time is shorter than what the program takes. */
START_TEST(test_late_reaction) {
	start(100, 100, 0, react_after_100ms);
	(void)wait_settled(200, 2000);
	for (int i = 0; i < 5; i++) {
		const cua_ActionResult *result = click(110, 110, 50);
		ck_assert_int_eq(result->effect, cua_Effect_EFFECT_CHANGED);
		ck_assert(result->settled);
	}
}
END_TEST

START_TEST(test_effect_in_another_window) {
	start(100, 100, 0, react_at_once);
	start(700, 400, 0, react_at_once);
	(void)wait_settled(200, 2000);
	const cua_ActionResult *result = click(710, 410, 100);
	ck_assert_int_eq(result->effect, cua_Effect_EFFECT_CHANGED);
	ck_assert_uint_eq(result->changed_count, 1);
	ck_assert_int_ge(result->changed[0].x, 640);
	result = click(400, 700, 100);
	ck_assert_int_eq(result->effect, cua_Effect_EFFECT_UNCHANGED);
}
END_TEST

/* ---------------------------------------------------------------- wait_for */

static uint32_t wait_for(const char *window, const int region[4], uint32_t timeout) {
	static cua_Args args;
	args = (cua_Args){.has_timeout = true, .timeout = timeout, .has_window = window != NULL};
	if (window) {
		(void)snprintf(args.window, sizeof(args.window), "%s", window);
	}
	for (size_t i = 0; region && i < 4; i++) {
		args.region_changed[args.region_changed_count++] = region[i];
	}
	return desk_send(&d, CUA_ACTION_WAIT_FOR, &args, NULL);
}

static void check_failed(const cua_ActionResult *result, enum cua_code code) {
	ck_assert(result->has_error);
	ck_assert_msg(result->error.code == (uint32_t)code, "%s: %s",
		cua_code_name((enum cua_code)result->error.code), result->error.message);
}

START_TEST(test_wait_for_region) {
	struct canvas c = canvas_open(200, 200, 200);
	(void)wait_settled(200, 2000);
	uint32_t serial = wait_for(NULL, (int[]){230, 230, 20, 20}, 5000);
	fill(&c, (int[]){0, 0, 30, 30}, 0x00ff00); /* beside it, in the same tile */
	XSync(c.display, False);
	ck_assert(!desk_receive(&d, d.front, CUA_DIR_WORKER_TO_CUAD, 300));
	fill(&c, (int[]){31, 31, 1, 1}, 0x00ff00);
	XSync(c.display, False);
	const cua_ActionResult *result = desk_answer(&d, 1000);
	ck_assert_uint_eq(result->serial, serial);
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	ck_assert_int_eq(result->matched, cua_Matched_MATCHED_REGION_CHANGED);
	ck_assert_uint_ge(result->changed_count, 1);
	ck_assert_int_ge(result->changed[0].x, 230);
	(void)wait_for(NULL, (int[]){600, 600, 20, 20}, 200);
	check_failed(desk_answer(&d, 1000), CUA_TIMEOUT);
	(void)wait_for(NULL, (int[]){1270, 600, 20, 20}, 200);
	check_failed(desk_answer(&d, 1000), CUA_OUT_OF_SCREEN);
	(void)wait_for(NULL, NULL, 200);
	check_failed(desk_answer(&d, 1000), CUA_INVALID);
	(void)XCloseDisplay(c.display);
}
END_TEST

static void check_window(uint32_t serial, const char *title) {
	const cua_ActionResult *result = desk_answer(&d, 2000);
	ck_assert_uint_eq(result->serial, serial);
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	ck_assert_int_eq(result->matched, cua_Matched_MATCHED_WINDOW);
	ck_assert_uint_eq(result->windows_count, 1);
	ck_assert_str_eq(result->windows[0].title, title);
}

/* No window manager tells of windows here, the server does. */
START_TEST(test_wait_for_window) {
	XDeleteProperty(display, DefaultRootWindow(display),
		XInternAtom(display, "_NET_SUPPORTING_WM_CHECK", False));
	XSync(display, False);
	uint32_t serial = wait_for("save AS", NULL, 5000);
	ck_assert(!desk_receive(&d, d.front, CUA_DIR_WORKER_TO_CUAD, 200));
	struct canvas c = canvas_open(200, 200, 200);
	ck_assert(!desk_receive(&d, d.front, CUA_DIR_WORKER_TO_CUAD, 200));
	XStoreName(c.display, c.window, "Save as \342\200\246");
	XSync(c.display, False);
	check_window(serial, "Save as \342\200\246");
	check_window(wait_for("save", NULL, 5000), "Save as \342\200\246"); /* it is there */
	/* a title that changes all the time does not keep the worker from its work */
	serial = wait_for("title 399", NULL, 10000);
	for (int i = 0; i < 400; i++) {
		char title[32];
		(void)snprintf(title, sizeof(title), "title %d", i);
		XStoreName(c.display, c.window, title);
		XSync(c.display, False);
	}
	check_window(serial, "title 399");
	(void)wait_for("no such window", NULL, 300);
	check_failed(desk_answer(&d, 1000), CUA_TIMEOUT);
	(void)XCloseDisplay(c.display);
	/* nobody waits any more: no window's change wakes the worker */
	pause_ms(6000);
	c = canvas_open(300, 300, 50);
	pause_ms(100);
	long before = wakeups();
	XStoreName(c.display, c.window, "another");
	XSync(c.display, False);
	pause_ms(200);
	ck_assert_int_eq(wakeups(), before);
	(void)XCloseDisplay(c.display);
}
END_TEST

/* ---------------------------------------------------------------- idling */

static double cpu_ms(void) {
	struct timespec t;
	clockid_t clock = 0;
	ck_assert_int_eq(clock_getcpuclockid(d.worker, &clock), 0);
	ck_assert_int_eq(clock_gettime(clock, &t), 0);
	return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

START_TEST(test_idle_sleeps) {
	ck_assert(!desk_do(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0})->has_error);
	pause_ms(200);
	long before = wakeups();
	double cpu = cpu_ms();
	pause_ms(7000);
	ck_assert_int_eq(wakeups(), before);
	ck_assert_double_eq(cpu_ms(), cpu);
}
END_TEST

START_TEST(test_blinking_costs_nothing) {
	start(600, 300, 500, draw_caret);
	ck_assert(!desk_do(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0})->has_error);
	pause_ms(6000);
	double cpu = cpu_ms();
	pause_ms(3000);
	double cost = (cpu_ms() - cpu) / 3000;
	printf("a caret costs %.4f of a core\n", cost);
	ck_assert_double_lt(cost, 0.005);
}
END_TEST

/* Nobody looks: after some seconds the worker is not told of what is drawn, and still misses nothing. */
START_TEST(test_busy_and_nobody_looks) {
	start(600, 300, 10, draw_video);
	ck_assert(!desk_do(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0})->has_error);
	pause_ms(7000);
	long before = wakeups();
	pause_ms(1000);
	ck_assert_int_le(wakeups() - before, 3);
	uint64_t frame = desk_do(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0})->frame;
	end_program();
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_SCREENSHOT,
		&(cua_Args){.has_if_changed_since = true, .if_changed_since = frame});
	ck_assert(!result->unchanged);
}
END_TEST

/* ---------------------------------------------------------------- pictures */

/* The picture is what the server has, now and exactly. */
static void check_picture(void) {
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0});
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	struct decoded png;
	ck_assert(decode_png(d.msg.blob[0].data, d.msg.blob[0].len, &png));
	XImage *image = XGetImage(display, DefaultRootWindow(display), 0, 0, DESK_WIDTH,
		DESK_HEIGHT, AllPlanes, ZPixmap);
	ck_assert_ptr_nonnull(image);
	size_t wrong = 0; /* one assertion a pixel would take minutes */
	for (int y = 0; y < DESK_HEIGHT; y++) {
		for (int x = 0; x < DESK_WIDTH; x++) {
			uint32_t seen = png.pixels[y * DESK_WIDTH + x];
			wrong += seen != (XGetPixel(image, x, y) & 0xffffff);
		}
	}
	ck_assert_uint_eq(wrong, 0);
	XDestroyImage(image);
	free(png.pixels);
}

static uint32_t pixel_at(int x, int y) {
	cua_Args args = {.region_count = 4, .region = {x, y, 1, 1}};
	ck_assert(!desk_do(&d, CUA_ACTION_SCREENSHOT, &args)->has_error);
	struct decoded png;
	ck_assert(decode_png(d.msg.blob[0].data, d.msg.blob[0].len, &png));
	uint32_t pixel = png.pixels[0];
	free(png.pixels);
	return pixel;
}

static bool xset(const char *a, const char *b, const char *c) {
	const char *argv[] = {"xset", "-display", ":0", a, b, c, NULL};
	return xvfb_run(argv);
}

/* A window that the worker's pictures must show. */
static void show_window(unsigned long colour) {
	Window window = XCreateSimpleWindow(
		display, DefaultRootWindow(display), 200, 200, 300, 200, 0, 0, colour);
	XSelectInput(display, window, ExposureMask);
	XMapRaised(display, window);
	XEvent event;
	do {
		(void)XNextEvent(display, &event);
	} while (event.type != Expose);
}

START_TEST(test_saver_and_dpms) {
	show_window(0xff8800);
	ck_assert_uint_eq(pixel_at(300, 300), 0xff8800);
	ck_assert(xset("s", "activate", NULL));
	ck_assert_uint_eq(pixel_at(300, 300), 0xff8800);
	ck_assert(xset("dpms", "force", "off"));
	ck_assert_uint_eq(pixel_at(300, 300), 0xff8800);
	check_picture();
	/* whatever a program sets */
	ck_assert(xset("s", "reset", NULL));
	ck_assert(xset("s", "noblank", NULL));
	ck_assert(xset("s", "activate", NULL));
	ck_assert_uint_eq(pixel_at(300, 300), 0xff8800);
	check_picture();
	/* the server's own window */
	ck_assert(xset("s", "expose", NULL));
	ck_assert(xset("s", "noblank", NULL));
	ck_assert(xset("s", "reset", NULL));
	ck_assert(xset("s", "activate", NULL));
	ck_assert_uint_ne(pixel_at(300, 300), 0);
	ck_assert_uint_eq(wait_settled(100, 2000)->settled, true);
	ck_assert_uint_eq(pixel_at(300, 300), 0xff8800);
	ck_assert(xset("s", "1", "1"));
	pause_ms(2500);
	ck_assert_uint_eq(pixel_at(300, 300), 0xff8800);
	check_picture();
}
END_TEST

/* ---------------------------------------------------------------- the right picture, always */

/* How often a test repeats what must never go wrong. */
static int rounds(int fallback) {
	const char *value = getenv("CUAD_ROUNDS");
	int n = value ? (int)strtol(value, NULL, 10) : 0;
	return n > 0 ? n : fallback;
}

static int by_value(const void *a, const void *b) {
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static bool still(uint64_t frame) {
	cua_Args since = {.has_if_changed_since = true, .if_changed_since = frame};
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_SCREENSHOT, &since);
	ck_assert(!result->has_error);
	return result->unchanged;
}

/* Types letter after letter. Each action's picture must be the last one: nothing comes after it. */
static void check_settled_pictures(uint32_t settle, int count, int pause) {
	static uint32_t took[10000];
	unsigned wrong = 0;
	for (int i = 0; i < count; i++) {
		cua_Args args = {.has_settle = true, .settle = settle, .has_text = true};
		char letter[2] = {(char)('a' + i % 26), '\0'};
		(void)desk_send(&d, CUA_ACTION_TYPE, &args, letter);
		const cua_ActionResult *result = desk_answer(&d, READY_MS);
		ck_assert(!result->has_error);
		uint64_t frame = result->frame;
		took[i] = result->elapsed_us;
		cua_Effect effect = result->effect;
		bool settled = result->settled;
		bool right = effect == cua_Effect_EFFECT_CHANGED && settled;
		bool at_once = still(frame);
		pause_ms(pause);
		right = right && at_once && still(frame);
		wrong += !right;
		if (!right) {
			printf("letter %d: effect %d, settled %d, took %u us, still %d\n", i,
				(int)effect, (int)settled, took[i], (int)at_once);
		}
	}
	qsort(took, (size_t)count, sizeof(took[0]), by_value);
	printf("settle %u: %u of %d wrong, median %u us, p95 %u us\n", settle, wrong, count,
		took[count / 2], took[count * 95 / 100]);
	ck_assert_uint_eq(wrong, 0);
}

START_TEST(test_letters_in_a_terminal) {
	const char *argv[] = {"xterm", "-display", ":0", "-bg", "#fefefe", "-geometry", "80x24+0+0",
		"-e", "sh", "-c", "stty -icanon; exec cat >/dev/null", NULL};
	program[programs++] = xvfb_spawn(argv, -1);
	for (int i = 0; i < 100 && pixel_at(300, 200) != 0xfefefe; i++) {
		pause_ms(100);
	}
	(void)click(300, 200, 500);
	ck_assert(wait_settled(700, 10000)->settled);
	check_settled_pictures(50, rounds(40), 100);
}
END_TEST

/* Windows come, go, move, cover each other and draw, at random. */
static void stir(Window *windows, size_t count, GC gc) {
	Window *w = &windows[(size_t)rand() % count];
	Window root = DefaultRootWindow(display);
	unsigned size[2] = {20 + (unsigned)rand() % 500, 20 + (unsigned)rand() % 400};
	int x = rand() % 1400 - 100;
	int y = rand() % 900 - 100;
	if (*w == None) {
		*w = XCreateSimpleWindow(
			display, root, x, y, size[0], size[1], 3, 0, (unsigned long)rand());
		XMapWindow(display, *w);
	}
	switch (rand() % 7) {
	case 0:
		XUnmapWindow(display, *w);
		break;
	case 1:
		XMapRaised(display, *w);
		break;
	case 2:
		XMoveResizeWindow(display, *w, x, y, size[0], size[1]);
		break;
	case 3:
		XLowerWindow(display, *w);
		break;
	case 4:
		XDestroyWindow(display, *w);
		*w = None;
		break;
	default:
		XSetForeground(display, gc, (unsigned long)rand());
		XFillRectangle(display, *w, gc, x / 4, y / 4, size[0] / 4, size[1] / 4);
		break;
	}
}

/* Nothing stale stays, whatever damage tells of it. */
START_TEST(test_storm_of_windows) {
	Window windows[12] = {None};
	GC gc = XCreateGC(display, DefaultRootWindow(display), 0, NULL);
	srand(11);
	for (int i = 0; i < rounds(25); i++) {
		int steps = 1 + rand() % 40;
		for (int k = 0; k < steps; k++) {
			stir(windows, CUA_COUNT(windows), gc);
		}
		XSync(display, False);
		check_picture();
	}
	XFreeGC(display, gc);
}
END_TEST

/* ---------------------------------------------------------------- a lost X server */

static void lose_server(void) {
	if (display) {
		(void)XCloseDisplay(display);
	}
	display = NULL;
	desk_kill_xvfb(&d);
}

static void new_server(void) {
	desk_start_xvfb(&d);
	display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
}

static void check_conflict(const cua_ActionResult *result) {
	ck_assert(result->has_error);
	ck_assert_msg(result->error.code == CUA_CONFLICT, "%s: %s",
		cua_code_name((enum cua_code)result->error.code), result->error.message);
}

/* Crashes while actions of all kinds are under way: each fails, and what comes after is right. */
START_TEST(test_server_crashes_at_any_moment) {
	uint64_t frame = desk_do(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0})->frame;
	for (int i = 0; i < 8; i++) {
		uint32_t first = desk_send(&d, CUA_ACTION_TYPE,
			&(cua_Args){.has_text = true, .has_delay = true, .delay = 5},
			"some text that takes a second or so, which is long enough to be cut off");
		cua_Args settled = {.has_settle = true, .settle = 1000};
		(void)desk_send(&d, CUA_ACTION_CLICK, &settled, NULL);
		(void)desk_send(&d, CUA_ACTION_SCREENSHOT, &settled, NULL);
		(void)desk_send(&d, CUA_ACTION_WAIT_SETTLED,
			&(cua_Args){.has_quiet = true, .quiet = 2000}, NULL);
		for (int k = 0; k < 4 * i; k++) {
			(void)desk_send(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0}, NULL);
		}
		pause_ms(i * 3);
		lose_server();
		unsigned conflicts = 0;
		for (uint32_t serial = first; serial <= d.serial; serial++) {
			const cua_ActionResult *result = desk_answer(&d, 7000);
			ck_assert(result->serial >= first && result->serial <= d.serial);
			if (result->has_error) {
				check_conflict(result);
				conflicts++;
			}
		}
		ck_assert_uint_ge(conflicts, 4);
		check_conflict(desk_do(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0}));
		new_server();
		cua_Args since = {.has_if_changed_since = true, .if_changed_since = frame};
		const cua_ActionResult *result = desk_do(&d, CUA_ACTION_SCREENSHOT, &since);
		ck_assert(!result->has_error);
		ck_assert(!result->unchanged);
		ck_assert_uint_gt(result->frame, frame);
		frame = result->frame;
		check_picture();
	}
}
END_TEST

/* The same, but for the server being there at once: its socket may be the old one. */
START_TEST(test_server_restarts_at_once) {
	for (int i = 0; i < 5; i++) {
		lose_server();
		desk_start_xvfb(&d);
		display = desk_paint();
		ck_assert(desk_wait_ready(&d, true, READY_MS));
		check_picture();
	}
}
END_TEST

/* ---------------------------------------------------------------- the cursor */

/* Gives the root a cursor of one colour and this size, with its hot spot in the middle. */
static void set_cursor(int size, bool empty) {
	Window root = DefaultRootWindow(display);
	unsigned pixels = (unsigned)size;
	Pixmap source = XCreatePixmap(display, root, pixels, pixels, 1);
	GC gc = XCreateGC(display, source, 0, NULL);
	XSetForeground(display, gc, empty ? 0 : 1);
	XFillRectangle(display, source, gc, 0, 0, pixels, pixels);
	XColor red = {.red = 0xffff};
	Cursor cursor =
		XCreatePixmapCursor(display, source, source, &red, &red, pixels / 2, pixels / 2);
	XDefineCursor(display, root, cursor);
	XFreeGC(display, gc);
	XSync(display, False);
}

/* How many pixels of a picture with the cursor are red. */
static size_t red_pixels(bool cursor) {
	cua_Args args = {.has_cursor = true, .cursor = cursor};
	ck_assert(!desk_do(&d, CUA_ACTION_SCREENSHOT, &args)->has_error);
	struct decoded png;
	ck_assert(decode_png(d.msg.blob[0].data, d.msg.blob[0].len, &png));
	size_t count = 0;
	for (size_t i = 0; i < (size_t)DESK_WIDTH * DESK_HEIGHT; i++) {
		count += png.pixels[i] == 0xff0000;
	}
	free(png.pixels);
	return count;
}

START_TEST(test_cursors) {
	static const int sizes[] = {1, 16, 64, 96, 128, 256};
	for (size_t i = 0; i < CUA_COUNT(sizes); i++) {
		int size = sizes[i];
		set_cursor(size, false);
		XWarpPointer(display, None, DefaultRootWindow(display), 0, 0, 0, 0, 640, 400);
		XSync(display, False);
		ck_assert_uint_eq(red_pixels(true), (size_t)size * (size_t)size);
		ck_assert_uint_eq(red_pixels(false), 0);
		/* a corner cuts it */
		XWarpPointer(display, None, DefaultRootWindow(display), 0, 0, 0, 0, 0, 0);
		XSync(display, False);
		size_t left = (size_t)(size - size / 2);
		ck_assert_uint_eq(red_pixels(true), left * left);
		XWarpPointer(display, None, DefaultRootWindow(display), 0, 0, 0, 0, DESK_WIDTH - 1,
			DESK_HEIGHT - 1);
		XSync(display, False);
		left = (size_t)(size / 2 + 1 < size ? size / 2 + 1 : size);
		ck_assert_uint_eq(red_pixels(true), left * left);
	}
	set_cursor(32, true); /* nothing of it is drawn */
	ck_assert_uint_eq(red_pixels(true), 0);
	check_picture();
}
END_TEST

int main(void) {
	const TTest *const settling[] = {test_spinner, test_video, test_progress_bar, test_caret,
		test_learned_between_actions, test_late_reaction, test_effect_in_another_window};
	const TTest *const waiting[] = {test_wait_for_region, test_wait_for_window};
	const TTest *const idling[] = {
		test_idle_sleeps, test_blinking_costs_nothing, test_busy_and_nobody_looks};
	const TTest *const pictures[] = {test_saver_and_dpms, test_cursors,
		test_letters_in_a_terminal, test_storm_of_windows};
	const TTest *const losses[] = {
		test_server_crashes_at_any_moment, test_server_restarts_at_once};
	const struct suite_case cases[] = {
		{"settling", setup, teardown, 60, settling, CUA_COUNT(settling)},
		{"waiting", setup, teardown, 60, waiting, CUA_COUNT(waiting)},
		{"idling", setup, teardown, 60, idling, CUA_COUNT(idling)},
		{"pictures", setup, teardown, 300, pictures, CUA_COUNT(pictures)},
		{"losses", setup, teardown, 120, losses, CUA_COUNT(losses)},
	};
	return suite_run_cases("see", cases, CUA_COUNT(cases));
}
