/* Drives a real cuad-desktop over real E2 and E3, as the supervisor and cuad do. */
#include <check.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>

#include "tests/lib/decode.h"
#include "tests/lib/desk.h"
#include "tests/lib/suite.h"

#define READY_MS 5000
#define CAP_MS 20000

static struct desk d;
static Display *display;

static void setup_bare(void) {
	desk_init(&d);
}

static void setup(void) {
	desk_init(&d);
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
}

static void teardown(void) {
	if (display) {
		(void)XCloseDisplay(display);
	}
	desk_done(&d);
}

/* The worker still answers. */
static void check_alive(void) {
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_SCREEN_SIZE, &(cua_Args){0});
	ck_assert(!result->has_error);
	ck_assert_uint_eq(result->width, DESK_WIDTH);
	ck_assert_uint_eq(result->height, DESK_HEIGHT);
}

static void check_error(const cua_ActionResult *result, enum cua_code code) {
	ck_assert(result->has_error);
	ck_assert_msg(result->error.code == (uint32_t)code, "%s: %s",
		cua_code_name((enum cua_code)result->error.code), result->error.message);
}

/* ---------------------------------------------------------------- readiness */

START_TEST(test_ready_tells_phases) {
	static const char *const names[] = {"x", "screen", "wm", "paint", "input"};
	const cua_WorkerState *state = &d.msg.body.worker_state;
	ck_assert_uint_eq(state->phases_count, CUA_COUNT(names));
	for (size_t i = 0; i < CUA_COUNT(names); i++) {
		ck_assert_str_eq(state->phases[i].name, names[i]);
		printf("%s %u us\n", names[i], state->phases[i].us);
	}
	check_alive();
}
END_TEST

START_TEST(test_waits_for_x) {
	desk_start_worker(&d);
	uint32_t serial = desk_send(&d, CUA_ACTION_SCREEN_SIZE, &(cua_Args){0}, NULL);
	const cua_ActionResult *result = desk_answer(&d, READY_MS);
	ck_assert_uint_eq(result->serial, serial);
	check_error(result, CUA_CONFLICT);
	desk_start_xvfb(&d);
	display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
	check_alive();
}
END_TEST

START_TEST(test_not_ready_before_it_is_painted) {
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	ck_assert(!desk_receive(&d, d.supervisor, CUA_DIR_WORKER_TO_SUPERVISOR, 700));
	display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, 1000));
}
END_TEST

static void name_manager(Window owner, Window manager) {
	Atom atom = XInternAtom(display, "_NET_SUPPORTING_WM_CHECK", False);
	XChangeProperty(display, owner, atom, XA_WINDOW, 32, PropModeReplace,
		(const unsigned char *)&manager, 1);
	XSync(display, False);
}

/* openbox names its window at the root first, and the worker may look before the window names itself. */
START_TEST(test_manager_that_announces_itself_in_two_steps) {
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	display = XOpenDisplay(":0");
	ck_assert_ptr_nonnull(display);
	Window root = DefaultRootWindow(display);
	Window manager = XCreateSimpleWindow(display, root, -10, -10, 1, 1, 0, 0, 0);
	name_manager(root, manager);
	ck_assert(!desk_receive(&d, d.supervisor, CUA_DIR_WORKER_TO_SUPERVISOR, 500));
	name_manager(manager, manager);
	ck_assert(desk_wait_ready(&d, true, 4000));
}
END_TEST

