/* Real containers, disks and nftables: what a session's host side promises, from inside and from
 * outside. Needs root. Each test runs in a network namespace of its own. */
#include "tests/lxc/host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "server/supervisor/cgroup.h"
#include "server/supervisor/image.h"
#include "server/supervisor/layer.h"
#include "server/supervisor/proc.h"
#include "server/supervisor/seed.h"
#include "server/supervisor/tree.h"

#define OPEN cua_Network_NETWORK_OPEN
#define NONE cua_Network_NETWORK_NONE
#define CYCLES 20
#define TIMEOUT_S 120

static void setup(void) {
	MUST(mount_prepare(host_get(), oops));
	host_enter_network();
	MUST(firewall_apply(host_get(), NULL, 0, NULL, 0, oops));
}

static void inside_says(const struct plan *plan, const char *line, const char *wanted) {
	char out[4096];
	(void)host_inside(plan, line, out, sizeof(out));
	out[strcspn(out, "\n")] = '\0';
	ck_assert_msg(strcmp(out, wanted) == 0, "'%s' says '%s', not '%s'", line, out, wanted);
}

static void inside_is(const struct plan *plan, const char *line, bool success) {
	char out[4096];
	int status = host_inside(plan, line, out, sizeof(out));
	ck_assert_msg((status == 0) == success, "'%s' ended with %d: %s", line, status, out);
}

static void outside_is(const char *line, bool success) {
	char out[4096];
	int status = host_outside(line, out, sizeof(out));
	ck_assert_msg((status == 0) == success, "'%s' ended with %d: %s", line, status, out);
}

START_TEST(test_start_and_stop) {
	struct plan plan = host_plan(1, OPEN);
	pid_t init = host_launch(&plan);
	ck_assert_int_gt(init, 0);
	ck_assert_int_eq(container_init_pid(host_get(), &plan), init);
	inside_says(&plan, "cat /proc/sys/kernel/hostname", "name-1");
	inside_says(&plan, "cat /etc/hostname", "name-1");
	inside_says(&plan, "cat /etc/resolv.conf", "nameserver 10.213.255.1");
	inside_says(&plan, "getent hosts name-1 | tr -s ' '", "10.213.0.3 name-1");
	inside_says(&plan, "grep -c . /etc/machine-id; ", "1");
	inside_says(&plan, "stat -c %u:%g:%a /etc/hosts", "0:0:644");
	inside_says(&plan, "stat -c %u:%a /tmp/.X11-unix /tmp | tr '\\n' ' '", "0:1777 0:1777 ");
	inside_is(&plan, "touch /run/cuad/link/x", false);
	inside_is(&plan, "echo x >> /run/cuad/init", false);
	inside_is(&plan, "touch /usr/bin/new && chown 1000:1000 /usr/bin/new", true);
	inside_says(&plan, "tr '\\0' ' ' < /proc/1/cmdline",
		"/bin/sh /run/cuad/init --screen 1280x800 --max 1920x1200 --dpi 96 --link "
		"/run/cuad/link/sock ");
	/* The template is not written through, and a second start is refused. */
	struct cua_err err;
	pid_t again = 0;
	ck_assert_int_eq(container_start(host_get(), &plan, &again, &err), -CUA_CONFLICT);
	ck_assert_int_eq(container_init_pid(host_get(), &plan), init);
	host_end(&plan, 5000);
	ck_assert_int_eq(container_init_pid(host_get(), &plan), 0);
}
END_TEST

START_TEST(test_disk_survives_restart) {
	struct plan plan = host_plan(1, OPEN);
	(void)host_launch(&plan);
	inside_is(&plan, "echo kept > /root/file; echo mine > /etc/hosts", true);
	MUST(container_stop(host_get(), &plan, 5000, oops));
	MUST(mount_down(host_get(), &plan, oops));
	ck_assert_int_lt(access(plan.run, F_OK), 0);
	plan.record.complete = true;
	(void)host_launch(&plan);
	inside_says(&plan, "cat /root/file", "kept");
	inside_says(&plan, "cat /etc/hosts", "mine");
	host_end(&plan, 0);
}
END_TEST

