/* Pictures: pixels in, the bytes of a PNG, JPEG or WebP file out. */
#pragma once

#include "desktop/frame.h"

enum encode_format {
	ENCODE_PNG,
	ENCODE_JPEG,
	ENCODE_WEBP,
	ENCODE_MAX_,
};

/* Encoded bytes, owned by whoever holds the struct. */
struct encoded {
	uint8_t *data;
	size_t len;
	size_t room_;
};

/* Frees the bytes; fine on a zero struct. */
void encoded_done(struct encoded *encoded);
/* Appends bytes; for encoders. 0 or -CUA_EXHAUSTED, also beyond CUA_BLOB_MAX. */
int encoded_add(
	struct encoded *encoded, const void *data, size_t len, struct cua_err *err) CUA_CHECK;
/* Makes room for len more bytes behind the end and returns where; for encoders, which then raise
 * `len` themselves. NULL as in encoded_add(). */
uint8_t *encoded_room(struct encoded *encoded, size_t len, struct cua_err *err);

/* Encodes. quality is 1 … 100 and does not matter for PNG, which loses nothing. *ret is overwritten;
 * on failure it holds nothing. */
int encode(enum encode_format format, struct view view, int quality, struct encoded *ret,
	struct cua_err *err) CUA_CHECK;

/* The three behind it; the result is added to *ret. */
int encode_png(struct view view, struct encoded *ret, struct cua_err *err) CUA_CHECK;
int encode_jpeg(struct view view, int quality, struct encoded *ret, struct cua_err *err) CUA_CHECK;
int encode_webp(struct view view, int quality, struct encoded *ret, struct cua_err *err) CUA_CHECK;
