/* Puts a session's root together and takes it apart, in the right order. How the disk is made and
 * attached is in image.c, the layers in layer.c, the files inside in seed.c. */
#include "server/supervisor/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "server/supervisor/image.h"
#include "server/supervisor/layer.h"
#include "server/supervisor/seed.h"
#include "server/supervisor/tree.h"

/* Separators of overlay's options, of liblxc's mount entries and of our own files. */
#define UNSAFE ",:\\\"' \t\r\n"

static int check_path(const char *what, const char *path, struct cua_err *err) {
	if (path[0] != '/' || path[strcspn(path, UNSAFE)] != '\0') {
		return cua_err_about(err, CUA_INVALID, what,
			"the %s directory must be absolute and without blanks, commas, colons, "
			"quotes "
			"and backslashes: '%s'",
			what, path);
	}
	return 0;
}

static int bind_on_itself(const char *path) {
	if (tree_is_mount(path)) {
		return 0;
	}
	if (mount(path, path, NULL, MS_BIND, NULL) < 0) {
		return -errno;
	}
	/* First out of the group that it inherited, then into one of its own. */
	if (mount(NULL, path, NULL, MS_PRIVATE, NULL) < 0 ||
		mount(NULL, path, NULL, MS_SHARED, NULL) < 0) {
		int r = -errno;
		(void)umount2(path, MNT_DETACH);
		return r;
	}
	return 0;
}

static int prepare_run(const char *path, struct cua_err *err) {
	/* Several op children may come here at once; the lock is on the directory below the mount. */
	char parent[PLAN_PATH + 8];
	(void)snprintf(parent, sizeof(parent), "%s/..", path);
	_cleanup_fd_ int lock = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_EX) < 0) {
		return cua_err_errno(err, errno, "cannot lock %s", parent);
	}
	int r = bind_on_itself(path);
	return r < 0 ? cua_err_errno(err, r, "cannot make %s a mount", path) : 0;
}

int mount_prepare(const struct plan_host *host, struct cua_err *err) {
	char run[PLAN_PATH];
	char state[PLAN_PATH];
	(void)snprintf(run, sizeof(run), "%s/sessions", host->run_dir);
	(void)snprintf(state, sizeof(state), "%s/sessions", host->state_dir);
	if (tree_is_mount(run)) {
		return 0;
	}
	int r = check_path("run", host->run_dir, err);
	r = r < 0 ? r : check_path("state", host->state_dir, err);
	r = r < 0 ? r : check_path("libexec", host->libexec_dir, err);
	r = r < 0 ? r : tree_make_all(host->run_dir, err);
	r = r < 0 ? r : tree_make_all(host->state_dir, err);
	r = r < 0 ? r : tree_make(run, 0711, 0, 0, err);
	r = r < 0 ? r : tree_make(state, 0700, 0, 0, err);
	return r < 0 ? r : prepare_run(run, err);
}

/* The container may write as much as it likes to the directory of its X socket: not to the host's
 * memory or disk. */
static int mount_x11(const struct plan *plan, struct cua_err *err) {
	char options[96];
	(void)snprintf(options, sizeof(options), "size=64k,nr_inodes=64,mode=1777,uid=%u,gid=%u",
		plan->id_first, plan->id_first);
	if (mount("x11", plan->x11, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0) {
		return cua_err_errno(err, errno, "cannot mount the X socket's directory");
	}
	return 0;
}

static int make_dirs(const struct plan *plan, struct cua_err *err) {
	char mount_point[PLAN_PATH + 8];
	(void)snprintf(mount_point, sizeof(mount_point), "%s/root", plan->lxcpath);
	int r = tree_make(plan->state, 0700, 0, 0, err);
	r = r < 0 ? r : tree_make(plan->run, 0110, plan->id_first, plan->worker_uid, err);
	r = r < 0 ? r : tree_make(plan->disk, 0700, 0, 0, err);
	r = r < 0 ? r : tree_make(plan->rootfs, 0755, 0, 0, err);
	r = r < 0 ? r : tree_make(plan->x11, 0755, 0, 0, err);
	r = r < 0 ? r : tree_make(plan->link, 0755, 0, 0, err);
	r = r < 0 ? r : tree_make(plan->lxcpath, 0711, 0, 0, err);
	/* Where liblxc mounts the root inside; its own default belongs to a package of tools. */
	return r < 0 ? r : tree_make(mount_point, 0755, 0, 0, err);
}

static int assemble(const struct plan_host *host, const struct plan *plan,
	const struct layer_list *layers, struct cua_err *err) {
	int r = image_mount(plan, err);
	r = r < 0 ? r : mount_x11(plan, err);
	r = r < 0 ? r : layer_mount(host, plan, layers, err);
	r = r < 0 ? r : layer_stack(plan, layers->count, err);
	return r < 0 || plan->record.complete ? r : seed_root(plan, err);
}

int mount_up(const struct plan_host *host, const struct plan *plan, struct cua_err *err) {
	struct layer_list layers;
	int r = mount_prepare(host, err);
	if (r < 0 || tree_is_mount(plan->rootfs)) {
		return r;
	}
	r = layer_read(host, plan, &layers, err);
	/* What a call left that was killed half-way. */
	r = r < 0 ? r : mount_down(host, plan, err);
	if (r < 0) {
		return r;
	}
	bool had_state = access(plan->state, F_OK) == 0;
	bool made = false;
	r = make_dirs(plan, err);
	r = r < 0 ? r : image_make(plan, &made, err);
	r = r < 0 ? r : assemble(host, plan, &layers, err);
	if (r < 0) {
		if (mount_down(host, plan, NULL) < 0) {
			return cua_err_prefix(err, "something of the session's disk is left");
		}
		if (made && image_remove(plan, NULL) < 0) {
			return cua_err_prefix(err, "something of the session's disk is left");
		}
		if (!had_state) {
			(void)rmdir(plan->state);
		}
	}
	return r;
}

int mount_down(const struct plan_host *host, const struct plan *plan, struct cua_err *err) {
	(void)host;
	int r = layer_unmount(plan, err);
	r = r < 0 ? r : tree_unmount(plan->x11, err);
	r = r < 0 ? r : image_unmount(plan, err);
	return r < 0 ? r : tree_remove(plan->run, err);
}

int mount_erase(const struct plan_host *host, const struct plan *plan, struct cua_err *err) {
	(void)host;
	if (tree_is_mount(plan->disk)) {
		return cua_err_set(err, CUA_CONFLICT, "the session's disk is still mounted");
	}
	int r = image_remove(plan, err);
	return r < 0 ? r : tree_remove(plan->state, err);
}

int mount_usage(const struct plan *plan, uint64_t *ret_used, struct cua_err *err) {
	struct statfs fs;
	if (!tree_is_mount(plan->disk) || statfs(plan->disk, &fs) < 0) {
		return cua_err_set(err, CUA_NOT_FOUND, "the session's disk is not mounted");
	}
	*ret_used = (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	return 0;
}
