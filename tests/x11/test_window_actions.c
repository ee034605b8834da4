/* Acts on windows of real programs through a real worker, with openbox and without a window manager:
 * what is answered is what happened, also when a program hangs. */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>

#include "tests/lib/desk.h"
#include "tests/lib/suite.h"

#define READY_MS 5000
#define WAIT_MS 15000
#define STEP_MS 20
/* Any action on a window is answered within its deadline and some to spare. */
#define ANSWER_MS (CUA_WINDOW_MS + 2000)

static struct desk d;
static Display *display;
static pid_t program[8];
static size_t programs;
static cua_Window found;

static void start(const char *const argv[]) {
	pid_t pid = fork();
	if (pid == 0) {
		(void)setenv("DISPLAY", ":0", 1);
		(void)setpgid(0, 0);
		(void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(104);
	}
	ck_assert_int_gt(pid, 0);
	(void)setpgid(pid, pid); /* whoever comes first */
	program[programs++] = pid;
}

static void pause_ms(long ms) {
	(void)poll(NULL, 0, (int)ms);
}

static void setup(void) {
	desk_init(&d);
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
	/* The one that desk_paint() announced was none. */
	XDeleteProperty(display, DefaultRootWindow(display),
		XInternAtom(display, "_NET_SUPPORTING_WM_CHECK", False));
	XSync(display, False);
}

static bool is_managed(void) {
	Atom type = None;
	int format = 0;
	unsigned long count = 0;
	unsigned long left = 0;
	unsigned char *data = NULL;
	(void)XGetWindowProperty(display, DefaultRootWindow(display),
		XInternAtom(display, "_NET_SUPPORTING_WM_CHECK", False), 0, 1, False, XA_WINDOW,
		&type, &format, &count, &left, &data);
	if (data) {
		(void)XFree(data);
	}
	return count == 1;
}

static void setup_openbox(void) {
	setup();
	start((const char *[]){"openbox", NULL});
	for (int left = WAIT_MS; !is_managed(); left -= STEP_MS) {
		ck_assert_int_gt(left, 0);
		pause_ms(STEP_MS);
	}
}

static void teardown(void) {
	for (size_t i = 0; i < programs; i++) {
		(void)kill(-program[i], SIGKILL);
		(void)waitpid(program[i], NULL, 0);
	}
	(void)XCloseDisplay(display);
	desk_done(&d);
}

/* ---------------------------------------------------------------- asking */

static const cua_ActionResult *list(void) {
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_WINDOWS, &(cua_Args){0});
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	return result;
}

/* openbox may leave an event lying that came while it started, until another one wakes it. */
static void nudge(void) {
	XChangeProperty(display, DefaultRootWindow(display),
		XInternAtom(display, "CUAD_TEST_NUDGE", False), XA_STRING, 8, PropModeReplace,
		(const unsigned char *)"", 0);
	XSync(display, False);
}

/* Waits for a window with this title, which may be a beginning. */
static uint32_t wait_window(const char *title) {
	for (int left = WAIT_MS; left > 0; left -= STEP_MS) {
		const cua_ActionResult *result = list();
		for (size_t i = 0; i < result->windows_count; i++) {
			if (strncmp(result->windows[i].title, title, strlen(title)) == 0) {
				found = result->windows[i];
				return found.id;
			}
		}
		pause_ms(STEP_MS);
		nudge();
	}
	ck_abort_msg("no window %s", title);
	return 0;
}

static const cua_ActionResult *ask(int action, const cua_Args *args) {
	uint32_t serial = desk_send(&d, action, args, NULL);
	const cua_ActionResult *result = desk_answer(&d, ANSWER_MS);
	ck_assert_uint_eq(result->serial, serial);
	return result;
}

static const cua_ActionResult *act_on(int action, uint32_t id) {
	return ask(action, &(cua_Args){.has_id = true, .id = id});
}

/* Succeeds and tells the window. */
static const cua_Window *done(const cua_ActionResult *result) {
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	ck_assert_uint_eq(result->windows_count, 1);
	ck_assert(result->has_effect);
	found = result->windows[0];
	return &found;
}

static void check_error(const cua_ActionResult *result, enum cua_code code) {
	ck_assert(result->has_error);
	ck_assert_msg(result->error.code == (uint32_t)code, "%s: %s",
		cua_code_name((enum cua_code)result->error.code), result->error.message);
}

static const cua_ActionResult *move_to(uint32_t id, int x, int y) {
	return ask(CUA_ACTION_WINDOW_MOVE,
		&(cua_Args){
			.has_id = true, .id = id, .has_x = true, .x = x, .has_y = true, .y = y});
}

