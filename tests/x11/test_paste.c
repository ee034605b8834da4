/* Pasting into real programs, and what they leave in the clipboard when they end: xterm, GTK 3, Qt 5,
 * Chromium, under a window manager, by a real worker. */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <X11/Xlib.h>

#include "tests/lib/desk.h"
#include "tests/lib/suite.h"
#include "tests/lib/xvfb.h"

#define READY_MS 20000
#define WAIT_MS 30000
#define LINE_MAX_ (1u << 20)
#define PYTHON "/usr/bin/python3"

static struct desk d;
static Display *display;
static pid_t manager;
static pid_t program;
static int out = -1; /* what the program prints */
static char line[LINE_MAX_];

/* Windows that are there before it get no keyboard from it. */
static void start_manager(void) {
	const char *argv[] = {"openbox", "--sm-disable", NULL};
	Atom owner = XInternAtom(display, "WM_S0", False);
	Atom list = XInternAtom(display, "_NET_CLIENT_LIST", False);
	int count = 0;
	manager = xvfb_spawn(argv, -1);
	for (int left = READY_MS; left > 0; left -= 20) {
		Atom *names = XListProperties(display, DefaultRootWindow(display), &count);
		bool up = XGetSelectionOwner(display, owner) != None;
		bool lists = false;
		for (int i = 0; i < count; i++) {
			lists |= names[i] == list;
		}
		XFree(names);
		if (up && lists) {
			return;
		}
		(void)poll(NULL, 0, 20);
	}
	ck_abort_msg("openbox does not start");
}

static void setup(void) {
	desk_init(&d);
	desk_start_xvfb(&d);
	(void)setenv("DISPLAY", ":0", 1);
	(void)setenv("HOME", "/tmp", 1);
	(void)setenv("LC_ALL", "C.UTF-8", 1);
	(void)setenv("NO_AT_BRIDGE", "1", 1);
	desk_start_worker(&d);
	display = desk_paint();
	start_manager();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
}

static void teardown(void) {
	xvfb_kill(program);
	xvfb_kill(manager);
	if (display) {
		(void)XCloseDisplay(display);
	}
	desk_done(&d);
}

/* ---------------------------------------------------------------- programs */

static void start(const char *const argv[]) {
	int fds[2];
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	program = xvfb_spawn(argv, fds[1]);
	ck_assert_int_gt(program, 0);
	(void)close(fds[1]);
	if (out >= 0) {
		(void)close(out);
	}
	out = fds[0];
}

/* Reads one byte; -1 when none comes. */
static int next_byte(void) {
	unsigned char byte = 0;
	struct pollfd p = {.fd = out, .events = POLLIN};
	return poll(&p, 1, WAIT_MS) == 1 && read(out, &byte, 1) == 1 ? byte : -1;
}

static const char *next_line(void) {
	size_t used = 0;
	for (;;) {
		int byte = next_byte();
		ck_assert_msg(byte >= 0, "nothing comes after %.*s", (int)used, line);
		if (byte == '\n') {
			break;
		}
		ck_assert_uint_lt(used + 1, sizeof(line));
		line[used++] = (char)byte;
	}
	line[used] = '\0';
	return line;
}

/* Reads lines until this one. */
static void wait_line(const char *want) {
	while (strcmp(next_line(), want) != 0) {
	}
}

static void check_ok(const cua_ActionResult *result) {
	ck_assert_msg(!result->has_error, "%s", result->error.message);
}

/* Until a window has this class and the keyboard. */
static void wait_active(const char *app) {
	for (int left = WAIT_MS; left > 0; left -= 50) {
		const cua_ActionResult *result = desk_do(&d, CUA_ACTION_WINDOWS, &(cua_Args){0});
		for (size_t i = 0; i < result->windows_count; i++) {
			if (result->windows[i].active && strstr(result->windows[i].app, app)) {
				return;
			}
		}
		(void)poll(NULL, 0, 50);
	}
	ck_abort_msg("no window of %s", app);
}

/* Until the program has ended by itself. */
static void wait_end(void) {
	int status = 0;
	for (int left = WAIT_MS; left > 0; left -= 20) {
		if (waitpid(program, &status, WNOHANG) == program) {
			program = 0;
			ck_assert_int_eq(status, 0);
			return;
		}
		(void)poll(NULL, 0, 20);
	}
	ck_abort_msg("the program does not end");
}

/* ---------------------------------------------------------------- actions */

