/* Lists windows with and without a window manager, and with properties that lie. */
#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <X11/Xutil.h>

#include "cua/ident.h"
#include "desktop/windows.h"
#include "desktop/x11_priv.h"
#include "tests/lib/suite.h"
#include "tests/lib/xvfb.h"

#define WAIT_MS 10000
#define NUDGE_MS 100

static struct {
	struct xvfb xvfb;
	pid_t manager;
	struct x11 *x;
	Display *app;
	cua_Window list[CUA_WINDOWS_MAX];
	size_t count;
	bool all; /* list panels, too */
	struct cua_err err;
} s;

static void set_up(void) {
	ck_assert(xvfb_start(&s.xvfb, "1280x800x24"));
	s.x = x11_open(s.xvfb.display, &s.err);
	ck_assert_msg(s.x != NULL, "%s", s.err.message);
	s.app = XOpenDisplay(NULL);
	ck_assert_ptr_nonnull(s.app);
}

static void tear_down(void) {
	(void)XCloseDisplay(s.app);
	xvfb_kill(s.manager);
	s.x = x11_close(s.x);
	xvfb_stop(&s.xvfb);
}

static void list(void) {
	ck_assert_int_eq(s.all ? windows_list_all(s.x, s.list, CUA_COUNT(s.list), &s.count, &s.err)
			       : windows_list(s.x, s.list, CUA_COUNT(s.list), &s.count, &s.err),
		0);
	for (size_t i = 0; i < s.count; i++) {
		ck_assert(cua_utf8_ok(s.list[i].title, strlen(s.list[i].title)));
		ck_assert(cua_utf8_ok(s.list[i].app, strlen(s.list[i].app)));
	}
}

static const cua_Window *find(Window w) {
	for (size_t i = 0; i < s.count; i++) {
		if (s.list[i].id == w) {
			return &s.list[i];
		}
	}
	return NULL;
}

static void set_bytes(Window w, const char *name, const char *type, const void *data, int len) {
	(void)XChangeProperty(s.app, w, XInternAtom(s.app, name, False),
		XInternAtom(s.app, type, False), 8, PropModeReplace, data, len);
}

static void set_longs(Window w, const char *name, const char *type, const long *data, int count) {
	(void)XChangeProperty(s.app, w, XInternAtom(s.app, name, False),
		XInternAtom(s.app, type, False), 32, PropModeReplace, (const unsigned char *)data,
		count);
}

static Window open_window(int x, int y, const char *title) {
	Window w = XCreateSimpleWindow(
		s.app, DefaultRootWindow(s.app), x, y, 200, 100, 0, 0, 0xffffff);
	XSizeHints hints = {.flags = USPosition, .x = x, .y = y};
	XSetWMNormalHints(s.app, w, &hints);
	char name[] = "tester";
	char class[] = "Tester";
	XClassHint hint = {name, class};
	(void)XSetClassHint(s.app, w, &hint);
	set_bytes(w, "_NET_WM_NAME", "UTF8_STRING", title, (int)strlen(title));
	const long pid = 4242;
	set_longs(w, "_NET_WM_PID", "CARDINAL", &pid, 1);
	(void)XSelectInput(s.app, w, StructureNotifyMask | PropertyChangeMask);
	(void)XMapWindow(s.app, w);
	(void)XSync(s.app, False);
	return w;
}

/* True if events were waiting. */
static bool drain(Display *d) {
	bool any = false;
	while (XPending(d) > 0) {
		XEvent event;
		(void)XNextEvent(d, &event);
		any = true;
	}
	return any;
}

/* Waits until something holds; the manager works at its own pace and tells by properties of the root
 * and of the windows. openbox may leave an event lying that came while it started, until another one
 * wakes it. */
static void wait_until(bool (*holds)(Window), Window w) {
	struct pollfd p[] = {{.fd = x11_fd(s.x), .events = POLLIN},
		{.fd = ConnectionNumber(s.app), .events = POLLIN}};
	int left = WAIT_MS;
	for (list(); !holds(w); list()) {
		if (drain(s.x->display) || drain(s.app) || poll(p, 2, NUDGE_MS) > 0) {
			continue;
		}
		left -= NUDGE_MS;
		ck_assert_int_gt(left, 0);
		set_bytes(DefaultRootWindow(s.app), "CUAD_TEST_NUDGE", "STRING", "", 0);
		(void)XSync(s.app, False);
	}
}

