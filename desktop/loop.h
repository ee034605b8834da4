/* The worker's event loop: descriptors, timers, and a call around every turn. The only user of
 * libuv. One thread; callbacks are never nested, and ending a watch inside its own callback is fine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cua/err.h"

struct loop;
struct loop_io;
struct loop_timer;

typedef void loop_fn(void *ctx);

/* A loop; NULL on failure. */
struct loop *loop_new(struct cua_err *err);
/* Frees the loop and what is still watched. NULL is fine. Returns NULL. */
struct loop *loop_free(struct loop *loop);
/* Runs until loop_stop(). */
void loop_run(struct loop *loop);
/* Waits for events, handles them once, and returns; for tests. */
void loop_turn(struct loop *loop);
/* Ends loop_run() after the current callback. */
void loop_stop(struct loop *loop);
/* `waiting` is called each time that the loop is about to wait: it does what is left to do, and
 * returning true means that there is more, so the loop does not wait. `working` (may be NULL) is
 * called before the first callback of a turn. Once per loop. */
void loop_on_turn(struct loop *loop, bool (*waiting)(void *ctx), loop_fn *working, void *ctx);

/* Calls fn while the descriptor, which stays the caller's and must outlive the watch, is readable or
 * hung up. NULL on failure. */
struct loop_io *loop_io_add(struct loop *loop, int fd, loop_fn *fn, void *ctx, struct cua_err *err);
/* Whether fn is called when the descriptor is readable (it is at first), and when it takes bytes. */
void loop_io_want(struct loop_io *io, bool readable, bool writable);
/* Ends the watch. NULL is fine. Returns NULL. */
struct loop_io *loop_io_remove(struct loop_io *io);

/* A timer, not yet running. NULL on failure. */
struct loop_timer *loop_timer_new(struct loop *loop, loop_fn *fn, void *ctx, struct cua_err *err);
/* Calls fn once in ms milliseconds; a running timer is set anew. */
void loop_timer_start(struct loop_timer *timer, uint64_t ms);
/* True between the start and the call. */
bool loop_timer_running(const struct loop_timer *timer);
/* Takes the start back. */
void loop_timer_stop(struct loop_timer *timer);
/* Frees the timer. NULL is fine. Returns NULL. */
struct loop_timer *loop_timer_free(struct loop_timer *timer);

/* Microseconds of a clock that never jumps. */
uint64_t loop_now_us(void);
