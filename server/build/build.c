/* From a recipe to a template: mmdebstrap does the installing, this file tells it what and where.
 *
 * mmdebstrap runs in its own process and mount namespace, so that it, its children and its mounts
 * vanish with us however we end. */
#include "server/build/build.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "server/build/cache.h"
#include "server/build/known.h"
#include "server/build/manifest.h"
#include "server/build/proc.h"
#include "server/build/progress.h"
#include "server/build/source.h"
#include "server/build/stage.h"
#include "server/build/store.h"
#include "server/build/tree.h"

#define ARGS_MAX 160

/* Everything of one build that several steps need. */
struct job {
	const struct build *build;
	struct store store;
	struct recipe_chain chain;
	struct source_list source;
	struct manifest_origin origin;
	struct progress progress;
	char root[600];
	char cache[400]; /* STATE/cache/CODENAME-ARCH */
	char log[400];
	const char *arg[ARGS_MAX];
	size_t arg_count;
	char text[SOURCE_MAX][600]; /* arguments that had to be made */
	size_t text_count;
};

static const char *const apart_args[] = {
	"unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"};

static const char *const fixed_args[] = {
	"mmdebstrap",
	"--verbose",
	"--mode=root",
	"--variant=minbase",
	"--format=directory",
	/* The directory holds the cached packages, which are to be kept. */
	"--skip=check/empty,essential/unlink,cleanup/apt/cache",
	"--dpkgopt=force-unsafe-io",
	"--dpkgopt=path-exclude=/usr/share/man/*",
	"--dpkgopt=path-exclude=/usr/share/doc/*",
	"--dpkgopt=path-include=/usr/share/doc/*/copyright",
	"--dpkgopt=path-exclude=/usr/share/locale/*",
	"--dpkgopt=path-include=/usr/share/locale/locale.alias",
	"--dpkgopt=path-exclude=/usr/share/info/*",
	("--customize-hook=tar -C \"$CUAD_DIR/stage\" -c . | "
	 "tar -C \"$1\" --keep-directory-symlink --no-overwrite-dir -xp"),
	("--customize-hook=chroot \"$1\" /bin/sh -eux <\"$CUAD_DIR/script\" || "
	 "{ echo 'cuad-run: a run script of the recipe failed' >&2; exit 1; }"),
};

static int job_arg(struct job *job, const char *arg, struct cua_err *err) {
	if (job->arg_count + 1 >= ARGS_MAX) {
		return cua_err_set(err, CUA_TOO_LARGE, "too many sources, options and recipes");
	}
	job->arg[job->arg_count++] = arg;
	return 0;
}

/* Packages of all recipes as one --include; the caller frees it after the run. */
static char *include_arg(const struct recipe_chain *chain) {
	char *text = NULL;
	size_t len;
	const char *separator = "";
	FILE *out = open_memstream(&text, &len);
	if (!out) {
		return NULL;
	}
	fprintf(out, "--include=");
	for (size_t i = 0; i < chain->count; i++) {
		for (unsigned k = 0; k < chain->item[i]->packages_count; k++) {
			fprintf(out, "%s%s", separator, chain->item[i]->packages[k]);
			separator = ",";
		}
	}
	return fclose(out) == 0 ? text : NULL;
}

