/* Options from one table; see the header. */
#include "server/supervisor/options.h"

#include <stddef.h>

struct option_row {
	const char *name;
	const char *value; /* its name in the help; NULL for a flag */
	size_t offset;
	size_t size;
	const char *fallback;
	const char *help;
};

#define TEXT(member) offsetof(struct options, member), sizeof(((struct options *)0)->member)
#define FLAG(member) offsetof(struct options, member), 0

static const struct option_row rows[] = {
	{"--config", "FILE", TEXT(config), "/etc/cuad/cuad.yaml", "the configuration"},
	{"--state", "DIR", TEXT(host.state_dir), "/var/lib/cuad", "sessions' disks, templates"},
	{"--run", "DIR", TEXT(host.run_dir), "/run/cuad", "mounts and sockets"},
	{"--libexec", "DIR", TEXT(host.libexec_dir), CUAD_LIBEXEC_DIR, "our other programs"},
	{"--data", "DIR", TEXT(host.data_dir), CUAD_DATA_DIR, "rule file, system calls, recipes"},
	{"--user", "NAME", TEXT(user), "cuad", "the user that cuad runs as"},
	{"--halt", NULL, FLAG(halt), NULL,
		"stop all sessions, keep their disks, clear the firewall, and end"},
	{"--version", NULL, FLAG(version), NULL, "print the version and end"},
	{"--help", NULL, FLAG(help), NULL, "print this and end"},
};

static int set_text(
	const struct option_row *row, const char *value, struct options *ret, struct cua_err *err) {
	int n = snprintf((char *)ret + row->offset, row->size, "%s", value);
	if (n < 1 || (size_t)n >= row->size) {
		return cua_err_about(err, CUA_INVALID, row->name, "%s needs 1 to %zu bytes",
			row->name, row->size - 1);
	}
	return 0;
}

static const struct option_row *row_find(const char *name) {
	for (size_t i = 0; i < CUA_COUNT(rows); i++) {
		if (strcmp(rows[i].name, name) == 0) {
			return &rows[i];
		}
	}
	return NULL;
}

static int set_defaults(struct options *ret, struct cua_err *err) {
	*ret = (struct options){0};
	for (size_t i = 0; i < CUA_COUNT(rows); i++) {
		int r = rows[i].fallback ? set_text(&rows[i], rows[i].fallback, ret, err) : 0;
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int options_parse(int argc, char *const argv[], struct options *ret, struct cua_err *err) {
	int r = set_defaults(ret, err);
	for (int i = 1; i < argc && r == 0; i++) {
		const struct option_row *row = row_find(argv[i]);
		if (!row || (row->value && i + 1 == argc)) {
			return cua_err_about(err, CUA_INVALID, argv[i], "%s %s", argv[i],
				row ? "needs a value" : "is no option; see --help");
		}
		if (row->value) {
			r = set_text(row, argv[++i], ret, err);
		} else {
			*(bool *)((char *)ret + row->offset) = true;
		}
	}
	return r;
}

char *options_help(void) {
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out) {
		return NULL;
	}
	(void)fprintf(
		out, "Usage: cuad-supervisor [OPTION]...\nRuns the desktops of this host.\n\n");
	for (size_t i = 0; i < CUA_COUNT(rows); i++) {
		char left[32];
		(void)snprintf(left, sizeof(left), "%s %s", rows[i].name,
			rows[i].value ? rows[i].value : "");
		(void)fprintf(out, "  %-16s %s", left, rows[i].help);
		(void)fprintf(out, rows[i].fallback ? " (%s)\n" : "\n", rows[i].fallback);
	}
	return fclose(out) == 0 ? text : NULL;
}
