/* Keeps a connection to the session's X server: waits for its socket to appear, connects, notices
 * the loss, and begins again. Driven by inotify on the socket's directory; a server that is there but
 * does not answer yet is asked again after growing pauses. */
#pragma once

#include "desktop/loop.h"
#include "desktop/x11.h"

struct xlink;

struct xlink_config {
	struct loop *loop;
	const char *dir; /* where the socket X<display> appears, absolute; copied */
	unsigned display;
	/* A connection is there; it stays the link's. False: it is of no use, close it and try again. */
	bool (*on_up)(void *ctx, struct x11 *x);
	x11_event_fn *on_event;
	/* The connection of the last on_up is about to be closed. */
	void (*on_down)(void *ctx, const struct cua_err *why);
	/* The descriptor of a new connection, or -1 when it is closed. May be NULL. */
	void (*on_fd)(void *ctx, int fd);
	void *ctx;
};

/* Begins to look for the server. Calls nothing before the loop runs. NULL on failure. */
struct xlink *xlink_new(const struct xlink_config *config, struct cua_err *err);
/* Disconnects without calling on_down. NULL is fine. Returns NULL. */
struct xlink *xlink_free(struct xlink *link);
/* Handles the events that have arrived and notices a loss; to be called each time that the loop is
 * about to wait, since Xlib reads events while it waits for answers. True: there is more to do. */
bool xlink_pump(struct xlink *link);
