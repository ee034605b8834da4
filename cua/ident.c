/* Names; see the header. */
#include "cua/ident.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static bool lower_or_digit(char c) {
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool cua_name_ok(const char *name) {
	if (!name || !lower_or_digit(name[0])) {
		return false;
	}
	size_t len = 1;
	while (lower_or_digit(name[len]) || name[len] == '-') {
		len++;
	}
	return name[len] == '\0' && len <= CUA_NAME_MAX;
}

bool cua_id_ok(const char *id) {
	size_t len = 0;
	while (id && lower_or_digit(id[len])) {
		len++;
	}
	return id && id[len] == '\0' && len == CUA_ID_LEN;
}

bool cua_user_ok(const char *user) {
	if (!user || !((user[0] >= 'a' && user[0] <= 'z') || user[0] == '_')) {
		return false;
	}
	size_t len = 1;
	while (lower_or_digit(user[len]) || user[len] == '-' || user[len] == '_') {
		len++;
	}
	return user[len] == '\0' && len < CUA_USER_SIZE;
}

bool cua_env_key_ok(const char *key, size_t len) {
	for (size_t i = 0; i < len; i++) {
		char c = key[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		if (!letter && (i == 0 || c < '0' || c > '9')) {
			return false;
		}
	}
	return len > 0 && len <= 64;
}

/* Length of the sequence that starts with this byte and the smallest code point it may stand for. */
static size_t utf8_lead(uint8_t c, uint32_t *ret_min, uint32_t *ret_bits) {
	if (c < 0x80) {
		*ret_min = 1;
		*ret_bits = c;
		return 1;
	}
	if ((c & 0xe0) == 0xc0) {
		*ret_min = 0x80;
		*ret_bits = c & 0x1f;
		return 2;
	}
	if ((c & 0xf0) == 0xe0) {
		*ret_min = 0x800;
		*ret_bits = c & 0x0f;
		return 3;
	}
	if ((c & 0xf8) == 0xf0) {
		*ret_min = 0x10000;
		*ret_bits = c & 0x07;
		return 4;
	}
	return 0;
}

bool cua_utf8_ok(const void *data, size_t len) {
	const uint8_t *p = data;
	for (size_t i = 0; i < len;) {
		uint32_t min = 0;
		uint32_t code = 0;
		size_t n = utf8_lead(p[i], &min, &code);
		if (n == 0 || n > len - i) {
			return false;
		}
		for (size_t k = 1; k < n; k++) {
			if ((p[i + k] & 0xc0) != 0x80) {
				return false;
			}
			code = code << 6 | (p[i + k] & 0x3f);
		}
		if (code < min || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
			return false;
		}
		i += n;
	}
	return true;
}

void cua_id_new(char ret_id[CUA_ID_SIZE]) {
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	size_t len = 0;
	while (len < CUA_ID_LEN) {
		uint8_t byte = 0;
		if (getrandom(&byte, 1, 0) != 1) {
			abort();
		}
		if (byte < 252) { /* 7 * 36: an even share for every character */
			ret_id[len++] = alphabet[byte % 36];
		}
	}
	ret_id[len] = '\0';
}