static const cua_ActionResult *with_text(int action, unsigned selection, const char *text) {
	cua_Args args = {.has_text = true, .has_selection = true, .selection = selection};
	if (action == CUA_ACTION_PASTE) {
		args.has_selection = false;
	}
	(void)desk_send(&d, action, &args, text);
	return desk_answer(&d, WAIT_MS);
}

static void set(const char *text, unsigned selection) {
	check_ok(with_text(CUA_ACTION_CLIPBOARD_SET, selection, text));
}

static void paste(const char *text) {
	check_ok(with_text(CUA_ACTION_PASTE, 0, text));
}

static void check_clipboard(unsigned selection, const char *want) {
	cua_Args args = {.has_selection = true, .selection = selection};
	(void)desk_send(&d, CUA_ACTION_CLIPBOARD_GET, &args, NULL);
	const cua_ActionResult *result = desk_answer(&d, WAIT_MS);
	check_ok(result);
	ck_assert_int_eq(result->empty, want == NULL);
	struct cua_span got = d.msg.blob_count ? d.msg.blob[0] : (struct cua_span){"", 0};
	want = want ? want : "";
	ck_assert_msg(got.len == strlen(want) && memcmp(got.data, want, got.len) == 0,
		"%.*s instead of %s", (int)got.len, (const char *)got.data, want);
}

static void press(const char *keys) {
	cua_Args args = {.keys_count = 1};
	(void)snprintf(args.keys[0], sizeof(args.keys[0]), "%s", keys);
	check_ok(desk_do(&d, CUA_ACTION_KEY, &args));
}

static const char *const texts[] = {"plain", "日本語 İğüş 👩‍👩‍👧‍👦 é",
	"with  spaces & <signs> \"'%", "x"};

/* Pastes each; the sink prints what it has received, in a line. */
static void paste_all(void) {
	set("old clipboard", 0);
	set("old primary", 1);
	for (size_t i = 0; i < CUA_COUNT(texts); i++) {
		paste(texts[i]);
		check_clipboard(0, "old clipboard");
		check_clipboard(1, "old primary");
		wait_line(texts[i]);
	}
}

/* ---------------------------------------------------------------- xterm */

static void start_xterm(const char *what) {
	char script[256];
	ck_assert_int_eq(mkfifo("/tmp/sink", 0600), 0);
	(void)snprintf(script, sizeof(script), "exec >/tmp/sink; echo READY; %s", what);
	const char *argv[] = {"xterm", "-u8", "-xrm", "XTerm*selectToClipboard: true", "-xrm",
		"XTerm*allowPasteControls: true", "-geometry", "80x24+0+0", "-e", "sh", "-c",
		script, NULL};
	start(argv);
	(void)close(out);
	out = open("/tmp/sink", O_RDONLY | O_CLOEXEC);
	wait_line("READY");
	wait_active("XTerm");
}

START_TEST(pastes_into_xterm) {
	start_xterm("stty -echo; while read -r l; do printf '%s\\n' \"$l\"; done");
	set("old clipboard", 0);
	set("old primary", 1);
	for (size_t i = 0; i < CUA_COUNT(texts); i++) {
		char whole[256];
		(void)snprintf(whole, sizeof(whole), "%s\n", texts[i]);
		paste(whole);
		check_clipboard(0, "old clipboard");
		check_clipboard(1, "old primary");
		wait_line(texts[i]);
	}
}
END_TEST

/* The order of input actions holds, also when they are sent at once. */
START_TEST(pastes_in_order) {
	start_xterm("stty -echo; while read -r l; do printf '%s\\n' \"$l\"; done");
	const cua_Args args = {.has_text = true};
	for (int i = 0; i < 5; i++) {
		(void)desk_send(&d, CUA_ACTION_TYPE, &args, "typed");
		(void)desk_send(&d, CUA_ACTION_PASTE, &args, "-pasted-");
	}
	(void)desk_send(&d, CUA_ACTION_TYPE, &args, "end\n");
	for (int i = 0; i < 11; i++) {
		check_ok(desk_answer(&d, WAIT_MS));
	}
	ck_assert_str_eq(next_line(), "typed-pasted-typed-pasted-typed-pasted-typed-pasted-typed-"
				      "pasted-end");
}
END_TEST

