/* Who holds keys and buttons, and what is left of them when an action fails or its owner, its worker or
 * cuad dies: what a window of the session receives under a real worker. */
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <X11/Xlib.h>
#include <X11/keysym.h>

#include "tests/lib/desk.h"
#include "tests/lib/recorder.h"
#include "tests/lib/suite.h"

#define READY_MS 10000
#define A 2 /* leases */
#define B 3

static struct {
	struct desk desk;
	struct recorder rec;
	Display *display;
} s;

static void set_up(void) {
	desk_init(&s.desk);
	desk_start_xvfb(&s.desk);
	ck_assert_int_eq(setenv("DISPLAY", ":0", 1), 0);
	desk_start_worker(&s.desk);
	s.display = desk_paint();
	ck_assert(desk_wait_ready(&s.desk, true, READY_MS));
	ck_assert(recorder_open(&s.rec));
	s.desk.lease = A;
	ck_assert(!desk_do(&s.desk, CUA_ACTION_MOVE,
		&(cua_Args){.has_x = true, .x = 200, .has_y = true, .y = 200})
			   ->has_error);
	recorder_clear(&s.rec);
}

static void tear_down(void) {
	recorder_close(&s.rec);
	(void)XCloseDisplay(s.display);
	desk_done(&s.desk);
}

/* ---------------------------------------------------------------- actions */

static const cua_ActionResult *act(uint32_t lease, int action, const cua_Args *args) {
	s.desk.lease = lease;
	return desk_do(&s.desk, action, args);
}

static void done(uint32_t lease, int action, const cua_Args *args) {
	const cua_ActionResult *result = act(lease, action, args);
	ck_assert_msg(!result->has_error, "%s", result->error.message);
}

static cua_Args at(int x, int y) {
	return (cua_Args){.has_x = true, .x = x, .has_y = true, .y = y};
}

static cua_Args key(const char *name) {
	cua_Args args = {.keys_count = 1};
	(void)snprintf(args.keys[0], sizeof(args.keys[0]), "%s", name);
	return args;
}

static cua_Args with(cua_Args args, const char *modifier) {
	args.modifiers_count = 1;
	(void)snprintf(args.modifiers[0], sizeof(args.modifiers[0]), "%s", modifier);
	return args;
}

static cua_Args button(cua_Button number) {
	return (cua_Args){.has_button = true, .button = number};
}

static void lease_ends(uint32_t lease) {
	cua_LeaseEnd end = {.lease = lease};
	ck_assert_int_eq(
		cua_msg_send(s.desk.front,
			&(struct cua_out){.type = CUA_MSG_LEASE_END, .body = &end}, &s.desk.err),
		0);
}

/* Receives all that the worker has done. */
static void settle(void) {
	done(99, CUA_ACTION_CURSOR_POSITION, &(cua_Args){0});
	recorder_read(&s.rec);
}

static void check_nothing_held(void) {
	char keys[32];
	Window window = None;
	int ignored = 0;
	unsigned mask = 0;
	settle();
	XQueryKeymap(s.display, keys);
	for (size_t i = 0; i < sizeof(keys); i++) {
		ck_assert_int_eq(keys[i], 0);
	}
	XQueryPointer(s.display, DefaultRootWindow(s.display), &window, &window, &ignored, &ignored,
		&ignored, &ignored, &mask);
	ck_assert_uint_eq(mask, 0);
}

static unsigned mask_now(void) {
	Window window = None;
	int ignored = 0;
	unsigned mask = 0;
	settle();
	XQueryPointer(s.display, DefaultRootWindow(s.display), &window, &window, &ignored, &ignored,
		&ignored, &ignored, &mask);
	return mask;
}

/* ---------------------------------------------------------------- errors */

static void check_refused(const char *what, int action, cua_Args args, enum cua_code code) {
	args = with(args, "super");
	const cua_ActionResult *result = act(A, action, &args);
	ck_assert_msg(result->has_error && result->error.code == (uint32_t)code, "%s: %s", what,
		result->has_error ? result->error.message : "no error");
	settle();
	ck_assert_msg(s.rec.count == 0, "%s: something happened", what);
}

