/* The clipboard between a real worker and real programs: xclip, a well-behaved and a hostile owner and
 * requestor of the test's own. What toolkits do is in test_paste.c. */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <X11/Xatom.h>
#include <X11/Xlib.h>

#include "tests/lib/desk.h"
#include "tests/lib/selection.h"
#include "tests/lib/suite.h"
#include "tests/lib/xvfb.h"

#define READY_MS 20000
#define WAIT_MS 20000
#define LARGE CUA_CLIPBOARD_MAX
#define CHUNK SELECTION_CHUNK

static struct desk d;
static Display *display;

static int on_x_error(Display *dpy, XErrorEvent *event) {
	(void)dpy;
	(void)event;
	return 0;
}

static void setup(void) {
	desk_init(&d);
	desk_start_xvfb(&d);
	(void)setenv("DISPLAY", ":0", 1);
	desk_start_worker(&d);
	display = desk_paint();
	selection_use(display);
	(void)XSetErrorHandler(on_x_error);
	ck_assert(desk_wait_ready(&d, true, READY_MS));
}

static void teardown(void) {
	if (display) {
		(void)XCloseDisplay(display);
	}
	desk_done(&d);
}

/* ---------------------------------------------------------------- the worker */

static void check_ok(const cua_ActionResult *result) {
	ck_assert_msg(!result->has_error, "%s", result->error.message);
}

static void check_error(const cua_ActionResult *result, enum cua_code code, const char *part) {
	ck_assert(result->has_error);
	ck_assert_msg(result->error.code == (uint32_t)code, "%s: %s",
		cua_code_name((enum cua_code)result->error.code), result->error.message);
	ck_assert_msg(strstr(result->error.message, part) != NULL, "%s", result->error.message);
}

static cua_Args args_of(unsigned selection) {
	return (cua_Args){.has_selection = true, .selection = selection};
}

static const cua_ActionResult *set(const char *text, unsigned selection) {
	cua_Args args = args_of(selection);
	args.has_text = true;
	(void)desk_send(&d, CUA_ACTION_CLIPBOARD_SET, &args, text);
	return desk_answer(&d, WAIT_MS);
}

static const cua_ActionResult *get(unsigned selection) {
	cua_Args args = args_of(selection);
	(void)desk_send(&d, CUA_ACTION_CLIPBOARD_GET, &args, NULL);
	return desk_answer(&d, WAIT_MS);
}

static struct cua_span content(const cua_ActionResult *result) {
	check_ok(result);
	ck_assert(result->has_empty);
	ck_assert_uint_le(d.msg.blob_count, 1);
	return d.msg.blob_count ? d.msg.blob[0] : (struct cua_span){"", 0};
}

static void check_content(const cua_ActionResult *result, const char *want) {
	struct cua_span got = content(result);
	ck_assert_msg(got.len == strlen(want) && memcmp(got.data, want, got.len) == 0,
		"%.*s instead of %s", (int)got.len, (const char *)got.data, want);
	ck_assert(!result->empty);
}

/* Until the worker has seen what happened and taken its copy. */
static void let_it_copy(void) {
	(void)poll(NULL, 0, 300);
}

/* ---------------------------------------------------------------- programs */

/* Runs a shell command; what it prints, with a NUL behind it. */
static char *sh(const char *command, size_t *ret_len) {
	int fds[2];
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	const char *argv[] = {"sh", "-c", command, NULL};
	pid_t pid = xvfb_spawn(argv, fds[1]);
	(void)close(fds[1]);
	size_t room = LARGE + CHUNK;
	char *text = malloc(room);
	size_t used = 0;
	uint64_t end = now_ms() + WAIT_MS;
	/* A program that stays in the background keeps the pipe open. */
	for (bool over = false;;) {
		struct pollfd p = {.fd = fds[0], .events = POLLIN};
		ck_assert_msg(now_ms() < end, "%s does not end", command);
		if (poll(&p, 1, 20) == 0) {
			if (over) {
				break;
			}
			over = waitpid(pid, NULL, WNOHANG) == pid;
			pid = over ? 0 : pid;
			continue;
		}
		ssize_t n = read(fds[0], text + used, room - used - 1);
		if (n <= 0) {
			break;
		}
		used += (size_t)n;
	}
	(void)close(fds[0]);
	if (pid > 0) {
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	}
	text[used] = '\0';
	if (ret_len) {
		*ret_len = used;
	}
	return text;
}

