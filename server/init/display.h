/* The X server of the session: Xvfb on :0, started as the agent and started again when it ends. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "server/init/loop.h"

struct display;

struct display_config {
	unsigned max_width; /* RandR can shrink the screen later, never grow it beyond this */
	unsigned max_height;
	unsigned dpi;
	char *const *extra; /* more arguments, or NULL; outlives the display */
	/* It takes clients now, or it ended (its status as of waitpid). */
	void (*on_change)(void *self, bool ready, int status);
	void *self;
};

/* Nothing runs yet. NULL without memory. */
struct display *display_new(struct loop *loop, const struct display_config *config);
/* Frees; the process stays. NULL is fine; returns NULL. */
struct display *display_free(struct display *display);
/* Starts the server. */
void display_start(struct display *display);
/* True between "ready" and the server's end. */
bool display_is_ready(const struct display *display);
/* A child of PID 1 ended: true if it was the server. */
bool display_on_exit(struct display *display, pid_t pid, int status);
/* It is not started again. */
void display_stop(struct display *display);