START_TEST(errors_change_nothing) {
	cua_Args args = at(1280, 100);
	check_refused("click outside", CUA_ACTION_CLICK, args, CUA_OUT_OF_SCREEN);
	check_refused("move outside", CUA_ACTION_MOVE, at(5, 800), CUA_OUT_OF_SCREEN);
	check_refused("scroll outside", CUA_ACTION_SCROLL, at(-1, 5), CUA_OUT_OF_SCREEN);
	check_refused("press outside", CUA_ACTION_MOUSE_DOWN, at(5, -1), CUA_OUT_OF_SCREEN);
	args = at(-250, 0);
	args.has_relative = true;
	args.relative = true;
	check_refused("step outside", CUA_ACTION_MOVE, args, CUA_OUT_OF_SCREEN);
	args = at(640, 100);
	args.space_count = 2;
	args.space[0] = 640;
	args.space[1] = 400;
	check_refused("outside the picture", CUA_ACTION_CLICK, args, CUA_OUT_OF_SCREEN);
	args = (cua_Args){.path_points_count = 6, .path_points = {150, 150, 1280, 150, 300, 300}};
	check_refused("a path by outside", CUA_ACTION_DRAG, args, CUA_OUT_OF_SCREEN);
	args = at(150, 150);
	args.has_button = true;
	args.button = (cua_Button)5;
	check_refused("no such button", CUA_ACTION_CLICK, args, CUA_INVALID);
	check_refused("no such key", CUA_ACTION_KEY, key("frobnicate"), CUA_INVALID);
	done(B, CUA_ACTION_MOUSE_DOWN, &(cua_Args){0});
	recorder_clear(&s.rec);
	check_refused("a held button", CUA_ACTION_CLICK, at(150, 150), CUA_CONFLICT);
	args = (cua_Args){.path_points_count = 4, .path_points = {150, 150, 300, 300}};
	check_refused("a drag with it", CUA_ACTION_DRAG, args, CUA_CONFLICT);
	lease_ends(B);
	check_nothing_held();
}
END_TEST

/* The middle of the picture's pixel: of 4x4 pixels here. */
START_TEST(scales_to_the_middle) {
	const int points[][4] = {{0, 0, 2, 2}, {319, 199, 1278, 798}, {50, 50, 202, 202}};
	for (size_t i = 0; i < CUA_COUNT(points); i++) {
		cua_Args args = at(points[i][0], points[i][1]);
		args.space_count = 2;
		args.space[0] = 320;
		args.space[1] = 200;
		done(A, CUA_ACTION_MOVE, &args);
		const cua_ActionResult *r = act(A, CUA_ACTION_CURSOR_POSITION, &(cua_Args){0});
		ck_assert_int_eq(r->x, points[i][2]);
		ck_assert_int_eq(r->y, points[i][3]);
	}
}
END_TEST

START_TEST(scrolling_by_nothing_is_nothing) {
	done(A, CUA_ACTION_SCROLL, &(cua_Args){.has_dx = true, .has_dy = true});
	done(A, CUA_ACTION_SCROLL, &(cua_Args){0});
	settle();
	ck_assert_uint_eq(s.rec.count, 0);
	done(A, CUA_ACTION_SCROLL,
		&(cua_Args){.has_dx = true, .dx = 100, .has_dy = true, .dy = -100});
	settle();
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_PRESS, 7), 100);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 4), 100);
	ck_assert_uint_eq(s.rec.count, 400);
}
END_TEST

/* ---------------------------------------------------------------- modifiers */

START_TEST(modifiers_are_held_for_the_action) {
	const cua_Args click = with(at(210, 210), "ctrl");
	done(A, CUA_ACTION_CLICK, &click);
	settle();
	ck_assert_int_eq(s.rec.record[0].type, RECORD_KEY_DOWN);
	ck_assert_uint_eq(s.rec.record[0].keysym, XK_Control_L);
	for (size_t i = 0; i < s.rec.count; i++) {
		if (s.rec.record[i].type == RECORD_PRESS) {
			ck_assert_uint_eq(s.rec.record[i].state, ControlMask);
		}
	}
	ck_assert_int_eq(s.rec.record[s.rec.count - 1].type, RECORD_KEY_UP);
	recorder_clear(&s.rec);
	cua_Args drag = {.path_points_count = 4, .path_points = {150, 150, 300, 300}};
	drag = with(drag, "shift");
	done(A, CUA_ACTION_DRAG, &drag);
	settle();
	for (size_t i = 1; i + 1 < s.rec.count; i++) {
		ck_assert_uint_eq(s.rec.record[i].state & ShiftMask, ShiftMask);
	}
	check_nothing_held();
	/* One that its owner holds anyway stays. */
	const cua_Args ctrl = key("ctrl");
	done(A, CUA_ACTION_KEY_DOWN, &ctrl);
	done(A, CUA_ACTION_CLICK, &click);
	ck_assert_uint_eq(mask_now(), ControlMask);
	lease_ends(A);
	check_nothing_held();
}
END_TEST

