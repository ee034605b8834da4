/* A program of tests/toolkit: a real toolkit's window that tells what text has arrived in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sink {
	pid_t pid;
	int in; /* its standard input */
	int out;
};

/* Starts tests/toolkit/NAME with these arguments (NULL-terminated, may be NULL) and waits until its
 * window has the keyboard. False when that takes over a minute or fails. */
bool sink_start(struct sink *ret, const char *name, const char *const args[]);
/* Ends it. Fine on one that was not started (pid 0 or less). */
void sink_stop(struct sink *sink);

/* The text so far, without a final NUL; what does not fit is left out. False when the program does not
 * answer within a minute. */
bool sink_get(struct sink *sink, char *ret, size_t size, size_t *ret_len);
/* Forgets the text. */
bool sink_clear(struct sink *sink);
/* Waits until the text is at least this long, or has not changed for quiet_ms; then as sink_get(). */
bool sink_wait(
	struct sink *sink, size_t want, int quiet_ms, char *ret, size_t size, size_t *ret_len);