/* What another program has is put back, however long the paste waited for its turn. */
START_TEST(restores_what_another_program_had_after_waiting) {
	const char *owner[] = {
		"sh", "-c", "printf theirs | exec xclip -quiet -selection clipboard", NULL};
	const cua_Args get = {0};
	const cua_Args text = {.has_text = true};
	cua_Args hold = {.keys_count = 1, .has_hold = true, .hold = 1200};
	bool theirs = false;
	start_xterm("stty -echo; while read -r l; do printf '%s\\n' \"$l\"; done");
	pid_t pid = xvfb_spawn(owner, -1);
	for (int left = WAIT_MS; !theirs; left -= 20) {
		ck_assert_int_gt(left, 0);
		(void)poll(NULL, 0, 20);
		theirs = !desk_do(&d, CUA_ACTION_CLIPBOARD_GET, &get)->empty;
	}
	(void)snprintf(hold.keys[0], sizeof(hold.keys[0]), "shift");
	(void)desk_send(&d, CUA_ACTION_KEY, &hold, NULL);
	(void)desk_send(&d, CUA_ACTION_PASTE, &text, "pasted\n");
	check_ok(desk_answer(&d, WAIT_MS));
	check_ok(desk_answer(&d, WAIT_MS));
	wait_line("pasted");
	check_clipboard(0, "theirs");
	xvfb_kill(pid);
}
END_TEST

START_TEST(pastes_much_into_xterm) {
	enum { MUCH = 600000 };
	start_xterm("stty raw -echo; echo RAW; exec cat");
	wait_line("RAW");
	char *text = malloc(MUCH + 1);
	for (size_t i = 0; i < MUCH; i++) {
		text[i] = (char)('!' + i * 7 % 90);
	}
	text[MUCH] = '\0';
	paste(text);
	for (size_t i = 0; i < MUCH; i++) {
		int byte = next_byte();
		ck_assert_msg(byte == text[i], "byte %zu is %d instead of %d", i, byte, text[i]);
	}
	check_clipboard(0, NULL);
	check_clipboard(1, NULL);
	free(text);
}
END_TEST

START_TEST(keeps_what_a_killed_xterm_had) {
	start_xterm("printf 'copy-me-now\\n' >/dev/tty; exec sleep 100");
	(void)poll(NULL, 0, 300);
	cua_Args args = {
		.has_x = true, .x = 40, .has_y = true, .y = 40, .has_count = true, .count = 3};
	char got[64] = "";
	/* A triple click selects the line; which one is where depends on the font. */
	for (int y = 20; y < 80 && !strstr(got, "copy-me-now"); y += 6) {
		args.y = y;
		check_ok(desk_do(&d, CUA_ACTION_CLICK, &args));
		(void)poll(NULL, 0, 300);
		const cua_ActionResult *result =
			desk_do(&d, CUA_ACTION_CLIPBOARD_GET, &(cua_Args){0});
		check_ok(result);
		if (d.msg.blob_count) {
			(void)snprintf(got, sizeof(got), "%.*s", (int)d.msg.blob[0].len,
				(const char *)d.msg.blob[0].data);
		}
	}
	ck_assert_ptr_nonnull(strstr(got, "copy-me-now"));
	(void)poll(NULL, 0, 300);
	xvfb_kill(program);
	program = 0;
	(void)poll(NULL, 0, 100);
	check_clipboard(0, got);
}
END_TEST

/* ---------------------------------------------------------------- GTK */

#define GTK                                                                                        \
	"import gi, sys\n"                                                                         \
	"gi.require_version('Gtk', '3.0')\n"                                                       \
	"from gi.repository import Gtk, Gdk, GLib\n"                                               \
	"def say(*a): print(*a, flush=True)\n"                                                     \
	"w = Gtk.Window(title='sink'); e = Gtk.Entry(); w.add(e); w.show_all(); w.present()\n"

static void start_python(const char *script, const char *app) {
	const char *argv[] = {PYTHON, "-c", script, NULL};
	start(argv);
	wait_line("READY");
	if (app) {
		wait_active(app);
	}
}

START_TEST(pastes_into_gtk) {
	start_python(GTK "def on(x):\n"
			 "    t = e.get_text()\n"
			 "    if t: say(t); GLib.idle_add(e.set_text, '')\n"
			 "e.connect('changed', on)\n"
			 "GLib.idle_add(say, 'READY')\n"
			 "Gtk.main()\n",
		"");
	paste_all();
}
END_TEST

/* What is selected is replaced: the program must not lose the primary selection for it. */
START_TEST(pastes_over_a_selection_in_gtk) {
	start_python(GTK "e.set_text('abc')\n"
			 "e.connect('changed', lambda x: say(e.get_text()))\n"
			 "e.connect('notify::text', lambda *a: None)\n"
			 "GLib.idle_add(say, 'READY')\n"
			 "Gtk.main()\n",
		"");
	press("ctrl+a");
	(void)poll(NULL, 0, 200);
	paste("new");
	wait_line("new");
}
END_TEST

