/* Blocking work in children of the supervisor: liblxc, mounts, libnftables, fsync.
 *
 * A child is forked per operation, at most CUA_OPS_MAX at once, the rest waits in order. It has no
 * descriptor of ours but its report and the lock, dies with us, and tells what it found by notes.
 * The lock is an flock on RUN/lock, inherited by every child: a new supervisor waits until the last
 * child of the old one is gone before it touches anything. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/err.h"
#include "server/supervisor/loop.h"

struct ops;
struct op;
struct op_report;

/* Something that a child found, in the words of its work function. */
struct op_note {
	char name[16];
	uint64_t value[4];
};

/* Runs in the child. args is a copy made at op_start(). */
typedef int op_work(const void *args, struct op_report *report, struct cua_err *err);

struct op_spec {
	op_work *work;
	const void *args; /* copied */
	size_t args_size;
	unsigned deadline_ms; /* counted from the fork; the child is killed then */
	void (*on_note)(void *data, const struct op_note *note); /* may be NULL */
	/* Called once, with err filled when code is negative. The op is gone then. May be NULL. */
	void (*on_done)(void *data, int code, const struct cua_err *err);
	void *data;
};

/* lock is the descriptor of op_lock(); it stays the caller's. */
struct ops *ops_new(struct loop *loop, int lock);
/* Kills what runs and forgets what waits; on_done is not called. Returns NULL. */
struct ops *ops_free(struct ops *ops);
/* Calls fn once when nothing runs or waits any more (soon, if that is so now). */
void ops_on_idle(struct ops *ops, loop_fn *fn, void *data);
/* Cancels all that waits. */
void ops_cancel_waiting(struct ops *ops);

/* Queues an operation. Never fails: what goes wrong is told by on_done, later. */
struct op *op_start(struct ops *ops, const struct op_spec *spec);
/* Kills it, or takes it out of the queue; on_done follows with a timeout. */
void op_kill(struct op *op);
/* The same if it has not begun; else it goes on. */
void op_cancel(struct op *op);

/* In the child: tells the supervisor. */
void op_note(struct op_report *report, const char *name, const uint64_t value[4]);
/* In the child: a phase with the time since the last one. */
void op_phase(struct op_report *report, const char *name);

/* Takes the file "lock" in a directory, waiting up to deadline_ms for the children of a supervisor that died. Returns the
 * descriptor (owned by the caller), or -CUA_CONFLICT when somebody holds on to it. */
int op_lock(const char *dir, unsigned deadline_ms, struct cua_err *err) CUA_CHECK;
