/* A few threads that help with one large computation at a time. They touch plain memory only: no X,
 * no descriptors, no events. While there is nothing to compute they sleep and cost nothing. The only
 * file with threads. */
#pragma once

#include "cua/err.h"

/* Threads at most, the caller's included. */
#define POOL_MAX 4

struct pool;

/* Computes piece i of a task. slot, below POOL_MAX, is the thread's own: no two calls at once have the
 * same. */
typedef void pool_fn(void *ctx, size_t slot, size_t i);

/* As many threads as the process has CPUs, at most POOL_MAX; all of them run when it returns, so that
 * what the process gives up afterwards need not allow threads. Fewer when the system refuses some.
 * NULL without memory. */
struct pool *pool_new(struct cua_err *err);
/* Ends the threads. NULL is fine. Returns NULL. */
struct pool *pool_free(struct pool *pool);
/* How many threads there are, the caller's included; 1 for NULL. */
size_t pool_size(const struct pool *pool);

/* Calls fn for the pieces 0 … count - 1, in any order, several at once, and returns when all are done.
 * The caller's thread takes part; a single piece wakes nobody. pool NULL: all are done here. Not to be
 * called by fn. */
void pool_run(struct pool *pool, pool_fn *fn, void *ctx, size_t count);