START_TEST(test_limits) {
	struct plan plan = host_plan(1, NONE);
	pid_t init = host_launch(&plan);
	char line[512];
	static const struct cgroup_file pids = {"pids", "pids.max", "pids.max"};
	static const struct cgroup_file memory = {"memory", "memory.limit_in_bytes", "memory.max"};
	static const struct cgroup_file cpu = {"cpu", "cpu.cfs_quota_us", "cpu.max"};
	uint64_t value = 0;
	ck_assert(cgroup_read_u64(plan.record.id, &pids, &value) && value == 64);
	ck_assert(cgroup_read_u64(plan.record.id, &memory, &value) && value == 256 << 20);
	ck_assert(cgroup_read_u64(plan.record.id, &cpu, &value) && value == 150000);
	/* Forks end at the limit; what asks for more memory dies, not the container. */
	inside_is(&plan, "for i in $(seq 100); do sleep 30 & done 2>&1; wait", false);
	inside_is(&plan, "pkill sleep; true", true);
	inside_is(&plan, "head -c 400M /dev/zero | tail | wc -c | grep -q 419430400", false);
	ck_assert_int_eq(container_init_pid(host_get(), &plan), init);
	/* Not even root inside loosens them. */
	inside_is(&plan,
		"for f in $(find /sys/fs/cgroup -name memory.limit_in_bytes -o -name "
		"memory.max -o -name pids.max -o -name cpu.cfs_quota_us -o -name cpu.max "
		"2>/dev/null); do echo 100000000000 > $f && exit 1; done 2>/dev/null; true",
		true);
	ck_assert(cgroup_read_u64(plan.record.id, &pids, &value) && value == 64);
	ck_assert(cgroup_read_u64(plan.record.id, &memory, &value) && value == 256 << 20);
	cua_Usage usage = {0};
	MUST(container_usage(host_get(), &plan, &usage, oops));
	ck_assert_uint_ge(usage.pids, 2);
	ck_assert_uint_gt(usage.cpu_ms, 0);
	ck_assert_uint_gt(usage.memory, 100000);
	(void)snprintf(line, sizeof(line), "grep -q '1065536' /proc/%d/uid_map", (int)init);
	outside_is(line, true);
	host_end(&plan, 0);
}
END_TEST

START_TEST(test_disk_limit) {
	struct plan plan = host_plan(1, NONE);
	struct stat st;
	(void)host_launch(&plan);
	/* Every launch waits until a fresh disk is written. */
	ck_assert_int_eq(stat(plan.image, &st), 0);
	ck_assert_int_lt(st.st_blocks * 512, 2 << 20);
	uint64_t before = 0;
	uint64_t after = 0;
	MUST(mount_usage(&plan, &before, oops));
	inside_is(&plan, "head -c 700M /dev/zero > /root/big", false);
	/* The host's cache of the image is not charged to the session: nobody is killed for it. */
	static const struct cgroup_file events = {"memory", "memory.oom_control", "memory.events"};
	char text[512];
	ck_assert(cgroup_read(plan.record.id, &events, text, sizeof(text)));
	ck_assert_msg(strstr(text, "oom_kill 0"), "%s", text);
	inside_is(
		&plan, "head -c 700M /dev/zero > /root/big2 2>&1 | grep -q 'No space left'", false);
	MUST(mount_usage(&plan, &after, oops));
	ck_assert_uint_gt(after, before + (300 << 20));
	ck_assert_uint_le(after, plan.record.limits.disk);
	/* The socket's directory is no way around it: it is a small file system of its own. */
	inside_is(&plan, "head -c 1M /dev/zero > /tmp/.X11-unix/big", false);
	inside_is(&plan, "rm /root/big /root/big2 /tmp/.X11-unix/big; echo x > /root/small", true);
	/* What was deleted inside is free on the host, too. */
	outside_is("sync -f /var/tmp", true);
	MUST(container_stop(host_get(), &plan, 5000, oops));
	MUST(mount_down(host_get(), &plan, oops));
	ck_assert_int_eq(stat(plan.image, &st), 0);
	ck_assert_int_lt(st.st_blocks * 512, 256 << 20);
	host_end(&plan, 0);
}
END_TEST

