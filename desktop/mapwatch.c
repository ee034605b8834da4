/* A second connection on which the server's RECORD extension reports all clients'
 * requests for the keyboard map, and our own changes of it: the stream has both in the order of the server. */
#include "desktop/mapwatch.h"

#include <sys/socket.h>
#include <X11/Xlibint.h>
#include <X11/extensions/record.h>
#include <X11/extensions/XKBproto.h>

/* Xlib's inside defines these as macros. */
#undef min
#undef max

#include "desktop/input_priv.h"

#define DEPTH_MAX 32
/* Time without a request, after which no more are expected: the first time, and when there were
 * fewer than usual. It outlasts any pause that a busy machine makes a program take. */
#define LEARN_MS 300
#define DOUBT_MS 1500

/* Xlib itself reads the map by XKB as soon as it has received the notice, which may be before the
 * program has come to keys that it received earlier; a program that asks by the core protocol does so
 * when it comes to the notice. So the latter kind is worth more. */
struct reads {
	unsigned core;
	unsigned xkb;
};

struct mapwatch {
	struct x11 *x;
	Display *data;
	XRecordContext context;
	bool lost;
	XID client_mask; /* the part of an id that tells the client */
	XID own;
	XID reader; /* client that has the keyboard; 0: none */
	XID given_up; /* client that does not read the map */
	unsigned changes; /* of the map by us */
	unsigned changes_seen; /* that the stream has told */
	struct reads reads; /* requests of the reader since then */
	uint64_t read_ms; /* time of the last one */
	struct reads expected; /* that one change makes it send; none: not known yet */
};

static void on_io_exit(Display *display, void *ctx) {
	(void)display;
	((struct mapwatch *)ctx)->lost = true;
}

static unsigned larger(unsigned a, unsigned b) {
	return a > b ? a : b;
}

static bool is_known(const struct reads *r) {
	return r->core + r->xkb > 0;
}

/* Requests that were late are waited for the next time. */
static void on_change(struct mapwatch *w) {
	if (is_known(&w->expected)) {
		w->expected.core = larger(w->expected.core, w->reads.core);
		w->expected.xkb = larger(w->expected.xkb, w->reads.xkb);
	}
	w->reads = (struct reads){0};
	w->changes_seen++;
}

static void on_record(XPointer closure, XRecordInterceptData *data) {
	struct mapwatch *w = (struct mapwatch *)(void *)closure;
	XID client = data->id_base & w->client_mask;
	bool request = data->category == XRecordFromClient && data->data && data->data_len > 0;
	bool xkb = request && data->data[0] == w->x->xkb_opcode;
	bool core_read = request && data->data[0] == X_GetKeyboardMapping;
	bool xkb_read = xkb && data->data[1] == X_kbGetMap;
	if (client == w->own && xkb && data->data[1] == X_kbSetMap) {
		on_change(w);
	} else if (client == w->reader && client != w->own && (core_read || xkb_read)) {
		w->reads.core += core_read;
		w->reads.xkb += xkb_read;
		w->read_ms = input_now();
	}
	XRecordFreeData(data);
}

static bool start_record(struct mapwatch *w) {
	int major = 0;
	int minor = 0;
	if (!XRecordQueryVersion(w->x->display, &major, &minor)) {
		return false;
	}
	XRecordRange *range = XRecordAllocRange();
	if (!range) {
		return false;
	}
	range->core_requests.first = range->core_requests.last = X_GetKeyboardMapping;
	range->ext_requests.ext_major.first = (CARD8)w->x->xkb_opcode;
	range->ext_requests.ext_major.last = (CARD8)w->x->xkb_opcode;
	range->ext_requests.ext_minor.first = X_kbGetMap;
	range->ext_requests.ext_minor.last = X_kbSetMap;
	XRecordClientSpec everybody = XRecordAllClients;
	w->context = XRecordCreateContext(w->x->display, 0, &everybody, 1, &range, 1);
	(void)XFree(range);
	return w->context && x11_sync(w->x, NULL) == 0 &&
	       XRecordEnableContextAsync(w->data, w->context, on_record, (XPointer)w);
}

