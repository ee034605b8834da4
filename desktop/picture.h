/* Screenshots: which part, how large, how encoded. The last pictures are kept, so that an unchanged
 * screen is not encoded twice, and a changed one only where it changed. */
#pragma once

#include "cua/msg.h"
#include "desktop/capture.h"
#include "desktop/pool.h"

struct picture_cache;

struct picture {
	struct cua_span bytes; /* in the cache; valid until the next picture */
	const int *memfd; /* sealed, with the same bytes; as long */
	bool unchanged; /* the caller has it: bytes is empty */
	int width;
	int height;
	cua_Format format;
	uint64_t frame;
};

/* An empty cache, whose pictures are encoded by the pool (NULL: by the caller's thread), which must
 * outlive it. The caller frees it. NULL without memory. */
struct picture_cache *picture_cache_new(struct pool *pool, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct picture_cache *picture_cache_free(struct picture_cache *cache);
/* Gets ready for the next picture. To be called when the last one is on its way. */
void picture_cache_prepare(struct picture_cache *cache);
/* Drops what has not been used for so long; true when something is left. */
bool picture_cache_tidy(struct picture_cache *cache, uint64_t unused_ms);

/* Asks the X server for what a picture needs beside the last look: the pointer, if args want it. 0, or
 * negative as capture_cursor(). */
int picture_look(struct capture *capture, const cua_Args *args, struct picture_cache *cache,
	struct cua_err *err) CUA_CHECK;
/* Takes a picture of the last look and of the pointer of the last picture_look(), as args want it. It
 * only computes, so that nobody need watch over a server that does not answer. -CUA_OUT_OF_SCREEN for
 * a region that is not wholly on the screen. */
int picture_take(struct capture *capture, const cua_Args *args, struct picture_cache *cache,
	struct picture *ret, struct cua_err *err) CUA_CHECK;
/* Encodes other pixels than the screen's as args want it, without the pointer. *ret has no frame
 * number. */
int picture_encode(struct view view, const cua_Args *args, struct picture_cache *cache,
	struct picture *ret, struct cua_err *err) CUA_CHECK;
