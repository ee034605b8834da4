/* A place of its own for tests with real containers: directories, network namespace, a small Debian
 * root, and an init that runs commands. Everything aborts the test on failure. */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/supervisor/container.h"
#include "server/supervisor/firewall.h"
#include "server/supervisor/mount.h"
#include "server/supervisor/plan.h"

/* Makes the directories and (once on a machine) the Debian root. False if that is impossible. */
bool host_open(const char *data_dir);
/* Stops and removes whatever tests left behind, and the directories. */
void host_close(void);
const struct plan_host *host_get(void);

/* Leaves for a network namespace with "lo" and the host's address 192.0.2.1 at a link "up0", on
 * whose other side, in a namespace of its own, is 192.0.2.9 and 10.77.0.9. */
void host_enter_network(void);

/* The plan of a session of these tests; every slot has its own id. */
struct plan host_plan(unsigned slot, cua_Network network);
/* mount_up, firewall_add, container_start, firewall_harden. */
pid_t host_launch(const struct plan *plan);
/* container_stop, firewall_remove, mount_down, mount_erase. */
void host_end(const struct plan *plan, unsigned grace_ms);

/* Runs a line by the container's sh, as root, as a child of its PID 1. Returns its status; output
 * (both streams, cut) in *ret. */
int host_inside(const struct plan *plan, const char *line, char *ret, size_t size);
/* Runs a line by the host's sh, the same way. */
int host_outside(const char *line, char *ret, size_t size);
/* The same line as if typed on the machine on the other side of the host's link. Valid until the next
 * call. */
const char *host_beyond(const char *line);
/* What exists on the host that a session could leave: mounts, loop devices, links, cgroups, lock
 * files, directories, firewall elements. Freed by the caller. */
char *host_traces(void);

/* A call that has to succeed; its last argument is written as `oops`. */
#define MUST(call)                                                                                 \
	do {                                                                                       \
		struct cua_err must_ = {0};                                                        \
		struct cua_err *oops = &must_;                                                     \
		ck_assert_msg((call) >= 0, "%s: %s", #call, must_.message);                        \
	} while (0)
