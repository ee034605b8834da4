/* Types into real programs of each toolkit, under a real window manager, and compares every character;
 * presses their shortcuts. */
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <X11/XKBlib.h>
#include <X11/keysym.h>

#include "desktop/input.h"
#include "desktop/typing.h"
#include "desktop/windows.h"
#include "desktop/x11_priv.h"
#include "tests/lib/sink.h"
#include "tests/lib/suite.h"
#include "tests/lib/xvfb.h"

#define TEXT_SIZE (512 * 1024)
#define QUIET_MS 5000
#define START_MS 20000
#define LEASE 7

struct text {
	char data[TEXT_SIZE];
	size_t len;
};

static struct {
	struct xvfb xvfb;
	pid_t manager;
	struct x11 *x;
	struct input *in;
	struct cua_err err;
	struct sink sink;
	struct sink other;
	struct text text;
} s;

/* ---------------------------------------------------------------- life */

static void on_event(void *ctx, union _XEvent *event) {
	input_event(ctx, event);
}

/* Waits as the worker's loop does: for events or for the time. */
static void wait_ms(int ms) {
	struct pollfd p = {.fd = x11_fd(s.x), .events = POLLIN};
	(void)x11_dispatch(s.x, on_event, s.in);
	(void)poll(&p, 1, ms);
	(void)x11_dispatch(s.x, on_event, s.in);
}

static unsigned long root_item(const char *name, Atom type) {
	unsigned long item = 0;
	Atom atom = XInternAtom(s.x->display, name, False);
	return x11_get_longs(s.x, s.x->root, atom, type, &item, 1) == 1 ? item : 0;
}

static void wait_for_desktop(const char *layout, unsigned long want) {
	int left = START_MS;
	for (; root_item("_NET_SHOWING_DESKTOP", XA_CARDINAL) != want; left -= 10) {
		ck_assert_msg(left > 0, "super+d under %s does nothing", layout);
		wait_ms(10);
	}
}

static void start_manager(void) {
	const char *argv[] = {"openbox", NULL};
	s.manager = xvfb_spawn(argv, 2);
	ck_assert_int_gt(s.manager, 0);
	for (int left = START_MS; !root_item("_NET_SUPPORTING_WM_CHECK", XA_WINDOW); left -= 10) {
		ck_assert_int_gt(left, 0);
		wait_ms(10);
	}
}

static void set_up(const char *name, const char *const args[]) {
	(void)setenv("LC_ALL", "C.UTF-8", 1);
	(void)setenv("NO_AT_BRIDGE", "1", 1);
	ck_assert(xvfb_start(&s.xvfb, "1280x800x24"));
	s.x = x11_open(s.xvfb.display, &s.err);
	ck_assert_msg(s.x != NULL, "%s", s.err.message);
	s.in = input_new(s.x, &s.err);
	ck_assert_msg(s.in != NULL, "%s", s.err.message);
	start_manager();
	ck_assert_msg(sink_start(&s.sink, name, args), "%s does not start", name);
}

static void set_up_xterm(void) {
	set_up("sink_xterm.py", NULL);
}

static void set_up_gtk(void) {
	set_up("sink_gtk.py", NULL);
}

static void set_up_qt5(void) {
	set_up("sink_qt.py", (const char *[]){"5", NULL});
}

static void set_up_qt6(void) {
	set_up("sink_qt.py", (const char *[]){"6", NULL});
}

static void set_up_chromium(void) {
	set_up("sink_chromium.py", NULL);
}

static void tear_down(void) {
	sink_stop(&s.sink);
	sink_stop(&s.other);
	s.in = input_free(s.in);
	s.x = x11_close(s.x);
	xvfb_kill(s.manager);
	xvfb_stop(&s.xvfb);
}

/* ---------------------------------------------------------------- texts */

