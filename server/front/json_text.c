/* The one way from a client's text to JSON; see the header. Five bytes can become a value of fifty, so
 * the number of values is limited as well as the length. */
#include "server/front/json_text.h"

/* Counts what begins or separates values, outside of strings: their number or little more. */
static size_t count_values(struct cua_span text) {
	const char *p = text.data;
	size_t count = 0;
	bool quoted = false;
	for (size_t i = 0; i < text.len; i++) {
		if (p[i] == '"') {
			quoted = !quoted;
		} else if (quoted) {
			i += p[i] == '\\';
		} else {
			count += p[i] == ',' || p[i] == '[' || p[i] == '{';
		}
	}
	return count;
}

json_t *json_text_decode(struct cua_span text, struct cua_err *err) {
	if (count_values(text) > CUA_JSON_VALUES) {
		(void)cua_err_set(
			err, CUA_TOO_LARGE, "more than %d values in one text", CUA_JSON_VALUES);
		return NULL;
	}
	json_error_t where;
	json_t *json = json_loadb(text.len ? text.data : "", text.len,
		JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
	if (!json) {
		(void)cua_err_set(err, CUA_BAD_REQUEST, "this is not JSON: %s (line %d, column %d)",
			where.text, where.line, where.column);
	}
	return json;
}