START_TEST(test_seccomp) {
	struct plan plan = host_plan(1, NONE);
	(void)host_launch(&plan);
	inside_says(&plan, "grep Seccomp: /proc/self/status | tr -d '\\t'", "Seccomp:2");
	inside_is(&plan, "unshare --kill-child true && true", true);
	inside_is(&plan, "dmesg", false);
	inside_is(&plan, "mknod /root/sda b 8 0", false);
	inside_is(&plan, "perl -e 'use Socket; socket(S, 40, 1, 0) or exit 7'; [ $? = 7 ]", true);
	inside_is(&plan, "perl -e 'use Socket; socket(S, 38, 5, 0) or exit 7'; [ $? = 7 ]", true);
	inside_is(&plan, "perl -e 'use Socket; socket(S, 2, 1, 0) or exit 7'", true);
	inside_is(&plan, "head -c 1 /dev/zero > /dev/null && head -c 4 /dev/urandom > /dev/null",
		true);
	host_end(&plan, 0);
}
END_TEST

START_TEST(test_nested_namespaces) {
	struct plan plan = host_plan(1, NONE);
	(void)host_launch(&plan);
	inside_is(&plan, "unshare -Urmpf --mount-proc true", true);
	inside_is(&plan,
		"setpriv --reuid 1000 --regid 1000 --clear-groups unshare -Urmpf --mount-proc true",
		true);
	inside_is(&plan, "mount -t tmpfs none /mnt && umount /mnt", true);
	inside_is(&plan, "mount -o remount,rw /run/cuad/link", false);
	inside_is(&plan, "df -h /dev/shm | grep -q 128M", true);
	host_end(&plan, 0);
}
END_TEST

START_TEST(test_network_none) {
	struct plan plan = host_plan(1, NONE);
	MUST(firewall_add(host_get(), &plan, oops));
	(void)host_launch(&plan);
	inside_says(&plan, "ls /sys/class/net | tr '\\n' ' '", "lo ");
	inside_is(&plan, "ping -c1 -W1 127.0.0.1", true);
	inside_is(&plan, "ping -c1 -W1 10.213.255.1", false);
	inside_says(&plan, "wc -c < /etc/resolv.conf", "0");
	outside_is("ip link show cs1", false);
	host_end(&plan, 0);
}
END_TEST

/* A listener at an address of the host; ends with the test. The kernel accepts for it. */
static void listen_at(const char *address, uint16_t port) {
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(inet_pton(AF_INET, address, &in.sin_addr), 1);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&in, sizeof(in)), 0);
	ck_assert_int_eq(listen(fd, 16), 0);
}

START_TEST(test_isolation) {
	struct plan one = host_plan(1, OPEN);
	struct plan two = host_plan(2, OPEN);
	(void)host_launch(&one);
	(void)host_launch(&two);
	/* Out: yes. Private, metadata, each other, the host and its other addresses: no. */
	inside_is(&one, "ping -c1 -W2 203.0.113.9", true);
	inside_is(&one, "ping -c1 -W1 10.77.0.9", false);
	inside_is(&one, "ping -c1 -W1 169.254.169.254", false);
	inside_is(&one, "ping -c1 -W1 10.213.0.4", false);
	inside_is(&two, "ping -c1 -W1 10.213.0.3", false);
	inside_is(&one, "ping -c1 -W1 192.0.2.1", false);
	listen_at("192.0.2.1", 2222);
	listen_at("10.213.255.1", 53);
	listen_at("10.213.255.1", 80);
	inside_is(&one, "nc -z -w1 192.0.2.1 2222", false);
	inside_is(&one, "nc -z -w1 10.213.255.1 80", false);
	inside_is(&one, "nc -z -w1 10.213.255.1 53", true);
	inside_is(&one, "ping -c1 -W1 10.213.255.1", true);
	/* Abstract sockets, signals, files of one another. */
	inside_is(&one, "test $(ls -d /proc/[0-9]* | wc -l) -lt 12", true);
	inside_is(&one, "test -e /var/lib/cuad -o -e /run/cuad/cuad.sock", false);
	/* From outside neither a session nor the gateway's address can be reached. */
	outside_is(host_beyond("ip route add 10.213.0.0/16 via 192.0.2.1"), true);
	outside_is(host_beyond("ping -c1 -W1 192.0.2.1"), true);
	outside_is(host_beyond("ping -c1 -W1 10.213.0.3"), false);
	outside_is(host_beyond("ping -c1 -W1 10.213.255.1"), false);
	outside_is(host_beyond("nc -z -w1 10.213.255.1 53"), false);
	outside_is(host_beyond("ip addr add 10.213.0.9/32 dev lo"), true);
	outside_is(host_beyond("nc -z -w1 -s 10.213.0.9 192.0.2.1 2222"), false);
	host_end(&one, 0);
	host_end(&two, 0);
}
END_TEST