static const cua_ActionResult *resize_to(uint32_t id, int width, int height) {
	return ask(CUA_ACTION_WINDOW_RESIZE, &(cua_Args){.has_id = true,
						     .id = id,
						     .has_width = true,
						     .width = (uint32_t)width,
						     .has_height = true,
						     .height = (uint32_t)height});
}

static const cua_ActionResult *close_it(uint32_t id, bool force) {
	return ask(CUA_ACTION_WINDOW_CLOSE,
		&(cua_Args){.has_id = true, .id = id, .has_force = true, .force = force});
}

static void check_closed(const cua_ActionResult *result, bool closed) {
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	ck_assert(result->has_closed);
	ck_assert_int_eq(result->closed, closed);
	ck_assert_uint_eq(result->windows_count, !closed);
}

/* ---------------------------------------------------------------- programs */

static uint32_t open_xterm(const char *title, const char *geometry) {
	start((const char *[]){
		"xterm", "-T", title, "-geometry", geometry, "-e", "sleep", "1000", NULL});
	return wait_window(title);
}

static const char gtk[] =
	"import gi, sys\n"
	"gi.require_version('Gtk', '3.0')\n"
	"from gi.repository import Gtk\n"
	"w = Gtk.Window(title='gtk window')\n"
	"w.set_default_size(300, 200)\n"
	"def ask(*_):\n"
	"    q = Gtk.Dialog(title='question', transient_for=w, modal=sys.argv[1] == 'modal')\n"
	"    q.get_content_area().add(Gtk.Label(label='really?'))\n"
	"    q.show_all()\n"
	"    return True\n"
	"if sys.argv[1] != 'plain': w.connect('delete-event', ask)\n"
	"else: w.connect('destroy', Gtk.main_quit)\n"
	"w.add(Gtk.Label(label='hello'))\n"
	"w.show_all()\n"
	"Gtk.main()\n";

static uint32_t open_gtk(const char *kind) {
	start((const char *[]){"/usr/bin/python3", "-c", gtk, kind, NULL});
	return wait_window("gtk window");
}

