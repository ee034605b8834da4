/* Everything that the worker gives up before it speaks to an X server: names of files, network,
 * rights, most system calls. */
#pragma once

#include <sys/types.h>

#include "cua/err.h"

/* Where the directory of the X socket is found afterwards; the only thing in the root. */
#define SANDBOX_X11_DIR "/tmp/.X11-unix"

/* Enters, as root and with one thread. x11_dir (O_PATH, stays the caller's) is bound read-only at
 * SANDBOX_X11_DIR in an otherwise empty read-only root; mounts, network, System V IPC and host name
 * are the process's own; it runs as uid and the group of the same number without others, without
 * capabilities, unable to gain any, with few descriptors, no children, no core dumps, not traceable
 * by its own user, and with an allow-list of system calls. uid 0 is refused. Negative: nothing may be
 * relied on, so end the process. */
int sandbox_enter(int x11_dir, uid_t uid, struct cua_err *err) CUA_CHECK;
