/* Reads EWMH and ICCCM properties. Whoever can draw on the screen can write them, so nothing of
 * their lengths, types or values is relied upon. */
#include "desktop/windows.h"

#include <X11/Xutil.h>

#include "cua/ident.h"
#include "desktop/keymap.h"
#include "desktop/x11_priv.h"

#define LIST_MAX 1024
#define STATES_MAX 32
#define PARENTS_MAX 32
#define FRAME_MAX 1000
#define DOCK "dock"
#define DESKTOP "desktop"
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Copies text up to its NUL: broken bytes become U+FFFD, control characters spaces, and the end is
 * cut between characters. */
static void copy_text(const char *text, char *ret, size_t size) {
	size_t used = 0;
	size_t len = strlen(text);
	for (size_t pos = 0; pos < len;) {
		uint32_t c = 0;
		size_t n = keymap_decode(text + pos, len - pos, &c);
		bool ok = cua_utf8_ok(text + pos, n);
		const char *piece = !ok ? REPLACEMENT : c < 0x20 || c == 0x7f ? " " : text + pos;
		size_t piece_len = ok ? n : sizeof(REPLACEMENT) - 1;
		if (used + piece_len >= size) {
			break;
		}
		memcpy(ret + used, piece, piece_len);
		used += piece_len;
		pos += ok ? n : 1;
	}
	ret[used] = '\0';
}

/* Latin-1 as UTF-8; ret has room for twice the bytes. */
static void widen_latin1(const char *text, char *ret) {
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c >= 0x80) {
			*ret++ = (char)(0xc0 | c >> 6);
			c = 0x80 | (c & 0x3f);
		}
		*ret++ = (char)c;
	}
	*ret = '\0';
}

static void read_title(struct x11 *x, Window w, cua_Window *ret) {
	char raw[CUA_TITLE_SIZE * 4];
	char wide[sizeof(raw) * 2];
	size_t n = x11_get_bytes(x, w, x->atom._NET_WM_NAME, x->atom.UTF8_STRING, raw, sizeof(raw));
	const char *text = raw;
	if (n == 0) {
		n = x11_get_bytes(x, w, XA_WM_NAME, AnyPropertyType, raw, sizeof(raw));
		if (!cua_utf8_ok(raw, strlen(raw))) {
			widen_latin1(raw, wide);
			text = wide;
		}
	}
	ret->has_title = n > 0;
	copy_text(text, ret->title, sizeof(ret->title));
}

/* WM_CLASS is two strings, the instance's name and the class; the class is what a person knows. */
void windows_class(struct x11 *x, unsigned long window, char *ret, size_t size) {
	char raw[256];
	size_t n = x11_get_bytes(x, window, XA_WM_CLASS, XA_STRING, raw, sizeof(raw));
	size_t instance = strlen(raw);
	bool has_class = instance + 1 < n && raw[instance + 1];
	(void)snprintf(ret, size, "%s", has_class ? raw + instance + 1 : raw);
}

static void read_app(struct x11 *x, Window w, cua_Window *ret) {
	char raw[256];
	windows_class(x, w, raw, sizeof(raw));
	ret->has_app = raw[0] != '\0';
	copy_text(raw, ret->app, sizeof(ret->app));
}

static void read_pid(struct x11 *x, Window w, cua_Window *ret) {
	unsigned long pid = 0;
	ret->has_pid = x11_get_longs(x, w, x->atom._NET_WM_PID, XA_CARDINAL, &pid, 1) == 1;
	ret->pid = (uint32_t)pid;
}

static bool is_minimized(struct x11 *x, Window w) {
	unsigned long icccm = WithdrawnState;
	return x11_get_longs(x, w, x->atom.WM_STATE, x->atom.WM_STATE, &icccm, 1) == 1 &&
	       icccm == IconicState;
}

