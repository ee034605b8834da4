/* The cgroups of sessions, by name: "cuad/ID" holds a container, "cuad/ID.monitor" its monitor, in
 * every hierarchy that there is (v1, v2 or both), "cuad/ID-start" what is about to become one of
 * them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cua/err.h"
#include "server/supervisor/proc.h"

#define CGROUP_TOP "cuad"
#define CGROUP_MONITOR ".monitor"

/* A file of a controller under both of its names. */
struct cgroup_file {
	const char *controller;
	const char *v1;
	const char *v2;
};

/* Reads a file of the session's container from the hierarchy in which its controller lives. False
 * when no hierarchy has it. */
bool cgroup_read(const char *id, const struct cgroup_file *file, char *ret, size_t size);

/* A number of a file; "max" is UINT64_MAX. */
bool cgroup_read_u64(const char *id, const struct cgroup_file *file, uint64_t *ret);

/* Forbids the session's container to swap where cgroup v2 accounts for it: a file that liblxc could
 * not be told of, for it fails where the kernel does not have it. Whether it took effect is for
 * verify_container() to say. */
void cgroup_forbid_swap(const char *id);

/* Once the container runs: takes from its root what a v1 group's owner may do, and bounds the groups
 * that it may make where v2 lets it. */
int cgroup_confine(const char *id, struct cua_err *err) CUA_CHECK;

/* True if the hierarchy of cgroup v1's controller has this file at its root. */
bool cgroup_v1_has(const char *controller, const char *file);

/* A process of the session's groups (its container's, or its monitor's). False if there is none. */
bool cgroup_any(const char *id, bool monitor, struct proc_id *ret);

/* Thaws the session's container: what is frozen by cgroup v1 does not even die. */
void cgroup_thaw(const char *id);

/* Makes "cuad/ID-start" and moves a process into it, where it and what it forks is found until
 * liblxc has put it into another group. */
int cgroup_put_start(const char *id, pid_t pid, struct cua_err *err) CUA_CHECK;
/* Removes that group, once nobody is in it. */
void cgroup_remove_start(const char *id);

/* Kills what runs in the groups of the session's container or of its monitor, and waits until it is
 * gone. */
int cgroup_kill(const char *id, bool monitor, struct cua_err *err) CUA_CHECK;

/* Removes all groups of the session from all hierarchies, the container's own ones and those that
 * liblxc suffixed with -N included. */
int cgroup_remove(const char *id, struct cua_err *err) CUA_CHECK;
