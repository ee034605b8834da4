/* The session's disk image: made, attached, mounted and taken away again. Not the overlay on it.
 *
 * The loop driver keeps the open file that it was given, and with it the file's flock: whoever can
 * lock the image knows that no loop device holds it. */
#include "server/supervisor/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "server/supervisor/tree.h"

#define MKFS "/sbin/mkfs.ext4"
#define ATTACH_TRIES 4096 /* another process may take the device that was free a moment ago */

/* Past the host's page cache: the file system on the device has one of its own. */
#define LOOP_FLAGS (LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO)

/* The tables of inodes stay holes (the kernel would write 1.6 % of the size behind our back), and
 * what is deleted inside becomes a hole again. */
#define DISK_OPTIONS "noinit_itable,discard,errors=remount-ro"

static int drain_text(int fd, char *ret_text, size_t size) {
	ssize_t n = fd_read_all(fd, ret_text, size - 1);
	ret_text[n > 0 ? n : 0] = '\0';
	char *end = strchr(ret_text, '\n');
	if (end) {
		*end = '\0';
	}
	return n < 0 ? (int)n : 0;
}

static int spawn_mkfs(const char *path, int out, pid_t *ret_pid) {
	/* An image never grows; the room for that would be 4 MB to write for each session. */
	char *const argv[] = {MKFS, "-q", "-F", "-m", "0", "-O", "^resize_inode", "-J", "size=16",
		"-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard", (char *)path, NULL};
	char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);
	if (r != 0) {
		return -r;
	}
	r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	r = r ? r : posix_spawn_file_actions_adddup2(&actions, out, 1);
	r = r ? r : posix_spawn_file_actions_adddup2(&actions, out, 2);
	r = r ? r : posix_spawn(ret_pid, MKFS, &actions, NULL, argv, env);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static int make_filesystem(const char *path, struct cua_err *err) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0) {
		return cua_err_errno(err, errno, "cannot make a pipe");
	}
	_cleanup_fd_ int in = ends[0];
	_cleanup_fd_ int out = ends[1];
	pid_t pid = -1;
	int r = spawn_mkfs(path, out, &pid);
	(void)close(take_fd(out));
	if (r < 0) {
		return cua_err_errno(err, r, "cannot run " MKFS);
	}
	char text[200];
	(void)drain_text(in, text, sizeof(text));
	int status = 0;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			return cua_err_errno(err, errno, "lost " MKFS);
		}
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		return cua_err_set(err, CUA_INTERNAL, MKFS " failed: %s", text);
	}
	return 0;
}

static int make_file(const struct plan *plan, const char *path, struct cua_err *err) {
	_cleanup_fd_ int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)plan->record.limits.disk) < 0) {
		return cua_err_errno(err, errno, "cannot make the disk image");
	}
	return make_filesystem(path, err);
}

int image_make(const struct plan *plan, bool *ret_made, struct cua_err *err) {
	char part[PLAN_PATH + 8];
	(void)snprintf(part, sizeof(part), "%s.new", plan->image);
	if (access(plan->image, F_OK) == 0) {
		*ret_made = false;
		return 0;
	}
	int r = make_file(plan, part, err);
	if (r == 0 && rename(part, plan->image) < 0) {
		r = cua_err_errno(err, errno, "cannot make the disk image");
	}
	if (r < 0) {
		(void)unlink(part);
		return r;
	}
	*ret_made = true;
	return 0;
}

static bool backs(const char *name, const struct stat *image) {
	char path[300];
	(void)snprintf(path, sizeof(path), "/dev/%s", name);
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct loop_info64 info;
	return fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, &info) == 0 &&
	       info.lo_device == image->st_dev && info.lo_inode == image->st_ino;
}

/* Opens the loop device that holds the image. */
static int find_attached(int image, char ret_path[32]) {
	struct stat st;
	DIR *dir = fstat(image, &st) == 0 ? opendir("/sys/block") : NULL;
	if (!dir) {
		return -errno;
	}
	int fd = -ENODEV;
	struct dirent *entry;
	while (fd < 0 && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "loop", 4) != 0 || !backs(entry->d_name, &st)) {
			continue;
		}
		(void)snprintf(ret_path, 32, "/dev/%.20s", entry->d_name);
		fd = open(ret_path, O_RDWR | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	(void)closedir(dir);
	return fd;
}

