/* The fixture of the container tests. Only a test may use a shell as freely as this. */
#include "tests/lxc/host.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "server/supervisor/tree.h"

#define CACHE "/var/cache/cuad-test"
#define ROOTFS CACHE "/templates/tiny/rootfs"
#define LOCKS "/run/lxc/lock" /* liblxc leaves the directories above its lock files */
#define SLOTS 40u
#define SLOTS_IN_TESTS 2u
#define OUTPUT_SIZE 65536

static const char init_script[] =
	"#!/bin/sh\n"
	"d=/tmp/.X11-unix\n"
	"[ -p $d/in ] || mkfifo -m 600 $d/in $d/out\n"
	"serve() { while read -r line < $d/in; do\n"
	"  { sh -c \"$line\"; r=$?; echo; echo \"rc=$r\"; } > $d/out 2>&1 < /dev/null\n"
	"done; }\n"
	"trap 'exit 0' TERM\n"
	"serve &\n"
	"wait\n";

static char base[64];
static unsigned tag; /* tells this run's ids from another's */
static pid_t beyond; /* holds the namespace of the machine on the other side */
static struct plan_host host;

const struct plan_host *host_get(void) {
	return &host;
}

int host_outside(const char *line, char *ret, size_t size) {
	FILE *in = popen(line, "r");
	if (!in) {
		abort();
	}
	char rest[4096];
	size_t n = ret ? fread(ret, 1, size - 1, in) : 0;
	if (ret) {
		ret[n] = '\0';
	}
	while (fread(rest, 1, sizeof(rest), in) > 0) {
	}
	int status = pclose(in);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool shell(const char *line) {
	char out[OUTPUT_SIZE];
	if (host_outside(line, out, sizeof(out)) == 0) {
		return true;
	}
	(void)fprintf(stderr, "failed: %s\n%s\n", line, out);
	return false;
}

static bool put(const char *name, const char *text, mode_t mode) {
	char path[160];
	(void)snprintf(path, sizeof(path), "%s/%s", base, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	return fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0 && fchmod(fd, mode) == 0 &&
	       close(fd) == 0;
}

static bool make_template(void) {
	char line[1024];
	(void)snprintf(line, sizeof(line),
		"mkdir -p %s/state/templates/tiny/rootfs %s/libexec && "
		"mount --bind " ROOTFS " %s/state/templates/tiny/rootfs",
		base, base, base);
	return shell(line) && put("state/templates/tiny/layers", "tiny\n", 0644) &&
	       put("libexec/cuad-init", init_script, 0755);
}

/* Mounts of ours are nobody else's, and "/" is shared below as it is under systemd. */
static bool leave_mounts(void) {
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) == 0;
}

bool host_open(const char *data_dir) {
	/* Built once, as every template is: from the host's own archive. */
	if (!shell("\"$CUAD_BUILD\"/server/build/cuad-build tiny --state " CACHE
		   " --data \"$CUAD_SOURCE\"/tests/lxc 2>&1")) {
		return false;
	}
	(void)snprintf(base, sizeof(base), "/var/tmp/cuad-lxc-XXXXXX");
	if (!leave_mounts() || !mkdtemp(base) || chmod(base, 0755) < 0) {
		return false;
	}
	struct cua_err err;
	tag = (unsigned)getpid() & 0xffff;
	(void)snprintf(host.state_dir, sizeof(host.state_dir), "%s/state", base);
	(void)snprintf(host.run_dir, sizeof(host.run_dir), "%s/run", base);
	(void)snprintf(host.libexec_dir, sizeof(host.libexec_dir), "%s/libexec", base);
	(void)snprintf(host.data_dir, sizeof(host.data_dir), "%s", data_dir);
	if (plan_host_pool(&host, "10.213.0.0/16", &err) < 0 || plan_host_ids(&host, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.message);
		return false;
	}
	/* As /run is on a real host. */
	char line[256];
	(void)snprintf(line, sizeof(line),
		"mkdir %s/run && mount -t tmpfs -o nosuid,nodev,noexec,mode=755 run %s/run", base,
		base);
	return shell(line) && make_template();
}

void host_close(void) {
	struct cua_err err = {0};
	for (unsigned slot = 1; slot <= SLOTS; slot++) {
		struct plan plan = host_plan(slot, cua_Network_NETWORK_OPEN);
		if (container_stop(&host, &plan, 0, &err) < 0 ||
			mount_down(&host, &plan, &err) < 0 || mount_erase(&host, &plan, &err) < 0) {
			(void)fprintf(stderr, "cannot clean up: %s\n", err.message);
		}
	}
	char line[512];
	(void)snprintf(line, sizeof(line),
		"umount %s/run/sessions; umount %s/run; umount %s/state/templates/tiny/rootfs; "
		"rm -rf --one-file-system %s " LOCKS "%s",
		base, base, base, base, base);
	(void)host_outside(line, NULL, 0);
}

/* A process with a network namespace of its own, which ends with the test. */
static pid_t start_beyond(void) {
	int ends[2];
	char ready = 0;
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		bool ok = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && unshare(CLONE_NEWNET) == 0 &&
			  write(ends[1], "", 1) == 1;
		while (ok) {
			(void)pause();
		}
		_exit(1);
	}
	(void)close(ends[1]);
	ck_assert_int_eq((int)read(ends[0], &ready, 1), 1);
	(void)close(ends[0]);
	return pid;
}