static void check_sh(const char *command, const char *want) {
	char *got = sh(command, NULL);
	ck_assert_str_eq(got, want);
	free(got);
}

/* An xclip of the test's own that has a selection; it goes with the test. */
static pid_t xclip(const char *selection, struct cua_span text) {
	const char *path = "/tmp/xclip-text";
	FILE *file = fopen(path, "w");
	ck_assert_uint_eq(fwrite(text.data, 1, text.len, file), text.len);
	(void)fclose(file);
	Atom name = atom(strcmp(selection, "primary") == 0 ? "PRIMARY" : "CLIPBOARD");
	Window before = XGetSelectionOwner(display, name);
	const char *argv[] = {"xclip", "-quiet", "-selection", selection, path, NULL};
	pid_t pid = xvfb_spawn(argv, open("/dev/null", O_WRONLY | O_CLOEXEC));
	Window owner = before;
	for (uint64_t end = now_ms() + WAIT_MS; owner == None || owner == before;) {
		ck_assert_uint_lt(now_ms(), end);
		(void)poll(NULL, 0, 10);
		owner = XGetSelectionOwner(display, name);
	}
	return pid;
}

static pid_t xclip_text(const char *selection, const char *text) {
	return xclip(selection, (struct cua_span){text, strlen(text)});
}

/* Bytes that differ everywhere, so that a lost or doubled piece shows. */
static char *large_text(size_t len) {
	char *text = malloc(len + 1);
	uint32_t seed = 1;
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		text[i] = (char)('!' + (seed >> 24) % 90);
	}
	text[len] = '\0';
	return text;
}

/* ---------------------------------------------------------------- owners of the test's own */

/* Reads while the test is the owner. */
static const cua_ActionResult *get_from(struct owner *o, unsigned selection) {
	cua_Args args = args_of(selection);
	uint64_t end = now_ms() + WAIT_MS;
	(void)desk_send(&d, CUA_ACTION_CLIPBOARD_GET, &args, NULL);
	for (;;) {
		struct pollfd p[2] = {{.fd = ConnectionNumber(display), .events = POLLIN},
			{.fd = d.front, .events = POLLIN}};
		owner_events(o);
		XFlush(display);
		ck_assert_uint_lt(now_ms(), end);
		(void)poll(p, 2, 100);
		if (p[1].revents) {
			return desk_answer(&d, WAIT_MS);
		}
	}
}

/* ---------------------------------------------------------------- tests: owning */

static const char *const texts[] = {"a", "日本語テキスト", "İstanbul ığüşöç",
	"👩‍👩‍👧‍👦 👍🏽 🇩🇪", "line\r\nline\rline\n",
	"tab\tbell\a esc\x1b del\x7f", "é", ""};

START_TEST(serves_programs_what_was_set) {
	for (size_t i = 0; i < CUA_COUNT(texts); i++) {
		check_ok(set(texts[i], 0));
		check_sh("xclip -o -selection clipboard -t UTF8_STRING", texts[i]);
		check_sh("xclip -o -selection clipboard -t 'text/plain;charset=utf-8'", texts[i]);
		check_content(get(0), texts[i]);
		check_ok(set(texts[i], 1));
		check_sh("xclip -o", texts[i]);
		check_content(get(1), texts[i]);
	}
}
END_TEST

/* xclip goes to the background before it has told the server. */
static void check_soon(unsigned selection, const char *want) {
	for (uint64_t end = now_ms() + WAIT_MS;;) {
		struct cua_span got = content(get(selection));
		if (got.len == strlen(want) && memcmp(got.data, want, got.len) == 0) {
			return;
		}
		ck_assert_msg(now_ms() < end, "%.*s instead of %s", (int)got.len,
			(const char *)got.data, want);
		(void)poll(NULL, 0, 20);
	}
}

START_TEST(sets_from_a_pipe_return) {
	check_sh("echo hi | xclip -selection clipboard", "");
	check_soon(0, "hi\n");
	check_sh("echo ho | xclip", "");
	check_soon(1, "ho\n");
	check_ok(set("end", 0));
	check_ok(set("end", 1));
}
END_TEST

START_TEST(carries_any_text_from_programs) {
	pid_t last = 0;
	for (size_t i = 0; i < CUA_COUNT(texts); i++) {
		pid_t pid = xclip_text("clipboard", texts[i]);
		xvfb_kill(last); /* not the owner any more */
		last = pid;
		check_content(get(0), texts[i]);
	}
	xvfb_kill(last);
}
END_TEST

