/* Recipes, sources, the store of templates and the reading of mmdebstrap's output: what cuad-build
 * does before and after it installs. Real files in a directory of its own. */
#include <check.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "server/build/cache.h"
#include "server/build/known.h"
#include "server/build/manifest.h"
#include "server/build/proc.h"
#include "server/build/progress.h"
#include "server/build/recipe.h"
#include "server/build/source.h"
#include "server/build/stage.h"
#include "server/build/store.h"
#include "server/build/tree.h"
#include "tests/lib/suite.h"

static char dir[] = "/tmp/cuad-test-build-XXXXXX";
static char text[8192];

static void setup(void) {
	memcpy(dir + sizeof dir - 7, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void) {
	ck_assert_int_eq(tree_remove(dir, NULL), 0);
}

static void put(const char *path, const char *content) {
	struct cua_err err;
	ck_assert_int_eq(tree_write(dir, path, content, 0644, &err), 0);
}

static const char *get(const char *path) {
	char full[512];
	(void)snprintf(full, sizeof full, "%s%s", dir, path);
	FILE *file = fopen(full, "re");
	ck_assert_msg(file, "%s is missing", path);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	(void)fclose(file);
	return text;
}

static bool exists(const char *path) {
	char full[512];
	struct stat st;
	(void)snprintf(full, sizeof full, "%s%s", dir, path);
	return lstat(full, &st) == 0;
}

static int load(const char *name, struct recipe_chain *ret, struct cua_err *err) {
	const char *const dirs[] = {"/nonexistent", dir, NULL};
	return recipe_chain_load(dirs, name, ret, err);
}

static void refused(const char *content, const char *says) {
	struct recipe_chain chain = {.count = 0};
	struct cua_err err = {.code = CUA_OK};
	put("/bad.yaml", content);
	ck_assert_int_eq(load("bad", &chain, &err), -CUA_INVALID);
	ck_assert_msg(strstr(err.message, says), "\"%s\" lacks \"%s\"", err.message, says);
}

static const char parent[] = "name: parent\n"
			     "description: the parent\n"
			     "packages: [one, two]\n"
			     "files:\n"
			     "  - {path: /etc/a, mode: \"0440\", content: old}\n"
			     "  - {path: /etc/b, content: kept}\n"
			     "services:\n"
			     "  - {name: first, user: root, once: true, command: [one, two]}\n"
			     "  - {name: second, screen: true, wait: /run/x, command: [three]}\n"
			     "run: echo parent\n";
static const char child[] = "name: child\n"
			    "description: the child\n"
			    "extends: parent\n"
			    "files:\n"
			    "  - {path: /etc/a, content: new}\n"
			    "services:\n"
			    "  - {name: first, command: [four]}\n"
			    "  - {name: third, command: [five, \"a b\"]}\n"
			    "run: echo child\n";

START_TEST(recipe_extends) {
	struct recipe_chain chain;
	struct cua_err err;
	put("/parent.yaml", parent);
	put("/child.yaml", child);
	ck_assert_int_eq(load("child", &chain, &err), 0);
	ck_assert_uint_eq(chain.count, 2);
	ck_assert_str_eq(chain.item[0]->name, "parent");
	ck_assert_str_eq(recipe_chain_top(&chain)->name, "child");
	ck_assert_int_eq(stage_write(dir, &chain, &err), 0);
	ck_assert_str_eq(get("/stage/etc/cuad/services"),
		"first\tagent\t-\tfour\n"
		"second\tagent\tscreen,wait=/run/x\tthree\n"
		"third\tagent\t-\tfive\ta b\n");
	ck_assert_str_eq(get("/stage/etc/a"), "new");
	ck_assert_str_eq(get("/stage/etc/b"), "kept");
	ck_assert_str_eq(get("/stage/etc/cuad/template"), "child\n");
	ck_assert_str_eq(get("/script"), "(\necho parent\n)\n(\necho child\n)\n");
	recipe_chain_done(&chain);
}
END_TEST

START_TEST(recipe_refuses) {
	struct recipe_chain chain = {.count = 0};
	struct cua_err err;
	refused("name: bad\ndescription: x\nfoo: 1\n", "foo");
	refused("name: bad\n", "description");
	refused("name: other\ndescription: x\n", "other");
	refused("name: bad\ndescription: x\nextends: bad\n", "circle");
	refused("name: bad\ndescription: x\npackages: [--help]\n", "--help");
	refused("name: bad\ndescription: x\npackages: [\"a,b\"]\n", "a,b");
	refused("name: bad\ndescription: x\nfiles: [{path: /../x, content: y}]\n", "/../x");
	refused("name: bad\ndescription: x\nfiles: [{path: etc/x, content: y}]\n", "etc/x");
	refused("name: bad\ndescription: x\nfiles: [{path: /x, mode: \"999\", content: y}]\n",
		"999");
	refused("name: bad\ndescription: x\nservices: [{name: s, command: [\"a\\tb\"]}]\n",
		"command");
	refused("name: bad\ndescription: x\nservices: [{name: s, user: \"a b\", command: [x]}]\n",
		"a b");
	refused("name: bad\ndescription: x\nservices: [{name: s, wait: \"/a,b\", command: [x]}]\n",
		"/a,b");
	refused("name: [bad\n", "bad.yaml");
	refused("", "bad.yaml");
	ck_assert_int_eq(load("none", &chain, &err), -CUA_NOT_FOUND);
	ck_assert_int_eq(load("../bad", &chain, &err), -CUA_INVALID);
}
END_TEST

START_TEST(keyrings) {
	char path[300];
	char keyring[128];
	(void)snprintf(path, sizeof path, "%s/x.sources", dir);
	put("/x.sources",
		"# comment\n\nTypes: deb\nURIs: http://a\nSigned-By: /usr/share/a.gpg\n\n\n"
		"Types: deb\nURIs: http://b\n# Signed-By: /no\nSigned-By: /usr/share/b.gpg\n");
	source_keyring(path, 1, keyring, sizeof keyring);
	ck_assert_str_eq(keyring, "/usr/share/a.gpg");
	source_keyring(path, 2, keyring, sizeof keyring);
	ck_assert_str_eq(keyring, "/usr/share/b.gpg");
	(void)snprintf(path, sizeof path, "%s/x.list", dir);
	put("/x.list", "# one\ndeb [arch=amd64 signed-by=/k/c.gpg] http://c x main\ndeb http://d x "
		       "main\n");
	source_keyring(path, 2, keyring, sizeof keyring);
	ck_assert_str_eq(keyring, "/k/c.gpg");
	source_keyring(path, 3, keyring, sizeof keyring);
	ck_assert_str_eq(keyring, "");
	source_keyring("/nonexistent", 1, keyring, sizeof keyring);
	ck_assert_str_eq(keyring, "");
}
END_TEST

START_TEST(host_sources) {
	static struct source_list list;
	struct cua_err err;
	ck_assert_msg(source_read(&list, &err) == 0, "%s", err.message);
	ck_assert_uint_gt(list.count, 0);
	for (size_t i = 0; i < list.count; i++) {
		ck_assert_ptr_nonnull(strstr(list.line[i], list.codename));
		ck_assert_int_eq(strncmp(list.line[i], "deb ", 4), 0);
	}
	ck_assert(source_option_private("Acquire::http::Proxy \"http://me:secret@proxy\";"));
	ck_assert(!source_option_private("Acquire::Check-Date \"false\";"));
}
END_TEST

START_TEST(progress_reads) {
	struct progress progress;
	FILE *out = fopen("/dev/null", "we");
	progress_init(&progress, "x", out, NULL);
	progress_on_line(&progress, "I: downloading packages with apt...");
	progress_on_line(
		&progress, "0 upgraded, 3 newly installed, 0 to remove and 0 not upgraded.");
	progress_on_line(&progress, "Get:1 http://a bookworm/main amd64 b amd64 1 [5 kB]");
	ck_assert_uint_eq(progress.done, 1);
	progress_on_line(&progress, "I: extracting archives...");
	ck_assert_uint_eq(progress.total, 3);
	progress_on_line(&progress, "Unpacking a (1) ...");
	progress_on_line(&progress, "Setting up a (1) ...");
	progress_on_line(&progress, "Unpacking b (1) ...");
	ck_assert_uint_eq(progress.done, 2);
	ck_assert_str_eq(progress.phase, "unpacking");
	progress_on_line(&progress, "E: Unable to locate package foo");
	progress_on_line(&progress, "E: apt-get failed");
	ck_assert_str_eq(progress.trouble, "E: Unable to locate package foo");
	ck_assert_ptr_nonnull(strstr(progress_remedy(&progress), "recipe"));
	progress_init(&progress, "x", out, NULL);
	progress_on_line(&progress, "Err:1 http://a bookworm InRelease");
	progress_on_line(&progress, "E: Failed to fetch http://a  Temporary failure resolving 'a'");
	ck_assert_ptr_nonnull(strstr(progress.trouble, "Temporary failure"));
	ck_assert_ptr_nonnull(strstr(progress_remedy(&progress), "name server"));
	(void)fclose(out);
}
END_TEST

static void on_line(void *ctx, const char *line) {
	(void)ctx;
	size_t len = strlen(text);
	(void)snprintf(text + len, sizeof text - len, "%s|", line);
}

START_TEST(proc_lines) {
	struct cua_err err;
	const char *const argv[] = {
		"sh", "-c", "printf 'a\\r\\nb\\n\\nc'; echo \"$X\" >&2; exit 7", NULL};
	const char *const env[] = {"X=y", NULL};
	const char *const missing[] = {"/nonexistent", NULL};
	const char *const killed[] = {"sh", "-c", "kill -9 $$", NULL};
	struct proc proc = {.argv = argv, .env = env, .on_line = on_line, .errors_too = true};
	text[0] = '\0';
	ck_assert_int_eq(proc_run(&proc, &err), 7);
	ck_assert_str_eq(text, "a|b|cy|");
	proc.argv = missing;
	ck_assert_int_eq(proc_run(&proc, &err), 127);
	proc.argv = killed;
	ck_assert_int_eq(proc_run(&proc, &err), 128 + 9);
}
END_TEST

static void build_something(struct store *store, const char *content) {
	struct cua_err err;
	ck_assert_int_eq(store_open(store, dir, "t", &err), 0);
	ck_assert_int_eq(tree_make(store->building, 0755, &err), 0);
	ck_assert_int_eq(tree_write(store->building, "/rootfs/x", content, 0644, &err), 0);
}

START_TEST(store_replaces) {
	struct store store;
	struct cua_err err;
	build_something(&store, "one");
	ck_assert(!exists("/templates/t"));
	ck_assert_int_eq(store_commit(&store, &err), 0);
	store_close(&store);
	ck_assert_str_eq(get("/templates/t/rootfs/x"), "one");
	build_something(&store, "two");
	ck_assert_str_eq(get("/templates/t/rootfs/x"), "one");
	ck_assert_int_eq(store_commit(&store, &err), 0);
	store_close(&store);
	ck_assert_str_eq(get("/templates/t/rootfs/x"), "two");
	build_something(&store, "three");
	store_close(&store);
	ck_assert_str_eq(get("/templates/t/rootfs/x"), "two");
}
END_TEST

START_TEST(store_sweeps) {
	struct store store;
	struct cua_err err;
	put("/templates/.building-t-1/rootfs/x", "half");
	put("/templates/.old-t-1/rootfs/x", "replaced");
	put("/templates/u/rootfs/x", "other");
	ck_assert_int_eq(store_open(&store, dir, "t", &err), 0);
	ck_assert(!exists("/templates/.building-t-1"));
	ck_assert(!exists("/templates/.old-t-1"));
	ck_assert(exists("/templates/u/rootfs/x"));
	store_close(&store);
}
END_TEST

START_TEST(store_excludes) {
	struct store store;
	build_something(&store, "one");
	char path[300];
	(void)snprintf(path, sizeof path, "%s/templates/.lock", dir);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), -1);
	store_close(&store);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	(void)close(fd);
}
END_TEST

