/* The reclaim pass; see the header. Removes only what has the form of ours and belongs to no
 * record; what a record speaks of is the session's own business. */
#include "server/supervisor/reclaim.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "cua/log.h"
#include "server/supervisor/container.h"
#include "server/supervisor/firewall.h"
#include "server/supervisor/mount.h"
#include "server/supervisor/store.h"
#include "server/supervisor/template.h"
#include "server/supervisor/tree.h"

static bool is_known(const struct reclaim_args *a, const char *id) {
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->plans[i].record.id, id) == 0) {
			return true;
		}
	}
	return false;
}

/* A plan that leads to the leftovers by the id; its slot is nobody's. */
static int plan_for(const struct reclaim_args *a, const char *id, struct plan *ret) {
	struct plan_record record = {.slot = a->free_slot,
		.name = "leftover",
		.template = "leftover",
		.limits = {.has_cpu_milli = true,
			.has_memory = true,
			.has_pids = true,
			.has_disk = true}};
	(void)snprintf(record.id, sizeof(record.id), "%s", id);
	return plan_make(&a->host, &record, ret, NULL);
}

static int remove_leftover(
	const struct reclaim_args *a, const char *id, uint64_t counts[4], struct cua_err *err) {
	struct plan plan;
	int r = plan_for(a, id, &plan);
	if (r < 0) {
		return r;
	}
	struct stat st;
	bool ran = container_init_pid(&a->host, &plan) > 0;
	bool mounted = lstat(plan.run, &st) == 0;
	bool stored = lstat(plan.state, &st) == 0;
	r = container_stop(&a->host, &plan, 0, err);
	if (r == 0) {
		r = mount_down(&a->host, &plan, err);
	}
	if (r == 0) {
		r = mount_erase(&a->host, &plan, err);
	}
	if (r == 0) {
		counts[RECLAIM_CONTAINERS] += ran;
		counts[RECLAIM_MOUNTS] += mounted;
		counts[RECLAIM_DISKS] += stored;
	}
	return r;
}

static void remove_leftovers(
	const struct reclaim_args *a, char (*ids)[CUA_ID_SIZE], int count, uint64_t counts[4]) {
	for (int i = 0; i < count; i++) {
		struct cua_err err = {0};
		if (!is_known(a, ids[i]) && remove_leftover(a, ids[i], counts, &err) < 0) {
			cua_log(CUA_LOG_WARN, "session=%s leftovers stay: %s", ids[i], err.message);
		}
	}
}

/* Templates whose removal was cut off. */
static uint64_t remove_templates(const struct reclaim_args *a) {
	char path[PLAN_PATH];
	(void)snprintf(path, sizeof(path), "%s/templates", a->host.state_dir);
	DIR *dir = opendir(path);
	uint64_t count = 0;
	struct dirent *entry = NULL;
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, TEMPLATE_REMOVED, strlen(TEMPLATE_REMOVED)) == 0) {
			char name[2 * PLAN_PATH];
			(void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
			count += tree_remove(name, NULL) == 0;
		}
	}
	if (dir) {
		(void)closedir(dir);
	}
	return count;
}

static void find_running(const struct reclaim_args *a, struct op_report *report) {
	for (size_t i = 0; i < a->count; i++) {
		pid_t pid = container_init_pid(&a->host, &a->plans[i]);
		if (pid > 0) {
			op_note(report, "init", (const uint64_t[4]){i, (uint64_t)pid});
		}
	}
}

int reclaim_run(const void *args, struct op_report *report, struct cua_err *err) {
	const struct reclaim_args *a = args;
	int r = reclaim_firewall(args, report, err);
	if (r < 0) {
		return r;
	}
	find_running(a, report);
	uint64_t counts[4] = {0};
	_cleanup_free_ char(*run)[CUA_ID_SIZE] = NULL;
	_cleanup_free_ char(*state)[CUA_ID_SIZE] = NULL;
	int run_count = store_list_run(&a->host, &run, err);
	int state_count = store_list(&a->host, &state, err);
	if (run_count < 0 || state_count < 0) {
		return run_count < 0 ? run_count : state_count;
	}
	remove_leftovers(a, run, run_count, counts);
	remove_leftovers(a, state, state_count, counts);
	counts[RECLAIM_TEMPLATES] = remove_templates(a);
	op_note(report, "reclaimed", counts);
	return 0;
}

int reclaim_firewall(const void *args, struct op_report *report, struct cua_err *err) {
	(void)report;
	const struct reclaim_args *a = args;
	return firewall_apply(&a->host, a->plans, a->count, a->allow, a->allow_count, err);
}

int reclaim_clear(const void *args, struct op_report *report, struct cua_err *err) {
	(void)report;
	const struct reclaim_args *a = args;
	return firewall_clear(&a->host, err);
}
