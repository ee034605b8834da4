/* Everything that the worker gives up before it speaks to an X server: names of files, network,
 * rights, most system calls. */
#pragma once

#include <sys/types.h>

#include "cua/err.h"

/* Where the directory of the X socket is found afterwards; the only thing in the root. */
#define SANDBOX_X11_DIR "/tmp/.X11-unix"

struct sandbox {
	int x11_dir; /* O_PATH, stays the caller's */
	uid_t uid; /* not 0 */
	/* NULL, or starts the threads that the process will have; there can be none later. Returns 0
	 * or negative, which ends the entering. */
	int (*start_threads)(void *ctx, struct cua_err *err);
	void *ctx;
};

/* Enters, as root and with one thread. x11_dir is bound read-only at SANDBOX_X11_DIR in an otherwise
 * empty read-only root; mounts, network, System V IPC and host name are the process's own; it runs as
 * uid and the group of the same number without others, without capabilities, unable to gain any, with
 * few descriptors, no children, no further threads, no core dumps, not traceable by its own user, and
 * with an allow-list of system calls, all of which holds for the threads, too. uid 0 is refused.
 * Negative: nothing may be relied on, so end the process. */
int sandbox_enter(const struct sandbox *sandbox, struct cua_err *err) CUA_CHECK;
