/* Processes by number and start time. Everything here is about processes that others started. */
#include "server/supervisor/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cua/cleanup.h"
#include "cua/fdio.h"
#include "cua/parse.h"

#define STAT_START 19 /* fields after the state up to the start time */
#define FILE_SIZE 4096

static bool read_proc(pid_t pid, const char *file, char ret[FILE_SIZE]) {
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, ret, FILE_SIZE - 1);
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

bool proc_read(pid_t pid, struct proc_id *ret) {
	char text[FILE_SIZE];
	/* The name in parentheses may hold anything, so the fields are counted from its end. */
	char *p = pid > 0 && read_proc(pid, "stat", text) ? strrchr(text, ')') : NULL;
	uint64_t parent = 0;
	if (!p || strlen(p) < 4 || strchr("ZX", p[2]) || !parse_row(p + 3, 1, &parent)) {
		return false;
	}
	for (int i = 0; p && i <= STAT_START; i++) {
		p = strchr(p + 1, ' ');
	}
	uint64_t start = 0;
	if (!p || !parse_row(p, 1, &start)) {
		return false;
	}
	*ret = (struct proc_id){.pid = pid, .parent = (pid_t)parent, .start = start};
	return true;
}

int proc_open(const struct proc_id *id) {
	_cleanup_fd_ int fd = (int)syscall(SYS_pidfd_open, id->pid, 0);
	struct proc_id now;
	/* Read after opening: if it is still the same process, the descriptor is of that one. */
	if (fd < 0 || !proc_read(id->pid, &now) || now.start != id->start) {
		return -1;
	}
	return take_fd(fd);
}

static int64_t now_ms(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool proc_wait(int pidfd, int timeout_ms) {
	int64_t end = now_ms() + timeout_ms;
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	for (;;) {
		int64_t left = end - now_ms();
		int r = poll(&p, 1, left > 0 ? (int)left : 0);
		if (r >= 0 || errno != EINTR) {
			return r > 0;
		}
	}
}

void proc_signal(int pidfd, int signal) {
	(void)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

bool proc_field(pid_t pid, const char *file, const char *prefix, char *ret, size_t size) {
	char text[FILE_SIZE];
	if (!read_proc(pid, file, text)) {
		return false;
	}
	char *rest = NULL;
	for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(l, prefix, strlen(prefix)) == 0) {
			l += strlen(prefix);
			(void)snprintf(ret, size, "%s", l + strspn(l, " \t"));
			return true;
		}
	}
	return false;
}

bool proc_mentions(pid_t pid, const char *file, const char *text) {
	char all[FILE_SIZE];
	return read_proc(pid, file, all) && strstr(all, text);
}
