/* Asks for changes of windows: the window manager by EWMH and, without one, the X server itself. All
 * of them only ask and return at once, and no program has to answer: whether it came true is seen by
 * windows_find() when events tell of changes. 0, or -CUA_NOT_FOUND when the server is gone. */
#pragma once

#include "cua/msg.h"

struct x11;

/* Has the server tell of changes of the window; they come as events. What to give to
 * winact_unwatch(). */
long winact_watch(struct x11 *x, uint32_t id);
/* No longer; fine for a window that is gone, and with 0. WINACT_ALL: whoever else watches it. */
#define WINACT_ALL (~0L)
void winact_unwatch(struct x11 *x, uint32_t id, long added);

/* To the front, with the keyboard's focus; a minimized one is shown. */
int winact_focus(struct x11 *x, uint32_t id, struct cua_err *err) CUA_CHECK;
/* The place of the window without its frame; NULL leaves the place or the size as it is. */
int winact_place(struct x11 *x, uint32_t id, const int place[2], const int size[2],
	struct cua_err *err) CUA_CHECK;
/* Off the screen; it stays in the list. */
int winact_minimize(struct x11 *x, uint32_t id, struct cua_err *err) CUA_CHECK;
/* Fills the screen, or what panels leave of it; a minimized one is shown. */
int winact_maximize(struct x11 *x, const cua_Window *window, struct cua_err *err) CUA_CHECK;
/* Shows a minimized window again; makes one that is not minimized its normal size. */
int winact_restore(struct x11 *x, const cua_Window *window, struct cua_err *err) CUA_CHECK;
/* Asks the program to close the window, which it may do, refuse, or answer by a question. One that
 * does not take such requests loses its connection. */
int winact_close(struct x11 *x, uint32_t id, struct cua_err *err) CUA_CHECK;
/* Ends the connection of the window's program to the X server, and with it all of its windows. */
int winact_kill(struct x11 *x, uint32_t id, struct cua_err *err) CUA_CHECK;

/* The size that the window takes when it is asked for this one: programs tell a smallest, a largest
 * and steps, as a terminal does. */
void winact_size(struct x11 *x, uint32_t id, const int size[2], int ret_size[2]);