CUA_DEFINE_CLEANUP(struct mapwatch *, mapwatch_free)

struct mapwatch *mapwatch_new(struct x11 *x) {
	_cleanup_(mapwatch_free_p) struct mapwatch *w = calloc(1, sizeof(*w));
	if (!w || x->lost) {
		return NULL;
	}
	w->x = x;
	const xcb_setup_t *setup = xcb_get_setup(x->xcb);
	w->client_mask = 0x1fffffff & ~(XID)setup->resource_id_mask;
	w->own = setup->resource_id_base & w->client_mask;
	w->data = XOpenDisplay(DisplayString(x->display));
	if (!w->data) {
		return NULL;
	}
	XSetIOErrorExitHandler(w->data, on_io_exit, w);
	return start_record(w) ? take_ptr(w) : NULL;
}

struct mapwatch *mapwatch_free(struct mapwatch *w) {
	if (w && w->context && !w->x->lost) {
		(void)XRecordDisableContext(w->x->display, w->context);
		(void)XRecordFreeContext(w->x->display, w->context);
		x11_flush(w->x);
	}
	if (w && w->data) {
		if (w->x->lost) {
			/* Closing asks the server once more: one that hangs would not answer. */
			(void)shutdown(ConnectionNumber(w->data), SHUT_RDWR);
		}
		(void)XCloseDisplay(w->data);
	}
	free(w);
	return NULL;
}

/* The innermost window under the pointer: it gets the keys when nothing has the focus. */
static Window under_pointer(struct x11 *x) {
	Window window = x->root;
	for (int i = 0; i < DEPTH_MAX && !x->lost; i++) {
		Window root = None;
		Window child = None;
		int ignored = 0;
		unsigned mask = 0;
		if (!XQueryPointer(x->display, window, &root, &child, &ignored, &ignored, &ignored,
			    &ignored, &mask) ||
			child == None) {
			break;
		}
		window = child;
	}
	return window;
}

static XID find_reader(const struct mapwatch *w) {
	Window focus = None;
	int revert = 0;
	if (!w->x->lost) {
		(void)XGetInputFocus(w->x->display, &focus, &revert);
	}
	return focus == PointerRoot ? under_pointer(w->x) & w->client_mask : focus & w->client_mask;
}

void mapwatch_changed(struct mapwatch *w) {
	XID reader = find_reader(w);
	if (reader != w->reader) {
		mapwatch_unlearn(w);
	}
	w->reader = reader;
	w->changes++;
}

bool mapwatch_seen(struct mapwatch *w, unsigned slack_ms) {
	if (!w->lost) {
		XRecordProcessReplies(w->data);
	}
	if (w->lost || w->changes_seen != w->changes || !is_known(&w->reads)) {
		return false;
	}
	const struct reads *e = &w->expected;
	/* The whole series: what is left of it would be taken for part of the next. */
	if (e->core ? w->reads.core >= e->core : e->xkb && w->reads.xkb >= e->xkb) {
		return true;
	}
	if (input_now() < w->read_ms + (is_known(e) ? DOUBT_MS : LEARN_MS) + slack_ms) {
		return false;
	}
	w->expected = w->reads;
	return true;
}

bool mapwatch_reading(const struct mapwatch *w) {
	return !w->lost && is_known(&w->reads);
}

void mapwatch_unlearn(struct mapwatch *w) {
	w->expected = (struct reads){0};
}

bool mapwatch_useful(const struct mapwatch *w) {
	XID reader = find_reader(w);
	return !w->lost && reader != 0 && reader != w->given_up && reader != w->own;
}

void mapwatch_give_up(struct mapwatch *w) {
	w->given_up = w->reader;
}

void mapwatch_forgive(struct mapwatch *w) {
	w->given_up = 0;
}