static bool is_managed(Window root) {
	unsigned long check = 0;
	return x11_get_longs(s.x, root, s.x->atom._NET_SUPPORTING_WM_CHECK, XA_WINDOW, &check, 1);
}

static bool is_listed(Window w) {
	return find(w) != NULL;
}

static bool is_active(Window w) {
	return find(w) && find(w)->active;
}

static bool is_minimized(Window w) {
	return find(w) && find(w)->minimized;
}

static void ignore_event(void *ctx, XEvent *event) {
	(void)ctx;
	(void)event;
}

static bool is_maximized(Window w) {
	return find(w) && find(w)->maximized;
}

/* An event that arrives together with an answer is in neither the socket nor Xlib's queue. */
START_TEST(knows_of_events_that_came_with_an_answer) {
	const int answer_and_event = 64;
	int arrived = 0;
	while (x11_pending(s.x)) {
		(void)x11_dispatch(s.x, ignore_event, NULL);
	}
	xcb_get_input_focus_cookie_t cookie = xcb_get_input_focus(s.x->xcb);
	(void)xcb_change_property(s.x->xcb, XCB_PROP_MODE_REPLACE, (xcb_window_t)s.x->root,
		XCB_ATOM_WM_NAME, XCB_ATOM_STRING, 8, 1, "x");
	(void)xcb_flush(s.x->xcb);
	while (arrived < answer_and_event) {
		struct pollfd socket = {.fd = x11_fd(s.x), .events = POLLIN};
		ck_assert_int_eq(poll(&socket, 1, WAIT_MS), 1);
		ck_assert_int_eq(ioctl(x11_fd(s.x), FIONREAD, &arrived), 0);
	}
	free(xcb_get_input_focus_reply(s.x->xcb, cookie, NULL));
	ck_assert(x11_pending(s.x));
}
END_TEST

START_TEST(lists_an_empty_screen) {
	list();
	ck_assert_uint_eq(s.count, 0);
}
END_TEST

START_TEST(lists_without_a_manager) {
	Window a = open_window(10, 20, "erstes Fenster");
	Window b = open_window(300, 40, "日本語 😀");
	XSetInputFocus(s.app, a, RevertToParent, CurrentTime);
	(void)XSync(s.app, False);
	list();
	ck_assert_uint_eq(s.count, 2);
	ck_assert_uint_eq(s.list[0].id, b);
	ck_assert_uint_eq(s.list[1].id, a);
	ck_assert_str_eq(s.list[0].title, "日本語 😀");
	ck_assert_str_eq(s.list[0].app, "Tester");
	ck_assert_uint_eq(s.list[0].pid, 4242);
	ck_assert_int_eq(s.list[0].geometry.x, 300);
	ck_assert_int_eq(s.list[0].geometry.y, 40);
	ck_assert_int_eq(s.list[0].geometry.width, 200);
	ck_assert_int_eq(s.list[0].geometry.height, 100);
	ck_assert(s.list[1].active && !s.list[0].active);
	(void)XUnmapWindow(s.app, b);
	(void)XSync(s.app, False);
	list();
	ck_assert_uint_eq(s.count, 1);
}
END_TEST

static void ask_manager(Window w, const char *message, const long data[3]) {
	XEvent e = {.xclient = {.type = ClientMessage,
			    .window = w,
			    .message_type = XInternAtom(s.app, message, False),
			    .format = 32}};
	for (int i = 0; i < 3; i++) {
		e.xclient.data.l[i] = data[i];
	}
	(void)XSendEvent(s.app, DefaultRootWindow(s.app), False,
		SubstructureNotifyMask | SubstructureRedirectMask, &e);
	(void)XSync(s.app, False);
}

static void activate(Window w) {
	ask_manager(w, "_NET_ACTIVE_WINDOW", (const long[]){2, CurrentTime, 0});
}

