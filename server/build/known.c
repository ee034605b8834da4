/* `apt-cache policy NAME…` prints "NAME:" in the first column for each package that it knows.
 *
 * The host may know more archives than a template gets; what slips through here fails in the build. */
#include "server/build/known.h"

#include "server/build/proc.h"

struct names {
	const char **name; /* set to NULL when seen */
	size_t count;
};

static size_t names_count(const struct recipe_chain *chain) {
	size_t count = 0;
	for (size_t i = 0; i < chain->count; i++) {
		count += chain->item[i]->packages_count;
	}
	return count;
}

static void names_fill(const struct recipe_chain *chain, const char **ret) {
	for (size_t i = 0; i < chain->count; i++) {
		for (unsigned k = 0; k < chain->item[i]->packages_count; k++) {
			*ret++ = chain->item[i]->packages[k];
		}
	}
}

static void on_policy(void *ctx, const char *line) {
	struct names *names = ctx;
	size_t len = strcspn(line, ":");
	for (size_t i = 0; i < names->count && line[0] != ' '; i++) {
		const char *name = names->name[i];
		if (name && strlen(name) == len && strncmp(name, line, len) == 0) {
			names->name[i] = NULL;
		}
	}
}

int known_packages(const struct recipe_chain *chain, struct cua_err *err) {
	size_t count = names_count(chain);
	_cleanup_free_ const char **argv = calloc(count + 3, sizeof *argv);
	_cleanup_free_ const char **left = calloc(count + 1, sizeof *left);
	if (!argv || !left) {
		return cua_err_set(err, CUA_EXHAUSTED, "out of memory");
	}
	argv[0] = "apt-cache";
	argv[1] = "policy";
	names_fill(chain, argv + 2);
	names_fill(chain, left);
	struct names names = {.name = left, .count = count};
	const struct proc proc = {.argv = argv, .on_line = on_policy, .ctx = &names};
	int r = proc_run(&proc, err);
	for (size_t i = 0; i < count && r == 0; i++) {
		if (left[i]) {
			r = cua_err_about(err, CUA_INVALID, "package",
				"apt knows no package %s; correct the name in the recipe, or run "
				"`apt-get update`",
				left[i]);
		}
	}
	return r > 0 ? cua_err_set(err, CUA_INTERNAL, "apt-cache policy failed") : r;
}