static void read_state(struct x11 *x, Window w, cua_Window *ret) {
	unsigned long state[STATES_MAX] = {0};
	size_t n = x11_get_longs(x, w, x->atom._NET_WM_STATE, XA_ATOM, state, STATES_MAX);
	bool horizontal = false;
	bool vertical = false;
	for (size_t i = 0; i < n; i++) {
		ret->minimized |= state[i] == x->atom._NET_WM_STATE_HIDDEN;
		horizontal |= state[i] == x->atom._NET_WM_STATE_MAXIMIZED_HORZ;
		vertical |= state[i] == x->atom._NET_WM_STATE_MAXIMIZED_VERT;
	}
	ret->maximized = horizontal && vertical;
	ret->minimized |= is_minimized(x, w);
}

/* Names of types as they are told; of those that a program gives, the first one known counts. */
static void read_type(struct x11 *x, Window w, cua_Window *ret) {
	const struct {
		Atom atom;
		const char *name;
	} types[] = {
		{x->atom._NET_WM_WINDOW_TYPE_NORMAL, "normal"},
		{x->atom._NET_WM_WINDOW_TYPE_DIALOG, "dialog"},
		{x->atom._NET_WM_WINDOW_TYPE_UTILITY, "utility"},
		{x->atom._NET_WM_WINDOW_TYPE_TOOLBAR, "toolbar"},
		{x->atom._NET_WM_WINDOW_TYPE_MENU, "menu"},
		{x->atom._NET_WM_WINDOW_TYPE_SPLASH, "splash"},
		{x->atom._NET_WM_WINDOW_TYPE_DOCK, DOCK},
		{x->atom._NET_WM_WINDOW_TYPE_DESKTOP, DESKTOP},
	};
	unsigned long told[STATES_MAX] = {0};
	unsigned long parent = None;
	size_t n = x11_get_longs(x, w, x->atom._NET_WM_WINDOW_TYPE, XA_ATOM, told, STATES_MAX);
	bool transient = x11_get_longs(x, w, XA_WM_TRANSIENT_FOR, XA_WINDOW, &parent, 1) == 1;
	const char *name = transient ? "dialog" : "normal";
	bool known = false;
	for (size_t i = 0; i < n && !known; i++) {
		for (size_t t = 0; t < CUA_COUNT(types) && !known; t++) {
			known = told[i] == types[t].atom;
			name = known ? types[t].name : name;
		}
	}
	ret->has_type = true;
	(void)snprintf(ret->type, sizeof(ret->type), "%s", name);
}

/* Left, right, top, bottom in the property; left, top, right, bottom here. */
static void read_frame(struct x11 *x, Window w, cua_Window *ret) {
	static const int from[] = {0, 2, 1, 3};
	unsigned long told[4] = {0};
	if (x11_get_longs(x, w, x->atom._NET_FRAME_EXTENTS, XA_CARDINAL, told, 4) != 4) {
		return;
	}
	ret->frame_count = 4;
	for (size_t i = 0; i < 4; i++) {
		unsigned long width = told[from[i]];
		ret->frame[i] = width < FRAME_MAX ? (int32_t)width : FRAME_MAX;
	}
}

/* What is no window of our screen has none. */
static bool read_geometry(struct x11 *x, Window w, cua_Rect *ret) {
	XWindowAttributes a = {0};
	Window child = None;
	int left = 0;
	int top = 0;
	if (x->lost || !XGetWindowAttributes(x->display, w, &a) || x->lost || a.root != x->root ||
		!XTranslateCoordinates(x->display, w, x->root, 0, 0, &left, &top, &child)) {
		return false;
	}
	*ret = (cua_Rect){.x = left, .y = top, .width = a.width, .height = a.height};
	return !x->lost;
}

bool windows_managed(struct x11 *x) {
	unsigned long window = 0;
	unsigned long itself = 0;
	return x11_get_longs(x, x->root, x->atom._NET_SUPPORTING_WM_CHECK, XA_WINDOW, &window, 1) &&
	       x11_get_longs(x, (Window)(uint32_t)window, x->atom._NET_SUPPORTING_WM_CHECK,
		       XA_WINDOW, &itself, 1) &&
	       itself == window;
}

