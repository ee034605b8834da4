/* Starts and ends Xvfb and other programs of a test. Xvfb itself tells its display when it is
 * ready, so no number is guessed and nothing is polled for. */
#include "tests/lib/xvfb.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 20000

extern char **environ;

static pid_t spawn(const char *const argv[], int out, int extra) {
	pid_t pid = -1;
	posix_spawn_file_actions_t actions;
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (out >= 0) {
		(void)posix_spawn_file_actions_adddup2(&actions, out, 1);
	}
	if (extra >= 0) {
		(void)posix_spawn_file_actions_adddup2(&actions, extra, 3);
	}
	int r = posix_spawnp(
		&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r == 0 ? pid : -1;
}

/* The display's number and a newline, from -displayfd. */
static bool read_display(int fd, char *ret, size_t size) {
	size_t used = 0;
	ret[used++] = ':';
	while (used + 1 < size) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (poll(&p, 1, START_MS) != 1 || read(fd, ret + used, 1) != 1) {
			return false;
		}
		if (ret[used] == '\n') {
			ret[used] = '\0';
			return used > 1;
		}
		used++;
	}
	return false;
}

bool xvfb_start(struct xvfb *ret, const char *screen) {
	int fds[2] = {-1, -1};
	*ret = (struct xvfb){.pid = -1};
	if (pipe2(fds, O_CLOEXEC) < 0) {
		return false;
	}
	const char *argv[] = {"Xvfb", "-displayfd", "3", "-screen", "0", screen, "-nolisten", "tcp",
		"-noreset", NULL};
	ret->pid = spawn(argv, -1, fds[1]);
	(void)close(fds[1]);
	bool ok = ret->pid > 0 && read_display(fds[0], ret->display, sizeof(ret->display));
	(void)close(fds[0]);
	if (ok) {
		(void)setenv("DISPLAY", ret->display, 1);
	}
	return ok;
}

void xvfb_stop(struct xvfb *x) {
	if (x->pid <= 0) {
		return;
	}
	/* Asked politely, it removes its socket and its lock. */
	(void)kill(x->pid, SIGTERM);
	(void)waitpid(x->pid, NULL, 0);
	x->pid = -1;
}

pid_t xvfb_spawn(const char *const argv[], int out) {
	return spawn(argv, out, -1);
}

bool xvfb_run(const char *const argv[]) {
	int status = 0;
	pid_t pid = spawn(argv, -1, -1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

void xvfb_kill(pid_t pid) {
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
}
