/* Mouse and keys into a real window on a real Xvfb. */
#include <check.h>
#include <poll.h>
#include <stdlib.h>

#include <X11/XKBlib.h>
#include <X11/keysym.h>

#include "desktop/drag.h"
#include "desktop/input.h"
#include "desktop/x11_priv.h"
#include "tests/lib/recorder.h"
#include "tests/lib/suite.h"
#include "tests/lib/xvfb.h"

#define A 1 /* leases */
#define B 2

static struct {
	struct xvfb xvfb;
	struct x11 *x;
	struct input *in;
	struct recorder rec;
	struct cua_err err;
} s;

#define OK(call)                                                                                   \
	do {                                                                                       \
		int ok_ = (call);                                                                  \
		ck_assert_msg(ok_ == 0, "%s gave %d: %s", #call, ok_, s.err.message);              \
	} while (0)

static void set_up(void) {
	ck_assert(xvfb_start(&s.xvfb, "1280x800x24"));
	s.x = x11_open(s.xvfb.display, &s.err);
	ck_assert_msg(s.x != NULL, "%s", s.err.message);
	s.in = input_new(s.x, &s.err);
	ck_assert_msg(s.in != NULL, "%s", s.err.message);
	ck_assert(recorder_open(&s.rec));
	OK(input_move(s.in, 200, 200, &s.err));
	OK(x11_sync(s.x, &s.err));
	recorder_clear(&s.rec);
}

static void tear_down(void) {
	recorder_close(&s.rec);
	s.in = input_free(s.in);
	s.x = x11_close(s.x);
	xvfb_stop(&s.xvfb);
}

/* Waits for the server and receives what came of it. */
static void settle(void) {
	OK(x11_sync(s.x, &s.err));
	recorder_read(&s.rec);
}

static unsigned state(void) {
	XkbStateRec st = {0};
	(void)XkbGetState(s.x->display, XkbUseCoreKbd, &st);
	return st.mods;
}

static struct keymap_chord chord(const char *text) {
	struct keymap_chord c = {.count = 0};
	OK(keymap_chord(text, &c, &s.err));
	return c;
}

START_TEST(moves_and_tells_the_position) {
	int x = 0;
	int y = 0;
	OK(input_move(s.in, 0, 0, &s.err));
	OK(input_move(s.in, 1279, 799, &s.err));
	OK(input_position(s.in, &x, &y, &s.err));
	ck_assert_int_eq(x, 1279);
	ck_assert_int_eq(y, 799);
	const int outside[][2] = {{-1, 5}, {1280, 5}, {5, -1}, {5, 800}, {100000, 100000}};
	for (size_t i = 0; i < CUA_COUNT(outside); i++) {
		ck_assert_int_eq(
			input_move(s.in, outside[i][0], outside[i][1], &s.err), -CUA_OUT_OF_SCREEN);
	}
	OK(input_position(s.in, &x, &y, &s.err));
	ck_assert_int_eq(x, 1279);
}
END_TEST

/* Waits, as a caller has to, while programs would count the click with the one before. */
static int click(cua_Button button, unsigned count) {
	int r = 0;
	while ((r = input_click(s.in, button, count, &s.err)) > 0) {
		(void)poll(NULL, 0, r);
	}
	return r;
}

START_TEST(clicks_every_button_once_twice_three_times) {
	static const unsigned numbers[] = {1, 2, 3, 8, 9};
	for (unsigned b = 0; b < CUA_COUNT(numbers); b++) {
		for (unsigned count = 1; count <= 3; count++) {
			recorder_clear(&s.rec);
			OK(click((cua_Button)b, count));
			settle();
			ck_assert_uint_eq(s.rec.count, 2 * count);
			for (size_t i = 0; i < s.rec.count; i++) {
				const struct record *r = &s.rec.record[i];
				ck_assert_int_eq(r->type, i % 2 ? RECORD_RELEASE : RECORD_PRESS);
				ck_assert_uint_eq(r->code, numbers[b]);
				ck_assert_int_eq(r->x, 200);
			}
			/* GTK's limit is 250 ms, the shortest of the toolkits. */
			ck_assert_uint_lt(
				s.rec.record[s.rec.count - 1].time - s.rec.record[0].time, 200);
		}
	}
	ck_assert_int_eq(input_click(s.in, (cua_Button)5, 1, &s.err), -CUA_INVALID);
	ck_assert_int_eq(input_click(s.in, cua_Button_BUTTON_LEFT, 0, &s.err), -CUA_INVALID);
	ck_assert_int_eq(input_click(s.in, cua_Button_BUTTON_LEFT, 4, &s.err), -CUA_INVALID);
}
END_TEST

/* Milliseconds between the two last presses. */
static unsigned long last_gap(void) {
	unsigned long times[2] = {0};
	for (size_t i = 0; i < s.rec.count; i++) {
		if (s.rec.record[i].type == RECORD_PRESS) {
			times[0] = times[1];
			times[1] = s.rec.record[i].time;
		}
	}
	return times[1] - times[0];
}

START_TEST(keeps_clicks_apart_that_do_not_belong_together) {
	const cua_Button left = cua_Button_BUTTON_LEFT;
	OK(click(left, 1));
	OK(click(left, 1)); /* by itself: fast */
	settle();
	ck_assert_uint_lt(last_gap(), 300);
	ck_assert_uint_gt(last_gap(), 0); /* Chromium would not count it */
	ck_assert_int_gt(input_click(s.in, left, 2, &s.err), 500);
	OK(click(cua_Button_BUTTON_RIGHT, 2));
	ck_assert_int_eq(input_click(s.in, cua_Button_BUTTON_RIGHT, 0, &s.err), -CUA_INVALID);
	OK(click(left, 2));
	ck_assert_int_gt(input_click(s.in, left, 1, &s.err), 500);
	OK(input_move(s.in, 260, 200, &s.err));
	OK(click(left, 2)); /* elsewhere: at once */
	settle();
	ck_assert_uint_lt(last_gap(), 200);
	ck_assert_uint_ge(last_gap(), 1);
}
END_TEST

START_TEST(scrolls_by_sign) {
	static const struct {
		int dx;
		int dy;
		unsigned button;
		unsigned clicks;
	} cases[] = {{0, 3, 5, 3}, {0, -2, 4, 2}, {4, 0, 7, 4}, {-1, 0, 6, 1}, {0, 0, 0, 0}};
	for (size_t i = 0; i < CUA_COUNT(cases); i++) {
		recorder_clear(&s.rec);
		OK(input_scroll(s.in, cases[i].dx, cases[i].dy, &s.err));
		settle();
		ck_assert_uint_eq(s.rec.count, 2 * cases[i].clicks);
		ck_assert_uint_eq(
			recorder_count(&s.rec, RECORD_PRESS, cases[i].button), cases[i].clicks);
	}
	ck_assert_int_eq(input_scroll(s.in, 0, 101, &s.err), -CUA_INVALID);
	ck_assert_int_eq(input_scroll(s.in, -101, 0, &s.err), -CUA_INVALID);
}
END_TEST

static void on_event(void *ctx, union _XEvent *event) {
	input_event(ctx, event);
}

/* Between two steps the worker's loop handles events. */
static int drag(const int32_t *points, size_t count, unsigned ms) {
	const struct drag_path path = {points, count};
	struct drag *d = drag_start(s.in, A, cua_Button_BUTTON_LEFT, &path, ms, &s.err);
	if (!d) {
		return -(int)s.err.code;
	}
	int r = 0;
	while ((r = drag_step(d, &s.err)) > 0) {
		(void)poll(NULL, 0, r);
		(void)x11_dispatch(s.x, on_event, s.in);
	}
	d = drag_free(d);
	return r;
}

/* One press at the first point, one release at the last, and motion in between. */
static void check_drag(const int32_t *points, size_t count, size_t moves) {
	const int32_t *end = points + 2 * (count - 1);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_PRESS, 0), 1);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 1), 1);
	const struct record *last = &s.rec.record[s.rec.count - 1];
	ck_assert_int_eq(last->type, RECORD_RELEASE);
	ck_assert_int_eq(last->x, end[0]);
	ck_assert_int_eq(last->y, end[1]);
	size_t held = 0;
	for (size_t i = 0; i < s.rec.count; i++) {
		const struct record *r = &s.rec.record[i];
		held += r->type == RECORD_MOTION && (r->state & Button1Mask);
		if (r->type == RECORD_PRESS) {
			ck_assert_int_eq(r->x, points[0]);
			ck_assert_int_eq(r->y, points[1]);
		}
	}
	ck_assert_uint_ge(held, moves);
}

