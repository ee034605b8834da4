/* JPEG by libjpeg-turbo. Its errors leave by longjmp, so that nothing here lives across a call of the
 * library but what the frame below holds. */
#include "desktop/encode.h"

#include <setjmp.h>
#include <jpeglib.h>

struct jpeg {
	struct jpeg_compress_struct compress;
	struct jpeg_error_mgr errors;
	jmp_buf failed;
	unsigned char *data; /* the library's buffer, by malloc */
	unsigned long len;
};

static void on_error(j_common_ptr common) {
	struct jpeg *jpeg = common->client_data;
	longjmp(jpeg->failed, 1);
}

static void on_message(j_common_ptr common, int level) {
	(void)common;
	(void)level;
}

static void write_rows(struct jpeg *jpeg, const struct view *view) {
	while (jpeg->compress.next_scanline < jpeg->compress.image_height) {
		JSAMPROW row =
			(JSAMPROW)(uintptr_t)(view->pixels +
					      (size_t)jpeg->compress.next_scanline * view->stride);
		(void)jpeg_write_scanlines(&jpeg->compress, &row, 1);
	}
}

/* False when the library gave up. */
static bool run(struct jpeg *jpeg, const struct view *view, int quality) {
	if (setjmp(jpeg->failed)) {
		return false;
	}
	struct jpeg_compress_struct *c = &jpeg->compress;
	jpeg_create_compress(c);
	c->client_data = jpeg;
	jpeg_mem_dest(c, &jpeg->data, &jpeg->len);
	c->image_width = (JDIMENSION)view->width;
	c->image_height = (JDIMENSION)view->height;
	c->input_components = 4;
	c->in_color_space = JCS_EXT_BGRX;
	jpeg_set_defaults(c);
	jpeg_set_quality(c, quality, TRUE);
	c->dct_method = JDCT_ISLOW;
	jpeg_start_compress(c, TRUE);
	write_rows(jpeg, view);
	jpeg_finish_compress(c);
	return true;
}

int encode_jpeg(struct view view, int quality, struct encoded *ret, struct cua_err *err) {
	struct jpeg jpeg = {0};
	jpeg.compress.err = jpeg_std_error(&jpeg.errors);
	jpeg.errors.error_exit = on_error;
	jpeg.errors.emit_message = on_message;
	jpeg.compress.client_data = &jpeg;
	bool done = run(&jpeg, &view, quality);
	jpeg_destroy_compress(&jpeg.compress);
	_cleanup_free_ unsigned char *data = jpeg.data;
	if (!done) {
		return cua_err_set(err, CUA_INTERNAL, "the JPEG compressor failed");
	}
	return encoded_add(ret, data, jpeg.len, err);
}
