/* Lists of strings; see the header. */
#include "server/front/strings.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void strings_done(struct strings *strings) {
	free(strings->bytes);
	*strings = (struct strings){0};
}

struct cua_span strings_span(const struct strings *strings) {
	return (struct cua_span){.data = strings->bytes, .len = strings->len};
}

static int reserve(struct strings *strings, size_t len, struct cua_err *err) {
	if (strings->len + len <= strings->room) {
		return 0;
	}
	size_t room = 2 * (strings->len + len) + 256;
	char *bytes = realloc(strings->bytes, room);
	if (!bytes) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for %zu bytes", room);
	}
	strings->bytes = bytes;
	strings->room = room;
	return 0;
}

static void put(struct strings *strings, const char *text, size_t len) {
	if (len > 0) {
		memcpy(strings->bytes + strings->len, text, len);
		strings->len += len;
	}
}

/* Appends one string of len bytes (without NUL). */
static int strings_add(struct strings *strings, const char *text, size_t len, struct cua_err *err) {
	int r = reserve(strings, len + 1, err);
	if (r < 0) {
		return r;
	}
	put(strings, text, len);
	put(strings, "", 1);
	return 0;
}

int strings_append(struct strings *strings, struct cua_span bytes, struct cua_err *err) {
	int r = reserve(strings, bytes.len, err);
	if (r == 0) {
		put(strings, bytes.data, bytes.len);
	}
	return r;
}

int strings_from_list(struct strings *strings, const json_t *list, struct cua_err *err) {
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *word = json_array_get(list, i);
		int r = strings_add(
			strings, json_string_value(word), json_string_length(word), err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int add_variable(
	struct strings *strings, const char *key, const json_t *value, struct cua_err *err) {
	size_t len = strlen(key) + 1 + json_string_length(value) + 1;
	int r = reserve(strings, len, err);
	if (r < 0) {
		return r;
	}
	put(strings, key, strlen(key));
	put(strings, "=", 1);
	put(strings, json_string_value(value), json_string_length(value));
	put(strings, "", 1);
	return 0;
}

int strings_from_map(struct strings *strings, const json_t *map, struct cua_err *err) {
	return strings_environment(strings, map, (struct cua_span){0}, err);
}

static bool names(const char *variable, const char *key) {
	size_t len = strlen(key);
	return strncmp(variable, key, len) == 0 && variable[len] == '=';
}

static bool is_among(char *const *variables, const char *key) {
	for (; *variables; variables++) {
		if (names(*variables, key)) {
			return true;
		}
	}
	return false;
}

int strings_environment(
	struct strings *strings, const json_t *session, struct cua_span call, struct cua_err *err) {
	_cleanup_free_ char **own = cua_strings_split(call, CUA_ARGV_COUNT, err);
	if (!own) {
		return -CUA_INVALID;
	}
	const char *key = NULL;
	json_t *value = NULL;
	json_object_foreach((json_t *)(uintptr_t)session, key, value) {
		if (json_is_string(value) && !is_among(own, key)) {
			int r = add_variable(strings, key, value, err);
			if (r < 0) {
				return r;
			}
		}
	}
	return strings_append(strings, call, err);
}
