/* The connection to the X server: open, errors, events, properties. What a picture, a key or a
 * window is, is not known here. Xlib ends the process on a lost connection unless both of its
 * handlers are replaced; ours find their struct in the display's list of extension data. */
#include "desktop/x11.h"

#include <string.h>

#include "desktop/x11_priv.h"

#include <X11/extensions/dpms.h>

#define EVENTS_PER_DISPATCH 4096
#define ATOMS_MAX 512

/* Never frees anything: marks our entry in the list. */
static int disown(XExtData *data) {
	(void)data;
	return 0;
}

static struct x11 *of_display(Display *display) {
	XEDataObject object = {.display = display};
	for (XExtData *d = *XEHeadOfExtensionList(object); d; d = d->next) {
		if (d->free_private == disown) {
			return (struct x11 *)(void *)d->private_data;
		}
	}
	return NULL;
}

static int on_error(Display *display, XErrorEvent *event) {
	struct x11 *x = of_display(display);
	if (x) {
		x->error_count++;
		x->error_code = event->error_code;
	}
	return 0;
}

/* Xlib prints and exits unless this returns and on_io_exit() does too. */
static int on_io_error(Display *display) {
	struct x11 *x = of_display(display);
	if (x) {
		x->lost = true;
	}
	return 0;
}

static void on_io_exit(Display *display, void *ctx) {
	(void)display;
	((struct x11 *)ctx)->lost = true;
}

static int attach(struct x11 *x) {
	XExtCodes *codes = XAddExtension(x->display);
	XExtData *data = calloc(1, sizeof(*data));
	if (!codes || !data) {
		free(data);
		return -CUA_EXHAUSTED;
	}
	data->number = codes->extension;
	data->free_private = disown;
	data->private_data = (XPointer)x;
	XEDataObject object = {.display = x->display};
	(void)XAddToExtensionList(XEHeadOfExtensionList(object), data);
	XSetIOErrorExitHandler(x->display, on_io_exit, x);
	return 0;
}

static int find_extension(struct x11 *x, const char *name, int *ret_event, struct cua_err *err) {
	int opcode = 0;
	int event = 0;
	int error = 0;
	if (!XQueryExtension(x->display, name, &opcode, &event, &error)) {
		return cua_err_set(err, CUA_INTERNAL, "the X server lacks %s", name);
	}
	if (ret_event) {
		*ret_event = event;
	}
	return opcode;
}

static int find_extensions(struct x11 *x, struct cua_err *err) {
	const struct {
		const char *name;
		int *opcode;
		int *event;
	} wanted[] = {
		{"XTEST", &x->xtest_opcode, NULL},
		{"XKEYBOARD", &x->xkb_opcode, &x->xkb_event},
		{"DAMAGE", NULL, &x->damage_event},
		{"XFIXES", NULL, &x->fixes_event},
		{"RANDR", NULL, &x->randr_event},
		{"MIT-SHM", NULL, NULL},
	};
	for (size_t i = 0; i < CUA_COUNT(wanted); i++) {
		int r = find_extension(x, wanted[i].name, wanted[i].event, err);
		if (r < 0) {
			return r;
		}
		if (wanted[i].opcode) {
			*wanted[i].opcode = r;
		}
	}
	return 0;
}

#define ATOM_NAME(name) (char *)(uintptr_t) #name,

/* One round trip for all of them: the struct is nothing but atoms in the order of the list. */
static void intern_atoms(struct x11 *x) {
	char *names[] = {X11_ATOMS(ATOM_NAME)};
	Atom atoms[CUA_COUNT(names)] = {0};
	(void)XInternAtoms(x->display, names, (int)CUA_COUNT(names), False, atoms);
	_Static_assert(sizeof(atoms) == sizeof(x->atom), "an atom is missing in one of the lists");
	memcpy(&x->atom, atoms, sizeof(atoms));
}

/* Pixels are 32 bits of blue, green, red: everything that reads them relies on it. */
static int check_visual(const struct x11 *x, struct cua_err *err) {
	const Visual *visual = DefaultVisual(x->display, x->screen);
	if (DefaultDepth(x->display, x->screen) != 24 || visual->red_mask != 0xff0000 ||
		visual->green_mask != 0xff00 || visual->blue_mask != 0xff ||
		ImageByteOrder(x->display) != LSBFirst) {
		return cua_err_set(err, CUA_INTERNAL, "the screen is not 24 bits of RGB");
	}
	return 0;
}

