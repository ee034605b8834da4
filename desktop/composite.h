/* Pictures of single windows, covered ones too.
 *
 * The server keeps the pixels of every window on the screen in memory of their own and copies them
 * to the screen. So nothing of a window is lost when another one covers it, and a program that hangs
 * is still seen as it was; moving or raising a window needs no repainting. It also makes damage
 * cheap: the server tells one area for each round of drawing, where else it would tell every single
 * line and letter. The README has the figures. */
#pragma once

#include "desktop/frame.h"
#include "desktop/x11.h"

/* Has the server do so from now on, for as long as it lives: a worker that is started again changes
 * nothing. Windows that are there already are asked to repaint once. 0; -CUA_NOT_FOUND when the
 * server is gone, -CUA_INTERNAL when it cannot. */
int composite_begin(struct x11 *x, struct cua_err *err) CUA_CHECK;

/* The window's pixels as they are on the screen where nothing covers it: without its frame, with the
 * windows inside it. Black is what lies outside of the frame's shape. The caller unrefs it. NULL on
 * failure: -CUA_NOT_FOUND in err when there is no such window, -CUA_CONFLICT when it is not shown,
 * as when it is minimized. */
struct frame *composite_take(struct x11 *x, uint32_t window, struct cua_err *err);
