/* The configuration of a session's container, each line with its reason. Writes nothing anywhere.
 * Keys are written twice where cgroup v1 and v2 name them differently: liblxc ignores those whose
 * hierarchy does not exist. */
#include "server/supervisor/lxcconf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "server/supervisor/cgroup.h"

#define LXCFS "/var/lib/lxcfs"
#define FUSE_MAGIC 0x65735546
#define FILES_SOFT ((uint64_t)1024)
#define FILES_HARD ((uint64_t)524288)
#define TMPFS_MIN ((uint64_t)16 << 20)

static const struct lxcconf_item fixed[] = {
	{"lxc.signal.halt", "SIGTERM"},
	{"lxc.signal.stop", "SIGKILL"},
	{"lxc.tty.max", "0"},
	{"lxc.pty.max", "1024"},
	{"lxc.autodev", "1"},
	{"lxc.autodev.tmpfs.size", "500000"},
	{"lxc.log.level", "NOTICE"},
	{"lxc.prlimit.core", "0"}, /* dumps would hold what the agent typed */
	{"lxc.cap.drop", "sys_time sys_module sys_rawio mac_admin mac_override"},
	{"lxc.mount.auto", "proc:mixed sys:mixed cgroup:mixed"},
	/* The kernel lets a nested namespace mount its own /proc and /sys only while whole ones are
	 * visible; Chromium's and bubblewrap's sandboxes need that. */
	{"lxc.mount.entry", "proc dev/.lxc/proc proc create=dir 0 0"},
	{"lxc.mount.entry", "sysfs dev/.lxc/sys sysfs create=dir 0 0"},
};

/* Who may use which device; mknod is refused in a user namespace anyway. */
static const char *const devices[] = {
	"c 1:3 rwm", /* null */
	"c 1:5 rwm", /* zero */
	"c 1:7 rwm", /* full */
	"c 1:8 rwm", /* random */
	"c 1:9 rwm", /* urandom */
	"c 5:0 rwm", /* tty */
	"c 5:1 rwm", /* console */
	"c 5:2 rwm", /* ptmx */
	"c 136:* rwm", /* pts */
	"c 10:229 rwm", /* fuse */
	"c 10:200 rwm", /* net/tun */
};

static const char *const lxcfs_files[] = {
	"proc/cpuinfo",
	"proc/diskstats",
	"proc/loadavg",
	"proc/meminfo",
	"proc/slabinfo",
	"proc/stat",
	"proc/swaps",
	"proc/uptime",
	"sys/devices/system/cpu/online",
};

static void CUA_PRINTF(3, 4) put(FILE *out, const char *key, const char *fmt, ...) {
	va_list ap;
	va_start(ap, fmt);
	(void)fprintf(out, "%s\t", key);
	(void)vfprintf(out, fmt, ap);
	(void)fputc('\n', out);
	va_end(ap);
}

static void put_identity(FILE *out, const struct plan_host *host, const struct plan *plan) {
	const cua_Screen *s = &plan->record.screen;
	put(out, "lxc.rootfs.path", "dir:%s", plan->rootfs);
	put(out, "lxc.rootfs.mount", "%s/root", plan->lxcpath);
	put(out, "lxc.uts.name", "%s", plan->record.name);
	put(out, "lxc.idmap", "u 0 %" PRIu32 " %u", plan->id_first, PLAN_IDS_PER_SESSION);
	put(out, "lxc.idmap", "g 0 %" PRIu32 " %u", plan->id_first, PLAN_IDS_PER_SESSION);
	put(out, "lxc.init.cmd",
		"/run/cuad/init --screen %" PRIu32 "x%" PRIu32 " --max %" PRIu32 "x%" PRIu32
		" --dpi %" PRIu32 " --link /run/cuad/link/sock",
		s->width, s->height, s->max_width, s->max_height, s->dpi);
	put(out, "lxc.log.file", "%s/log", plan->lxcpath);
	put(out, "lxc.console.path", "none");
	put(out, "lxc.seccomp.profile", "%s/seccomp.policy", host->data_dir);
	put(out, "lxc.seccomp.allow_nesting", "1");
	if (access("/sys/kernel/security/apparmor/profiles", F_OK) == 0) {
		put(out, "lxc.apparmor.profile", "unconfined");
	}
}