/* For a child of the root without a window manager. */
static bool is_listable(struct x11 *x, Window w) {
	XWindowAttributes a = {0};
	return !x->lost && XGetWindowAttributes(x->display, w, &a) && !x->lost &&
	       a.class == InputOutput && !a.override_redirect &&
	       (a.map_state == IsViewable || is_minimized(x, w));
}

/* Bottom to top, the topmost LIST_MAX of them. */
static size_t list_children(struct x11 *x, unsigned long *ret) {
	Window root = None;
	Window parent = None;
	Window *children = NULL;
	unsigned total = 0;
	if (x->lost || !XQueryTree(x->display, x->root, &root, &parent, &children, &total)) {
		return 0;
	}
	unsigned skip = total > LIST_MAX ? total - LIST_MAX : 0;
	size_t count = 0;
	for (unsigned i = skip; children && i < total; i++) {
		if (is_listable(x, children[i])) {
			ret[count++] = children[i];
		}
	}
	if (children) {
		(void)XFree(children);
	}
	return count;
}

bool windows_speaks(struct x11 *x, unsigned long window, unsigned long protocol) {
	return x11_lists_atom(x, window, x->atom.WM_PROTOCOLS, protocol);
}

void windows_ask_manager(
	struct x11 *x, unsigned long window, unsigned long what, const long data[5]) {
	XClientMessageEvent message = {.window = window, .message_type = what};
	memcpy(message.data.l, data, sizeof(message.data.l));
	x11_send_message(x, x->root, SubstructureNotifyMask | SubstructureRedirectMask, &message);
}

unsigned long windows_parent(struct x11 *x, unsigned long window) {
	Window root = None;
	Window parent = None;
	Window *children = NULL;
	unsigned count = 0;
	if (x->lost || !XQueryTree(x->display, window, &root, &parent, &children, &count)) {
		return None;
	}
	if (children) {
		(void)XFree(children);
	}
	return parent;
}

unsigned long windows_top(struct x11 *x, unsigned long window) {
	for (int i = 0; i < PARENTS_MAX && window != None; i++) {
		Window parent = windows_parent(x, window);
		if (parent == x->root) {
			return window;
		}
		window = parent;
	}
	return None;
}

/* The child of the root that the window with the focus is in. */
static Window focused_child(struct x11 *x) {
	Window focus = None;
	int revert = 0;
	if (!x->lost) {
		(void)XGetInputFocus(x->display, &focus, &revert);
	}
	return focus > PointerRoot && focus != x->root ? windows_top(x, focus) : None;
}

static Window active_window(struct x11 *x, bool managed) {
	unsigned long active = 0;
	if (!managed) {
		return focused_child(x);
	}
	(void)x11_get_longs(x, x->root, x->atom._NET_ACTIVE_WINDOW, XA_WINDOW, &active, 1);
	return (Window)(uint32_t)active;
}

static bool read_window(struct x11 *x, Window w, Window active, cua_Window *ret) {
	*ret = (cua_Window){.id = (uint32_t)w, .active = w == active};
	if (w == None || x->lost || !read_geometry(x, w, &ret->geometry)) {
		return false;
	}
	read_title(x, w, ret);
	read_app(x, w, ret);
	read_pid(x, w, ret);
	read_state(x, w, ret);
	read_type(x, w, ret);
	read_frame(x, w, ret);
	return !x->lost;
}

static bool is_application(const cua_Window *window) {
	return strcmp(window->type, DOCK) != 0 && strcmp(window->type, DESKTOP) != 0;
}

/* What there is, bottom to top; the same window may come twice. */
struct stack {
	unsigned long id[LIST_MAX];
	size_t count;
	Window active;
};

static void read_stack(struct x11 *x, struct stack *ret) {
	bool managed = windows_managed(x);
	ret->count = managed ? x11_get_longs(x, x->root, x->atom._NET_CLIENT_LIST_STACKING,
				       XA_WINDOW, ret->id, LIST_MAX)
			     : list_children(x, ret->id);
	ret->active = active_window(x, managed);
	for (size_t i = 0; i < ret->count; i++) {
		ret->id[i] = (uint32_t)ret->id[i];
	}
}

