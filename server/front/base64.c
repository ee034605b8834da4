/* Base64; see the header. */
#include "server/front/base64.h"

#include <stdint.h>
#include <stdlib.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char *encode_three(char *out, const uint8_t *in) {
	uint32_t bits = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
	*out++ = digits[bits >> 18];
	*out++ = digits[bits >> 12 & 63];
	*out++ = digits[bits >> 6 & 63];
	*out++ = digits[bits & 63];
	return out;
}

/* The last one or two bytes. */
static char *encode_rest(char *out, const uint8_t *in, size_t len) {
	uint8_t last[3] = {in[0], len > 1 ? in[1] : 0, 0};
	(void)encode_three(out, last);
	out[3] = '=';
	if (len == 1) {
		out[2] = '=';
	}
	return out + 4;
}

json_t *base64_json(struct cua_span bytes) {
	_cleanup_free_ char *text = malloc((bytes.len + 2) / 3 * 4 + 1);
	if (!text) {
		return NULL;
	}
	const uint8_t *in = bytes.data;
	char *out = text;
	size_t left = bytes.len;
	for (; left >= 3; left -= 3, in += 3) {
		out = encode_three(out, in);
	}
	if (left > 0) {
		out = encode_rest(out, in, left);
	}
	return json_stringn_nocheck(text, (size_t)(out - text));
}
