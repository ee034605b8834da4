/* The windows of the session as its window manager or, without one, its X server tells them. All of
 * it is the guest's word: bounded, made valid, but not believed. No program is asked anything, so
 * one that hangs is listed like the others.
 *
 * A window is what a program opened, without the frame that a window manager puts around it: its
 * geometry is where a click reaches the program, in pixels of the screen; the frame's widths are
 * told beside it. Menus, tooltips and other windows that manage themselves are not listed, nor are
 * windows that are not on the screen, unless they are minimized. */
#pragma once

#include <stddef.h>

#include "cua/msg.h"

struct x11;

/* Fills ret with up to max windows, front to back, and *ret_count. If there are more, the last one
 * has their number in `more`. Panels (dock) and the background (desktop) are left out. title and app
 * are well-formed UTF-8. Windows that vanish meanwhile are left out. 0, or -CUA_NOT_FOUND when the
 * server is gone. */
int windows_list(struct x11 *x, cua_Window *ret, size_t max, size_t *ret_count,
	struct cua_err *err) CUA_CHECK;
/* The same with panels and the background. */
int windows_list_all(struct x11 *x, cua_Window *ret, size_t max, size_t *ret_count,
	struct cua_err *err) CUA_CHECK;
/* One window of the list, panels included. -CUA_NOT_FOUND about "id" when it is not there. */
int windows_find(struct x11 *x, uint32_t id, cua_Window *ret, struct cua_err *err) CUA_CHECK;

/* The window that has the focus. -CUA_NOT_FOUND when it is none of the list. */
int windows_active(struct x11 *x, cua_Window *ret, struct cua_err *err) CUA_CHECK;

/* The id of the front window that is no panel; 0 without one. */
uint32_t windows_front(struct x11 *x);
/* True while a window manager that speaks EWMH is there. What a dead one left does not count. */
bool windows_managed(struct x11 *x);
/* True when the window manager, if there is one, has taken over a screen of this size and the windows
 * that are the background fill it. */
bool windows_fill(struct x11 *x, int width, int height);
/* Sends the window manager a message about a window, an atom and its items. */
void windows_ask_manager(
	struct x11 *x, unsigned long window, unsigned long what, const long data[5]);
/* True when the window's program says that it understands this protocol, an atom of WM_PROTOCOLS. */
bool windows_speaks(struct x11 *x, unsigned long window, unsigned long protocol);
/* Its class or, without one, its name as WM_CLASS has them: the guest's bytes. "" without both. */
void windows_class(struct x11 *x, unsigned long window, char *ret, size_t size);
/* The window that a window is in; 0 for the root, or when there is no such window. */
unsigned long windows_parent(struct x11 *x, unsigned long window);
/* The child of the root that a window is in, itself perhaps; 0 when there is no such window. */
unsigned long windows_top(struct x11 *x, unsigned long window);
