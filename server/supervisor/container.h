/* The container itself; the only file that includes liblxc. Blocking; op children only. */
#pragma once

#include "server/supervisor/plan.h"

/* Starts cuad-init in the plan's root with all limits, mounts, devices, seccomp list and network,
 * reads the limits back from the kernel, and fails (leaving nothing running) when one of them is not
 * in force. The interface's elements must be in the firewall before. *ret_init is the host pid of
 * the container's PID 1. -CUA_CONFLICT when it runs already. */
int container_start(const struct plan_host *host, const struct plan *plan, pid_t *ret_init,
	struct cua_err *err) CUA_CHECK;

/* Asks PID 1 to stop (SIGTERM), after grace_ms kills it, and waits until container, monitor,
 * interface and all cgroups with our prefix for this session are gone, also the stale ones that a
 * killed monitor left. Not running is success. Does not depend on the monitor being alive. */
int container_stop(const struct plan_host *host, const struct plan *plan, unsigned grace_ms,
	struct cua_err *err) CUA_CHECK;

/* Host pid of PID 1 of the running container, or 0 if it does not run (its monitor is gone, or it
 * never started). Cheap enough to be called for every session at start; never blocks. */
pid_t container_init_pid(const struct plan_host *host, const struct plan *plan);

/* CPU time, memory and number of processes from the cgroups (v1, v2 or hybrid). The serial, the
 * error and the disk are the caller's to fill. */
int container_usage(const struct plan_host *host, const struct plan *plan, cua_Usage *ret,
	struct cua_err *err) CUA_CHECK;