static void add(struct text *text, unsigned c) {
	unsigned char *p = (unsigned char *)text->data + text->len;
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	ck_assert_uint_lt(text->len + n, TEXT_SIZE);
	if (n == 1) {
		p[0] = (unsigned char)c;
	}
	for (size_t i = n; n > 1 && i > 1; i--) {
		p[i - 1] = 0x80 | (c & 0x3f);
		c >>= 6;
	}
	if (n > 1) {
		p[0] = (unsigned char)((0xf00u >> n) | c);
	}
	text->len += n;
}

static void add_range(struct text *text, unsigned first, unsigned count) {
	for (unsigned c = first; c < first + count; c++) {
		if (c != 0xad) { /* a soft hyphen is not shown, and some programs drop it */
			add(text, c);
		}
		if (c % 50 == 49 && count > 100) {
			add(text, '\n');
		}
	}
}

static void add_string(struct text *text, const char *string) {
	size_t len = strlen(string);
	ck_assert_uint_lt(text->len + len, TEXT_SIZE);
	memcpy(text->data + text->len, string, len);
	text->len += len;
}

/* All kinds in one line and a few: what the keyboard has, what it lacks, what belongs together. */
static const char languages[] =
	"ÄÖÜẞß ÇÑ Zażółć gęślą jaźń; Éé Привет, мир! ЁЪЫЭ\tΑλφα ώ\n"
	"日本語テキスト 한국어 中文字符\r\nالعربية مَرحبًا עִבְרִית ไทย हिन्दी\n"
	"e\xcc\x81 n\xcc\x83 👩‍👩‍👧‍👦 👍🏽 👩🏿‍🚀 🇩🇪 ❤️ "
	"𝔘𝔫𝔦 "
	"€„“”‘’…–— ^´`~¨ 'a \"e ^o ~n `a ´u\na\nb\r\nc\td\n";

static void add_ascii(struct text *text, unsigned count) {
	for (unsigned i = 0; i < count; i++) {
		add(text, i % 80 == 79 ? '\n' : 0x20 + (i * 7) % 95);
	}
}

/* Characters of the keyboard and many others, at random. */
static void add_mixed(struct text *text, unsigned count) {
	unsigned seed = 12345;
	for (unsigned i = 0; i < count; i++) {
		seed = seed * 1103515245 + 12345;
		unsigned r = seed >> 16 & 0x7fff;
		add(text, r % 4 ? 0x20 + r % 95 : 0x4e00 + r % 500);
	}
}

static struct text *fresh(void) {
	s.text.len = 0;
	return &s.text;
}

/* ---------------------------------------------------------------- typing */

static struct typing *start(const struct text *text) {
	struct cua_span span = {text->data, text->len};
	struct typing *t = typing_start(s.in, span, 0, &s.err);
	ck_assert_msg(t != NULL, "%s", s.err.message);
	return t;
}

/* Types on until so many characters are typed. */
static void go_on(struct typing *t, size_t count) {
	int r = 1;
	while (typing_count(t) < count && (r = typing_step(t, &s.err)) > 0) {
		wait_ms(r);
	}
	ck_assert_msg(r >= 0, "%s", s.err.message);
}

static void type(const struct text *text) {
	struct typing *t = start(text);
	go_on(t, SIZE_MAX);
	t = typing_free(t);
}

/* As programs show it. */
static void wanted(const struct text *text, struct text *ret) {
	ret->len = 0;
	for (size_t i = 0; i < text->len; i++) {
		if (text->data[i] != '\r') {
			ret->data[ret->len++] = text->data[i];
		}
	}
}

static void compare(const char *what, const struct text *want, const struct text *got) {
	for (size_t i = 0; i < want->len && i < got->len; i++) {
		ck_assert_msg(want->data[i] == got->data[i],
			"%s: byte %zu of %zu differs: \"%.*s\" came as \"%.*s\"", what, i,
			want->len, 24, want->data + i, 24, got->data + i);
	}
	ck_assert_msg(got->len == want->len, "%s: %zu bytes of %zu", what, got->len, want->len);
}

