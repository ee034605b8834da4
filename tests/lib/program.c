/* See the header. */
#include "tests/lib/program.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void program_start(struct program *ret, bool browser, const char *const argv[]) {
	int out[2];
	memset(ret, 0, sizeof(*ret));
	ret->browser = browser;
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	ret->pid = fork();
	if (ret->pid == 0) {
		(void)setpgid(0, 0);
		(void)setenv("HOME", "/tmp", 1);
		(void)setenv("NO_AT_BRIDGE", "1", 1);
		(void)dup2(out[1], 1);
		(void)dup2(out[1], 2);
		(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(105);
	}
	ck_assert_int_gt(ret->pid, 0);
	(void)setpgid(ret->pid, ret->pid);
	(void)close(out[1]);
	ret->out = out[0];
	(void)fcntl(ret->out, F_SETFL, O_NONBLOCK);
}

static bool begins(const char *line, const char *text) {
	return strncmp(line, text, strlen(text)) == 0;
}

/* Forgets the lines that do not begin with the text. */
static void forget(struct program *p, const char *but) {
	size_t kept = 0;
	for (size_t i = 0; i < p->count; i++) {
		if (but && begins(p->line[i], but)) {
			p->line[kept++] = p->line[i];
		} else {
			free(p->line[i]);
		}
	}
	p->count = kept;
}

void program_stop(struct program *p) {
	if (p->pid > 0) {
		(void)kill(-p->pid, SIGKILL);
		(void)waitpid(p->pid, NULL, 0);
		(void)close(p->out);
	}
	p->pid = -1;
	forget(p, NULL);
}

/* What a page wrote: [...CONSOLE...] "#TEXT", source: ... */
static char *console_text(char *line) {
	char *text = strstr(line, "\"#");
	char *end = text ? strstr(text, "\", source:") : NULL;
	if (!end) {
		return NULL;
	}
	*end = '\0';
	return text + 2;
}

static void take_line(struct program *p, char *line) {
	char *text = p->browser ? console_text(line) : line;
	if (text && p->count < PROGRAM_LINES) {
		p->line[p->count++] = strdup(text);
	}
}

static void take(struct program *p, const char *data, size_t len) {
	for (size_t i = 0; i < len; i++) {
		if (data[i] == '\n') {
			p->pending[p->used] = '\0';
			take_line(p, p->pending);
			p->used = 0;
		} else if (p->used + 1 < sizeof(p->pending)) {
			p->pending[p->used++] = data[i];
		}
	}
}

/* False at the end of the output. */
static bool read_some(struct program *p) {
	char data[4096];
	ssize_t n = 0;
	while ((n = read(p->out, data, sizeof(data))) > 0) {
		take(p, data, (size_t)n);
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static long now_ms(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool program_wait(struct program *p, const char *text, size_t n, int ms) {
	const long end = now_ms() + ms;
	while (true) {
		bool more = read_some(p);
		long left = end - now_ms();
		if (program_count(p, text) >= n || left <= 0 || !more) {
			return program_count(p, text) >= n;
		}
		struct pollfd fd = {.fd = p->out, .events = POLLIN};
		(void)poll(&fd, 1, (int)left);
	}
}

size_t program_count(const struct program *p, const char *text) {
	size_t n = 0;
	for (size_t i = 0; i < p->count; i++) {
		n += begins(p->line[i], text);
	}
	return n;
}

const char *program_last(const struct program *p, const char *text) {
	for (size_t i = p->count; i > 0; i--) {
		if (begins(p->line[i - 1], text)) {
			return p->line[i - 1] + strlen(text);
		}
	}
	return NULL;
}

void program_clear(struct program *p) {
	(void)read_some(p);
	forget(p, "at ");
}

char *program_told(const struct program *p) {
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(file);
	for (size_t i = 0; i < p->count; i++) {
		(void)fprintf(file, "%s | ", p->line[i]);
	}
	(void)fclose(file);
	return text;
}