/* The worker looks at the screen again and again, and must not lose there what it waits for. */
START_TEST(test_manager_that_comes_while_the_screen_changes) {
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	ck_assert(!desk_receive(&d, d.supervisor, CUA_DIR_WORKER_TO_SUPERVISOR, 500));
	display = XOpenDisplay(":0");
	ck_assert_ptr_nonnull(display);
	Window root = DefaultRootWindow(display);
	Window manager = XCreateSimpleWindow(display, root, -10, -10, 1, 1, 0, 0, 0);
	GC gc = XCreateGC(display, root, 0, NULL);
	for (unsigned i = 0; i < 300; i++) {
		XSetForeground(display, gc, i * 0x010203);
		XFillRectangle(display, root, gc, 10, 10, 50, 50);
		XSync(display, False);
	}
	XFreeGC(display, gc);
	/* It wakes with a look due and with the news unread. */
	ck_assert_int_eq(kill(d.worker, SIGSTOP), 0);
	name_manager(manager, manager);
	name_manager(root, manager);
	ck_assert(!desk_receive(&d, d.supervisor, CUA_DIR_WORKER_TO_SUPERVISOR, 100));
	ck_assert_int_eq(kill(d.worker, SIGCONT), 0);
	ck_assert(desk_wait_ready(&d, true, 4000));
}
END_TEST

START_TEST(test_ready_without_a_manager) {
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	ck_assert(desk_wait_ready(&d, true, 10000));
	check_alive();
}
END_TEST

START_TEST(test_server_comes_back) {
	(void)desk_send(&d, CUA_ACTION_WAIT, &(cua_Args){.has_ms = true, .ms = 60000}, NULL);
	(void)XCloseDisplay(display);
	display = NULL;
	desk_kill_xvfb(&d);
	check_error(desk_answer(&d, 2000), CUA_CONFLICT);
	ck_assert(desk_wait_ready(&d, false, 2000));
	ck_assert(d.msg.body.worker_state.has_error);
	check_error(desk_do(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0}), CUA_CONFLICT);
	desk_start_xvfb(&d);
	display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
	check_alive();
}
END_TEST

START_TEST(test_server_that_hangs) {
	ck_assert_int_eq(kill(d.xvfb, SIGSTOP), 0);
	(void)desk_send(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0}, NULL);
	ck_assert(desk_wait_ready(&d, false, 9000));
	check_error(desk_answer(&d, 2000), CUA_CONFLICT);
	ck_assert_int_eq(kill(d.xvfb, SIGCONT), 0);
	ck_assert(desk_wait_ready(&d, true, READY_MS));
	check_alive();
}
END_TEST

/* Something listens where X should: it agrees to everything and then talks nonsense. */
static void fake_server(int listener, unsigned seed) {
	unsigned char junk[4096];
	srand(seed);
	for (size_t i = 0; i < sizeof(junk); i++) {
		junk[i] = (unsigned char)rand();
	}
	junk[0] = 1; /* success */
	if (seed % 2 == 0) {
		/* a sane version and length, so that more of it is believed */
		memcpy(junk + 2, (uint16_t[]){11, 0, (uint16_t)(seed * 37 % 1000)}, 6);
	}
	int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(peer, 0);
	(void)send(peer, junk, sizeof(junk), MSG_NOSIGNAL);
	(void)shutdown(peer, seed % 3 == 0 ? SHUT_WR : SHUT_RDWR);
	(void)close(peer);
}

START_TEST(test_nonsense_instead_of_x) {
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/tmp/.X11-unix/X0"};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
	ck_assert_int_eq(chmod(address.sun_path, 0777), 0);
	desk_start_worker(&d);
	for (unsigned i = 0; i < 12; i++) {
		fake_server(listener, i);
	}
	(void)close(listener);
	desk_start_xvfb(&d);
	display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
	check_alive();
}
END_TEST

