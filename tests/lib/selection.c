/* See the header. */
#include "tests/lib/selection.h"

#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <X11/Xatom.h>

#include "cua/limits.h"

#define WAIT_MS 20000
#define LARGE CUA_CLIPBOARD_MAX
#define CHUNK SELECTION_CHUNK

static Display *display;

void selection_use(Display *dpy) {
	display = dpy;
}

uint64_t now_ms(void) {
	struct timespec t = {0};
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

Atom atom(const char *name) {
	return XInternAtom(display, name, False);
}

/* ---------------------------------------------------------------- an owner of the test's own */

void own(struct owner *o, const char *selection) {
	o->window = XCreateSimpleWindow(display, DefaultRootWindow(display), 0, 0, 1, 1, 0, 0, 0);
	XSetSelectionOwner(display, atom(selection), o->window, CurrentTime);
	XSync(display, False);
}

static void owner_piece(struct owner *o) {
	static char rubbish[CHUNK];
	size_t left = o->len - o->pos;
	size_t n = left < CHUNK ? left : CHUNK;
	const char *from = o->data ? o->data + o->pos : rubbish;
	if (o->behaviour == ENDLESS) {
		memset(rubbish, 'x', sizeof(rubbish));
		from = rubbish;
		n = CHUNK;
	} else {
		o->pos += n;
	}
	XChangeProperty(display, o->requestor, o->property, atom(o->type), 8, PropModeReplace,
		(const unsigned char *)from, (int)n);
	o->sent += n;
	o->ended = n == 0;
	XFlush(display);
}

static bool owner_convert(struct owner *o, const XSelectionRequestEvent *r) {
	Atom list[3] = {atom("TARGETS"), atom(o->target), o->hint ? atom(o->hint) : None};
	long size = (long)o->announced;
	if (r->target == list[0] && !o->no_targets) {
		XChangeProperty(display, r->requestor, r->property, XA_ATOM, 32, PropModeReplace,
			(unsigned char *)list, o->hint ? 3 : 2);
		return true;
	}
	if (r->target != list[1] || o->behaviour == REFUSES) {
		return false;
	}
	if (o->behaviour == WHOLE) {
		XChangeProperty(display, r->requestor, r->property, atom(o->type), o->format,
			PropModeReplace, (const unsigned char *)o->data, (int)o->len);
		return true;
	}
	o->requestor = r->requestor;
	o->property = r->property;
	o->pos = 0;
	XSelectInput(display, r->requestor, PropertyChangeMask);
	XChangeProperty(display, r->requestor, r->property, atom("INCR"), 32, PropModeReplace,
		(unsigned char *)&size, 1);
	return true;
}

void owner_event(struct owner *o, const XEvent *e) {
	if (e->type == SelectionRequest && o->behaviour != SILENT) {
		const XSelectionRequestEvent *r = &e->xselectionrequest;
		bool done = owner_convert(o, r);
		XEvent answer = {.xselection = {.type = SelectionNotify,
					 .requestor = r->requestor,
					 .selection = r->selection,
					 .target = r->target,
					 .property = done ? r->property : None,
					 .time = r->time}};
		XSendEvent(display, r->requestor, False, NoEventMask, &answer);
		XFlush(display);
	} else if (e->type == PropertyNotify && e->xproperty.state == PropertyDelete &&
		   e->xproperty.window == o->requestor && !o->ended && o->behaviour != STALLS) {
		owner_piece(o);
	}
}

void owner_events(struct owner *o) {
	while (XPending(display) > 0) {
		XEvent e;
		XNextEvent(display, &e);
		owner_event(o, &e);
	}
}

/* ---------------------------------------------------------------- a requestor of the test's own */

void wish_new(struct wish *w, const char *selection, const char *target) {
	*w = (struct wish){.property = atom("TEST_WISH")};
	w->window = XCreateSimpleWindow(display, DefaultRootWindow(display), 0, 0, 1, 1, 0, 0, 0);
	w->data = malloc(LARGE + CHUNK);
	XSelectInput(display, w->window, PropertyChangeMask);
	XConvertSelection(
		display, atom(selection), atom(target), w->property, w->window, CurrentTime);
	XFlush(display);
}

void wish_again(struct wish *w, const char *target, Time when) {
	w->over = false;
	w->refused = false;
	XConvertSelection(display, atom("CLIPBOARD"), atom(target), w->property, w->window, when);
	wish_wait(w);
}

void wish_read(struct wish *w) {
	int format = 0;
	unsigned long count = 0;
	unsigned long left = 0;
	unsigned char *data = NULL;
	XGetWindowProperty(display, w->window, w->property, 0, LARGE, True, AnyPropertyType,
		&w->type, &format, &count, &left, &data);
	size_t bytes = format == 32 ? count * sizeof(long) : count;
	if (w->type == atom("INCR")) {
		w->incr = true;
	} else if (w->type != None) {
		memcpy(w->data + w->len, data, bytes);
		w->len += bytes;
		w->over = !w->incr || count == 0;
	}
	if (data) {
		XFree(data);
	}
}

void wish_event(struct wish *w, const XEvent *e) {
	if (e->type == SelectionNotify && e->xselection.requestor == w->window) {
		w->refused = w->over = e->xselection.property == None;
		if (!w->refused) {
			wish_read(w);
		}
	} else if (e->type == PropertyNotify && e->xproperty.window == w->window && w->incr &&
		   e->xproperty.state == PropertyNewValue) {
		wish_read(w);
	}
}

void wish_wait(struct wish *w) {
	uint64_t end = now_ms() + WAIT_MS;
	while (!w->over) {
		struct pollfd p = {.fd = ConnectionNumber(display), .events = POLLIN};
		ck_assert_uint_lt(now_ms(), end);
		while (XPending(display) > 0) {
			XEvent e;
			XNextEvent(display, &e);
			wish_event(w, &e);
		}
		XFlush(display);
		if (!w->over) {
			(void)poll(&p, 1, 100);
		}
	}
}

void wish_done(struct wish *w) {
	XDestroyWindow(display, w->window);
	free(w->data);
}