/* In a plain chroot the root is no mount, and nobody can keep mounts from spreading from there. */
static bool root_is_mount(void) {
	struct statx st;
	return statx(AT_FDCWD, "/", 0, 0, &st) < 0 ||
	       !(st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) ||
	       (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static int job_args(struct job *job, const char *include, struct cua_err *err) {
	int r = 0;
	for (size_t i = 0; i < CUA_COUNT(apart_args) && r == 0 && root_is_mount(); i++) {
		r = job_arg(job, apart_args[i], err);
	}
	for (size_t i = 0; i < CUA_COUNT(fixed_args) && r == 0; i++) {
		r = job_arg(job, fixed_args[i], err);
	}
	for (size_t i = 0; i < job->source.option_count && r == 0; i++) {
		char *text = job->text[job->text_count++];
		(void)snprintf(text, sizeof job->text[0], "--aptopt=%s", job->source.option[i]);
		r = job_arg(job, text, err);
	}
	r = r < 0 ? r : job_arg(job, include, err);
	r = r < 0 ? r : job_arg(job, job->source.codename, err);
	r = r < 0 ? r : job_arg(job, job->root, err);
	for (size_t i = 0; i < job->source.count && r == 0; i++) {
		r = job_arg(job, job->source.line[i], err);
	}
	return r;
}

static int job_failed(const struct job *job, int status, struct cua_err *err) {
	if (status == 127) {
		return cua_err_set(err, CUA_INTERNAL,
			"building %s needs mmdebstrap and unshare; run `apt-get install mmdebstrap "
			"util-linux`",
			job->build->name);
	}
	return cua_err_set(err, CUA_INTERNAL, "building %s failed: %.200s; %s (log: %s)",
		job->build->name,
		job->progress.trouble[0] ? job->progress.trouble : "mmdebstrap gave no reason",
		progress_remedy(&job->progress), job->log);
}

static int job_install(struct job *job, struct cua_err *err) {
	char dir[600];
	_cleanup_free_ char *include = include_arg(&job->chain);
	if (!include) {
		return cua_err_errno(err, errno, "cannot list the packages");
	}
	int r = job_args(job, include, err);
	if (r < 0) {
		return r;
	}
	(void)snprintf(dir, sizeof dir, "CUAD_DIR=%s", job->store.building);
	const char *const env[] = {"LC_ALL=C.UTF-8", dir, NULL};
	const struct proc proc = {.argv = job->arg,
		.env = env,
		.on_line = progress_on_line,
		.ctx = &job->progress,
		.errors_too = true};
	r = proc_run(&proc, err);
	return r > 0 ? job_failed(job, r, err) : r;
}

/* Packages in before and out after, also when the build failed half way: nothing is fetched twice. */
static int job_install_cached(struct job *job, struct cua_err *err) {
	char archives[700];
	(void)snprintf(archives, sizeof archives, "%s/var/cache/apt/archives", job->root);
	int r = cache_link(job->cache, archives, err);
	if (r < 0) {
		return r;
	}
	r = job_install(job, err);
	int kept = cache_link(archives, job->cache, r < 0 ? NULL : err);
	if (r < 0 || kept < 0) {
		return r < 0 ? r : kept;
	}
	cache_prune(job->cache, archives);
	cache_empty(archives);
	return 0;
}

/* Options of the host's apt that may stay: dates, but neither proxies nor files of the host. */
static int write_apt_options(const struct job *job, struct cua_err *err) {
	char text[2048] = "";
	size_t len = 0;
	for (size_t i = 0; i < job->source.option_count; i++) {
		if (!source_option_private(job->source.option[i]) && len < sizeof text - 512) {
			len += (size_t)snprintf(
				text + len, sizeof text - len, "%s\n", job->source.option[i]);
		}
	}
	return tree_write(job->root, "/etc/apt/apt.conf.d/99mmdebstrap", text, 0644, err);
}

/* What mmdebstrap copied from this host, or what differs from build to build without use. */
static int job_clean(const struct job *job, struct cua_err *err) {
	static const char *const needless[] = {"/var/cache/apt/pkgcache.bin",
		"/var/cache/apt/srcpkgcache.bin", "/var/log/bootstrap.log", "/var/log/dpkg.log",
		"/var/log/alternatives.log", "/var/log/fontconfig.log", "/var/log/apt",
		"/var/cache/debconf/config.dat-old", "/var/cache/debconf/templates.dat-old",
		"/var/lib/dpkg/status-old", "/etc/machine-id", "/var/lib/dbus/machine-id"};
	char path[1024];
	int r = 0;
	for (size_t i = 0; i < CUA_COUNT(needless) && r == 0; i++) {
		(void)snprintf(path, sizeof path, "%s%s", job->root, needless[i]);
		r = tree_remove(path, err);
	}
	(void)snprintf(path, sizeof path, "%s/var/log/apt", job->root);
	r = r < 0 ? r : tree_make(path, 0755, err);
	r = r < 0 ? r : tree_write(job->root, "/etc/machine-id", "", 0644, err);
	r = r < 0 ? r : tree_write(job->root, "/etc/resolv.conf", "", 0644, err);
	r = r < 0 ? r : tree_write(job->root, "/etc/hostname", "cuad\n", 0644, err);
	return r < 0 ? r : write_apt_options(job, err);
}

/* Turns the installed system into a template: the two files beside it, and nothing else. */
static int job_finish(struct job *job, struct cua_err *err) {
	char path[700];
	char layers[64];
	(void)snprintf(path, sizeof path, "%s/stage", job->store.building);
	int r = tree_remove(path, err);
	(void)snprintf(path, sizeof path, "%s/script", job->store.building);
	r = r < 0 ? r : tree_remove(path, err);
	(void)snprintf(layers, sizeof layers, "%s\n", job->build->name);
	r = r < 0 ? r : tree_write(job->store.building, "/layers", layers, 0644, err);
	return r < 0 ? r
		     : manifest_write(job->store.building, recipe_chain_top(&job->chain),
			       &job->origin, progress_seconds(&job->progress), err);
}

static int job_work(struct job *job, struct cua_err *err) {
	(void)snprintf(job->root, sizeof job->root, "%s/rootfs", job->store.building);
	progress_phase(&job->progress, "preparing");
	int r = tree_make(job->root, 0755, err);
	r = r < 0 ? r : stage_write(job->store.building, &job->chain, err);
	r = r < 0 ? r : job_install_cached(job, err);
	if (r < 0) {
		return r;
	}
	progress_phase(&job->progress, "finishing");
	r = job_clean(job, err);
	r = r < 0 ? r : job_finish(job, err);
	r = r < 0 ? r : store_commit(&job->store, err);
	if (r == 0) {
		progress_phase(&job->progress, "ready");
	}
	return r;
}

static int job_log_open(struct job *job, FILE **ret, struct cua_err *err) {
	int r = tree_make(job->cache, 0755, err);
	if (r < 0) {
		return r;
	}
	(void)snprintf(
		job->log, sizeof job->log, "%s/cache/%s.log", job->build->state, job->build->name);
	*ret = fopen(job->log, "we");
	return *ret ? 0 : cua_err_errno(err, errno, "cannot write %s", job->log);
}

static int job_locked(struct job *job, struct cua_err *err) {
	FILE *log = NULL;
	if (!job->build->force && manifest_matches(job->store.final, &job->origin)) {
		printf("%s: up to date, its recipe is unchanged\n", job->build->name);
		return 0;
	}
	(void)snprintf(job->cache, sizeof job->cache, "%.200s/cache/%s-%s", job->build->state,
		job->source.codename, job->source.arch);
	int r = known_packages(&job->chain, err);
	r = r < 0 ? r : job_log_open(job, &log, err);
	if (r < 0) {
		return r;
	}
	progress_init(&job->progress, job->build->name, stdout, log);
	r = job_work(job, err);
	(void)fclose(log);
	return r;
}

static int job_prepare(struct job *job, struct cua_err *err) {
	int r = recipe_chain_load(job->build->recipes, job->build->name, &job->chain, err);
	r = r < 0 ? r : source_read(&job->source, err);
	if (r < 0) {
		return r;
	}
	(void)snprintf(job->origin.arch, sizeof job->origin.arch, "%s", job->source.arch);
	(void)snprintf(
		job->origin.codename, sizeof job->origin.codename, "%s", job->source.codename);
	return manifest_hash(&job->chain, &job->origin, err);
}

static void job_free(struct job *job) {
	recipe_chain_done(&job->chain);
	free(job);
}

CUA_DEFINE_CLEANUP(struct job *, job_free)

int build_run(const struct build *build, struct cua_err *err) {
	_cleanup_(job_free_p) struct job *job = calloc(1, sizeof *job);
	if (!job) {
		return cua_err_set(err, CUA_EXHAUSTED, "out of memory");
	}
	job->build = build;
	int r = job_prepare(job, err);
	if (r < 0) {
		return r;
	}
	(void)umask(022);
	r = store_open(&job->store, build->state, build->name, err);
	r = r < 0 ? r : job_locked(job, err);
	store_close(&job->store);
	return r;
}
