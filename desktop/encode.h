/* Formats of pictures, and the growing buffer that all encoders fill. */
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
/* Appends bytes. 0 or -CUA_EXHAUSTED, also beyond CUA_BLOB_MAX. */
int encoded_add(
	struct encoded *encoded, const void *data, size_t len, struct cua_err *err) CUA_CHECK;
/* Makes room for len more bytes behind the end and returns where; for encoders, which then raise
 * `len` themselves. NULL as in encoded_add(). */
uint8_t *encoded_room(struct encoded *encoded, size_t len, struct cua_err *err);
