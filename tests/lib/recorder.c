/* Records buttons, motion and keys in the order of the server. */
#include "tests/lib/recorder.h"

#include <string.h>

#include <X11/Xlib.h>
#include <X11/Xutil.h>

bool recorder_open(struct recorder *ret) {
	memset(ret, 0, sizeof(*ret));
	Display *d = XOpenDisplay(NULL);
	if (!d) {
		return false;
	}
	XSetWindowAttributes a = {.event_mask = ButtonPressMask | ButtonReleaseMask |
						PointerMotionMask | KeyPressMask | KeyReleaseMask |
						ExposureMask};
	ret->display = d;
	ret->window = XCreateWindow(d, DefaultRootWindow(d), 100, 100, 400, 300, 0, CopyFromParent,
		InputOutput, NULL, CWEventMask, &a);
	(void)XStoreName(d, ret->window, "recorder");
	(void)XMapWindow(d, ret->window);
	XEvent event;
	do {
		(void)XNextEvent(d, &event);
	} while (event.type != Expose);
	(void)XSetInputFocus(d, ret->window, RevertToParent, CurrentTime);
	(void)XSync(d, False);
	return true;
}

void recorder_close(struct recorder *r) {
	if (r->display) {
		(void)XCloseDisplay(r->display);
	}
	r->display = NULL;
}

static void on_key(struct record *ret, XEvent *event) {
	KeySym keysym = NoSymbol;
	char text[16];
	(void)XLookupString(&event->xkey, text, sizeof(text), &keysym, NULL);
	ret->type = event->type == KeyPress ? RECORD_KEY_DOWN : RECORD_KEY_UP;
	ret->code = event->xkey.keycode;
	ret->keysym = keysym;
}

/* The events of buttons, motion and keys have the same head. */
static bool to_record(XEvent *event, struct record *ret) {
	const XButtonEvent *b = &event->xbutton;
	*ret = (struct record){.state = b->state, .x = b->x_root, .y = b->y_root, .time = b->time};
	switch (event->type) {
	case ButtonPress:
	case ButtonRelease:
		ret->type = event->type == ButtonPress ? RECORD_PRESS : RECORD_RELEASE;
		ret->code = b->button;
		return true;
	case MotionNotify:
		ret->type = RECORD_MOTION;
		return true;
	case KeyPress:
	case KeyRelease:
		on_key(ret, event);
		return true;
	default:
		return false;
	}
}

void recorder_read(struct recorder *r) {
	Display *d = r->display;
	(void)XSync(d, False);
	while (XPending(d) > 0) {
		XEvent event;
		(void)XNextEvent(d, &event);
		if (event.type == MappingNotify) {
			(void)XRefreshKeyboardMapping(&event.xmapping);
		}
		struct record record;
		if (to_record(&event, &record) && r->count < RECORDER_MAX) {
			r->record[r->count++] = record;
		}
	}
}

void recorder_clear(struct recorder *r) {
	recorder_read(r);
	r->count = 0;
}

size_t recorder_count(const struct recorder *r, enum record_type type, unsigned code) {
	size_t n = 0;
	for (size_t i = 0; i < r->count; i++) {
		n += r->record[i].type == type && (code == 0 || r->record[i].code == code);
	}
	return n;
}
