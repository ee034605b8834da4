/* Screenshots: which part, how large, how encoded. The last encoded picture is kept, so that an
 * unchanged screen is not encoded twice. */
#pragma once

#include "cua/msg.h"
#include "desktop/capture.h"
#include "desktop/encode.h"

struct picture_cache {
	struct encoded encoded;
	uint64_t frame; /* of the part */
	struct rect part;
	int size[2];
	cua_Format format;
	int quality;
	bool filled;
};

struct picture {
	struct cua_span bytes; /* in the cache; valid until the next picture */
	bool unchanged; /* the caller has it: bytes is empty */
	int width;
	int height;
	cua_Format format;
	uint64_t frame;
};

/* Takes a picture of the last look as args want it. -CUA_OUT_OF_SCREEN for a region that is not
 * wholly on the screen. */
int picture_take(struct capture *capture, const cua_Args *args, struct picture_cache *cache,
	struct picture *ret, struct cua_err *err) CUA_CHECK;
/* Forgets what was kept; fine on a zero struct. */
void picture_cache_done(struct picture_cache *cache);
