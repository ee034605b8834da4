/* See the header. */
#include "desktop/clip_text.h"

#include <stdint.h>
#include <string.h>

#include "cua/limits.h"

#define ROOM_FIRST 256

/* Makes room for this many bytes in all. NULL and err: the text is as it was. */
static struct clip_text *reserve(struct clip_text *text, size_t len, struct cua_err *err) {
	if (len > CUA_CLIPBOARD_MAX) {
		(void)cua_err_about(err, CUA_TOO_LARGE, "text",
			"the text is larger than %u bytes, the clipboard's limit",
			CUA_CLIPBOARD_MAX);
		return NULL;
	}
	size_t room = text ? text->room_ : 0;
	if (text && len <= room) {
		return text;
	}
	room = room * 2 > len ? room * 2 : len;
	room = room < ROOM_FIRST ? ROOM_FIRST : room;
	struct clip_text *grown = realloc(text, sizeof(*text) + room);
	if (!grown) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a text of %zu bytes", len);
		return NULL;
	}
	if (!text) {
		*grown = (struct clip_text){.refs = 1};
	}
	grown->room_ = room;
	return grown;
}

int clip_text_add(struct clip_text **text, struct cua_span bytes, struct cua_err *err) {
	size_t len = *text ? (*text)->len : 0;
	struct clip_text *grown = reserve(*text, len + bytes.len, err);
	if (!grown) {
		return -(int)err->code;
	}
	*text = grown;
	if (bytes.len > 0) {
		memcpy(grown->data + len, bytes.data, bytes.len);
	}
	grown->len = len + bytes.len;
	return 0;
}

struct clip_text *clip_text_new(struct cua_span bytes, struct cua_err *err) {
	struct clip_text *text = NULL;
	return clip_text_add(&text, bytes, err) < 0 ? NULL : text;
}

struct clip_text *clip_text_from_latin1(struct cua_span bytes, struct cua_err *err) {
	const uint8_t *from = bytes.data;
	size_t len = bytes.len;
	for (size_t i = 0; i < bytes.len; i++) {
		len += from[i] >= 0x80;
	}
	struct clip_text *text = reserve(NULL, len, err);
	for (size_t i = 0; text && i < bytes.len; i++) {
		uint8_t c = from[i];
		if (c >= 0x80) {
			text->data[text->len++] = (char)(0xc0 | c >> 6);
			c = 0x80 | (c & 0x3f);
		}
		text->data[text->len++] = (char)c;
	}
	return text;
}

struct clip_text *clip_text_ref(struct clip_text *text) {
	if (text) {
		text->refs++;
	}
	return text;
}

struct clip_text *clip_text_unref(struct clip_text *text) {
	if (text && --text->refs == 0) {
		free(text);
	}
	return NULL;
}

/* Bytes of the character at pos if Latin-1 has it, else 0. */
static size_t latin1_len(const struct clip_text *text, size_t pos) {
	const uint8_t *p = (const uint8_t *)text->data + pos;
	if (p[0] < 0x80) {
		return 1;
	}
	bool pair = (p[0] == 0xc2 || p[0] == 0xc3) && text->len - pos > 1 && (p[1] & 0xc0) == 0x80;
	return pair ? 2 : 0;
}

bool clip_text_is_latin1(const struct clip_text *text) {
	for (size_t pos = 0; pos < text->len;) {
		size_t n = latin1_len(text, pos);
		if (n == 0) {
			return false;
		}
		pos += n;
	}
	return true;
}

size_t clip_text_to_latin1(const struct clip_text *text, size_t *pos, char *ret, size_t max) {
	size_t used = 0;
	while (used < max && *pos < text->len) {
		const uint8_t *p = (const uint8_t *)text->data + *pos;
		size_t n = latin1_len(text, *pos);
		ret[used++] = (char)(n == 2 ? (p[0] & 3) << 6 | (p[1] & 0x3f) : p[0]);
		*pos += n == 2 ? 2 : 1;
	}
	return used;
}