/* ---------------------------------------------------------------- owners */

START_TEST(two_owners_of_one_key) {
	const cua_Args ctrl = key("ctrl");
	done(A, CUA_ACTION_KEY_DOWN, &ctrl);
	done(B, CUA_ACTION_KEY_DOWN, &ctrl);
	done(A, CUA_ACTION_KEY_DOWN, &ctrl);
	done(A, CUA_ACTION_MOUSE_DOWN, &(cua_Args){0});
	done(B, CUA_ACTION_MOUSE_DOWN, &(cua_Args){0});
	ck_assert_uint_eq(mask_now(), ControlMask | Button1Mask);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_PRESS, 1), 1);
	done(A, CUA_ACTION_MOUSE_UP, &(cua_Args){0});
	lease_ends(A);
	ck_assert_uint_eq(mask_now(), ControlMask | Button1Mask);
	done(A, CUA_ACTION_KEY_UP, &ctrl); /* not its own any more */
	done(A, CUA_ACTION_MOUSE_UP, &(cua_Args){0});
	ck_assert_uint_eq(mask_now(), ControlMask | Button1Mask);
	lease_ends(B);
	check_nothing_held();
}
END_TEST

START_TEST(buttons_one_by_one) {
	done(A, CUA_ACTION_MOUSE_UP, &(cua_Args){0}); /* not down: nothing */
	settle();
	ck_assert_uint_eq(s.rec.count, 0);
	done(A, CUA_ACTION_MOUSE_DOWN, &(cua_Args){0});
	done(A, CUA_ACTION_MOUSE_DOWN, &(cua_Args){0}); /* down already: nothing */
	const cua_Args right = button(cua_Button_BUTTON_RIGHT);
	done(A, CUA_ACTION_CLICK, &right); /* another one meanwhile */
	settle();
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_PRESS, 1), 1);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_PRESS, 3), 1);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 3), 1);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 1), 0);
	done(A, CUA_ACTION_MOUSE_UP, &(cua_Args){0});
	check_nothing_held();
}
END_TEST

static unsigned long elapsed(const struct timespec *since) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long)((now.tv_sec - since->tv_sec) * 1000 +
			       (now.tv_nsec - since->tv_nsec) / 1000000);
}

/* What takes long ends with its owner: a key that is held, a text that is typed slowly. */
START_TEST(long_actions_end_with_their_owner) {
	cua_Args args = with(key("a"), "ctrl");
	args.has_hold = true;
	args.hold = 30000;
	s.desk.lease = A;
	uint32_t holding = desk_send(&s.desk, CUA_ACTION_KEY, &args, NULL);
	args = (cua_Args){.has_text = true, .has_delay = true, .delay = 1000};
	uint32_t waiting = desk_send(&s.desk, CUA_ACTION_TYPE, &args, "never");
	s.desk.lease = B;
	uint32_t typing = desk_send(&s.desk, CUA_ACTION_TYPE, &args, "a very slow text");
	struct timespec start;
	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	lease_ends(A);
	uint32_t answers[2];
	for (size_t i = 0; i < 2; i++) {
		const cua_ActionResult *result = desk_answer(&s.desk, 1000);
		ck_assert(result->has_error);
		ck_assert_uint_eq(result->error.code, CUA_CONFLICT);
		answers[i] = result->serial;
	}
	ck_assert_uint_eq(answers[0] + answers[1], holding + waiting);
	lease_ends(B);
	ck_assert_uint_eq(desk_answer(&s.desk, 1000)->serial, typing);
	ck_assert_uint_lt(elapsed(&start), 1000);
	check_nothing_held();
}
END_TEST