START_TEST(test_ends_with_the_supervisor) {
	int status = -1;
	ck_assert_int_eq(shutdown(d.supervisor, SHUT_RDWR), 0);
	ck_assert(desk_worker_ended(&d, 3000, &status));
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

/* ---------------------------------------------------------------- pictures */

START_TEST(test_screenshot) {
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0});
	ck_assert(!result->has_error);
	ck_assert_uint_eq(result->width, DESK_WIDTH);
	ck_assert_uint_eq(d.msg.blob_count, 1);
	struct decoded png;
	ck_assert(decode_png(d.msg.blob[0].data, d.msg.blob[0].len, &png));
	XImage *image = XGetImage(display, DefaultRootWindow(display), 0, 0, DESK_WIDTH,
		DESK_HEIGHT, AllPlanes, ZPixmap);
	for (int y = 0; y < DESK_HEIGHT; y++) {
		for (int x = 0; x < DESK_WIDTH; x++) {
			ck_assert_uint_eq(
				png.pixels[y * DESK_WIDTH + x], XGetPixel(image, x, y) & 0xffffff);
		}
	}
	XDestroyImage(image);
	free(png.pixels);
	uint64_t frame = result->frame;
	result = desk_do(&d, CUA_ACTION_SCREENSHOT,
		&(cua_Args){.has_if_changed_since = true, .if_changed_since = frame});
	ck_assert(result->unchanged);
	ck_assert_uint_eq(d.msg.blob_count, 0);
}
END_TEST

START_TEST(test_formats) {
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_SCREENSHOT,
		&(cua_Args){.has_format = true,
			.format = cua_Format_FORMAT_WEBP,
			.has_scale = true,
			.scale = 0.25});
	struct decoded webp;
	ck_assert(!result->has_error);
	ck_assert(decode_webp(d.msg.blob[0].data, d.msg.blob[0].len, &webp));
	ck_assert_int_eq(webp.width, DESK_WIDTH / 4);
	free(webp.pixels);
	result = desk_do(&d, CUA_ACTION_SCREENSHOT,
		&(cua_Args){.has_format = true,
			.format = cua_Format_FORMAT_JPEG,
			.has_cursor = true,
			.cursor = true,
			.region_count = 4,
			.region = {0, 0, 100, 50}});
	struct decoded jpeg;
	ck_assert(!result->has_error);
	ck_assert(decode_jpeg(d.msg.blob[0].data, d.msg.blob[0].len, &jpeg));
	ck_assert_int_eq(jpeg.height, 50);
	free(jpeg.pixels);
}
END_TEST

/* ---------------------------------------------------------------- input */

static void check_pointer(int x, int y, unsigned buttons) {
	Window window = None;
	int at[2];
	int ignored[2];
	unsigned mask = 0;
	XQueryPointer(display, DefaultRootWindow(display), &window, &window, &at[0], &at[1],
		&ignored[0], &ignored[1], &mask);
	ck_assert_int_eq(at[0], x);
	ck_assert_int_eq(at[1], y);
	ck_assert_uint_eq(mask & (Button1Mask | Button2Mask | Button3Mask), buttons);
}

static cua_Args at(int x, int y) {
	return (cua_Args){.has_x = true, .x = x, .has_y = true, .y = y};
}

START_TEST(test_move) {
	cua_Args args = at(100, 50);
	ck_assert(!desk_do(&d, CUA_ACTION_MOVE, &args)->has_error);
	check_pointer(100, 50, 0);
	args = at(-30, 10);
	args.has_relative = true;
	args.relative = true;
	ck_assert(!desk_do(&d, CUA_ACTION_MOVE, &args)->has_error);
	check_pointer(70, 60, 0);
	args = at(319, 0);
	args.space_count = 2;
	args.space[0] = 320;
	args.space[1] = 200;
	ck_assert(!desk_do(&d, CUA_ACTION_MOVE, &args)->has_error);
	check_pointer(1278, 2, 0);
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_CURSOR_POSITION, &(cua_Args){0});
	ck_assert_int_eq(result->x, 1278);
	ck_assert_int_eq(result->y, 2);
	args = at(320, 0);
	args.space_count = 2;
	args.space[0] = 320;
	args.space[1] = 200;
	check_error(desk_do(&d, CUA_ACTION_MOVE, &args), CUA_OUT_OF_SCREEN);
	args = at(0, DESK_HEIGHT);
	check_error(desk_do(&d, CUA_ACTION_MOVE, &args), CUA_OUT_OF_SCREEN);
	ck_assert_str_eq(d.msg.body.action_result.error.subject, "y");
	check_pointer(1278, 2, 0);
}
END_TEST

