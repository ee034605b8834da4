/* The supervisor's end of E1 and E2: one of our programs as a child, with a SEQPACKET socket as its
 * descriptor 3, HELLO first in both directions.
 *
 * Everything that comes from the program is hostile: what is not in its directions, comes before its
 * HELLO or is refused by the handler, kills it. Nothing here waits for it: a program that does not
 * read until the backlog is full is killed too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cua/msg.h"
#include "server/supervisor/loop.h"
#include "server/supervisor/spawn.h"

struct edge;

struct edge_spec {
	struct loop *loop;
	struct cua_msg *scratch; /* where messages are received; shared by all edges of the loop */
	struct spawn spawn; /* edge is filled in */
	unsigned dirs; /* or-ed enum cua_dir: what the program may send */
	/* Its HELLO was right. */
	void (*on_up)(void *data);
	/* A message other than HELLO. Negative: the program is killed with err as the reason. */
	int (*on_message)(void *data, struct cua_msg *msg, struct cua_err *err);
	/* All that was queued has been sent. May be NULL. */
	void (*on_drained)(void *data);
	/* The program is gone; called once, and never from inside a call of this module. The owner
	 * frees the edge. */
	void (*on_down)(void *data, const struct cua_err *why);
	void *data;
};

/* Starts the program and sends HELLO. NULL on failure. */
struct edge *edge_start(const struct edge_spec *spec, struct cua_err *err);
/* Kills the program if it runs; it is reaped later. on_down is not called. NULL is fine. Returns
 * NULL. */
struct edge *edge_free(struct edge *edge);

/* True after the program's HELLO. */
bool edge_is_up(const struct edge *edge);
/* Sends or queues. Failure shows by on_down. */
void edge_send(struct edge *edge, const struct cua_out *out);
/* Messages that wait for the program to read. */
size_t edge_backlog(const struct edge *edge);