START_TEST(cache_keeps) {
	struct cua_err err;
	char from[300];
	char to[300];
	put("/from/a_1.deb", "a");
	put("/from/lock", "");
	put("/to/b_1.deb", "b");
	(void)snprintf(from, sizeof from, "%s/from", dir);
	(void)snprintf(to, sizeof to, "%s/to", dir);
	ck_assert_int_eq(cache_link(from, to, &err), 0);
	ck_assert(exists("/to/a_1.deb") && !exists("/to/lock"));
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	(void)snprintf(to, sizeof to, "%s/to/b_1.deb", dir);
	ck_assert_int_eq(utimensat(AT_FDCWD, to, old, 0), 0);
	(void)snprintf(to, sizeof to, "%s/to", dir);
	cache_prune(to, from);
	ck_assert(exists("/to/a_1.deb") && !exists("/to/b_1.deb"));
	cache_empty(from);
	ck_assert(!exists("/from/a_1.deb") && exists("/from/lock") && exists("/to/a_1.deb"));
}
END_TEST

START_TEST(tree_stays_inside) {
	struct cua_err err;
	char path[300];
	char link[300];
	uint64_t bytes;
	put("/outside/x", "precious");
	put("/tree/x", "y");
	(void)snprintf(path, sizeof path, "%s/outside", dir);
	(void)snprintf(link, sizeof link, "%s/tree/link", dir);
	ck_assert_int_eq(symlink(path, link), 0);
	(void)snprintf(path, sizeof path, "%s/tree", dir);
	ck_assert_int_eq(tree_size(path, &bytes, &err), 0);
	ck_assert_uint_gt(bytes, 0);
	ck_assert_int_eq(tree_remove(path, &err), 0);
	ck_assert_int_eq(tree_remove(path, &err), 0);
	ck_assert(!exists("/tree"));
	ck_assert_str_eq(get("/outside/x"), "precious");
}
END_TEST

