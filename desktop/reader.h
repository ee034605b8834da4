/* Who has the keyboard: the program, whether it can be asked how far it has come with its events, and
 * its other connections. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct x11;

#define READER_SISTERS 8

struct reader {
	unsigned long focus; /* the window */
	unsigned long client; /* the common part of its ids; 0: nobody has the keyboard */
	unsigned long ping; /* its window that answers _NET_WM_PING; 0: it has none */
	/* Other connections of the same process. A browser has one for its windows and another, of
	 * its toolkit, on which it reads the keyboard map. */
	unsigned long sister[READER_SISTERS];
	size_t sister_count;
};

/* Finds it. A few round trips, and one or two for each window above the one with the focus. */
void reader_find(struct x11 *x, struct reader *ret);
/* Only the window that has the keyboard, or 0; one round trip, or a few when nothing has the focus. */
unsigned long reader_focus(struct x11 *x);
/* The part of an id that tells the client. */
unsigned long reader_mask(struct x11 *x);

/* Asks the window for an answer that carries the token: the program sends it, as a window manager would
 * get it, once it has handled all events that were sent to it before. */
void reader_ping(struct x11 *x, unsigned long window, unsigned long token);
