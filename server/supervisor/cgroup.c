/* Finds, reads, empties and removes the cgroups of sessions in all hierarchies. Limits are written
 * by liblxc, not here. */
#include "server/supervisor/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cua/cleanup.h"
#include "cua/fdio.h"
#include "cua/limits.h"
#include "cua/parse.h"

#define ROOT "/sys/fs/cgroup"
#define HIERARCHIES_MAX 32
#define PATH_SIZE 512
#define START "-start"
#define PIDS_SIZE 65536
#define DEPTH_MAX 64
#define KILLS_MAX 65536
#define GROUPS_INSIDE "1000"
#define DEPTH_INSIDE "20"

struct hierarchies {
	char path[HIERARCHIES_MAX][PATH_SIZE / 4];
	size_t count;
};

static bool is_cgroup(const char *path) {
	struct statfs fs;
	return statfs(path, &fs) == 0 &&
	       (fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC);
}

/* All mounted hierarchies. The names below /sys/fs/cgroup are a convention that systemd, elogind and
 * cgroupfs-mount share; symlinks ("cpu" to "cpu,cpuacct") are second names. */
static void list_hierarchies(struct hierarchies *ret) {
	ret->count = 0;
	if (is_cgroup(ROOT)) {
		(void)snprintf(ret->path[ret->count++], sizeof(ret->path[0]), ROOT);
		return;
	}
	DIR *dir = opendir(ROOT);
	struct dirent *entry;
	while (dir && ret->count < HIERARCHIES_MAX && (entry = readdir(dir))) {
		char *path = ret->path[ret->count];
		int n = snprintf(path, sizeof(ret->path[0]), ROOT "/%s", entry->d_name);
		ret->count += entry->d_name[0] != '.' && entry->d_type == DT_DIR &&
			      n < (int)sizeof(ret->path[0]) && is_cgroup(path);
	}
	if (dir) {
		(void)closedir(dir);
	}
}

static bool read_file(const char *path, char *ret, size_t size) {
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, ret, size - 1);
	if (n < 0) {
		return false;
	}
	ret[n] = '\0';
	if (n > 0 && ret[n - 1] == '\n') {
		ret[n - 1] = '\0';
	}
	return true;
}

bool cgroup_read(const char *id, const struct cgroup_file *file, char *ret, size_t size) {
	char path[PATH_SIZE];
	(void)snprintf(path, sizeof(path), ROOT "/%s/" CGROUP_TOP "/%s/%s", file->controller, id,
		file->v1);
	if (read_file(path, ret, size)) {
		return true;
	}
	(void)snprintf(path, sizeof(path), ROOT "/" CGROUP_TOP "/%s/%s", id, file->v2);
	if (read_file(path, ret, size)) {
		return true;
	}
	(void)snprintf(path, sizeof(path), ROOT "/unified/" CGROUP_TOP "/%s/%s", id, file->v2);
	return read_file(path, ret, size);
}

bool cgroup_read_u64(const char *id, const struct cgroup_file *file, uint64_t *ret) {
	char text[64];
	if (!cgroup_read(id, file, text, sizeof(text))) {
		return false;
	}
	if (strcmp(text, "max") == 0) {
		*ret = UINT64_MAX;
		return true;
	}
	/* v2's cpu.max has the period behind the quota. */
	return parse_row(text, 1, ret);
}

void cgroup_forbid_swap(const char *id) {
	static const char *const roots[] = {ROOT, ROOT "/unified"};
	for (size_t i = 0; i < CUA_COUNT(roots); i++) {
		char path[PATH_SIZE];
		(void)snprintf(
			path, sizeof(path), "%s/" CGROUP_TOP "/%s/memory.swap.max", roots[i], id);
		_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0) {
			(void)!write(fd, "0", 1);
		}
	}
}

