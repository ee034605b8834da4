/* Bodies of op children; see the header. */
#include "server/supervisor/steps.h"

#include "server/supervisor/container.h"
#include "server/supervisor/firewall.h"
#include "server/supervisor/mount.h"
#include "server/supervisor/store.h"
#include "server/supervisor/tree.h"

int steps_create(const void *args, struct op_report *report, struct cua_err *err) {
	const struct steps_args *a = args;
	int r = store_write(&a->host, &a->plan.record, err);
	if (r < 0) {
		return r;
	}
	op_phase(report, "record");
	r = mount_up(&a->host, &a->plan, err);
	if (r < 0) {
		return r;
	}
	op_phase(report, "mounts");
	/* In force before there is an interface: a session without its rules never has a link. */
	r = firewall_add(&a->host, &a->plan, err);
	if (r < 0) {
		return r;
	}
	op_phase(report, "firewall");
	pid_t init = 0;
	r = container_start(&a->host, &a->plan, &init, err);
	if (r == 0 && a->plan.address[0]) {
		r = firewall_harden(&a->plan, err);
	}
	if (r < 0) {
		return r;
	}
	op_phase(report, "container");
	op_note(report, "init", (const uint64_t[4]){(uint64_t)init});
	return 0;
}

int steps_commit(const void *args, struct op_report *report, struct cua_err *err) {
	(void)report;
	const struct steps_args *a = args;
	struct plan_record record = a->plan.record;
	record.complete = true;
	return store_write(&a->host, &record, err);
}

int steps_settle(const void *args, struct op_report *report, struct cua_err *err) {
	(void)report;
	const struct steps_args *a = args;
	int r = container_stop(&a->host, &a->plan, CUA_STOP_GRACE_MS, err);
	if (r == 0) {
		r = firewall_remove(&a->host, &a->plan, err);
	}
	if (r == 0) {
		r = mount_down(&a->host, &a->plan, err);
	}
	return r;
}

int steps_destroy(const void *args, struct op_report *report, struct cua_err *err) {
	const struct steps_args *a = args;
	struct plan_record record = a->plan.record;
	if (record.complete) {
		/* What dies from here on is not brought back, but removed by the next start. A disk that
		 * is full must not keep anybody from deleting. */
		record.complete = false;
		(void)!store_write(&a->host, &record, NULL);
	}
	int r = steps_settle(args, report, err);
	return r == 0 ? mount_erase(&a->host, &a->plan, err) : r;
}

int steps_usage(const void *args, struct op_report *report, struct cua_err *err) {
	const struct steps_args *a = args;
	cua_Usage usage = cua_Usage_init_zero;
	uint64_t disk = 0;
	int r = container_usage(&a->host, &a->plan, &usage, err);
	if (r == 0) {
		r = mount_usage(&a->plan, &disk, err);
	}
	if (r == 0) {
		op_note(report, "usage",
			(const uint64_t[4]){usage.cpu_ms, usage.memory, disk, usage.pids});
	}
	return r;
}

int steps_remove_tree(const void *args, struct op_report *report, struct cua_err *err) {
	(void)report;
	return tree_remove(args, err);
}
