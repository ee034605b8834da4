/* Keeping a picture in bands; see the header. The file itself is the only copy of their bytes, and lies
 * in a memfd, so that a peer gets it without a further copy. */
#include "desktop/bands.h"

#include <string.h>

#include "cua/limits.h"
#include "desktop/encode_priv.h"

struct band {
	uint64_t frame; /* with which its pixels last changed */
	uint64_t over; /* what is drawn over them; 0: nothing */
	size_t at; /* in the file */
	size_t len;
	uint32_t sum; /* PNG */
};

struct bands {
	struct bands_config config;
	struct memfile file; /* none before the first update */
	int rows; /* of a band */
	size_t count;
	struct band band[];
};

/* The bands to be made, and the file made of them. */
struct plan {
	struct encoder_piece *pieces;
	size_t count;
	struct band *band; /* all of the picture, as they are going to be */
	struct encoded head;
	struct encoded tail;
	struct iovec *parts; /* the file to be */
	size_t part_count;
	size_t len;
};

static void plan_done(struct plan *plan) {
	for (size_t i = 0; i < plan->count; i++) {
		free(plan->pieces[i].data);
	}
	free(plan->pieces);
	free(plan->band);
	free(plan->parts);
	encoded_done(&plan->head);
	encoded_done(&plan->tail);
}

struct bands *bands_new(const struct bands_config *config, struct cua_err *err) {
	int rows = encoder_band_rows(config->format, config->height);
	size_t count = (size_t)((config->height + rows - 1) / rows);
	struct bands *bands = calloc(1, sizeof(*bands) + count * sizeof(*bands->band));
	if (!bands) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to keep a picture");
		return NULL;
	}
	bands->config = *config;
	bands->file = MEMFILE_NONE;
	bands->rows = rows;
	bands->count = count;
	return bands;
}

struct bands *bands_free(struct bands *bands) {
	if (bands) {
		memfile_drop(bands->config.files, &bands->file);
	}
	free(bands);
	return NULL;
}

struct cua_span bands_file(const struct bands *bands) {
	return bands->file.bytes;
}

const int *bands_memfd(const struct bands *bands) {
	return bands->file.fd >= 0 ? &bands->file.fd : NULL;
}

/* ---------------------------------------------------------------- what is old */

static int band_rows(const struct bands *bands, size_t i) {
	int left = bands->config.height - (int)i * bands->rows;
	return left < bands->rows ? left : bands->rows;
}

/* Which bands have to be made: those of another frame, or with something else drawn over them. */
static int make_plan(
	struct bands *bands, const struct bands_now *now, struct plan *plan, struct cua_err *err) {
	plan->pieces = calloc(bands->count, sizeof(*plan->pieces));
	plan->band = calloc(bands->count, sizeof(*plan->band));
	if (!plan->pieces || !plan->band) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a picture");
	}
	for (size_t i = 0; i < bands->count; i++) {
		int first = (int)i * bands->rows;
		int rows = band_rows(bands, i);
		struct band *band = &plan->band[i];
		*band = bands->band[i];
		band->frame = now->frame_of(now->ctx, raster_span(now->raster, first, rows));
		band->over = raster_is_over(now->raster, first, rows) ? now->over : 0;
		if (bands->file.fd < 0 || band->frame != bands->band[i].frame ||
			band->over != bands->band[i].over) {
			plan->pieces[plan->count++].band = i;
		}
	}
	return 0;
}

/* ---------------------------------------------------------------- the file */

