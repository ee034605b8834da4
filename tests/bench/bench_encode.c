/* How long a picture of a made-up busy page takes, at four sizes, beside what others would do with the
 * same pixels in the same run: zlib and libjpeg on the whole frame, and a mere copy of it. Prints
 * medians; part of `./bootstrap.sh bench`. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <jpeglib.h>
#include <zlib.h>

#include "cua/msg.h"
#include "desktop/bands.h"
#include "tests/lib/page.h"

#define ROUNDS 15
#define QUALITY 80

static struct cua_err err;

/* One picture, and which frame its pixels are of: `part` changed with the last, the rest with the
 * first. */
struct shot {
	struct frame *page;
	struct rect part;
	uint64_t now;
	struct encoder *encoder;
	struct bands *bands;
	struct scale *scale;
	struct raster raster;
	void *copy;
	size_t bytes; /* of the last picture, whoever made it */
};

typedef void shot_fn(struct shot *shot);

static double now_ms(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b) {
	double x = *(const double *)a;
	double y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(shot_fn *fn, struct shot *shot) {
	double times[ROUNDS];
	fn(shot);
	for (int i = 0; i < ROUNDS; i++) {
		double start = now_ms();
		fn(shot);
		times[i] = now_ms() - start;
	}
	qsort(times, ROUNDS, sizeof(*times), compare);
	return times[ROUNDS / 2];
}

/* ---------------------------------------------------------------- ours */

static uint64_t frame_of(const void *ctx, struct rect part) {
	const struct shot *shot = ctx;
	return rect_empty(rect_intersect(part, shot->part)) ? 1 : shot->now;
}

static void update(struct shot *shot) {
	struct bands_now now = {.raster = &shot->raster, .frame_of = frame_of, .ctx = shot};
	shot->now++;
	if (bands_update(shot->bands, shot->encoder, &now, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.message);
		exit(1);
	}
	shot->bytes = bands_file(shot->bands).len;
}

static void shot_begin(struct shot *shot, enum encode_format format, const int size[2]) {
	struct view view = frame_view(shot->page);
	struct bands_config config = {format, size[0], size[1], QUALITY, NULL};
	shot->raster = (struct raster){.view = view, .width = size[0], .height = size[1]};
	if (size[0] != view.width || size[1] != view.height) {
		shot->scale = scale_new((int[]){view.width, view.height}, size, &err);
	}
	shot->raster.scale = shot->scale;
	shot->bands = bands_new(&config, &err);
}

static void shot_end(struct shot *shot) {
	shot->bands = bands_free(shot->bands);
	shot->scale = scale_free(shot->scale);
}

/* ---------------------------------------------------------------- others */

static void copy(struct shot *shot) {
	memcpy(shot->copy, shot->page->pixels,
		sizeof(uint32_t) * (size_t)shot->page->width * (size_t)shot->page->height);
}

static void pack_row(const struct frame *page, int y, uint8_t *to) {
	const uint32_t *from = page->pixels + (size_t)y * (size_t)page->width;
	for (int x = 0; x < page->width; x++) {
		to[3 * x] = (uint8_t)(from[x] >> 16);
		to[3 * x + 1] = (uint8_t)(from[x] >> 8);
		to[3 * x + 2] = (uint8_t)from[x];
	}
}

/* What a PNG needs: rows of RGB less the row above, through zlib at its fastest. */
static void zlib_up(struct shot *shot) {
	const struct frame *page = shot->page;
	size_t row = 3 * (size_t)page->width;
	uint8_t *rows[2] = {calloc(1, row), calloc(1, row)};
	uint8_t *filtered = malloc(1 + row);
	z_stream z = {0};
	(void)deflateInit(&z, 1);
	z.next_out = shot->copy;
	z.avail_out = (uInt)(row * (size_t)page->height + 65536);
	for (int y = 0; y < page->height; y++) {
		pack_row(page, y, rows[y & 1]);
		filtered[0] = 2;
		for (size_t i = 0; i < row; i++) {
			filtered[1 + i] = (uint8_t)(rows[y & 1][i] - rows[~y & 1][i]);
		}
		z.next_in = filtered;
		z.avail_in = (uInt)(1 + row);
		(void)deflate(&z, y + 1 == page->height ? Z_FINISH : Z_NO_FLUSH);
	}
	shot->bytes = z.total_out;
	(void)deflateEnd(&z);
	free(filtered);
	free(rows[0]);
	free(rows[1]);
}

static void libjpeg(struct shot *shot) {
	struct jpeg_error_mgr errors;
	struct jpeg_compress_struct c = {.err = jpeg_std_error(&errors)};
	unsigned char *data = NULL;
	unsigned long len = 0;
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &data, &len);
	c.image_width = (JDIMENSION)shot->page->width;
	c.image_height = (JDIMENSION)shot->page->height;
	c.input_components = 4;
	c.in_color_space = JCS_EXT_BGRX;
	jpeg_set_defaults(&c);
	jpeg_set_quality(&c, QUALITY, TRUE);
	jpeg_start_compress(&c, TRUE);
	while (c.next_scanline < c.image_height) {
		JSAMPROW row = (JSAMPROW)(shot->page->pixels +
					  (size_t)c.next_scanline * (size_t)shot->page->width);
		(void)jpeg_write_scanlines(&c, &row, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	shot->bytes = len;
	free(data);
}

/* ---------------------------------------------------------------- the table */

static void line(const char *name, double ms, const struct shot *shot, double other) {
	(void)printf("  %-34s %9.3f ms %9zu bytes", name, ms, shot->bytes);
	if (other > 0) {
		(void)printf(" %7.1f times faster", other / ms);
	}
	(void)printf("\n");
	(void)fflush(stdout);
}

/* Everything changed, then what one letter touches, then nothing. */
static void measure(struct shot *shot, enum encode_format format, const int size[2], double other) {
	static const char *const names[] = {"png", "jpeg", "webp"};
	char name[80];
	shot_begin(shot, format, size);
	shot->part = (struct rect){0, 0, shot->page->width, shot->page->height};
	(void)snprintf(name, sizeof(name), "%s to %dx%d", names[format], size[0], size[1]);
	line(name, median(update, shot), shot, other);
	if (format != ENCODE_WEBP) {
		shot->part = (struct rect){320, 192, 64, 64};
		(void)snprintf(name, sizeof(name), "  one tile changed");
		line(name, median(update, shot), shot, other);
	}
	shot_end(shot);
}

static void measure_size(struct encoder *encoder, int width, int height) {
	size_t pixels = (size_t)width * (size_t)height;
	struct shot shot = {.page = frame_new(width, height, &err), .encoder = encoder, .now = 1};
	shot.copy = malloc(4 * pixels + 65536);
	page_draw(shot.page, 1);
	(void)printf("\n%dx%d\n", width, height);
	double ms = median(copy, &shot);
	shot.bytes = 4 * pixels;
	line("memcpy of the frame", ms, &shot, 0);
	double zlib = median(zlib_up, &shot);
	line("zlib level 1, filter Up", zlib, &shot, 0);
	double jpeg = median(libjpeg, &shot);
	line("libjpeg, whole", jpeg, &shot, 0);
	const int whole[2] = {width, height};
	const int half[2] = {width / 2, height / 2};
	const int max[2] = {1280, 800};
	int fit[2];
	frame_fit(width, height, max, fit);
	measure(&shot, ENCODE_PNG, whole, zlib);
	measure(&shot, ENCODE_JPEG, whole, jpeg);
	measure(&shot, ENCODE_WEBP, whole, 0);
	measure(&shot, ENCODE_PNG, half, zlib);
	measure(&shot, ENCODE_JPEG, half, jpeg);
	if (fit[0] < width) {
		measure(&shot, ENCODE_PNG, fit, zlib);
		measure(&shot, ENCODE_JPEG, fit, jpeg);
	}
	free(shot.copy);
	frame_unref(shot.page);
}

int main(void) {
	static const int sizes[][2] = {{640, 480}, {1280, 800}, {1920, 1080}, {3840, 2160}};
	struct pool *pool = pool_new(&err);
	struct encoder *encoder = encoder_new(pool, &err);
	if (!encoder) {
		return 1;
	}
	(void)printf("%zu threads, medians of %d, quality %d\n", pool_size(pool), ROUNDS, QUALITY);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		measure_size(encoder, sizes[i][0], sizes[i][1]);
	}
	encoder_free(encoder);
	pool_free(pool);
	return 0;
}