START_TEST(test_leases) {
	cua_Args args = at(10, 10);
	ck_assert(!desk_do(&d, CUA_ACTION_MOUSE_DOWN, &args)->has_error);
	check_pointer(10, 10, Button1Mask);
	cua_LeaseEnd end = {.lease = 1};
	ck_assert_int_eq(
		cua_msg_send(d.front, &(struct cua_out){.type = CUA_MSG_LEASE_END, .body = &end},
			&d.err),
		0);
	check_alive();
	check_pointer(10, 10, 0);
	ck_assert(!desk_do(&d, CUA_ACTION_MOUSE_DOWN, &args)->has_error);
	desk_link(&d); /* cuad died: nobody holds anything */
	check_alive();
	check_pointer(10, 10, 0);
	ck_assert(!desk_do(&d, CUA_ACTION_MOUSE_DOWN, &args)->has_error);
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_RELEASE_ALL, &(cua_Args){0});
	ck_assert_uint_eq(result->released, 1);
	check_pointer(10, 10, 0);
}
END_TEST

/* A window that paints itself anew when it is clicked: the effect of a click. */
static void wait_event(int type) {
	XEvent event;
	do {
		(void)XNextEvent(display, &event);
	} while (event.type != type);
}

START_TEST(test_effect) {
	Window window = XCreateSimpleWindow(
		display, DefaultRootWindow(display), 640, 384, 128, 128, 0, 0, 0x112233);
	XSelectInput(display, window, ButtonPressMask | ExposureMask);
	XMapRaised(display, window);
	wait_event(Expose);
	cua_Args args = at(700, 450);
	args.has_settle = true;
	args.settle = 150;
	uint32_t serial = desk_send(&d, CUA_ACTION_CLICK, &args, NULL);
	wait_event(ButtonPress);
	XSetWindowBackground(display, window, 0xaabbcc);
	XClearWindow(display, window);
	XSync(display, False);
	const cua_ActionResult *result = desk_answer(&d, READY_MS);
	ck_assert_uint_eq(result->serial, serial);
	ck_assert_int_eq(result->effect, cua_Effect_EFFECT_CHANGED);
	ck_assert(result->settled);
	ck_assert_uint_eq(result->changed_count, 1);
	ck_assert_int_eq(result->changed[0].x, 640);
	ck_assert_int_eq(result->changed[0].y, 384);
	ck_assert_int_eq(result->changed[0].width, 128);
	ck_assert_int_eq(result->changed[0].height, 128);
	ck_assert_uint_ge(result->elapsed_us, 150000);
	result = desk_do(&d, CUA_ACTION_CLICK, &args); /* nobody reacts */
	ck_assert_int_eq(result->effect, cua_Effect_EFFECT_UNCHANGED);
	ck_assert_uint_eq(result->changed_count, 0);
	args.settle = 0;
	result = desk_do(&d, CUA_ACTION_CLICK, &args);
	ck_assert_int_eq(result->effect, cua_Effect_EFFECT_UNKNOWN);
}
END_TEST

/* A long text keeps nobody else waiting, and ends with the connection that asked for it. */
START_TEST(test_long_text) {
	static char text[100001];
	memset(text, 'x', sizeof(text) - 1);
	uint32_t type = desk_send(&d, CUA_ACTION_TYPE, &(cua_Args){.has_text = true}, text);
	for (int i = 0; i < 10; i++) {
		uint32_t shot = desk_send(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0}, NULL);
		const cua_ActionResult *result = desk_answer(&d, READY_MS);
		ck_assert_uint_eq(result->serial, shot);
		ck_assert_uint_lt(result->elapsed_us, 1000000);
	}
	cua_LeaseEnd end = {.lease = 1};
	ck_assert_int_eq(
		cua_msg_send(d.front, &(struct cua_out){.type = CUA_MSG_LEASE_END, .body = &end},
			&d.err),
		0);
	const cua_ActionResult *result = desk_answer(&d, READY_MS);
	ck_assert_uint_eq(result->serial, type);
	check_error(result, CUA_CONFLICT);
	check_alive();
	char keys[32];
	XQueryKeymap(display, keys);
	for (size_t i = 0; i < sizeof(keys); i++) {
		ck_assert_int_eq(keys[i], 0);
	}
}
END_TEST

