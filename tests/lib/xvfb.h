/* A real X server for one test, on a display of its own. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct xvfb {
	pid_t pid;
	char display[16]; /* ":12"; DISPLAY is set to it too */
};

/* Starts Xvfb with a screen, for example "1280x800x24", and waits until it is ready. False when
 * that takes over 20 s or fails. */
bool xvfb_start(struct xvfb *ret, const char *screen);
/* Ends it. */
void xvfb_stop(struct xvfb *x);

/* Starts a program; its standard output goes to out, unless out is -1. The pid, or -1. */
pid_t xvfb_spawn(const char *const argv[], int out);
/* Runs a program to its end. True when it exits with 0. */
bool xvfb_run(const char *const argv[]);
/* Kills and reaps. */
void xvfb_kill(pid_t pid);
