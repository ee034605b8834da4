/* First steps of PID 1. All of it is idempotent: most of it is there already in a container that
 * liblxc set up, and all of it after a restart on the same disk. */
#include "server/init/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/log.h"
#include "server/init/account.h"

static const struct {
	const char *probe; /* nothing is mounted when this exists */
	const char *target;
	const char *type;
	unsigned long flags;
	const char *data;
} mounts[] = {
	{"/proc/self", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
	{"/dev/pts/ptmx", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=0620,gid=5"},
	{"/dev/shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"},
};

static const struct {
	const char *path;
	mode_t mode;
} dirs[] = {
	{"/tmp", 01777},
	{"/tmp/.X11-unix", 01777},
	{"/tmp/.ICE-unix", 01777},
	{"/run/user", 0755},
	{"/run/lock", 01777},
	{"/run/dbus", 0755},
	{"/var/log", 0755},
	{"/var/log/cuad", 0755},
};

static const struct {
	const char *target;
	const char *path;
} links[] = {
	{"/proc/self/fd", "/dev/fd"},
	{"/proc/self/fd/0", "/dev/stdin"},
	{"/proc/self/fd/1", "/dev/stdout"},
	{"/proc/self/fd/2", "/dev/stderr"},
	{"pts/ptmx", "/dev/ptmx"},
};

/* Left by a run that was killed; each of them keeps its program from starting again. */
static const char *const remains[] = {"/run/dbus/pid", "/run/dbus/system_bus_socket"};

static void mount_missing(void) {
	for (size_t i = 0; i < CUA_COUNT(mounts); i++) {
		if (access(mounts[i].probe, F_OK) == 0) {
			continue;
		}
		(void)mkdir(mounts[i].target, 0755);
		if (mount(mounts[i].type, mounts[i].target, mounts[i].type, mounts[i].flags,
			    mounts[i].data) < 0) {
			cua_log(CUA_LOG_WARN, "boot: cannot mount %s: %s", mounts[i].target,
				strerror(errno));
		}
	}
}

static void make_dir(const char *path, mode_t mode, uid_t uid, gid_t gid) {
	struct stat st;
	if ((mkdir(path, mode) < 0 && errno != EEXIST) || lstat(path, &st) < 0 ||
		!S_ISDIR(st.st_mode)) {
		cua_log(CUA_LOG_WARN, "boot: no directory %s: %s", path, strerror(errno));
		return;
	}
	if ((st.st_uid != uid || st.st_gid != gid) && chown(path, uid, gid) < 0) {
		cua_log(CUA_LOG_WARN, "boot: cannot own %s: %s", path, strerror(errno));
	}
	if ((st.st_mode & 07777) != mode && chmod(path, mode) < 0) {
		cua_log(CUA_LOG_WARN, "boot: cannot set the mode of %s: %s", path, strerror(errno));
	}
}

static void make_dirs(void) {
	struct account agent = {.uid = 1000, .gid = 1000};
	struct cua_err err;
	if (account_find("/etc", NULL, &agent, &err) < 0) {
		cua_log(CUA_LOG_WARN, "boot: %s", err.message);
	}
	for (size_t i = 0; i < CUA_COUNT(dirs); i++) {
		make_dir(dirs[i].path, dirs[i].mode, 0, 0);
	}
	char runtime[64];
	(void)snprintf(runtime, sizeof(runtime), "/run/user/%u", (unsigned)agent.uid);
	make_dir(runtime, 0700, agent.uid, agent.gid);
	(void)snprintf(runtime, sizeof(runtime), "/run/user/%u/bus", (unsigned)agent.uid);
	(void)unlink(runtime);
}

static void make_links(void) {
	for (size_t i = 0; i < CUA_COUNT(links); i++) {
		if (symlink(links[i].target, links[i].path) < 0 && errno != EEXIST) {
			cua_log(CUA_LOG_WARN, "boot: cannot make %s: %s", links[i].path,
				strerror(errno));
		}
	}
}

static void write_etc(const char *name, const char *text) {
	_cleanup_fd_ int etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct cua_err err;
	if (fd_replace_file(etc, name, text, strlen(text), 0644, &err) < 0) {
		cua_log(CUA_LOG_WARN, "boot: /etc/%s: %s", name, err.message);
	}
}

/* Every session of a template is another machine, so a template has an empty file or none. */
static void make_machine_id(void) {
	_cleanup_free_ char *text = account_read_file("/etc/machine-id", NULL);
	if (text && strlen(text) >= 32) {
		return;
	}
	unsigned char bytes[16];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
		return;
	}
	char id[34];
	for (size_t i = 0; i < sizeof(bytes); i++) {
		(void)snprintf(id + 2 * i, 3, "%02x", bytes[i]);
	}
	id[32] = '\n';
	id[33] = '\0';
	write_etc("machine-id", id);
}

static bool has_word(const char *text, const char *word) {
	size_t len = strlen(word);
	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
		bool begins = at > text && strchr(" \t", at[-1]);
		if (begins && (at[len] == '\0' || strchr(" \t\n", at[len]))) {
			return true;
		}
	}
	return false;
}

/* sudo and others look the machine's own name up, and wait for DNS when nobody knows it. */
static void name_machine(void) {
	char host[65] = "";
	if (gethostname(host, sizeof(host) - 1) < 0 || host[0] == '\0') {
		return;
	}
	_cleanup_free_ char *hosts = account_read_file("/etc/hosts", NULL);
	if (hosts && has_word(hosts, host)) {
		return;
	}
	_cleanup_free_ char *text = NULL;
	if (asprintf(&text, "%s127.0.1.1\t%s\n", hosts ? hosts : "127.0.0.1\tlocalhost\n", host) >=
		0) {
		write_etc("hosts", text);
	}
	char name[67];
	(void)snprintf(name, sizeof(name), "%s\n", host);
	write_etc("hostname", name);
}

static void bring_loopback_up(void) {
	_cleanup_fd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {.ifr_name = "lo"};
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0) {
		cua_log(CUA_LOG_WARN, "boot: no loopback interface: %s", strerror(errno));
		return;
	}
	request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0) {
		cua_log(CUA_LOG_WARN, "boot: loopback stays down: %s", strerror(errno));
	}
}

void boot_prepare(void) {
	(void)umask(0);
	mount_missing();
	make_dirs();
	make_links();
	for (size_t i = 0; i < CUA_COUNT(remains); i++) {
		(void)unlink(remains[i]);
	}
	(void)umask(022);
	make_machine_id();
	name_machine();
	bring_loopback_up();
}
