/* cuad-init as PID 1 of real namespaces, driven over E5 as cuad does it. The desktop's own X server
 * and services are tested here too; what liblxc adds is not. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "tests/lib/guest.h"

static struct guest guest;
static struct guest_output output;

#define NO_SERVICES "# nothing\n"
#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static void setup(void) {
	guest_start(&guest, NO_SERVICES);
}

static void teardown(void) {
	unsigned ms = guest_stop(&guest);
	ck_assert_msg(ms < 1000, "the stop took %u ms", ms);
}

static void run(const char *const *argv) {
	guest_run(&guest, &(struct guest_command){.argv = argv}, &output);
}

static void ck_code(const cua_ExecExit *exit, enum cua_code code, const char *subject) {
	ck_assert_msg(
		exit->has_error, "no error: exit %d, signal %d", exit->exit_code, exit->signal);
	ck_assert_str_eq(cua_code_name(exit->error.code), cua_code_name(code));
	ck_assert_str_eq(exit->error.subject, subject);
	ck_assert_int_eq(exit->has_exit_code, false);
}

/* ---------------------------------------------------------------- commands */

START_TEST(exec_output_and_surroundings) {
	guest_sh(&guest, "echo out; echo err >&2", &output);
	ck_assert_str_eq(output.out, "out\n");
	ck_assert_str_eq(output.err, "err\n");
	ck_assert_uint_gt(output.pid, 1);
	guest_sh(&guest, "id -un; id -G; pwd; umask; ps -o sid= -p $$ | grep -cw $$", &output);
	ck_assert_str_eq(output.out, "agent\n1000 44 100\n/home/agent\n0022\n1\n");
	guest_sh(&guest, "env | grep -v ^_= | sort", &output);
	ck_assert_str_eq(output.out,
		"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus\nDISPLAY=:0\n"
		"HOME=/home/agent\nHOSTNAME=guest-7\nLANG=C.UTF-8\nLOGNAME=agent\n"
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:"
		"/usr/local/games:/usr/games\nPWD=/home/agent\nSHELL=/bin/bash\nUSER=agent\n"
		"XDG_RUNTIME_DIR=/run/user/1000\n");
	guest_sh(&guest, "ls -l /proc/self/fd | grep -c -- '->'", &output);
	ck_assert_str_eq(output.out, "4\n");
	guest_sh(&guest, "grep -h Sig[BI] /proc/self/status | cut -f2", &output);
	ck_assert_str_eq(output.out, "0000000000000000\n0000000000000000\n");
}
END_TEST

START_TEST(exec_user_cwd_env) {
	const char *const *script = ARGV("sh", "-c", "id -un; pwd; echo $LANG $X $HOME");
	guest_run(&guest,
		&(struct guest_command){.argv = script,
			.user = "root",
			.cwd = "/usr/bin",
			.env = ARGV("LANG=de", "X=a\n=b")},
		&output);
	ck_assert_str_eq(output.out, "root\n/usr/bin\nde a =b /root\n");
	guest_sh(&guest, "mkdir -p a/b", &output);
	guest_run(&guest, &(struct guest_command){.argv = ARGV("pwd"), .cwd = "a/b"}, &output);
	ck_assert_str_eq(output.out, "/home/agent/a/b\n");
	guest_run(&guest, &(struct guest_command){.argv = ARGV("pwd"), .cwd = "~/a"}, &output);
	ck_assert_str_eq(output.out, "/home/agent/a\n");
	guest_run(&guest,
		&(struct guest_command){.argv = ARGV("tool"), .env = ARGV("PATH=/home/agent/a")},
		&output);
	ck_code(&output.exit, CUA_NOT_FOUND, "command");
}
END_TEST

START_TEST(exec_status) {
	static const int codes[] = {0, 1, 3, 127, 255};
	for (size_t i = 0; i < CUA_COUNT(codes); i++) {
		char script[32];
		(void)snprintf(script, sizeof(script), "exit %d", codes[i]);
		run(ARGV("sh", "-c", script));
		ck_assert_int_eq(output.exit.has_exit_code, true);
		ck_assert_int_eq(output.exit.exit_code, codes[i]);
		ck_assert_int_eq(output.exit.has_signal, false);
		ck_assert_int_eq(output.exit.has_error, false);
	}
	run(ARGV("sh", "-c", "kill -SEGV $$"));
	ck_assert_int_eq(output.exit.signal, SIGSEGV);
	ck_assert_int_eq(output.exit.has_exit_code, false);
}
END_TEST