static bool was_at(int x, int y) {
	for (size_t i = 0; i < s.rec.count; i++) {
		if (s.rec.record[i].x == x && s.rec.record[i].y == y) {
			return true;
		}
	}
	return false;
}

START_TEST(drags_with_motion_by_every_point) {
	static const int32_t path[] = {150, 150, 450, 150, 450, 350, 151, 349};
	static const unsigned durations[] = {300, 40, 1, 0};
	for (size_t i = 0; i < CUA_COUNT(durations); i++) {
		recorder_clear(&s.rec);
		OK(drag(path, 4, durations[i]));
		settle();
		check_drag(path, 4, durations[i] >= 300 ? 15 : 8);
		ck_assert(was_at(450, 150));
		ck_assert(was_at(450, 350));
	}
	ck_assert_uint_ge(s.rec.record[s.rec.count - 1].time, s.rec.record[0].time);
}
END_TEST

START_TEST(drags_on_the_spot) {
	static const int32_t path[] = {150, 150, 150, 150};
	recorder_clear(&s.rec);
	OK(drag(path, 2, 20));
	settle();
	check_drag(path, 2, 0);
}
END_TEST

START_TEST(refuses_bad_drags) {
	static const int32_t outside[] = {150, 150, 1280, 150};
	static const int32_t fine[] = {150, 150, 160, 160};
	ck_assert_int_eq(drag(outside, 2, 10), -CUA_OUT_OF_SCREEN);
	ck_assert_int_eq(drag(fine, 1, 10), -CUA_INVALID);
	OK(input_button_down(s.in, B, cua_Button_BUTTON_LEFT, &s.err));
	ck_assert_int_eq(drag(fine, 2, 10), -CUA_CONFLICT);
	ck_assert_int_eq(input_click(s.in, cua_Button_BUTTON_LEFT, 1, &s.err), -CUA_CONFLICT);
	OK(input_button_up(s.in, B, cua_Button_BUTTON_LEFT, &s.err));
	settle();
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_PRESS, 0), 1);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_MOTION, 0), 0);
}
END_TEST

