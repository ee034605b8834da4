/* The event loop of PID 1: descriptors, timers and signals, one thread. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cua/err.h"

/* Called with the EPOLL… bits that are ready. */
typedef void loop_fd_fn(void *self, uint32_t events);
typedef void loop_timer_fn(void *self);
/* Called once for each signal that arrived. */
typedef void loop_signal_fn(void *self, int signal);

/* A watched descriptor, embedded in its owner; the descriptor stays the owner's. */
struct loop_source {
	int fd; /* -1 while it is not watched */
	loop_fd_fn *fn;
	void *self;
};

/* A timer that goes off once, embedded in its owner. */
struct loop_timer {
	loop_timer_fn *fn;
	void *self;
	uint64_t at_us;
	bool armed;
	struct loop_timer *next;
};

#define LOOP_BATCH 32

struct loop {
	int epoll;
	struct loop_source signals;
	loop_signal_fn *on_signal;
	void *on_signal_self;
	struct loop_timer *timers; /* the armed ones, soonest first */
	struct loop_source *batch[LOOP_BATCH];
	int batch_len;
	bool quit;
};

/* Blocks the signals of the set for this process and tells of them through on_signal. */
int loop_init(struct loop *loop, const sigset_t *signals, loop_signal_fn *on_signal, void *self,
	struct cua_err *err) CUA_CHECK;
/* Closes the loop's own descriptors. */
void loop_done(struct loop *loop);

/* Starts to watch fd for the EPOLL… bits. The source must stay where it is until loop_remove(). */
int loop_add(struct loop *loop, struct loop_source *source, int fd, uint32_t events,
	struct cua_err *err) CUA_CHECK;
/* Changes the bits. */
int loop_change(struct loop *loop, const struct loop_source *source, uint32_t events,
	struct cua_err *err) CUA_CHECK;
/* Stops watching, also in the middle of a round: the source is not called any more. Must come
 * before its descriptor is closed. Fine on a source that is not watched. */
void loop_remove(struct loop *loop, struct loop_source *source);

/* Arms the timer, anew if it was armed. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t ms);
/* Disarms it; fine if it was not armed. */
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);

/* Runs until loop_quit(). Negative only when the kernel refuses to wait. */
int loop_run(struct loop *loop, struct cua_err *err) CUA_CHECK;
/* Makes loop_run() return after the present callback. */
void loop_quit(struct loop *loop);

/* Monotonic time in microseconds. */
uint64_t loop_now_us(void);