/* Grabs the server and hangs; returns its pid. */
static pid_t grab_server(void) {
	pid_t pid = fork();
	if (pid == 0) {
		Display *other = XOpenDisplay(":0");
		XGrabServer(other);
		XSync(other, False);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	int status = 0;
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	program[programs++] = pid;
	return pid;
}

/* ---------------------------------------------------------------- tests for both */

START_TEST(acts_on_xterm) {
	uint32_t a = open_xterm("first", "60x20+50+60");
	uint32_t b = open_xterm("second", "60x20+300+200");
	ck_assert(done(act_on(CUA_ACTION_WINDOW_FOCUS, a))->active);
	ck_assert_uint_eq(list()->windows[0].id, a);
	ck_assert(done(act_on(CUA_ACTION_WINDOW_FOCUS, b))->active);
	ck_assert_uint_eq(list()->windows[0].id, b);
	/* It has the focus, but not the front. */
	XLowerWindow(display, b);
	XSync(display, False);
	(void)done(act_on(CUA_ACTION_WINDOW_FOCUS, b));
	ck_assert_uint_eq(list()->windows[0].id, b);
	const cua_Window *w = done(move_to(a, 400, 300));
	ck_assert_int_eq(w->geometry.x, 400);
	ck_assert_int_eq(w->geometry.y, 300);
	/* What is told and what is asked for are the same place. */
	w = done(move_to(a, w->geometry.x, w->geometry.y));
	ck_assert_int_eq(w->geometry.x, 400);
	ck_assert(done(act_on(CUA_ACTION_WINDOW_MINIMIZE, a))->minimized);
	check_error(act_on(CUA_ACTION_WINDOW_SCREENSHOT, a), CUA_CONFLICT);
	(void)wait_window("first");
	ck_assert(found.minimized);
	ck_assert(!done(act_on(CUA_ACTION_WINDOW_RESTORE, a))->minimized);
	ck_assert_int_eq(found.geometry.x, 400);
	ck_assert(done(act_on(CUA_ACTION_WINDOW_MAXIMIZE, a))->maximized);
	ck_assert_int_gt(found.geometry.width, DESK_WIDTH - 40);
	ck_assert(!done(act_on(CUA_ACTION_WINDOW_RESTORE, a))->maximized);
	ck_assert_int_eq(found.geometry.x, 400);
	ck_assert_int_lt(found.geometry.width, 600);
	/* Minimized and maximized at once: shown first, then normal. */
	(void)done(act_on(CUA_ACTION_WINDOW_MAXIMIZE, a));
	(void)done(act_on(CUA_ACTION_WINDOW_MINIMIZE, a));
	ck_assert(done(act_on(CUA_ACTION_WINDOW_RESTORE, a))->maximized);
	ck_assert(!done(act_on(CUA_ACTION_WINDOW_RESTORE, a))->maximized);
	(void)done(act_on(CUA_ACTION_WINDOW_MINIMIZE, a));
	ck_assert(done(act_on(CUA_ACTION_WINDOW_FOCUS, a))->active);
	check_closed(close_it(a, false), true);
	check_error(act_on(CUA_ACTION_WINDOW_FOCUS, a), CUA_NOT_FOUND);
}
END_TEST

START_TEST(resizes_as_a_program_lets_it) {
	uint32_t term = open_xterm("term", "60x20+50+60");
	const cua_Window *w = done(resize_to(term, 501, 303));
	ck_assert_int_le(w->geometry.width, 501);
	ck_assert_int_gt(w->geometry.width, 470);
	/* Again: it has that size already. */
	int width = w->geometry.width;
	ck_assert_int_eq(done(resize_to(term, 501, 303))->geometry.width, width);
	uint32_t window = open_gtk("plain");
	w = done(resize_to(window, 417, 219));
	ck_assert_int_eq(w->geometry.width, 417);
	ck_assert_int_eq(w->geometry.height, 219);
	/* Off the screen is a place, too. */
	w = done(move_to(window, -100, 400));
	ck_assert_int_eq(w->geometry.x, -100);
	check_closed(close_it(window, false), true);
}
END_TEST

START_TEST(tells_that_a_window_asks_back) {
	uint32_t window = open_gtk("asks");
	check_closed(close_it(window, false), false);
	(void)wait_window("question");
	ck_assert_str_eq(found.type, "dialog");
	check_closed(close_it(window, true), true);
	for (int left = WAIT_MS; list()->windows_count > 0; left -= STEP_MS) {
		ck_assert_msg(left > 0, "%s is there", d.msg.body.action_result.windows[0].title);
		pause_ms(STEP_MS);
	}
}
END_TEST

static void check_no_hang(pid_t stopped, uint32_t id) {
	static const int actions[] = {CUA_ACTION_WINDOW_MINIMIZE, CUA_ACTION_WINDOW_RESTORE,
		CUA_ACTION_WINDOW_MAXIMIZE, CUA_ACTION_WINDOW_RESTORE, CUA_ACTION_WINDOW_FOCUS,
		CUA_ACTION_WINDOW_SCREENSHOT};
	ck_assert_int_eq(kill(stopped, SIGSTOP), 0);
	for (size_t i = 0; i < CUA_COUNT(actions); i++) {
		const cua_ActionResult *result = act_on(actions[i], id);
		ck_assert_msg(!result->has_error, "%s: %s",
			cua_action_get((unsigned)actions[i])->name, result->error.message);
	}
	ck_assert_int_eq(done(move_to(id, 200, 210))->geometry.x, 200);
	(void)done(resize_to(id, 420, 310));
	(void)list();
	check_closed(close_it(id, false), false);
	check_closed(close_it(id, true), true);
}

START_TEST(no_action_hangs_with_its_program) {
	uint32_t term = open_xterm("hangs", "60x20+50+60");
	check_no_hang(program[programs - 1], term);
	uint32_t window = open_gtk("plain");
	check_no_hang(program[programs - 1], window);
}
END_TEST

START_TEST(refuses_what_is_no_window) {
	check_error(act_on(CUA_ACTION_WINDOW_FOCUS, 0x7654321), CUA_NOT_FOUND);
	check_error(act_on(CUA_ACTION_WINDOW_SCREENSHOT, 0x7654321), CUA_NOT_FOUND);
	check_error(act_on(CUA_ACTION_WINDOW_CLOSE, (uint32_t)DefaultRootWindow(display)),
		CUA_NOT_FOUND);
	check_error(close_it((uint32_t)DefaultRootWindow(display), true), CUA_NOT_FOUND);
	check_error(act_on(CUA_ACTION_WINDOW_FOCUS, 0), CUA_INVALID);
}
END_TEST

/* ---------------------------------------------------------------- with openbox only */

START_TEST(says_that_the_manager_hangs) {
	uint32_t term = open_xterm("term", "60x20+50+60");
	ck_assert_int_eq(kill(program[0], SIGSTOP), 0);
	check_error(act_on(CUA_ACTION_WINDOW_MINIMIZE, term), CUA_TIMEOUT);
	check_error(move_to(term, 200, 300), CUA_CONFLICT);
	ck_assert_uint_ge(list()->windows_count, 1);
	ck_assert_int_eq(kill(program[0], SIGCONT), 0);
	ck_assert(done(act_on(CUA_ACTION_WINDOW_FOCUS, term))->active);
}
END_TEST

/* Nobody else is served then, so the window manager cannot do anything. */
START_TEST(a_program_that_has_the_server_to_itself_hangs) {
	uint32_t term = open_xterm("term", "60x20+50+60");
	(void)done(act_on(CUA_ACTION_WINDOW_FOCUS, term)); /* it is on the screen then */
	pid_t pid = grab_server();
	ck_assert_uint_ge(list()->windows_count, 1);
	check_error(act_on(CUA_ACTION_WINDOW_MINIMIZE, term), CUA_TIMEOUT);
	check_error(move_to(term, 200, 300), CUA_CONFLICT);
	const cua_ActionResult *result = act_on(CUA_ACTION_WINDOW_SCREENSHOT, term);
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	(void)kill(pid, SIGKILL);
	/* The window manager does now what it was asked for then. */
	for (int left = WAIT_MS; wait_window("term") && !found.minimized; left -= STEP_MS) {
		ck_assert_int_gt(left, 0);
		pause_ms(STEP_MS);
	}
	ck_assert(!done(act_on(CUA_ACTION_WINDOW_RESTORE, term))->minimized);
}
END_TEST

START_TEST(says_which_dialog_keeps_the_focus) {
	uint32_t window = open_gtk("modal");
	check_closed(close_it(window, false), false);
	uint32_t dialog = wait_window("question");
	const cua_ActionResult *result = act_on(CUA_ACTION_WINDOW_FOCUS, window);
	check_error(result, CUA_CONFLICT);
	ck_assert_ptr_nonnull(strstr(result->error.message, "question"));
	check_closed(close_it(dialog, false), true);
	ck_assert(done(act_on(CUA_ACTION_WINDOW_FOCUS, window))->active);
}
END_TEST

/* Typed right behind it, a text arrives in the window that was brought to the front. */
START_TEST(focus_comes_before_what_is_sent_after_it) {
	Window mine = XCreateSimpleWindow(
		display, DefaultRootWindow(display), 10, 10, 200, 100, 0, 0, 0xffffff);
	XStoreName(display, mine, "mine");
	XSelectInput(display, mine, KeyPressMask | StructureNotifyMask);
	XMapWindow(display, mine);
	XSync(display, False);
	uint32_t id = wait_window("mine");
	(void)open_xterm("other", "60x20+300+200");
	desk_send(&d, CUA_ACTION_WINDOW_FOCUS, &(cua_Args){.has_id = true, .id = id}, NULL);
	desk_send(&d, CUA_ACTION_TYPE, &(cua_Args){.has_text = true}, "hello");
	for (int i = 0; i < 2; i++) {
		ck_assert(!desk_answer(&d, ANSWER_MS)->has_error);
	}
	char text[16] = "";
	size_t used = 0;
	XSync(display, False);
	XEvent event;
	while (XCheckTypedEvent(display, KeyPress, &event)) {
		used += (size_t)XLookupString(
			&event.xkey, text + used, (int)(sizeof(text) - 1 - used), NULL, NULL);
	}
	ck_assert_str_eq(text, "hello");
}
END_TEST

int main(void) {
	const TTest *const common[] = {acts_on_xterm, resizes_as_a_program_lets_it,
		tells_that_a_window_asks_back, no_action_hangs_with_its_program,
		refuses_what_is_no_window};
	const TTest *const managed[] = {says_that_the_manager_hangs,
		a_program_that_has_the_server_to_itself_hangs, says_which_dialog_keeps_the_focus,
		focus_comes_before_what_is_sent_after_it};
	const struct suite_case cases[] = {
		{.name = "without a manager",
			.setup = setup,
			.teardown = teardown,
			.seconds = 120,
			.tests = common,
			.count = CUA_COUNT(common)},
		{.name = "openbox",
			.setup = setup_openbox,
			.teardown = teardown,
			.seconds = 120,
			.tests = common,
			.count = CUA_COUNT(common)},
		{.name = "openbox alone",
			.setup = setup_openbox,
			.teardown = teardown,
			.seconds = 120,
			.tests = managed,
			.count = CUA_COUNT(managed)},
	};
	return suite_run_cases("window actions", cases, CUA_COUNT(cases));
}