START_TEST(releases_a_drag_that_is_given_up) {
	static const int32_t path[] = {150, 150, 450, 350};
	const struct drag_path p = {path, 2};
	struct drag *d = drag_start(s.in, A, cua_Button_BUTTON_RIGHT, &p, 1000, &s.err);
	ck_assert_ptr_nonnull(d);
	ck_assert_int_gt(drag_step(d, &s.err), 0);
	d = drag_free(d);
	settle();
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_PRESS, 3), 1);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 3), 1);
	OK(click(cua_Button_BUTTON_RIGHT, 1));
}
END_TEST

/* Begins to drag something again and again, as fast as it can be seen; its pid. */
static pid_t drag_endlessly(void) {
	pid_t pid = fork();
	if (pid == 0) {
		Display *other = XOpenDisplay(s.xvfb.display);
		Window window =
			XCreateSimpleWindow(other, DefaultRootWindow(other), -5, -5, 1, 1, 0, 0, 0);
		Atom selection = XInternAtom(other, "XdndSelection", False);
		for (;;) {
			(void)XSetSelectionOwner(other, selection, window, CurrentTime);
			(void)XSync(other, False);
			(void)poll(NULL, 0, 10);
		}
	}
	return pid;
}

START_TEST(drops_what_is_dragged_again_and_again) {
	const int32_t path[] = {10, 10, 300, 300};
	pid_t pid = drag_endlessly();
	OK(drag(path, 2, 300));
	xvfb_kill(pid);
	settle();
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 1), 1);
}
END_TEST

