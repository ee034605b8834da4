/* E5: the connection to cuad. PID 1 is the client; the socket's directory is bound read-only from
 * the host and the socket in it is replaced by a rename, so something always listens there. */
#pragma once

#include "cua/msg.h"
#include "server/init/loop.h"

struct link;

struct link_config {
	const char *path; /* of the socket; kept, not copied */
	/* A message came after the greeting. Negative: the peer broke the rules and is dropped. */
	int (*on_message)(void *self, struct cua_msg *msg, struct cua_err *err);
	/* The connection is gone: whatever was done for it has to end. */
	void (*on_drop)(void *self);
	void *self;
};

/* Not connected yet. NULL without memory. */
struct link *link_new(struct loop *loop, const struct link_config *config);
/* Closes and frees, without on_drop. NULL is fine; returns NULL. */
struct link *link_free(struct link *link);

/* Begins to connect, and connects again for as long as the link lives. */
void link_start(struct link *link);
/* Sends or queues a message; without a peer it is forgotten. A peer that does not read is dropped
 * (from the event loop, not from within the call). */
void link_send(struct link *link, const struct cua_out *out);
