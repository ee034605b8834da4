/* Reads back what liblxc was told to set. It says nothing about a key that the host cannot honour, so
 * that this is the only proof. */
#include "server/supervisor/verify.h"

#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "cua/parse.h"
#include "server/supervisor/cgroup.h"

#define PAGE_MAX 65536u /* the kernel rounds memory limits down to pages */

static int not_in_force(const char *what, const char *found, struct cua_err *err) {
	return cua_err_about(
		err, CUA_INTERNAL, what, "the %s limit is not in force: %s", what, found);
}

static int check_number(const char *id, const char *what, const struct cgroup_file *file,
	uint64_t most, uint64_t slack, struct cua_err *err) {
	char text[64];
	uint64_t value = 0;
	if (!cgroup_read(id, file, text, sizeof(text)) || !cgroup_read_u64(id, file, &value)) {
		return not_in_force(what, "this host has no such cgroup controller", err);
	}
	return value <= most && most - value <= slack ? 0 : not_in_force(what, text, err);
}

static int check_memory(const struct plan *plan, struct cua_err *err) {
	static const struct cgroup_file memory = {"memory", "memory.limit_in_bytes", "memory.max"};
	static const struct cgroup_file swap = {
		"memory", "memory.memsw.limit_in_bytes", "memory.swap.max"};
	uint64_t limit = plan->record.limits.memory;
	const char *id = plan->record.id;
	uint64_t value = 0;
	int r = check_number(id, "memory", &memory, limit, PAGE_MAX, err);
	if (r < 0 || !cgroup_read_u64(id, &swap, &value)) {
		return r; /* a host that does not account for swap has no such file */
	}
	return value <= limit ? 0 : not_in_force("swap", "more than the memory limit", err);
}

static int check_cpu(const struct plan *plan, struct cua_err *err) {
	static const struct cgroup_file cpu = {"cpu", "cpu.cfs_quota_us", "cpu.max"};
	return check_number(plan->record.id, "cpu", &cpu,
		(uint64_t)plan->record.limits.cpu_milli * 100, 0, err);
}

static int check_pids(const struct plan *plan, struct cua_err *err) {
	static const struct cgroup_file pids = {"pids", "pids.max", "pids.max"};
	return check_number(plan->record.id, "pids", &pids, plan->record.limits.pids, 0, err);
}

static int check_ids(const struct plan *plan, pid_t init, struct cua_err *err) {
	static const char *const files[] = {"uid_map", "gid_map"};
	for (size_t i = 0; i < CUA_COUNT(files); i++) {
		char text[128];
		uint64_t map[3]; /* inside, outside, count */
		if (!proc_field(init, files[i], "", text, sizeof(text)) ||
			!parse_row(text, CUA_COUNT(map), map) || map[0] != 0 ||
			map[1] != plan->id_first || map[2] != PLAN_IDS_PER_SESSION) {
			return cua_err_set(err, CUA_INTERNAL, "the session's ids are not shifted");
		}
	}
	return 0;
}

static int check_seccomp(pid_t init, struct cua_err *err) {
	char mode[8];
	if (!proc_field(init, "status", "Seccomp:", mode, sizeof(mode)) || strcmp(mode, "2") != 0) {
		return cua_err_set(
			err, CUA_INTERNAL, "the list of denied system calls is not in force");
	}
	return 0;
}

/* A group with another name is one that nobody would find and remove. */
static int check_group(const struct plan *plan, pid_t init, struct cua_err *err) {
	char line[64];
	(void)snprintf(line, sizeof(line), ":/" CGROUP_TOP "/%s\n", plan->record.id);
	if (!proc_mentions(init, "cgroup", line)) {
		return cua_err_set(err, CUA_INTERNAL, "the session is not in its cgroup");
	}
	return 0;
}

int verify_container(const struct plan *plan, pid_t init, struct cua_err *err) {
	int r = check_group(plan, init, err);
	r = r < 0 ? r : check_memory(plan, err);
	r = r < 0 ? r : check_cpu(plan, err);
	r = r < 0 ? r : check_pids(plan, err);
	r = r < 0 ? r : check_ids(plan, init, err);
	r = r < 0 ? r : check_seccomp(init, err);
	if (r == 0 && plan->address[0] && if_nametoindex(plan->interface) == 0) {
		return cua_err_set(
			err, CUA_INTERNAL, "the session has no interface %s", plan->interface);
	}
	return r;
}