START_TEST(presses_chords_in_order) {
	const struct keymap_chord c = chord("ctrl+shift+t");
	OK(input_keys_down(s.in, A, &c, &s.err));
	input_keys_up(s.in, A, &c);
	settle();
	static const unsigned long want[] = {
		XK_Control_L, XK_Shift_L, XK_T, XK_T, XK_Shift_L, XK_Control_L};
	ck_assert_uint_eq(s.rec.count, 6);
	for (size_t i = 0; i < 6; i++) {
		ck_assert_int_eq(s.rec.record[i].type, i < 3 ? RECORD_KEY_DOWN : RECORD_KEY_UP);
		ck_assert_uint_eq(s.rec.record[i].keysym, want[i]);
	}
	ck_assert_uint_eq(s.rec.record[2].state, ControlMask | ShiftMask);
}
END_TEST

START_TEST(presses_what_a_sign_needs) {
	const struct keymap_chord c = chord("ctrl+exclam");
	OK(input_keys_down(s.in, A, &c, &s.err));
	ck_assert_uint_eq(state(), ControlMask | ShiftMask);
	input_keys_up(s.in, A, &c);
	ck_assert_uint_eq(state(), 0);
	settle();
	ck_assert_uint_eq(s.rec.record[2].keysym, XK_exclam);
}
END_TEST

START_TEST(presses_keys_that_the_layout_lacks) {
	static const struct {
		const char *name;
		unsigned long keysym;
	} cases[] = {{"U+20AC", 0x010020ac}, {"é", XK_eacute}, {"É", XK_Eacute},
		{"XF86AudioMute", 0x1008ff12}, {"F24", XK_F24}, {"KP_5", XK_KP_5},
		{"numpad7", XK_KP_7}, {"altgr", XK_ISO_Level3_Shift}, {"menu", XK_Menu}};
	for (size_t i = 0; i < CUA_COUNT(cases); i++) {
		const struct keymap_chord c = chord(cases[i].name);
		recorder_clear(&s.rec);
		int r = 0;
		while ((r = input_keys_down(s.in, A, &c, &s.err)) > 0) {
			(void)poll(NULL, 0, r);
			recorder_read(&s.rec);
		}
		OK(r);
		settle();
		input_keys_up(s.in, A, &c);
		bool found = false;
		for (size_t k = 0; k < s.rec.count; k++) {
			found |= s.rec.record[k].keysym == cases[i].keysym;
		}
		ck_assert_msg(found, "%s", cases[i].name);
		ck_assert_uint_eq(state(), 0);
	}
}
END_TEST

/* Waits, as a caller has to, while no keycode is free. */
static int hold(uint32_t keysym) {
	int r = 0;
	while ((r = input_key_down(s.in, A, keysym, &s.err)) > 0) {
		(void)poll(NULL, 0, r);
		recorder_read(&s.rec);
	}
	return r;
}

START_TEST(lets_go_when_a_chord_fails) {
	struct keymap_chord c = chord("ctrl+alt+a");
	c.keysym[2] = 0xffffffff;
	c.count = 3;
	OK(input_key_down(s.in, A, XK_Shift_L, &s.err));
	/* Hold every spare keycode, so that there is none for the last key. */
	for (uint32_t k = 0x01004e00; hold(k) == 0; k++) {
	}
	ck_assert_int_eq(input_keys_down(s.in, A, &c, &s.err), -CUA_EXHAUSTED);
	ck_assert_uint_eq(state(), ShiftMask);
	input_lease_end(s.in, A);
	ck_assert_uint_eq(state(), 0);
}
END_TEST

