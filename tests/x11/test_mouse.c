/* The mouse as real programs see it: GTK 3, Qt 5 and 6, Chromium, xterm and a window manager, under
 * a real worker. What is the same for all toolkits is asked of each by the same code. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>

#include "tests/lib/desk.h"
#include "tests/lib/program.h"
#include "tests/lib/suite.h"
#include "tests/lib/xvfb.h"

#define READY_MS 10000
#define PROGRAM_MS 30000
#define EVENT_MS 5000
#define TEXT_MAX 512

static struct {
	struct desk desk;
	Display *display;
	struct program manager;
	struct program program;
} s;

/* ---------------------------------------------------------------- set-up */

/* They may lie below the /tmp that is covered. */
static int open_programs(void) {
	char path[512];
	const char *root = getenv("CUAD_SOURCE");
	(void)snprintf(path, sizeof(path), "%s/tests/toolkit", root ? root : ".");
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s is not there", path);
	return fd;
}

static void copy_programs(int from) {
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), from);
	ck_assert(xvfb_run((const char *[]){"cp", "-rL", path, "/tmp/toolkit", NULL}));
	(void)close(from);
}

static void set_up(void) {
	int programs = open_programs();
	desk_init(&s.desk);
	copy_programs(programs);
	desk_start_xvfb(&s.desk);
	ck_assert_int_eq(setenv("DISPLAY", ":0", 1), 0);
	/* What is mapped while openbox starts is not always managed by it. */
	program_start(&s.manager, false,
		(const char *[]){"openbox", "--sm-disable", "--startup", "echo started", NULL});
	ck_assert(program_wait(&s.manager, "started", 1, PROGRAM_MS));
	desk_start_worker(&s.desk);
	s.display = desk_paint();
	ck_assert(desk_wait_ready(&s.desk, true, READY_MS));
}

static void tear_down(void) {
	program_stop(&s.program);
	program_stop(&s.manager);
	if (s.display) {
		(void)XCloseDisplay(s.display);
	}
	desk_done(&s.desk);
}

static void start(bool browser, const char *const argv[]) {
	program_start(&s.program, browser, argv);
	ck_assert_msg(program_wait(&s.program, "ready", 1, PROGRAM_MS), "%s does not start: %s",
		argv[0], program_told(&s.program));
}

static void start_gtk(void) {
	start(false, (const char *[]){"/usr/bin/python3", "/tmp/toolkit/mouse_gtk.py", NULL});
}

static void start_qt(const char *number) {
	start(false,
		(const char *[]){"/usr/bin/python3", "/tmp/toolkit/mouse_qt.py", number, NULL});
}

static void start_chromium(void) {
	start(true,
		(const char *[]){"chromium", "--no-sandbox", "--no-first-run", "--test-type",
			"--disable-smooth-scrolling", "--disable-gpu", "--enable-logging=stderr",
			"--user-data-dir=/tmp/profile", "--disable-background-networking",
			"--disable-features=GlobalMediaControls", "--window-position=0,0",
			"--window-size=1000,700", "file:///tmp/toolkit/mouse_page.html", NULL});
}

/* ---------------------------------------------------------------- places and actions */

/* The middle of what the program calls so. */
static void place(const char *name, int ret[2]) {
	char key[64];
	int r[4] = {0};
	(void)snprintf(key, sizeof(key), "at %s ", name);
	for (size_t i = 0; i < s.program.count; i++) {
		const char *line = s.program.line[i];
		if (strncmp(line, key, strlen(key)) == 0 &&
			sscanf(line + strlen(key), "%d %d %d %d", &r[0], &r[1], &r[2], &r[3]) ==
				4) {
			ret[0] = r[0] + r[2] / 2;
			ret[1] = r[1] + r[3] / 2;
			return;
		}
	}
	ck_abort_msg("%s is nowhere", name);
}

static cua_Args at(const int point[2]) {
	return (cua_Args){.has_x = true, .x = point[0], .has_y = true, .y = point[1]};
}

static void done(int action, const cua_Args *args) {
	const cua_ActionResult *result = desk_do(&s.desk, action, args);
	ck_assert_msg(!result->has_error, "%s", result->error.message);
}

static void click(const int point[2], unsigned count) {
	cua_Args args = at(point);
	args.has_count = true;
	args.count = count;
	done(CUA_ACTION_CLICK, &args);
}

static void drag(const int from[2], const int to[2], unsigned ms) {
	cua_Args args = {.path_points_count = 4,
		.path_points = {from[0], from[1], to[0], to[1]},
		.has_duration = true,
		.duration = ms};
	done(CUA_ACTION_DRAG, &args);
}