static void maximize(Window w) {
	const long data[] = {1, (long)XInternAtom(s.app, "_NET_WM_STATE_MAXIMIZED_HORZ", False),
		(long)XInternAtom(s.app, "_NET_WM_STATE_MAXIMIZED_VERT", False)};
	ask_manager(w, "_NET_WM_STATE", data);
}

START_TEST(lists_under_openbox) {
	const char *argv[] = {"openbox", NULL};
	s.manager = xvfb_spawn(argv, -1);
	wait_until(is_managed, DefaultRootWindow(s.app));
	Window a = open_window(100, 100, "first");
	wait_until(is_listed, a);
	activate(a);
	wait_until(is_active, a);
	Window b = open_window(400, 300, "second");
	wait_until(is_listed, b);
	activate(b);
	wait_until(is_active, b);
	ck_assert_uint_eq(s.count, 2);
	ck_assert_uint_eq(s.list[0].id, b);
	ck_assert(!find(a)->active);
	ck_assert_int_ge(find(b)->geometry.x, 400);
	ck_assert_int_ge(find(b)->geometry.y, 300);
	ck_assert_int_eq(find(b)->geometry.width, 200);
	/* The frame is around it: its title is above. */
	ck_assert_uint_eq(find(b)->frame_count, 4);
	ck_assert_int_gt(find(b)->frame[1], 5);
	(void)XIconifyWindow(s.app, b, 0);
	(void)XSync(s.app, False);
	wait_until(is_minimized, b);
	maximize(a);
	wait_until(is_maximized, a);
	ck_assert(!find(a)->minimized);
}
END_TEST

START_TEST(bears_properties_that_lie) {
	static char huge[200000];
	Window w = open_window(10, 10, "x");
	memset(huge, 'y', sizeof(huge));
	set_bytes(w, "_NET_WM_NAME", "UTF8_STRING", huge, sizeof(huge));
	set_bytes(w, "WM_CLASS", "STRING", huge, sizeof(huge));
	(void)XSync(s.app, False);
	list();
	ck_assert_uint_eq(strlen(s.list[0].title), CUA_TITLE_SIZE - 1);
	/* Broken UTF-8, cut in the middle, with control characters; wrong types and formats. */
	set_bytes(w, "_NET_WM_NAME", "UTF8_STRING", "a\xff\xc3(\xe2\x82\n\x1b[31mz", 13);
	set_bytes(w, "WM_CLASS", "STRING", "\0\xff\0\0", 4);
	const long lies[] = {-1, -1, 5};
	set_longs(w, "_NET_WM_PID", "CARDINAL", lies, 3);
	set_longs(w, "_NET_WM_STATE", "ATOM", lies, 3);
	set_bytes(w, "WM_STATE", "WM_STATE", "abc", 3);
	(void)XSync(s.app, False);
	list();
	ck_assert_uint_eq(s.count, 1);
	ck_assert_str_eq(
		s.list[0].title, "a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd  [31mz");
	set_longs(w, "_NET_WM_NAME", "CARDINAL", lies, 3);
	set_bytes(w, "WM_NAME", "STRING", "caf\xe9", 4);
	(void)XSync(s.app, False);
	list();
	ck_assert_str_eq(s.list[0].title, "café");
}
END_TEST

START_TEST(does_not_believe_a_list) {
	Window root = DefaultRootWindow(s.app);
	Window w = open_window(10, 10, "real");
	long ids[3000];
	for (int i = 0; i < 3000; i++) {
		ids[i] = i % 3 ? (long)w : 0x1fffffff - i;
	}
	/* Without a manager behind it the list counts for nothing. */
	set_longs(root, "_NET_CLIENT_LIST_STACKING", "WINDOW", ids, 3000);
	const long nobody = 0x12345678;
	set_longs(root, "_NET_SUPPORTING_WM_CHECK", "WINDOW", &nobody, 1);
	(void)XSync(s.app, False);
	list();
	ck_assert_uint_eq(s.count, 1);
	const long self = (long)w;
	set_longs(root, "_NET_SUPPORTING_WM_CHECK", "WINDOW", &self, 1);
	set_longs(w, "_NET_SUPPORTING_WM_CHECK", "WINDOW", &self, 1);
	(void)XSync(s.app, False);
	list();
	ck_assert_uint_eq(s.count, 1);
	ck_assert_uint_eq(s.list[0].id, w);
	set_bytes(root, "_NET_CLIENT_LIST_STACKING", "WINDOW", "abcdefgh", 8);
	(void)XSync(s.app, False);
	list();
	ck_assert_uint_eq(s.count, 0);
}
END_TEST