START_TEST(keeps_what_another_lease_holds) {
	OK(input_key_down(s.in, A, XK_Control_L, &s.err));
	OK(input_key_down(s.in, A, XK_Control_L, &s.err));
	OK(input_key_down(s.in, B, XK_Control_L, &s.err));
	OK(input_key_down(s.in, B, XK_Alt_L, &s.err));
	OK(input_button_down(s.in, A, cua_Button_BUTTON_LEFT, &s.err));
	OK(input_button_down(s.in, B, cua_Button_BUTTON_BACK, &s.err));
	ck_assert_uint_eq(state(), ControlMask | Mod1Mask);
	/* A chord of a lease does not let go of what the lease holds. */
	const struct keymap_chord c = chord("ctrl+x");
	OK(input_keys_down(s.in, A, &c, &s.err));
	input_keys_up(s.in, A, &c);
	ck_assert_uint_eq(state(), ControlMask | Mod1Mask);
	input_lease_end(s.in, A);
	settle();
	ck_assert_uint_eq(state(), ControlMask | Mod1Mask);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 1), 1);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 8), 0);
	input_key_up(s.in, B, XK_Control_L);
	ck_assert_uint_eq(state(), Mod1Mask);
	input_lease_end(s.in, B);
	settle();
	ck_assert_uint_eq(state(), 0);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 8), 1);
}
END_TEST

START_TEST(releases_all) {
	OK(input_key_down(s.in, A, XK_a, &s.err));
	OK(input_key_down(s.in, B, XK_Shift_L, &s.err));
	OK(input_button_down(s.in, B, cua_Button_BUTTON_MIDDLE, &s.err));
	OK(input_button_down(s.in, A, cua_Button_BUTTON_FORWARD, &s.err));
	ck_assert_uint_eq(input_release_all(s.in), 4);
	ck_assert_uint_eq(input_release_all(s.in), 0);
	settle();
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 0), 2);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_KEY_UP, 0), 2);
	ck_assert_uint_eq(state(), 0);
	/* A worker that died leaves its keys down; the next one lets go of them. */
	OK(input_key_down(s.in, A, XK_Control_L, &s.err));
	OK(input_button_down(s.in, A, cua_Button_BUTTON_BACK, &s.err));
	settle();
	recorder_clear(&s.rec);
	struct x11 *x = x11_open(s.xvfb.display, &s.err);
	ck_assert_ptr_nonnull(x);
	struct input *in = input_new(x, &s.err);
	ck_assert_ptr_nonnull(in);
	OK(x11_sync(x, &s.err));
	ck_assert_uint_eq(state(), 0);
	settle();
	ck_assert_uint_eq(s.rec.count, 2);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_RELEASE, 8), 1);
	in = input_free(in);
	x = x11_close(x);
}
END_TEST

START_TEST(survives_the_loss_of_the_server) {
	OK(input_key_down(s.in, A, XK_Control_L, &s.err));
	/* Xlib would end the test through a connection that has no handler. */
	recorder_close(&s.rec);
	xvfb_kill(s.xvfb.pid);
	s.xvfb.pid = -1;
	const struct keymap_chord c = chord("ctrl+c");
	int x = 0;
	ck_assert_int_lt(input_keys_down(s.in, A, &c, &s.err), 0);
	ck_assert_int_lt(input_move(s.in, 1, 1, &s.err), 0);
	ck_assert_int_lt(input_position(s.in, &x, &x, &s.err), 0);
	ck_assert_int_lt(input_click(s.in, cua_Button_BUTTON_LEFT, 1, &s.err), 0);
	(void)input_release_all(s.in);
	input_lease_end(s.in, A);
}
END_TEST

/* libXtst forgets a block when the server of a recording is lost. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
	return "leak:XRecordEnableContextAsync\n";
}

int main(void) {
	const TTest *const tests[] = {moves_and_tells_the_position,
		clicks_every_button_once_twice_three_times,
		keeps_clicks_apart_that_do_not_belong_together, scrolls_by_sign,
		drags_with_motion_by_every_point, drags_on_the_spot, refuses_bad_drags,
		releases_a_drag_that_is_given_up, drops_what_is_dragged_again_and_again,
		presses_chords_in_order, presses_what_a_sign_needs,
		presses_keys_that_the_layout_lacks, lets_go_when_a_chord_fails,
		keeps_what_another_lease_holds, releases_all, survives_the_loss_of_the_server};
	const struct suite_case cases[] = {
		{.name = "recorder",
			.setup = set_up,
			.teardown = tear_down,
			.seconds = 60,
			.tests = tests,
			.count = CUA_COUNT(tests)},
	};
	return suite_run_cases("input", cases, CUA_COUNT(cases));
}
