/* Turns mmdebstrap's and apt's chatter into a few lines for a person, and remembers what went wrong. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
	const char *name; /* template; kept, not copied */
	FILE *out; /* where lines for people go */
	FILE *log; /* where everything goes, or NULL */
	uint64_t start_ms;
	uint64_t last_ms;
	const char *phase;
	unsigned done;
	unsigned total; /* packages of this phase, 0 while unknown */
	unsigned unpacked;
	unsigned set_up;
	char trouble[512]; /* the first complaint that apt, dpkg or mmdebstrap made, or "" */
};

/* Starts the clock. */
void progress_init(struct progress *progress, const char *name, FILE *out, FILE *log);
/* Says a new phase at once; text is kept, not copied. */
void progress_phase(struct progress *progress, const char *phase);
/* Takes one line of output (a proc_line_fn). Prints at most one line every two seconds. */
void progress_on_line(void *progress, const char *line);
/* Whole seconds since the start. */
unsigned progress_seconds(const struct progress *progress);
/* The command or step that mends what went wrong; never NULL. */
const char *progress_remedy(const struct progress *progress);