static void put(struct plan *plan, const void *data, size_t len) {
	if (len > 0) {
		plan->parts[plan->part_count++] =
			(struct iovec){.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	}
	plan->len += len;
}

static int put_head(const struct bands *bands, struct plan *plan, struct cua_err *err) {
	const struct bands_config *config = &bands->config;
	int r = 0;
	if (config->format == ENCODE_PNG) {
		r = png_head(config->width, config->height, &plan->head, err);
	}
	if (config->format == ENCODE_JPEG && bands->file.fd >= 0) {
		put(plan, bands->file.bytes.data, bands->band[0].at);
	} else {
		put(plan, plan->head.data, plan->head.len); /* a JPEG's comes with its first band */
	}
	return r;
}

static int put_tail(const struct bands *bands, struct plan *plan, struct cua_err *err) {
	if (bands->config.format != ENCODE_PNG) {
		return 0;
	}
	uint32_t sum = 1;
	for (size_t i = 0; i < bands->count; i++) {
		sum = png_sum(sum, plan->band[i].sum,
			png_raw_len(bands->config.width, band_rows(bands, i)));
	}
	int r = png_tail(sum, &plan->tail, err);
	put(plan, plan->tail.data, plan->tail.len);
	return r;
}

/* A band: the new bytes if there are any, else the old ones. */
static void put_band(
	const struct bands *bands, struct plan *plan, size_t i, const struct encoder_piece *piece) {
	struct band *band = &plan->band[i];
	const uint8_t *data =
		piece ? piece->data : (const uint8_t *)bands->file.bytes.data + band->at;
	if (piece) {
		band->len = piece->len;
		band->sum = piece->sum;
	}
	band->at = plan->len;
	put(plan, data, band->len);
	if (bands->config.format == ENCODE_JPEG) {
		put(plan, jpeg_mark(i, i + 1 == bands->count), JPEG_MARKER);
	}
}

/* Lists what the file consists of. */
static int put_file(const struct bands *bands, struct plan *plan, struct cua_err *err) {
	plan->parts = calloc(2 * bands->count + 2, sizeof(*plan->parts));
	if (!plan->parts) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a picture");
	}
	int r = put_head(bands, plan, err);
	const struct encoder_piece *piece = plan->pieces;
	const struct encoder_piece *end = plan->pieces + plan->count;
	for (size_t i = 0; i < bands->count && r == 0; i++) {
		bool made = piece < end && piece->band == i;
		put_band(bands, plan, i, made ? piece : NULL);
		piece += made;
	}
	if (r == 0) {
		r = put_tail(bands, plan, err);
	}
	if (r == 0 && plan->len > CUA_BLOB_MAX) {
		r = cua_err_set(err, CUA_TOO_LARGE,
			"a picture of %zu bytes is larger than %u: ask for jpeg, a region or `max`",
			plan->len, CUA_BLOB_MAX);
	}
	return r;
}

/* Writes the file beside the old one, whose bytes it may take over, and puts it in its place. */
static int write_file(struct bands *bands, const struct plan *plan, struct cua_err *err) {
	struct memfile file;
	int r = memfile_make(bands->config.files, plan->parts, plan->part_count, &file, err);
	if (r < 0) {
		return r;
	}
	memfile_drop(bands->config.files, &bands->file);
	bands->file = file;
	return 0;
}

static int carry_out(struct bands *bands, struct encoder *encoder, const struct raster *raster,
	struct plan *plan, struct cua_err *err) {
	struct encoder_job job = {.format = bands->config.format,
		.quality = bands->config.quality,
		.raster = raster,
		.pieces = plan->pieces,
		.count = plan->count,
		.head = &plan->head};
	int r = encoder_run(encoder, &job, err);
	if (r == 0) {
		r = put_file(bands, plan, err);
	}
	if (r == 0) {
		r = write_file(bands, plan, err);
	}
	if (r < 0) {
		return r;
	}
	memcpy(bands->band, plan->band, bands->count * sizeof(*bands->band));
	return (int)plan->count;
}

int bands_update(struct bands *bands, struct encoder *encoder, const struct bands_now *now,
	struct cua_err *err) {
	_cleanup_(plan_done) struct plan plan = {0};
	int r = make_plan(bands, now, &plan, err);
	if (r < 0 || plan.count == 0) {
		return r;
	}
	return carry_out(bands, encoder, now->raster, &plan, err);
}
