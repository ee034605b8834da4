/* Requests about directories: list, remove, move. They go from directory to directory by
 * descriptor, so a symlink that is swapped in meanwhile leads nowhere. */
#include "server/init/file_ops.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

CUA_DEFINE_CLEANUP(DIR *, closedir)

/* ---------------------------------------------------------------- list */

struct names {
	char **item;
	size_t count;
	bool truncated;
};

static void names_done(struct names *names) {
	for (size_t i = 0; i < names->count; i++) {
		free(names->item[i]);
	}
	free(names->item);
}

static int compare_names(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_dot(const char *name) {
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int names_read(DIR *dir, struct names *names, struct cua_err *err) {
	names->item = calloc(CUA_LIST_ENTRIES, sizeof(*names->item));
	for (struct dirent *entry = readdir(dir); names->item && entry; entry = readdir(dir)) {
		if (is_dot(entry->d_name)) {
			continue;
		}
		if (names->count == CUA_LIST_ENTRIES) {
			names->truncated = true;
			break;
		}
		names->item[names->count] = strdup(entry->d_name);
		if (!names->item[names->count]) {
			return cua_err_set(err, CUA_EXHAUSTED, "no memory to list a directory");
		}
		names->count++;
	}
	if (!names->item) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory to list a directory");
	}
	qsort(names->item, names->count, sizeof(*names->item), compare_names);
	return 0;
}

/* Encodes all entries; what vanished meanwhile is left out. */
static int encode_entries(int dir, const struct names *names, char *buf, size_t size,
	struct cua_span *ret, struct cua_err *err) {
	size_t used = 0;
	for (size_t i = 0; i < names->count; i++) {
		cua_FileEntry entry;
		if (file_ops_entry(dir, names->item[i], &entry, NULL) < 0) {
			continue;
		}
		int n = cua_entry_put(&entry, buf + used, size - used, err);
		if (n < 0) {
			return n;
		}
		used += (size_t)n;
	}
	*ret = (struct cua_span){.data = buf, .len = used};
	return 0;
}

int file_list_perform(const struct file_job *job, struct cua_err *err) {
	_cleanup_fd_ int fd = open(job->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		return errno == ENOTDIR && access(job->path, F_OK) == 0
			       ? cua_err_set(err, CUA_INVALID, "%.256s is no directory", job->path)
			       : cua_err_errno(err, errno, "cannot list %.256s", job->path);
	}
	_cleanup_(closedir_p) DIR *dir = fdopendir(fd);
	if (!dir) {
		return cua_err_errno(err, errno, "cannot list %.256s", job->path);
	}
	(void)take_fd(fd);
	_cleanup_(names_done) struct names names = {0};
	int r = names_read(dir, &names, err);
	if (r < 0) {
		return r;
	}
	size_t size = names.count * (cua_FileEntry_size + 8) + 1;
	_cleanup_free_ char *buf = malloc(size);
	if (!buf) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory to list a directory");
	}
	struct cua_span blob;
	r = encode_entries(dirfd(dir), &names, buf, size, &blob, err);
	cua_FileResult result = {.has_truncated = true, .truncated = names.truncated};
	return r < 0 ? r : file_ops_send(job, &result, &blob, err);
}

/* ---------------------------------------------------------------- remove */

static int remove_tree(int parent, const char *name, unsigned depth, struct cua_err *err);

static int remove_entries(DIR *dir, unsigned depth, struct cua_err *err) {
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		if (is_dot(entry->d_name)) {
			continue;
		}
		int r = remove_tree(dirfd(dir), entry->d_name, depth, err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* Opens a directory for its removal; refuses one on which something is mounted. Devices do not tell:
 * a bind mount may have the same one. */
static DIR *open_inside(int parent, const char *name, struct cua_err *err) {
	struct statx above;
	struct statx below;
	_cleanup_fd_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || statx(fd, "..", 0, STATX_MNT_ID, &above) < 0 ||
		statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &below) < 0) {
		(void)cua_err_errno(err, errno, "cannot empty %.256s", name);
		return NULL;
	}
	if (above.stx_mnt_id != below.stx_mnt_id) {
		(void)cua_err_set(err, CUA_CONFLICT, "%.256s is a mount point", name);
		return NULL;
	}
	DIR *dir = fdopendir(fd);
	if (!dir) {
		(void)cua_err_errno(err, errno, "cannot empty %.256s", name);
		return NULL;
	}
	(void)take_fd(fd);
	return dir;
}