START_TEST(offers_latin1_only_where_it_is) {
	struct wish w;
	check_ok(set("Gr\xc3\xbc\xc3\x9f"
		     "e",
		0));
	wish_new(&w, "CLIPBOARD", "STRING");
	wish_wait(&w);
	ck_assert_uint_eq(w.type, XA_STRING);
	ck_assert_uint_eq(w.len, 5);
	ck_assert_mem_eq(w.data,
		"Gr\xfc\xdf"
		"e",
		5);
	wish_done(&w);
	check_ok(set("\xe6\x97\xa5", 0));
	wish_new(&w, "CLIPBOARD", "STRING");
	wish_wait(&w);
	ck_assert(w.refused);
	wish_done(&w);
}
END_TEST

static bool lists(const struct wish *w, const char *name) {
	const unsigned long *list = (const void *)w->data;
	for (size_t i = 0; i < w->len / sizeof(long); i++) {
		if (list[i] == atom(name)) {
			return true;
		}
	}
	return false;
}

START_TEST(answers_targets_and_time) {
	struct wish w;
	check_ok(set("x", 0));
	wish_new(&w, "CLIPBOARD", "TARGETS");
	wish_wait(&w);
	ck_assert_uint_eq(w.type, XA_ATOM);
	static const char *const names[] = {"TARGETS", "TIMESTAMP", "MULTIPLE", "SAVE_TARGETS",
		"UTF8_STRING", "STRING", "TEXT", "text/plain", "text/plain;charset=utf-8"};
	for (size_t i = 0; i < CUA_COUNT(names); i++) {
		ck_assert_msg(lists(&w, names[i]), "%s", names[i]);
	}
	wish_done(&w);
	wish_new(&w, "CLIPBOARD", "TIMESTAMP");
	wish_wait(&w);
	ck_assert_uint_eq(w.type, XA_INTEGER);
	ck_assert_uint_ne(*(unsigned long *)(void *)w.data, 0);
	wish_done(&w);
	wish_new(&w, "CLIPBOARD", "image/png");
	wish_wait(&w);
	ck_assert(w.refused);
	wish_done(&w);
}
END_TEST

START_TEST(answers_several_targets_at_once) {
	struct wish w;
	check_ok(set("many", 0));
	Atom pairs[6] = {atom("UTF8_STRING"), atom("P1"), atom("image/png"), atom("P2"),
		atom("TIMESTAMP"), atom("P3")};
	wish_new(&w, "SECONDARY", "UTF8_STRING"); /* for its window */
	wish_wait(&w);
	XChangeProperty(display, w.window, w.property, atom("ATOM_PAIR"), 32, PropModeReplace,
		(unsigned char *)pairs, 6);
	wish_again(&w, "MULTIPLE", CurrentTime);
	ck_assert(!w.refused);
	const unsigned long *got = (const void *)w.data;
	ck_assert_uint_eq(w.len, 6 * sizeof(long));
	ck_assert_uint_eq(got[1], pairs[1]);
	ck_assert_uint_eq(got[3], None);
	ck_assert_uint_eq(got[5], pairs[5]);
	w.len = 0;
	w.property = pairs[1];
	wish_read(&w);
	ck_assert_mem_eq(w.data, "many", 4);
	const Atom more[40] = {0};
	XChangeProperty(display, w.window, w.property, atom("ATOM_PAIR"), 32, PropModeReplace,
		(const unsigned char *)more, 40);
	wish_again(&w, "MULTIPLE", CurrentTime);
	ck_assert(w.refused);
	wish_done(&w);
}
END_TEST

START_TEST(refuses_who_asks_from_before) {
	check_ok(set("new", 0));
	struct wish w;
	wish_new(&w, "SECONDARY", "UTF8_STRING");
	wish_wait(&w);
	wish_again(&w, "UTF8_STRING", 1);
	ck_assert(w.refused);
	wish_done(&w);
}
END_TEST

