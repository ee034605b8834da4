/* Templates as idmapped mounts and the overlay over them: one template on disk serves every id range.
 * The upper directory is not idmapped, that would make the overlay read-only. */
#include "server/supervisor/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/ident.h"
#include "server/supervisor/tree.h"

/* <sys/mount.h> of some glibc versions and <linux/mount.h> exclude one another. */
int mount(const char *source, const char *target, const char *type, unsigned long flags,
	const void *data);

#define LIST_SIZE ((size_t)PLAN_LAYERS_MAX * (CUA_NAME_SIZE + 1))
#define OPTIONS_SIZE 4000 /* the kernel takes one page of them */

static int missing(const struct plan *plan, const char *what, struct cua_err *err) {
	return cua_err_about(err, CUA_NOT_FOUND, "template", "template '%s' has no %s",
		plan->record.template, what);
}

static int root_path(const struct plan_host *host, const char *name, char ret[PLAN_PATH]) {
	int n = snprintf(ret, PLAN_PATH, "%s/templates/%s/rootfs", host->state_dir, name);
	return n > 0 && n < PLAN_PATH ? 0 : -ENAMETOOLONG;
}

static int open_root(const struct plan_host *host, const char *name) {
	char path[PLAN_PATH];
	int r = root_path(host, name, path);
	if (r < 0) {
		return r;
	}
	int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int add_layer(const struct plan_host *host, const struct plan *plan, const char *name,
	struct layer_list *list, struct cua_err *err) {
	if (!cua_name_ok(name) || list->count == PLAN_LAYERS_MAX) {
		return missing(plan, "proper list of layers", err);
	}
	_cleanup_fd_ int fd = open_root(host, name);
	if (fd < 0) {
		return missing(plan, "root file system", err);
	}
	(void)snprintf(list->name[list->count++], CUA_NAME_SIZE, "%s", name);
	return 0;
}

int layer_read(const struct plan_host *host, const struct plan *plan, struct layer_list *ret,
	struct cua_err *err) {
	char path[PLAN_PATH];
	char text[LIST_SIZE + 1] = "";
	(void)snprintf(path, sizeof(path), "%s/templates/%s/layers", host->state_dir,
		plan->record.template);
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		return cua_err_about(err, CUA_NOT_FOUND, "template", "there is no template '%s'",
			plan->record.template);
	}
	if (fd < 0 || fd_read_all(fd, text, LIST_SIZE) < 0) {
		return cua_err_errno(err, errno, "cannot read %s", path);
	}
	struct layer_list list = {.count = 0};
	char *rest = NULL;
	for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
		int r = add_layer(host, plan, l, &list, err);
		if (r < 0) {
			return r;
		}
	}
	if (list.count == 0) {
		return missing(plan, "layers", err);
	}
	*ret = list;
	return 0;
}

static int write_map(pid_t pid, const char *file, const char *text) {
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

static int map_namespace(pid_t pid, const struct plan *plan) {
	char text[64];
	char path[64];
	(void)snprintf(text, sizeof(text), "0 %u %u\n", plan->id_first, PLAN_IDS_PER_SESSION);
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	int r = write_map(pid, "uid_map", text);
	r = r < 0 ? r : write_map(pid, "gid_map", text);
	if (r < 0) {
		return r;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void hold_namespace(pid_t parent) {
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent) {
		(void)pause();
	}
	_exit(0);
}

/* A user namespace with the session's map. It lives as long as the descriptor; the process that
 * made it does nothing and is gone when this returns. */
static int make_namespace(const struct plan *plan, struct cua_err *err) {
	pid_t parent = getpid();
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0) {
		return cua_err_errno(err, errno, "cannot make a user namespace");
	}
	if (pid == 0) {
		hold_namespace(parent);
	}
	int fd = map_namespace(pid, plan);
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
	}
	return fd < 0 ? cua_err_errno(err, fd, "cannot map the session's ids") : fd;
}

static int mount_one(int root, int namespace, const char *target) {
	_cleanup_fd_ int tree = (int)syscall(
		SYS_open_tree, root, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0) {
		return -errno;
	}
	struct mount_attr attr = {
		.attr_set =
			MOUNT_ATTR_IDMAP | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID,
		.userns_fd = (uint64_t) namespace,
	};
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0) {
		return -errno;
	}
	if (syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0) {
		return -errno;
	}
	return 0;
}

static void layer_path(const struct plan *plan, size_t i, char ret[PLAN_PATH + 32]) {
	(void)snprintf(ret, PLAN_PATH + 32, "%s/layer-%zu", plan->run, i);
}

int layer_mount(const struct plan_host *host, const struct plan *plan,
	const struct layer_list *layers, struct cua_err *err) {
	_cleanup_fd_ int namespace = make_namespace(plan, err);
	if (namespace < 0) {
		return take_fd(namespace);
	}
	for (size_t i = 0; i < layers->count; i++) {
		char target[PLAN_PATH + 32];
		layer_path(plan, i, target);
		int r = tree_make(target, 0700, 0, 0, err);
		if (r < 0) {
			return r;
		}
		_cleanup_fd_ int root = open_root(host, layers->name[i]);
		if (root < 0) {
			return missing(plan, "root file system", err);
		}
		r = mount_one(root, namespace, target);
		if (r < 0) {
			return cua_err_errno(err, r, "cannot mount layer '%s' with shifted ids",
				layers->name[i]);
		}
	}
	return 0;
}

static int stack_options(const struct plan *plan, size_t count, char ret[OPTIONS_SIZE]) {
	int used = snprintf(ret, OPTIONS_SIZE,
		"redirect_dir=on,metacopy=off,index=off,upperdir=%s/upper,workdir=%s/"
		"work,lowerdir=",
		plan->disk, plan->disk);
	for (size_t i = 0; i < count && used < OPTIONS_SIZE; i++) {
		used += snprintf(ret + used, OPTIONS_SIZE - (size_t)used, "%s%s/layer-%zu",
			i > 0 ? ":" : "", plan->run, i);
	}
	return used < OPTIONS_SIZE ? 0 : -ENAMETOOLONG;
}

int layer_stack(const struct plan *plan, size_t count, struct cua_err *err) {
	char path[PLAN_PATH + 32];
	char options[OPTIONS_SIZE];
	(void)snprintf(path, sizeof(path), "%s/upper", plan->disk);
	int r = tree_make(path, 0755, plan->id_first, plan->id_first, err);
	if (r < 0) {
		return r;
	}
	(void)snprintf(path, sizeof(path), "%s/work", plan->disk);
	r = tree_make(path, 0700, 0, 0, err);
	if (r < 0) {
		return r;
	}
	r = stack_options(plan, count, options);
	/* Not nosuid: the session has sudo. Who could misuse that is kept out by plan->run's mode. */
	if (r == 0 && mount("overlay", plan->rootfs, "overlay", MS_NODEV, options) < 0) {
		r = -errno;
	}
	return r < 0 ? cua_err_errno(err, r, "cannot mount the session's root") : 0;
}

int layer_unmount(const struct plan *plan, struct cua_err *err) {
	int r = tree_unmount(plan->rootfs, err);
	for (size_t i = 0; i < PLAN_LAYERS_MAX && r == 0; i++) {
		char path[PLAN_PATH + 32];
		layer_path(plan, i, path);
		r = tree_unmount(path, err);
	}
	return r;
}
