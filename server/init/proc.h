/* Finding the processes of a command, wherever they hid.
 *
 * A command's processes are the descendants of its keeper (keeper.h), which is a child subreaper:
 * a process that lost its parent becomes the keeper's own child, so the tree below the keeper is
 * complete. A session id or a process group is left by setsid, a marker in the environment by
 * `env -i` and by sudo; parentage cannot be left. */
#pragma once

#include <sys/types.h>

/* Kills all descendants of the calling process, which must be a subreaper with SIGCHLD blocked, and
 * waits until none lives, at most `ms`. If new ones keep showing up they are stopped before they are
 * killed, so that one that forks cannot outrun the scan. reap(self) is called to collect the dead. Returns how many
 * still live: 0 unless the kernel cannot kill them yet. */
int proc_kill_descendants(unsigned ms, void (*reap)(void *self), void *self);
