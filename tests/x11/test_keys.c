/* Presses every key that has a name, and chords of all kinds, into a window that records them. */
#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <X11/XKBlib.h>
#include <X11/keysym.h>

#include "desktop/input.h"
#include "desktop/x11_priv.h"
#include "tests/lib/recorder.h"
#include "tests/lib/suite.h"
#include "tests/lib/xvfb.h"

#define LEASE 3
#define KEYSYMS_MAX 4096

static struct {
	struct xvfb xvfb;
	struct x11 *x;
	struct input *in;
	struct recorder rec;
	struct cua_err err;
	uint32_t keysym[KEYSYMS_MAX];
	size_t count;
} s;

static void set_up(void) {
	ck_assert(xvfb_start(&s.xvfb, "1280x800x24"));
	s.x = x11_open(s.xvfb.display, &s.err);
	ck_assert_msg(s.x != NULL, "%s", s.err.message);
	s.in = input_new(s.x, &s.err);
	ck_assert_msg(s.in != NULL, "%s", s.err.message);
	ck_assert(recorder_open(&s.rec));
	recorder_clear(&s.rec);
}

static void tear_down(void) {
	recorder_close(&s.rec);
	s.in = input_free(s.in);
	s.x = x11_close(s.x);
	xvfb_stop(&s.xvfb);
}

/* The window lives on while a key is waited for. */
static void down(const struct keymap_chord *chord) {
	int r = 0;
	while ((r = input_keys_down(s.in, LEASE, chord, &s.err)) > 0) {
		recorder_read(&s.rec);
		(void)poll(NULL, 0, r < 5 ? r : 5);
	}
	ck_assert_msg(r == 0, "%s", s.err.message);
}

static void up(const struct keymap_chord *chord) {
	input_keys_up(s.in, LEASE, chord);
	ck_assert_int_eq(x11_sync(s.x, &s.err), 0);
	recorder_read(&s.rec);
}

static void press(const char *name) {
	struct keymap_chord chord;
	ck_assert_msg(keymap_chord(name, &chord, &s.err) == 0, "%s", s.err.message);
	recorder_clear(&s.rec);
	down(&chord);
	up(&chord);
}

/* ---------------------------------------------------------------- every name */

/* No program gets these: AccessX, the end of the server, the pointer's, those of virtual terminals. */
static bool server_acts(uint32_t keysym) {
	return (keysym >= 0xfe70 && keysym <= 0xfe7f) || keysym == XK_Terminate_Server ||
	       (keysym >= XK_Pointer_Left && keysym <= 0xfeff) ||
	       (keysym >= 0x1008fe01 && keysym <= 0x1008feff);
}

static void on_name(void *ctx, const char *name) {
	uint32_t keysym = 0;
	(void)ctx;
	int r = keymap_keysym(name, &keysym, &s.err);
	ck_assert_msg(r == 0, "%s: %s", name, s.err.message);
	if (server_acts(keysym)) {
		return;
	}
	for (size_t i = 0; i < s.count; i++) {
		if (s.keysym[i] == keysym) {
			return;
		}
	}
	ck_assert_uint_lt(s.count, KEYSYMS_MAX);
	s.keysym[s.count++] = keysym;
}

static bool came(uint32_t keysym) {
	for (size_t i = 0; i < s.rec.count; i++) {
		if (s.rec.record[i].type == RECORD_KEY_DOWN && s.rec.record[i].keysym == keysym) {
			return true;
		}
	}
	return false;
}

/* What locks and latches did. */
static void unlock(void) {
	(void)XkbLockModifiers(s.x->display, XkbUseCoreKbd, 0xff, 0);
	(void)XkbLatchModifiers(s.x->display, XkbUseCoreKbd, 0xff, 0);
	(void)XkbLatchGroup(s.x->display, XkbUseCoreKbd, 0);
	(void)XkbLockGroup(s.x->display, XkbUseCoreKbd, 0);
}

