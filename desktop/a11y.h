/* The way to the session's accessibility bus: the session bus, the question where the other one is,
 * the order to programs to be accessible, the connection. Made when it is first wanted, and again
 * after a loss. The container's init makes the sockets: a D-Bus daemon lets in whom it knows, and it
 * knows the agent. */
#pragma once

#include "desktop/bus.h"

struct a11y;

struct a11y_config {
	struct loop *loop;
	/* Asks for a connected socket; the answer goes to a11y_socket(). */
	int (*socket)(void *ctx, uint32_t serial, const char *path, struct cua_err *err);
	void *ctx;
};

/* Not connected. NULL on failure. */
struct a11y *a11y_new(const struct a11y_config *config, struct cua_err *err);
/* Disconnects; waits end without a call. NULL is fine. Returns NULL. */
struct a11y *a11y_free(struct a11y *a11y);
/* The answer to a request for a socket: fd becomes its own, or is -1 with why. */
void a11y_socket(struct a11y *a11y, uint32_t serial, int fd, const struct cua_err *why);
/* Nobody will answer requests for sockets any more. */
void a11y_front_gone(struct a11y *a11y, const struct cua_err *why);

/* Somebody who waits for the bus; embedded in its owner. */
struct a11y_wait {
	/* bus is NULL when err says why: -CUA_NOT_FOUND when the session has no such bus. Called from the
	 * loop, never from within a11y_wait(). */
	void (*fn)(void *ctx, struct bus *bus, const struct cua_err *err);
	void *ctx;
	struct a11y_wait *next_;
	struct a11y_wait **at_;
};

/* The bus, or NULL when there is none now. */
struct bus *a11y_bus(struct a11y *a11y);
/* Four letters that tell this bus from one before it: names of programs begin anew on a new one. */
const char *a11y_tag(const struct a11y *a11y);
/* Connects, and calls once. At most some seconds pass. */
void a11y_wait(struct a11y *a11y, struct a11y_wait *wait);
/* Forgets a wait; fine on one that has ended or is zero. */
void a11y_cancel(struct a11y_wait *wait);
