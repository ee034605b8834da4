/* The host's archives, as apt itself sees them (`apt-get indextargets`, `apt-config dump`).
 *
 * The origin in an archive's signed Release file decides whether it is the distribution's own; names
 * of suites do not, for other vendors use the same ones. */
#include "server/build/source.h"

#include <ctype.h>

#include "server/build/proc.h"

/* An entry while its components are being gathered. */
struct reading {
	struct source_list *list;
	char key[SOURCE_MAX][640]; /* "[signed-by=…] URI SUITE" */
};

/* One value of /etc/os-release without its quotes. */
static void os_release(const char *key, char *ret, size_t size) {
	char line[256];
	size_t len = strlen(key);
	ret[0] = '\0';
	FILE *file = fopen("/etc/os-release", "re");
	while (file && fgets(line, sizeof line, file)) {
		if (strncmp(line, key, len) == 0 && line[len] == '=') {
			const char *value = line + len + 1 + (line[len + 1] == '"');
			(void)snprintf(ret, size, "%.*s", (int)strcspn(value, "\"\n"), value);
		}
	}
	if (file) {
		(void)fclose(file);
	}
}

/* The value after `signed-by` and its separator in one line of either format. */
static void keyring_in_line(const char *line, char *ret, size_t size) {
	const char *p = strcasestr(line, "signed-by");
	if (!p) {
		return;
	}
	p += strlen("signed-by");
	p += strspn(p, ":= \t");
	if (*p == '/') {
		(void)snprintf(ret, size, "%.*s", (int)strcspn(p, " ]\t\n,"), p);
	}
}

void source_keyring(const char *path, unsigned entry, char *ret, size_t size) {
	char line[1024];
	size_t len = strlen(path);
	bool stanzas = len > 8 && strcmp(path + len - 8, ".sources") == 0;
	bool inside = false;
	unsigned at = 0;
	ret[0] = '\0';
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file)) {
		bool blank = line[strspn(line, " \t\r\n")] == '\0';
		at += !stanzas || (!blank && !inside && line[0] != '#');
		inside = stanzas && !blank && (inside || line[0] != '#');
		if (at == entry && line[0] != '#') {
			keyring_in_line(line, ret, size);
		}
	}
	if (file) {
		(void)fclose(file);
	}
}

/* "FILE:N" of apt to the keyring that the entry names. */
static void keyring_of(const char *entry, char *ret, size_t size) {
	char path[512];
	const char *colon = strrchr(entry, ':');
	ret[0] = '\0';
	if (colon) {
		(void)snprintf(path, sizeof path, "%.*s", (int)(colon - entry), entry);
		source_keyring(path, (unsigned)strtoul(colon + 1, NULL, 10), ret, size);
	}
}

static bool suite_ok(const struct source_list *list, const char *suite) {
	static const char *const endings[] = {"", "-updates", "-security"};
	size_t len = strlen(list->codename);
	if (strncmp(suite, list->codename, len) != 0) {
		return false;
	}
	for (size_t i = 0; i < CUA_COUNT(endings); i++) {
		if (strcmp(suite + len, endings[i]) == 0) {
			return true;
		}
	}
	return false;
}

static void entry_add(struct reading *reading, const char *key, const char *component) {
	struct source_list *list = reading->list;
	size_t i = 0;
	while (i < list->count && strcmp(reading->key[i], key) != 0) {
		i++;
	}
	if (i == SOURCE_MAX) {
		return;
	}
	if (i == list->count) {
		list->count++;
		(void)snprintf(reading->key[i], sizeof reading->key[i], "%s", key);
		(void)snprintf(list->line[i], sizeof list->line[i], "deb %s", key);
	}
	size_t len = strlen(list->line[i]);
	(void)snprintf(list->line[i] + len, sizeof list->line[i] - len, " %s", component);
}