START_TEST(test_order) {
	uint32_t type = desk_send(&d, CUA_ACTION_TYPE,
		&(cua_Args){.has_text = true, .has_delay = true, .delay = 40}, "twelve chars");
	cua_Args args = at(33, 44);
	uint32_t move = desk_send(&d, CUA_ACTION_MOVE, &args, NULL);
	uint32_t shot = desk_send(&d, CUA_ACTION_SCREENSHOT, &(cua_Args){0}, NULL);
	ck_assert_uint_eq(desk_answer(&d, READY_MS)->serial, shot);
	ck_assert_uint_eq(desk_answer(&d, READY_MS)->serial, type);
	const cua_ActionResult *result = desk_answer(&d, READY_MS);
	ck_assert_uint_eq(result->serial, move);
	ck_assert(!result->has_error);
}
END_TEST

START_TEST(test_keys_and_windows) {
	cua_Args args = {.keys_count = 2,
		.keys = {"ctrl+shift+t", "Escape"},
		.has_repeat = true,
		.repeat = 50};
	ck_assert(!desk_do(&d, CUA_ACTION_KEY, &args)->has_error);
	args = (cua_Args){.keys_count = 1, .keys = {"a"}, .has_hold = true, .hold = 100};
	ck_assert_uint_ge(desk_do(&d, CUA_ACTION_KEY, &args)->elapsed_us, 100000);
	args = (cua_Args){.keys_count = 1, .keys = {"shifft"}};
	check_error(desk_do(&d, CUA_ACTION_KEY, &args), CUA_INVALID);
	args = (cua_Args){.path_points_count = 4,
		.path_points = {10, 10, 200, 100},
		.has_duration = true,
		.duration = 60,
		.modifiers_count = 1,
		.modifiers = {"ctrl"}};
	ck_assert(!desk_do(&d, CUA_ACTION_DRAG, &args)->has_error);
	check_pointer(200, 100, 0);
	char keys[32];
	XQueryKeymap(display, keys);
	for (size_t i = 0; i < sizeof(keys); i++) {
		ck_assert_int_eq(keys[i], 0);
	}
	ck_assert(!desk_do(&d, CUA_ACTION_WINDOWS, &(cua_Args){0})->has_error);
}
END_TEST

START_TEST(test_waiting) {
	const cua_ActionResult *result =
		desk_do(&d, CUA_ACTION_WAIT, &(cua_Args){.has_ms = true, .ms = 120});
	ck_assert_uint_ge(result->elapsed_us, 119000);
	result = desk_do(&d, CUA_ACTION_WAIT_SETTLED, &(cua_Args){.has_quiet = true, .quiet = 100});
	ck_assert(result->settled);
	ck_assert_uint_ge(result->elapsed_us, 100000);
	uint32_t later =
		desk_send(&d, CUA_ACTION_WAIT, &(cua_Args){.has_ms = true, .ms = 300}, NULL);
	uint32_t sooner =
		desk_send(&d, CUA_ACTION_WAIT, &(cua_Args){.has_ms = true, .ms = 10}, NULL);
	ck_assert_uint_eq(desk_answer(&d, 2000)->serial, sooner);
	result = desk_answer(&d, 2000);
	ck_assert_uint_eq(result->serial, later);
	ck_assert_uint_ge(result->elapsed_us, 299000);
}
END_TEST

/* ---------------------------------------------------------------- a hostile cuad */