static int remove_directory(int parent, const char *name, unsigned depth, struct cua_err *err) {
	if (depth == 0) {
		return cua_err_set(
			err, CUA_INVALID, "directories are nested deeper than %d", CUA_TREE_DEPTH);
	}
	_cleanup_(closedir_p) DIR *dir = open_inside(parent, name, err);
	if (!dir) {
		return -(int)err->code;
	}
	int r = remove_entries(dir, depth - 1, err);
	if (r < 0) {
		return r;
	}
	if (unlinkat(parent, name, AT_REMOVEDIR) < 0) {
		return cua_err_errno(err, errno, "cannot remove %.256s", name);
	}
	return 0;
}

static int remove_tree(int parent, const char *name, unsigned depth, struct cua_err *err) {
	if (unlinkat(parent, name, 0) == 0) {
		return 0;
	}
	/* EISDIR on Linux; a file system may say EPERM instead. */
	struct stat st;
	int saved = errno;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode)) {
		return cua_err_errno(err, saved, "cannot remove %.256s", name);
	}
	return remove_directory(parent, name, depth, err);
}

static int remove_one(const char *path, struct cua_err *err) {
	if (unlink(path) == 0 || (errno == EISDIR && rmdir(path) == 0)) {
		return 0;
	}
	if (errno == ENOTEMPTY) {
		return cua_err_set(err, CUA_CONFLICT,
			"%.256s is a directory with something in it; `recursive` removes it", path);
	}
	return cua_err_errno(err, errno, "cannot remove %.256s", path);
}

/* The path without slashes at its end: those would make a symlink be followed. */
static int removable(
	const struct file_job *job, char ret_path[CUA_PATH_SIZE], struct cua_err *err) {
	(void)snprintf(ret_path, CUA_PATH_SIZE, "%s", job->path);
	size_t len = strlen(ret_path);
	while (len > 0 && ret_path[len - 1] == '/') {
		ret_path[--len] = '\0';
	}
	const char *slash = strrchr(ret_path, '/');
	if (!slash || is_dot(slash + 1)) {
		return cua_err_about(
			err, CUA_INVALID, "path", "%.256s cannot be removed", job->path);
	}
	return 0;
}

int file_remove_perform(const struct file_job *job, struct cua_err *err) {
	char path[CUA_PATH_SIZE];
	int r = removable(job, path, err);
	if (r < 0) {
		return r;
	}
	bool recursive = job->request->has_recursive && job->request->recursive;
	r = recursive ? remove_tree(AT_FDCWD, path, CUA_TREE_DEPTH, err) : remove_one(path, err);
	cua_FileResult result = {0};
	return r < 0 ? r : file_ops_send(job, &result, NULL, err);
}

/* ---------------------------------------------------------------- move */

/* An overlay refuses to rename a directory of its lower layers, and a mount is another file system:
 * mv copies then. */
static int move_by_copy(const struct file_job *job, struct cua_err *err) {
	pid_t pid = fork();
	if (pid < 0) {
		return cua_err_set(err, CUA_EXHAUSTED, "no process can be started");
	}
	if (pid == 0) {
		(void)execl("/bin/mv", "mv", "-T", "--", job->path, job->destination, (char *)NULL);
		_exit(127);
	}
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		return cua_err_set(err, CUA_INTERNAL, "mv failed to copy %.128s to %.128s",
			job->path, job->destination);
	}
	return 0;
}

int file_move_perform(const struct file_job *job, struct cua_err *err) {
	int r = 0;
	if (job->request->has_mkdirs && job->request->mkdirs) {
		r = file_ops_make_parents(job->destination, err);
	}
	if (r == 0 && rename(job->path, job->destination) < 0) {
		r = errno == EXDEV ? move_by_copy(job, err)
				   : cua_err_errno(err, errno, "cannot move %.128s to %.128s",
					     job->path, job->destination);
	}
	cua_FileResult result = {0};
	return r < 0 ? r : file_ops_send(job, &result, NULL, err);
}
