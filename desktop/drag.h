/* Dragging as a job: one press, real motion along a path, one release. */
#pragma once

#include "cua/msg.h"
#include "desktop/input.h"

struct drag;

struct drag_path {
	const int32_t *points; /* x, y, x, y, … */
	size_t count; /* of points, 2 to CUA_PATH_POINTS */
};

/* Prepares to drag; the points are copied. The motion takes duration_ms: a little of it beyond what
 * programs take for a click, then evenly by every point, then standing still on the last point, for
 * programs decide there where to drop. It takes at least 150 ms, in which programs begin to drag
 * things, and when one has begun, as long as that program needs to find out where to drop. -CUA_OUT_OF_SCREEN if any point is, -CUA_CONFLICT while
 * the button is held or another job runs, -CUA_INVALID; nothing has happened then. The caller ends
 * the job with drag_free(). NULL on failure. */
struct drag *drag_start(struct input *in, uint32_t lease, cua_Button button,
	const struct drag_path *path, unsigned duration_ms, struct cua_err *err);
/* Drags on. Milliseconds, at least 1, until it is to be called again; 0 when the button has been
 * released on the last point; negative when something failed, the button has been released then. */
int drag_step(struct drag *d, struct cua_err *err) CUA_CHECK;
/* From now on as if there were no more time for it. */
void drag_hurry(struct drag *d);
/* Ends the job; releases the button if it is not done. NULL is fine. Returns NULL. */
struct drag *drag_free(struct drag *d);