static int write_number(const char *path, const char *name, const char *number) {
	char file[PATH_SIZE + 32];
	(void)snprintf(file, sizeof(file), "%s/%s", path, name);
	_cleanup_fd_ int fd = open(file, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd_write_all(fd, number, strlen(number));
}

/* What v1 lets the owner of a group do is not safe: to freeze processes so that nothing kills them,
 * and to make groups without end in the host's memory. v2 has limits for that. */
static int confine(const char *path) {
	struct statfs fs;
	if (statfs(path, &fs) < 0) {
		return errno == ENOENT ? 0 : -errno;
	}
	if (fs.f_type == CGROUP_SUPER_MAGIC) {
		return lchown(path, 0, 0) < 0 || chmod(path, 0755) < 0 ? -errno : 0;
	}
	int r = write_number(path, "cgroup.max.descendants", GROUPS_INSIDE);
	return r < 0 ? r : write_number(path, "cgroup.max.depth", DEPTH_INSIDE);
}

int cgroup_confine(const char *id, struct cua_err *err) {
	struct hierarchies all;
	list_hierarchies(&all);
	int r = 0;
	for (size_t i = 0; i < all.count && r == 0; i++) {
		char path[PATH_SIZE];
		(void)snprintf(path, sizeof(path), "%s/" CGROUP_TOP "/%s", all.path[i], id);
		r = confine(path);
	}
	return r < 0 ? cua_err_errno(err, r, "cannot confine the session's cgroups") : 0;
}

bool cgroup_v1_has(const char *controller, const char *file) {
	char path[PATH_SIZE];
	(void)snprintf(path, sizeof(path), ROOT "/%s/%s", controller, file);
	return access(path, F_OK) == 0;
}

/* Does a name below CGROUP_TOP belong to the session, and to which half of it? The end is "", or
 * "-N" where liblxc found the name taken. */
static bool belongs(const char *name, const char *id, bool monitor) {
	size_t len = strlen(id);
	if (strncmp(name, id, len) != 0) {
		return false;
	}
	bool of_monitor = strncmp(name + len, CGROUP_MONITOR, strlen(CGROUP_MONITOR)) == 0;
	const char *end = name + len + (of_monitor ? strlen(CGROUP_MONITOR) : 0);
	return of_monitor == monitor && (*end == '\0' || *end == '-');
}

static bool is_dots(const char *name) {
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Called for each group, the deepest first; a negative result ends the walk. */
typedef int (*group_fn)(const char *path, void *data);

static int walk_group(const char *path, unsigned depth, group_fn fn, void *data) {
	DIR *dir = depth < DEPTH_MAX ? opendir(path) : NULL;
	if (!dir) {
		return depth < DEPTH_MAX && errno == ENOENT ? 0 : -errno;
	}
	int r = 0;
	struct dirent *entry;
	while (r == 0 && (entry = readdir(dir))) {
		char below[PATH_MAX];
		int n = snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (entry->d_type == DT_DIR && !is_dots(entry->d_name) && n < (int)sizeof(below)) {
			r = walk_group(below, depth + 1, fn, data);
		}
	}
	(void)closedir(dir);
	return r < 0 ? r : fn(path, data);
}

static int walk_hierarchy(const char *root, const char *id, bool monitor, group_fn fn, void *data) {
	char top[PATH_SIZE / 2];
	(void)snprintf(top, sizeof(top), "%s/" CGROUP_TOP, root);
	DIR *dir = opendir(top);
	int r = 0;
	struct dirent *entry;
	while (dir && r == 0 && (entry = readdir(dir))) {
		char path[PATH_SIZE + 16];
		if (belongs(entry->d_name, id, monitor)) {
			(void)snprintf(path, sizeof(path), "%s/%s", top, entry->d_name);
			r = walk_group(path, 0, fn, data);
		}
	}
	if (dir) {
		(void)closedir(dir);
	}
	return r;
}

static int walk(const char *id, bool monitor, group_fn fn, void *data) {
	struct hierarchies all;
	list_hierarchies(&all);
	int r = 0;
	for (size_t i = 0; i < all.count && r == 0; i++) {
		r = walk_hierarchy(all.path[i], id, monitor, fn, data);
	}
	return r;
}

static int find_one(const char *path, void *data) {
	struct proc_id *found = data;
	char file[PATH_MAX];
	char text[PIDS_SIZE];
	(void)snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	if (!read_file(file, text, sizeof(text))) {
		return 0;
	}
	char *rest = NULL;
	for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
		if (proc_read((pid_t)strtol(l, NULL, 10), found)) {
			return -EEXIST; /* ends the walk */
		}
	}
	return 0;
}

bool cgroup_any(const char *id, bool monitor, struct proc_id *ret) {
	struct proc_id found;
	if (walk(id, monitor, find_one, &found) != -EEXIST) {
		return false;
	}
	*ret = found;
	return true;
}

static int thaw_group(const char *path, void *data) {
	(void)data;
	char file[PATH_MAX];
	(void)snprintf(file, sizeof(file), "%s/freezer.state", path);
	_cleanup_fd_ int v1 = open(file, O_WRONLY | O_CLOEXEC);
	(void)snprintf(file, sizeof(file), "%s/cgroup.freeze", path);
	_cleanup_fd_ int v2 = open(file, O_WRONLY | O_CLOEXEC);
	if (v1 >= 0) {
		(void)!write(v1, "THAWED", 6);
	}
	if (v2 >= 0) {
		(void)!write(v2, "0", 1);
	}
	return 0;
}

void cgroup_thaw(const char *id) {
	(void)walk(id, false, thaw_group, NULL);
}

/* A process is killed only while it is a member: its number may be somebody else's by now. */
static int kill_one(const char *id, const struct proc_id *one) {
	char group[64];
	(void)snprintf(group, sizeof(group), "/" CGROUP_TOP "/%s", id);
	_cleanup_fd_ int fd = proc_open(one);
	if (fd < 0 || !proc_mentions(one->pid, "cgroup", group)) {
		return 0;
	}
	proc_signal(fd, SIGKILL);
	return proc_wait(fd, CUA_KILL_WAIT_MS) ? 0 : -ETIMEDOUT;
}

int cgroup_kill(const char *id, bool monitor, struct cua_err *err) {
	struct proc_id one;
	/* The first one is mostly the container's PID 1, and all others end with it. */
	for (unsigned i = 0; i < KILLS_MAX && cgroup_any(id, monitor, &one); i++) {
		if (kill_one(id, &one) < 0) {
			return cua_err_set(err, CUA_TIMEOUT,
				"process %d of the session cannot be killed", (int)one.pid);
		}
	}
	return 0;
}

/* One hierarchy is enough to find a process again. */
static bool start_group(const char *id, char ret[PATH_SIZE]) {
	struct hierarchies all;
	list_hierarchies(&all);
	if (all.count == 0) {
		return false;
	}
	(void)snprintf(ret, PATH_SIZE, "%s", all.path[0]);
	for (size_t i = 1; i < all.count; i++) {
		/* A new group of this one can be joined as it is, unlike one of cpuset. */
		if (strcmp(all.path[i], ROOT "/pids") == 0) {
			(void)snprintf(ret, PATH_SIZE, "%s", all.path[i]);
		}
	}
	size_t len = strlen(ret);
	(void)snprintf(ret + len, PATH_SIZE - len, "/" CGROUP_TOP "/%s" START, id);
	return true;
}

int cgroup_put_start(const char *id, pid_t pid, struct cua_err *err) {
	char path[PATH_SIZE];
	char file[PATH_SIZE + 16];
	if (!start_group(id, path)) {
		return cua_err_set(err, CUA_INTERNAL, "this host has no cgroups");
	}
	char *last = strrchr(path, '/');
	*last = '\0';
	bool made = mkdir(path, 0755) == 0 || errno == EEXIST;
	*last = '/';
	if (!made || (mkdir(path, 0755) < 0 && errno != EEXIST)) {
		return cua_err_errno(err, errno, "cannot make the cgroup %s", path);
	}
	(void)snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	_cleanup_fd_ int fd = open(file, O_WRONLY | O_CLOEXEC);
	char number[16];
	(void)snprintf(number, sizeof(number), "%d", (int)pid);
	int r = fd < 0 ? -errno : fd_write_all(fd, number, strlen(number));
	return r < 0 ? cua_err_errno(err, r, "cannot join the cgroup %s", path) : 0;
}

void cgroup_remove_start(const char *id) {
	char path[PATH_SIZE];
	if (start_group(id, path)) {
		(void)rmdir(path);
	}
}

static int remove_group(const char *path, void *data) {
	(void)data;
	return rmdir(path) < 0 && errno != ENOENT ? -errno : 0;
}

int cgroup_remove(const char *id, struct cua_err *err) {
	int r = walk(id, false, remove_group, NULL);
	r = r < 0 ? r : walk(id, true, remove_group, NULL);
	return r < 0 ? cua_err_errno(err, r, "cannot remove the session's cgroups") : 0;
}
