/* PNG by ISA-L: RGB of 8 bits, every row as its distance from what Paeth's predictor expects, which on
 * text and on photographs alike is at least as small as any other choice and costs little. The first
 * row of a band has no upper neighbour; with zeros in its place Paeth is the filter Sub. Rows pass
 * through a buffer of one band, so that filter and compressor meet in the cache. */
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <string.h>

#include "cua/msg.h"
#include "desktop/encode_priv.h"
#include "desktop/pixels.h"

#define LEVEL 1
/* How much more than the filtered bytes a band may need at first. */
#define SPARE 4096
/* Zeros before every row: the pixel to the left of the first. */
#define MARGIN 16
#define ADLER 65521u

enum filter {
	FILTER_SUB = 1,
	FILTER_PAETH = 4,
};

struct png_work {
	struct isal_zstream stream;
	uint8_t level_buf[ISAL_DEF_LVL1_DEFAULT];
	const struct pixels *pixels;
	int width; /* that the buffers are for */
	uint8_t *band; /* PNG_ROWS filtered rows, each with its filter byte */
	uint8_t *rows; /* above and current, each behind its margin */
};

/* ---------------------------------------------------------------- chunks */

static void put_be32(uint8_t *to, uint32_t value) {
	to[0] = (uint8_t)(value >> 24);
	to[1] = (uint8_t)(value >> 16);
	to[2] = (uint8_t)(value >> 8);
	to[3] = (uint8_t)value;
}

/* Begins a chunk: room for its length, and its name. ret_at: where. */
static int chunk_open(struct encoded *out, const char *name, size_t *ret_at, struct cua_err *err) {
	uint8_t head[8] = {0};
	memcpy(head + 4, name, 4);
	*ret_at = out->len;
	return encoded_add(out, head, sizeof(head), err);
}

/* Writes the length of the chunk and adds its checksum, which covers name and content. */
static int chunk_close(struct encoded *out, size_t at, struct cua_err *err) {
	uint8_t *start = out->data + at;
	size_t len = out->len - at - 8;
	put_be32(start, (uint32_t)len);
	uint8_t crc[4];
	put_be32(crc, crc32_gzip_refl(0, start + 4, len + 4));
	return encoded_add(out, crc, sizeof(crc), err);
}

static int chunk(
	struct encoded *out, const char *name, struct cua_span content, struct cua_err *err) {
	size_t at = 0;
	int r = chunk_open(out, name, &at, err);
	if (r == 0 && content.len > 0) {
		r = encoded_add(out, content.data, content.len, err);
	}
	return r == 0 ? chunk_close(out, at, err) : r;
}

int png_head(int width, int height, struct encoded *ret, struct cua_err *err) {
	static const uint8_t magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
	static const uint8_t zlib[2] = {0x78, 0x01}; /* deflate, 32 KiB, fastest */
	uint8_t ihdr[13] = {[8] = 8, [9] = 2};
	put_be32(ihdr, (uint32_t)width);
	put_be32(ihdr + 4, (uint32_t)height);
	int r = encoded_add(ret, magic, sizeof(magic), err);
	if (r == 0) {
		r = chunk(ret, "IHDR", (struct cua_span){ihdr, sizeof(ihdr)}, err);
	}
	return r == 0 ? chunk(ret, "IDAT", (struct cua_span){zlib, sizeof(zlib)}, err) : r;
}

int png_tail(uint32_t sum, struct encoded *ret, struct cua_err *err) {
	uint8_t end[6] = {0x03, 0x00}; /* an empty last block */
	put_be32(end + 2, sum);
	int r = chunk(ret, "IDAT", (struct cua_span){end, sizeof(end)}, err);
	return r == 0 ? chunk(ret, "IEND", (struct cua_span){0}, err) : r;
}

/* ---------------------------------------------------------------- checksum */

size_t png_raw_len(int width, int rows) {
	return (size_t)rows * (1 + 3 * (size_t)width);
}

