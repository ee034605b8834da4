/* What is on the screen: pixels by shared memory, and which parts changed when.
 *
 * Damage only marks tiles; nothing is copied until somebody looks, and then only tiles whose pixels
 * really differ count as changed. Every look that found a change raises the frame number. */
#pragma once

#include "desktop/frame.h"
#include "desktop/x11.h"

struct capture;

#define CAPTURE_TILE 64

/* Begins to watch the screen; the first frame has this number. The connection must outlive it. The
 * caller frees it. NULL on failure. */
struct capture *capture_new(struct x11 *x, uint64_t frame, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct capture *capture_free(struct capture *c);

/* Takes an event if it is about damage; true when it was. */
bool capture_event(struct capture *c, const union _XEvent *event);
/* True when a look may find a change. */
bool capture_dirty(const struct capture *c);
/* Looks: brings pixels, size and frame number up to date with the events seen so far. 1 when the
 * picture changed, 0 when not, -CUA_NOT_FOUND when the server is gone. */
int capture_look(struct capture *c, struct cua_err *err) CUA_CHECK;
/* Has the next look compare the whole screen, whatever damage said. */
void capture_doubt(struct capture *c);

/* The pixels of the last look; valid until the next one. */
struct view capture_view(const struct capture *c);
/* The number of the last frame. */
uint64_t capture_frame(const struct capture *c);
/* The frame with which this part of the screen last changed. */
uint64_t capture_frame_of(const struct capture *c, struct rect part);
/* What changed after a frame, as at most max rectangles. The number of them. */
size_t capture_changed(const struct capture *c, uint64_t since, struct rect *ret, size_t max);

/* The pointer as the server draws it. */
struct capture_cursor {
	int x; /* hot spot on the screen */
	int y;
	char shape[64]; /* name of the cursor, "" when it has none */
	struct frame *image; /* premultiplied alpha, owned; NULL unless asked for */
	int image_x; /* where the image begins */
	int image_y;
};
/* Asks for it. The caller unrefs the image. */
int capture_cursor(struct capture *c, bool with_image, struct capture_cursor *ret,
	struct cua_err *err) CUA_CHECK;
