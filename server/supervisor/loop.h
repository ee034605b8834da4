/* The supervisor's event loop: descriptors, timers, signals, children. The only module that includes
 * libuv. One thread; callbacks are never nested. A callback may remove any watch, its own too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cua/err.h"

struct loop;
struct loop_io;
struct loop_timer;
struct loop_child;

typedef void loop_fn(void *data);
/* How a child ended, as waitpid() tells it. */
typedef void loop_exit_fn(void *data, int status);

/* NULL on failure. */
struct loop *loop_new(struct cua_err *err);
/* Ends every watch that is left and frees the loop; children are not waited for. Returns NULL. */
struct loop *loop_free(struct loop *loop);
/* Runs until loop_stop(). */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* Microseconds of a clock that never jumps. */
uint64_t loop_now_us(void);
/* Zeroed memory of a fixed, small size; aborts when there is none, for sessions survive us. */
void *loop_alloc(size_t size);

/* Watches a descriptor, which stays the caller's and must outlive the watch. on_read is called while
 * it is readable, hung up or broken; on_write (may be NULL) while it takes bytes, once asked for.
 * NULL on failure. */
struct loop_io *loop_io_add(struct loop *loop, int fd, loop_fn *on_read, loop_fn *on_write,
	void *data, struct cua_err *err);
/* Turns on_write on and off; it starts off. */
void loop_io_want_write(struct loop_io *io, bool wanted);
/* Turns on_read off and on. */
void loop_io_pause(struct loop_io *io, bool paused);
/* NULL is fine. Returns NULL. */
struct loop_io *loop_io_remove(struct loop_io *io);

/* Calls fn once after ms (0: as soon as the loop comes round) and frees itself. */
struct loop_timer *loop_timer_add(struct loop *loop, uint64_t ms, loop_fn *fn, void *data);
/* Cancels a timer that has not fired. NULL is fine. Returns NULL. */
struct loop_timer *loop_timer_cancel(struct loop_timer *timer);

/* Calls fn for every arrival of the signal, as long as the loop lives. */
int loop_signal_add(
	struct loop *loop, int number, loop_fn *fn, void *data, struct cua_err *err) CUA_CHECK;

/* Watches and reaps a child of this process; pidfd is taken over in any case. on_exit is called
 * once, then the watch frees itself. NULL on failure (the child is killed then). */
struct loop_child *loop_child_add(struct loop *loop, pid_t pid, int pidfd, loop_exit_fn *on_exit,
	void *data, struct cua_err *err);
pid_t loop_child_pid(const struct loop_child *child);
void loop_child_kill(struct loop_child *child, int number);
/* Kills it and reaps it whenever it ends; on_exit is not called. NULL is fine. Returns NULL. */
struct loop_child *loop_child_drop(struct loop_child *child);

/* A pause that doubles each time a program dies soon after its start. */
struct loop_backoff {
	unsigned ms;
	uint64_t since_us;
};

/* Notes that the program was started. */
void loop_backoff_started(struct loop_backoff *backoff);
/* Milliseconds to wait before the next start, CUA_BACKOFF_MIN_MS … CUA_BACKOFF_MAX_MS. */
unsigned loop_backoff_next(struct loop_backoff *backoff);