START_TEST(exec_refusals) {
	guest_sh(&guest,
		"echo > plain; mkdir shut; chmod 0 shut; printf '#!/nowhere\\n' > lost; "
		"chmod +x lost",
		&output);
	run(ARGV("no-such-program"));
	ck_code(&output.exit, CUA_NOT_FOUND, "command");
	ck_assert_uint_eq(output.pid, 0);
	run(ARGV("./plain"));
	ck_code(&output.exit, CUA_FORBIDDEN, "command");
	run(ARGV("./lost"));
	ck_code(&output.exit, CUA_NOT_FOUND, "command");
	run(ARGV("/home/agent"));
	ck_code(&output.exit, CUA_FORBIDDEN, "command");
	run(ARGV(""));
	ck_code(&output.exit, CUA_INVALID, "command");
	const char *const none[] = {NULL};
	run(none);
	ck_code(&output.exit, CUA_INVALID, "command");
	guest_run(&guest, &(struct guest_command){.argv = ARGV("true"), .cwd = "/lost"}, &output);
	ck_code(&output.exit, CUA_NOT_FOUND, "cwd");
	ck_assert_ptr_nonnull(strstr(output.exit.error.message, "/lost"));
	guest_run(&guest, &(struct guest_command){.argv = ARGV("true"), .cwd = "shut"}, &output);
	ck_code(&output.exit, CUA_FORBIDDEN, "cwd");
	static const char *const users[] = {"nobody-here", "broken", "half", "Bad Name", "agents"};
	for (size_t i = 0; i < CUA_COUNT(users); i++) {
		guest_run(&guest, &(struct guest_command){.argv = ARGV("true"), .user = users[i]},
			&output);
		ck_code(&output.exit, CUA_NOT_FOUND, "user");
	}
	guest_run(
		&guest, &(struct guest_command){.argv = ARGV("true"), .env = ARGV("=x")}, &output);
	ck_code(&output.exit, CUA_INVALID, "env");
	guest_run(&guest, &(struct guest_command){.argv = ARGV("true"), .env = ARGV("novalue")},
		&output);
	ck_code(&output.exit, CUA_INVALID, "env");
}
END_TEST

/* The longest string that the kernel takes, and one more byte. */
START_TEST(exec_long_argument) {
	char *argument = malloc(CUA_ARG_BYTES + 1);
	ck_assert_ptr_nonnull(argument);
	memset(argument, 'x', CUA_ARG_BYTES);
	argument[CUA_ARG_BYTES] = '\0';
	run(ARGV("sh", "-c", "echo ${#1}", "sh", argument));
	ck_code(&output.exit, CUA_TOO_LARGE, "command");
	argument[CUA_ARG_BYTES - 1] = '\0';
	run(ARGV("sh", "-c", "echo ${#1}", "sh", argument));
	ck_assert_str_eq(output.out, "131071\n");
	free(argument);
}
END_TEST

START_TEST(exec_many_arguments) {
	static const char *argv[10005] = {"sh", "-c", "echo $# $1 $10000", "sh"};
	static char text[10000][8];
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(text[i], sizeof(text[i]), "%d", i);
		argv[i + 4] = text[i];
	}
	run(argv);
	ck_assert_str_eq(output.out, "10000 0 00000\n");
	run(ARGV("printf", "%s|", "", "a\nb", "\xff\xfe", "-n", "'\"$(id)`", "\xe2\x82\xac"));
	ck_assert_str_eq(output.out, "|a\nb|\xff\xfe|-n|'\"$(id)`|\xe2\x82\xac|");
}
END_TEST

/* The end of the command is what counts, not of whoever else holds its pipes. */
START_TEST(exec_background_child) {
	unsigned long begun = guest_now_ms();
	guest_sh(&guest, "sleep 1000 & echo $!", &output);
	ck_assert_uint_lt(guest_now_ms() - begun, 2000);
	char script[64];
	(void)snprintf(script, sizeof(script), "test $(ps -o ppid= -p %ld) = 1",
		strtol(output.out, NULL, 10));
	guest_until(&guest, script);
}
END_TEST

