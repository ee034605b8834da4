/* Entering the sandbox; see the header. The order matters: mounts need root, the root file system is
 * gone before the rights are; threads begin when both are gone, for these belong to each thread alone;
 * the limits and the filter of system calls, which holds for all threads, come last. The newer mount
 * calls go by number, for older C libraries do not name them. */
#include "desktop/sandbox.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cua/limits.h"
#include "desktop/sandbox_calls.h"

#define CLONE_TREE (OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH)
#define BARE (MS_NOSUID | MS_NODEV | MS_NOEXEC)
/* As many descriptors as the backlog of pictures for a slow peer may hold, and some. */
#define FILES_MAX (CUA_CHAN_BACKLOG + 64)

static int step(long r, const char *what, struct cua_err *err) {
	return r < 0 ? cua_err_errno(err, errno, "sandbox: cannot %s", what) : 0;
}

/* A copy of the directory's mount that may be attached in another mount namespace. */
static int clone_dir(int dir, struct cua_err *err) {
	_cleanup_fd_ int tree = (int)syscall(SYS_open_tree, dir, "", CLONE_TREE);
	int r = step(tree, "take the X socket's directory", err);
	if (r < 0) {
		return r;
	}
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					      MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC};
	r = step(syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)),
		"make the X socket's directory read-only", err);
	return r < 0 ? r : take_fd(tree);
}

/* /tmp becomes the future root: an empty file system that only this process sees. */
static int make_root(struct cua_err *err) {
	int r = step(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "detach its mounts", err);
	if (r == 0) {
		r = step(mount("none", "/tmp", "tmpfs", BARE, "size=16k,mode=0755"),
			"mount its root", err);
	}
	if (r == 0) {
		r = step(chdir("/tmp"), "enter its root", err);
	}
	if (r == 0) {
		r = step(mkdir("tmp", 0755), "make /tmp", err);
	}
	return r < 0 ? r : step(mkdir("tmp/.X11-unix", 0755), "make the mount point", err);
}

static int enter_root(int tree, struct cua_err *err) {
	int r = step(syscall(SYS_move_mount, tree, "", AT_FDCWD, "tmp/.X11-unix",
			     MOVE_MOUNT_F_EMPTY_PATH),
		"mount the X socket's directory", err);
	if (r == 0) {
		r = step(syscall(SYS_pivot_root, ".", "."), "change its root", err);
	}
	if (r == 0) {
		r = step(umount2(".", MNT_DETACH), "leave the old root", err);
	}
	if (r == 0) {
		r = step(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | BARE, NULL),
			"make its root read-only", err);
	}
	return r < 0 ? r : step(chdir("/"), "enter its root", err);
}

static int leave_namespaces(int x11_dir, struct cua_err *err) {
	_cleanup_fd_ int tree = clone_dir(x11_dir, err);
	if (tree < 0) {
		return tree;
	}
	int r = step(unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS),
		"make namespaces", err);
	if (r == 0) {
		r = make_root(err);
	}
	return r < 0 ? r : enter_root(tree, err);
}

/* The bounding set first: emptying it is itself a right. */
static int drop_rights(uid_t uid, struct cua_err *err) {
	capng_clear(CAPNG_SELECT_BOUNDS);
	if (capng_apply(CAPNG_SELECT_BOUNDS) != 0) {
		return cua_err_set(err, CUA_INTERNAL, "sandbox: cannot drop the bounding set");
	}
	int r = step(setgroups(0, NULL), "leave its groups", err);
	if (r == 0) {
		r = step(setresgid(uid, uid, uid), "change its group", err);
	}
	if (r == 0) {
		r = step(setresuid(uid, uid, uid), "change its user", err);
	}
	if (r < 0) {
		return r;
	}
	capng_clear(CAPNG_SELECT_BOTH);
	if (capng_apply(CAPNG_SELECT_BOTH) != 0 ||
		capng_have_capabilities(CAPNG_SELECT_BOTH) != CAPNG_NONE) {
		return cua_err_set(err, CUA_INTERNAL, "sandbox: cannot drop its capabilities");
	}
	return 0;
}

static int set_limits(struct cua_err *err) {
	const struct {
		__rlimit_resource_t what;
		rlim_t most;
	} limits[] = {
		{RLIMIT_CORE, 0},
		{RLIMIT_NPROC, 0},
		{RLIMIT_NOFILE, FILES_MAX},
#ifndef CUAD_SANITIZE /* AddressSanitizer reserves terabytes */
		{RLIMIT_DATA, CUA_WORKER_MEMORY},
#endif
	};
	int r = 0;
	for (size_t i = 0; r == 0 && i < CUA_COUNT(limits); i++) {
		struct rlimit limit = {limits[i].most, limits[i].most};
		r = step(setrlimit(limits[i].what, &limit), "limit itself", err);
	}
	return r;
}

int sandbox_enter(const struct sandbox *sandbox, struct cua_err *err) {
	uid_t uid = sandbox->uid;
	if (uid == 0 || uid == (uid_t)-1) {
		return cua_err_set(err, CUA_INVALID, "sandbox: user %u is none", (unsigned)uid);
	}
	/* libcap-ng reads /proc when it is first used. */
	if (capng_get_caps_process() != 0) {
		return cua_err_set(err, CUA_INTERNAL, "sandbox: cannot read its capabilities");
	}
	int r = leave_namespaces(sandbox->x11_dir, err);
	if (r == 0) {
		r = drop_rights(uid, err);
	}
	if (r == 0 && sandbox->start_threads) {
		r = sandbox->start_threads(sandbox->ctx, err);
	}
	if (r == 0) {
		r = set_limits(err);
	}
	if (r == 0) {
		r = step(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "hide from its own user", err);
	}
	if (r == 0) {
		r = step(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "give up new rights", err);
	}
	return r < 0 ? r : sandbox_calls_filter(err);
}