/* The usual soft limit, and as hard a one as we may give: raising our own needs a capability that the
 * root of a virtual machine or container may lack. */
static void put_files_limit(FILE *out) {
	struct rlimit own = {.rlim_max = FILES_SOFT};
	(void)getrlimit(RLIMIT_NOFILE, &own);
	uint64_t hard = own.rlim_max < FILES_HARD ? own.rlim_max : FILES_HARD;
	put(out, "lxc.prlimit.nofile", "%" PRIu64 ":%" PRIu64,
		hard < FILES_SOFT ? hard : FILES_SOFT, hard);
}

static void put_devices(FILE *out) {
	put(out, "lxc.cgroup.devices.deny", "a");
	put(out, "lxc.cgroup2.devices.deny", "a");
	for (size_t i = 0; i < CUA_COUNT(devices); i++) {
		put(out, "lxc.cgroup.devices.allow", "%s", devices[i]);
		put(out, "lxc.cgroup2.devices.allow", "%s", devices[i]);
	}
}

static void put_limits(FILE *out, const struct plan *plan) {
	const cua_Limits *l = &plan->record.limits;
	/* A period of 100 ms: a thousandth of a CPU is 100 us of it. */
	uint64_t quota = (uint64_t)l->cpu_milli * 100;
	put(out, "lxc.cgroup.dir.monitor", CGROUP_TOP "/%s" CGROUP_MONITOR, plan->record.id);
	put(out, "lxc.cgroup.dir.monitor.pivot", CGROUP_TOP "/pivot");
	put(out, "lxc.cgroup.dir.container", CGROUP_TOP "/%s", plan->record.id);
	put(out, "lxc.cgroup.pids.max", "%" PRIu32, l->pids);
	put(out, "lxc.cgroup2.pids.max", "%" PRIu32, l->pids);
	put(out, "lxc.cgroup.memory.limit_in_bytes", "%" PRIu64, l->memory);
	put(out, "lxc.cgroup2.memory.max", "%" PRIu64, l->memory);
	if (cgroup_v1_has("memory", "memory.memsw.limit_in_bytes")) {
		put(out, "lxc.cgroup.memory.memsw.limit_in_bytes", "%" PRIu64, l->memory);
	}
	put(out, "lxc.cgroup.cpu.cfs_period_us", "100000");
	put(out, "lxc.cgroup.cpu.cfs_quota_us", "%" PRIu64, quota);
	put(out, "lxc.cgroup2.cpu.max", "%" PRIu64 " 100000", quota);
	put_files_limit(out);
	put_devices(out);
}

static void put_tmpfs(
	FILE *out, const char *target, const char *mode, uint64_t size, const char *more) {
	put(out, "lxc.mount.entry",
		"tmpfs %s tmpfs rw,nosuid,nodev%s,mode=%s,size=%" PRIu64 ",create=dir 0 0", target,
		more, mode, size < TMPFS_MIN ? TMPFS_MIN : size);
}

static void put_device_file(FILE *out, const char *path) {
	struct stat st;
	if (stat(path, &st) == 0 && S_ISCHR(st.st_mode)) {
		put(out, "lxc.mount.entry", "%s %s none bind,create=file,optional 0 0", path,
			path + 1);
	}
}

static void put_lxcfs(FILE *out) {
	struct statfs fs;
	if (statfs(LXCFS, &fs) < 0 || fs.f_type != FUSE_MAGIC) {
		return;
	}
	for (size_t i = 0; i < CUA_COUNT(lxcfs_files); i++) {
		put(out, "lxc.mount.entry", LXCFS "/%s %s none bind,ro,optional 0 0",
			lxcfs_files[i], lxcfs_files[i]);
	}
}