/* The first words of the lines about buttons, for example "press release ". */
static const char *sequence(void) {
	static char text[TEXT_MAX];
	static const char *const words[] = {"press", "release", "double", "triple"};
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < s.program.count; i++) {
		for (size_t w = 0; w < CUA_COUNT(words); w++) {
			if (strncmp(s.program.line[i], words[w], strlen(words[w])) == 0 &&
				used < sizeof(text) - 16) {
				used += (size_t)snprintf(text + used, 16, "%s ", words[w]);
			}
		}
	}
	return text;
}

static void expect(const char *text, size_t n) {
	if (!program_wait(&s.program, text, n, EVENT_MS)) {
		ck_abort_msg("no %zu %s: %s", n, text, program_told(&s.program));
	}
}

static void expect_sequence(const char *want) {
	ck_assert_msg(strcmp(sequence(), want) == 0, "%s, not %s: %s", sequence(), want,
		program_told(&s.program));
}

/* ---------------------------------------------------------------- in every toolkit */

/* What a toolkit tells of 1, 2 and 3 clicks, and the text that is selected then. */
struct clicks {
	const char *told[3];
	const char *selected[3];
};

static const struct clicks in_gtk = {
	.told = {"press release ", "press release press double release ",
		"press release press double release press triple release "},
	.selected = {" none", " 'beta'", " 'alpha beta gamma 1 '"},
};

static const struct clicks in_qt = {
	.told = {"press release ", "press release double release ",
		"press release double release press release "},
	.selected = {" none", " 'beta'", " 'alpha beta gamma 1 \\u2029'"},
};

static const struct clicks in_chromium = {
	.told = {"press release ", "press release press release double ",
		"press release press release double press release "},
	.selected = {" \"\"", " \"beta\"", " \"alpha beta gamma\""},
};

static void check_clicks(const struct clicks *want, const int point[2], unsigned count) {
	program_clear(&s.program);
	click(point, count);
	expect("selection", count);
	expect_sequence(want->told[count - 1]);
	ck_assert_msg(program_last(&s.program, "selection") &&
			      strcmp(program_last(&s.program, "selection"),
				      want->selected[count - 1]) == 0,
		"%u clicks selected%s", count, program_last(&s.program, "selection"));
}

/* Whatever was clicked just before at the same place, two clicks are a double click. */
static void check_chains(const struct clicks *want) {
	static const unsigned counts[] = {1, 2, 3, 2, 1, 3, 1, 2};
	int line[2];
	place("word", line);
	for (size_t i = 0; i < CUA_COUNT(counts); i++) {
		check_clicks(want, line, counts[i]);
	}
}

static void check_buttons(const char *const lines[3]) {
	int line[2];
	place("word", line);
	for (unsigned b = 0; b < 3; b++) {
		cua_Args args = at(line);
		args.has_button = true;
		args.button = (cua_Button)b;
		program_clear(&s.program);
		done(CUA_ACTION_CLICK, &args);
		expect(lines[b], 1);
		expect("selection", 1);
	}
}

/* Two marks of modifiers, as the toolkit tells them, by two clicks; none is left afterwards. */
static void check_modifiers(const char *const lines[3]) {
	int line[2];
	place("word", line);
	cua_Args args = at(line);
	program_clear(&s.program);
	args.modifiers_count = 1;
	(void)snprintf(args.modifiers[0], sizeof(args.modifiers[0]), "ctrl");
	done(CUA_ACTION_CLICK, &args);
	expect(lines[0], 1);
	args.x += 60;
	(void)snprintf(args.modifiers[0], sizeof(args.modifiers[0]), "shift");
	done(CUA_ACTION_CLICK, &args);
	expect(lines[1], 1);
	/* The text between the two is selected. */
	expect("selection", 2);
	ck_assert_str_ne(program_last(&s.program, "selection"), " none");
	args.modifiers_count = 0;
	args.x -= 60;
	done(CUA_ACTION_CLICK, &args);
	expect(lines[2], 1);
}

static double number_of(const char *name) {
	const char *text = program_last(&s.program, name);
	return text ? strtod(text, NULL) : 0;
}

static void scroll(int dx, int dy, const int point[2]) {
	cua_Args args = at(point);
	args.has_dx = true;
	args.dx = dx;
	args.has_dy = true;
	args.dy = dy;
	args.has_settle = true;
	args.settle = 300;
	args.has_settle_max = true;
	args.settle_max = EVENT_MS;
	done(CUA_ACTION_SCROLL, &args);
}

/* Waits until it has scrolled there, perhaps smoothly. */
static void expect_number(const char *name, double want) {
	size_t n = program_count(&s.program, name);
	while (fabs(number_of(name) - want) > 1) {
		if (!program_wait(&s.program, name, ++n, EVENT_MS)) {
			ck_abort_msg("%s is %f, not %f", name, number_of(name), want);
		}
	}
}

