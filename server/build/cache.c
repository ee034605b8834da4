/* The package cache under STATE/cache.
 *
 * apt checks the size of what it finds and dpkg the content; only root can write here. A package
 * gets its final name when it is complete, so a build that died leaves none that is cut off. */
#include "server/build/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "server/build/tree.h"

#define UNUSED_SECS (30L * 24 * 3600)

static void close_dir(DIR **dir) {
	if (*dir) {
		(void)closedir(*dir);
	}
}

static int is_package(const struct dirent *entry) {
	size_t len = strlen(entry->d_name);
	return len > 4 && strcmp(entry->d_name + len - 4, ".deb") == 0;
}

static int copy_package(int from, int to, const char *name) {
	struct stat st;
	_cleanup_fd_ int in = openat(from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	_cleanup_fd_ int out =
		openat(to, "copy.part", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (in < 0 || out < 0 || fstat(in, &st) < 0) {
		return -errno;
	}
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = sendfile(out, in, NULL, (size_t)left);
		if (n <= 0) {
			return n < 0 ? -errno : -EIO;
		}
		left -= n;
	}
	return renameat(to, "copy.part", to, name) < 0 ? -errno : 0;
}

static int link_package(int from, int to, const char *name) {
	if (linkat(from, name, to, name, 0) == 0 || errno == EEXIST) {
		return 0;
	}
	if (errno == EXDEV || errno == EPERM || errno == EMLINK) {
		return copy_package(from, to, name);
	}
	return -errno;
}

int cache_link(const char *from, const char *to, struct cua_err *err) {
	int r = tree_make(to, 0755, err);
	if (r < 0) {
		return r;
	}
	_cleanup_(close_dir) DIR *in = opendir(from);
	_cleanup_(close_dir) DIR *out = opendir(to);
	if (!in && errno == ENOENT) {
		return 0;
	}
	if (!in || !out) {
		return cua_err_errno(err, errno, "cannot read %s", in ? to : from);
	}
	for (const struct dirent *entry; (entry = readdir(in));) {
		r = is_package(entry) ? link_package(dirfd(in), dirfd(out), entry->d_name) : 0;
		if (r < 0) {
			return cua_err_errno(err, r, "cannot keep the package %s", entry->d_name);
		}
	}
	return 0;
}

void cache_prune(const char *dir, const char *used) {
	struct stat st;
	time_t limit = time(NULL) - UNUSED_SECS;
	_cleanup_(close_dir) DIR *all = opendir(dir);
	_cleanup_(close_dir) DIR *now = opendir(used);
	if (!all || !now) {
		return;
	}
	for (const struct dirent *entry; (entry = readdir(all));) {
		if (!is_package(entry)) {
			continue;
		}
		if (faccessat(dirfd(now), entry->d_name, F_OK, 0) == 0) {
			(void)utimensat(dirfd(all), entry->d_name, NULL, 0);
		} else if (fstatat(dirfd(all), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			   st.st_mtime < limit) {
			(void)unlinkat(dirfd(all), entry->d_name, 0);
		}
	}
}

void cache_empty(const char *dir) {
	_cleanup_(close_dir) DIR *all = opendir(dir);
	if (!all) {
		return;
	}
	for (const struct dirent *entry; (entry = readdir(all));) {
		if (is_package(entry)) {
			(void)unlinkat(dirfd(all), entry->d_name, 0);
		}
	}
}
