/* What op children do for a session, one function per operation; each blocks and may be killed
 * anywhere. Whatever a create leaves behind, a destroy finds, for both follow from the plan. */
#pragma once

#include "server/supervisor/op.h"
#include "server/supervisor/plan.h"

/* Arguments of all of them but steps_erase_template(). */
struct steps_args {
	struct plan_host host;
	struct plan plan;
};

/* Record, mounts, firewall, container. Notes: a phase after each of "record", "mounts", "firewall",
 * "container", and "init" with the host pid of PID 1. On failure nothing is undone. */
int steps_create(const void *args, struct op_report *report, struct cua_err *err) CUA_CHECK;
/* Marks the record complete. */
int steps_commit(const void *args, struct op_report *report, struct cua_err *err) CUA_CHECK;
/* Container, firewall and mounts go; disk and record stay. */
int steps_settle(const void *args, struct op_report *report, struct cua_err *err) CUA_CHECK;
/* Everything goes, the record last. */
int steps_destroy(const void *args, struct op_report *report, struct cua_err *err) CUA_CHECK;
/* Notes "usage": CPU ms, memory, disk, pids. */
int steps_usage(const void *args, struct op_report *report, struct cua_err *err) CUA_CHECK;
/* Arguments: the path of a directory, with its NUL. */
int steps_remove_tree(const void *args, struct op_report *report, struct cua_err *err) CUA_CHECK;
