/* Types into a real xterm on a real Xvfb and compares every byte. */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <X11/XKBlib.h>
#include <X11/keysym.h>

#include "desktop/input.h"
#include "desktop/typing.h"
#include "desktop/windows.h"
#include "desktop/x11_priv.h"
#include "tests/lib/suite.h"
#include "tests/lib/xvfb.h"

#define TEXT_SIZE (256 * 1024)
#define QUIET_MS 20000
#define LEASE 7

static struct {
	struct xvfb xvfb;
	pid_t xterm;
	int sink; /* what the program in the xterm reads */
	char dir[64];
	struct x11 *x;
	struct input *in;
	struct cua_err err;
} s;

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

/* Reads until len bytes came, or nothing for a long time. */
static size_t read_sink(char *ret, size_t len) {
	size_t used = 0;
	while (used < len) {
		struct pollfd p = {.fd = s.sink, .events = POLLIN};
		if (poll(&p, 1, QUIET_MS) != 1) {
			break;
		}
		ssize_t n = read(s.sink, ret + used, len - used);
		if (n <= 0) {
			break;
		}
		used += (size_t)n;
	}
	return used;
}

/* The program may be ready before its window is. */
static void wait_for_window(void) {
	cua_Window window;
	size_t count = 0;
	for (int left = QUIET_MS; count == 0; left -= 20) {
		ck_assert_int_gt(left, 0);
		(void)poll(NULL, 0, 20);
		ck_assert_int_eq(windows_list(s.x, &window, 1, &count, &s.err), 0);
	}
}

/* The terminal is raw, so that Return arrives as it is sent. */
static void open_xterm(void) {
	char path[96];
	char script[256];
	char ready[5];
	(void)snprintf(s.dir, sizeof(s.dir), "/tmp/cuad-typing-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(s.dir));
	(void)snprintf(path, sizeof(path), "%s/sink", s.dir);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	s.sink = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(s.sink, 0);
	(void)snprintf(
		script, sizeof(script), "stty raw -echo; exec >%s; printf READY; exec cat", path);
	const char *argv[] = {
		"xterm", "-u8", "-geometry", "80x24+0+0", "-e", "sh", "-c", script, NULL};
	s.xterm = xvfb_spawn(argv, -1);
	ck_assert_int_gt(s.xterm, 0);
	ck_assert_uint_eq(read_sink(ready, 5), 5);
	wait_for_window();
	/* Without a window manager the keyboard goes where the pointer is. */
	ck_assert_int_eq(input_move(s.in, 100, 100, &s.err), 0);
	ck_assert_int_eq(x11_sync(s.x, &s.err), 0);
}

static void set_up(void) {
	(void)setenv("LC_ALL", "C.UTF-8", 1);
	ck_assert(xvfb_start(&s.xvfb, "1280x800x24"));
	s.x = x11_open(s.xvfb.display, &s.err);
	ck_assert_msg(s.x != NULL, "%s", s.err.message);
	s.in = input_new(s.x, &s.err);
	ck_assert_msg(s.in != NULL, "%s", s.err.message);
	open_xterm();
}

static void tear_down(void) {
	char path[96];
	(void)snprintf(path, sizeof(path), "%s/sink", s.dir);
	xvfb_kill(s.xterm);
	s.in = input_free(s.in);
	s.x = x11_close(s.x);
	xvfb_stop(&s.xvfb);
	(void)close(s.sink);
	(void)unlink(path);
	(void)rmdir(s.dir);
}

static void type(const char *text, size_t len) {
	struct cua_span span = {text, len};
	struct typing *t = typing_start(s.in, span, 0, &s.err);
	ck_assert_msg(t != NULL, "%s", s.err.message);
	int r = 0;
	while ((r = typing_step(t, &s.err)) > 0) {
		wait_ms(r);
	}
	ck_assert_msg(r == 0, "%s", s.err.message);
	t = typing_free(t);
}

/* What a raw terminal gets for a text. */
static size_t as_received(const char *text, size_t len, char *ret) {
	size_t used = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\r' && i + 1 < len && text[i + 1] == '\n') {
			continue;
		}
		ret[used++] = (char)(text[i] == '\n' ? '\r' : text[i]);
	}
	return used;
}

static void expect(const char *text, size_t len) {
	static char want[TEXT_SIZE];
	static char got[TEXT_SIZE];
	size_t want_len = as_received(text, len, want);
	size_t got_len = read_sink(got, want_len);
	for (size_t i = 0; i < want_len && i < got_len; i++) {
		ck_assert_msg(want[i] == got[i],
			"byte %zu of %zu differs: \"%.*s\" came as \"%.*s\"", i, want_len, 24,
			want + i, 24, got + i);
	}
	ck_assert_uint_eq(got_len, want_len);
	ck_assert_int_eq(poll(&(struct pollfd){.fd = s.sink, .events = POLLIN}, 1, 0), 0);
}