/* Letting go half-way would drop something there. */
START_TEST(a_drag_reaches_its_end_without_its_owner) {
	cua_Args args = {.path_points_count = 6,
		.path_points = {150, 150, 450, 150, 450, 350},
		.has_duration = true,
		.duration = 20000};
	args = with(args, "ctrl");
	s.desk.lease = A;
	uint32_t serial = desk_send(&s.desk, CUA_ACTION_DRAG, &args, NULL);
	while (recorder_count(&s.rec, RECORD_MOTION, 0) < 10) {
		(void)poll(NULL, 0, 10);
		recorder_read(&s.rec);
	}
	lease_ends(A);
	ck_assert_uint_eq(desk_answer(&s.desk, 2500)->serial, serial);
	check_nothing_held();
	const struct record *up = NULL;
	for (size_t i = 0; i < s.rec.count; i++) {
		up = s.rec.record[i].type == RECORD_RELEASE ? &s.rec.record[i] : up;
	}
	ck_assert_ptr_nonnull(up);
	ck_assert_int_eq(up->x, 450);
	ck_assert_int_eq(up->y, 350);
	ck_assert_uint_eq(up->state & ControlMask, ControlMask);
}
END_TEST

/* ---------------------------------------------------------------- deaths */

static void hold_much(void) {
	const cua_Args shift = key("shift");
	const cua_Args x = key("x");
	const cua_Args back = button(cua_Button_BUTTON_BACK);
	const cua_Args middle = button(cua_Button_BUTTON_MIDDLE);
	done(A, CUA_ACTION_KEY_DOWN, &shift);
	done(B, CUA_ACTION_KEY_DOWN, &x);
	done(A, CUA_ACTION_MOUSE_DOWN, &back);
	done(B, CUA_ACTION_MOUSE_DOWN, &middle);
	cua_Args drag = {.path_points_count = 4,
		.path_points = {150, 150, 450, 350},
		.has_duration = true,
		.duration = 20000};
	drag = with(drag, "ctrl");
	(void)desk_send(&s.desk, CUA_ACTION_DRAG, &drag, NULL);
	while (recorder_count(&s.rec, RECORD_PRESS, 1) == 0) {
		(void)poll(NULL, 0, 10);
		recorder_read(&s.rec);
	}
	recorder_clear(&s.rec);
}

START_TEST(nothing_is_held_after_the_worker_is_killed) {
	int status = 0;
	hold_much();
	(void)kill(s.desk.worker, SIGKILL);
	ck_assert(desk_worker_ended(&s.desk, READY_MS, &status));
	desk_start_worker(&s.desk);
	ck_assert(desk_wait_ready(&s.desk, true, READY_MS));
	check_nothing_held();
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 8), 1);
}
END_TEST

START_TEST(nothing_is_held_after_cuad_is_gone) {
	hold_much();
	desk_link(&s.desk);
	check_nothing_held();
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 8), 1);
}
END_TEST

START_TEST(release_all_lets_go_of_everything) {
	const cua_Args shift = key("shift");
	const cua_Args back = button(cua_Button_BUTTON_BACK);
	done(A, CUA_ACTION_KEY_DOWN, &shift);
	done(B, CUA_ACTION_MOUSE_DOWN, &back);
	ck_assert_uint_eq(act(99, CUA_ACTION_RELEASE_ALL, &(cua_Args){0})->released, 2);
	ck_assert_uint_eq(act(99, CUA_ACTION_RELEASE_ALL, &(cua_Args){0})->released, 0);
	check_nothing_held();
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 8), 1);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {errors_change_nothing, scales_to_the_middle,
		scrolling_by_nothing_is_nothing, modifiers_are_held_for_the_action,
		two_owners_of_one_key, buttons_one_by_one, long_actions_end_with_their_owner,
		a_drag_reaches_its_end_without_its_owner,
		nothing_is_held_after_the_worker_is_killed, nothing_is_held_after_cuad_is_gone,
		release_all_lets_go_of_everything};
	const struct suite_case cases[] = {
		{.name = "leases",
			.setup = set_up,
			.teardown = tear_down,
			.seconds = 60,
			.tests = tests,
			.count = CUA_COUNT(tests)},
	};
	return suite_run_cases("lease", cases, CUA_COUNT(cases));
}