static int read_server(struct x11 *x, struct cua_err *err) {
	x->xcb = XGetXCBConnection(x->display);
	x->screen = DefaultScreen(x->display);
	x->root = RootWindow(x->display, x->screen);
	x->width = DisplayWidth(x->display, x->screen);
	x->height = DisplayHeight(x->display, x->screen);
	int r = check_visual(x, err);
	if (r < 0) {
		return r;
	}
	r = find_extensions(x, err);
	if (r < 0) {
		return r;
	}
	intern_atoms(x);
	int event = 0;
	int error = 0;
	x->has_dpms = DPMSQueryExtension(x->display, &event, &error) != False;
	x11_stay_awake(x);
	x11_watch_children(x, false);
	return x11_sync(x, err);
}

CUA_DEFINE_CLEANUP(struct x11 *, x11_close)

struct x11 *x11_open(const char *display, struct cua_err *err) {
	(void)XSetErrorHandler(on_error);
	(void)XSetIOErrorHandler(on_io_error);
	_cleanup_(x11_close_p) struct x11 *x = calloc(1, sizeof(*x));
	if (!x) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for an X connection");
		return NULL;
	}
	x->display = XOpenDisplay(display);
	if (!x->display) {
		(void)cua_err_set(err, CUA_NOT_FOUND, "no X server answers at %s", display);
		return NULL;
	}
	if (attach(x) < 0) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for an X connection");
		return NULL;
	}
	if (read_server(x, err) < 0) {
		return NULL;
	}
	return take_ptr(x);
}

struct x11 *x11_close(struct x11 *x) {
	if (x && x->display) {
		(void)XCloseDisplay(x->display);
	}
	free(x);
	return NULL;
}

bool x11_alive(const struct x11 *x) {
	return !x->lost;
}

int x11_fd(const struct x11 *x) {
	return ConnectionNumber(x->display);
}

int x11_width(const struct x11 *x) {
	return x->width;
}

int x11_height(const struct x11 *x) {
	return x->height;
}

int x11_sync(struct x11 *x, struct cua_err *err) {
	if (!x->lost) {
		(void)XSync(x->display, False);
	}
	return x->lost ? cua_err_set(err, CUA_NOT_FOUND, "the X server is gone") : 0;
}

void x11_stay_awake(struct x11 *x) {
	if (x->lost) {
		return;
	}
	/* Without exposures there is no saver's window, whoever starts the saver. */
	(void)XSetScreenSaver(x->display, 0, 0, DontPreferBlanking, DontAllowExposures);
	(void)XResetScreenSaver(x->display);
	if (x->has_dpms) {
		(void)DPMSDisable(x->display);
	}
}

void x11_watch_children(struct x11 *x, bool on) {
	if (!x->lost) {
		(void)XSelectInput(x->display, x->root,
			StructureNotifyMask | PropertyChangeMask |
				(on ? SubstructureNotifyMask : 0));
	}
}

void x11_flush(struct x11 *x) {
	if (!x->lost) {
		(void)XFlush(x->display);
	}
}

static void note_size(struct x11 *x, const XEvent *event) {
	const XConfigureEvent *c = &event->xconfigure;
	if (event->type == ConfigureNotify && c->window == x->root && c->width > 0 &&
		c->height > 0) {
		x->width = c->width;
		x->height = c->height;
	}
}

bool x11_pending(struct x11 *x) {
	/* xcb keeps events that came with an answer until somebody makes Xlib look. */
	return !x->lost && XEventsQueued(x->display, QueuedAfterReading) > 0;
}

bool x11_is_change(const struct x11 *x, const XEvent *event) {
	switch (event->type) {
	case ConfigureNotify:
	case DestroyNotify:
	case MapNotify:
	case PropertyNotify:
	case ReparentNotify:
	case UnmapNotify:
		return event->xany.display == x->display;
	default:
		return false;
	}
}