/* Adler-32: low half 1 + the sum of the bytes, high half the sum of the low halves after each byte. */
uint32_t png_sum(uint32_t first, uint32_t second, size_t second_len) {
	uint64_t len = second_len % ADLER;
	uint64_t low = (first & 0xffff) + (second & 0xffff) + ADLER - 1;
	uint64_t high = (first >> 16) + (second >> 16) + len * (first & 0xffff) + ADLER - len;
	return (uint32_t)(low % ADLER | high % ADLER << 16);
}

/* ---------------------------------------------------------------- bands */

struct png_work *png_work_free(struct png_work *png) {
	if (png) {
		free(png->band);
		free(png->rows);
	}
	free(png);
	return NULL;
}

static size_t pitch(int width) {
	return MARGIN + 3 * (size_t)width;
}

static int resize(struct png_work *png, int width) {
	if (png->rows && png->width == width) {
		return 0;
	}
	free(png->band);
	free(png->rows);
	png->width = 0;
	png->band = malloc(png_raw_len(width, PNG_ROWS));
	png->rows = calloc(2, pitch(width));
	if (!png->band || !png->rows) {
		return -CUA_EXHAUSTED;
	}
	png->width = width;
	return 0;
}

/* The working memory, ready for rows of this width; NULL without memory. */
static struct png_work *ready(struct png_work **at, int width, struct cua_err *err) {
	struct png_work *png = *at ? *at : calloc(1, sizeof(*png));
	*at = png;
	if (!png || resize(png, width) < 0) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a PNG");
		return NULL;
	}
	png->pixels = pixels_best();
	return png;
}

static void filter(const struct png_work *png, struct view rows) {
	size_t len = 3 * (size_t)rows.width;
	uint8_t *now = png->rows + MARGIN;
	uint8_t *above = now + pitch(rows.width);
	memset(above, 0, len);
	for (int y = 0; y < rows.height; y++) {
		uint8_t *to = png->band + (size_t)y * (1 + len);
		png->pixels->pack(now, rows.pixels + (size_t)y * rows.stride, (size_t)rows.width);
		*to = y == 0 ? FILTER_SUB : FILTER_PAETH;
		png->pixels->paeth(to + 1, now, above, len);
		uint8_t *next = above;
		above = now;
		now = next;
	}
}

/* The flush makes the band end on a whole byte; nothing refers to a band before, for each has a stream
 * of its own. */
static int compress(struct png_work *png, size_t len, struct encoded *out, struct cua_err *err) {
	isal_deflate_init(&png->stream);
	png->stream.level = LEVEL;
	png->stream.level_buf = png->level_buf;
	png->stream.level_buf_size = sizeof(png->level_buf);
	png->stream.flush = FULL_FLUSH;
	png->stream.next_in = png->band;
	png->stream.avail_in = (uint32_t)len;
	do {
		size_t room = (size_t)png->stream.avail_in + SPARE;
		uint8_t *to = encoded_room(out, room, err);
		if (!to) {
			return -CUA_EXHAUSTED;
		}
		png->stream.next_out = to;
		png->stream.avail_out = (uint32_t)room;
		if (isal_deflate(&png->stream) != COMP_OK) {
			return cua_err_set(err, CUA_INTERNAL, "the PNG compressor failed");
		}
		out->len += room - png->stream.avail_out;
	} while (png->stream.avail_out == 0);
	return 0;
}

int png_band(struct png_work **png, struct view rows, struct encoded *ret, uint32_t *ret_sum,
	struct cua_err *err) {
	struct png_work *work = ready(png, rows.width, err);
	if (!work) {
		return -CUA_EXHAUSTED;
	}
	size_t len = png_raw_len(rows.width, rows.height);
	size_t at = 0;
	int r = chunk_open(ret, "IDAT", &at, err);
	if (r == 0) {
		filter(work, rows);
		r = compress(work, len, ret, err);
	}
	if (r < 0) {
		return r;
	}
	*ret_sum = isal_adler32(1, work->band, len);
	return chunk_close(ret, at, err);
}