static int attach_at(const char *path, int image, const char *id) {
	_cleanup_fd_ int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	struct loop_config config = {
		.fd = (uint32_t)image,
		.info = {.lo_flags = LOOP_FLAGS},
	};
	(void)snprintf((char *)config.info.lo_file_name, LO_NAME_SIZE, "cuad %s", id);
	return ioctl(fd, LOOP_CONFIGURE, &config) < 0 ? -errno : take_fd(fd);
}

/* Attaches the image to a free loop device. The device frees itself after the last close. */
static int attach(int image, const char *id, char ret_path[32]) {
	_cleanup_fd_ int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	if (control < 0) {
		return -errno;
	}
	int r = -EBUSY;
	for (unsigned i = 0; i < ATTACH_TRIES && r == -EBUSY; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);
		if (number < 0) {
			return -errno;
		}
		(void)snprintf(ret_path, 32, "/dev/loop%d", number);
		r = attach_at(ret_path, image, id);
	}
	return r;
}

static int open_device(const struct plan *plan, char ret_path[32]) {
	_cleanup_fd_ int image = open(plan->image, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (image < 0) {
		return -errno;
	}
	if (flock(image, LOCK_EX | LOCK_NB) == 0) {
		return attach(image, plan->record.id, ret_path);
	}
	return errno == EWOULDBLOCK ? find_attached(image, ret_path) : -errno;
}

int image_mount(const struct plan *plan, struct cua_err *err) {
	char path[32] = "";
	_cleanup_fd_ int device = open_device(plan, path);
	if (device < 0) {
		int r = take_fd(device);
		return cua_err_errno(err, r, "cannot attach the disk image to a loop device");
	}
	if (mount(path, plan->disk, "ext4", MS_NODEV | MS_NOSUID | MS_NOATIME, DISK_OPTIONS) < 0) {
		return cua_err_errno(err, errno, "cannot mount the disk image");
	}
	return 0;
}

static void on_alarm(int number) {
	(void)number;
}

/* Waits for the lock at most CUA_DISK_FREE_MS. The timer repeats, for its first signal may come
 * before flock() sleeps. */
static int lock_in_time(int fd) {
	struct sigaction wake = {.sa_handler = on_alarm};
	struct sigaction old;
	const struct itimerval on = {
		.it_value = {.tv_usec = CUA_DISK_FREE_MS * 1000L},
		.it_interval = {.tv_usec = 10000},
	};
	const struct itimerval off = {0};
	if (sigaction(SIGALRM, &wake, &old) < 0 || setitimer(ITIMER_REAL, &on, NULL) < 0) {
		return -errno;
	}
	int r = flock(fd, LOCK_EX) < 0 ? -errno : 0;
	(void)setitimer(ITIMER_REAL, &off, NULL);
	(void)sigaction(SIGALRM, &old, NULL);
	return r;
}

int image_unmount(const struct plan *plan, struct cua_err *err) {
	int r = tree_unmount(plan->disk, err);
	if (r < 0) {
		return r;
	}
	_cleanup_fd_ int image = open(plan->image, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (image < 0) {
		return errno == ENOENT ? 0
				       : cua_err_errno(err, errno, "cannot open the disk image");
	}
	if (flock(image, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		(void)lock_in_time(image);
	}
	return 0;
}

int image_remove(const struct plan *plan, struct cua_err *err) {
	_cleanup_fd_ int image = open(plan->image, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (image >= 0 && flock(image, LOCK_EX | LOCK_NB) < 0) {
		/* Not shorter: what is still mounted somewhere shall find zeros, not errors. */
		(void)fallocate(image, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			(off_t)plan->record.limits.disk);
	}
	if (unlink(plan->image) < 0 && errno != ENOENT) {
		return cua_err_errno(err, errno, "cannot remove the disk image");
	}
	return 0;
}
