/* What the files that speak X share, and nobody else includes: the connection's inside and the X
 * headers. Calls go through Xlib; xcb is for what Xlib lacks. */
#pragma once

#include <X11/Xlib.h>
#include <X11/Xlib-xcb.h>
#include <X11/Xatom.h>

#include "desktop/x11.h"

/* Every atom that is used, by its own name. */
#define X11_ATOMS(DO)                                                                              \
	DO(UTF8_STRING)                                                                            \
	DO(WM_CHANGE_STATE)                                                                        \
	DO(WM_DELETE_WINDOW)                                                                       \
	DO(WM_PROTOCOLS)                                                                           \
	DO(WM_STATE)                                                                               \
	DO(XdndSelection)                                                                          \
	DO(_CUAD_GEOMETRY)                                                                         \
	DO(_CUAD_REDIRECTED)                                                                       \
	DO(_NET_ACTIVE_WINDOW)                                                                     \
	DO(_NET_CLIENT_LIST)                                                                       \
	DO(_NET_CLIENT_LIST_STACKING)                                                              \
	DO(_NET_CLOSE_WINDOW)                                                                      \
	DO(_NET_DESKTOP_GEOMETRY)                                                                  \
	DO(_NET_FRAME_EXTENTS)                                                                     \
	DO(_NET_MOVERESIZE_WINDOW)                                                                 \
	DO(_NET_REQUEST_FRAME_EXTENTS)                                                             \
	DO(_NET_SUPPORTED)                                                                         \
	DO(_NET_SUPPORTING_WM_CHECK)                                                               \
	DO(_NET_WM_NAME)                                                                           \
	DO(_NET_WM_PID)                                                                            \
	DO(_NET_WM_PING)                                                                           \
	DO(_NET_WM_STATE)                                                                          \
	DO(_NET_WM_STATE_HIDDEN)                                                                   \
	DO(_NET_WM_STATE_MAXIMIZED_HORZ)                                                           \
	DO(_NET_WM_STATE_MAXIMIZED_VERT)                                                           \
	DO(_NET_WM_VISIBLE_NAME)                                                                   \
	DO(_NET_WM_WINDOW_TYPE)                                                                    \
	DO(_NET_WM_WINDOW_TYPE_DESKTOP)                                                            \
	DO(_NET_WM_WINDOW_TYPE_DIALOG)                                                             \
	DO(_NET_WM_WINDOW_TYPE_DOCK)                                                               \
	DO(_NET_WM_WINDOW_TYPE_MENU)                                                               \
	DO(_NET_WM_WINDOW_TYPE_NORMAL)                                                             \
	DO(_NET_WM_WINDOW_TYPE_SPLASH)                                                             \
	DO(_NET_WM_WINDOW_TYPE_TOOLBAR)                                                            \
	DO(_NET_WM_WINDOW_TYPE_UTILITY)

#define X11_ATOM_FIELD(name) Atom name;

struct x11 {
	Display *display;
	xcb_connection_t *xcb; /* the same connection */
	int screen;
	Window root;
	int width; /* now */
	int height;
	bool lost; /* the server is gone */
	bool has_dpms;
	Window clock; /* its property events tell the time; None until it is asked for */
	unsigned error_count; /* X errors so far */
	int error_code; /* the last one's, for example BadMatch */
	int xtest_opcode; /* 0 where the server lacks it; x11_open() insists on all but these */
	int xkb_opcode;
	int xkb_event; /* first event numbers */
	int damage_event;
	int fixes_event;
	int randr_event;
	struct {
		X11_ATOMS(X11_ATOM_FIELD)
	} atom;
};

/* Starts to watch for errors of the calls that follow; returns a mark for x11_trap_end(). */
unsigned x11_trap(const struct x11 *x);
/* Waits for the calls since x11_trap(). 0 when all went well, the X error code of the last that
 * did not, or -1 when the server is gone. */
int x11_trap_end(struct x11 *x, unsigned mark);

/* Creates a window that is never shown, with these events. None when the server is gone. */
Window x11_hidden_window(struct x11 *x, long events);
/* The server's time now, by one round trip. 0, which is CurrentTime, when the server is gone. */
Time x11_time(struct x11 *x);

/* Sends a message of 32-bit items; with no mask, to the program that made the window. */
void x11_send_message(struct x11 *x, Window to, long mask, const XClientMessageEvent *message);

/* Reads a property of 32-bit items (XA_WINDOW, XA_CARDINAL, XA_ATOM) into ret, at most max of them.
 * The number of items; 0 when the property is absent or of another type or format. */
size_t x11_get_longs(
	struct x11 *x, Window window, Atom property, Atom type, unsigned long *ret, size_t max);
/* True when a property that is a list of atoms has this one among its first 512. */
bool x11_lists_atom(struct x11 *x, Window window, Atom property, Atom atom);
/* Reads a property of bytes, at most size - 1 of them, and puts a NUL behind them. type may be
 * AnyPropertyType. The number of bytes; 0 when the property is absent or not of bytes. The text is
 * the guest's: it may hold anything, NUL bytes and broken UTF-8 too. */
size_t x11_get_bytes(
	struct x11 *x, Window window, Atom property, Atom type, char *ret, size_t size);
