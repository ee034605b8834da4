/* RFC 6455 frames as bytes; see the header. No extension is offered, so reserved bits are errors. */
#include "server/front/ws_frame.h"

#include <string.h>

#include "cua/ident.h"

static uint64_t big_endian(const uint8_t *data, size_t bytes) {
	uint64_t value = 0;
	for (size_t i = 0; i < bytes; i++) {
		value = value << 8 | data[i];
	}
	return value;
}

static int check(const struct ws_head *head, const uint8_t *data) {
	bool control = head->opcode >= WS_CLOSE;
	bool known = head->opcode <= WS_BINARY || (control && head->opcode <= WS_PONG);
	if ((data[0] & 0x70) || !(data[1] & 0x80) || !known) {
		return -WS_CODE_PROTOCOL;
	}
	if (control && (!head->fin || (data[1] & 0x7f) > WS_CONTROL_MAX)) {
		return -WS_CODE_PROTOCOL;
	}
	return 1;
}

int ws_head_parse(const uint8_t *data, size_t len, struct ws_head *ret) {
	if (len < 2) {
		return 0;
	}
	ret->fin = data[0] & 0x80;
	ret->opcode = (enum ws_opcode)(data[0] & 0x0f);
	int r = check(ret, data);
	if (r < 0) {
		return r;
	}
	uint8_t small = data[1] & 0x7f;
	size_t extra = small == 127 ? 8 : small == 126 ? 2 : 0;
	ret->size = 2 + extra + 4;
	if (len < ret->size) {
		return 0;
	}
	ret->len = extra > 0 ? big_endian(data + 2, extra) : small;
	memcpy(ret->mask, data + 2 + extra, 4);
	return ret->len >> 63 ? -WS_CODE_PROTOCOL : 1;
}

void ws_unmask(uint8_t *data, size_t len, const uint8_t mask[4], uint64_t offset) {
	for (size_t i = 0; i < len; i++) {
		data[i] ^= mask[(offset + i) & 3];
	}
}

size_t ws_head_make(uint8_t ret[WS_HEAD_MAX], enum ws_opcode opcode, uint64_t len) {
	ret[0] = (uint8_t)(0x80 | opcode);
	size_t extra = len > 0xffff ? 8 : len > 125 ? 2 : 0;
	ret[1] = extra == 8 ? 127 : extra == 2 ? 126 : (uint8_t)len;
	for (size_t i = 0; i < extra; i++) {
		ret[2 + i] = (uint8_t)(len >> (8 * (extra - 1 - i)));
	}
	return 2 + extra;
}

int ws_close_parse(const uint8_t *payload, size_t len) {
	if (len == 0) {
		return WS_CODE_NONE;
	}
	int code = len >= 2 ? (int)big_endian(payload, 2) : 0;
	bool known = (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) ||
		     (code >= 3000 && code <= 4999);
	if (!known) {
		return -WS_CODE_PROTOCOL;
	}
	return cua_utf8_ok(payload + 2, len - 2) ? code : -WS_CODE_NOT_UTF8;
}