/* One click's step, then a hundred at once: none is lost; then back by the other sign. */
static void check_scroll(const char *axis, const int unit[2], const char *place_name) {
	int point[2];
	place(place_name, point);
	scroll(unit[0], unit[1], point);
	(void)program_wait(&s.program, axis, SIZE_MAX, 200); /* all that has come */
	double step = number_of(axis);
	ck_assert_double_gt(step, 0);
	scroll(100 * unit[0], 100 * unit[1], point);
	expect_number(axis, 101 * step);
	scroll(-100 * unit[0], -100 * unit[1], point);
	expect_number(axis, step);
	scroll(-unit[0], -unit[1], point);
	expect_number(axis, 0);
}

static void check_scrolls(const char *place_name) {
	check_scroll("vertical", (const int[]){0, 1}, place_name);
	check_scroll("horizontal", (const int[]){1, 0}, place_name);
}

/* The first row becomes the third. */
static void check_rows(unsigned ms) {
	int from[2];
	int to[2];
	place("row0", from);
	place("row2", to);
	to[1] += 8; /* the lower part: behind it */
	drag(from, to, ms);
	expect("rows", 1);
	char *told = program_told(&s.program);
	ck_assert_msg(strcmp(program_last(&s.program, "rows"), " two three one four") == 0,
		"%u ms: %s", ms, told);
	free(told);
}

/* ---------------------------------------------------------------- the toolkits */

START_TEST(test_gtk) {
	start_gtk();
	check_chains(&in_gtk);
	check_buttons((const char *const[]){"press 1 0", "press 2 0", "press 3 0"});
	check_modifiers((const char *const[]){"press 1 4", "press 1 1", "press 1 0"});
	check_scrolls("word");
	check_rows(300);
}
END_TEST

START_TEST(test_gtk_drag_without_time) {
	start_gtk();
	check_rows(0);
}
END_TEST

static void check_qt(const char *number) {
	start_qt(number);
	check_chains(&in_qt);
	check_buttons((const char *const[]){"press 1 0", "press 4 0", "press 2 0"});
	check_modifiers((const char *const[]){"press 1 4", "press 1 2", "press 1 0"});
	check_scrolls("word");
	check_rows(300);
}

START_TEST(test_qt5) {
	check_qt("5");
}
END_TEST

START_TEST(test_qt6) {
	check_qt("6");
}
END_TEST

START_TEST(test_qt_drag_without_time) {
	start_qt("6");
	check_rows(0);
}
END_TEST

static void check_drop(unsigned ms) {
	int from[2];
	int to[2];
	place("source", from);
	place("target", to);
	program_clear(&s.program);
	drag(from, to, ms);
	expect("dragend", 1);
	char *told = program_told(&s.program);
	ck_assert_msg(program_count(&s.program, "drop x") == 1, "%u ms: %s", ms, told);
	free(told);
}

START_TEST(test_chromium) {
	start_chromium();
	check_chains(&in_chromium);
	check_buttons((const char *const[]){"press 0 0", "press 1 0", "press 2 0"});
	check_modifiers((const char *const[]){"press 0 4", "press 0 1", "press 0 0"});
	check_scrolls("scroller");
}
END_TEST

START_TEST(test_chromium_drag) {
	start_chromium();
	check_drop(300);
}
END_TEST

START_TEST(test_chromium_drag_without_time) {
	start_chromium();
	check_drop(0);
}
END_TEST

/* ---------------------------------------------------------------- a browser's own */

static void click_button(const int point[2], cua_Button button) {
	cua_Args args = at(point);
	args.has_button = true;
	args.button = button;
	done(CUA_ACTION_CLICK, &args);
}

START_TEST(test_chromium_navigates) {
	start_chromium();
	int link[2];
	int hash[2];
	place("link", link);
	place("hash", hash);
	click(hash, 1);
	expect("hash #there", 1);
	click_button(hash, cua_Button_BUTTON_BACK);
	expect("hash #", 2);
	ck_assert_str_eq(program_last(&s.program, "hash "), "#");
	click_button(hash, cua_Button_BUTTON_FORWARD);
	expect("hash #there", 2);
	cua_Args args = at(link);
	args.modifiers_count = 1;
	(void)snprintf(args.modifiers[0], sizeof(args.modifiers[0]), "ctrl");
	done(CUA_ACTION_CLICK, &args);
	expect("tab hidden", 1); /* a tab in the background */
}
END_TEST

/* ---------------------------------------------------------------- without a toolkit */