static bool is_above(const struct stack *stack, size_t at) {
	for (size_t i = at + 1; i < stack->count; i++) {
		if (stack->id[i] == stack->id[at]) {
			return true;
		}
	}
	return false;
}

/* Where the windows go; counts on beyond what there is room for. */
struct room {
	cua_Window *list;
	size_t max;
	size_t count;
};

static int fill(struct x11 *x, bool all, struct room *room, struct cua_err *err) {
	struct stack stack;
	cua_Window window;
	read_stack(x, &stack);
	for (size_t i = stack.count; i > 0 && !x->lost; i--) {
		if (is_above(&stack, i - 1) ||
			!read_window(x, stack.id[i - 1], stack.active, &window) ||
			!(all || is_application(&window))) {
			continue;
		}
		if (room->count < room->max) {
			room->list[room->count] = window;
		}
		room->count++;
	}
	if (x->lost) {
		return cua_err_set(err, CUA_NOT_FOUND, "the X server is gone");
	}
	if (room->count > room->max && room->max > 0) {
		cua_Window *last = &room->list[room->max - 1];
		last->has_more = true;
		last->more = (uint32_t)(room->count - room->max);
	}
	return 0;
}

static int fill_some(
	struct x11 *x, bool all, struct room room, size_t *ret_count, struct cua_err *err) {
	int r = fill(x, all, &room, err);
	if (r == 0) {
		*ret_count = room.count < room.max ? room.count : room.max;
	}
	return r;
}

int windows_list(
	struct x11 *x, cua_Window *ret, size_t max, size_t *ret_count, struct cua_err *err) {
	return fill_some(x, false, (struct room){.list = ret, .max = max}, ret_count, err);
}

int windows_list_all(
	struct x11 *x, cua_Window *ret, size_t max, size_t *ret_count, struct cua_err *err) {
	return fill_some(x, true, (struct room){.list = ret, .max = max}, ret_count, err);
}

int windows_find(struct x11 *x, uint32_t id, cua_Window *ret, struct cua_err *err) {
	struct stack stack;
	read_stack(x, &stack);
	for (size_t i = 0; i < stack.count && !x->lost; i++) {
		if (stack.id[i] == id && read_window(x, id, stack.active, ret)) {
			return 0;
		}
	}
	return x->lost ? cua_err_set(err, CUA_NOT_FOUND, "the X server is gone")
		       : cua_err_about(err, CUA_NOT_FOUND, "id",
				 "there is no window %u: `windows` lists those there are", id);
}

uint32_t windows_front(struct x11 *x) {
	struct stack stack;
	read_stack(x, &stack);
	for (size_t i = stack.count; i > 0 && !x->lost; i--) {
		cua_Window window = {0};
		read_type(x, stack.id[i - 1], &window);
		read_state(x, stack.id[i - 1], &window);
		if (is_application(&window) && !window.minimized) {
			return (uint32_t)stack.id[i - 1];
		}
	}
	return None;
}

int windows_active(struct x11 *x, cua_Window *ret, struct cua_err *err) {
	return windows_find(x, (uint32_t)active_window(x, windows_managed(x)), ret, err);
}

/* The manager's own word of the screen's size; without one, nothing is to be waited for. */
static bool manager_follows(struct x11 *x, int width, int height) {
	unsigned long size[2] = {0};
	return x11_get_longs(x, x->root, x->atom._NET_DESKTOP_GEOMETRY, XA_CARDINAL, size, 2) !=
		       2 ||
	       (size[0] == (unsigned long)width && size[1] == (unsigned long)height);
}

bool windows_fill(struct x11 *x, int width, int height) {
	struct stack stack;
	if (!windows_managed(x)) {
		return true;
	}
	if (!manager_follows(x, width, height)) {
		return false;
	}
	read_stack(x, &stack);
	for (size_t i = 0; i < stack.count && !x->lost; i++) {
		cua_Window window = {0};
		read_type(x, stack.id[i], &window);
		if (strcmp(window.type, DESKTOP) == 0 &&
			read_geometry(x, stack.id[i], &window.geometry) &&
			(window.geometry.width != width || window.geometry.height != height)) {
			return false;
		}
	}
	return true;
}