START_TEST(test_bad_arguments) {
	const struct {
		int action;
		enum cua_code code;
		cua_Args args;
	} bad[] = {
		{CUA_ACTION_MOVE, CUA_INVALID, {0}},
		{CUA_ACTION_MOVE, CUA_INVALID, {.has_x = true, .x = INT32_MIN, .has_y = true}},
		{CUA_ACTION_CLICK, CUA_INVALID, {.has_x = true, .x = 3}},
		{CUA_ACTION_CLICK, CUA_INVALID, {.has_count = true, .count = 4000000000u}},
		{CUA_ACTION_CLICK, CUA_INVALID, {.has_button = true, .button = (cua_Button)77}},
		{CUA_ACTION_CLICK, CUA_INVALID, {.space_count = 1, .space = {5}}},
		{CUA_ACTION_CLICK, CUA_INVALID, {.space_count = 2, .space = {0, -1}}},
		{CUA_ACTION_CLICK, CUA_INVALID, {.modifiers_count = 1, .modifiers = {"nokey"}}},
		{CUA_ACTION_SCROLL, CUA_INVALID, {.has_dy = true, .dy = INT32_MIN}},
		{CUA_ACTION_DRAG, CUA_INVALID, {.path_points_count = 3, .path_points = {1, 2, 3}}},
		{CUA_ACTION_DRAG, CUA_INVALID, {.path_points_count = 2, .path_points = {1, 2}}},
		{CUA_ACTION_DRAG, CUA_OUT_OF_SCREEN,
			{.path_points_count = 4, .path_points = {1, 2, INT32_MAX, INT32_MIN}}},
		{CUA_ACTION_KEY, CUA_INVALID, {0}},
		{CUA_ACTION_KEY, CUA_INVALID,
			{.keys_count = 1, .keys = {"a"}, .has_repeat = true, .repeat = 0}},
		{CUA_ACTION_TYPE, CUA_INVALID, {0}},
		{CUA_ACTION_TYPE, CUA_INVALID, {.has_text = true, .text = 4000000000u}},
		{CUA_ACTION_WAIT, CUA_INVALID, {.has_ms = true, .ms = 60001}},
		{CUA_ACTION_WAIT_SETTLED, CUA_INVALID, {.has_quiet = true}},
		{CUA_ACTION_SCREENSHOT, CUA_INVALID, {.has_scale = true, .scale = NAN}},
		{CUA_ACTION_SCREENSHOT, CUA_INVALID, {.has_scale = true, .scale = INFINITY}},
		{CUA_ACTION_SCREENSHOT, CUA_INVALID, {.has_format = true, .format = (cua_Format)9}},
		{CUA_ACTION_SCREENSHOT, CUA_INVALID, {.region_count = 3, .region = {1, 2, 3}}},
		{CUA_ACTION_SCREENSHOT, CUA_OUT_OF_SCREEN,
			{.region_count = 4,
				.region = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}}},
		{CUA_ACTION_SCREENSHOT, CUA_INVALID, {.max_count = 2, .max = {0, 10}}},
		{CUA_ACTION_SCREENSHOT, CUA_INVALID, {.has_quality = true, .quality = 101}},
		{CUA_ACTION_EXEC, CUA_BAD_REQUEST, {0}},
		{CUA_ACTION_MAX_, CUA_BAD_REQUEST, {0}},
		{-1, CUA_BAD_REQUEST, {0}},
	};
	for (size_t i = 0; i < CUA_COUNT(bad); i++) {
		const cua_ActionResult *result = desk_do(&d, bad[i].action, &bad[i].args);
		ck_assert_msg(result->has_error && result->error.code == (uint32_t)bad[i].code,
			"row %zu: %s", i, result->has_error ? result->error.message : "no error");
	}
	(void)desk_send(&d, CUA_ACTION_TYPE, &(cua_Args){.has_text = true}, "\xff\xfe");
	check_error(desk_answer(&d, READY_MS), CUA_INVALID);
	check_alive();
}
END_TEST

/* Whatever the peer sends, the edge is closed and nothing else happens. */
static void check_dropped(void) {
	while (desk_receive(&d, d.front, CUA_DIR_WORKER_TO_CUAD, READY_MS)) {
	}
	ck_assert_int_eq(d.err.code, CUA_NOT_FOUND);
	desk_link(&d);
	check_alive();
}

