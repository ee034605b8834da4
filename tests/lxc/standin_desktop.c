/* Stands in for cuad-desktop: greets on E2 and E3 and does what the file `desktop.mode` beside it
 * says: ready (also without the file), mute, die, lie, cut; or, once it is ready, another size of the
 * screen: small, huge, restless. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/msg.h"

static void read_mode(char ret[16]) {
	char path[120];
	(void)snprintf(ret, 16, "ready");
	ssize_t n = readlink("/proc/self/exe", path, 80);
	if (n < 0) {
		return;
	}
	path[n] = '\0';
	(void)snprintf(strrchr(path, '/'), 20, "/desktop.mode");
	FILE *f = fopen(path, "re");
	if (f) {
		(void)!fscanf(f, "%15s", ret);
		(void)fclose(f);
	}
}

/* A directory without rights to read it, and a socket. */
static bool fds_are_right(const struct cua_msg *msg) {
	struct stat dir;
	struct stat sock;
	return fstat(msg->fd[0], &dir) == 0 && S_ISDIR(dir.st_mode) &&
	       (fcntl(msg->fd[0], F_GETFL) & O_PATH) && fstat(msg->fd[1], &sock) == 0 &&
	       S_ISSOCK(sock.st_mode) && msg->body.worker_start.uid > 0;
}

static int tell(bool ready) {
	cua_WorkerState state = {.ready = ready,
		.phases_count = 2,
		.phases = {{.name = "connect", .us = 5}, {.name = "No Name", .us = 6}}};
	return cua_msg_send(
		3, &(struct cua_out){.type = CUA_MSG_WORKER_STATE, .body = &state}, NULL);
}

static int tell_size(uint32_t width, uint32_t height) {
	cua_WorkerState state = {.ready = true,
		.has_width = true,
		.width = width,
		.has_height = true,
		.height = height};
	return cua_msg_send(
		3, &(struct cua_out){.type = CUA_MSG_WORKER_STATE, .body = &state}, NULL);
}

static int tell_sizes(const char *mode) {
	int r = 0;
	if (strcmp(mode, "small") == 0) {
		r = tell_size(640, 480);
	} else if (strcmp(mode, "huge") == 0) {
		r = tell_size(9999, 480);
	}
	for (uint32_t i = 0; strcmp(mode, "restless") == 0 && i < 1000 && r == 0; i++) {
		r = tell_size(400 + i % 2, 300);
	}
	return r < 0 ? 0 : r; /* whoever lies is hung up on */
}

static int on_start(struct cua_msg *msg) {
	char mode[16];
	read_mode(mode);
	if (strcmp(mode, "die") == 0 || !fds_are_right(msg)) {
		return -1;
	}
	if (strcmp(mode, "cut") == 0) {
		(void)!write(3, "xy", 2);
		return 0;
	}
	for (int i = 0; strcmp(mode, "lie") == 0 && i < 1000; i++) {
		if (tell(false) < 0) {
			return 0;
		}
	}
	/* Kept open: the other end must stay up. */
	if (cua_hello_send(fcntl(msg->fd[1], F_DUPFD_CLOEXEC, 0), NULL) < 0) {
		return -1;
	}
	if (strcmp(mode, "mute") == 0 || strcmp(mode, "lie") == 0) {
		return 0;
	}
	int r = tell(true);
	return r < 0 ? r : tell_sizes(mode);
}

static int handle(struct cua_msg *msg) {
	switch (msg->type) {
	case CUA_MSG_HELLO:
		return cua_hello_check(msg, NULL);
	case CUA_MSG_WORKER_START:
		return on_start(msg);
	case CUA_MSG_WORKER_LINK:
		return cua_hello_send(fcntl(msg->fd[0], F_DUPFD_CLOEXEC, 0), NULL);
	default:
		return -1;
	}
}

int main(void) {
	struct cua_msg *msg = calloc(1, sizeof(*msg));
	if (!msg || getuid() != 0 || cua_hello_send(3, NULL) < 0) {
		return 1;
	}
	for (;;) {
		struct pollfd p = {.fd = 3, .events = POLLIN};
		if (poll(&p, 1, -1) < 0) {
			return 2;
		}
		int r = cua_msg_recv(3, CUA_DIR_SUPERVISOR_TO_WORKER, msg, NULL);
		if (r < 0) {
			return r == -CUA_NOT_FOUND ? 0 : 3;
		}
		if (r > 0 && handle(msg) < 0) {
			return 4;
		}
		cua_msg_done(msg);
	}
}
