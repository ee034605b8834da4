/* Bands into bytes; see the header. Neighbouring bands of a JPEG are compressed in one go and cut apart
 * afterwards, for the library takes its time to begin. */
#include "desktop/encoder.h"

#include <malloc.h>
#include <string.h>

#include "desktop/encode_priv.h"

/* Bands of a JPEG in one go: enough to begin rarely, few enough to keep every thread busy. */
#define JPEG_RUN 8

/* Fewer runs, such as those that a typed letter is in, are done sooner than a thread is surely awake on
 * a busy machine. */
#define RUNS_SHARED 3

/* Working memory for so many rows of the screen is kept: a small picture may be made of all of it. */
#define ROWS_KEPT (JPEG_RUN * JPEG_ROWS)

/* Working memory of one thread. */
struct slot {
	struct raster_room room;
	struct encoded out;
	struct png_work *png;
	struct jpeg_work *jpeg;
};

struct encoder {
	struct pool *pool;
	struct slot slot[POOL_MAX];
};

/* Pieces of neighbouring bands. */
struct run {
	struct encoder_piece *piece;
	size_t count;
	int status;
	struct cua_err err;
};

/* What the threads share. */
struct work {
	struct encoder *encoder;
	const struct encoder_job *job;
	struct run *run;
	size_t count;
};

struct encoder *encoder_new(struct pool *pool, struct cua_err *err) {
	struct encoder *encoder = calloc(1, sizeof(*encoder));
	if (!encoder) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to encode pictures");
		return NULL;
	}
	encoder->pool = pool;
	return encoder;
}

void encoder_rest(struct encoder *encoder) {
	for (size_t i = 0; i < POOL_MAX; i++) {
		struct slot *slot = &encoder->slot[i];
		raster_room_done(&slot->room);
		encoded_done(&slot->out);
		slot->png = png_work_free(slot->png);
		slot->jpeg = jpeg_work_free(slot->jpeg);
	}
	(void)malloc_trim(0);
}

struct encoder *encoder_free(struct encoder *encoder) {
	if (encoder) {
		encoder_rest(encoder);
	}
	free(encoder);
	return NULL;
}

int encoder_band_rows(enum encode_format format, int height) {
	switch (format) {
	case ENCODE_PNG:
		return PNG_ROWS;
	case ENCODE_JPEG:
		return JPEG_ROWS;
	default:
		return height;
	}
}

/* ---------------------------------------------------------------- one run */

static int keep(struct encoder_piece *piece, const uint8_t *data, size_t len, struct cua_err *err) {
	piece->data = malloc(len);
	if (!piece->data) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a picture");
	}
	memcpy(piece->data, data, len);
	piece->len = len;
	return 0;
}

/* Cuts a file of the run's rows into its bands. */
static int cut_jpeg(
	const struct work *work, struct run *run, struct encoded *file, struct cua_err *err) {
	const struct encoder_job *job = work->job;
	size_t at = jpeg_headers(file->data, file->len, job->raster->height);
	if (at == 0) {
		return cua_err_set(err, CUA_INTERNAL, "the JPEG compressor writes other headers");
	}
	int r = 0;
	if (run->piece[0].band == 0) {
		r = encoded_add(job->head, file->data, at, err);
	}
	for (size_t i = 0; i < run->count && r == 0; i++) {
		size_t len = jpeg_band_len(file->data + at, file->len - at);
		r = keep(&run->piece[i], file->data + at, len, err);
		at += len + JPEG_MARKER;
	}
	if (r == 0 && at != file->len) {
		return cua_err_set(err, CUA_INTERNAL, "the JPEG compressor writes other bands");
	}
	return r;
}

static int compress(struct work *work, struct slot *slot, struct run *run, struct view rows) {
	const struct encoder_job *job = work->job;
	struct encoder_piece *piece = run->piece;
	struct encoded *out = &slot->out;
	struct cua_err *err = &run->err;
	int r = 0;
	switch (job->format) {
	case ENCODE_PNG:
		r = png_band(&slot->png, rows, out, &piece->sum, err);
		return r == 0 ? keep(piece, out->data, out->len, err) : r;
	case ENCODE_JPEG:
		r = jpeg_file(&slot->jpeg, rows, job->quality, out, err);
		return r == 0 ? cut_jpeg(work, run, out, err) : r;
	case ENCODE_WEBP:
		r = webp_file(rows, job->quality, out, err);
		return r == 0 ? keep(piece, out->data, out->len, err) : r;
	case ENCODE_MAX_:
		break;
	}
	return cua_err_set(err, CUA_INVALID, "no such picture format");
}

static void do_run(void *ctx, size_t at, size_t i) {
	struct work *work = ctx;
	struct run *run = &work->run[i];
	struct slot *slot = &work->encoder->slot[at];
	const struct raster *raster = work->job->raster;
	int height = encoder_band_rows(work->job->format, raster->height);
	int first = (int)run->piece[0].band * height;
	int count = (int)run->count * height;
	int rows[2] = {first, count < raster->height - first ? count : raster->height - first};
	struct view view;
	slot->out.len = 0;
	run->status = raster_rows(raster, rows, &slot->room, &view, &run->err);
	if (run->status == 0) {
		run->status = compress(work, slot, run, view);
	}
	if (raster_span(raster, rows[0], rows[1]).height > ROWS_KEPT) {
		raster_room_done(&slot->room); /* as large as a picture */
		encoded_done(&slot->out);
	}
}

/* ---------------------------------------------------------------- all of them */

/* Divides the pieces. */
static void divide(const struct encoder_job *job, struct work *work) {
	size_t most = job->format == ENCODE_JPEG ? JPEG_RUN : 1;
	for (size_t i = 0; i < job->count; i++) {
		struct run *last = work->count > 0 ? &work->run[work->count - 1] : NULL;
		if (last && last->count < most &&
			last->piece[last->count - 1].band + 1 == job->pieces[i].band) {
			last->count++;
		} else {
			work->run[work->count++] =
				(struct run){.piece = &job->pieces[i], .count = 1};
		}
	}
}

static void drop(const struct encoder_job *job) {
	for (size_t i = 0; i < job->count; i++) {
		free(job->pieces[i].data);
		job->pieces[i].data = NULL;
	}
}

int encoder_run(struct encoder *encoder, const struct encoder_job *job, struct cua_err *err) {
	_cleanup_free_ struct run *runs = calloc(job->count, sizeof(*runs));
	if (!runs) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a picture");
	}
	struct work work = {.encoder = encoder, .job = job, .run = runs};
	divide(job, &work);
	pool_run(work.count < RUNS_SHARED ? NULL : encoder->pool, do_run, &work, work.count);
	for (size_t i = 0; i < work.count; i++) {
		if (runs[i].status < 0) {
			drop(job);
			*err = runs[i].err;
			return runs[i].status;
		}
	}
	return 0;
}
