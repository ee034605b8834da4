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
static void read_app(struct x11 *x, Window w, cua_Window *ret) {
	char raw[256];
	size_t n = x11_get_bytes(x, w, XA_WM_CLASS, XA_STRING, raw, sizeof(raw));
	size_t instance = strlen(raw);
	bool has_class = instance + 1 < n && raw[instance + 1];
	ret->has_app = n > 0;
	copy_text(has_class ? raw + instance + 1 : raw, ret->app, sizeof(ret->app));
}

static void read_pid(struct x11 *x, Window w, cua_Window *ret) {
	unsigned long pid = 0;
	ret->has_pid = x11_get_longs(x, w, x->atom._NET_WM_PID, XA_CARDINAL, &pid, 1) == 1;
	ret->pid = (uint32_t)pid;
}

static void read_state(struct x11 *x, Window w, cua_Window *ret) {
	unsigned long state[STATES_MAX] = {0};
	unsigned long icccm = NormalState;
	size_t n = x11_get_longs(x, w, x->atom._NET_WM_STATE, XA_ATOM, state, STATES_MAX);
	bool horizontal = false;
	bool vertical = false;
	for (size_t i = 0; i < n; i++) {
		ret->minimized |= state[i] == x->atom._NET_WM_STATE_HIDDEN;
		horizontal |= state[i] == x->atom._NET_WM_STATE_MAXIMIZED_HORZ;
		vertical |= state[i] == x->atom._NET_WM_STATE_MAXIMIZED_VERT;
	}
	ret->maximized = horizontal && vertical;
	n = x11_get_longs(x, w, x->atom.WM_STATE, x->atom.WM_STATE, &icccm, 1);
	ret->minimized |= n == 1 && icccm == IconicState;
}

static bool read_geometry(struct x11 *x, Window w, cua_Rect *ret) {
	Window root = None;
	Window child = None;
	int left = 0;
	int top = 0;
	unsigned width = 0;
	unsigned height = 0;
	unsigned border = 0;
	unsigned depth = 0;
	if (!XGetGeometry(x->display, w, &root, &left, &top, &width, &height, &border, &depth) ||
		x->lost || root != x->root ||
		!XTranslateCoordinates(x->display, w, x->root, 0, 0, &left, &top, &child)) {
		return false;
	}
	*ret = (cua_Rect){.x = left, .y = top, .width = (int)width, .height = (int)height};
	return !x->lost;
}

/* A list left behind by a window manager that is gone is worth nothing. */
static bool has_manager(struct x11 *x) {
	unsigned long window = 0;
	unsigned long itself = 0;
	return x11_get_longs(x, x->root, x->atom._NET_SUPPORTING_WM_CHECK, XA_WINDOW, &window, 1) &&
	       x11_get_longs(x, (Window)(uint32_t)window, x->atom._NET_SUPPORTING_WM_CHECK,
		       XA_WINDOW, &itself, 1) &&
	       itself == window;
}

static bool is_shown(struct x11 *x, Window w) {
	XWindowAttributes a = {0};
	return !x->lost && XGetWindowAttributes(x->display, w, &a) && !x->lost &&
	       a.map_state == IsViewable && a.class == InputOutput && !a.override_redirect;
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
		if (is_shown(x, children[i])) {
			ret[count++] = children[i];
		}
	}
	if (children) {
		(void)XFree(children);
	}
	return count;
}

static Window parent_of(struct x11 *x, Window w) {
	Window root = None;
	Window parent = None;
	Window *children = NULL;
	unsigned count = 0;
	if (x->lost || !XQueryTree(x->display, w, &root, &parent, &children, &count)) {
		return None;
	}
	if (children) {
		(void)XFree(children);
	}
	return parent;
}

/* The child of the root that the window with the focus is in. */
static Window focused_child(struct x11 *x) {
	Window focus = None;
	int revert = 0;
	if (!x->lost) {
		(void)XGetInputFocus(x->display, &focus, &revert);
	}
	for (int i = 0; i < PARENTS_MAX && focus > PointerRoot && focus != x->root; i++) {
		Window parent = parent_of(x, focus);
		if (parent == x->root) {
			return focus;
		}
		focus = parent;
	}
	return None;
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
	return !x->lost;
}

static bool is_listed(const cua_Window *list, size_t count, uint32_t id) {
	for (size_t i = 0; i < count; i++) {
		if (list[i].id == id) {
			return true;
		}
	}
	return false;
}

int windows_list(
	struct x11 *x, cua_Window *ret, size_t max, size_t *ret_count, struct cua_err *err) {
	unsigned long ids[LIST_MAX];
	bool managed = has_manager(x);
	size_t n = managed ? x11_get_longs(x, x->root, x->atom._NET_CLIENT_LIST_STACKING, XA_WINDOW,
				     ids, LIST_MAX)
			   : list_children(x, ids);
	Window active = active_window(x, managed);
	size_t count = 0;
	for (size_t i = n; i > 0 && count < max && !x->lost; i--) {
		Window w = (Window)(uint32_t)ids[i - 1];
		if (!is_listed(ret, count, (uint32_t)w) && read_window(x, w, active, &ret[count])) {
			count++;
		}
	}
	if (x->lost) {
		return cua_err_set(err, CUA_NOT_FOUND, "the X server is gone");
	}
	*ret_count = count;
	return 0;
}