static void send_signal(uint32_t serial, int signal) {
	cua_ExecSignal body = {.serial = serial, .signal = signal};
	guest_send(&guest, &(struct cua_out){.type = CUA_MSG_EXEC_SIGNAL, .body = &body});
}

START_TEST(exec_signals) {
	struct guest_command command = {.argv = ARGV("sh", "-c",
						"trap 'echo got; exit 7' USR1; echo go; "
						"while :; do sleep 1000 & wait; done")};
	struct guest_exec exec = guest_exec_start(&guest, &command);
	guest_expect(&guest, CUA_MSG_EXEC_STARTED);
	char byte[3];
	ck_assert_int_eq(fd_read_all(exec.out, byte, 3), 3);
	send_signal(exec.serial, SIGUSR1);
	guest_expect(&guest, CUA_MSG_EXEC_EXIT);
	ck_assert_int_eq(guest.in.body.exec_exit.exit_code, 7);
	guest_exec_close(&exec);
	send_signal(exec.serial, SIGTERM); /* over already: nothing happens */
	send_signal(99999, SIGKILL);
	exec = guest_exec_start(&guest, &(struct guest_command){.argv = ARGV("sleep", "1000")});
	guest_expect(&guest, CUA_MSG_EXEC_STARTED);
	send_signal(exec.serial, -1);
	send_signal(exec.serial, 12345);
	send_signal(exec.serial, SIGTERM);
	guest_expect(&guest, CUA_MSG_EXEC_EXIT);
	ck_assert_int_eq(guest.in.body.exec_exit.signal, SIGTERM);
	guest_exec_close(&exec);
}
END_TEST

#define HIDERS                                                                                     \
	"setsid sleep 7001 & (sleep 7002 &) ; env -i setsid sh -c 'sleep 7003 & sleep 7004' & "    \
	"setsid sh -c '(setsid sleep 7005 &) ; exec sleep 7006' & "                                \
	"sh -c 'trap \"\" TERM HUP INT; sleep 7007' & "
#define NO_SLEEPERS "! ps -eo args | grep -q '^sleep 7'"
#define SEVEN_SLEEPERS "test $(ps -eo args | grep -c '^sleep 70') = 7"

START_TEST(exec_kill_reaches_all) {
	struct guest_command command = {.argv = ARGV("sh", "-c", HIDERS "wait")};
	struct guest_exec exec = guest_exec_start(&guest, &command);
	guest_expect(&guest, CUA_MSG_EXEC_STARTED);
	guest_until(&guest, SEVEN_SLEEPERS);
	send_signal(exec.serial, SIGKILL);
	guest_expect(&guest, CUA_MSG_EXEC_EXIT);
	ck_assert_int_eq(guest.in.body.exec_exit.signal, SIGKILL);
	guest_exec_close(&exec);
	guest_sh(&guest, NO_SLEEPERS, &output);
}
END_TEST

/* One that forks all the time. */
START_TEST(exec_kill_fork_storm) {
	struct guest_command command = {.argv = ARGV("sh", "-c",
						"f() { sleep 7100 & setsid sh -c \"$0\" & }; "
						"while :; do (sleep 7101 &) ; :; done & "
						"while :; do setsid sleep 7102 & done",
						"sleep 7103")};
	struct guest_exec exec = guest_exec_start(&guest, &command);
	guest_expect(&guest, CUA_MSG_EXEC_STARTED);
	guest_until(&guest, "test $(ps -eo args | grep -c '^sleep 71') -gt 100");
	send_signal(exec.serial, SIGKILL);
	guest_expect(&guest, CUA_MSG_EXEC_EXIT);
	ck_assert_int_eq(guest.in.body.exec_exit.signal, SIGKILL);
	guest_exec_close(&exec);
	guest_sh(&guest, NO_SLEEPERS, &output);
}
END_TEST

