/* Choosing the encoder, and the growing buffer that all of them fill. No encoder lives here. */
#include "desktop/encode.h"

#include <string.h>

#include "cua/limits.h"

void encoded_done(struct encoded *encoded) {
	free(encoded->data);
	*encoded = (struct encoded){0};
}

uint8_t *encoded_room(struct encoded *encoded, size_t len, struct cua_err *err) {
	if (len > CUA_BLOB_MAX - encoded->len) {
		(void)cua_err_set(
			err, CUA_TOO_LARGE, "a picture is larger than %u bytes", CUA_BLOB_MAX);
		return NULL;
	}
	if (encoded->len + len > encoded->room_) {
		size_t room = encoded->room_ + encoded->room_ / 2 + len;
		uint8_t *data = realloc(encoded->data, room);
		if (!data) {
			(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a picture");
			return NULL;
		}
		encoded->data = data;
		encoded->room_ = room;
	}
	return encoded->data + encoded->len;
}

int encoded_add(struct encoded *encoded, const void *data, size_t len, struct cua_err *err) {
	uint8_t *to = encoded_room(encoded, len, err);
	if (!to) {
		return -CUA_EXHAUSTED;
	}
	memcpy(to, data, len);
	encoded->len += len;
	return 0;
}

static int encode_as(enum encode_format format, struct view view, int quality, struct encoded *ret,
	struct cua_err *err) {
	switch (format) {
	case ENCODE_PNG:
		return encode_png(view, ret, err);
	case ENCODE_JPEG:
		return encode_jpeg(view, quality, ret, err);
	case ENCODE_WEBP:
		return encode_webp(view, quality, ret, err);
	case ENCODE_MAX_:
		break;
	}
	return cua_err_set(err, CUA_INVALID, "no such picture format");
}

int encode(enum encode_format format, struct view view, int quality, struct encoded *ret,
	struct cua_err *err) {
	struct encoded out = {0};
	int r = encode_as(format, view, quality, &out, err);
	if (r < 0) {
		encoded_done(&out);
	}
	*ret = out;
	return r;
}
