/* doctor: what this host can and cannot do, with the remedy for what is wrong. Looks and tries, but
 * changes nothing. */
#include "server/ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum verdict { OK, WARN, FAIL };

struct finding {
	enum verdict verdict;
	char text[256];
	char remedy[256];
};

static void found(struct finding *f, enum verdict verdict, const char *remedy, const char *fmt, ...)
	CUA_PRINTF(4, 5);
static void found(
	struct finding *f, enum verdict verdict, const char *remedy, const char *fmt, ...) {
	f->verdict = verdict;
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	(void)snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
}

/* Runs a probe in a child, for it changes namespaces; 0 or its errno. */
static int in_child(int (*probe)(void)) {
	pid_t pid = fork();
	if (pid == 0) {
		_exit(probe());
	}
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status)) {
		return EINVAL;
	}
	return WEXITSTATUS(status);
}

static int probe_userns(void) {
	return unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) < 0 ? errno : 0;
}

static void check_userns(struct finding *f) {
	int errnum = in_child(probe_userns);
	if (errnum == 0) {
		found(f, OK, "", "user namespaces work");
	} else {
		found(f, FAIL, "sysctl -w user.max_user_namespaces=65536", "user namespaces: %s",
			strerror(errnum));
	}
}

static bool file_contains(const char *path, const char *word) {
	FILE *file = fopen(path, "re");
	char line[1024];
	bool hit = false;
	while (file && !hit && fgets(line, sizeof(line), file)) {
		hit = strstr(line, word) != NULL;
	}
	if (file) {
		(void)fclose(file);
	}
	return hit;
}

/* The kernel loads a file system's module at its first mount. */
static bool has_module(const char *name) {
	struct utsname kernel;
	char path[sizeof(kernel.release) + 32];
	if (uname(&kernel) < 0) {
		return false;
	}
	(void)snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", kernel.release);
	return file_contains(path, name);
}

static void check_overlay(struct finding *f) {
	if (file_contains("/proc/filesystems", "\toverlay") || has_module("/overlay.ko")) {
		found(f, OK, "", "the kernel has overlay");
	} else {
		found(f, FAIL, "modprobe overlay", "the kernel has no overlay file system");
	}
}

static void check_idmap(struct finding *f) {
	/* with a wrong size the call answers E2BIG or EINVAL where it exists, ENOSYS where not */
	long r = syscall(SYS_mount_setattr, -1, "", 0, NULL, 0);
	if (r < 0 && errno == ENOSYS) {
		found(f, FAIL, "use a kernel of 5.19 or newer",
			"the kernel has no idmapped mounts");
	} else {
		found(f, OK, "", "the kernel has idmapped mounts");
	}
}

static void check_cgroups(struct finding *f) {
	bool v2 = access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0;
	bool v1 = file_contains("/proc/self/mountinfo", "/sys/fs/cgroup/memory");
	if (v2) {
		const char *file = "/sys/fs/cgroup/cgroup.controllers";
		bool all = file_contains(file, "memory") && file_contains(file, "pids") &&
			   file_contains(file, "cpu");
		found(f, all ? OK : FAIL, "boot without cgroup_disable=", "cgroup v2%s",
			all ? "" : ": cpu, memory or pids is missing");
	} else if (v1) {
		found(f, OK, "", "cgroup v1 controllers");
	} else {
		found(f, FAIL, "mount -t cgroup2 none /sys/fs/cgroup", "no cgroups are mounted");
	}
}

static void check_ids(struct finding *f) {
	bool uid = file_contains("/etc/subuid", "root:");
	bool gid = file_contains("/etc/subgid", "root:");
	if (uid && gid) {
		found(f, OK, "", "root has id ranges in /etc/subuid and /etc/subgid");
	} else {
		found(f, FAIL, "echo root:1000000:655360000 | tee -a /etc/subuid /etc/subgid",
			"root has no id range in %s", uid ? "/etc/subgid" : "/etc/subuid");
	}
}

static void check_nft(struct finding *f) {
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 12 /* NETLINK_NETFILTER */);
	if (fd < 0) {
		found(f, FAIL, "modprobe nf_tables", "nftables: %s", strerror(errno));
		return;
	}
	(void)close(fd);
	found(f, OK, "", "the kernel has netfilter");
}

