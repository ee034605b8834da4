/* PNG by ISA-L: RGB of 8 bits, every row but the first as its difference to the row above. The rows
 * pass through a buffer of some dozen of them, so that filter and compressor meet in the cache. */
#include "desktop/encode.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <string.h>

#define BAND_ROWS 32
#define LEVEL 1
/* One IDAT chunk per so many compressed bytes at least. */
#define CHUNK_MIN 65536

enum filter {
	FILTER_NONE = 0,
	FILTER_UP = 2,
};

/* What compressing one picture needs. */
struct png {
	struct isal_zstream stream;
	uint8_t level_buf[ISAL_DEF_LVL1_DEFAULT];
	uint8_t *band; /* BAND_ROWS filtered rows, each with its filter byte */
	uint8_t *rgb; /* two rows: above and current */
	struct encoded *out;
	size_t chunk; /* where the open chunk begins in out */
};

static void put_be32(uint8_t *to, uint32_t value) {
	to[0] = (uint8_t)(value >> 24);
	to[1] = (uint8_t)(value >> 16);
	to[2] = (uint8_t)(value >> 8);
	to[3] = (uint8_t)value;
}

/* Begins a chunk: room for its length, and its name. */
static int chunk_open(struct png *png, const char *name, struct cua_err *err) {
	uint8_t head[8] = {0};
	memcpy(head + 4, name, 4);
	png->chunk = png->out->len;
	return encoded_add(png->out, head, sizeof(head), err);
}

/* Writes the length of the open chunk and adds its checksum, which covers name and content. */
static int chunk_close(struct png *png, struct cua_err *err) {
	uint8_t *start = png->out->data + png->chunk;
	size_t len = png->out->len - png->chunk - 8;
	put_be32(start, (uint32_t)len);
	uint8_t crc[4];
	put_be32(crc, crc32_gzip_refl(0, start + 4, len + 4));
	return encoded_add(png->out, crc, sizeof(crc), err);
}

static int put_head(struct png *png, struct view view, struct cua_err *err) {
	static const uint8_t magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
	uint8_t ihdr[13] = {[8] = 8, [9] = 2};
	put_be32(ihdr, (uint32_t)view.width);
	put_be32(ihdr + 4, (uint32_t)view.height);
	int r = encoded_add(png->out, magic, sizeof(magic), err);
	if (r == 0) {
		r = chunk_open(png, "IHDR", err);
	}
	if (r == 0) {
		r = encoded_add(png->out, ihdr, sizeof(ihdr), err);
	}
	return r == 0 ? chunk_close(png, err) : r;
}

static uint32_t swap(uint32_t pixel) {
	return __builtin_bswap32(pixel) >> 8; /* 0x00RRGGBB to R, G, B in memory order */
}

/* Four pixels become three words. */
static void pack_rgb(uint8_t *restrict to, const uint32_t *restrict from, int width) {
	int x = 0;
	for (; x + 4 <= width; x += 4) {
		uint32_t a = swap(from[x]);
		uint32_t b = swap(from[x + 1]);
		uint32_t c = swap(from[x + 2]);
		uint32_t d = swap(from[x + 3]);
		uint32_t words[3] = {a | b << 24, b >> 8 | c << 16, c >> 16 | d << 8};
		memcpy(to + 3 * (size_t)x, words, sizeof(words));
	}
	for (; x < width; x++) {
		uint32_t a = swap(from[x]);
		memcpy(to + 3 * (size_t)x, &a, 3);
	}
}

static void subtract(uint8_t *restrict to, const uint8_t *restrict now,
	const uint8_t *restrict above, size_t len) {
	for (size_t i = 0; i < len; i++) {
		to[i] = (uint8_t)(now[i] - above[i]);
	}
}

/* Filters row y into `to`, its filter byte first. */
static void filter_row(struct png *png, struct view view, int y, uint8_t *to) {
	size_t len = 3 * (size_t)view.width;
	uint8_t *now = png->rgb + (size_t)(y & 1) * len;
	const uint8_t *above = png->rgb + (size_t)(~y & 1) * len;
	pack_rgb(now, view.pixels + (size_t)y * view.stride, view.width);
	to[0] = y == 0 ? FILTER_NONE : FILTER_UP;
	if (y == 0) {
		memcpy(to + 1, now, len);
	} else {
		subtract(to + 1, now, above, len);
	}
}

/* Compresses what the stream was given; ends the open IDAT and begins another when it is large. */
static int compress_band(struct png *png, struct cua_err *err) {
	do {
		size_t room = (size_t)png->stream.avail_in + CHUNK_MIN;
		uint8_t *to = encoded_room(png->out, room, err);
		if (!to) {
			return -CUA_EXHAUSTED;
		}
		png->stream.next_out = to;
		png->stream.avail_out = (uint32_t)room;
		if (isal_deflate(&png->stream) != COMP_OK) {
			return cua_err_set(err, CUA_INTERNAL, "the PNG compressor failed");
		}
		png->out->len += room - png->stream.avail_out;
	} while (png->stream.avail_out == 0);
	return 0;
}

static int put_rows(struct png *png, struct view view, struct cua_err *err) {
	size_t row = 1 + 3 * (size_t)view.width;
	int r = 0;
	for (int y = 0; y < view.height && r == 0; y += BAND_ROWS) {
		int rows = view.height - y < BAND_ROWS ? view.height - y : BAND_ROWS;
		for (int i = 0; i < rows; i++) {
			filter_row(png, view, y + i, png->band + (size_t)i * row);
		}
		png->stream.next_in = png->band;
		png->stream.avail_in = (uint32_t)((size_t)rows * row);
		png->stream.end_of_stream = y + rows == view.height;
		r = compress_band(png, err);
	}
	return r;
}

static int put_image(struct png *png, struct view view, struct cua_err *err) {
	isal_deflate_init(&png->stream);
	png->stream.level = LEVEL;
	png->stream.level_buf = png->level_buf;
	png->stream.level_buf_size = sizeof(png->level_buf);
	png->stream.gzip_flag = IGZIP_ZLIB;
	png->stream.flush = NO_FLUSH;
	int r = chunk_open(png, "IDAT", err);
	if (r == 0) {
		r = put_rows(png, view, err);
	}
	return r == 0 ? chunk_close(png, err) : r;
}

static void png_free(struct png **png) {
	if (*png) {
		free((*png)->band);
		free((*png)->rgb);
		free(*png);
	}
}

int encode_png(struct view view, struct encoded *ret, struct cua_err *err) {
	_cleanup_(png_free) struct png *png = calloc(1, sizeof(*png));
	if (!png) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a PNG");
	}
	png->band = malloc(BAND_ROWS * (1 + 3 * (size_t)view.width));
	png->rgb = malloc((size_t)view.width * 3 * 2);
	if (!png->band || !png->rgb) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a PNG");
	}
	png->out = ret;
	int r = put_head(png, view, err);
	if (r == 0) {
		r = put_image(png, view, err);
	}
	if (r == 0) {
		r = chunk_open(png, "IEND", err);
	}
	return r == 0 ? chunk_close(png, err) : r;
}
