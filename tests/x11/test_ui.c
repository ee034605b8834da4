/* Accessible nodes of real programs on a private accessibility bus, and of ones that lie. The bus, the
 * X server and the worker are in a PID namespace that ends with the test. */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <X11/Xlib.h>

#include "cua/ui.h"
#include "tests/lib/desk.h"
#include "tests/lib/suite.h"

#define READY_MS 10000
#define PROGRAM_MS 20000
#define NODES 512
#define SESSION_BUS "/run/user/1000/bus"
#define BUS "/tmp/bus"

static struct desk d;
static Display *display;
static pid_t bus; /* the first process of the namespace */
static cua_UiNode node[NODES];
static size_t node_count;
static int scripts = -1; /* their directory, which may lie below the /tmp that is covered */
static int fake_bus = -1; /* our end of what the worker takes for a bus */
static int kept = -1; /* the worker's connection to the bus, as well */

/* ---------------------------------------------------------------- the world */

static pid_t spawn(const char *program, const char *argument, const char *second) {
	pid_t pid = fork();
	if (pid == 0) {
		if (!getenv("CUAD_SHOW_LOG")) {
			(void)!freopen("/dev/null", "w", stderr);
		}
		(void)execlp(program, program, argument, second, NULL);
		_exit(127);
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

static pid_t run_script(const char *name, const char *argument) {
	char path[512];
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", scripts, name);
	return spawn("/usr/bin/python3", path, argument);
}

static int connect_to(const char *path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	ck_assert_uint_lt(len, sizeof(address.sun_path));
	memcpy(address.sun_path, path, len);
	if (path[0] == '@') {
		address.sun_path[0] = '\0';
	}
	len += offsetof(struct sockaddr_un, sun_path) + (path[0] != '@');
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (const struct sockaddr *)&address, (socklen_t)len) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static int connect_real(const char *path) {
	return connect_to(strcmp(path, SESSION_BUS) == 0 ? BUS : path);
}

static int connect_kept(const char *path) {
	int fd = connect_real(path);
	(void)close(kept);
	kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd;
}

static void pause_ms(int ms) {
	(void)poll(NULL, 0, ms);
}

static long now_ms(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void start_worker(void) {
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
}

static void start_bus(void) {
	ck_assert_int_eq(mkdir("/tmp/run", 0700), 0);
	(void)setenv("HOME", "/tmp", 1);
	(void)setenv("XDG_RUNTIME_DIR", "/tmp/run", 1);
	(void)setenv("DISPLAY", ":0", 1);
	(void)setenv("LANG", "C.UTF-8", 1);
	(void)setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=" BUS, 1);
	(void)unsetenv("NO_AT_BRIDGE");
	(void)unsetenv("LD_PRELOAD");
	ck_assert_int_eq(unshare(CLONE_NEWPID), 0);
	bus = fork();
	if (bus == 0) {
		(void)execlp("dbus-daemon", "dbus-daemon", "--session", "--nofork", "--nopidfile",
			"--address=unix:path=" BUS, NULL);
		_exit(127);
	}
	struct stat st;
	for (long end = now_ms() + READY_MS; stat(BUS, &st) < 0;) {
		ck_assert_msg(now_ms() < end, "dbus-daemon does not start");
		pause_ms(10);
	}
	d.connect = connect_real;
}

static void setup_bare(void) {
	desk_init(&d);
	start_worker();
}

static void setup(void) {
	char path[512];
	const char *source = getenv("CUAD_SOURCE");
	(void)snprintf(path, sizeof(path), "%s/tests/x11/ui", source ? source : ".");
	scripts = open(path, O_PATH | O_DIRECTORY);
	ck_assert_msg(scripts >= 0, "CUAD_SOURCE does not name the source");
	desk_init(&d);
	start_bus();
	start_worker();
}

static void teardown(void) {
	if (display) {
		(void)XCloseDisplay(display);
	}
	if (bus > 0) {
		/* All of its namespace goes with it, but not before our children there are reaped. */
		(void)kill(bus, SIGKILL);
		while (waitpid(-1, NULL, 0) > 0) {
		}
		d.worker = d.xvfb = -1;
	}
	(void)close(fake_bus);
	(void)close(kept);
	desk_done(&d);
}

/* ---------------------------------------------------------------- asking */

static void read_nodes(void) {
	struct cua_span list = d.msg.blob_count > 0 ? d.msg.blob[0] : (struct cua_span){0};
	int r = 1;
	for (node_count = 0; node_count < NODES && r > 0; node_count += r > 0) {
		r = cua_node_next(&list, &node[node_count], &d.err);
	}
	ck_assert_int_ge(r, 0);
}

static const cua_ActionResult *ask_for(int action, const cua_Args *args, const char *text) {
	(void)desk_send(&d, action, args, text);
	const cua_ActionResult *result = desk_answer(&d, PROGRAM_MS);
	read_nodes();
	return result;
}

static void check_done(const cua_ActionResult *result) {
	ck_assert_msg(!result->has_error, "%s", result->error.message);
}

static void check_error(const cua_ActionResult *result, enum cua_code code, const char *part) {
	ck_assert(result->has_error);
	ck_assert_msg(result->error.code == (uint32_t)code && strstr(result->error.message, part),
		"%s: %s", cua_code_name((enum cua_code)result->error.code), result->error.message);
}

static const cua_UiNode *find_node(const char *role, const char *name) {
	for (size_t i = 0; i < node_count; i++) {
		if ((!role || strcmp(cua_ui_role_name(node[i].role), role) == 0) &&
			(!name || strcmp(node[i].name, name) == 0)) {
			return &node[i];
		}
	}
	return NULL;
}

static bool has_state(const cua_UiNode *of, const char *name) {
	return (of->states & CUA_UI_BIT(cua_ui_state_find(name))) != 0;
}

static cua_Args args_of(const char *role, const char *name) {
	cua_Args args = {.has_role = role != NULL, .has_node_name = name != NULL};
	(void)snprintf(args.role, sizeof(args.role), "%s", role ? role : "");
	(void)snprintf(args.node_name, sizeof(args.node_name), "%s", name ? name : "");
	return args;
}

static cua_Args tree_of_all(void) {
	return (cua_Args){.has_ui_scope = true, .ui_scope = 2, .has_hidden = true, .hidden = true};
}

/* Waits until a node is there, as it is once its program has started or done something. */
static const cua_UiNode *await_node(const char *role, const char *name) {
	cua_Args args = args_of(role, name);
	args.has_match = true;
	args.match = 1;
	for (long end = now_ms() + PROGRAM_MS;;) {
		check_done(ask_for(CUA_ACTION_UI_FIND, &args, NULL));
		if (node_count > 0) {
			return &node[0];
		}
		if (now_ms() >= end) {
			cua_Args all = tree_of_all();
			(void)ask_for(CUA_ACTION_UI_TREE, &all, NULL);
			for (size_t i = 0; i < node_count; i++) {
				(void)fprintf(stderr, "%s \"%s\"\n", cua_ui_role_name(node[i].role),
					node[i].name);
			}
			ck_abort_msg("no %s \"%s\"", role ? role : "node", name);
		}
		pause_ms(50);
	}
}

/* ---------------------------------------------------------------- programs */

static const struct {
	const char *script;
	const char *argument;
	const char *entry; /* roles, which differ */
	const char *check;
} dialogs[] = {
	{"dialog_gtk.py", NULL, "text", "check box"},
	{"dialog_qt.py", "5", "text", "check box"},
	{"dialog_qt.py", "6", "text", "check box"},
};

static void check_tree(int kind) {
	cua_Args all = tree_of_all();
	check_done(ask_for(CUA_ACTION_UI_TREE, &all, NULL));
	const cua_UiNode *button = find_node("push button", "Button 1");
	ck_assert_ptr_nonnull(button);
	ck_assert_uint_gt(button->actions_count, 0);
	ck_assert(button->has_parent);
	ck_assert(has_state(button, "showing") && has_state(button, "focusable"));
	ck_assert_int_gt(button->bounds.width, 10);
	ck_assert_int_gt(button->bounds.height, 10);
	ck_assert_ptr_nonnull(find_node("application", NULL));
	ck_assert_ptr_nonnull(find_node(NULL, "Sample"));
	ck_assert_ptr_nonnull(find_node(dialogs[kind].check, "Choice"));
	const cua_UiNode *entry = find_node(dialogs[kind].entry, NULL);
	ck_assert_ptr_nonnull(entry);
	ck_assert_str_eq(entry->value, "before");
	ck_assert(find_node("slider", NULL)->has_value);
}

static void check_invoke(void) {
	cua_Args args = args_of("push button", "Button 1");
	check_done(ask_for(CUA_ACTION_UI_INVOKE, &args, NULL));
	ck_assert_uint_eq(node_count, 1);
	ck_assert_str_eq(node[0].name, "Button 1");
	(void)await_node(NULL, "Clicked Button 1");
	args = args_of("push button", "Button");
	check_error(ask_for(CUA_ACTION_UI_INVOKE, &args, NULL), CUA_CONFLICT, "3 nodes match");
	args = args_of("push button", "Button 2");
	args.has_verb = true;
	(void)snprintf(args.verb, sizeof(args.verb), "explode");
	check_error(ask_for(CUA_ACTION_UI_INVOKE, &args, NULL), CUA_INVALID, "explode");
}

/* `value` is the action's text. */
static void set_value(const cua_Args *args, const char *value, const char *wanted) {
	cua_Args sent = *args;
	sent.has_text = true;
	sent.text = 0;
	check_done(ask_for(CUA_ACTION_UI_SET_VALUE, &sent, value));
	ck_assert_uint_eq(node_count, 1);
	if (wanted) {
		ck_assert_str_eq(node[0].value, wanted);
	}
}

static void check_values(int kind) {
	cua_Args entry = args_of(dialogs[kind].entry, NULL);
	set_value(&entry,
		"Gr\xc3\xbc\xc3\x9f"
		"e \xe4\xb8\xad",
		"Gr\xc3\xbc\xc3\x9f"
		"e \xe4\xb8\xad");
	set_value(&entry, "", "");
	cua_Args slider = args_of("slider", NULL);
	set_value(&slider, "42", "42");
	cua_Args secret = args_of("password text", "Secret");
	set_value(&secret, "pass", NULL);
	ck_assert_ptr_null(strstr(node[0].value, "pass"));
	slider.has_text = true;
	check_error(ask_for(CUA_ACTION_UI_SET_VALUE, &slider, "much"), CUA_INVALID, "number");
}

/* Without a window manager only what has the X focus can have any. */
static void check_focus(int kind) {
	cua_Args args = args_of(dialogs[kind].check, "Choice");
	check_done(ask_for(CUA_ACTION_UI_FOCUS, &args, NULL));
	ck_assert(has_state(&node[0], "focused"));
	cua_Args focused = {.has_ui_scope = true, .ui_scope = 0};
	check_done(ask_for(CUA_ACTION_UI_TREE, &focused, NULL));
	ck_assert_uint_ge(node_count, 1);
	ck_assert_str_eq(node[0].name, "Choice");
	ck_assert(!node[0].has_parent);
	cua_Args window = {.has_ui_scope = true, .ui_scope = 1};
	check_done(ask_for(CUA_ACTION_UI_TREE, &window, NULL));
	ck_assert_ptr_nonnull(find_node(NULL, "Sample"));
}

static void drive_dialog(int kind) {
	(void)spawn("openbox", NULL, NULL);
	/* The accessibility bus must be on before Qt 6 starts. */
	cua_Args all = tree_of_all();
	check_done(ask_for(CUA_ACTION_UI_TREE, &all, NULL));
	(void)run_script(dialogs[kind].script, dialogs[kind].argument);
	(void)await_node(NULL, "Sample");
	(void)await_node("push button", "Button 2");
	check_tree(kind);
	check_focus(kind);
	check_values(kind);
	check_invoke();
}

START_TEST(test_gtk) {
	drive_dialog(0);
}
END_TEST

START_TEST(test_qt5) {
	drive_dialog(1);
}
END_TEST

START_TEST(test_qt6) {
	drive_dialog(2);
}
END_TEST

START_TEST(test_find) {
	(void)run_script("dialog_gtk.py", NULL);
	(void)await_node(NULL, "Sample");
	cua_Args args = args_of(NULL, "^Button [02]$");
	args.has_match = true;
	args.match = 2;
	check_done(ask_for(CUA_ACTION_UI_FIND, &args, NULL));
	ck_assert_uint_eq(node_count, 2);
	ck_assert_str_eq(node[0].name, "Button 0");
	ck_assert_str_eq(node[1].name, "Button 2");
	ck_assert(!node[0].has_parent && node[0].has_bounds);
	args = args_of("PUSH_BUTTON", "bUTTON");
	args.has_max_nodes = true;
	args.max_nodes = 2;
	const cua_ActionResult *result = ask_for(CUA_ACTION_UI_FIND, &args, NULL);
	ck_assert_uint_eq(node_count, 2);
	ck_assert_uint_eq(result->ui_cut, CUA_UI_CUT_NODES);
	args = (cua_Args){.states_count = 2, .states = {"checkable", "showing"}};
	check_done(ask_for(CUA_ACTION_UI_FIND, &args, NULL));
	args = args_of(NULL, "nowhere");
	check_done(ask_for(CUA_ACTION_UI_FIND, &args, NULL));
	ck_assert_uint_eq(node_count, 0);
	check_error(ask_for(CUA_ACTION_UI_INVOKE, &args, NULL), CUA_NOT_FOUND, "matches");
	check_error(ask_for(CUA_ACTION_UI_INVOKE, &(cua_Args){0}, NULL), CUA_INVALID, "which node");
	args = args_of("no such role", NULL);
	check_error(ask_for(CUA_ACTION_UI_FIND, &args, NULL), CUA_INVALID, "no such role");
	cua_Args shallow = tree_of_all();
	shallow.has_max_depth = true;
	shallow.max_depth = 2;
	result = ask_for(CUA_ACTION_UI_TREE, &shallow, NULL);
	ck_assert_uint_eq(node_count, 2);
	ck_assert_uint_eq(result->ui_cut, CUA_UI_CUT_DEPTH);
	ck_assert_uint_eq(node[1].children_cut, 1);
}
END_TEST

START_TEST(test_ids_outlive_nothing) {
	pid_t pid = run_script("dialog_gtk.py", NULL);
	cua_Args by_id = {.has_node = true};
	(void)snprintf(
		by_id.node, sizeof(by_id.node), "%s", await_node("push button", "Button 0")->id);
	check_done(ask_for(CUA_ACTION_UI_INVOKE, &by_id, NULL));
	(void)await_node(NULL, "Clicked Button 0");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	check_error(ask_for(CUA_ACTION_UI_INVOKE, &by_id, NULL), CUA_NOT_FOUND, "is gone");
	static const char *const wrong[] = {
		"", "/", "zzzz.1.2/3", "x", "....", "0000.", "a.b/c/../d e"};
	for (size_t i = 0; i < CUA_COUNT(wrong); i++) {
		(void)snprintf(by_id.node, sizeof(by_id.node), "%s", wrong[i]);
		check_error(ask_for(CUA_ACTION_UI_FOCUS, &by_id, NULL), CUA_NOT_FOUND, "no node");
	}
}
END_TEST

START_TEST(test_program_that_hangs) {
	pid_t hung = run_script("dialog_gtk.py", NULL);
	(void)await_node("push button", "Button 0");
	(void)run_script("dialog_qt.py", "5");
	for (size_t frames = 0; frames < 2;) {
		cua_Args args = args_of(NULL, "Sample");
		check_done(ask_for(CUA_ACTION_UI_FIND, &args, NULL));
		frames = node_count;
		pause_ms(50);
	}
	(void)kill(hung, SIGSTOP);
	cua_Args all = tree_of_all();
	long start = now_ms();
	check_done(ask_for(CUA_ACTION_UI_TREE, &all, NULL));
	ck_assert_int_lt(now_ms() - start, 4000);
	size_t silent = 0;
	for (size_t i = 0; i < node_count; i++) {
		silent += node[i].has_unresponsive && node[i].unresponsive;
	}
	ck_assert_uint_eq(silent, 1);
	ck_assert_ptr_nonnull(find_node("push button", "Button 1")); /* Qt's */
	(void)kill(hung, SIGCONT);
	check_done(ask_for(CUA_ACTION_UI_TREE, &all, NULL));
	for (size_t i = 0; i < node_count; i++) {
		ck_assert(!node[i].unresponsive);
	}
}
END_TEST

/* ---------------------------------------------------------------- liars */

static void check_alive(void) {
	const cua_ActionResult *result = desk_do(&d, CUA_ACTION_SCREEN_SIZE, &(cua_Args){0});
	ck_assert(!result->has_error);
}

static void hear_liar(const char *kind) {
	(void)run_script("hostile.py", kind);
	cua_Args all = tree_of_all();
	for (long end = now_ms() + PROGRAM_MS;;) {
		long start = now_ms();
		check_done(ask_for(CUA_ACTION_UI_TREE, &all, NULL));
		ck_assert_int_lt(now_ms() - start, 8000);
		if (node_count > 0) {
			break;
		}
		ck_assert_int_lt(now_ms(), end);
		pause_ms(50);
	}
	/* Who sends so much may be too slow. */
	if (strcmp(kind, "flood") != 0) {
		ck_assert(node[0].unresponsive == (strcmp(kind, "silent") == 0));
	}
	if (strcmp(kind, "cycle") == 0) {
		ck_assert_uint_eq(node_count, 3);
	}
	ck_assert_uint_le(strlen(node[0].name), CUA_UI_NAME_MAX);
	ck_assert(!node[0].has_bounds || node[0].bounds.width >= 0);
	cua_Args args = args_of(NULL, "Liar");
	const cua_ActionResult *result = ask_for(CUA_ACTION_UI_INVOKE, &args, NULL);
	ck_assert(result->has_error);
	check_alive();
}

START_TEST(test_liar_cycle) {
	hear_liar("cycle");
}
END_TEST

START_TEST(test_liar_flood) {
	hear_liar("flood");
}
END_TEST

START_TEST(test_liar_deep) {
	hear_liar("deep");
}
END_TEST

START_TEST(test_liar_strange) {
	hear_liar("strange");
}
END_TEST

START_TEST(test_liar_types) {
	hear_liar("types");
}
END_TEST

START_TEST(test_liar_silent) {
	hear_liar("silent");
}
END_TEST

/* ---------------------------------------------------------------- buses that are none */

static int connect_fake(const char *path) {
	int pair[2];
	(void)path;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	(void)close(fake_bus);
	fake_bus = pair[0];
	return pair[1];
}

static int connect_datagram(const char *path) {
	(void)path;
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static void fake_says(const char *bytes, size_t len) {
	(void)desk_send(&d, CUA_ACTION_UI_TREE, &(cua_Args){0}, NULL);
	/* It must answer after a bounded time whatever comes. */
	ck_assert(desk_receive(&d, d.front, CUA_DIR_WORKER_TO_CUAD, READY_MS));
	ck_assert_int_eq(d.msg.type, CUA_MSG_SOCKET_REQUEST);
	cua_SocketResult told = {.serial = d.msg.body.socket_request.serial};
	int fd = connect_fake("");
	ck_assert_int_eq(cua_msg_send(d.front,
				 &(struct cua_out){.type = CUA_MSG_SOCKET_RESULT,
					 .body = &told,
					 .fd = &fd,
					 .fd_count = 1},
				 &d.err),
		0);
	(void)close(fd);
	for (int i = 0; len > 0 && i < 100; i++) {
		if (send(fake_bus, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
			break;
		}
	}
	const cua_ActionResult *result = desk_answer(&d, 15000);
	ck_assert(result->has_error);
	check_alive();
}

START_TEST(test_bus_of_garbage) {
	static char bytes[4096];
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (char)(i * 2654435761u >> 13);
	}
	fake_says(bytes, sizeof(bytes));
	static const char header[] = "OK 0123456789abcdef0123456789abcdef\r\nAGREE_UNIX_FD\r\n"
				     "l\2\1\1\xff\xff\xff\x07\1\0\0\0\xff\xff\xff\x03";
	fake_says(header, sizeof(header) - 1);
	static const char ok[] = "OK 0123456789abcdef0123456789abcdef\r\n"
				 "l\2\1\1\0\0\0\0\1\0\0\0\0\0\0\0";
	fake_says(ok, sizeof(ok) - 1);
}
END_TEST

START_TEST(test_bus_that_is_silent) {
	fake_says(NULL, 0);
}
END_TEST

START_TEST(test_no_bus) {
	check_error(
		ask_for(CUA_ACTION_UI_TREE, &(cua_Args){0}, NULL), CUA_NOT_FOUND, "at-spi2-core");
	d.connect = connect_datagram;
	check_error(ask_for(CUA_ACTION_UI_TREE, &(cua_Args){0}, NULL), CUA_INTERNAL, "no socket");
	check_alive();
}
END_TEST

START_TEST(test_bus_that_goes) {
	d.connect = connect_kept;
	pid_t hung = run_script("dialog_gtk.py", NULL);
	(void)await_node("push button", "Button 0");
	cua_Args all = tree_of_all();
	(void)kill(hung, SIGSTOP);
	(void)desk_send(&d, CUA_ACTION_UI_TREE, &all, NULL);
	pause_ms(100); /* by then it waits for that program's answers */
	ck_assert_int_eq(shutdown(kept, SHUT_RDWR), 0);
	check_error(desk_answer(&d, READY_MS), CUA_CONFLICT, "bus is gone");
	(void)kill(hung, SIGCONT);
	check_done(ask_for(CUA_ACTION_UI_TREE, &all, NULL));
	ck_assert_ptr_nonnull(find_node("push button", "Button 0"));
	check_alive();
}
END_TEST

START_TEST(test_cuad_goes) {
	(void)run_script("dialog_gtk.py", NULL);
	(void)await_node("push button", "Button 0");
	cua_Args all = tree_of_all();
	(void)desk_send(&d, CUA_ACTION_UI_TREE, &all, NULL);
	desk_link(&d);
	check_done(ask_for(CUA_ACTION_UI_TREE, &all, NULL));
	ck_assert_ptr_nonnull(find_node("push button", "Button 0"));
}
END_TEST

#define CASE(title, begin, list)                                                                   \
	{                                                                                          \
		.name = (title), .setup = (begin), .teardown = teardown, .seconds = 90,            \
		.tests = (list), .count = CUA_COUNT(list)                                          \
	}

int main(void) {
	const TTest *const dialogs_[] = {test_gtk, test_qt5, test_qt6};
	const TTest *const finding[] = {test_find, test_ids_outlive_nothing};
	const TTest *const trouble[] = {
		test_program_that_hangs, test_cuad_goes, test_bus_that_goes};
	const TTest *const liars[] = {test_liar_cycle, test_liar_flood, test_liar_deep,
		test_liar_strange, test_liar_types, test_liar_silent};
	const TTest *const buses[] = {test_bus_of_garbage, test_bus_that_is_silent, test_no_bus};
	const struct suite_case cases[] = {CASE("dialogs", setup, dialogs_),
		CASE("finding", setup, finding), CASE("trouble", setup, trouble),
		CASE("liars", setup, liars), CASE("buses", setup_bare, buses)};
	return suite_run_cases("ui", cases, CUA_COUNT(cases));
}
