/* cuad-build NAME --state DIR --data DIR: builds one template; run by the supervisor, and by hand.
 *
 * Progress goes to standard output, one line with the reason and the remedy to standard error. */
#include <getopt.h>
#include <stdio.h>
#include <sys/stat.h>

#include "server/build/build.h"

static void usage(FILE *out) {
	fprintf(out,
		"usage: cuad-build NAME [--state DIR] [--data DIR] [--recipes DIR] [--force]\n"
		"  builds the template NAME from DIR/NAME.yaml of --recipes (" CUAD_RECIPES "),\n"
		"  or from the recipes in templates/ of --data (" CUAD_DATA "),\n"
		"  into templates/NAME of --state (" CUAD_STATE
		"); --force builds also when nothing\n"
		"  changed\n");
}

/* The reason ends the progress too, unless both go to the same place. */
static void report(const struct build *build, const struct cua_err *err) {
	struct stat out;
	struct stat errors;
	fprintf(stderr, "cuad-build: %s\n", err->message);
	if (fstat(1, &out) == 0 && fstat(2, &errors) == 0 &&
		(out.st_dev != errors.st_dev || out.st_ino != errors.st_ino)) {
		printf("%s: failed: %s\n", build->name, err->message);
	}
}

int main(int argc, char **argv) {
	static const struct option options[] = {
		{"state", required_argument, NULL, 's'},
		{"data", required_argument, NULL, 'd'},
		{"recipes", required_argument, NULL, 'r'},
		{"force", no_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *data = CUAD_DATA;
	const char *recipes[3] = {CUAD_RECIPES, NULL, NULL};
	struct build build = {.state = CUAD_STATE, .recipes = recipes};
	struct cua_err err;
	char shipped[512];
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 's':
			build.state = optarg;
			break;
		case 'd':
			data = optarg;
			break;
		case 'r':
			recipes[0] = optarg;
			break;
		case 'f':
			build.force = true;
			break;
		default:
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (optind + 1 != argc) {
		usage(stderr);
		return 2;
	}
	build.name = argv[optind];
	(void)snprintf(shipped, sizeof shipped, "%s/templates", data);
	recipes[1] = shipped;
	if (build_run(&build, &err) < 0) {
		report(&build, &err);
		return 1;
	}
	return 0;
}
