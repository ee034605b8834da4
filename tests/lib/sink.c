/* Talks to a program of tests/toolkit over its standard input and output. */
#include "tests/lib/sink.h"

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

#define ANSWER_MS 60000
#define POLL_MS 20
#define ARGS_MAX 16

extern char **environ;

static pid_t spawn(const char *const argv[], int in, int out) {
	pid_t pid = -1;
	posix_spawn_file_actions_t actions;
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, in, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, 1);
	if (!getenv("CUAD_SINK_ERRORS")) {
		(void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	}
	int r = posix_spawnp(
		&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r == 0 ? pid : -1;
}

static bool read_some(const struct sink *sink, char *ret, size_t len) {
	size_t used = 0;
	while (used < len) {
		struct pollfd p = {.fd = sink->out, .events = POLLIN};
		ssize_t n =
			poll(&p, 1, ANSWER_MS) == 1 ? read(sink->out, ret + used, len - used) : -1;
		if (n <= 0) {
			return false;
		}
		used += (size_t)n;
	}
	return true;
}

static bool read_line(const struct sink *sink, char *ret, size_t size) {
	for (size_t used = 0; used + 1 < size; used++) {
		if (!read_some(sink, ret + used, 1)) {
			return false;
		}
		if (ret[used] == '\n') {
			ret[used] = '\0';
			return true;
		}
	}
	return false;
}

bool sink_start(struct sink *ret, const char *name, const char *const args[]) {
	char path[512];
	char line[32];
	int in[2];
	int out[2];
	const char *source = getenv("CUAD_SOURCE");
	const char *argv[ARGS_MAX] = {"/usr/bin/python3", "-B", path};
	for (size_t i = 0; args && args[i] && i + 4 < ARGS_MAX; i++) {
		argv[3 + i] = args[i];
	}
	(void)snprintf(path, sizeof(path), "%s/tests/toolkit/%s", source ? source : ".", name);
	*ret = (struct sink){.pid = -1, .in = -1, .out = -1};
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
		return false;
	}
	*ret = (struct sink){.pid = spawn(argv, in[0], out[1]), .in = in[1], .out = out[0]};
	(void)close(in[0]);
	(void)close(out[1]);
	return ret->pid > 0 && read_line(ret, line, sizeof(line)) && strcmp(line, "ready") == 0;
}

void sink_stop(struct sink *sink) {
	if (sink->pid <= 0) {
		return;
	}
	(void)close(sink->in);
	char byte;
	/* Its end of the pipe closes when it ends. */
	struct pollfd p = {.fd = sink->out, .events = POLLIN};
	while (poll(&p, 1, ANSWER_MS / 6) == 1 && read(sink->out, &byte, 1) == 1) {
	}
	(void)kill(sink->pid, SIGKILL);
	(void)waitpid(sink->pid, NULL, 0);
	(void)close(sink->out);
	sink->pid = -1;
}

static bool ask(
	const struct sink *sink, const char *command, char *ret, size_t size, size_t *ret_len) {
	char line[32];
	size_t len = strlen(command);
	*ret_len = 0;
	if (write(sink->in, command, len) != (ssize_t)len || !read_line(sink, line, sizeof(line))) {
		return false;
	}
	size_t total = strtoul(line, NULL, 10);
	size_t fits = total < size ? total : size;
	if (!read_some(sink, ret, fits)) {
		return false;
	}
	char byte;
	for (size_t i = fits; i < total; i++) {
		if (!read_some(sink, &byte, 1)) {
			return false;
		}
	}
	*ret_len = fits;
	return true;
}

bool sink_get(struct sink *sink, char *ret, size_t size, size_t *ret_len) {
	return ask(sink, "get\n", ret, size, ret_len);
}

bool sink_clear(struct sink *sink) {
	size_t len = 0;
	char byte;
	return ask(sink, "clear\n", &byte, 0, &len);
}

bool sink_wait(
	struct sink *sink, size_t want, int quiet_ms, char *ret, size_t size, size_t *ret_len) {
	size_t before = SIZE_MAX;
	for (int quiet = 0; quiet < quiet_ms;) {
		if (!sink_get(sink, ret, size, ret_len)) {
			return false;
		}
		if (*ret_len >= want) {
			break;
		}
		quiet = *ret_len == before ? quiet + POLL_MS : 0;
		before = *ret_len;
		(void)poll(NULL, 0, POLL_MS);
	}
	return true;
}
