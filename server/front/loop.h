/* cuad's event loop: descriptors, timers and deferred calls, on libwebsockets' own loop.
 * One thread; callbacks are never nested. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cua/err.h"

struct loop;
struct loop_io;
struct loop_timer;

typedef void loop_fn(void *data);

/* A loop that does nothing yet. NULL on failure. */
struct loop *loop_new(struct cua_err *err);
/* Runs until loop_stop(). */
void loop_run(struct loop *loop);
/* Frees the loop and the timers that did not fire. Watches must be gone. NULL is fine. */
struct loop *loop_free(struct loop *loop);

/* Watches a descriptor; it stays the caller's and must outlive the watch. on_read is called while it
 * is readable or hung up, on_write (may be NULL) once after each loop_io_want_write(). */
struct loop_io *loop_io_add(struct loop *loop, int fd, loop_fn *on_read, loop_fn *on_write,
	void *data, struct cua_err *err);
/* One call of on_write when the descriptor takes bytes again. */
void loop_io_want_write(struct loop_io *io);
/* Stops and starts on_read (for back-pressure). */
void loop_io_pause(struct loop_io *io, bool paused);
/* Ends the watch; fine inside its own callbacks; NULL is fine. Returns NULL. */
struct loop_io *loop_io_remove(struct loop_io *io);

/* Calls fn once after ms (0: as soon as the loop is idle). Freed by itself after the call. */
struct loop_timer *loop_timer_add(struct loop *loop, uint64_t ms, loop_fn *fn, void *data);
/* Cancels a timer that has not fired. NULL is fine. Returns NULL. */
struct loop_timer *loop_timer_cancel(struct loop_timer *timer);

/* Ends loop_run() after the current callback. */
void loop_stop(struct loop *loop);
/* Milliseconds of a clock that never jumps. */
uint64_t loop_now_ms(void);