START_TEST(exec_detached) {
	struct guest_command command = {
		.argv = ARGV("sh", "-c", "echo hello; exec sleep 7200"), .detach = true};
	(void)guest_exec_start(&guest, &command);
	guest_expect(&guest, CUA_MSG_EXEC_STARTED);
	char script[128];
	(void)snprintf(script, sizeof(script), "test $(ps -o ppid= -p %u) = 1",
		guest.in.body.exec_started.pid);
	guest_until(&guest, script);
	guest_until(&guest, "grep -q hello /var/log/cuad/launch.log");
	command.argv = ARGV("no-such-program");
	(void)guest_exec_start(&guest, &command);
	guest_expect(&guest, CUA_MSG_EXEC_EXIT);
	ck_code(&guest.in.body.exec_exit, CUA_NOT_FOUND, "command");
	/* It outlives the connection. */
	guest_accept(&guest);
	guest_sh(&guest, "ps -eo args | grep -q '^sleep 7200'", &output);
}
END_TEST

START_TEST(exec_limit) {
	static struct guest_exec exec[CUA_EXEC_PER_SESSION];
	struct guest_command command = {.argv = ARGV("sleep", "7300")};
	for (size_t i = 0; i < CUA_COUNT(exec); i++) {
		exec[i] = guest_exec_start(&guest, &command);
		guest_expect(&guest, CUA_MSG_EXEC_STARTED);
		guest_exec_close(&exec[i]);
	}
	run(ARGV("true"));
	ck_code(&output.exit, CUA_EXHAUSTED, "commands");
	send_signal(exec[17].serial, SIGKILL);
	guest_expect(&guest, CUA_MSG_EXEC_EXIT);
	run(ARGV("true"));
	ck_assert_int_eq(output.exit.has_exit_code, true);
	guest_accept(&guest);
	guest_until(&guest, NO_SLEEPERS);
	guest_until(&guest, "test $(pgrep -c cuad-exec) = 1");
}
END_TEST

/* Orphans that end under PID 1, and orphans that end under the keeper of a command. */
#define DOUBLE_FORK                                                                                \
	"for (1..shift) { my $p = fork; if (!$p) { fork; POSIX::_exit(0) } waitpid $p, 0 }"
#define NO_ZOMBIES "! cat /proc/[0-9]*/stat 2>/dev/null | grep -q ') Z '"

START_TEST(zombies_are_reaped) {
	struct guest_command command = {
		.argv = ARGV("perl", "-MPOSIX", "-e", DOUBLE_FORK, "3000"), .detach = true};
	(void)guest_exec_start(&guest, &command);
	guest_expect(&guest, CUA_MSG_EXEC_STARTED);
	guest_sh(&guest, "exec perl -MPOSIX -e '" DOUBLE_FORK "' 500", &output);
	guest_until(&guest, "! pgrep perl");
	guest_until(&guest, NO_ZOMBIES);
}
END_TEST

/* ---------------------------------------------------------------- terminals */

static void tty_expect(int fd, const char *text) {
	static char seen[262144];
	size_t used = 0;
	seen[0] = '\0';
	while (!strstr(seen, text)) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		ck_assert_msg(poll(&wait, 1, 10000) == 1, "no \"%s\" in: %s", text, seen);
		ssize_t n = read(fd, seen + used, sizeof(seen) - 1 - used);
		ck_assert_msg(n > 0, "the terminal closed, no \"%s\" in: %s", text, seen);
		used += (size_t)n;
		seen[used] = '\0';
	}
}