/* The text of the primary selection. */
static const char *primary(void) {
	static char text[TEXT_MAX];
	Window window = XCreateSimpleWindow(
		s.display, DefaultRootWindow(s.display), -10, -10, 1, 1, 0, 0, 0);
	Atom property = XInternAtom(s.display, "TEST", False);
	XConvertSelection(s.display, XA_PRIMARY, XInternAtom(s.display, "UTF8_STRING", False),
		property, window, CurrentTime);
	XEvent event;
	do {
		(void)XNextEvent(s.display, &event);
	} while (event.type != SelectionNotify);
	Atom type = None;
	int format = 0;
	unsigned long count = 0;
	unsigned long left = 0;
	unsigned char *data = NULL;
	XGetWindowProperty(s.display, window, property, 0, TEXT_MAX / 4 - 1, True, AnyPropertyType,
		&type, &format, &count, &left, &data);
	(void)snprintf(text, sizeof(text), "%s", data ? (const char *)data : "");
	XFree(data);
	XDestroyWindow(s.display, window);
	return text;
}

/* The window manager holds clicks back, so the program that gets them may take it somewhat later, and on
 * the way to a line it has a word. Nobody has it from now on. */
static void expect_primary(const char *want) {
	for (int i = 0; i < EVENT_MS / 20 && strcmp(primary(), want) != 0; i++) {
		done(CUA_ACTION_WAIT, &(cua_Args){.has_ms = true, .ms = 20});
	}
	done(CUA_ACTION_WAIT_SETTLED, &(cua_Args){.has_quiet = true, .quiet = 200});
	ck_assert_str_eq(primary(), want);
	(void)XSetSelectionOwner(s.display, XA_PRIMARY, None, CurrentTime);
	(void)XSync(s.display, False);
}

/* The window of this title and its place on the screen, once it is shown. */
static Window window_of(const char *title, int ret[4]) {
	for (int i = 0; i < 200; i++) {
		const cua_ActionResult *r = desk_do(&s.desk, CUA_ACTION_WINDOWS, &(cua_Args){0});
		for (size_t w = 0; w < r->windows_count; w++) {
			if (strcmp(r->windows[w].title, title) == 0) {
				const cua_Rect *g = &r->windows[w].geometry;
				memcpy(ret, (int[]){g->x, g->y, g->width, g->height},
					4 * sizeof(int));
				return r->windows[w].id;
			}
		}
		done(CUA_ACTION_WAIT, &(cua_Args){.has_ms = true, .ms = 50});
	}
	ck_abort_msg("no window %s", title);
	return None;
}

/* It names itself so after it has got its text. */
static void start_xterm(int ret[4]) {
	program_start(&s.program, false,
		(const char *[]){"xterm", "-fa", "", "-fn", "fixed", "-geometry", "60x10+100+100",
			"-b", "0", "-T", "empty", "-e",
			"echo 'alpha beta gamma'; echo second; printf '\\033]2;selected\\007'; "
			"exec sleep 1000",
			NULL});
	(void)window_of("selected", ret);
	done(CUA_ACTION_WAIT_SETTLED, &(cua_Args){.has_quiet = true, .quiet = 300});
	(void)window_of("selected", ret);
}

/* The font's cells are 6x13. */
START_TEST(test_xterm_selects) {
	int window[4];
	start_xterm(window);
	const int from[2] = {window[0] + 6 * 6 + 1, window[1] + 6};
	const int to[2] = {window[0] + 10 * 6 + 1, window[1] + 6};
	drag(from, to, 300);
	expect_primary("beta");
	drag(to, from, 0);
	expect_primary("beta");
	click(from, 2);
	expect_primary("beta");
	click(from, 3);
	expect_primary("alpha beta gamma\n");
	click(from, 2);
	expect_primary("beta");
}
END_TEST

START_TEST(test_window_is_moved_by_its_title) {
	static const unsigned durations[] = {300, 0};
	int window[4];
	start_xterm(window);
	for (size_t i = 0; i < CUA_COUNT(durations); i++) {
		const int title[2] = {window[0] + 100, window[1] - 10};
		const int to[2] = {title[0] + 200, title[1] + 150};
		const int want[2] = {window[0] + 200, window[1] + 150};
		drag(title, to, durations[i]);
		done(CUA_ACTION_WAIT_SETTLED, &(cua_Args){.has_quiet = true, .quiet = 200});
		(void)window_of("selected", window);
		ck_assert_int_eq(window[0], want[0]);
		ck_assert_int_eq(window[1], want[1]);
	}
}
END_TEST

int main(void) {
	const TTest *const tests[] = {test_gtk, test_gtk_drag_without_time, test_qt5, test_qt6,
		test_qt_drag_without_time, test_chromium, test_chromium_drag,
		test_chromium_drag_without_time, test_chromium_navigates, test_xterm_selects,
		test_window_is_moved_by_its_title};
	const struct suite_case cases[] = {
		{.name = "programs",
			.setup = set_up,
			.teardown = tear_down,
			.seconds = 120,
			.tests = tests,
			.count = CUA_COUNT(tests)},
	};
	return suite_run_cases("mouse", cases, CUA_COUNT(cases));
}
