/* Templates appear by rename and are replaced by exchange, so a name never stands for half a tree.
 *
 * A mount keeps following a renamed tree: sessions on a replaced template go on undisturbed. */
#include "server/build/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>

#include "server/build/tree.h"

static void close_dir(DIR **dir) {
	if (*dir) {
		(void)closedir(*dir);
	}
}

/* A mount whose root lies in dir/entry; the kernel tells roots as paths of their file system. */
static bool tree_mounted(const char *entry) {
	char line[4096];
	char part[300];
	bool found = false;
	(void)snprintf(part, sizeof part, "/%s/", entry);
	FILE *file = fopen("/proc/self/mountinfo", "re");
	if (!file) {
		return true;
	}
	while (!found && fgets(line, sizeof line, file)) {
		found = strstr(line, part) != NULL;
	}
	(void)fclose(file);
	return found;
}

static bool begins(const char *text, const char *with) {
	return strncmp(text, with, strlen(with)) == 0;
}

static int store_sweep(const struct store *store, struct cua_err *err) {
	char path[1024];
	_cleanup_(close_dir) DIR *dir = opendir(store->dir);
	if (!dir) {
		return cua_err_errno(err, errno, "cannot read %s", store->dir);
	}
	for (const struct dirent *entry; (entry = readdir(dir));) {
		const char *name = entry->d_name;
		bool stale = begins(name, ".building-") ||
			     (begins(name, ".old-") && !tree_mounted(name));
		(void)snprintf(path, sizeof path, "%s/%s", store->dir, name);
		int r = stale ? tree_remove(path, err) : 0;
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int store_lock(struct store *store, struct cua_err *err) {
	char path[300];
	(void)snprintf(path, sizeof path, "%s/.lock", store->dir);
	store->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (store->lock < 0) {
		return cua_err_errno(err, errno, "cannot open %s", path);
	}
	if (flock(store->lock, LOCK_EX | LOCK_NB) == 0) {
		return 0;
	}
	printf("%s: waiting for another build to end\n", store->name);
	(void)fflush(stdout);
	while (flock(store->lock, LOCK_EX) < 0) {
		if (errno != EINTR) {
			return cua_err_errno(err, errno, "cannot lock %s", path);
		}
	}
	return 0;
}

int store_open(struct store *store, const char *state, const char *name, struct cua_err *err) {
	store->lock = -1;
	store->building[0] = '\0';
	(void)snprintf(store->name, sizeof store->name, "%s", name);
	int n = snprintf(store->dir, sizeof store->dir, "%s/templates", state);
	if (n < 0 || (size_t)n >= sizeof store->dir) {
		return cua_err_set(err, CUA_INVALID, "path too long: %.100s", state);
	}
	(void)snprintf(store->final, sizeof store->final, "%s/%s", store->dir, name);
	int r = tree_make(store->dir, 0755, err);
	r = r < 0 ? r : store_lock(store, err);
	r = r < 0 ? r : store_sweep(store, err);
	if (r == 0) {
		(void)snprintf(store->building, sizeof store->building, "%s/.building-%s-%d",
			store->dir, name, (int)getpid());
	}
	return r;
}

void store_close(struct store *store) {
	if (store->building[0]) {
		(void)tree_remove(store->building, NULL);
	}
	if (store->lock >= 0) {
		(void)close(take_fd(store->lock));
	}
}

/* Everything is on disk before the name appears, or a power cut could leave a hollow template. */
static int store_flush(const struct store *store, struct cua_err *err) {
	_cleanup_fd_ int fd = open(store->building, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || syncfs(fd) < 0) {
		return cua_err_errno(err, errno, "cannot flush %s", store->building);
	}
	return 0;
}

/* After an exchange the old template bears the build's name. */
static int store_retire(const struct store *store, struct cua_err *err) {
	char old[600];
	(void)snprintf(old, sizeof old, "%s/.old-%s-%d", store->dir, store->name, (int)getpid());
	if (rename(store->building, old) < 0) {
		return cua_err_errno(err, errno, "cannot rename %s", store->building);
	}
	return tree_mounted(strrchr(old, '/') + 1) ? 0 : tree_remove(old, err);
}

int store_commit(struct store *store, struct cua_err *err) {
	int r = store_flush(store, err);
	if (r < 0) {
		return r;
	}
	if (rename(store->building, store->final) == 0) {
		store->building[0] = '\0';
		return 0;
	}
	if (errno != ENOTEMPTY && errno != EEXIST) {
		return cua_err_errno(err, errno, "cannot rename %s", store->building);
	}
	if (renameat2(AT_FDCWD, store->building, AT_FDCWD, store->final, RENAME_EXCHANGE) < 0) {
		return cua_err_errno(err, errno, "cannot replace %s", store->final);
	}
	r = store_retire(store, err);
	store->building[0] = '\0';
	return r;
}
