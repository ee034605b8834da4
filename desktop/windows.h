/* The windows of the session as its window manager or, without one, its X server tells them. All of
 * it is the guest's word: bounded, made valid, but not believed. No program is asked anything, so
 * one that hangs is listed like the others. */
#pragma once

#include <stddef.h>

#include "cua/msg.h"

struct x11;

/* Fills ret with up to max windows, front to back, and *ret_count. Geometry is that of the window
 * without its frame, in pixels of the screen; title and app are well-formed UTF-8. Windows that
 * vanish meanwhile are left out. 0, or -CUA_NOT_FOUND when the server is gone. */
int windows_list(struct x11 *x, cua_Window *ret, size_t max, size_t *ret_count,
	struct cua_err *err) CUA_CHECK;