/* "ORIGIN|ARCH|SUITE|COMPONENT|FILE:N|URI" */
static void on_target(void *ctx, const char *text) {
	struct reading *reading = ctx;
	struct source_list *list = reading->list;
	char line[1024];
	char keyring[256];
	char key[640];
	char *field[6] = {NULL};
	char *rest = line;
	(void)snprintf(line, sizeof line, "%s", text);
	for (size_t i = 0; i < CUA_COUNT(field); i++) {
		field[i] = i + 1 < CUA_COUNT(field) ? strsep(&rest, "|") : rest;
		if (!field[i]) {
			return;
		}
	}
	if (strcmp(field[0], list->origin) != 0 || strcmp(field[1], list->arch) != 0 ||
		!suite_ok(list, field[2])) {
		return;
	}
	keyring_of(field[4], keyring, sizeof keyring);
	(void)snprintf(key, sizeof key, "%s%s%s%.300s %.64s", keyring[0] ? "[signed-by=" : "",
		keyring, keyring[0] ? "] " : "", field[5], field[2]);
	entry_add(reading, key, field[3]);
}

static const char *const wanted_options[] = {
	"Acquire::http",
	"Acquire::https",
	"Acquire::proxy",
	"Acquire::socks",
	"Acquire::ForceIPv4",
	"Acquire::ForceIPv6",
	"Acquire::Check-Valid-Until",
	"Acquire::Check-Date",
	"Acquire::Retries",
};

bool source_option_private(const char *option) {
	return strncasecmp(option, "Acquire::Check-", strlen("Acquire::Check-")) != 0;
}

static void on_option(void *ctx, const char *line) {
	struct source_list *list = ctx;
	if (list->option_count == SOURCE_MAX || strstr(line, " \"\";")) {
		return;
	}
	for (size_t i = 0; i < CUA_COUNT(wanted_options); i++) {
		size_t len = strlen(wanted_options[i]);
		if (strncasecmp(line, wanted_options[i], len) == 0 &&
			(line[len] == ' ' || line[len] == ':')) {
			(void)snprintf(list->option[list->option_count], sizeof list->option[0],
				"%s", line);
			list->option_count++;
			return;
		}
	}
}

static void on_arch(void *ctx, const char *line) {
	struct source_list *list = ctx;
	(void)snprintf(list->arch, sizeof list->arch, "%s", line);
}

static int ask(const char *const *argv, proc_line_fn *on_line, void *ctx, struct cua_err *err) {
	const struct proc proc = {.argv = argv, .on_line = on_line, .ctx = ctx};
	int r = proc_run(&proc, err);
	if (r > 0) {
		return cua_err_set(
			err, CUA_INTERNAL, "%s %s failed with status %d", argv[0], argv[1], r);
	}
	return r;
}

int source_read(struct source_list *ret, struct cua_err *err) {
	static const char *const targets[] = {"apt-get", "indextargets", "--format",
		"$(ORIGIN)|$(ARCHITECTURE)|$(RELEASE)|$(COMPONENT)|$(SOURCESENTRY)|$(REPO_URI)",
		"Created-By: Packages", NULL};
	static const char *const options[] = {"apt-config", "dump", NULL};
	static const char *const arch[] = {"dpkg", "--print-architecture", NULL};
	struct reading reading = {.list = ret};
	memset(ret, 0, sizeof *ret);
	os_release("VERSION_CODENAME", ret->codename, sizeof ret->codename);
	os_release("ID", ret->origin, sizeof ret->origin);
	ret->origin[0] = (char)toupper((unsigned char)ret->origin[0]);
	int r = ask(arch, on_arch, ret, err);
	r = r < 0 ? r : ask(options, on_option, ret, err);
	r = r < 0 ? r : ask(targets, on_target, &reading, err);
	if (r == 0 && ret->count == 0) {
		return cua_err_set(err, CUA_NOT_FOUND,
			"apt on this host knows no archive of %s %s; run `apt-get update` and see "
			"that "
			"/etc/apt names one",
			ret->origin, ret->codename);
	}
	return r;
}
