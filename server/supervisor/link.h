/* E5's listening socket of one session: RUN/sessions/ID/link/sock, seen read-only in the container.
 *
 * It is made under another name and renamed once it listens, so that init, which watches the
 * directory, never finds a dead one. Only a connection of the container's PID 1 is passed on; that
 * connection is then cuad's, and nothing of it is read here. */
#pragma once

#include <sys/types.h>

#include "cua/err.h"
#include "server/supervisor/loop.h"

struct link;

/* Makes the socket in the directory; only `owner` (the container's root on the host) may connect.
 * Connections wait until link_admit(). on_peer gets each accepted connection, non-blocking, and owns
 * it. NULL on failure. */
struct link *link_open(struct loop *loop, const char *dir, uid_t owner,
	void (*on_peer)(void *data, int fd), void *data, struct cua_err *err);
/* From now on connections of this process, by its host pid, are accepted and others closed. */
int link_admit(struct link *link, pid_t init, struct cua_err *err) CUA_CHECK;
/* Closes the socket; its name stays until the directory goes. NULL is fine. Returns NULL. */
struct link *link_free(struct link *link);