START_TEST(presses_every_named_key) {
	keymap_each_name(on_name, NULL);
	ck_assert_uint_gt(s.count, 400);
	for (size_t i = 0; i < s.count; i++) {
		const struct keymap_chord chord = {.keysym = {s.keysym[i]}, .count = 1};
		recorder_clear(&s.rec);
		down(&chord);
		up(&chord);
		ck_assert_msg(came(s.keysym[i]), "keysym %x does not arrive", s.keysym[i]);
		unlock();
	}
	printf("%zu keys\n", s.count);
	char keys[32];
	(void)XQueryKeymap(s.x->display, keys);
	for (size_t i = 0; i < sizeof(keys); i++) {
		ck_assert_int_eq(keys[i], 0);
	}
}
END_TEST

/* ---------------------------------------------------------------- chords */

/* The same as a hand on that keyboard: the key with this keycode, and these modifiers down. */
START_TEST(presses_chords_by_their_keys) {
	static const struct {
		const char *layout;
		const char *chord;
		unsigned code;
		unsigned mods;
	} cases[] = {
		{"us", "ctrl+shift+1", 10, ControlMask | ShiftMask},
		{"us", "ctrl+shift+minus", 20, ControlMask | ShiftMask},
		{"us", "ctrl+shift+0", 19, ControlMask | ShiftMask},
		{"us", "ctrl+plus", 21, ControlMask | ShiftMask},
		{"us", "shift+F10", 76, ShiftMask},
		{"us", "alt+F4", 70, Mod1Mask},
		{"us", "ctrl+alt+t", 28, ControlMask | Mod1Mask},
		{"us", "super+d", 40, Mod4Mask},
		{"us", "ctrl+shift+Tab", 23, ControlMask | ShiftMask},
		{"de", "ctrl+z", 29, ControlMask},
		{"de", "altgr+q", 24, Mod5Mask},
		{"fr", "ctrl+a", 24, ControlMask},
		{"ru", "ctrl+c", 54, ControlMask},
		{"ru", "ctrl+shift+t", 28, ControlMask | ShiftMask},
		{"us,ru", "ctrl+v", 55, ControlMask},
		{"gr", "alt+f", 41, Mod1Mask},
	};
	for (size_t i = 0; i < CUA_COUNT(cases); i++) {
		const char *argv[] = {"setxkbmap", cases[i].layout, NULL};
		ck_assert(xvfb_run(argv));
		if (strchr(cases[i].layout, ',')) {
			(void)XkbLockGroup(s.x->display, XkbUseCoreKbd, 1);
		}
		press(cases[i].chord);
		size_t at = s.rec.count;
		while (at > 0 && (s.rec.record[at - 1].type != RECORD_KEY_DOWN ||
					 s.rec.record[at - 1].code != cases[i].code)) {
			at--;
		}
		ck_assert_msg(at > 0, "%s under %s: not key %u", cases[i].chord, cases[i].layout,
			cases[i].code);
		ck_assert_msg((s.rec.record[at - 1].state & 0xff) == cases[i].mods,
			"%s under %s: modifiers %x", cases[i].chord, cases[i].layout,
			s.rec.record[at - 1].state);
	}
}
END_TEST

START_TEST(repeats_a_held_key) {
	const struct keymap_chord chord = {.keysym = {XK_BackSpace}, .count = 1};
	recorder_clear(&s.rec);
	down(&chord);
	(void)poll(NULL, 0, 2000);
	up(&chord);
	size_t repeats = recorder_count(&s.rec, RECORD_KEY_DOWN, 22);
	ck_assert_msg(repeats >= 30 && repeats <= 70, "%zu times", repeats);
	(void)poll(NULL, 0, 300);
	recorder_read(&s.rec);
	ck_assert_uint_eq(recorder_count(&s.rec, RECORD_KEY_DOWN, 22), repeats);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {
		presses_every_named_key, presses_chords_by_their_keys, repeats_a_held_key};
	const struct suite_case cases[] = {
		{"keys", set_up, tear_down, 120, tests, CUA_COUNT(tests)},
	};
	return suite_run_cases("keys", cases, CUA_COUNT(cases));
}
