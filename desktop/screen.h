/* The size of the screen, set by RandR; it can be anything up to the size that Xvfb was started
 * with. */
#pragma once

#include "desktop/x11.h"

/* Makes the screen width x height with this resolution in dots per inch. 0 also when it is so
 * already. -CUA_INVALID when the server cannot be so large, -CUA_NOT_FOUND when it is gone,
 * -CUA_INTERNAL when it refuses for another reason. */
int screen_set(struct x11 *x, int width, int height, int dpi, struct cua_err *err) CUA_CHECK;
