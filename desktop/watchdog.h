/* An X server that stops answering must not stop the worker: Xlib waits for replies without a
 * deadline. While the dog is awake for too long, the connection is shut down under Xlib, which then
 * reports a lost server; if that does not help either, the process ends. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "cua/err.h"

struct watchdog {
	timer_t cut; /* shuts the guarded connection down */
	timer_t end; /* ends the process */
	bool has_cut;
	bool has_end;
};

/* Sets the signal handler and the last resort's timer; once per process. The dog sleeps. */
int watchdog_init(struct watchdog *dog, struct cua_err *err) CUA_CHECK;
/* Gives the timers back; fine on a zero struct. */
void watchdog_done(struct watchdog *dog);
/* Chooses the connection that is shut down; -1 for none. */
int watchdog_guard(struct watchdog *dog, int fd, struct cua_err *err) CUA_CHECK;
/* Starts counting; if awake already, from now on. */
void watchdog_wake(struct watchdog *dog);
/* Stops counting. */
void watchdog_sleep(struct watchdog *dog);
