/* EWMH's and ICCCM's requests; see the header. Which of them were heard is not known here. */
#include "desktop/winact.h"

#include <string.h>

#include <X11/Xutil.h>

#include "desktop/windows.h"
#include "desktop/x11_priv.h"

#define SOURCE_PAGER 2 /* a person's wish, which is not second-guessed */
#define STATE_REMOVE 0
#define STATE_ADD 1
/* _NET_MOVERESIZE_WINDOW: StaticGravity means the window itself, not its frame. */
#define HAS_PLACE (1L << 8 | 1L << 9)
#define HAS_SIZE (1L << 10 | 1L << 11)
#define SOURCE_BITS (2L << 12)

static void ask_state(struct x11 *x, Window w, long change) {
	const long data[5] = {change, (long)x->atom._NET_WM_STATE_MAXIMIZED_HORZ,
		(long)x->atom._NET_WM_STATE_MAXIMIZED_VERT, SOURCE_PAGER};
	windows_ask_manager(x, w, x->atom._NET_WM_STATE, data);
}

#define WATCHED (StructureNotifyMask | PropertyChangeMask)

/* Others may have selected events of the same window, and have to keep them. */
long winact_watch(struct x11 *x, uint32_t id) {
	XWindowAttributes a = {0};
	if (x->lost || !XGetWindowAttributes(x->display, id, &a) || x->lost) {
		return 0;
	}
	long added = WATCHED & ~a.your_event_mask;
	(void)XSelectInput(x->display, id, a.your_event_mask | added);
	return added;
}

void winact_unwatch(struct x11 *x, uint32_t id, long added) {
	XWindowAttributes a = {0};
	if (added != 0 && !x->lost && XGetWindowAttributes(x->display, id, &a) && !x->lost) {
		(void)XSelectInput(x->display, id, a.your_event_mask & ~(added & WATCHED));
	}
}

/* ---------------------------------------------------------------- without a window manager */

/* What a manager would write for everybody to see, and `windows` reads. */
static void set_icccm_state(struct x11 *x, Window w, long state) {
	const long data[2] = {state, None};
	(void)XChangeProperty(x->display, w, x->atom.WM_STATE, x->atom.WM_STATE, 32,
		PropModeReplace, (const unsigned char *)data, 2);
}

/* A window with the focus is one that is shown, so the server is asked in this order. */
static void show(struct x11 *x, Window w) {
	set_icccm_state(x, w, NormalState);
	(void)XMapRaised(x->display, w);
}

static void place_directly(struct x11 *x, Window w, const int place[2], const int size[2]) {
	XWindowAttributes a = {0};
	if (place && XGetWindowAttributes(x->display, w, &a)) {
		/* A window's border is outside of its place, but inside of what is moved. */
		(void)XMoveWindow(
			x->display, w, place[0] - a.border_width, place[1] - a.border_width);
	}
	if (size) {
		(void)XResizeWindow(x->display, w, (unsigned)size[0], (unsigned)size[1]);
	}
}

/* The window's own place is kept with it, for whoever restores it. */
static void maximize_directly(struct x11 *x, const cua_Window *window) {
	const cua_Rect *g = &window->geometry;
	const long before[4] = {g->x, g->y, g->width, g->height};
	const long state[2] = {(long)x->atom._NET_WM_STATE_MAXIMIZED_HORZ,
		(long)x->atom._NET_WM_STATE_MAXIMIZED_VERT};
	if (!window->maximized) {
		(void)XChangeProperty(x->display, window->id, x->atom._CUAD_GEOMETRY, XA_INTEGER,
			32, PropModeReplace, (const unsigned char *)before, 4);
	}
	(void)XChangeProperty(x->display, window->id, x->atom._NET_WM_STATE, XA_ATOM, 32,
		PropModeReplace, (const unsigned char *)state, 2);
	show(x, window->id);
	place_directly(x, window->id, (const int[]){0, 0}, (const int[]){x->width, x->height});
}

static int within(long value, int min, int max) {
	return value < min ? min : value > max ? max : (int)value;
}

static void restore_directly(struct x11 *x, const cua_Window *window) {
	unsigned long kept[4] = {0};
	show(x, window->id);
	if (window->minimized || !window->maximized) {
		return;
	}
	(void)XDeleteProperty(x->display, window->id, x->atom._NET_WM_STATE);
	if (x11_get_longs(x, window->id, x->atom._CUAD_GEOMETRY, XA_INTEGER, kept, 4) == 4) {
		const int place[2] = {within((long)kept[0], -CUA_SCREEN_MAX_W, CUA_SCREEN_MAX_W),
			within((long)kept[1], -CUA_SCREEN_MAX_W, CUA_SCREEN_MAX_W)};
		const int size[2] = {within((long)kept[2], 1, CUA_SCREEN_MAX_W),
			within((long)kept[3], 1, CUA_SCREEN_MAX_W)};
		place_directly(x, window->id, place, size);
	}
}

