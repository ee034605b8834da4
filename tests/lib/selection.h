/* Programs that own or want a selection, as ICCCM has it or as it must not be, on a connection of the
 * test's own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <X11/Xlib.h>

#define SELECTION_CHUNK 65536 /* bytes of a piece */

/* The connection that all below use. */
void selection_use(Display *dpy);
/* Milliseconds of a clock that never jumps. */
uint64_t now_ms(void);
/* An atom by its name. */
Atom atom(const char *name);

enum behaviour { WHOLE, PIECES, ENDLESS, STALLS, SILENT, REFUSES };

struct owner {
	Window window;
	const char *target; /* the only one offered besides TARGETS and the hint */
	const char *hint; /* another one that is offered and never given, or NULL */
	const char *type; /* of what is sent */
	int format;
	const char *data;
	size_t len;
	enum behaviour behaviour;
	size_t announced; /* size told with INCR */
	bool no_targets;
	/* a transfer */
	Window requestor;
	Atom property;
	size_t pos;
	size_t sent;
	bool ended;
};

/* Takes a selection. */
void own(struct owner *o, const char *selection);
/* Answers as the owner behaves; for one event, and for all that have come. */
void owner_event(struct owner *o, const XEvent *e);
void owner_events(struct owner *o);

/* What a program wants and gets. */
struct wish {
	Window window;
	Atom property;
	Atom type;
	char *data;
	size_t len;
	bool over;
	bool refused;
	bool incr;
};

/* Asks for a selection. */
void wish_new(struct wish *w, const char *selection, const char *target);
/* Asks for another target of the clipboard with the same window and property, and waits. */
void wish_again(struct wish *w, const char *target, Time when);
/* Takes what lies there. */
void wish_read(struct wish *w);
/* Handles an event, if it is about this wish. */
void wish_event(struct wish *w, const XEvent *e);
/* Handles events until it is over. */
void wish_wait(struct wish *w);
void wish_done(struct wish *w);
