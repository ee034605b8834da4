/* The first operation after a start: puts the firewall in force, finds which containers run, and
 * removes what no record speaks of. In an op child. */
#pragma once

#include "server/supervisor/op.h"
#include "server/supervisor/plan.h"

struct reclaim_args {
	struct plan_host host;
	char allow[32][20];
	size_t allow_count;
	uint32_t free_slot; /* of no record: stands in where the true one is unknown */
	size_t count;
	struct plan plans[]; /* one for each record, damaged ones included */
};

/* What was removed, in the order of the values of the note "reclaimed". */
enum reclaim_kind { RECLAIM_CONTAINERS, RECLAIM_MOUNTS, RECLAIM_DISKS, RECLAIM_TEMPLATES };

/* Notes: "init" with the number of a plan and the host pid of its PID 1, for those that run;
 * "reclaimed" with counts by enum reclaim_kind. */
int reclaim_run(const void *args, struct op_report *report, struct cua_err *err) CUA_CHECK;

/* Puts the firewall in force for the plans; also after somebody flushed it. */
int reclaim_firewall(const void *args, struct op_report *report, struct cua_err *err) CUA_CHECK;

/* Takes the firewall away. Arguments: reclaim_args without plans. */
int reclaim_clear(const void *args, struct op_report *report, struct cua_err *err) CUA_CHECK;
