/* What moves by itself in one tile of the screen: a blinking caret, a spinner, a video. Whoever waits
 * for quiet does not wait for these, and they are no effect of an action. Pure: time and pixels come
 * in, a verdict comes out.
 *
 * A caret is a small part that toggles between two pictures at the pace of carets. What moves has
 * changed again and again for MOTION_LEARN_US without any input; changes while input goes on, and for
 * MOTION_CAUSED_US after it, are what input caused and teach nothing. */
#pragma once

#include "desktop/frame.h"

#define MOTION_LEARN_US UINT64_C(1800000)
#define MOTION_CAUSED_US UINT64_C(300000)
/* The largest part that may be a caret, in pixels. */
#define MOTION_CARET_W 32
#define MOTION_CARET_H 48

enum motion_kind {
	MOTION_NONE = 0,
	MOTION_CARET,
	MOTION_MOVING,
};

/* Of one tile; zero at first. Times are of the observer's clock. */
struct motion {
	enum motion_kind kind;
	unsigned changes; /* of the present run */
	unsigned toggles; /* between the two pictures */
	uint64_t run_us; /* when the run began */
	uint64_t last_us; /* the last change */
	uint64_t picture[2]; /* hashes; [1] is the present one */
	struct rect caret; /* what toggles */
	struct rect box; /* what the run changed */
};

struct motion_change {
	struct rect box; /* what changed, inside the tile; empty: all of it may have */
	uint64_t before; /* hashes of the box, where it is small enough for a caret; else 0 */
	uint64_t after;
	uint64_t at_us;
	uint64_t input_us; /* the last input; at_us and later: it goes on */
};

enum motion_verdict {
	MOTION_REAL, /* something happened */
	MOTION_BEGINS, /* the same, and a new run begins with it */
	MOTION_LEARNED, /* this is an animation, and so was its whole run */
	MOTION_KNOWN, /* a known animation going on */
};

/* Takes one change of the tile into account. */
enum motion_verdict motion_change(struct motion *m, const struct motion_change *change);
/* True when a change of one tile is the edge of what moves in the tile beside it. */
bool motion_reaches(const struct motion *neighbour, struct rect box);
/* Makes a change part of an animation that was learned elsewhere. */
void motion_adopt(struct motion *m, struct rect box);
/* Forgets an animation that has not been seen for some seconds. */
void motion_expire(struct motion *m, uint64_t now_us);
