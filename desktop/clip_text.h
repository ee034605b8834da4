/* Texts of the clipboard: bytes in memory, counted, and their conversion from and to Latin-1. Knows
 * nothing of X. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cua/msg.h"

/* Bytes that never change while more than one holds them; UTF-8 unless a program said otherwise. */
struct clip_text {
	unsigned refs;
	size_t len;
	size_t room_;
	char data[];
};

/* A copy with one reference. NULL: -CUA_TOO_LARGE beyond CUA_CLIPBOARD_MAX, or no memory. */
struct clip_text *clip_text_new(struct cua_span bytes, struct cua_err *err);
/* The same from Latin-1. */
struct clip_text *clip_text_from_latin1(struct cua_span bytes, struct cua_err *err);
/* Appends to a text that nobody else holds; *text may move, and NULL is an empty one. 0; negative
 * as clip_text_new(), and *text stays as it was. */
int clip_text_add(struct clip_text **text, struct cua_span bytes, struct cua_err *err) CUA_CHECK;

/* One more reference; NULL is fine. Returns the text. */
struct clip_text *clip_text_ref(struct clip_text *text);
/* Gives one back. NULL is fine. Returns NULL. */
struct clip_text *clip_text_unref(struct clip_text *text);
CUA_DEFINE_CLEANUP(struct clip_text *, clip_text_unref)

/* True for UTF-8 that has no characters but those of Latin-1. */
bool clip_text_is_latin1(const struct clip_text *text);
/* Converts such a text from *pos on, which moves, into at most max bytes. The number of bytes; 0 at
 * the end. */
size_t clip_text_to_latin1(const struct clip_text *text, size_t *pos, char *ret, size_t max);