START_TEST(shipped_recipes) {
	const char *source = getenv("CUAD_SOURCE");
	char recipes[512];
	(void)snprintf(recipes, sizeof recipes, "%s/desktop/templates", source ? source : ".");
	const char *const dirs[] = {recipes, NULL};
	static const char *const names[] = {"base", "desktop"};
	const struct recipe_service *services[RECIPE_SERVICES_MAX];
	struct cua_err err;
	for (size_t i = 0; i < CUA_COUNT(names); i++) {
		struct recipe_chain chain;
		ck_assert_msg(
			recipe_chain_load(dirs, names[i], &chain, &err) == 0, "%s", err.message);
		ck_assert_int_gt(recipe_chain_services(&chain, services, &err), 0);
		ck_assert_str_eq(services[0]->name, "xvfb");
		recipe_chain_done(&chain);
	}
}
END_TEST

START_TEST(packages_known) {
	struct recipe_chain chain;
	struct cua_err err;
	put("/x.yaml", "name: x\ndescription: x\npackages: [bash, coreutils]\n");
	ck_assert_int_eq(load("x", &chain, &err), 0);
	ck_assert_int_eq(known_packages(&chain, &err), 0);
	recipe_chain_done(&chain);
	put("/y.yaml", "name: y\ndescription: x\npackages: [bash, no-such-package]\n");
	ck_assert_int_eq(load("y", &chain, &err), 0);
	ck_assert_int_eq(known_packages(&chain, &err), -CUA_INVALID);
	ck_assert_ptr_nonnull(strstr(err.message, "no-such-package"));
	recipe_chain_done(&chain);
}
END_TEST