START_TEST(carries_16_mib_both_ways) {
	char *text = large_text(LARGE);
	size_t len = 0;
	check_ok(set(text, 0));
	char *got = sh("xclip -o -selection clipboard", &len);
	ck_assert_uint_eq(len, LARGE);
	ck_assert_int_eq(memcmp(got, text, LARGE), 0);
	free(got);
	struct wish w;
	wish_new(&w, "CLIPBOARD", "STRING");
	wish_wait(&w);
	ck_assert(w.incr);
	ck_assert_uint_eq(w.len, LARGE);
	ck_assert_int_eq(memcmp(w.data, text, LARGE), 0);
	wish_done(&w);
	/* and back */
	pid_t pid = xclip("clipboard", (struct cua_span){text, LARGE});
	struct cua_span back = content(get(0));
	ck_assert_uint_eq(back.len, LARGE);
	ck_assert_int_eq(memcmp(back.data, text, LARGE), 0);
	xvfb_kill(pid);
	free(text);
}
END_TEST

START_TEST(refuses_more_than_16_mib) {
	char *text = large_text(LARGE + 1);
	check_ok(set("before", 0));
	check_error(set(text, 0), CUA_TOO_LARGE, "text");
	check_content(get(0), "before");
	struct owner o = {.target = "UTF8_STRING",
		.type = "UTF8_STRING",
		.format = 8,
		.data = text,
		.len = LARGE + 1,
		.behaviour = PIECES};
	own(&o, "CLIPBOARD");
	check_error(get_from(&o, 0), CUA_TOO_LARGE, "16777216");
	free(text);
}
END_TEST

/* ---------------------------------------------------------------- tests: bad requestors */

START_TEST(outlives_requestors_that_vanish) {
	char *text = large_text(1u << 20);
	check_ok(set(text, 0));
	for (int i = 0; i < 100; i++) {
		struct wish w;
		wish_new(&w, "CLIPBOARD", "UTF8_STRING");
		if (i % 2) {
			while (!w.incr) {
				XEvent e;
				XNextEvent(display, &e);
				wish_event(&w, &e);
			}
		}
		wish_done(&w);
	}
	struct wish w;
	wish_new(&w, "CLIPBOARD", "UTF8_STRING");
	wish_wait(&w);
	ck_assert_uint_eq(w.len, 1u << 20);
	wish_done(&w);
	free(text);
}
END_TEST

START_TEST(serves_many_at_once_within_bounds) {
	enum { MANY = CUA_CLIP_TRANSFERS + 8 };
	static struct wish w[MANY];
	char *text = large_text(1u << 20);
	check_ok(set(text, 0));
	for (size_t i = 0; i < MANY; i++) {
		wish_new(&w[i], "CLIPBOARD", "UTF8_STRING");
	}
	/* None goes on until all have been answered. */
	size_t answered = 0;
	size_t refused = 0;
	XEvent e;
	while (answered < MANY) {
		XNextEvent(display, &e);
		if (e.type == SelectionNotify) {
			answered++;
			refused += e.xselection.property == None;
		}
	}
	ck_assert_uint_eq(refused, MANY - CUA_CLIP_TRANSFERS);
	for (size_t i = 0; i < CUA_CLIP_TRANSFERS; i++) {
		wish_read(&w[i]);
	}
	for (size_t i = 0; i < CUA_CLIP_TRANSFERS; i++) {
		for (uint64_t end = now_ms() + WAIT_MS; !w[i].over;) {
			ck_assert_uint_lt(now_ms(), end);
			XNextEvent(display, &e);
			for (size_t k = 0; k < CUA_CLIP_TRANSFERS; k++) {
				wish_event(&w[k], &e);
			}
		}
		ck_assert_uint_eq(w[i].len, 1u << 20);
	}
	free(text);
}
END_TEST

/* A transfer that nobody takes ends by itself, and its place is free again. */
START_TEST(gives_up_requestors_that_stall) {
	static struct wish w[CUA_CLIP_TRANSFERS];
	char *text = large_text(1u << 20);
	check_ok(set(text, 0));
	for (size_t i = 0; i < CUA_CLIP_TRANSFERS; i++) {
		wish_new(&w[i], "CLIPBOARD", "UTF8_STRING");
	}
	struct wish last;
	for (uint64_t end = now_ms() + WAIT_MS;;) {
		wish_new(&last, "CLIPBOARD", "UTF8_STRING");
		wish_wait(&last);
		if (!last.refused) {
			break;
		}
		wish_done(&last);
		ck_assert_uint_lt(now_ms(), end);
		(void)poll(NULL, 0, 200);
	}
	ck_assert_uint_eq(last.len, 1u << 20);
	wish_done(&last);
	free(text);
}
END_TEST

