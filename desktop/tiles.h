/* The screen as a grid of tiles: which may have changed, with which frame each did change, and whether
 * that was more than an animation. Pure: it compares pixels that others have fetched. */
#pragma once

#include "desktop/motion.h"

#define TILE 64

struct tiles;

/* One comparison: the pixels now against the ones before. */
struct tiles_look {
	uint32_t *before; /* of the whole screen, rows without gaps */
	struct view now; /* of `box` */
	struct rect box; /* covers every dirty tile */
	bool copy; /* take what changed over into `before` */
	uint64_t at_us; /* when the last change may have happened */
	uint64_t now_us;
};

/* A grid for a screen of this size, all of it dirty and changed by this frame. NULL without memory. */
struct tiles *tiles_new(int width, int height, uint64_t frame, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct tiles *tiles_free(struct tiles *t);

/* What lies in it may have changed. */
void tiles_mark(struct tiles *t, struct rect r);
/* Anything may have changed unseen: the next comparison is of the whole screen. */
void tiles_doubt(struct tiles *t);
/* True when something is to be compared. */
bool tiles_dirty(const struct tiles *t);
/* The smallest rectangle around what is to be compared, on the screen; empty when nothing is. */
struct rect tiles_dirty_box(const struct tiles *t);
/* How many pixels lie in tiles that were marked, about. */
size_t tiles_dirty_area(const struct tiles *t);
/* Compares what is to be compared, which is clean then; tiles that differ get this frame. The number
 * of those. The top byte of a pixel does not count. */
size_t tiles_compare(struct tiles *t, const struct tiles_look *look, uint64_t frame);

/* Input happens now; what changes soon is its effect. going_on: until told otherwise. */
void tiles_input(struct tiles *t, uint64_t now_us, bool going_on);
/* The last time at which something changed that is no known animation; 0 for never. */
uint64_t tiles_restless_us(const struct tiles *t);

/* The frame with which this part of the screen last changed. */
uint64_t tiles_frame_of(const struct tiles *t, struct rect part);
enum tiles_which {
	TILES_ANY, /* all that changed */
	TILES_REAL, /* but for known animations */
	TILES_ANIMATED, /* where a known animation goes on, perhaps beside something real */
};
/* What changed after a frame, as at most max rectangles. The number of them. */
size_t tiles_changed(const struct tiles *t, uint64_t since, enum tiles_which which,
	struct rect *ret, size_t max);
/* True when the last change of a tile, after this frame, touched this part. A tile's change is the
 * smallest rectangle around all that one look found there; of most of the screen at once, whole tiles.
 * What changed before the last one is forgotten, so ask after each comparison. */
bool tiles_touched(const struct tiles *t, uint64_t since, struct rect part);
