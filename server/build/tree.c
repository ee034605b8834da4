/* Trees by fts(3), always physical.
 *
 * Only for trees whose directories nobody but root can change: paths are used as they are. */
#include "server/build/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>

#include "cua/fdio.h"

int tree_make(const char *path, mode_t mode, struct cua_err *err) {
	char part[1024];
	size_t len = strlen(path);
	if (len >= sizeof part) {
		return cua_err_set(err, CUA_INVALID, "path too long: %.100s", path);
	}
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0') {
			continue;
		}
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, path[i] ? 0755 : mode) < 0 && errno != EEXIST) {
			return cua_err_errno(err, errno, "cannot make the directory %s", part);
		}
	}
	return 0;
}

static int entry_remove(const FTSENT *entry) {
	switch (entry->fts_info) {
	case FTS_D:
		return 0;
	case FTS_DP:
	case FTS_DNR:
		return rmdir(entry->fts_accpath);
	default:
		return unlink(entry->fts_accpath);
	}
}

int tree_remove(const char *path, struct cua_err *err) {
	char *const roots[] = {(char *)path, NULL};
	struct stat st;
	int r = 0;
	if (lstat(path, &st) < 0 && errno == ENOENT) {
		return 0;
	}
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!fts) {
		return cua_err_errno(err, errno, "cannot read %s", path);
	}
	for (const FTSENT *entry; (entry = fts_read(fts));) {
		if (entry_remove(entry) < 0 && errno != ENOENT && r == 0) {
			r = cua_err_errno(err, errno, "cannot remove %s", entry->fts_path);
		}
	}
	(void)fts_close(fts);
	return r;
}

int tree_size(const char *path, uint64_t *ret_bytes, struct cua_err *err) {
	char *const roots[] = {(char *)path, NULL};
	uint64_t bytes = 0;
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!fts) {
		return cua_err_errno(err, errno, "cannot read %s", path);
	}
	for (const FTSENT *entry; (entry = fts_read(fts));) {
		const struct stat *st = entry->fts_statp;
		if (entry->fts_info == FTS_DP || entry->fts_info == FTS_NS) {
			continue;
		}
		nlink_t links = entry->fts_info == FTS_D || st->st_nlink == 0 ? 1 : st->st_nlink;
		bytes += (uint64_t)st->st_blocks * 512 / links;
	}
	(void)fts_close(fts);
	*ret_bytes = bytes;
	return 0;
}

int tree_write(
	const char *root, const char *path, const char *content, mode_t mode, struct cua_err *err) {
	char full[1024];
	int n = snprintf(full, sizeof full, "%s%s", root, path);
	if (n < 0 || (size_t)n >= sizeof full) {
		return cua_err_set(err, CUA_INVALID, "path too long: %.100s", path);
	}
	char *slash = strrchr(full, '/');
	*slash = '\0';
	int r = tree_make(full, 0755, err);
	*slash = '/';
	if (r < 0) {
		return r;
	}
	_cleanup_fd_ int fd =
		open(full, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		return cua_err_errno(err, errno, "cannot write %s", full);
	}
	r = fd_write_all(fd, content, strlen(content));
	if (r == 0 && fchmod(fd, mode) < 0) {
		r = -errno;
	}
	return r < 0 ? cua_err_errno(err, r, "cannot write %s", full) : 0;
}