START_TEST(takes_over_from_gtk) {
	start_python(GTK "c = Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD)\n"
			 "def go():\n"
			 "    c.set_text('from gtk \\u65e5', -1); c.store(); Gtk.main_quit()\n"
			 "GLib.idle_add(go)\n"
			 "say('READY')\n"
			 "Gtk.main()\n",
		NULL);
	wait_end();
	check_clipboard(0, "from gtk 日");
}
END_TEST

/* ---------------------------------------------------------------- Qt */

#define QT                                                                                         \
	"import sys\n"                                                                             \
	"from PyQt5.QtWidgets import QApplication, QLineEdit\n"                                    \
	"from PyQt5.QtCore import QTimer\n"                                                        \
	"def say(*a): print(*a, flush=True)\n"                                                     \
	"a = QApplication(['qtsink'])\n"

START_TEST(pastes_into_qt) {
	start_python(QT "e = QLineEdit()\n"
			"def on(t):\n"
			"    if t: say(t); QTimer.singleShot(0, e.clear)\n"
			"e.textChanged.connect(on)\n"
			"e.show()\n"
			"QTimer.singleShot(0, lambda: say('READY'))\n"
			"a.exec_()\n",
		"qtsink");
	paste_all();
}
END_TEST

START_TEST(takes_over_from_qt) {
	start_python(QT "say('READY')\n"
			"def go(): a.clipboard().setText('from qt \\u65e5'); a.quit()\n"
			"QTimer.singleShot(100, go)\n"
			"a.exec_()\n",
		NULL);
	wait_end();
	check_clipboard(0, "from qt 日");
}
END_TEST

/* ---------------------------------------------------------------- Chromium */

/* A page whose title tells what its text area holds, and that the keyboard is elsewhere. */
#define PAGE                                                                                       \
	"data:text/html,<meta charset=utf-8><textarea id=t autofocus "                             \
	"style=width:95vw;height:80vh></textarea><script>"                                         \
	"var u=unescape;var n=0;t.oninput=function(){document.title='got:'+encodeURIComponent("    \
	"t.value);t.value=''};t.onblur=function(){document.title='left'};"                         \
	"document.title='ready'</script>"

static const char *title_of_chromium(void) {
	static char title[256];
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_WINDOWS, &(cua_Args){0});
	title[0] = '\0';
	for (size_t i = 0; i < result->windows_count; i++) {
		if (strcasestr(result->windows[i].app, "chromium")) {
			(void)snprintf(title, sizeof(title), "%s", result->windows[i].title);
		}
	}
	return title;
}

static void wait_title(const char *start_of_it) {
	for (int left = WAIT_MS; left > 0; left -= 50) {
		if (strncmp(title_of_chromium(), start_of_it, strlen(start_of_it)) == 0) {
			return;
		}
		(void)poll(NULL, 0, 50);
	}
	ck_abort_msg("the title is %s instead of %s", title_of_chromium(), start_of_it);
}

/* Whether the clipboard has the page's address, as Chromium's bar shows it. */
static bool has_address(void) {
	static const char address[] = "data:text/html";
	check_ok(desk_do(&d, CUA_ACTION_CLIPBOARD_GET, &(cua_Args){0}));
	return d.msg.blob_count == 1 && d.msg.blob[0].len >= strlen(address) &&
	       memcmp(d.msg.blob[0].data, address, strlen(address)) == 0;
}

START_TEST(pastes_into_chromium_and_takes_over) {
	const char *argv[] = {"chromium", "--no-sandbox", "--test-type",
		"--user-data-dir=/tmp/profile", "--no-first-run", "--disable-gpu",
		"--window-size=800,500", PAGE, NULL};
	start(argv);
	wait_title("ready");
	wait_active("hromium");
	const cua_Args at = {.has_x = true, .x = 300, .has_y = true, .y = 350};
	check_ok(desk_do(&d, CUA_ACTION_CLICK, &at));
	set("old", 0);
	paste("ab \xc3\xa9"
	      "\nx");
	wait_title("got:ab%20%C3%A9%0Ax");
	check_clipboard(0, "old");
	for (unsigned i = 0; i < 10; i++) {
		char text[32];
		char title[32];
		(void)snprintf(text, sizeof(text), "number %u.", i);
		(void)snprintf(title, sizeof(title), "got:number%%20%u.", i);
		paste(text);
		check_clipboard(0, "old");
		wait_title(title);
	}
	/* What it copies outlives it. */
	press("ctrl+l");
	wait_title("left");
	press("ctrl+a");
	press("ctrl+c");
	for (int left = WAIT_MS; !has_address(); left -= 50) {
		ck_assert_int_gt(left, 0);
		(void)poll(NULL, 0, 50);
	}
	xvfb_kill(program);
	program = 0;
	(void)poll(NULL, 0, 300);
	ck_assert(has_address());
}
END_TEST

