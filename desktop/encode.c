/* The growing buffer; see the header. */
#include "desktop/encode.h"

#include <string.h>

#include "cua/limits.h"

void encoded_done(struct encoded *encoded) {
	free(encoded->data);
	*encoded = (struct encoded){0};
}

uint8_t *encoded_room(struct encoded *encoded, size_t len, struct cua_err *err) {
	if (len > CUA_BLOB_MAX - encoded->len) {
		(void)cua_err_set(err, CUA_TOO_LARGE,
			"a picture is larger than %u bytes: ask for jpeg, a region or `max`",
			CUA_BLOB_MAX);
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