/* ---------------------------------------------------------------- tests: reading */

START_TEST(tells_an_empty_clipboard) {
	const cua_ActionResult *result = get(0);
	ck_assert_uint_eq(content(result).len, 0);
	ck_assert(result->empty);
	check_ok(set("", 0));
	result = get(0);
	ck_assert_uint_eq(content(result).len, 0);
	ck_assert(!result->empty);
	ck_assert(get(1)->empty);
}
END_TEST

START_TEST(reads_what_owners_say) {
	static const struct {
		const char *target;
		const char *type;
		const char *data;
		const char *want;
		bool no_targets;
	} cases[] = {
		{"UTF8_STRING", "UTF8_STRING", "\xc3\xa4\xe6\x97\xa5", "\xc3\xa4\xe6\x97\xa5",
			false},
		{"text/plain;charset=utf-8", "text/plain;charset=utf-8", "\xc3\xa4", "\xc3\xa4",
			false},
		{"text/plain", "text/plain", "\xc3\xa4", "\xc3\xa4", false},
		{"text/plain", "text/plain", "\xe4", "\xc3\xa4", false},
		{"STRING", "STRING",
			"Gr\xfc\xdf"
			"e",
			"Gr\xc3\xbc\xc3\x9f"
			"e",
			false},
		{"TEXT", "STRING", "\xe4", "\xc3\xa4", false},
		{"UTF8_STRING", "UTF8_STRING", "no list", "no list", true},
		{"STRING", "STRING", "\xe4", "\xc3\xa4", true},
		{"UTF8_STRING", "UTF8_STRING", "bad \xff\xfe bytes", "bad \xff\xfe bytes", false},
	};
	for (size_t i = 0; i < CUA_COUNT(cases); i++) {
		for (int pieces = 0; pieces < 2; pieces++) {
			struct owner o = {.target = cases[i].target,
				.type = cases[i].type,
				.format = 8,
				.data = cases[i].data,
				.len = strlen(cases[i].data),
				.behaviour = pieces ? PIECES : WHOLE,
				.no_targets = cases[i].no_targets};
			own(&o, i % 2 ? "CLIPBOARD" : "PRIMARY");
			check_content(get_from(&o, i % 2 == 0), cases[i].want);
		}
	}
}
END_TEST

START_TEST(refuses_what_is_no_text) {
	struct owner image = {
		.target = "image/png", .type = "image/png", .format = 8, .data = "x", .len = 1};
	own(&image, "CLIPBOARD");
	check_error(get_from(&image, 0), CUA_CONFLICT, "image/png");
	struct owner numbers = {.target = "UTF8_STRING",
		.type = "UTF8_STRING",
		.format = 32,
		.data = "12345678",
		.len = 1};
	own(&numbers, "CLIPBOARD");
	check_error(get_from(&numbers, 0), CUA_CONFLICT, "no text");
	struct owner other = {
		.target = "UTF8_STRING", .type = "INTEGER", .format = 8, .data = "x", .len = 1};
	own(&other, "PRIMARY");
	check_error(get_from(&other, 1), CUA_CONFLICT, "no text");
	struct owner refuses = {.target = "UTF8_STRING", .behaviour = REFUSES};
	own(&refuses, "PRIMARY");
	check_error(get_from(&refuses, 1), CUA_CONFLICT, "no text");
}
END_TEST

static long worker_kib(void) {
	char path[64];
	char line[256];
	long kib = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)d.worker);
	FILE *file = fopen(path, "r");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "VmHWM: %ld", &kib) == 1) {
			break;
		}
	}
	(void)fclose(file);
	return kib;
}

START_TEST(cuts_an_endless_owner) {
	struct owner o = {.target = "UTF8_STRING", .type = "UTF8_STRING", .behaviour = ENDLESS};
	long before = worker_kib();
	own(&o, "CLIPBOARD");
	check_error(get_from(&o, 0), CUA_TOO_LARGE, "16777216");
	ck_assert_uint_le(o.sent, LARGE + (1u << 20));
#ifdef CUAD_SANITIZE
	const long most = 256 * 1024; /* what is freed is kept for a while */
#else
	const long most = 48 * 1024;
#endif
	ck_assert_int_lt(worker_kib() - before, most);
	/* One that says at once how much it is costs next to nothing. */
	struct owner honest = {.target = "UTF8_STRING",
		.type = "UTF8_STRING",
		.behaviour = ENDLESS,
		.announced = 80u << 20};
	own(&honest, "CLIPBOARD");
	check_error(get_from(&honest, 0), CUA_TOO_LARGE, "16777216");
	ck_assert_uint_le(honest.sent, CHUNK);
}
END_TEST

