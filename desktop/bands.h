/* A picture that is kept: the last encoded file of one view in one format. When it is asked for again
 * only the bands whose pixels may have changed are compressed anew, and the file is put together from
 * old bands and new ones; it is the same, byte for byte, as if all were new. */
#pragma once

#include "cua/msg.h"
#include "desktop/encoder.h"
#include "desktop/memfile.h"

struct bands;

/* Tells the number of the frame with which a part of the view last changed. */
typedef uint64_t bands_frame_fn(const void *ctx, struct rect part);

struct bands_config {
	enum encode_format format;
	int width; /* of the picture */
	int height;
	int quality; /* 1 … 100; not for PNG */
	struct memfiles *files; /* may be NULL; must outlive the picture */
};

/* What is to be seen now. */
struct bands_now {
	const struct raster *raster;
	uint64_t over; /* number of what the raster draws over the view; another for another */
	bands_frame_fn *frame_of;
	const void *ctx;
};

/* An empty one. The caller frees it. NULL on failure. */
struct bands *bands_new(const struct bands_config *config, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct bands *bands_free(struct bands *bands);
/* Brings the file up to date. The raster must have the picture's size, and always the same scale. The
 * number of bands that were compressed, or negative: then the file is what it was before. */
int bands_update(struct bands *bands, struct encoder *encoder, const struct bands_now *now,
	struct cua_err *err) CUA_CHECK;
/* The file; valid until the next update. Empty before the first. */
struct cua_span bands_file(const struct bands *bands);
/* The sealed memfd that it lies in, as long. */
const int *bands_memfd(const struct bands *bands);
