/* manifest.json by jansson, which no other file here knows.
 *
 * Hashes are made by sha256sum and versions read by dpkg-query, so that they can be checked by hand. */
#include "server/build/manifest.h"

#include <jansson.h>

#include "server/build/proc.h"
#include "server/build/tree.h"

static void on_hash(void *ctx, const char *line) {
	struct manifest_origin *origin = ctx;
	if (origin->recipe_count < RECIPE_DEPTH && strspn(line, "0123456789abcdef") == 64) {
		struct manifest_recipe *recipe = &origin->recipe[origin->recipe_count++];
		(void)snprintf(recipe->sha256, sizeof recipe->sha256, "%.64s", line);
	}
}

int manifest_hash(
	const struct recipe_chain *chain, struct manifest_origin *ret, struct cua_err *err) {
	const char *argv[RECIPE_DEPTH + 3] = {"sha256sum", "--"};
	ret->recipe_count = 0;
	for (size_t i = 0; i < chain->count; i++) {
		argv[2 + i] = chain->path[i];
		(void)snprintf(ret->recipe[i].name, sizeof ret->recipe[i].name, "%s",
			chain->item[i]->name);
	}
	const struct proc proc = {.argv = argv, .on_line = on_hash, .ctx = ret};
	int r = proc_run(&proc, err);
	if (r < 0) {
		return r;
	}
	if (r > 0 || ret->recipe_count != chain->count) {
		return cua_err_set(err, CUA_INTERNAL, "sha256sum cannot read the recipe");
	}
	return 0;
}

static json_t *recipes_json(const struct manifest_origin *origin) {
	json_t *list = json_array();
	for (size_t i = 0; i < origin->recipe_count; i++) {
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s}", "name", origin->recipe[i].name, "sha256",
				      origin->recipe[i].sha256));
	}
	return list;
}

bool manifest_matches(const char *dir, const struct manifest_origin *origin) {
	char path[1024];
	int format = 0;
	const char *arch = "";
	const char *codename = "";
	json_t *recipes = NULL;
	(void)snprintf(path, sizeof path, "%s/manifest.json", dir);
	json_t *json = json_load_file(path, 0, NULL);
	json_t *wanted = recipes_json(origin);
	bool same = json_unpack(json, "{s:i, s:s, s:s, s:o}", "format", &format, "arch", &arch,
			    "codename", &codename, "recipes", &recipes) == 0 &&
		    format == MANIFEST_FORMAT && strcmp(arch, origin->arch) == 0 &&
		    strcmp(codename, origin->codename) == 0 && json_equal(recipes, wanted);
	json_decref(wanted);
	json_decref(json);
	return same;
}

/* "NAME\tVERSION" */
static void on_package(void *ctx, const char *line) {
	char name[256];
	size_t len = strcspn(line, "\t");
	if (line[len] == '\t' && len < sizeof name) {
		(void)snprintf(name, sizeof name, "%.*s", (int)len, line);
		(void)json_object_set_new(ctx, name, json_string(line + len + 1));
	}
}

static int packages_json(const char *rootfs, json_t *ret, struct cua_err *err) {
	char admin[1280];
	(void)snprintf(admin, sizeof admin, "--admindir=%s/var/lib/dpkg", rootfs);
	const char *const argv[] = {
		"dpkg-query", admin, "-W", "-f", "${Package}\\t${Version}\\n", NULL};
	const struct proc proc = {.argv = argv, .on_line = on_package, .ctx = ret};
	int r = proc_run(&proc, err);
	return r > 0 ? cua_err_set(err, CUA_INTERNAL, "dpkg-query cannot read the new system") : r;
}

static void utc_now(char *ret, size_t size) {
	struct tm tm;
	time_t now = time(NULL);
	(void)gmtime_r(&now, &tm);
	(void)strftime(ret, size, "%Y-%m-%dT%H:%M:%S.000Z", &tm);
}

int manifest_write(const char *dir, const struct recipe *recipe,
	const struct manifest_origin *origin, unsigned seconds, struct cua_err *err) {
	char path[1024];
	char created[40];
	uint64_t size = 0;
	json_t *packages = json_object();
	(void)snprintf(path, sizeof path, "%s/rootfs", dir);
	utc_now(created, sizeof created);
	int r = packages_json(path, packages, err);
	r = r < 0 ? r : tree_size(path, &size, err);
	json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:[s], s:o, s:o}",
		"format", MANIFEST_FORMAT, "name", recipe->name, "description", recipe->description,
		"arch", origin->arch, "codename", origin->codename, "created", created, "size",
		(json_int_t)size, "build_seconds", (int)seconds, "layers", recipe->name, "recipes",
		recipes_json(origin), "packages", packages);
	(void)snprintf(path, sizeof path, "%s/manifest.json", dir);
	if (r == 0 && (!json || json_dump_file(json, path, JSON_INDENT(1)) < 0)) {
		r = cua_err_set(err, CUA_INTERNAL, "cannot write %s", path);
	}
	json_decref(json);
	return r;
}
