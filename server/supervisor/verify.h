/* Asks the kernel whether a started container is what its plan says. */
#pragma once

#include "server/supervisor/plan.h"

/* Checks limits, id map, seccomp filter, cgroup names and interface of the running container with
 * this PID 1. Negative, with what is not in force in the text, when one of them is missing. */
int verify_container(const struct plan *plan, pid_t init, struct cua_err *err) CUA_CHECK;