static void put_mounts(FILE *out, const struct plan_host *host, const struct plan *plan) {
	uint64_t memory = plan->record.limits.memory;
	/* Together less than all: who fills them meets an error, not the end of PID 1. */
	put_tmpfs(out, "dev/shm", "1777", memory / 2, "");
	put_tmpfs(out, "tmp", "1777", memory / 4, "");
	put_tmpfs(out, "run", "755", memory / 16, "");
	put(out, "lxc.mount.entry",
		"%s tmp/.X11-unix none bind,rw,nosuid,nodev,noexec,create=dir 0 0", plan->x11);
	put(out, "lxc.mount.entry",
		"%s run/cuad/link none bind,ro,nosuid,nodev,noexec,create=dir 0 0", plan->link);
	put(out, "lxc.mount.entry",
		"%s/cuad-init run/cuad/init none bind,ro,nosuid,nodev,create=file 0 0",
		host->libexec_dir);
	put_device_file(out, "/dev/fuse");
	put_device_file(out, "/dev/net/tun");
	put_lxcfs(out);
}

static void put_network(FILE *out, const struct plan *plan) {
	if (!plan->address[0]) {
		put(out, "lxc.net.0.type", "empty");
		put(out, "lxc.net.0.flags", "up");
		return;
	}
	put(out, "lxc.net.0.type", "veth");
	put(out, "lxc.net.0.veth.mode", "router");
	put(out, "lxc.net.0.veth.pair", "%s", plan->interface);
	put(out, "lxc.net.0.name", "eth0");
	put(out, "lxc.net.0.hwaddr", "%s", plan->hwaddr);
	put(out, "lxc.net.0.ipv4.address", "%s/32", plan->address);
	put(out, "lxc.net.0.ipv4.gateway", "%s", plan->gateway);
	put(out, "lxc.net.0.flags", "up");
	if (access("/proc/sys/net/ipv6", F_OK) == 0) {
		put(out, "lxc.sysctl.net.ipv6.conf.eth0.disable_ipv6", "1");
	}
	put(out, "lxc.sysctl.net.ipv4.ping_group_range", "0 65535");
}

/* Cuts "key\tvalue\n" lines into items. */
static int split(struct lxcconf *conf) {
	size_t lines = 0;
	for (const char *p = conf->text; (p = strchr(p, '\n')); p++) {
		lines++;
	}
	conf->items = calloc(lines + 1, sizeof(*conf->items));
	if (!conf->items) {
		return -ENOMEM;
	}
	char *rest = NULL;
	for (char *l = strtok_r(conf->text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
		char *value = strchr(l, '\t');
		*value = '\0';
		conf->items[conf->count++] = (struct lxcconf_item){.key = l, .value = value + 1};
	}
	return 0;
}

int lxcconf_make(const struct plan_host *host, const struct plan *plan, struct lxcconf *ret,
	struct cua_err *err) {
	struct lxcconf conf = {0};
	size_t len = 0;
	FILE *out = open_memstream(&conf.text, &len);
	if (!out) {
		return cua_err_errno(err, errno, "cannot make the container's configuration");
	}
	put_identity(out, host, plan);
	put_limits(out, plan);
	for (size_t i = 0; i < CUA_COUNT(fixed); i++) {
		put(out, fixed[i].key, "%s", fixed[i].value);
	}
	put_mounts(out, host, plan);
	put_network(out, plan);
	int r = fclose(out) == 0 ? split(&conf) : -ENOMEM;
	if (r < 0) {
		lxcconf_done(&conf);
		return cua_err_errno(err, r, "cannot make the container's configuration");
	}
	*ret = conf;
	return 0;
}

void lxcconf_done(struct lxcconf *conf) {
	free(conf->items);
	free(conf->text);
	*conf = (struct lxcconf){0};
}
