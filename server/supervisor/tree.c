/* Directories and mount points of a session on the host. Knows nothing about what is in them. */
#include "server/supervisor/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH_MAX 64
#define STACKED_MAX 64 /* mounts over one another at one path */

int tree_make(const char *path, mode_t mode, uid_t uid, gid_t gid, struct cua_err *err) {
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		return cua_err_errno(err, errno, "cannot make %s", path);
	}
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		return cua_err_set(err, CUA_CONFLICT, "%s is not a directory", path);
	}
	if (fchown(fd, uid, gid) < 0 || fchmod(fd, mode) < 0) {
		return cua_err_errno(err, errno, "cannot set the owner of %s", path);
	}
	return 0;
}

int tree_make_all(const char *path, struct cua_err *err) {
	char part[PATH_MAX];
	size_t len = strlen(path);
	if (len >= sizeof(part)) {
		return cua_err_set(err, CUA_INVALID, "a path of %zu bytes is too long", len);
	}
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0') {
			continue;
		}
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST) {
			return cua_err_errno(err, errno, "cannot make %s", part);
		}
	}
	return 0;
}

static int open_below(int dirfd, const char *name) {
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	return (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
}

static int remove_content(int fd, unsigned depth);

static int remove_entry(int dirfd, const char *name, unsigned depth) {
	if (unlinkat(dirfd, name, 0) == 0) {
		return 0;
	}
	if (errno != EISDIR && errno != EPERM) {
		return -errno;
	}
	/* remove_content() takes the descriptor over. */
	int fd = open_below(dirfd, name);
	if (fd < 0) {
		return -errno;
	}
	int r = remove_content(fd, depth + 1);
	if (r < 0) {
		return r;
	}
	return unlinkat(dirfd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int remove_content(int fd, unsigned depth) {
	DIR *dir = fdopendir(fd);
	if (!dir) {
		int r = -errno;
		(void)close(fd);
		return r;
	}
	int r = depth > DEPTH_MAX ? -ELOOP : 0;
	struct dirent *entry;
	while (r == 0 && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			r = remove_entry(dirfd(dir), entry->d_name, depth);
		}
	}
	(void)closedir(dir);
	return r;
}

int tree_remove(const char *path, struct cua_err *err) {
	if (tree_is_mount(path)) {
		return cua_err_set(err, CUA_CONFLICT, "%s is still mounted", path);
	}
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		return errno == ENOENT ? 0 : cua_err_errno(err, errno, "cannot remove %s", path);
	}
	int r = remove_content(fd, 0);
	if (r == 0 && rmdir(path) < 0 && errno != ENOENT) {
		r = -errno;
	}
	return r < 0 ? cua_err_errno(err, r, "cannot remove %s", path) : 0;
}

bool tree_is_mount(const char *path) {
	struct statx st;
	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &st) == 0 &&
	       (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

int tree_unmount(const char *path, struct cua_err *err) {
	for (unsigned i = 0; i < STACKED_MAX; i++) {
		if (umount2(path, UMOUNT_NOFOLLOW) == 0) {
			continue;
		}
		if (errno == EBUSY && umount2(path, UMOUNT_NOFOLLOW | MNT_DETACH) == 0) {
			continue;
		}
		/* EINVAL: not a mount point (any more). */
		if (errno == EINVAL || errno == ENOENT) {
			return 0;
		}
		return cua_err_errno(err, errno, "cannot unmount %s", path);
	}
	return cua_err_set(err, CUA_INTERNAL, "more than %d mounts at %s", STACKED_MAX, path);
}
