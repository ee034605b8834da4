/* What a running cuad-desktop has left of names, network, rights and system calls: /proc tells. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "desktop/pool.h"
#include "desktop/sandbox.h"
#include "tests/lib/desk.h"
#include "tests/lib/suite.h"

static struct desk d;

static void setup(void) {
	desk_init(&d);
}

static void teardown(void) {
	desk_done(&d);
}

/* A file of the worker's in /proc, as text. */
static const char *proc(const char *name) {
	static char text[16384];
	char path[340];
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)d.worker, name);
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	size_t len = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[len] = '\0';
	return text;
}

/* Looks for the line in the status of every thread. The number of threads. */
static size_t check_status(const char *line) {
	char with_end[128];
	char path[64];
	size_t count = 0;
	(void)snprintf(with_end, sizeof(with_end), "\n%s\n", line);
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)d.worker);
	DIR *dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] != '.') {
			char name[300];
			(void)snprintf(name, sizeof(name), "task/%s/status", entry->d_name);
			const char *text = proc(name);
			ck_assert_msg(
				strstr(text, with_end) != NULL, "%s is not in %s", line, text);
			count++;
		}
	}
	(void)closedir(dir);
	return count;
}

static size_t cpus(void) {
	cpu_set_t set;
	ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	return (size_t)CPU_COUNT(&set);
}

START_TEST(test_rights) {
	desk_start_worker(&d);
	(void)check_status("Uid:\t123456\t123456\t123456\t123456");
	(void)check_status("Gid:\t123456\t123456\t123456\t123456");
	(void)check_status("Groups:\t ");
	(void)check_status("CapInh:\t0000000000000000");
	(void)check_status("CapPrm:\t0000000000000000");
	(void)check_status("CapEff:\t0000000000000000");
	(void)check_status("CapBnd:\t0000000000000000");
	(void)check_status("CapAmb:\t0000000000000000");
	(void)check_status("NoNewPrivs:\t1");
	size_t threads = check_status("Seccomp:\t2");
	ck_assert_uint_eq(threads, cpus() < POOL_MAX ? cpus() : POOL_MAX);
}
END_TEST

START_TEST(test_limits) {
	desk_start_worker(&d);
	const char *limits = proc("limits");
	ck_assert_ptr_nonnull(strstr(limits, "Max core file size        0                    0 "));
	ck_assert_ptr_nonnull(strstr(limits, "Max processes             0                    0 "));
	/* Not dumpable: what /proc shows belongs to root, not to the worker's user. */
	char path[64];
	struct stat st;
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)d.worker);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_uid, 0);
}
END_TEST

/* The names in a directory below the worker's root, sorted, in one line. */
static void check_dir(const char *dir, const char *expected) {
	char path[128];
	char found[512] = "";
	struct dirent **list = NULL;
	(void)snprintf(path, sizeof(path), "/proc/%d/root%s", (int)d.worker, dir);
	int count = scandir(path, &list, NULL, alphasort);
	ck_assert_int_ge(count, 0);
	for (int i = 0; i < count; i++) {
		size_t used = strlen(found);
		(void)snprintf(found + used, sizeof(found) - used, "%s ", list[i]->d_name);
		free(list[i]);
	}
	free(list);
	ck_assert_str_eq(found, expected);
}

START_TEST(test_root) {
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	check_dir("/", ". .. tmp ");
	check_dir("/tmp", ". .. .X11-unix ");
	check_dir("/tmp/.X11-unix", ". .. X0 ");
	char path[128];
	(void)snprintf(path, sizeof(path), "/proc/%d/root/new", (int)d.worker);
	ck_assert_int_lt(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600), 0);
	ck_assert_int_eq(errno, EROFS);
	(void)snprintf(path, sizeof(path), "/proc/%d/root/tmp/.X11-unix/new", (int)d.worker);
	ck_assert_int_lt(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600), 0);
	ck_assert_int_eq(errno, EROFS);
	/* two mounts are all that it sees */
	const char *mounts = proc("mounts");
	size_t lines = 0;
	for (const char *p = mounts; (p = strchr(p, '\n')); p++) {
		lines++;
	}
	ck_assert_uint_eq(lines, 2);
}
END_TEST

START_TEST(test_namespaces) {
	static const char *const own[] = {"mnt", "net", "ipc", "uts"};
	desk_start_worker(&d);
	for (size_t i = 0; i < CUA_COUNT(own); i++) {
		char path[64];
		struct stat theirs;
		struct stat ours;
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)d.worker, own[i]);
		ck_assert_int_eq(stat(path, &theirs), 0);
		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", own[i]);
		ck_assert_int_eq(stat(path, &ours), 0);
		ck_assert_uint_ne(theirs.st_ino, ours.st_ino);
	}
	const char *net = proc("net/dev");
	ck_assert_ptr_nonnull(strstr(net, "lo:"));
	ck_assert_ptr_null(strstr(net, "eth"));
	ck_assert_str_eq(proc("net/route"), "");
}
END_TEST

START_TEST(test_descriptors_are_few) {
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	ck_assert(desk_wait_ready(&d, true, 12000));
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)d.worker);
	DIR *dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	size_t count = 0;
	while (readdir(dir)) {
		count++;
	}
	(void)closedir(dir);
	ck_assert_uint_lt(count, 24);
}
END_TEST

static int enter(int x11_dir, uid_t uid) {
	struct cua_err err;
	return sandbox_enter(&(struct sandbox){.x11_dir = x11_dir, .uid = uid}, &err);
}

/* In a child that has entered the sandbox: what must fail, fails. Its status is the first that did
 * not, or 0. */
static int probe(void) {
	int dir = open("/tmp/.X11-unix", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || enter(dir, DESK_UID) < 0) {
		return 1;
	}
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_NETLINK, SOCK_RAW, 0) >= 0) {
		return 2;
	}
	if (open("/etc/passwd", O_RDONLY) >= 0 || open("/proc/self/status", O_RDONLY) >= 0) {
		return 3;
	}
	if (kill(1, 0) == 0 || setuid(0) == 0 || chroot("/") == 0) {
		return 4;
	}
	if (syscall(SYS_ptrace, 0, 0, 0, 0) == 0 || syscall(SYS_unshare, 0x10000000) == 0 ||
		syscall(SYS_bpf, 0, 0, 0) >= 0 ||
		syscall(SYS_perf_event_open, 0, 0, 0, 0, 0) >= 0) {
		return 5;
	}
	return 0;
}

START_TEST(test_calls_fail) {
	pid_t child = fork();
	if (child == 0) {
		_exit(probe());
	}
	int status = 0;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(test_fork_kills) {
	pid_t child = fork();
	if (child == 0) {
		int dir = open("/tmp/.X11-unix", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0 || enter(dir, DESK_UID) < 0) {
			_exit(1);
		}
		_exit(syscall(SYS_execve, "/bin/true", NULL, NULL) == 0);
	}
	int status = 0;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGSYS);
}
END_TEST

START_TEST(test_root_user_is_refused) {
	ck_assert_int_eq(enter(-1, 0), -CUA_INVALID);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {test_rights, test_limits, test_root, test_namespaces,
		test_descriptors_are_few, test_calls_fail, test_fork_kills,
		test_root_user_is_refused};
	const struct suite_case cases[] = {
		{.name = "sandbox",
			.setup = setup,
			.teardown = teardown,
			.seconds = 60,
			.tests = tests,
			.count = CUA_COUNT(tests)},
	};
	return suite_run_cases("sandbox", cases, CUA_COUNT(cases));
}
