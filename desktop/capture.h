/* What is on the screen: pixels by shared memory, and which parts changed when.
 *
 * Damage only marks tiles; nothing is fetched until somebody looks, and then only tiles whose pixels
 * really differ count as changed. Every look that found a change raises the frame number.
 *
 * The pixels lie in memory that the X server can write, too. It has no reason to, but it is not
 * trusted: whoever reads them must stand any value at any time. The top byte of a pixel is anything. */
#pragma once

#include "desktop/tiles.h"
#include "desktop/x11.h"

struct capture;

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
/* Has the next look compare the whole screen, whatever damage said. Looks do that by themselves when
 * the last such comparison is a second ago. */
void capture_doubt(struct capture *c);
/* Nobody will look soon: where much is drawn, the server is asked to tell no more of it until the
 * next look, which then compares the whole screen. */
void capture_rest(struct capture *c);
/* Input happens now; going_on: until told otherwise. See tiles_input(). */
void capture_input(struct capture *c, bool going_on);

/* The pixels of the last look; valid until the next one. There are none after a look that failed. */
struct view capture_view(const struct capture *c);
/* The number of the last frame. */
uint64_t capture_frame(const struct capture *c);
/* The frame with which this part of the screen last changed. */
uint64_t capture_frame_of(const struct capture *c, struct rect part);
/* What changed when, in detail; valid until the next look. NULL after a look that failed. */
const struct tiles *capture_tiles(const struct capture *c);
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
