/* JPEG by libjpeg-turbo. Its errors leave by longjmp, so that nothing here lives across a call of the
 * library but what the structure holds. */
#include <setjmp.h>
#include <stdio.h>
#include <jpeglib.h>
#include <string.h>

#include "desktop/encode_priv.h"

/* Bytes that the library is given room for at a time. */
#define ROOM 65536

/* The markers that matter here, behind their 0xff. */
enum marker {
	MARKER_SOF0 = 0xc0,
	MARKER_SOS = 0xda,
};

struct jpeg_work {
	struct jpeg_compress_struct compress;
	struct jpeg_error_mgr errors;
	struct jpeg_destination_mgr to;
	jmp_buf failed;
	bool created;
	int quality; /* that the tables are for */
	struct encoded *out;
};

/* ---------------------------------------------------------------- the library */

static void on_error(j_common_ptr common) {
	struct jpeg_work *jpeg = common->client_data;
	longjmp(jpeg->failed, 1);
}

static void on_message(j_common_ptr common, int level) {
	(void)common;
	(void)level;
}

static void more_room(j_compress_ptr compress) {
	struct jpeg_work *jpeg = compress->client_data;
	jpeg->to.next_output_byte = encoded_room(jpeg->out, ROOM, NULL);
	jpeg->to.free_in_buffer = ROOM;
	if (!jpeg->to.next_output_byte) {
		on_error((j_common_ptr)compress);
	}
}

static boolean on_full(j_compress_ptr compress) {
	struct jpeg_work *jpeg = compress->client_data;
	jpeg->out->len += ROOM;
	more_room(compress);
	return TRUE;
}

static void on_end(j_compress_ptr compress) {
	struct jpeg_work *jpeg = compress->client_data;
	jpeg->out->len += ROOM - jpeg->to.free_in_buffer;
}

struct jpeg_work *jpeg_work_free(struct jpeg_work *jpeg) {
	if (jpeg && jpeg->created) {
		jpeg_destroy_compress(&jpeg->compress);
	}
	free(jpeg);
	return NULL;
}

static struct jpeg_work *jpeg_work_new(void) {
	struct jpeg_work *jpeg = calloc(1, sizeof(*jpeg));
	if (!jpeg) {
		return NULL;
	}
	jpeg->compress.err = jpeg_std_error(&jpeg->errors);
	jpeg->errors.error_exit = on_error;
	jpeg->errors.emit_message = on_message;
	jpeg->to.init_destination = more_room;
	jpeg->to.empty_output_buffer = on_full;
	jpeg->to.term_destination = on_end;
	return jpeg;
}

static void create(struct jpeg_work *jpeg) {
	struct jpeg_compress_struct *c = &jpeg->compress;
	c->client_data = jpeg;
	jpeg_create_compress(c);
	jpeg->created = true;
	c->client_data = jpeg;
	c->dest = &jpeg->to;
}

static void set_up(struct jpeg_work *jpeg, struct view rows, int quality) {
	struct jpeg_compress_struct *c = &jpeg->compress;
	if (!jpeg->created) {
		create(jpeg);
	}
	c->image_width = (JDIMENSION)rows.width;
	c->image_height = (JDIMENSION)rows.height;
	if (jpeg->quality != quality) {
		c->input_components = 4;
		c->in_color_space = JCS_EXT_BGRX;
		jpeg_set_defaults(c);
		jpeg_set_quality(c, quality, TRUE);
		c->dct_method = JDCT_ISLOW;
		c->restart_in_rows = 1;
		jpeg->quality = quality;
	}
}

/* False when the library gave up. */
static bool run(struct jpeg_work *jpeg, const struct view *rows, int quality) {
	if (setjmp(jpeg->failed)) {
		return false;
	}
	struct jpeg_compress_struct *c = &jpeg->compress;
	set_up(jpeg, *rows, quality);
	jpeg_start_compress(c, TRUE);
	while (c->next_scanline < c->image_height) {
		JSAMPROW row[JPEG_ROWS];
		JDIMENSION count = 0;
		for (; count < JPEG_ROWS && c->next_scanline + count < c->image_height; count++) {
			size_t y = c->next_scanline + count;
			row[count] = (JSAMPROW)(uintptr_t)(rows->pixels + y * rows->stride);
		}
		(void)jpeg_write_scanlines(c, row, count);
	}
	jpeg_finish_compress(c);
	return true;
}

int jpeg_file(struct jpeg_work **jpeg, struct view rows, int quality, struct encoded *ret,
	struct cua_err *err) {
	if (!*jpeg) {
		*jpeg = jpeg_work_new();
	}
	if (!*jpeg) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a JPEG");
	}
	(*jpeg)->out = ret;
	if (!run(*jpeg, &rows, quality)) {
		*jpeg = jpeg_work_free(*jpeg);
		return cua_err_set(err, CUA_INTERNAL, "the JPEG compressor failed");
	}
	return 0;
}

/* ---------------------------------------------------------------- the file */

size_t jpeg_headers(uint8_t *file, size_t len, int height) {
	for (size_t at = 2; at + 9 < len && file[at] == 0xff;) {
		uint8_t *segment = file + at;
		if (segment[1] == MARKER_SOF0) {
			segment[5] = (uint8_t)(height >> 8);
			segment[6] = (uint8_t)height;
		}
		at += 2 + ((size_t)segment[2] << 8 | segment[3]);
		if (segment[1] == MARKER_SOS) {
			return at < len ? at : 0;
		}
	}
	return 0;
}

size_t jpeg_band_len(const uint8_t *from, size_t len) {
	const uint8_t *end = from + len;
	const uint8_t *at = from;
	while (at + 1 < end && (at = memchr(at, 0xff, (size_t)(end - at) - 1))) {
		if (at[1] != 0) { /* 0xff 0x00 is a byte of data */
			return (size_t)(at - from);
		}
		at += 2;
	}
	return len;
}

const uint8_t *jpeg_mark(size_t band, bool last) {
	static const uint8_t restarts[8][JPEG_MARKER] = {{0xff, 0xd0}, {0xff, 0xd1}, {0xff, 0xd2},
		{0xff, 0xd3}, {0xff, 0xd4}, {0xff, 0xd5}, {0xff, 0xd6}, {0xff, 0xd7}};
	static const uint8_t end[JPEG_MARKER] = {0xff, 0xd9};
	return last ? end : restarts[band % 8];
}
