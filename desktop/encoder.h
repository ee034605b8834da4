/* Compresses bands of a picture, on several threads where there are several bands: working memory for
 * each thread, and the way from one band to the bytes that stand for it in a file. */
#pragma once

#include "desktop/encode.h"
#include "desktop/pool.h"
#include "desktop/raster.h"

struct encoder;

/* One band's bytes. */
struct encoder_piece {
	size_t band; /* which */
	uint8_t *data; /* owned by whoever holds the struct */
	size_t len;
	uint32_t sum; /* PNG: the checksum of what they unpack to */
};

/* What is encoded, and how. */
struct encoder_job {
	enum encode_format format;
	int quality;
	const struct raster *raster;
	struct encoder_piece *pieces; /* bands to compress, in rising order; they get their bytes */
	size_t count;
	struct encoded *head; /* gets what a JPEG begins with, when band 0 is among them */
};

/* pool (may be NULL) must outlive it. The caller frees it. NULL without memory. */
struct encoder *encoder_new(struct pool *pool, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct encoder *encoder_free(struct encoder *encoder);
/* Gives the working memory back until it is needed again. */
void encoder_rest(struct encoder *encoder);

/* How many rows a band of this format has; the last one of a picture may have fewer. */
int encoder_band_rows(enum encode_format format, int height);
/* Compresses. 0; or negative, and then no piece has bytes. */
int encoder_run(
	struct encoder *encoder, const struct encoder_job *job, struct cua_err *err) CUA_CHECK;