START_TEST(test_spoofing) {
	struct plan one = host_plan(1, OPEN);
	struct plan two = host_plan(2, OPEN);
	(void)host_launch(&one);
	(void)host_launch(&two);
	char counted[256];
	inside_is(&one,
		"ip addr add 10.213.0.4/32 dev eth0 && ip addr add 198.51.100.7/32 dev eth0", true);
	inside_is(&one, "ping -c1 -W2 -I 10.213.0.3 203.0.113.9", true); /* and ARP is done */
	inside_is(&one, "ping -c1 -W1 -I 10.213.0.4 203.0.113.9", false);
	inside_is(&one, "ping -c1 -W1 -I 198.51.100.7 203.0.113.9", false);
	inside_is(&one, "ping -c1 -W2 -I 10.213.0.3 203.0.113.9", true);
	(void)host_outside("nft list counter inet cuad spoofed", counted, sizeof(counted));
	ck_assert_msg(!strstr(counted, "packets 0"), "%s", counted);
	/* The neighbour keeps its address. */
	inside_is(&two, "ping -c1 -W2 203.0.113.9", true);
	/* IPv6 is off, and when root inside turns it on, nothing passes. */
	inside_says(&one, "cat /proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1");
	inside_says(&one, "cat /proc/sys/net/ipv6/conf/lo/disable_ipv6", "0");
	inside_is(&one, "ping -c1 -W1 ::1", true);
	inside_is(&one,
		"echo 0 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6; ip -6 addr add fe80::1/64 dev "
		"eth0 nodad; ping -c1 -W1 ff02::1%eth0 | grep -q 'from fe80::[^1]'",
		false);
	outside_is("test $(cat /proc/sys/net/ipv6/conf/cs1/disable_ipv6) = 1", true);
	outside_is("test $(cat /proc/sys/net/ipv4/conf/cs1/rp_filter) = 1", true);
	/* The host answers ARP for the gateway only. */
	inside_is(&one,
		"ip neigh flush all; ip route add 192.0.2.1 dev eth0; ping -c1 -W1 192.0.2.1; "
		"ip neigh show 192.0.2.1 | grep -q lladdr",
		false);
	host_end(&one, 0);
	host_end(&two, 0);
}
END_TEST

START_TEST(test_allowed_by_config) {
	static const char allow[][20] = {"10.0.0.0/8", "192.0.2.1"};
	struct plan one = host_plan(1, OPEN);
	struct plan two = host_plan(2, OPEN);
	const struct plan both[] = {one, two};
	struct cua_err err;
	static const char wrong[][5][20] = {
		{"10.0.0.0/33"}, {"::1"}, {"10.0.0.1 }"}, {"a"}, {"10.1/"}};
	for (size_t i = 0; i < CUA_COUNT(wrong); i++) {
		ck_assert_int_eq(
			firewall_apply(host_get(), NULL, 0, wrong[i], 1, &err), -CUA_INVALID);
	}
	MUST(firewall_apply(host_get(), both, 2, allow, 2, oops));
	(void)host_launch(&one);
	(void)host_launch(&two);
	listen_at("192.0.2.1", 2222);
	inside_is(&one, "ping -c1 -W2 10.77.0.9", true);
	inside_is(&one, "nc -z -w1 192.0.2.1 2222", true);
	/* A wide exception opens neither sessions nor the gateway's other ports. */
	inside_is(&one, "ping -c1 -W1 10.213.0.4", false);
	inside_is(&one, "nc -z -w1 10.213.255.1 80", false);
	inside_is(&one, "ping -c1 -W1 169.254.169.254", false);
	host_end(&one, 0);
	host_end(&two, 0);
}
END_TEST

START_TEST(test_elements_before_link) {
	struct plan plan = host_plan(1, OPEN);
	pid_t init = 0;
	MUST(mount_up(host_get(), &plan, oops));
	MUST(firewall_add(host_get(), &plan, oops));
	MUST(firewall_add(host_get(), &plan, oops));
	outside_is("ip link show cs1", false);
	outside_is("nft get element inet cuad bind4 '{ \"cs1\" . 10.213.0.3 }'", true);
	outside_is("nft get element inet cuad class '{ \"cs1\" }'", true);
	(void)init;
	MUST(firewall_remove(host_get(), &plan, oops));
	MUST(firewall_remove(host_get(), &plan, oops));
	outside_is("nft get element inet cuad class '{ \"cs1\" }' 2>/dev/null", false);
	host_end(&plan, 0);
}
END_TEST