START_TEST(manifest_tells) {
	struct manifest_origin origin = {.arch = "amd64", .codename = "bookworm"};
	struct recipe_chain chain;
	struct cua_err err;
	put("/parent.yaml", parent);
	put("/rootfs/var/lib/dpkg/status",
		"Package: one\nStatus: install ok installed\nVersion: 1.2\nArchitecture: all\n"
		"Maintainer: x <x@localhost>\nDescription: x\n");
	ck_assert_int_eq(load("parent", &chain, &err), 0);
	ck_assert_int_eq(manifest_hash(&chain, &origin, &err), 0);
	ck_assert(!manifest_matches(dir, &origin));
	ck_assert_msg(manifest_write(dir, recipe_chain_top(&chain), &origin, 3, &err) == 0, "%s",
		err.message);
	ck_assert(manifest_matches(dir, &origin));
	ck_assert_ptr_nonnull(strstr(get("/manifest.json"), "\"one\": \"1.2\""));
	origin.recipe[0].sha256[0] = origin.recipe[0].sha256[0] == 'a' ? 'b' : 'a';
	ck_assert(!manifest_matches(dir, &origin));
	recipe_chain_done(&chain);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {recipe_extends, recipe_refuses, keyrings, host_sources,
		progress_reads, proc_lines, store_replaces, store_sweeps, store_excludes,
		cache_keeps, tree_stays_inside, shipped_recipes, packages_known, manifest_tells};
	const struct suite_case cases[] = {
		{.name = "build",
			.setup = setup,
			.teardown = teardown,
			.tests = tests,
			.count = CUA_COUNT(tests)},
	};
	return suite_run_cases("build", cases, CUA_COUNT(cases));
}