static void check_hangs(struct owner *o) {
	cua_Args args = args_of(0);
	uint64_t start = now_ms();
	uint32_t serial = desk_send(&d, CUA_ACTION_CLIPBOARD_GET, &args, NULL);
	/* Meanwhile the worker serves others. */
	uint32_t other = desk_send(&d, CUA_ACTION_SCREEN_SIZE, &(cua_Args){0}, NULL);
	ck_assert_uint_eq(desk_answer(&d, 1000)->serial, other);
	check_ok(set("primary", 1));
	for (uint64_t end = now_ms() + WAIT_MS; o && now_ms() < end;) {
		struct pollfd p[2] = {{.fd = ConnectionNumber(display), .events = POLLIN},
			{.fd = d.front, .events = POLLIN}};
		owner_events(o);
		if (poll(p, 2, 100) >= 0 && p[1].revents) {
			break;
		}
	}
	const cua_ActionResult *result = desk_answer(&d, WAIT_MS);
	ck_assert_uint_eq(result->serial, serial);
	check_error(result, CUA_TIMEOUT, "does not hand it over");
	ck_assert_uint_le(now_ms() - start, 5000);
}

START_TEST(a_hung_owner_is_a_timeout) {
	struct owner silent = {.target = "UTF8_STRING", .behaviour = SILENT};
	own(&silent, "CLIPBOARD");
	check_hangs(&silent);
	struct owner stalls = {.target = "UTF8_STRING", .type = "UTF8_STRING", .behaviour = STALLS};
	own(&stalls, "CLIPBOARD");
	check_hangs(&stalls);
	/* A real program that has been stopped. */
	pid_t pid = xclip_text("clipboard", "hi");
	(void)kill(pid, SIGSTOP);
	check_hangs(NULL);
	xvfb_kill(pid);
	check_ok(set("still here", 0));
	check_content(get(0), "still here");
}
END_TEST

START_TEST(reads_the_newest_of_owners) {
	struct owner silent = {.target = "UTF8_STRING", .behaviour = SILENT};
	own(&silent, "CLIPBOARD");
	cua_Args args = args_of(0);
	(void)desk_send(&d, CUA_ACTION_CLIPBOARD_GET, &args, NULL);
	(void)poll(NULL, 0, 200);
	pid_t pid = xclip_text("clipboard", "newest");
	check_content(desk_answer(&d, WAIT_MS), "newest");
	xvfb_kill(pid);
}
END_TEST

/* ---------------------------------------------------------------- tests: keeping */

START_TEST(keeps_what_a_killed_program_had) {
	pid_t pid = xclip_text("clipboard", "kept");
	let_it_copy();
	xvfb_kill(pid);
	(void)poll(NULL, 0, 100);
	check_content(get(0), "kept");
	check_sh("xclip -o -selection clipboard", "kept");
	/* not for what was selected only */
	pid = xclip_text("primary", "selected");
	let_it_copy();
	xvfb_kill(pid);
	(void)poll(NULL, 0, 100);
	ck_assert(get(1)->empty);
}
END_TEST

START_TEST(keeps_16_mib) {
	char *text = large_text(LARGE);
	pid_t pid = xclip("clipboard", (struct cua_span){text, LARGE});
	(void)poll(NULL, 0, 3000);
	xvfb_kill(pid);
	(void)poll(NULL, 0, 100);
	struct cua_span got = content(get(0));
	ck_assert_uint_eq(got.len, LARGE);
	ck_assert_int_eq(memcmp(got.data, text, LARGE), 0);
	free(text);
}
END_TEST

/* A program that gives its text away only once gives it to the copy. */
START_TEST(keeps_what_is_given_once) {
	check_sh("printf once | xclip -loops 1 -selection clipboard", "");
	check_soon(0, "once");
	(void)poll(NULL, 0, 300);
	check_content(get(0), "once");
	check_sh("xclip -o -selection clipboard", "once");
}
END_TEST