static void tty_type(int fd, const char *text) {
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static struct guest_exec tty_start(const char *const *argv) {
	struct guest_exec exec =
		guest_exec_start(&guest, &(struct guest_command){.argv = argv, .tty = true});
	guest_expect(&guest, CUA_MSG_EXEC_STARTED);
	return exec;
}

START_TEST(tty_shell) {
	struct guest_exec exec = tty_start(ARGV("bash", "--norc", "-i"));
	tty_type(exec.in, "PS1=; stty size; id -un; echo $TERM; tty\n");
	tty_expect(exec.in, "24 80\r\nagent\r\nxterm-256color\r\n/dev/pts/");
	cua_ExecResize size = {.serial = exec.serial, .columns = 132, .rows = 43};
	guest_send(&guest, &(struct cua_out){.type = CUA_MSG_EXEC_RESIZE, .body = &size});
	/* The order and the keys take two roads: a command's round trip orders them. */
	guest_sh(&guest, "true", &output);
	tty_type(exec.in, "stty size\n");
	tty_expect(exec.in, "43 132\r\n");
	tty_type(exec.in, "trap 'echo inter''rupted' INT; sleep 7400\n");
	guest_until(&guest, "ps -eo args | grep -q '^sleep 7400'");
	tty_type(exec.in, "\003");
	tty_type(exec.in, "echo still'here'\n");
	tty_expect(exec.in, "stillhere\r\n");
	guest_sh(&guest, NO_SLEEPERS, &output);
	tty_type(exec.in, "exit 5\n");
	guest_expect(&guest, CUA_MSG_EXEC_EXIT);
	ck_assert_int_eq(guest.in.body.exec_exit.exit_code, 5);
	guest_exec_close(&exec);
}
END_TEST

/* What was written last arrives, and before the exit is told. */
START_TEST(tty_output_is_complete) {
	for (int round = 0; round < 20; round++) {
		struct guest_exec exec = tty_start(ARGV("sh", "-c", "seq 20000; echo the-end"));
		tty_expect(exec.in, "20000\r\nthe-end\r\n");
		guest_expect(&guest, CUA_MSG_EXEC_EXIT);
		ck_assert_int_eq(guest.in.body.exec_exit.exit_code, 0);
		guest_exec_close(&exec);
	}
}
END_TEST

START_TEST(tty_hang_up) {
	struct guest_exec exec = tty_start(ARGV("sh", "-c", "sleep 7500"));
	guest_exec_close(&exec);
	guest_expect(&guest, CUA_MSG_EXEC_EXIT);
	ck_assert_int_eq(guest.in.body.exec_exit.signal, SIGHUP);
	guest_until(&guest, NO_SLEEPERS);
	/* Half closed is an end of file, and the answer still comes. */
	exec = tty_start(ARGV("sh", "-c", "cat; echo fine"));
	(void)shutdown(exec.in, SHUT_WR);
	tty_expect(exec.in, "fine\r\n");
	guest_expect(&guest, CUA_MSG_EXEC_EXIT);
	guest_exec_close(&exec);
}
END_TEST

/* A peer that does not read stops the program, not PID 1, and its end is told all the same. */
START_TEST(tty_slow_peer) {
	struct guest_exec exec = tty_start(ARGV("sh", "-c", "yes"));
	guest_until(&guest, "pgrep -x yes");
	unsigned long begun = guest_now_ms();
	send_signal(exec.serial, SIGINT);
	guest_expect(&guest, CUA_MSG_EXEC_EXIT);
	ck_assert_uint_lt(guest_now_ms() - begun, 3000);
	guest_exec_close(&exec);
}
END_TEST

/* ---------------------------------------------------------------- the link */

static void expect_alive(void) {
	guest_accept(&guest);
	guest_sh(&guest, "echo alive", &output);
	ck_assert_str_eq(output.out, "alive\n");
}

START_TEST(hostile_peer) {
	cua_SessionDelete wrong = {.serial = 1, .id = "abcdefghijkl"};
	guest_send(&guest, &(struct cua_out){.type = CUA_MSG_SESSION_DELETE, .body = &wrong});
	guest_expect_closed(&guest);
	expect_alive();
	ck_assert_int_eq(send(guest.sock, "abc", 3, 0), 3);
	guest_expect_closed(&guest);
	expect_alive();
	static char junk[CUA_MSG_MAX + 1000];
	memset(junk, 0xee, sizeof(junk));
	ck_assert_int_eq(send(guest.sock, junk, 30000, 0), 30000);
	guest_expect_closed(&guest);
	expect_alive();
	ck_assert_int_gt(send(guest.sock, junk, sizeof(junk), 0), 0);
	guest_expect_closed(&guest);
	guest_accept_mute(&guest);
	cua_ExecSignal early = {.serial = 1, .signal = 9};
	guest_send(&guest, &(struct cua_out){.type = CUA_MSG_EXEC_SIGNAL, .body = &early});
	guest_expect_closed(&guest);
	guest_accept_mute(&guest);
	cua_Hello stranger = {.build = "another"};
	guest_send(&guest, &(struct cua_out){.type = CUA_MSG_HELLO, .body = &stranger});
	guest_expect_closed(&guest);
	expect_alive();
	cua_ExecStart bare = {.serial = 5};
	guest_send(&guest, &(struct cua_out){.type = CUA_MSG_EXEC_START, .body = &bare});
	guest_expect_closed(&guest);
	expect_alive();
}
END_TEST

START_TEST(reconnect_and_kill) {
	struct guest_command command = {.argv = ARGV("sh", "-c", HIDERS "wait")};
	struct guest_exec exec = guest_exec_start(&guest, &command);
	guest_expect(&guest, CUA_MSG_EXEC_STARTED);
	guest_until(&guest, SEVEN_SLEEPERS);
	/* Nobody listens for a while, then a new socket takes the place. */
	(void)close(guest.listener);
	guest.listener = -1;
	(void)close(guest.sock);
	guest.sock = -1;
	guest_listen(&guest);
	unsigned long begun = guest_now_ms();
	guest_accept(&guest);
	ck_assert_uint_lt(guest_now_ms() - begun, 1000);
	guest_until(&guest, NO_SLEEPERS);
	guest_exec_close(&exec);
}
END_TEST

START_TEST(stop_with_stubborn_programs) {
	struct guest_command command = {
		.argv = ARGV("sh", "-c", "trap '' TERM; kill -STOP $$; sleep 7600"),
		.detach = true};
	for (int i = 0; i < 5; i++) {
		(void)guest_exec_start(&guest, &command);
		guest_expect(&guest, CUA_MSG_EXEC_STARTED);
	}
}
END_TEST

/* ---------------------------------------------------------------- services */

#define SERVICES                                                                                   \
	"xvfb\tagent\t-\t-extension\tGLX\n"                                                        \
	"first\troot\tonce\tsh\t-c\techo first >> /tmp/order; chmod 666 /tmp/order; sleep 0.2; "   \
	"echo done >> "                                                                            \
	"/tmp/order\n"                                                                             \
	"second\tagent\twait=/tmp/flag\tsh\t-c\techo second >> /tmp/order; "                       \
	"echo x > /tmp/flag; exec sleep 8000\n"                                                    \
	"bad line\n"                                                                               \
	"lost\tnoone\t-\ttrue\n"                                                                   \
	"screen\tagent\tscreen\tsh\t-c\techo screen $DISPLAY >> /tmp/order; "                      \
	"test -S /tmp/.X11-unix/X0 || echo early >> /tmp/order; exec sleep 8001\n"                 \
	"last\tagent\t-\tsh\t-c\techo last >> /tmp/order; exec sleep 8002\n"

#define ORDER "first\ndone\nsecond\n"

static void setup_services(void) {
	guest_start(&guest, SERVICES);
	guest_until(&guest, "grep -q last /tmp/order");
}

START_TEST(services_in_order) {
	/* The last two are started one after the other and then run at the same time. */
	guest_until(&guest, "grep -q last /tmp/order && grep -q screen /tmp/order");
	guest_sh(&guest, "head -3 /tmp/order", &output);
	ck_assert_str_eq(output.out, ORDER);
	guest_sh(&guest, "sort /tmp/order | tail -3", &output);
	ck_assert_str_eq(output.out, "last\nscreen :0\nsecond\n");
	guest_sh(&guest, "ps -o user=,args= -C Xvfb", &output);
	ck_assert_ptr_nonnull(strstr(output.out, "agent"));
	ck_assert_ptr_nonnull(
		strstr(output.out, "Xvfb :0 -screen 0 1024x768x24 -dpi 96 -nolisten tcp"));
	ck_assert_ptr_nonnull(strstr(output.out, "-extension GLX"));
	guest_sh(&guest,
		"cat /etc/hosts; stat -c '%U %a' /run/user/1000; wc -c < /etc/machine-id; "
		"ip -br link show lo 2>/dev/null | cut -c1-4; cat /proc/1/comm",
		&output);
	ck_assert_ptr_nonnull(strstr(output.out, "127.0.1.1\tguest-7\nagent 700\n33\n"));
}
END_TEST

START_TEST(services_restart) {
	guest.wants_events = false;
	guest_sh(&guest, "pkill -f '^sleep 8002'", &output);
	guest_until(&guest, "test $(grep -c last /tmp/order) = 2");
	guest_sh(&guest, "pgrep -f '^sleep 8000'", &output);
	long second = strtol(output.out, NULL, 10);
	guest_sh(&guest, "kill -9 $(pgrep Xvfb); ln -sf /nowhere /tmp/.X0-lock", &output);
	guest_until(&guest, "test $(grep -c screen /tmp/order) = 2 && pgrep Xvfb");
	guest_until(&guest, "pgrep -f '^sleep 8001'");
	guest_sh(&guest, "pgrep -f '^sleep 8000'", &output);
	ck_assert_int_eq(strtol(output.out, NULL, 10), second);
	guest_sh(&guest, "! grep early /tmp/order; grep -c second /tmp/order", &output);
	ck_assert_str_eq(output.out, "1\n");
}
END_TEST

START_TEST(services_tell) {
	guest.wants_events = true;
	struct guest_exec exec = guest_exec_start(&guest,
		&(struct guest_command){.argv = ARGV("pkill", "-TERM", "Xvfb"), .user = "root"});
	bool ended = false;
	bool back = false;
	while (!back) {
		guest_next(&guest, "events of xvfb");
		const cua_ServiceEvent *event = &guest.in.body.service_event;
		bool display =
			guest.in.type == CUA_MSG_SERVICE_EVENT && strcmp(event->name, "xvfb") == 0;
		back = ended && display && event->running;
		ended = ended || (display && !event->running && event->has_status);
	}
	guest_exec_close(&exec);
}
END_TEST

static void send_command(const char *blob, size_t len, enum cua_code code) {
	static const char env[] = "MARK=a b";
	struct cua_span blobs[] = {{blob, len}, {env, sizeof(env)}};
	cua_DesktopCommand body = {.serial = 77};
	guest_send(&guest, &(struct cua_out){.type = CUA_MSG_DESKTOP_COMMAND,
				   .body = &body,
				   .blob = blobs,
				   .blob_count = 2});
	guest_expect(&guest, CUA_MSG_REPLY);
	ck_assert_uint_eq(guest.in.body.reply.serial, 77);
	ck_assert_int_eq(guest.in.body.reply.has_error, code != CUA_OK);
}

START_TEST(desktop_command) {
	static const char argv[] = "sh\0-c\0echo \"$MARK\" $DISPLAY >> /tmp/mark; exec sleep 8003";
	send_command("", 0, CUA_INVALID);
	send_command("no-nul", 6, CUA_INVALID);
	send_command(argv, sizeof(argv), CUA_OK);
	guest_until(&guest, "pgrep -f '^sleep 8003'");
	send_command(argv, sizeof(argv), CUA_OK);
	guest_sh(&guest, "cat /tmp/mark; pkill -KILL -f '^sleep 8003'", &output);
	ck_assert_str_eq(output.out, "a b :0\n");
	guest_until(&guest, "test $(wc -l < /tmp/mark) = 2");
}
END_TEST

/* ---------------------------------------------------------------- */

static Suite *init_suite(void) {
	Suite *suite = suite_create("init");
	TCase *plain = tcase_create("plain");
	tcase_add_checked_fixture(plain, setup, teardown);
	tcase_set_timeout(plain, 120);
	tcase_add_test(plain, exec_output_and_surroundings);
	tcase_add_test(plain, exec_user_cwd_env);
	tcase_add_test(plain, exec_status);
	tcase_add_test(plain, exec_refusals);
	tcase_add_test(plain, exec_long_argument);
	tcase_add_test(plain, exec_many_arguments);
	tcase_add_test(plain, exec_background_child);
	tcase_add_test(plain, exec_signals);
	tcase_add_test(plain, exec_kill_reaches_all);
	tcase_add_test(plain, exec_kill_fork_storm);
	tcase_add_test(plain, exec_detached);
	tcase_add_test(plain, exec_limit);
	tcase_add_test(plain, zombies_are_reaped);
	tcase_add_test(plain, tty_shell);
	tcase_add_test(plain, tty_output_is_complete);
	tcase_add_test(plain, tty_hang_up);
	tcase_add_test(plain, tty_slow_peer);
	tcase_add_test(plain, hostile_peer);
	tcase_add_test(plain, reconnect_and_kill);
	tcase_add_test(plain, stop_with_stubborn_programs);
	suite_add_tcase(suite, plain);
	TCase *services = tcase_create("services");
	tcase_add_checked_fixture(services, setup_services, teardown);
	tcase_set_timeout(services, 60);
	tcase_add_test(services, services_in_order);
	tcase_add_test(services, services_restart);
	tcase_add_test(services, services_tell);
	tcase_add_test(services, desktop_command);
	suite_add_tcase(suite, services);
	return suite;
}

int main(void) {
	SRunner *runner = srunner_create(init_suite());
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
