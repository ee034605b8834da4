/* A connection to the session's X server, which is not trusted and may vanish at any moment.
 *
 * X errors never end the process: they are counted and can be asked for. A lost server only marks
 * the connection as dead; every later call on it fails or does nothing until it is closed. */
#pragma once

#include <stdbool.h>

#include "cua/err.h"

struct x11;
union _XEvent;

/* Receives one event of the server; the event is only valid during the call. */
typedef void x11_event_fn(void *ctx, union _XEvent *event);

/* Connects to a display, for example ":0", and reads what the parts need: geometry, atoms,
 * extensions. Blocks for a few round trips. The caller closes it with x11_close(). NULL on failure:
 * not_found when nothing answers, internal when the server lacks an extension. */
struct x11 *x11_open(const char *display, struct cua_err *err);
/* Disconnects. NULL is fine. Returns NULL. */
struct x11 *x11_close(struct x11 *x);

/* False once the server is gone; nothing but x11_close() makes sense then. */
bool x11_alive(const struct x11 *x);
/* The connection's descriptor, for an event loop to watch for reading. */
int x11_fd(const struct x11 *x);
/* The screen's size in pixels as last told by the server. */
int x11_width(const struct x11 *x);
int x11_height(const struct x11 *x);

/* Waits until the server has processed everything sent. 0, or -CUA_NOT_FOUND when it is gone. */
int x11_sync(struct x11 *x, struct cua_err *err) CUA_CHECK;
/* Asks that the screen is never blanked, nor covered by the server's own saver, and ends it if it is;
 * sent with the next request. Programs can set it otherwise, so it is asked again now and then. */
void x11_stay_awake(struct x11 *x);
/* Has the server tell of windows that come and go, also where no window manager does, or no longer;
 * they come as events. */
void x11_watch_children(struct x11 *x, bool on);
/* Sends what is buffered without waiting. */
void x11_flush(struct x11 *x);
/* True when events have come that x11_dispatch() has not handed over yet: the socket alone does not
 * tell. */
bool x11_pending(struct x11 *x);
/* True for an event that tells that a window was changed in another way than by its pixels. */
bool x11_is_change(const struct x11 *x, const union _XEvent *event);
/* Hands over every event that has arrived, without waiting for more, and keeps the size up to date.
 * At most a few thousand per call, so that a flood of events does not keep the caller: true means
 * that there are more. */
bool x11_dispatch(struct x11 *x, x11_event_fn *fn, void *ctx);
