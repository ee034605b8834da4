/* Keeping a picture in bands; see the header. The file itself is the only copy of their bytes. */
#include "desktop/bands.h"

#include <string.h>

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
	struct encoded file; /* empty before the first update */
	int rows; /* of a band */
	size_t count;
	struct band band[];
};

/* The bands to be made, and the file made of them. */
struct plan {
	struct encoder_piece *pieces;
	size_t count;
	struct band *band; /* all of the picture, as they are going to be */
	struct encoded head; /* of a JPEG that has none yet */
	struct encoded file;
};

static void plan_done(struct plan *plan) {
	for (size_t i = 0; i < plan->count; i++) {
		free(plan->pieces[i].data);
	}
	free(plan->pieces);
	free(plan->band);
	encoded_done(&plan->head);
	encoded_done(&plan->file);
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
	bands->rows = rows;
	bands->count = count;
	return bands;
}

struct bands *bands_free(struct bands *bands) {
	if (bands) {
		encoded_done(&bands->file);
	}
	free(bands);
	return NULL;
}

struct cua_span bands_file(const struct bands *bands) {
	return (struct cua_span){.data = bands->file.data, .len = bands->file.len};
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
		if (bands->file.len == 0 || band->frame != bands->band[i].frame ||
			band->over != bands->band[i].over) {
			plan->pieces[plan->count++].band = i;
		}
	}
	return 0;
}

/* ---------------------------------------------------------------- the file */

static int put_head(const struct bands *bands, struct plan *plan, struct cua_err *err) {
	const struct bands_config *config = &bands->config;
	switch (config->format) {
	case ENCODE_PNG:
		return png_head(config->width, config->height, &plan->file, err);
	case ENCODE_JPEG:
		if (bands->file.len > 0) {
			return encoded_add(&plan->file, bands->file.data, bands->band[0].at, err);
		}
		return encoded_add(&plan->file, plan->head.data, plan->head.len, err);
	default:
		return 0;
	}
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
	return png_tail(sum, &plan->file, err);
}

/* Appends a band: the new bytes if there are any, else the old ones. */
static int put_band(const struct bands *bands, struct plan *plan, size_t i,
	const struct encoder_piece *piece, struct cua_err *err) {
	struct band *band = &plan->band[i];
	const uint8_t *data = piece ? piece->data : bands->file.data + band->at;
	if (piece) {
		band->len = piece->len;
		band->sum = piece->sum;
	}
	band->at = plan->file.len;
	int r = encoded_add(&plan->file, data, band->len, err);
	if (r == 0 && bands->config.format == ENCODE_JPEG) {
		r = jpeg_mark(i, i + 1 == bands->count, &plan->file, err);
	}
	return r;
}

/* Room for all at once, so that the file is not larger in memory than it is. */
static int put_file(const struct bands *bands, struct plan *plan, struct cua_err *err) {
	size_t len = bands->file.len + plan->head.len + 256;
	for (size_t i = 0; i < plan->count; i++) {
		len += plan->pieces[i].len + JPEG_MARKER;
		len -= bands->band[plan->pieces[i].band].len;
	}
	if (!encoded_room(&plan->file, len, err)) {
		return -CUA_TOO_LARGE;
	}
	int r = put_head(bands, plan, err);
	const struct encoder_piece *piece = plan->pieces;
	const struct encoder_piece *end = plan->pieces + plan->count;
	for (size_t i = 0; i < bands->count && r == 0; i++) {
		bool made = piece < end && piece->band == i;
		r = put_band(bands, plan, i, made ? piece : NULL, err);
		piece += made;
	}
	return r == 0 ? put_tail(bands, plan, err) : r;
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
	if (r < 0) {
		return r;
	}
	memcpy(bands->band, plan->band, bands->count * sizeof(*bands->band));
	encoded_done(&bands->file);
	bands->file = plan->file;
	plan->file = (struct encoded){0};
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