/* ---------------------------------------------------------------- nobody there */

START_TEST(says_that_nobody_took_it) {
	set("old", 0);
	const cua_ActionResult *result = with_text(CUA_ACTION_PASTE, 0, "nobody");
	ck_assert(result->has_error);
	ck_assert_uint_eq(result->error.code, CUA_TIMEOUT);
	check_clipboard(0, "old");
	check_clipboard(1, NULL);
	paste(""); /* nothing is nothing to do */
	cua_Args args = {.has_text = true, .keys_count = 1};
	(void)snprintf(args.keys[0], sizeof(args.keys[0]), "ctrl+nonsense");
	(void)desk_send(&d, CUA_ACTION_PASTE, &args, "x");
	result = desk_answer(&d, WAIT_MS);
	ck_assert_uint_eq(result->error.code, CUA_INVALID);
	check_clipboard(0, "old");
}
END_TEST

START_TEST(a_lost_client_ends_the_paste) {
	set("old", 0);
	const cua_Args args = {.has_text = true};
	(void)desk_send(&d, CUA_ACTION_PASTE, &args, "lost");
	(void)poll(NULL, 0, 300);
	desk_link(&d);
	check_clipboard(0, "old");
}
END_TEST

/* Takes the text at the first key and then asks what there is, again and again. Returns the answer. */
static const cua_ActionResult *paste_into_one_that_asks_on(Window w) {
	Atom clipboard = XInternAtom(display, "CLIPBOARD", False);
	Atom targets = XInternAtom(display, "TARGETS", False);
	Atom utf8 = XInternAtom(display, "UTF8_STRING", False);
	Atom property = XInternAtom(display, "TEST_PASTED", False);
	const cua_Args args = {.has_text = true};
	bool pressed = false;
	struct pollfd front = {.fd = d.front, .events = POLLIN};
	(void)desk_send(&d, CUA_ACTION_PASTE, &args, "taken");
	for (int left = WAIT_MS; poll(&front, 1, 20) == 0; left -= 20) {
		ck_assert_int_gt(left, 0);
		while (XPending(display) > 0) {
			XEvent event;
			(void)XNextEvent(display, &event);
			if (event.type == KeyPress && !pressed) {
				XConvertSelection(
					display, clipboard, utf8, property, w, CurrentTime);
				pressed = true;
			} else if (event.type == SelectionNotify &&
				   event.xselection.property == property) {
				XDeleteProperty(display, w, property);
			}
		}
		if (pressed) {
			XConvertSelection(display, clipboard, targets, targets, w, CurrentTime);
		}
		XFlush(display);
	}
	return desk_answer(&d, WAIT_MS);
}

START_TEST(ends_though_a_program_asks_for_ever) {
	XSetWindowAttributes a = {
		.override_redirect = True, .event_mask = KeyPressMask | StructureNotifyMask};
	Window w = XCreateWindow(display, DefaultRootWindow(display), 0, 0, 100, 100, 0,
		CopyFromParent, InputOutput, CopyFromParent, CWOverrideRedirect | CWEventMask, &a);
	XEvent event;
	XMapWindow(display, w);
	XWindowEvent(display, w, StructureNotifyMask, &event);
	XSetInputFocus(display, w, RevertToNone, CurrentTime);
	XSync(display, False);
	set("old", 0);
	check_ok(paste_into_one_that_asks_on(w));
	check_clipboard(0, "old");
}
END_TEST

int main(void) {
	const TTest *const tests[] = {pastes_into_xterm, pastes_in_order,
		restores_what_another_program_had_after_waiting, pastes_much_into_xterm,
		keeps_what_a_killed_xterm_had, pastes_into_gtk, pastes_over_a_selection_in_gtk,
		takes_over_from_gtk, pastes_into_qt, takes_over_from_qt,
		pastes_into_chromium_and_takes_over, says_that_nobody_took_it,
		a_lost_client_ends_the_paste, ends_though_a_program_asks_for_ever};
	const struct suite_case cases[] = {
		{.name = "paste",
			.setup = setup,
			.teardown = teardown,
			.seconds = 100,
			.tests = tests,
			.count = CUA_COUNT(tests)},
	};
	return suite_run_cases("paste", cases, CUA_COUNT(cases));
}