/* Reads the watch until it tells of a deletion, or time is up. */
static bool heard(int fd, int timeout_ms) {
	struct pollfd p = {.fd = fd, .events = POLLIN};
	while (poll(&p, 1, timeout_ms) > 0) {
		if (firewall_watch_read(fd) == 1) {
			return true;
		}
	}
	return false;
}

START_TEST(test_flush_is_mended) {
	struct plan plan = host_plan(1, OPEN);
	struct cua_err err;
	int fd = firewall_watch_open(&err);
	ck_assert_int_ge(fd, 0);
	(void)host_launch(&plan);
	MUST(firewall_apply(host_get(), &plan, 1, NULL, 0, oops));
	ck_assert(!heard(fd, 100)); /* our own doing */
	static const char *const harms[] = {"nft flush ruleset", "nft delete table inet cuad",
		"nft flush table inet cuad", "nft flush chain inet cuad forward"};
	for (size_t i = 0; i < CUA_COUNT(harms); i++) {
		outside_is(harms[i], true);
		ck_assert_msg(heard(fd, 5000), "%s", harms[i]);
		ck_assert(!firewall_intact());
		MUST(firewall_apply(host_get(), &plan, 1, NULL, 0, oops));
		ck_assert(firewall_intact());
		inside_is(&plan, "ping -c1 -W2 203.0.113.9", true);
		inside_is(&plan, "ping -c1 -W1 10.77.0.9", false);
	}
	MUST(firewall_clear(host_get(), oops));
	outside_is("nft list table inet cuad 2>/dev/null", false);
	outside_is("ip addr show lo | grep 10.213", false);
	/* Without a table there is nothing to remove. */
	MUST(firewall_remove(host_get(), &plan, oops));
	(void)close(fd);
	host_end(&plan, 0);
}
END_TEST

START_TEST(test_monitor_killed) {
	struct plan plan = host_plan(1, OPEN);
	_cleanup_free_ char *before = host_traces();
	for (int i = 0; i < 3; i++) {
		struct proc_id monitor;
		struct proc_id init;
		pid_t pid = host_launch(&plan);
		ck_assert(proc_read(pid, &init));
		ck_assert(cgroup_any(plan.record.id, true, &monitor));
		ck_assert_int_eq(monitor.pid, init.parent);
		int fd = proc_open(&init);
		ck_assert_int_eq(kill(monitor.pid, SIGKILL), 0);
		ck_assert(proc_wait(fd, 5000));
		(void)close(fd);
		ck_assert_int_eq(container_init_pid(host_get(), &plan), 0);
		if (i == 1) { /* started again over what is left, without a stop */
			MUST(container_start(host_get(), &plan, &pid, oops));
			inside_is(&plan, "true", true);
		}
		host_end(&plan, 0);
		_cleanup_free_ char *after = host_traces();
		ck_assert_str_eq(before, after);
	}
}
END_TEST