static void check_lxcfs(struct finding *f) {
	if (file_contains("/proc/self/mountinfo", "lxcfs")) {
		found(f, OK, "", "lxcfs shows each session its own limits");
	} else {
		found(f, WARN,
			"apt-get install lxcfs; systemctl start lxcfs, or without systemd: lxcfs "
			"/var/lib/lxcfs &",
			"lxcfs does not run: programs in sessions see the host's memory and load");
	}
}

static void check_loop(struct finding *f) {
	if (access("/dev/loop-control", W_OK) == 0) {
		found(f, OK, "", "loop devices can be made (disk limits)");
	} else {
		found(f, FAIL, "modprobe loop; run as root", "/dev/loop-control: %s",
			strerror(errno));
	}
}

static void check_disk(struct finding *f) {
	struct statvfs vfs;
	const char *path = access("/var/lib/cuad", F_OK) == 0 ? "/var/lib/cuad" : "/var/lib";
	if (statvfs(path, &vfs) < 0) {
		found(f, FAIL, "", "%s: %s", path, strerror(errno));
		return;
	}
	double room = (double)vfs.f_bavail * (double)vfs.f_frsize;
	char size[32];
	print_size(room, size, sizeof(size));
	found(f,
		room < 2e9    ? FAIL
		: room < 10e9 ? WARN
			      : OK,
		"make room under /var/lib/cuad", "%s free under %s", size, path);
}

static void check_templates(struct finding *f) {
	if (access("/var/lib/cuad/templates/desktop/manifest.json", F_OK) == 0) {
		found(f, OK, "", "template desktop is there");
	} else if (access("/var/lib/cuad/templates/base/manifest.json", F_OK) == 0) {
		found(f, WARN, "cuactl template build desktop", "only template base is there");
	} else {
		found(f, FAIL, "cuactl template build desktop", "there is no template");
	}
}

static void check_gpu(struct finding *f) {
	if (access("/dev/nvidiactl", F_OK) == 0) {
		found(f, OK, "", "an NVIDIA GPU is there");
	} else if (access("/dev/dri/renderD128", F_OK) == 0) {
		found(f, OK, "", "a render node is there");
	} else {
		found(f, OK, "", "no GPU: desktops are drawn by the CPU");
	}
}

static void check_service(struct finding *f, const char *socket_path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
		found(f, OK, "", "the service answers on %s", socket_path);
	} else if (errno == EACCES) {
		found(f, FAIL, "run as root, or join the group cuad", "%s: %s", socket_path,
			strerror(errno));
	} else {
		found(f, FAIL, "systemctl start cuad (or ./bootstrap.sh up)",
			"the service is not there: %s", strerror(errno));
	}
}

static const char *const verdict_names[] = {[OK] = "ok", [WARN] = "warn", [FAIL] = "fail"};

static json_t *finding_json(const char *name, const struct finding *f) {
	return json_pack("{s:s,s:s,s:s,s:s}", "check", name, "result", verdict_names[f->verdict],
		"text", f->text, "remedy", f->verdict == OK ? "" : f->remedy);
}

static void print_finding(const struct finding *f) {
	(void)printf("%-5s %s\n", verdict_names[f->verdict], f->text);
	if (f->verdict != OK && f->remedy[0]) {
		(void)printf("      remedy: %s\n", f->remedy);
	}
}

int cmd_doctor(struct ctl *ctl, const struct args *args) {
	(void)args;
	static const struct {
		const char *name;
		void (*check)(struct finding *f);
	} checks[] = {{"userns", check_userns}, {"overlay", check_overlay}, {"idmap", check_idmap},
		{"cgroups", check_cgroups}, {"ids", check_ids}, {"nftables", check_nft},
		{"lxcfs", check_lxcfs}, {"loop", check_loop}, {"disk", check_disk},
		{"templates", check_templates}, {"gpu", check_gpu}, {"service", NULL}};
	json_t *all = json_array();
	bool failed = false;
	for (size_t i = 0; i < CUA_COUNT(checks); i++) {
		struct finding f = {0};
		if (checks[i].check) {
			checks[i].check(&f);
		} else {
			check_service(&f, ctl->where.socket);
		}
		failed = failed || f.verdict == FAIL;
		(void)json_array_append_new(all, finding_json(checks[i].name, &f));
		if (!ctl->json) {
			print_finding(&f);
		}
	}
	if (ctl->json) {
		print_json(all);
	}
	json_decref(all);
	return failed ? EXIT_FAILED : EXIT_DONE;
}
