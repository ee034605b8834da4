/* Reads what mmdebstrap -v prints; its phases begin with "I: ".
 *
 * Nothing depends on it but what people see: an unknown line is only logged. */
#include "server/build/progress.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "cua/parse.h"

#define PRINT_EVERY_MS 2000

static uint64_t now_ms(void) {
	struct timespec ts;
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void progress_init(struct progress *progress, const char *name, FILE *out, FILE *log) {
	memset(progress, 0, sizeof *progress);
	progress->name = name;
	progress->out = out;
	progress->log = log;
	progress->start_ms = now_ms();
	progress->phase = "starting";
}

unsigned progress_seconds(const struct progress *progress) {
	return (unsigned)((now_ms() - progress->start_ms) / 1000);
}

static void progress_print(struct progress *progress) {
	progress->last_ms = now_ms();
	fprintf(progress->out, "%s: %s", progress->name, progress->phase);
	if (progress->total > 0) {
		fprintf(progress->out, ", %u of %u packages", progress->done, progress->total);
	}
	fprintf(progress->out, " (%u s)\n", progress_seconds(progress));
	(void)fflush(progress->out);
}

void progress_phase(struct progress *progress, const char *phase) {
	progress->phase = phase;
	progress->done = 0;
	progress->total = 0;
	progress->unpacked = 0;
	progress->set_up = 0;
	progress_print(progress);
}

/* How phases of mmdebstrap read here. */
static const struct {
	const char *begins;
	const char *phase;
} phases[] = {
	{"I: running apt-get update", "reading the archive's package lists"},
	{"I: downloading packages", "downloading the core system"},
	{"I: extracting archives", "unpacking the core system"},
	{"I: installing essential", "setting up the core system"},
	{"I: installing remaining", "downloading the rest"},
	{"I: running --customize-hook", "running the recipe's own steps"},
	{"I: cleaning package lists", "cleaning up"},
};

static bool begins(const char *line, const char *with) {
	return strncmp(line, with, strlen(with)) == 0;
}

static void note_phase(struct progress *progress, const char *line) {
	for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
		if (begins(line, phases[i].begins)) {
			unsigned total = progress->total;
			progress_phase(progress, phases[i].phase);
			/* The core is set up with the packages that its download counted. */
			progress->total =
				begins(line, "I: extracting") || begins(line, "I: installing ess")
					? total
					: 0;
			return;
		}
	}
}

static void note_trouble(struct progress *progress, const char *line) {
	/* apt's "Err:" lines come first but do not say why */
	static const char *const signs[] = {"E: ", "dpkg: error", "dpkg-deb: error", "cuad-run: "};
	if (progress->trouble[0]) {
		return;
	}
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
		if (begins(line, signs[i])) {
			(void)snprintf(progress->trouble, sizeof progress->trouble, "%.*s",
				(int)sizeof progress->trouble - 1, line);
		}
	}
}

/* dpkg unpacks and sets up in turns; each count goes on where it was. */
static void note_step(struct progress *progress, const char *phase, unsigned *count) {
	*count += *count < progress->total;
	progress->phase = phase;
	progress->done = *count;
}

/* apt's "0 upgraded, 12 newly installed, …". */
static bool is_summary(const char *line, uint64_t *ret_new) {
	static const char upgraded[] = " upgraded, ";
	if (!parse_digits(&line, UINT_MAX, ret_new) || !begins(line, upgraded)) {
		return false;
	}
	line += strlen(upgraded);
	return parse_digits(&line, UINT_MAX, ret_new) && begins(line, " newly installed");
}

static void note_package(struct progress *progress, const char *line) {
	uint64_t count = 0;
	if (is_summary(line, &count)) {
		progress->total = (unsigned)count;
		progress->done = progress->unpacked = progress->set_up = 0;
	} else if (begins(line, "Get:") && strstr(line, " [")) {
		progress->done += progress->done < progress->total;
	} else if (begins(line, "Unpacking ")) {
		note_step(progress, "unpacking", &progress->unpacked);
	} else if (begins(line, "Setting up ")) {
		note_step(progress, "setting up", &progress->set_up);
	} else if (begins(line, "Processing triggers ")) {
		note_step(progress, "running triggers", &progress->set_up);
	}
}

void progress_on_line(void *ctx, const char *line) {
	struct progress *progress = ctx;
	if (progress->log) {
		fprintf(progress->log, "%s\n", line);
	}
	note_trouble(progress, line);
	note_package(progress, line);
	if (begins(line, "I: ")) {
		note_phase(progress, line);
	}
	if (progress->total > 0 && now_ms() - progress->last_ms >= PRINT_EVERY_MS) {
		progress_print(progress);
	}
}

const char *progress_remedy(const struct progress *progress) {
	static const struct {
		const char *sign;
		const char *remedy;
	} known[] = {
		{"No space left", "free some disk space and build again"},
		{"Unable to locate package",
			"correct the package name in the recipe, or run `apt-get update`"},
		{"has no installation candidate", "correct the package name in the recipe"},
		{"cuad-run: ", "correct the `run` script of the recipe"},
		{"Temporary failure", "check the network and the name server, then build again"},
		{"Could not resolve", "check the network and the name server, then build again"},
		{"Could not connect",
			"check the network and apt's proxy settings, then build again"},
		{"Failed to fetch", "run `apt-get update`, then build again"},
		{"NO_PUBKEY", "install the archive's keyring on this host"},
		{"not signed", "install the archive's keyring on this host"},
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		if (strstr(progress->trouble, known[i].sign)) {
			return known[i].remedy;
		}
	}
	return "read the log, mend the cause and build again";
}
