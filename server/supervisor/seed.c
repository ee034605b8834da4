/* Writes a handful of small files below a tree that a container may have prepared against us. The
 * only place that writes there from outside. */
#include "server/supervisor/seed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cua/fdio.h"

#define PART ".cuad-part"
#define TEXT_SIZE 512

static int open_dir(int root, const char *path) {
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

static int fill_part(int fd, const struct plan *plan, const char *text, mode_t mode) {
	int r = fd_write_all(fd, text, strlen(text));
	if (r == 0 && (fchown(fd, plan->id_first, plan->id_first) < 0 || fchmod(fd, mode) < 0)) {
		r = -errno;
	}
	return r;
}

/* rename() replaces a symlink itself, not what it points to. */
static int put_file(
	int dir, const struct plan *plan, const char *name, const char *text, mode_t mode) {
	(void)unlinkat(dir, PART, 0);
	_cleanup_fd_ int fd =
		openat(dir, PART, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		return -errno;
	}
	int r = fill_part(fd, plan, text, mode);
	if (r == 0 && renameat(dir, PART, dir, name) < 0) {
		r = -errno;
	}
	if (r < 0) {
		(void)unlinkat(dir, PART, 0);
	}
	return r;
}

static void make_machine_id(char ret[34]) {
	uint8_t bytes[16] = {0};
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
		abort();
	}
	/* The form of a random UUID, which some readers insist on. */
	bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
	bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	}
	memcpy(ret + 32, "\n", 2);
}

static void hosts_text(const struct plan *plan, char ret[TEXT_SIZE]) {
	const char *own = plan->address[0] ? plan->address : "127.0.1.1";
	(void)snprintf(ret, TEXT_SIZE,
		"127.0.0.1 localhost\n%s %s\n::1 localhost ip6-localhost ip6-loopback\n", own,
		plan->record.name);
}

static int seed_etc(int etc, const struct plan *plan, const char *machine_id) {
	char text[TEXT_SIZE];
	(void)snprintf(text, sizeof(text), "%s\n", plan->record.name);
	int r = put_file(etc, plan, "hostname", text, 0644);
	hosts_text(plan, text);
	r = r < 0 ? r : put_file(etc, plan, "hosts", text, 0644);
	text[0] = '\0';
	if (plan->address[0]) {
		(void)snprintf(text, sizeof(text), "nameserver %s\n", plan->gateway);
	}
	r = r < 0 ? r : put_file(etc, plan, "resolv.conf", text, 0644);
	return r < 0 ? r : put_file(etc, plan, "machine-id", machine_id, 0444);
}

static int seed_dir(int root, const char *path, const struct plan *plan, const char *machine_id) {
	_cleanup_fd_ int dir = open_dir(root, path);
	if (dir < 0) {
		return take_fd(dir);
	}
	return strcmp(path, "etc") == 0 ? seed_etc(dir, plan, machine_id)
					: put_file(dir, plan, "machine-id", machine_id, 0444);
}

int seed_root(const struct plan *plan, struct cua_err *err) {
	char machine_id[34];
	make_machine_id(machine_id);
	_cleanup_fd_ int root = open(plan->rootfs, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root < 0) {
		return cua_err_errno(err, errno, "cannot open the session's root");
	}
	int r = seed_dir(root, "etc", plan, machine_id);
	if (r < 0) {
		(void)cua_err_errno(err, r, "cannot write the session's files in /etc");
		return r == -ENOSPC || r == -EIO ? -(int)(err ? err->code : CUA_EXHAUSTED)
						 : cua_err_about(err, CUA_INVALID, "template",
							   "template '%s' has no proper /etc: %s",
							   plan->record.template, strerror(-r));
	}
	/* dbus keeps a copy of its own; a template without dbus has no such directory. */
	r = seed_dir(root, "var/lib/dbus", plan, machine_id);
	if (r < 0 && r != -ENOENT && r != -ELOOP && r != -ENOTDIR) {
		return cua_err_errno(err, r, "cannot write the session's machine-id");
	}
	return 0;
}