bool x11_dispatch(struct x11 *x, x11_event_fn *fn, void *ctx) {
	for (int i = 0; i < EVENTS_PER_DISPATCH; i++) {
		if (x->lost || XPending(x->display) <= 0) {
			return false;
		}
		XEvent event;
		(void)XNextEvent(x->display, &event);
		if (x->lost) {
			return false;
		}
		note_size(x, &event);
		fn(ctx, &event);
	}
	return true;
}

unsigned x11_trap(const struct x11 *x) {
	return x->error_count;
}

int x11_trap_end(struct x11 *x, unsigned mark) {
	if (x11_sync(x, NULL) < 0) {
		return -1;
	}
	return x->error_count != mark ? x->error_code : 0;
}

Window x11_hidden_window(struct x11 *x, long events) {
	XSetWindowAttributes attributes = {.event_mask = events, .override_redirect = True};
	return x->lost ? None
		       : XCreateWindow(x->display, x->root, -10, -10, 1, 1, 0, 0, InputOnly,
				 CopyFromParent, CWEventMask | CWOverrideRedirect, &attributes);
}

Time x11_time(struct x11 *x) {
	XEvent event = {0};
	Time now = 0;
	if (x->clock == None) {
		x->clock = x11_hidden_window(x, PropertyChangeMask);
	}
	if (x->lost) {
		return 0;
	}
	/* Appending nothing makes the server tell its time. */
	(void)XChangeProperty(x->display, x->clock, XA_WM_NAME, XA_STRING, 8, PropModeAppend,
		(const unsigned char *)"", 0);
	if (x11_sync(x, NULL) < 0) {
		return 0;
	}
	while (XCheckTypedWindowEvent(x->display, x->clock, PropertyNotify, &event)) {
		now = event.xproperty.time;
	}
	return now;
}

void x11_send_message(struct x11 *x, Window to, long mask, const XClientMessageEvent *message) {
	XEvent event = {.xclient = *message};
	event.xclient.type = ClientMessage;
	event.xclient.format = 32;
	if (!x->lost) {
		(void)XSendEvent(x->display, to, False, mask, &event);
	}
}

/* What XGetWindowProperty returned; the data is Xlib's. */
struct property {
	Atom type;
	int format;
	unsigned long count;
	unsigned char *data;
};

static void property_done(struct property *p) {
	if (p->data) {
		(void)XFree(p->data);
	}
}

/* Reads at most `units` 32-bit units of a property; false when there is nothing to read. */
static bool read_property(
	struct x11 *x, const Window window[2], Atom type, long units, struct property *ret) {
	unsigned long left = 0;
	if (x->lost) {
		return false;
	}
	int r = XGetWindowProperty(x->display, window[0], window[1], 0, units, False, type,
		&ret->type, &ret->format, &ret->count, &left, &ret->data);
	return r == Success && !x->lost && ret->data != NULL;
}

size_t x11_get_longs(
	struct x11 *x, Window window, Atom property, Atom type, unsigned long *ret, size_t max) {
	_cleanup_(property_done) struct property p = {0};
	if (!read_property(x, (Window[]){window, property}, type, (long)max, &p) ||
		p.type != type || p.format != 32) {
		return 0;
	}
	size_t count = p.count < max ? p.count : max;
	memcpy(ret, p.data, count * sizeof(*ret));
	return count;
}

bool x11_lists_atom(struct x11 *x, Window window, Atom property, Atom atom) {
	unsigned long told[ATOMS_MAX];
	size_t n = x11_get_longs(x, window, property, XA_ATOM, told, CUA_COUNT(told));
	for (size_t i = 0; i < n; i++) {
		if (told[i] == atom) {
			return true;
		}
	}
	return false;
}

size_t x11_get_bytes(
	struct x11 *x, Window window, Atom property, Atom type, char *ret, size_t size) {
	ret[0] = '\0';
	_cleanup_(property_done) struct property p = {0};
	if (!read_property(x, (Window[]){window, property}, type, (long)(size / 4 + 1), &p) ||
		p.format != 8) {
		return 0;
	}
	size_t count = p.count < size - 1 ? p.count : size - 1;
	memcpy(ret, p.data, count);
	ret[count] = '\0';
	return count;
}