START_TEST(test_stop_of_stubborn_and_frozen) {
	struct plan plan = host_plan(1, OPEN);
	_cleanup_free_ char *before = host_traces();
	(void)host_launch(&plan);
	char line[256];
	(void)snprintf(line, sizeof(line),
		"echo FROZEN > /sys/fs/cgroup/freezer/cuad/%s/freezer.state || echo 1 > "
		"/sys/fs/cgroup/cuad/%s/cgroup.freeze",
		plan.record.id, plan.record.id);
	outside_is(line, true);
	host_end(&plan, 50);
	/* A monitor that does not answer. */
	(void)host_launch(&plan);
	struct proc_id monitor;
	ck_assert(cgroup_any(plan.record.id, true, &monitor));
	ck_assert_int_eq(kill(monitor.pid, SIGSTOP), 0);
	host_end(&plan, 0);
	_cleanup_free_ char *after = host_traces();
	ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(test_cycles_leave_nothing) {
	struct plan plan = host_plan(1, OPEN);
	host_end(&plan, 0);
	_cleanup_free_ char *before = host_traces();
	for (int i = 0; i < CYCLES; i++) {
		(void)host_launch(&plan);
		host_end(&plan, i % 2 ? 5000 : 0);
	}
	_cleanup_free_ char *after = host_traces();
	ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(test_failures_leave_nothing) {
	struct plan plan = host_plan(1, OPEN);
	struct cua_err err;
	_cleanup_free_ char *before = host_traces();
	/* No template. */
	struct plan_record record = plan.record;
	(void)snprintf(record.template, sizeof(record.template), "no-such");
	MUST(plan_make(host_get(), &record, &plan, oops));
	ck_assert_int_eq(mount_up(host_get(), &plan, &err), -CUA_NOT_FOUND);
	ck_assert_str_eq(err.subject, "template");
	/* A start that fails: nothing to execute, and a missing rule file's interface name taken. */
	plan = host_plan(1, OPEN);
	struct plan_host other = *host_get();
	(void)snprintf(other.libexec_dir, sizeof(other.libexec_dir), "/nowhere");
	pid_t init = 0;
	MUST(mount_up(&other, &plan, oops));
	ck_assert_int_lt(container_start(&other, &plan, &init, &err), 0);
	ck_assert_msg(strstr(err.message, "did not start: "), "%s", err.message);
	ck_assert_msg(strstr(err.message, "cuad-init"), "%s", err.message);
	outside_is("ip link add cs1 type veth peer name cs1p", true);
	host_end(&plan, 0);
	/* A disk too small for a file system. */
	plan.record.limits.disk = 4096;
	ck_assert_int_lt(mount_up(host_get(), &plan, &err), 0);
	_cleanup_free_ char *after = host_traces();
	ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(test_killed_half_way) {
	struct plan plan = host_plan(1, OPEN);
	_cleanup_free_ char *before = host_traces();
	for (int i = 0; i < 24; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			struct cua_err err;
			pid_t init = 0;
			_exit(mount_up(host_get(), &plan, &err) < 0 ||
				firewall_add(host_get(), &plan, &err) < 0 ||
				container_start(host_get(), &plan, &init, &err) < 0);
		}
		/* A little later each time; the point is where it is cut off, not when. */
		struct pollfd none = {.fd = -1};
		(void)poll(&none, 1, i * 3);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
		host_end(&plan, 0);
		_cleanup_free_ char *after = host_traces();
		ck_assert_str_eq(before, after);
	}
}
END_TEST

START_TEST(test_evil_template) {
	struct plan plan = host_plan(1, OPEN);
	struct cua_err err;
	char line[2048];
	/* /etc of the template is a symlink to the host's. */
	(void)snprintf(line, sizeof(line),
		"d=%s/templates/evil; rm -rf $d; mkdir -p $d/rootfs/var/lib "
		"/var/tmp/cuad-lxc-trap && "
		"ln -s /var/tmp/cuad-lxc-trap $d/rootfs/etc && echo evil > $d/layers",
		host_get()->state_dir);
	outside_is(line, true);
	struct plan_record record = plan.record;
	(void)snprintf(record.template, sizeof(record.template), "evil");
	MUST(plan_make(host_get(), &record, &plan, oops));
	ck_assert_int_eq(mount_up(host_get(), &plan, &err), -CUA_INVALID);
	ck_assert_str_eq(err.subject, "template");
	outside_is("rmdir /var/tmp/cuad-lxc-trap", true);
	/* The files themselves are symlinks: they are replaced, what they name is not. */
	(void)snprintf(line, sizeof(line),
		"d=%s/templates/evil; rm $d/rootfs/etc; mkdir $d/rootfs/etc; echo safe > "
		"/var/tmp/cuad-lxc-file; for f in hosts hostname resolv.conf machine-id "
		".cuad-part; do "
		"ln -s /var/tmp/cuad-lxc-file $d/rootfs/etc/$f; done",
		host_get()->state_dir);
	outside_is(line, true);
	MUST(mount_up(host_get(), &plan, oops));
	outside_is("test $(cat /var/tmp/cuad-lxc-file) = safe && rm /var/tmp/cuad-lxc-file", true);
	(void)snprintf(line, sizeof(line), "test -f %s/etc/hosts -a ! -L %s/etc/hosts", plan.rootfs,
		plan.rootfs);
	outside_is(line, true);
	MUST(mount_down(host_get(), &plan, oops));
	MUST(mount_erase(host_get(), &plan, oops));
}
END_TEST

/* A process in a copy of our mount namespace, as services and tools have it. */
static pid_t copy_namespace(unsigned long propagation) {
	int ends[2];
	char ready = 0;
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		bool ok = unshare(CLONE_NEWNS) == 0 &&
			  mount(NULL, "/", NULL, MS_REC | propagation, NULL) == 0 &&
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

static void end_copy(pid_t pid) {
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(test_other_namespaces) {
	struct plan plan = host_plan(1, NONE);
	_cleanup_free_ char *before = host_traces();
	/* A slave, as a service that systemd starts while the session lives: it loses the mounts. */
	(void)host_launch(&plan);
	pid_t slave = copy_namespace(MS_SLAVE);
	host_end(&plan, 0);
	_cleanup_free_ char *after_slave = host_traces();
	ck_assert_str_eq(before, after_slave);
	end_copy(slave);
	/* A private copy keeps them; the session can be stopped, started and removed all the same, its
	 * disk is whole, and the loop device goes with the copy. */
	(void)host_launch(&plan);
	inside_is(&plan, "echo kept > /root/file", true);
	pid_t private = copy_namespace(MS_PRIVATE);
	MUST(container_stop(host_get(), &plan, 0, oops));
	MUST(mount_down(host_get(), &plan, oops));
	plan.record.complete = true;
	(void)host_launch(&plan);
	inside_says(&plan, "cat /root/file", "kept");
	char one_device[PLAN_PATH + 64];
	(void)snprintf(
		one_device, sizeof(one_device), "test $(losetup -j %s | wc -l) = 1", plan.image);
	outside_is(one_device, true);
	host_end(&plan, 0);
	end_copy(private);
	_cleanup_free_ char *after_private = host_traces();
	ck_assert_str_eq(before, after_private);
}
END_TEST

START_TEST(test_many_at_once) {
	enum { MANY = 20 };
	pid_t child[MANY];
	_cleanup_free_ char *before = host_traces();
	for (unsigned i = 0; i < MANY; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			struct plan plan = host_plan(i + 1, OPEN);
			struct cua_err err = {0};
			pid_t init = 0;
			bool bad = mount_up(host_get(), &plan, &err) < 0 ||
				   firewall_add(host_get(), &plan, &err) < 0 ||
				   container_start(host_get(), &plan, &init, &err) < 0;
			if (bad) {
				(void)fprintf(stderr, "%u: %s\n", i, err.message);
			}
			_exit(bad);
		}
	}
	int failed = 0;
	for (unsigned i = 0; i < MANY; i++) {
		int status = 0;
		ck_assert_int_eq(waitpid(child[i], &status, 0), child[i]);
		failed += status != 0;
	}
	for (unsigned i = 0; i < MANY; i++) {
		struct plan plan = host_plan(i + 1, OPEN);
		host_end(&plan, 0);
	}
	ck_assert_int_eq(failed, 0);
	_cleanup_free_ char *after = host_traces();
	ck_assert_str_eq(before, after);
}
END_TEST

/* Each test is a case of its own, so that CK_RUN_CASE=test_limits runs one. */
static void add_case(Suite *suite, const char *name, const TTest *test) {
	TCase *tc = tcase_create(name);
	tcase_set_timeout(tc, TIMEOUT_S);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test);
	suite_add_tcase(suite, tc);
}
#define CASE(test) add_case(suite, #test, test)

static Suite *make_suite(void) {
	Suite *suite = suite_create("container");
	CASE(test_start_and_stop);
	CASE(test_disk_survives_restart);
	CASE(test_limits);
	CASE(test_disk_limit);
	CASE(test_seccomp);
	CASE(test_nested_namespaces);
	CASE(test_network_none);
	CASE(test_isolation);
	CASE(test_spoofing);
	CASE(test_allowed_by_config);
	CASE(test_elements_before_link);
	CASE(test_flush_is_mended);
	CASE(test_monitor_killed);
	CASE(test_stop_of_stubborn_and_frozen);
	CASE(test_cycles_leave_nothing);
	CASE(test_failures_leave_nothing);
	CASE(test_killed_half_way);
	CASE(test_evil_template);
	CASE(test_other_namespaces);
	CASE(test_many_at_once);
	return suite;
}

int main(void) {
	const char *source = getenv("CUAD_SOURCE");
	char data[256];
	(void)snprintf(data, sizeof(data), "%s/server/supervisor", source ? source : ".");
	if (!host_open(data)) {
		host_close();
		return 1;
	}
	SRunner *runner = srunner_create(make_suite());
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	host_close();
	return failed == 0 ? 0 : 1;
}
