/* A program that tells by lines on its output what happens to it: the toolkits' side of a test.
 * The programs are in tests/toolkit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PROGRAM_LINES 4096

struct program {
	pid_t pid;
	int out;
	bool browser; /* its lines are those that a page writes to the console, behind a '#' */
	size_t used;
	char pending[8192]; /* the beginning of a line */
	char *line[PROGRAM_LINES];
	size_t count;
};

/* Starts it with a process group of its own, stdout and stderr together; HOME is /tmp. The test's
 * end by ck_assert when that fails. */
void program_start(struct program *ret, bool browser, const char *const argv[]);
/* Kills it and its children; forgets the lines. */
void program_stop(struct program *p);
/* Waits until n lines begin with the text. False when they do not within ms. */
bool program_wait(struct program *p, const char *text, size_t n, int ms);
/* Number of lines that begin with the text. */
size_t program_count(const struct program *p, const char *text);
/* What follows the text in the last line that begins with it, or NULL. */
const char *program_last(const struct program *p, const char *text);
/* Reads what is there and forgets all lines but those that begin with `at `: places. */
void program_clear(struct program *p);
/* All lines, for the message of a test that fails; to be freed. */
char *program_told(const struct program *p);