START_TEST(test_broken_protocol) {
	char junk[70000];
	srand(3);
	for (size_t i = 0; i < sizeof(junk); i++) {
		junk[i] = (char)rand();
	}
	const size_t lengths[] = {1, 7, 24, 100, 5000, 65536, 70000};
	for (size_t i = 0; i < CUA_COUNT(lengths); i++) {
		ck_assert_int_gt(send(d.front, junk, lengths[i], 0), 0);
		check_dropped();
	}
	/* a second greeting; another build; a message that is not for it */
	ck_assert_int_eq(cua_hello_send(d.front, &d.err), 0);
	check_dropped();
	cua_WorkerState state = {0};
	ck_assert_int_eq(
		cua_msg_send(d.front,
			&(struct cua_out){.type = CUA_MSG_WORKER_STATE, .body = &state}, &d.err),
		0);
	check_dropped();
}
END_TEST

/* Takes requests until the pictures that nobody fetches fill its queue, then waits; goes on when they
 * are fetched. */
START_TEST(test_peer_that_does_not_read) {
	cua_ActionRequest request = {.action = CUA_ACTION_SCREENSHOT,
		.lease = 1,
		.args = {.has_cursor = true, .cursor = true}};
	const struct cua_out out = {.type = CUA_MSG_ACTION_REQUEST, .body = &request};
	uint32_t sent = 0;
	int r = 0;
	for (struct pollfd p = {.fd = d.front, .events = POLLOUT}; poll(&p, 1, 1500) == 1;) {
		request.serial = sent + 1;
		r = cua_msg_send(d.front, &out, &d.err);
		ck_assert(r == 0 || r == -CUA_EXHAUSTED);
		sent += r == 0;
		ck_assert_uint_lt(sent, 3000);
	}
	printf("%u pictures asked for before it stopped\n", sent);
	for (uint32_t i = 1; i <= sent; i++) {
		ck_assert_uint_eq(desk_answer(&d, READY_MS)->serial, i);
	}
	check_alive();
	for (int i = 0; i < 100; i++) {
		(void)!cua_msg_send(d.front, &out, &d.err);
	}
	desk_link(&d);
	check_alive();
}
END_TEST

START_TEST(test_many_at_once) {
	for (int i = 0; i < CUA_JOBS_MAX + 20; i++) {
		(void)desk_send(&d, CUA_ACTION_WAIT, &(cua_Args){.has_ms = true, .ms = 300}, NULL);
		if (i >= CUA_JOBS_MAX) {
			check_error(desk_answer(&d, READY_MS), CUA_EXHAUSTED);
		}
	}
	for (int i = 0; i < CUA_JOBS_MAX; i++) {
		ck_assert(!desk_answer(&d, READY_MS)->has_error);
	}
	check_alive();
}
END_TEST

int main(void) {
	const TTest *const in_start[] = {test_waits_for_x, test_not_ready_before_it_is_painted,
		test_manager_that_announces_itself_in_two_steps,
		test_manager_that_comes_while_the_screen_changes, test_ready_without_a_manager,
		test_nonsense_instead_of_x};
	const TTest *const in_worker[] = {test_ready_tells_phases, test_server_comes_back,
		test_server_that_hangs, test_ends_with_the_supervisor, test_screenshot,
		test_formats, test_move, test_leases, test_effect, test_long_text, test_order,
		test_keys_and_windows, test_waiting, test_bad_arguments, test_broken_protocol,
		test_peer_that_does_not_read, test_many_at_once};
	const struct suite_case cases[] = {
		{.name = "start",
			.setup = setup_bare,
			.teardown = teardown,
			.seconds = 60,
			.tests = in_start,
			.count = CUA_COUNT(in_start)},
		{.name = "worker",
			.setup = setup,
			.teardown = teardown,
			.seconds = 60,
			.tests = in_worker,
			.count = CUA_COUNT(in_worker)},
	};
	return suite_run_cases("worker", cases, CUA_COUNT(cases));
}