static void type_and_expect(const char *text) {
	type(text, strlen(text));
	expect(text, strlen(text));
}

static void set_layout(const char *layout) {
	const char *argv[] = {"setxkbmap", layout, NULL};
	ck_assert(xvfb_run(argv));
}

static size_t put(char *text, size_t used, unsigned c) {
	unsigned char *p = (unsigned char *)text + used;
	if (c < 0x80) {
		p[0] = (unsigned char)c;
		return used + 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--) {
		p[i] = 0x80 | (c & 0x3f);
		c >>= 6;
	}
	p[0] = (unsigned char)((0xf00u >> n) | c);
	return used + n;
}

static size_t put_range(char *text, size_t used, unsigned first, unsigned last) {
	for (unsigned c = first; c <= last; c++) {
		used = put(text, used, c);
	}
	return used;
}

static const char languages[] =
	"Zażółć gęślą jaźń; ÄÖÜẞß ÇÑ Éé; Привет, мир! ЁЪЫЭ\tΑλφα ώ\n"
	"日本語テキスト 한국어 中文字符\r\nالعربية مَرحبًا עִבְרִית ไทย हिन्दी\n"
	"e\xcc\x81 n\xcc\x83 👩‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️ 𝔘𝔫𝔦 "
	"€„“”‘’…–— "
	"^´`~¨\n";

START_TEST(types_ascii_and_latin1) {
	char text[1024];
	size_t n = put_range(text, 0, 0x20, 0x7e);
	n = put_range(text, n, 0xa0, 0xff);
	n = put_range(text, n, 0x20, 0x7e);
	type(text, n);
	expect(text, n);
}
END_TEST

START_TEST(types_newlines_and_tabs) {
	type_and_expect("a\nb\r\nc\td\n\n\te\rf\r\n\r\ng");
}
END_TEST

START_TEST(types_languages_under_every_layout) {
	static const char *const layouts[] = {"us", "de", "fr", "ru", "dvorak", "us,ru", "gr,us"};
	char ascii[128];
	size_t n = put_range(ascii, 0, 0x20, 0x7e);
	for (size_t i = 0; i < CUA_COUNT(layouts); i++) {
		set_layout(layouts[i]);
		type_and_expect(languages);
		type(ascii, n);
		expect(ascii, n);
	}
}
END_TEST

START_TEST(types_in_the_second_group) {
	set_layout("us,ru");
	XkbLockGroup(s.x->display, XkbUseCoreKbd, 1);
	type_and_expect("Hello, Привет! [{\\|/?.,");
	XkbStateRec state = {0};
	(void)XkbGetState(s.x->display, XkbUseCoreKbd, &state);
	ck_assert_uint_eq(state.locked_group, 1);
	ck_assert_uint_eq(state.group, 1);
}
END_TEST

START_TEST(types_with_caps_lock_and_held_modifiers) {
	const unsigned locks = LockMask | Mod2Mask;
	XkbLockModifiers(s.x->display, XkbUseCoreKbd, locks, locks);
	ck_assert_int_eq(input_key_down(s.in, LEASE, XK_Shift_L, &s.err), 0);
	ck_assert_int_eq(input_key_down(s.in, LEASE, XK_Control_L, &s.err), 0);
	type_and_expect("MiXeD 123 !@# Ärger жЖ 日本");
	XkbStateRec state = {0};
	(void)XkbGetState(s.x->display, XkbUseCoreKbd, &state);
	ck_assert_uint_eq(state.locked_mods, locks);
	ck_assert_uint_eq(state.base_mods, ShiftMask | ControlMask);
	input_lease_end(s.in, LEASE);
	(void)XkbGetState(s.x->display, XkbUseCoreKbd, &state);
	ck_assert_uint_eq(state.base_mods, 0);
}
END_TEST

START_TEST(does_not_restore_what_was_let_go) {
	ck_assert_int_eq(input_key_down(s.in, LEASE, XK_Shift_L, &s.err), 0);
	struct typing *t = typing_start(s.in, (struct cua_span){"abcdef", 6}, 1, &s.err);
	ck_assert_ptr_nonnull(t);
	ck_assert_int_gt(typing_step(t, &s.err), 0);
	input_lease_end(s.in, LEASE);
	t = typing_free(t);
	XkbStateRec state = {0};
	(void)XkbGetState(s.x->display, XkbUseCoreKbd, &state);
	ck_assert_uint_eq(state.mods, 0);
	char got[1];
	ck_assert_uint_eq(read_sink(got, 1), 1);
	ck_assert_int_eq(got[0], 'a');
}
END_TEST