void host_enter_network(void) {
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	char line[1024];
	beyond = start_beyond();
	(void)snprintf(line, sizeof(line),
		"ip link set lo up && ip link add up0 type veth peer name out0 && "
		"ip link set out0 netns %d && ip addr add 192.0.2.1/24 dev up0 && "
		"ip link set up0 up && n='nsenter -n -t %d' && $n ip link set lo up && "
		"$n ip addr add 192.0.2.9/24 dev out0 && $n ip addr add 10.77.0.9/32 dev out0 && "
		"$n ip addr add 203.0.113.9/32 dev out0 && $n ip link set out0 up && "
		"ip route add default via 192.0.2.9",
		(int)beyond, (int)beyond);
	ck_assert(shell(line));
	for (unsigned slot = 1; slot <= SLOTS_IN_TESTS; slot++) {
		struct plan plan = host_plan(slot, cua_Network_NETWORK_NONE);
		host_end(&plan, 0); /* a test that failed leaves its sessions */
	}
}

const char *host_beyond(const char *line) {
	static char text[512];
	(void)snprintf(
		text, sizeof(text), "nsenter -n -t %d chroot " ROOTFS " %s", (int)beyond, line);
	return text;
}

struct plan host_plan(unsigned slot, cua_Network network) {
	struct plan_record record = {
		.template = "tiny",
		.slot = slot,
		.screen = {1280, 800, 96, 1920, 1200},
		.network = network,
	};
	record.limits = (cua_Limits){
		.has_cpu_milli = true,
		.cpu_milli = 1500,
		.has_memory = true,
		.memory = 256 << 20,
		.has_pids = true,
		.pids = 64,
		.has_disk = true,
		.disk = 512 << 20,
	};
	(void)snprintf(record.id, sizeof(record.id), "test%04x%04u", tag, slot);
	(void)snprintf(record.name, sizeof(record.name), "name-%u", slot);
	struct plan plan;
	struct cua_err err;
	if (plan_make(&host, &record, &plan, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.message);
		abort();
	}
	return plan;
}

static void make_fifo(const struct plan *plan, const char *name) {
	char path[PLAN_PATH + 8];
	(void)snprintf(path, sizeof(path), "%s/%s", plan->x11, name);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(chown(path, plan->id_first, plan->id_first), 0);
}

pid_t host_launch(const struct plan *plan) {
	pid_t init = 0;
	MUST(mount_up(&host, plan, oops));
	make_fifo(plan, "in");
	make_fifo(plan, "out");
	MUST(firewall_add(&host, plan, oops));
	MUST(container_start(&host, plan, &init, oops));
	MUST(firewall_harden(plan, oops));
	return init;
}

void host_end(const struct plan *plan, unsigned grace_ms) {
	MUST(container_stop(&host, plan, grace_ms, oops));
	MUST(firewall_remove(&host, plan, oops));
	MUST(mount_down(&host, plan, oops));
	MUST(mount_erase(&host, plan, oops));
}

static int open_fifo(const struct plan *plan, const char *name, int flags) {
	char path[PLAN_PATH + 8];
	(void)snprintf(path, sizeof(path), "%s/%s", plan->x11, name);
	int fd = open(path, flags | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

int host_inside(const struct plan *plan, const char *line, char *ret, size_t size) {
	char all[OUTPUT_SIZE];
	char text[4096];
	(void)snprintf(text, sizeof(text), "%s\n", line);
	int in = open_fifo(plan, "in", O_WRONLY);
	ck_assert_int_eq(fd_write_all(in, text, strlen(text)), 0);
	(void)close(in);
	int out = open_fifo(plan, "out", O_RDONLY);
	ssize_t n = fd_read_all(out, all, sizeof(all) - 1);
	ck_assert_int_ge((int)n, 0);
	all[n] = '\0';
	(void)close(out);
	char *rc = strstr(all, "\nrc=");
	ck_assert_msg(rc != NULL, "no status of '%s' in: %s", line, all);
	*rc = '\0';
	if (ret) {
		(void)snprintf(ret, size, "%s", all);
	}
	return (int)strtol(rc + 4, NULL, 10);
}

char *host_traces(void) {
	char line[1024];
	char *text = calloc(1, OUTPUT_SIZE);
	(void)snprintf(line, sizeof(line),
		"grep -F %s/ /proc/self/mountinfo | awk '{print $5}' | sort; losetup -a | grep -F "
		"%s/; ls /sys/class/net >/dev/null; ip -o link | cut -d: -f2 | sort; find "
		"/sys/fs/cgroup -type d -path '*/cuad/test%04x*' | sort; find /run/lxc -path "
		"'*%s/run/sessions/*' 2>/dev/null | sort; find %s/state/sessions %s/run/sessions | "
		"sort; nft "
		"list table inet cuad 2>&1 | grep '\"cs[0-9]'",
		base, base, tag, base, base, base);
	(void)host_outside(line, text, OUTPUT_SIZE);
	return text;
}