static void expect(const char *what, const struct text *text) {
	static struct text want;
	static struct text got;
	wanted(text, &want);
	ck_assert(sink_wait(&s.sink, want.len, QUIET_MS, got.data, TEXT_SIZE, &got.len));
	compare(what, &want, &got);
	ck_assert(sink_clear(&s.sink));
}

static double seconds_since(const struct timespec *from) {
	struct timespec now = {0};
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

static void type_and_expect(const char *what, const struct text *text) {
	struct timespec from = {0};
	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	type(text);
	double sent = seconds_since(&from);
	expect(what, text);
	printf("%s: %zu bytes, sent in %.2f s, received in %.2f s\n", what, text->len, sent,
		seconds_since(&from));
}

static void press(const char *name) {
	struct keymap_chord chord;
	ck_assert_int_eq(keymap_chord(name, &chord, &s.err), 0);
	int r = 0;
	while ((r = input_keys_down(s.in, LEASE, &chord, &s.err)) > 0) {
		wait_ms(r);
	}
	ck_assert_msg(r == 0, "%s: %s", name, s.err.message);
	input_keys_up(s.in, LEASE, &chord);
}

static void set_layout(const char *layout, const char *variant) {
	const char *argv[] = {"setxkbmap", layout, variant, NULL};
	ck_assert(xvfb_run(argv));
}

/* ---------------------------------------------------------------- one program */

static void type_in_separate_calls(void) {
	static struct text all;
	all.len = 0;
	for (unsigned i = 0; i < 40; i++) {
		add(fresh(), 0x5e00 + i * 31);
		add(&all, 0x5e00 + i * 31);
		type(&s.text);
	}
	expect("40 characters in separate calls", &all);
}

static void check_state(unsigned locked, unsigned base) {
	XkbStateRec state = {0};
	(void)XkbGetState(s.x->display, XkbUseCoreKbd, &state);
	ck_assert_uint_eq(state.locked_mods, locked);
	ck_assert_uint_eq(state.base_mods, base);
}

static void type_with_locks_and_held_keys(void) {
	const unsigned locks = LockMask | Mod2Mask;
	XkbLockModifiers(s.x->display, XkbUseCoreKbd, locks, locks);
	ck_assert_int_eq(input_key_down(s.in, LEASE, XK_Shift_L, &s.err), 0);
	add_string(fresh(), "MiXeD 123 !@# Ärger жЖ 日本");
	type_and_expect("Caps Lock, Num Lock, Shift held", &s.text);
	check_state(locks, ShiftMask);
	input_lease_end(s.in, LEASE);
	XkbLockModifiers(s.x->display, XkbUseCoreKbd, locks, 0);
}

static void type_under_layouts(void) {
	static const char *const layouts[][2] = {{"us", NULL}, {"us", "intl"}, {"de", NULL},
		{"fr", NULL}, {"ru", NULL}, {"dvorak", NULL}, {"us,ru", NULL}};
	for (size_t i = 0; i < CUA_COUNT(layouts); i++) {
		set_layout(layouts[i][0], layouts[i][1]);
		if (strchr(layouts[i][0], ',')) {
			XkbLockGroup(s.x->display, XkbUseCoreKbd, 1);
		}
		add_string(fresh(), languages);
		add_range(&s.text, 0x20, 95);
		type_and_expect(layouts[i][0], &s.text);
	}
	XkbLockGroup(s.x->display, XkbUseCoreKbd, 0);
}

START_TEST(types_every_text) {
	add_range(fresh(), 0x20, 95);
	add_range(&s.text, 0xa0, 96);
	type_and_expect("ASCII and Latin-1", &s.text);
	add_string(fresh(), languages);
	type_and_expect("languages", &s.text);
	type_in_separate_calls();
	type_with_locks_and_held_keys();
	add_range(fresh(), 0x4e00, 4000);
	add_range(&s.text, 0x1f300, 1000);
	type_and_expect("5000 distinct characters", &s.text);
	add_mixed(fresh(), 500);
	type_and_expect("500 mixed characters", &s.text);
	type_under_layouts();
}
END_TEST

/* 0 without an active window. */
static pid_t owner_of_focus(void) {
	cua_Window window[8];
	size_t count = 0;
	ck_assert_int_eq(windows_list(s.x, window, CUA_COUNT(window), &count, &s.err), 0);
	for (size_t i = 0; i < count; i++) {
		if (window[i].active) {
			return (pid_t)window[i].pid;
		}
	}
	return 0;
}

/* Stops a process for a while; the shell lets it go on. */
static pid_t stop_for_a_while(pid_t pid) {
	char script[96];
	ck_assert_int_gt(pid, 1);
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	(void)snprintf(script, sizeof(script), "sleep 2; kill -CONT %d", pid);
	const char *argv[] = {"sh", "-c", script, NULL};
	return xvfb_spawn(argv, -1);
}

START_TEST(waits_for_a_program_that_is_stopped) {
	add_mixed(fresh(), 1500);
	struct typing *t = start(&s.text);
	go_on(t, 300);
	pid_t shell = stop_for_a_while(owner_of_focus());
	go_on(t, SIZE_MAX);
	t = typing_free(t);
	expect("stopped program", &s.text);
	ck_assert_int_eq(waitpid(shell, NULL, 0), shell);
	t = start(&s.text);
	go_on(t, 300);
	shell = stop_for_a_while(s.xvfb.pid);
	go_on(t, SIZE_MAX);
	t = typing_free(t);
	expect("stopped X server", &s.text);
	ck_assert_int_eq(waitpid(shell, NULL, 0), shell);
}
END_TEST

/* Whoever gets a key understands it, also when that is another program than before. */
START_TEST(follows_the_focus) {
	static struct text want;
	static struct text got;
	size_t len = 0;
	add_mixed(fresh(), 2000);
	wanted(&s.text, &want);
	struct typing *t = start(&s.text);
	go_on(t, 700);
	ck_assert(sink_start(&s.other, "sink_qt.py", (const char *[]){"5", NULL}));
	go_on(t, SIZE_MAX);
	t = typing_free(t);
	ck_assert(sink_wait(&s.sink, SIZE_MAX, 1000, got.data, TEXT_SIZE, &got.len));
	ck_assert_uint_gt(got.len, 0);
	ck_assert(sink_wait(&s.other, want.len - got.len, QUIET_MS, got.data + got.len,
		TEXT_SIZE - got.len, &len));
	ck_assert_uint_gt(len, 0);
	got.len += len;
	compare("two programs", &want, &got);
}
END_TEST

START_TEST(follows_a_change_of_layout) {
	const char *argv[] = {"sh", "-c", "setxkbmap de; setxkbmap ru; setxkbmap fr", NULL};
	add_mixed(fresh(), 3000);
	add_ascii(&s.text, 3000);
	struct typing *t = start(&s.text);
	go_on(t, 500);
	pid_t shell = xvfb_spawn(argv, -1);
	go_on(t, SIZE_MAX);
	t = typing_free(t);
	expect("changes of layout", &s.text);
	ck_assert_int_eq(waitpid(shell, NULL, 0), shell);
}
END_TEST

START_TEST(types_a_hundred_thousand_characters) {
	add_ascii(fresh(), 100000);
	type_and_expect("100000 characters", &s.text);
}
END_TEST

/* ---------------------------------------------------------------- shortcuts */

/* Select all, cut, and paste twice, by the keys that write these letters on a Latin keyboard. */
static void edit_by_shortcuts(const char *what) {
	add_string(fresh(), "shortcut ");
	type(&s.text);
	expect(what, &s.text); /* and forgets it */
	type(&s.text);
	press("ctrl+a");
	press("ctrl+x");
	press("ctrl+v");
	press("ctrl+V");
	add_string(&s.text, "shortcut ");
	expect(what, &s.text);
}

START_TEST(takes_shortcuts_under_every_layout) {
	static const char *const layouts[] = {"us", "de", "ru", "us,ru"};
	for (size_t i = 0; i < CUA_COUNT(layouts); i++) {
		set_layout(layouts[i], NULL);
		if (strchr(layouts[i], ',')) {
			XkbLockGroup(s.x->display, XkbUseCoreKbd, 1);
		}
		edit_by_shortcuts(layouts[i]);
	}
}
END_TEST

START_TEST(interrupts_a_program_in_a_terminal) {
	static const char *const layouts[] = {"us", "ru", "us,ru"};
	for (size_t i = 0; i < CUA_COUNT(layouts); i++) {
		set_layout(layouts[i], NULL);
		if (strchr(layouts[i], ',')) {
			XkbLockGroup(s.x->display, XkbUseCoreKbd, 1);
		}
		const char *argv[] = {
			"xterm", "-e", "sh", "-c", "trap 'exit 0' INT; cat; cat", NULL};
		pid_t pid = xvfb_spawn(argv, -1);
		ck_assert_int_gt(pid, 0);
		for (int left = START_MS; owner_of_focus() != pid; left -= 20) {
			ck_assert_int_gt(left, 0);
			wait_ms(20);
		}
		/* The terminal's window may be there before its shell is. */
		int status = -1;
		for (int left = START_MS; waitpid(pid, &status, WNOHANG) != pid; left -= 500) {
			ck_assert_msg(left > 0, "ctrl+c under %s does nothing", layouts[i]);
			press("ctrl+c");
			(void)poll(NULL, 0, 500);
		}
	}
}
END_TEST

START_TEST(reaches_the_window_manager) {
	static const char *const layouts[] = {"us", "us,ru", "ru"};
	for (size_t i = 0; i < CUA_COUNT(layouts); i++) {
		set_layout(layouts[i], NULL);
		if (strchr(layouts[i], ',')) {
			XkbLockGroup(s.x->display, XkbUseCoreKbd, 1);
		}
		press("super+d");
		wait_for_desktop(layouts[i], 1);
		press("super+d");
		wait_for_desktop(layouts[i], 0);
	}
	press("alt+F4");
	for (int left = START_MS; root_item("_NET_CLIENT_LIST", XA_WINDOW); left -= 10) {
		ck_assert_msg(left > 0, "alt+F4 closes no window");
		wait_ms(10);
	}
}
END_TEST

/* The key that is "d" now was none of its shortcuts before. */
START_TEST(waits_for_a_window_manager_that_is_stopped) {
	pid_t shell = stop_for_a_while(s.manager);
	set_layout("dvorak", NULL);
	press("super+d");
	wait_for_desktop("dvorak", 1);
	ck_assert_int_eq(waitpid(shell, NULL, 0), shell);
}
END_TEST

int main(void) {
	const TTest *const terminal[] = {types_every_text, waits_for_a_program_that_is_stopped,
		types_a_hundred_thousand_characters, interrupts_a_program_in_a_terminal,
		reaches_the_window_manager, waits_for_a_window_manager_that_is_stopped};
	const TTest *const gtk[] = {types_every_text, waits_for_a_program_that_is_stopped,
		follows_the_focus, follows_a_change_of_layout, takes_shortcuts_under_every_layout};
	const TTest *const others[] = {types_every_text, takes_shortcuts_under_every_layout};
	const struct suite_case cases[] = {
		{"xterm", set_up_xterm, tear_down, 120, terminal, CUA_COUNT(terminal)},
		{"gtk3", set_up_gtk, tear_down, 120, gtk, CUA_COUNT(gtk)},
		{"qt5", set_up_qt5, tear_down, 120, others, CUA_COUNT(others)},
		{"qt6", set_up_qt6, tear_down, 120, others, CUA_COUNT(others)},
		{"chromium", set_up_chromium, tear_down, 180, others, CUA_COUNT(others)},
	};
	return suite_run_cases("toolkits", cases, CUA_COUNT(cases));
}