static void set_type(Window w, const char *type) {
	const long atom = (long)XInternAtom(s.app, type, False);
	set_longs(w, "_NET_WM_WINDOW_TYPE", "ATOM", &atom, 1);
	(void)XSync(s.app, False);
}

START_TEST(leaves_panels_out_unless_asked) {
	Window background = open_window(0, 0, "background");
	Window panel = open_window(0, 300, "panel");
	Window program = open_window(50, 50, "program");
	Window question = open_window(60, 60, "question");
	set_type(background, "_NET_WM_WINDOW_TYPE_DESKTOP");
	set_type(panel, "_NET_WM_WINDOW_TYPE_DOCK");
	const long parent = (long)program;
	set_longs(question, "WM_TRANSIENT_FOR", "WINDOW", &parent, 1);
	(void)XSync(s.app, False);
	list();
	ck_assert_uint_eq(s.count, 2);
	ck_assert_str_eq(find(program)->type, "normal");
	ck_assert_str_eq(find(question)->type, "dialog");
	s.all = true;
	list();
	ck_assert_uint_eq(s.count, 4);
	ck_assert_str_eq(find(background)->type, "desktop");
	ck_assert_str_eq(find(panel)->type, "dock");
	cua_Window one;
	ck_assert_int_eq(windows_find(s.x, (uint32_t)panel, &one, &s.err), 0);
	ck_assert_int_eq(windows_find(s.x, 0x12345678, &one, &s.err), -CUA_NOT_FOUND);
	ck_assert_str_eq(s.err.subject, "id");
	ck_assert_int_eq(windows_find(s.x, (uint32_t)DefaultRootWindow(s.app), &one, &s.err),
		-CUA_NOT_FOUND);
}
END_TEST

/* What is not on the screen and not minimized is none of a user's windows. */
START_TEST(leaves_out_what_is_withdrawn_or_manages_itself) {
	Window hidden = open_window(10, 10, "hidden");
	Window menu = open_window(20, 20, "menu");
	Window shown = open_window(30, 30, "shown");
	XSetWindowAttributes a = {.override_redirect = True};
	XChangeWindowAttributes(s.app, menu, CWOverrideRedirect, &a);
	(void)XUnmapWindow(s.app, hidden);
	(void)XSync(s.app, False);
	list();
	ck_assert_uint_eq(s.count, 1);
	ck_assert_uint_eq(s.list[0].id, shown);
}
END_TEST

START_TEST(lists_no_more_than_asked) {
	for (int i = 0; i < 100; i++) {
		(void)open_window(i, i, "one of many");
	}
	list();
	ck_assert_uint_eq(s.count, CUA_WINDOWS_MAX);
	ck_assert_int_eq(s.list[0].geometry.x, 99);
	ck_assert_uint_eq(s.list[CUA_WINDOWS_MAX - 1].more, 100 - CUA_WINDOWS_MAX);
	ck_assert(!s.list[0].has_more);
	ck_assert_int_eq(windows_list(s.x, s.list, 3, &s.count, &s.err), 0);
	ck_assert_uint_eq(s.count, 3);
	ck_assert_uint_eq(s.list[2].more, 97);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {knows_of_events_that_came_with_an_answer,
		lists_an_empty_screen, lists_without_a_manager, lists_under_openbox,
		bears_properties_that_lie, does_not_believe_a_list, lists_no_more_than_asked,
		leaves_panels_out_unless_asked, leaves_out_what_is_withdrawn_or_manages_itself};
	const struct suite_case cases[] = {
		{.name = "windows",
			.setup = set_up,
			.teardown = tear_down,
			.seconds = 60,
			.tests = tests,
			.count = CUA_COUNT(tests)},
	};
	return suite_run_cases("windows", cases, CUA_COUNT(cases));
}