static void close_directly(struct x11 *x, Window w) {
	if (!windows_speaks(x, w, x->atom.WM_DELETE_WINDOW)) {
		(void)XKillClient(x->display, w);
		return;
	}
	XClientMessageEvent message = {.window = w, .message_type = x->atom.WM_PROTOCOLS};
	message.data.l[0] = (long)x->atom.WM_DELETE_WINDOW;
	message.data.l[1] = (long)x11_time(x);
	x11_send_message(x, w, NoEventMask, &message);
}

/* ---------------------------------------------------------------- each wish */

int winact_focus(struct x11 *x, uint32_t id, struct cua_err *err) {
	/* Managers do not heed what is older than the last input. */
	long now = (long)x11_time(x);
	if (windows_managed(x)) {
		const long data[5] = {SOURCE_PAGER, now};
		windows_ask_manager(x, id, x->atom._NET_ACTIVE_WINDOW, data);
	} else if (!x->lost) {
		show(x, id);
		(void)XSetInputFocus(x->display, id, RevertToPointerRoot, (Time)now);
	}
	return x11_sync(x, err);
}

int winact_place(
	struct x11 *x, uint32_t id, const int place[2], const int size[2], struct cua_err *err) {
	if (windows_managed(x)) {
		const long data[5] = {StaticGravity | SOURCE_BITS | (place ? HAS_PLACE : 0) |
					      (size ? HAS_SIZE : 0),
			place ? place[0] : 0, place ? place[1] : 0, size ? size[0] : 0,
			size ? size[1] : 0};
		windows_ask_manager(x, id, x->atom._NET_MOVERESIZE_WINDOW, data);
	} else if (!x->lost) {
		place_directly(x, id, place, size);
	}
	return x11_sync(x, err);
}

int winact_minimize(struct x11 *x, uint32_t id, struct cua_err *err) {
	if (windows_managed(x)) {
		const long data[5] = {IconicState};
		windows_ask_manager(x, id, x->atom.WM_CHANGE_STATE, data);
	} else if (!x->lost) {
		set_icccm_state(x, id, IconicState);
		(void)XUnmapWindow(x->display, id);
	}
	return x11_sync(x, err);
}

int winact_maximize(struct x11 *x, const cua_Window *window, struct cua_err *err) {
	if (!windows_managed(x)) {
		if (!x->lost) {
			maximize_directly(x, window);
		}
		return x11_sync(x, err);
	}
	ask_state(x, window->id, STATE_ADD);
	return window->minimized ? winact_focus(x, window->id, err) : x11_sync(x, err);
}

int winact_restore(struct x11 *x, const cua_Window *window, struct cua_err *err) {
	if (!windows_managed(x)) {
		if (!x->lost) {
			restore_directly(x, window);
		}
		return x11_sync(x, err);
	}
	if (window->minimized) {
		return winact_focus(x, window->id, err);
	}
	ask_state(x, window->id, STATE_REMOVE);
	return x11_sync(x, err);
}

int winact_close(struct x11 *x, uint32_t id, struct cua_err *err) {
	if (windows_managed(x)) {
		const long data[5] = {(long)x11_time(x), SOURCE_PAGER};
		windows_ask_manager(x, id, x->atom._NET_CLOSE_WINDOW, data);
	} else if (!x->lost) {
		close_directly(x, id);
	}
	return x11_sync(x, err);
}

int winact_kill(struct x11 *x, uint32_t id, struct cua_err *err) {
	if (!x->lost) {
		(void)XKillClient(x->display, id);
	}
	return x11_sync(x, err);
}

/* ---------------------------------------------------------------- sizes */

/* What a program tells of one direction; made sane, for it may tell anything. */
struct size_hints {
	int base;
	int step;
	int min;
	int max;
};

#define HINT_MAX 32767

static struct size_hints sane_hints(const XSizeHints *h, bool wide) {
	bool has_min = (h->flags & PMinSize) != 0;
	bool has_base = (h->flags & PBaseSize) != 0;
	int min = has_min ? wide ? h->min_width : h->min_height : 0;
	/* Where only one of base and smallest size is given, it stands for the other. */
	int base = has_base ? wide ? h->base_width : h->base_height : min;
	int step = h->flags & PResizeInc ? wide ? h->width_inc : h->height_inc : 1;
	int max = h->flags & PMaxSize ? wide ? h->max_width : h->max_height : HINT_MAX;
	return (struct size_hints){.base = within(base, 0, HINT_MAX),
		.step = within(step, 1, HINT_MAX),
		.min = within(has_min ? min : base, 1, HINT_MAX),
		.max = within(max, 1, HINT_MAX)};
}

static int fit(int size, const struct size_hints *h) {
	int fitting = within(size, h->min, h->max < h->min ? h->min : h->max);
	return fitting > h->base ? h->base + (fitting - h->base) / h->step * h->step : fitting;
}

void winact_size(struct x11 *x, uint32_t id, const int size[2], int ret_size[2]) {
	XSizeHints told = {0};
	long supplied = 0;
	if (!x->lost && !XGetWMNormalHints(x->display, id, &told, &supplied)) {
		told.flags = 0;
	}
	for (int i = 0; i < 2; i++) {
		const struct size_hints hints = sane_hints(&told, i == 0);
		ret_size[i] = fit(size[i], &hints);
	}
}
