/* The compressors as bands.c sees them. Each works on one band of a picture, or several, alone: what
 * they write depends on nothing above or below. Their working memory belongs to one thread at a time
 * and is made when it is first needed. */
#pragma once

#include "desktop/encode.h"

/* Rows of a picture that are compressed together; and of a JPEG's row of blocks, at 4:2:0. */
#define PNG_ROWS 32
#define JPEG_ROWS 16

struct png_work;
struct jpeg_work;

/* ---- PNG: a band is an IDAT chunk, and every chunk ends on a whole byte ---- */

/* Frees working memory. NULL is fine. Returns NULL. */
struct png_work *png_work_free(struct png_work *png);
/* Appends the chunk of a band, and tells the checksum of the bytes that it unpacks to. */
int png_band(struct png_work **png, struct view rows, struct encoded *ret, uint32_t *ret_sum,
	struct cua_err *err) CUA_CHECK;
/* The checksum of two runs of bytes one after the other, the second of this length. Starts with 1. */
uint32_t png_sum(uint32_t first, uint32_t second, size_t second_len);
/* How many bytes a band unpacks to. */
size_t png_raw_len(int width, int rows);
/* Appends what is before the first band, and what is behind the last. */
int png_head(int width, int height, struct encoded *ret, struct cua_err *err) CUA_CHECK;
int png_tail(uint32_t sum, struct encoded *ret, struct cua_err *err) CUA_CHECK;

/* ---- JPEG: a band is a row of blocks, which ends in a restart ---- */

/* Frees working memory. NULL is fine. Returns NULL. */
struct jpeg_work *jpeg_work_free(struct jpeg_work *jpeg);
/* Appends a whole file of these rows, a restart behind every JPEG_ROWS of them. */
int jpeg_file(struct jpeg_work **jpeg, struct view rows, int quality, struct encoded *ret,
	struct cua_err *err) CUA_CHECK;
/* The length of such a file's headers, in which the picture's height becomes this one; 0 when it is
 * not such a file. */
size_t jpeg_headers(uint8_t *file, size_t len, int height);
/* The length of the band that begins here, before the marker that ends it. */
size_t jpeg_band_len(const uint8_t *from, size_t len);
#define JPEG_MARKER 2 /* bytes */
/* The marker behind a band, the picture's last or another. */
const uint8_t *jpeg_mark(size_t band, bool last);

/* ---- WebP: only whole ---- */

int webp_file(struct view view, int quality, struct encoded *ret, struct cua_err *err) CUA_CHECK;
