/* libpng, libjpeg and libwebp as readers. libpng's simplified interface checks every checksum. */
#include "tests/lib/decode.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>
#include <webp/decode.h>

/* Bytes of blue, green, red and something else become pixels. */
static void drop_alpha(struct decoded *d) {
	for (size_t i = 0; i < (size_t)d->width * (size_t)d->height; i++) {
		d->pixels[i] &= 0xffffff;
	}
}

static bool allocate(struct decoded *d, int width, int height) {
	d->width = width;
	d->height = height;
	d->pixels = calloc((size_t)width * (size_t)height, sizeof(uint32_t));
	return d->pixels != NULL;
}

bool decode_png(const void *data, size_t len, struct decoded *ret) {
	png_image image = {.version = PNG_IMAGE_VERSION};
	if (!png_image_begin_read_from_memory(&image, data, len)) {
		return false;
	}
	image.format = PNG_FORMAT_BGRA;
	if (!allocate(ret, (int)image.width, (int)image.height) ||
		!png_image_finish_read(&image, NULL, ret->pixels, 0, NULL) ||
		image.warning_or_error != 0) {
		png_image_free(&image);
		return false;
	}
	drop_alpha(ret);
	return true;
}

struct reader {
	struct jpeg_error_mgr errors;
	jmp_buf failed;
};

static void on_error(j_common_ptr common) {
	struct reader *reader = (struct reader *)common->err;
	longjmp(reader->failed, 1);
}

static bool read_jpeg(
	struct jpeg_decompress_struct *d, const void *data, size_t len, struct decoded *ret) {
	struct reader *reader = (struct reader *)d->err;
	if (setjmp(reader->failed)) {
		return false;
	}
	jpeg_create_decompress(d);
	jpeg_mem_src(d, data, len);
	(void)jpeg_read_header(d, TRUE);
	d->out_color_space = JCS_EXT_BGRX;
	(void)jpeg_start_decompress(d);
	if (!allocate(ret, (int)d->output_width, (int)d->output_height)) {
		return false;
	}
	while (d->output_scanline < d->output_height) {
		JSAMPROW row =
			(JSAMPROW)(ret->pixels + (size_t)d->output_scanline * (size_t)ret->width);
		(void)jpeg_read_scanlines(d, &row, 1);
	}
	(void)jpeg_finish_decompress(d);
	return d->err->num_warnings == 0;
}

bool decode_jpeg(const void *data, size_t len, struct decoded *ret) {
	struct reader reader;
	struct jpeg_decompress_struct d = {.err = jpeg_std_error(&reader.errors)};
	reader.errors.error_exit = on_error;
	bool ok = read_jpeg(&d, data, len, ret);
	jpeg_destroy_decompress(&d);
	if (ok) {
		drop_alpha(ret);
	}
	return ok;
}

bool decode_webp(const void *data, size_t len, struct decoded *ret) {
	int width = 0;
	int height = 0;
	if (!WebPGetInfo(data, len, &width, &height) || !allocate(ret, width, height)) {
		return false;
	}
	if (!WebPDecodeBGRAInto(data, len, (uint8_t *)ret->pixels,
		    (size_t)width * (size_t)height * 4, width * 4)) {
		return false;
	}
	drop_alpha(ret);
	return true;
}