/* Something older than what is lost would be worse than nothing. */
START_TEST(does_not_bring_back_older_content) {
	pid_t pid = xclip_text("clipboard", "older");
	let_it_copy();
	struct owner image = {
		.target = "image/png", .type = "image/png", .format = 8, .data = "x", .len = 1};
	own(&image, "CLIPBOARD");
	check_error(get_from(&image, 0), CUA_CONFLICT, "image/png");
	XDestroyWindow(display, image.window);
	XSync(display, False);
	(void)poll(NULL, 0, 100);
	ck_assert(get(0)->empty);
	/* Nor what a program has cleared. */
	xvfb_kill(pid);
	pid = xclip_text("clipboard", "cleared");
	let_it_copy();
	XSetSelectionOwner(display, atom("CLIPBOARD"), None, CurrentTime);
	XSync(display, False);
	(void)poll(NULL, 0, 100);
	ck_assert(get(0)->empty);
	xvfb_kill(pid);
}
END_TEST

START_TEST(does_not_keep_passwords) {
	struct owner secret = {.target = "UTF8_STRING",
		.hint = "x-kde-passwordManagerHint",
		.type = "UTF8_STRING",
		.format = 8,
		.data = "secret",
		.len = 6,
		.behaviour = WHOLE};
	own(&secret, "CLIPBOARD");
	check_content(get_from(&secret, 0), "secret");
	XDestroyWindow(display, secret.window);
	XSync(display, False);
	(void)poll(NULL, 0, 100);
	ck_assert(get(0)->empty);
}
END_TEST

START_TEST(is_the_clipboard_manager) {
	struct owner o = {.target = "UTF8_STRING",
		.type = "UTF8_STRING",
		.format = 8,
		.data = "handed over",
		.len = 11,
		.behaviour = WHOLE};
	own(&o, "CLIPBOARD");
	struct wish w;
	wish_new(&w, "CLIPBOARD_MANAGER", "SAVE_TARGETS");
	for (uint64_t end = now_ms() + WAIT_MS; !w.over;) {
		XEvent e;
		ck_assert_uint_lt(now_ms(), end);
		XNextEvent(display, &e);
		owner_event(&o, &e);
		if (e.type == SelectionNotify) {
			w.refused = e.xselection.property == None;
			w.over = true;
		}
	}
	ck_assert(!w.refused);
	wish_done(&w);
	/* It may clear the clipboard itself now. */
	XSetSelectionOwner(display, atom("CLIPBOARD"), None, CurrentTime);
	XSync(display, False);
	(void)poll(NULL, 0, 100);
	check_content(get(0), "handed over");
}
END_TEST

START_TEST(a_new_worker_begins_anew) {
	check_ok(set("mine", 0));
	pid_t pid = xclip_text("primary", "theirs");
	(void)kill(d.worker, SIGKILL);
	ck_assert(desk_worker_ended(&d, 5000, &(int){0}));
	(void)close(d.supervisor);
	(void)close(d.front);
	desk_start_worker(&d);
	ck_assert(desk_wait_ready(&d, true, READY_MS));
	ck_assert(get(0)->empty);
	check_content(get(1), "theirs");
	check_ok(set("again", 0));
	check_sh("xclip -o -selection clipboard", "again");
	xvfb_kill(pid);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {serves_programs_what_was_set, sets_from_a_pipe_return,
		carries_any_text_from_programs, offers_latin1_only_where_it_is,
		answers_targets_and_time, answers_several_targets_at_once,
		refuses_who_asks_from_before, carries_16_mib_both_ways, refuses_more_than_16_mib,
		outlives_requestors_that_vanish, serves_many_at_once_within_bounds,
		gives_up_requestors_that_stall, tells_an_empty_clipboard, reads_what_owners_say,
		refuses_what_is_no_text, cuts_an_endless_owner, a_hung_owner_is_a_timeout,
		reads_the_newest_of_owners, keeps_what_a_killed_program_had, keeps_16_mib,
		keeps_what_is_given_once, does_not_bring_back_older_content,
		does_not_keep_passwords, is_the_clipboard_manager, a_new_worker_begins_anew};
	const struct suite_case cases[] = {
		{.name = "clipboard",
			.setup = setup,
			.teardown = teardown,
			.seconds = 60,
			.tests = tests,
			.count = CUA_COUNT(tests)},
	};
	return suite_run_cases("clipboard", cases, CUA_COUNT(cases));
}