START_TEST(types_foreign_characters_in_separate_calls) {
	for (unsigned i = 0; i < 200; i++) {
		char text[8] = {0};
		(void)put(text, 0, 0x4e00 + i * 17);
		type(text, strlen(text));
		expect(text, strlen(text));
	}
}
END_TEST

/* Characters of every kind, with far more distinct foreign ones than there are spare keycodes. */
static size_t long_text(char *text, unsigned chars) {
	size_t n = 0;
	unsigned seed = 12345;
	for (unsigned i = 0; i < chars; i++) {
		seed = seed * 1103515245 + 12345;
		unsigned r = seed >> 16 & 0x7fff;
		unsigned c = 0x20 + r % 95;
		if (i % 80 == 79) {
			c = '\n';
		} else if (r % 10 == 0) {
			c = r % 3 == 0	 ? 0x4e00 + r % 400
			    : r % 3 == 1 ? 0x410 + r % 64
					 : 0x1f600 + r % 64;
		}
		n = put(text, n, c);
	}
	return n;
}

static double seconds_since(const struct timespec *start) {
	struct timespec now = {0};
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static void type_timed(const char *what, const char *text, size_t len, unsigned chars) {
	struct timespec start = {0};
	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	type(text, len);
	double sent = seconds_since(&start);
	expect(text, len);
	printf("%s: %u characters, sent at %.0f/s, received at %.0f/s\n", what, chars, chars / sent,
		chars / seconds_since(&start));
}

START_TEST(types_ten_thousand_characters) {
	static char text[TEXT_SIZE];
	size_t n = 0;
	for (unsigned i = 0; i < 10000; i++) {
		n = put(text, n, i % 80 == 79 ? '\n' : 0x20 + (i * 7) % 95);
	}
	type_timed("ASCII", text, n, 10000);
	n = long_text(text, 10000);
	type_timed("mixed", text, n, 10000);
}
END_TEST

START_TEST(types_thousands_of_distinct_characters) {
	static char text[TEXT_SIZE];
	size_t n = put_range(text, 0, 0x4e00, 0x4e00 + 1999);
	type_timed("distinct CJK", text, n, 2000);
}
END_TEST

START_TEST(follows_a_change_of_layout) {
	static char text[TEXT_SIZE];
	size_t n = long_text(text, 1000);
	struct typing *t = typing_start(s.in, (struct cua_span){text, n}, 0, &s.err);
	ck_assert_ptr_nonnull(t);
	int r = typing_step(t, &s.err);
	ck_assert_int_gt(r, 0);
	/* What was typed must be read before the map that it was typed with is gone. */
	while (typing_count(t) < 500) {
		wait_ms(r);
		r = typing_step(t, &s.err);
		ck_assert_int_gt(r, 0);
	}
	wait_ms(500);
	set_layout("de");
	while (r > 0) {
		wait_ms(r);
		r = typing_step(t, &s.err);
	}
	ck_assert_int_eq(r, 0);
	t = typing_free(t);
	expect(text, n);
}
END_TEST

START_TEST(takes_back_the_keycodes_of_a_worker_that_died) {
	static char text[TEXT_SIZE];
	size_t n = put_range(text, 0, 0x4e00, 0x4e00 + 99);
	for (int i = 0; i < 3; i++) {
		type(text, n);
		expect(text, n);
		s.in = input_free(s.in);
		s.in = input_new(s.x, &s.err);
		ck_assert_ptr_nonnull(s.in);
	}
}
END_TEST

START_TEST(sends_control_characters_of_chords) {
	static const struct {
		const char *layout;
		const char *chord;
		char want;
	} cases[] = {
		{"us", "ctrl+c", 3},
		{"de", "Ctrl+C", 3},
		{"ru", "ctrl+c", 3},
		{"ru", "Control_L+d", 4},
		{"us,ru", "ctrl+z", 26},
		{"us", "Return", '\r'},
		{"us", "enter", '\r'},
		{"de", "at", '@'},
		{"us", "ctrl+[", 27},
		{"us", "Tab", '\t'},
	};
	for (size_t i = 0; i < CUA_COUNT(cases); i++) {
		set_layout(cases[i].layout);
		if (strchr(cases[i].layout, ',')) {
			XkbLockGroup(s.x->display, XkbUseCoreKbd, 1);
		}
		struct keymap_chord chord;
		char got = 0;
		ck_assert_int_eq(keymap_chord(cases[i].chord, &chord, &s.err), 0);
		int r = 0;
		while ((r = input_keys_down(s.in, LEASE, &chord, &s.err)) > 0) {
			wait_ms(r);
		}
		ck_assert_int_eq(r, 0);
		input_keys_up(s.in, LEASE, &chord);
		ck_assert_uint_eq(read_sink(&got, 1), 1);
		ck_assert_msg(got == cases[i].want, "%s under %s gave %d", cases[i].chord,
			cases[i].layout, got);
	}
}
END_TEST

/* A program that does this and then hangs; its pid. */
static pid_t start_and_hang(void (*begin)(Display *)) {
	pid_t pid = fork();
	if (pid == 0) {
		Display *other = XOpenDisplay(s.xvfb.display);
		begin(other);
		(void)XSync(other, False);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	int status = 0;
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	return pid;
}

static void grab_server(Display *other) {
	(void)XGrabServer(other);
}

/* Above the terminal; says that it answers pings. */
static void open_window(Display *other) {
	Window window =
		XCreateSimpleWindow(other, DefaultRootWindow(other), 0, 0, 1000, 700, 0, 0, 0);
	Atom ping = XInternAtom(other, "_NET_WM_PING", False);
	(void)XSetWMProtocols(other, window, &ping, 1);
	(void)XMapRaised(other, window);
}

START_TEST(types_while_another_program_has_the_server) {
	pid_t pid = start_and_hang(grab_server);
	type("hello", 5);
	ck_assert_int_eq(input_move(s.in, 120, 120, &s.err), 0);
	ck_assert_int_eq(x11_sync(s.x, &s.err), 0);
	xvfb_kill(pid);
	expect("hello", 5);
	type_and_expect("again");
}
END_TEST

static int try_to_press(const char *text) {
	struct keymap_chord chord;
	ck_assert_int_eq(keymap_chord(text, &chord, &s.err), 0);
	int r = 0;
	while ((r = input_keys_down(s.in, LEASE, &chord, &s.err)) > 0) {
		wait_ms(r);
	}
	input_keys_up(s.in, LEASE, &chord);
	return r;
}

START_TEST(gives_up_keys_for_a_program_that_hangs) {
	pid_t pid = start_and_hang(open_window);
	char name[16];
	int r = 0;
	/* There are fewer spare keycodes. */
	for (unsigned i = 0; i < 256 && r == 0; i++) {
		(void)snprintf(name, sizeof(name), "U+%04X", 0x4e00 + i);
		r = try_to_press(name);
	}
	ck_assert_int_eq(r, -CUA_TIMEOUT);
	xvfb_kill(pid);
	type_and_expect("again 日本");
}
END_TEST

START_TEST(refuses_what_it_cannot_type) {
	const struct {
		const char *text;
		size_t len;
	} cases[] = {{"a\x01", 2}, {"a\0b", 3}, {"\xff", 1}, {"\xed\xa0\x80", 3}, {"x\xc3", 2}};
	for (size_t i = 0; i < CUA_COUNT(cases); i++) {
		struct cua_span span = {cases[i].text, cases[i].len};
		ck_assert_ptr_null(typing_start(s.in, span, 0, &s.err));
		ck_assert_int_eq(s.err.code, CUA_INVALID);
	}
	struct typing *t = typing_start(s.in, (struct cua_span){"", 0}, 0, &s.err);
	ck_assert_ptr_nonnull(t);
	ck_assert_ptr_null(typing_start(s.in, (struct cua_span){"a", 1}, 0, &s.err));
	ck_assert_int_eq(s.err.code, CUA_CONFLICT);
	ck_assert_int_eq(typing_step(t, &s.err), 0);
	t = typing_free(t);
	type_and_expect("ok");
}
END_TEST

int main(void) {
	const TTest *const tests[] = {types_ascii_and_latin1, types_newlines_and_tabs,
		types_languages_under_every_layout, types_in_the_second_group,
		types_with_caps_lock_and_held_modifiers, does_not_restore_what_was_let_go,
		types_foreign_characters_in_separate_calls, types_ten_thousand_characters,
		types_thousands_of_distinct_characters, follows_a_change_of_layout,
		takes_back_the_keycodes_of_a_worker_that_died, sends_control_characters_of_chords,
		refuses_what_it_cannot_type};
	const TTest *const against[] = {
		types_while_another_program_has_the_server, gives_up_keys_for_a_program_that_hangs};
	const struct suite_case cases[] = {
		{.name = "xterm",
			.setup = set_up,
			.teardown = tear_down,
			.seconds = 120,
			.tests = tests,
			.count = CUA_COUNT(tests)},
		{.name = "hostile programs",
			.setup = set_up,
			.teardown = tear_down,
			.seconds = 120,
			.tests = against,
			.count = CUA_COUNT(against)},
	};
	return suite_run_cases("typing", cases, CUA_COUNT(cases));
}
