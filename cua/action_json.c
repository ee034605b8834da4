/* Actions in JSON, read strictly by the action table; see the header. Not their meaning: whether a key
 * exists or a point is on the screen is for whoever performs the action. */
#include "cua/action_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cua/ident.h"

/* One parameter that is being read. */
struct reader {
	const struct cua_param *param;
	struct cua_call *call;
	struct cua_call_mem *mem;
	struct cua_err *err;
};

void cua_call_mem_done(struct cua_call_mem *mem) {
	for (size_t i = 0; i < mem->count; i++) {
		free(mem->blob[i]);
	}
	*mem = (struct cua_call_mem){0};
}

/* ---------------------------------------------------------------- errors */

static int wrong_type(const struct reader *r, const char *expected) {
	return cua_err_about(
		r->err, CUA_BAD_REQUEST, r->param->name, "%s is not %s", r->param->name, expected);
}

static int out_of_range(const struct reader *r, double min, double max) {
	enum cua_code code = r->param->coordinate ? CUA_OUT_OF_SCREEN : CUA_INVALID;
	return cua_err_about(r->err, code, r->param->name, "%s is not from %.15g to %.15g",
		r->param->name, min, max);
}

static int too_long(const struct reader *r, size_t max) {
	return cua_err_about(r->err, CUA_TOO_LARGE, r->param->name, "%s is longer than %zu bytes",
		r->param->name, max);
}

static int no_memory(const struct reader *r) {
	return cua_err_about(r->err, CUA_EXHAUSTED, "memory", "no memory for %s", r->param->name);
}

/* ---------------------------------------------------------------- places in cua_Args */

static void *field_of(const struct reader *r) {
	return (uint8_t *)&r->call->args + r->param->field;
}

static void set_present(const struct reader *r) {
	*(bool *)((uint8_t *)&r->call->args + r->param->presence) = true;
}

static void set_count(const struct reader *r, size_t count) {
	*(pb_size_t *)(void *)((uint8_t *)&r->call->args + r->param->presence) = (pb_size_t)count;
}

/* Takes over the memory as the parameter's blob. */
static int set_blob(const struct reader *r, void *data, size_t len) {
	if (r->mem->count >= CUA_MSG_BLOBS) {
		free(data);
		return cua_err_set(r->err, CUA_INTERNAL, "too many long parameters");
	}
	size_t number = r->mem->count++;
	r->mem->blob[number] = data;
	r->call->blob[number] = (struct cua_span){.data = data, .len = len};
	r->call->blob_count = r->mem->count;
	*(uint32_t *)field_of(r) = (uint32_t)number;
	set_present(r);
	return 0;
}

/* ---------------------------------------------------------------- numbers */

/* A whole number, also when it is written as 10.0. */
static bool whole_number(const json_t *value, double *ret) {
	*ret = json_number_value(value);
	return json_is_integer(value) || (json_is_real(value) && *ret == floor(*ret));
}

static int read_int(const struct reader *r, const json_t *value) {
	double number = 0;
	if (!whole_number(value, &number)) {
		return wrong_type(r, "a whole number");
	}
	if (number < r->param->min || number > r->param->max) {
		return out_of_range(r, r->param->min, r->param->max);
	}
	if (r->param->kind == CUA_PARAM_INT) {
		*(int32_t *)field_of(r) = (int32_t)number;
	} else if (r->param->kind == CUA_PARAM_UINT) {
		*(uint32_t *)field_of(r) = (uint32_t)number;
	} else {
		*(uint64_t *)field_of(r) = (uint64_t)number;
	}
	set_present(r);
	return 0;
}

static int read_real(const struct reader *r, const json_t *value) {
	double number = json_number_value(value);
	if (!json_is_number(value)) {
		return wrong_type(r, "a number");
	}
	if (!(number >= r->param->min && number <= r->param->max)) {
		return out_of_range(r, r->param->min, r->param->max);
	}
	*(double *)field_of(r) = number;
	set_present(r);
	return 0;
}

static int read_bool(const struct reader *r, const json_t *value) {
	if (!json_is_boolean(value)) {
		return wrong_type(r, "true or false");
	}
	*(bool *)field_of(r) = json_is_true(value);
	set_present(r);
	return 0;
}

static int one_int(const struct reader *r, const json_t *value, double min, int32_t *ret) {
	double number = 0;
	if (!whole_number(value, &number)) {
		return wrong_type(r, "made of whole numbers");
	}
	if (number < min || number > CUA_SCREEN_MAX_W) {
		return out_of_range(r, min, CUA_SCREEN_MAX_W);
	}
	*ret = (int32_t)number;
	return 0;
}

/* {width,height}, where [w,h] would do too. */
static int read_size_object(const struct reader *r, const json_t *value) {
	static const char *const keys[] = {"width", "height"};
	int32_t *to = field_of(r);
	for (size_t i = 0; i < CUA_COUNT(keys); i++) {
		int n = one_int(r, json_object_get(value, keys[i]), r->param->min, &to[i]);
		if (n < 0) {
			return n;
		}
	}
	if (json_object_size(value) != CUA_COUNT(keys)) {
		return wrong_type(r, "{width,height} and nothing else");
	}
	set_count(r, CUA_COUNT(keys));
	return 0;
}

static int read_ints(const struct reader *r, const json_t *value) {
	size_t count = (size_t)r->param->max;
	if (json_is_object(value) && count == 2) {
		return read_size_object(r, value);
	}
	if (!json_is_array(value) || json_array_size(value) != count) {
		char expected[40];
		(void)snprintf(expected, sizeof(expected), "a list of %zu whole numbers", count);
		return wrong_type(r, expected);
	}
	int32_t *to = field_of(r);
	for (size_t i = 0; i < count; i++) {
		int n = one_int(r, json_array_get(value, i), r->param->min, &to[i]);
		if (n < 0) {
			return n;
		}
	}
	set_count(r, count);
	return 0;
}

static int read_points(const struct reader *r, const json_t *value) {
	size_t count = json_array_size(value);
	if (!json_is_array(value)) {
		return wrong_type(r, "a list of points [x,y]");
	}
	if ((double)count < r->param->min || (double)count > r->param->max) {
		return cua_err_about(r->err, CUA_INVALID, r->param->name,
			"%s has %zu points, not %g to %g", r->param->name, count, r->param->min,
			r->param->max);
	}
	int32_t *to = field_of(r);
	for (size_t i = 0; i < count; i++) {
		const json_t *point = json_array_get(value, i);
		if (json_array_size(point) != 2) {
			return wrong_type(r, "a list of points [x,y]");
		}
		int n = one_int(r, json_array_get(point, 0), -CUA_SCREEN_MAX_W, &to[2 * i]);
		n = n < 0 ? n
			  : one_int(r, json_array_get(point, 1), -CUA_SCREEN_MAX_W, &to[2 * i + 1]);
		if (n < 0) {
			return n;
		}
	}
	set_count(r, 2 * count);
	return 0;
}

/* ---------------------------------------------------------------- strings */

static int check_text(const struct reader *r, const json_t *value, const char *expected) {
	if (!json_is_string(value)) {
		return wrong_type(r, expected);
	}
	if (!cua_utf8_ok(json_string_value(value), json_string_length(value))) {
		return cua_err_about(r->err, CUA_BAD_REQUEST, r->param->name,
			"%s is not UTF-8 without NUL", r->param->name);
	}
	return 0;
}

static int copy_text(const struct reader *r, const json_t *value, char *to) {
	int n = check_text(r, value, "a string");
	if (n < 0) {
		return n;
	}
	size_t len = json_string_length(value);
	if (len >= r->param->item_size) {
		return cua_err_about(r->err, CUA_INVALID, r->param->name,
			"%s is longer than %d bytes", r->param->name, r->param->item_size - 1);
	}
	memcpy(to, json_string_value(value), len + 1);
	return 0;
}

static int read_string(const struct reader *r, const json_t *value) {
	int n = copy_text(r, value, field_of(r));
	if (n < 0) {
		return n;
	}
	if (r->param->required && json_string_length(value) == 0) {
		return cua_err_about(
			r->err, CUA_INVALID, r->param->name, "%s is empty", r->param->name);
	}
	set_present(r);
	return 0;
}

static int read_enum(const struct reader *r, const json_t *value) {
	if (!json_is_string(value)) {
		return wrong_type(r, "a string");
	}
	char known[128] = "";
	for (uint32_t i = 0; r->param->names[i]; i++) {
		if (strcmp(r->param->names[i], json_string_value(value)) == 0) {
			*(uint32_t *)field_of(r) = i;
			set_present(r);
			return 0;
		}
		size_t used = strlen(known);
		(void)snprintf(known + used, sizeof(known) - used, "%s%s", i > 0 ? ", " : "",
			r->param->names[i]);
	}
	return cua_err_about(r->err, CUA_INVALID, r->param->name, "%s is one of %s, not %.40s",
		r->param->name, known, json_string_value(value));
}

static int read_strings(const struct reader *r, const json_t *value) {
	size_t count = json_array_size(value);
	if (!json_is_array(value)) {
		return wrong_type(r, "a list of strings");
	}
	if ((double)count > r->param->max) {
		return cua_err_about(r->err, CUA_INVALID, r->param->name,
			"%s has more than %g items", r->param->name, r->param->max);
	}
	char *to = field_of(r);
	for (size_t i = 0; i < count; i++) {
		int n = copy_text(r, json_array_get(value, i), to + i * r->param->item_size);
		if (n < 0) {
			return n;
		}
	}
	set_count(r, count);
	return 0;
}

static int read_keys(const struct reader *r, const json_t *value) {
	if (json_is_string(value)) {
		int n = copy_text(r, value, field_of(r));
		if (n == 0 && json_string_length(value) == 0) {
			return cua_err_about(
				r->err, CUA_INVALID, r->param->name, "%s is empty", r->param->name);
		}
		set_count(r, n < 0 ? 0 : 1);
		return n;
	}
	if (!json_is_array(value)) {
		return wrong_type(r, "a string or a list of strings");
	}
	if (json_array_size(value) == 0) {
		return cua_err_about(
			r->err, CUA_INVALID, r->param->name, "%s is empty", r->param->name);
	}
	return read_strings(r, value);
}

/* ---------------------------------------------------------------- blobs */

static int read_text(const struct reader *r, const json_t *value) {
	int n = check_text(r, value, "a string");
	if (n < 0) {
		return n;
	}
	size_t len = json_string_length(value);
	if ((double)len > r->param->max) {
		return too_long(r, (size_t)r->param->max);
	}
	char *copy = malloc(len + 1);
	if (!copy) {
		return no_memory(r);
	}
	memcpy(copy, json_string_value(value), len + 1);
	return set_blob(r, copy, len);
}

static int base64_digit(unsigned char c) {
	if (c >= 'A' && c <= 'Z') {
		return c - 'A';
	}
	if (c >= 'a' && c <= 'z') {
		return c - 'a' + 26;
	}
	if (c >= '0' && c <= '9') {
		return c - '0' + 52;
	}
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes canonical base64 with its padding. The length, or -1. */
static ssize_t base64_decode(const char *text, size_t len, uint8_t *to) {
	size_t pad =
		len > 0 && text[len - 1] == '=' ? (len > 1 && text[len - 2] == '=' ? 2 : 1) : 0;
	uint32_t bits = 0;
	size_t out = 0;
	if (len % 4 != 0) {
		return -1;
	}
	for (size_t i = 0; i < len; i++) {
		int digit = i >= len - pad ? 0 : base64_digit((unsigned char)text[i]);
		if (digit < 0) {
			return -1;
		}
		bits = bits << 6 | (uint32_t)digit;
		if (i % 4 == 3) {
			to[out++] = (uint8_t)(bits >> 16);
			to[out++] = (uint8_t)(bits >> 8);
			to[out++] = (uint8_t)bits;
		}
	}
	uint32_t rest = pad == 2 ? bits & 0xffff : pad == 1 ? bits & 0xff : 0;
	return rest != 0 ? -1 : (ssize_t)(out - pad);
}

static int read_data(const struct reader *r, const json_t *value) {
	if (!json_is_string(value)) {
		return wrong_type(r, "a string in base64");
	}
	size_t len = json_string_length(value);
	size_t size = len / 4 * 3;
	if ((double)size > r->param->max + 2) {
		return too_long(r, (size_t)r->param->max);
	}
	uint8_t *data = malloc(size + 1);
	if (!data) {
		return no_memory(r);
	}
	ssize_t n = base64_decode(json_string_value(value), len, data);
	if (n < 0) {
		free(data);
		return wrong_type(r, "base64 (RFC 4648, with padding)");
	}
	if ((double)n > r->param->max) {
		free(data);
		return too_long(r, (size_t)r->param->max);
	}
	return set_blob(r, data, (size_t)n);
}

/* ---------------------------------------------------------------- lists of strings as blobs */

struct list {
	char *data;
	size_t len;
	size_t size;
};

static int list_add(const struct reader *r, struct list *list, const char *text, size_t len) {
	if (len >= CUA_ARG_BYTES || list->len + len + 1 > CUA_ARGV_BYTES) {
		return too_long(r, len >= CUA_ARG_BYTES ? CUA_ARG_BYTES - 1 : CUA_ARGV_BYTES);
	}
	if (list->len + len + 1 > list->size) {
		size_t size = list->size > 0 ? list->size : 256;
		while (size < list->len + len + 1) {
			size *= 2;
		}
		char *data = realloc(list->data, size);
		if (!data) {
			return no_memory(r);
		}
		list->data = data;
		list->size = size;
	}
	memcpy(list->data + list->len, text, len);
	list->data[list->len + len] = '\0';
	list->len += len + 1;
	return 0;
}

/* Hands the list over as the parameter's blob, or frees it when it failed. */
static int list_end(const struct reader *r, struct list *list, int result) {
	if (result < 0) {
		free(list->data);
		return result;
	}
	return set_blob(r, list->data, list->len);
}

static int list_json(const struct reader *r, struct list *list, const json_t *value) {
	int n = check_text(r, value, "a string or a list of strings");
	return n < 0 ? n : list_add(r, list, json_string_value(value), json_string_length(value));
}

static int command_words(const struct reader *r, struct list *list, const json_t *value) {
	if (json_is_string(value)) {
		int n = list_add(r, list, "/bin/sh", 7);
		n = n < 0 ? n : list_add(r, list, "-c", 2);
		return n < 0 ? n : list_json(r, list, value);
	}
	int n = 0;
	for (size_t i = 0; i < json_array_size(value) && n == 0; i++) {
		n = list_json(r, list, json_array_get(value, i));
	}
	return n;
}

static int read_command(const struct reader *r, const json_t *value) {
	bool words = json_is_array(value);
	if (!words && !json_is_string(value)) {
		return wrong_type(r, "a string or a list of strings");
	}
	const json_t *first = words ? json_array_get(value, 0) : value;
	if (!first || (json_is_string(first) && json_string_length(first) == 0)) {
		return cua_err_about(
			r->err, CUA_INVALID, r->param->name, "%s is empty", r->param->name);
	}
	if (words && json_array_size(value) > CUA_ARGV_COUNT) {
		return cua_err_about(r->err, CUA_TOO_LARGE, r->param->name,
			"%s has more than %d words", r->param->name, CUA_ARGV_COUNT);
	}
	struct list list = {0};
	return list_end(r, &list, command_words(r, &list, value));
}

static int env_pair(
	const struct reader *r, struct list *list, const char *key, const json_t *value) {
	if (!cua_env_key_ok(key, strlen(key))) {
		return cua_err_about(r->err, CUA_INVALID, r->param->name,
			"%.40s is not the name of a variable", key);
	}
	int n = check_text(r, value, "an object of strings");
	if (n < 0) {
		return n;
	}
	size_t key_len = strlen(key);
	size_t len = key_len + 1 + json_string_length(value);
	_cleanup_free_ char *pair = malloc(len + 1);
	if (!pair) {
		return no_memory(r);
	}
	(void)snprintf(pair, len + 1, "%s=%s", key, json_string_value(value));
	return list_add(r, list, pair, len);
}

static int read_env(const struct reader *r, const json_t *value) {
	if (!json_is_object(value)) {
		return wrong_type(r, "an object of strings");
	}
	struct list list = {0};
	int n = 0;
	for (void *it = json_object_iter((json_t *)(uintptr_t)value); it && n == 0;
		it = json_object_iter_next((json_t *)(uintptr_t)value, it)) {
		n = env_pair(r, &list, json_object_iter_key(it), json_object_iter_value(it));
	}
	return list_end(r, &list, n);
}

/* ---------------------------------------------------------------- kept as JSON by the caller */

static int read_actions(const struct reader *r, const json_t *value) {
	size_t count = json_array_size(value);
	if (!json_is_array(value)) {
		return wrong_type(r, "a list of actions");
	}
	if ((double)count < r->param->min || (double)count > r->param->max) {
		return cua_err_about(r->err, CUA_INVALID, r->param->name,
			"%s has %zu actions, not %g to %g", r->param->name, count, r->param->min,
			r->param->max);
	}
	for (size_t i = 0; i < count; i++) {
		if (!json_is_object(json_array_get(value, i))) {
			return wrong_type(r, "a list of actions {\"action\":NAME, …}");
		}
	}
	return 0;
}

static int read_picture(const struct reader *r, const json_t *value) {
	struct cua_call *scratch = calloc(1, sizeof(*scratch));
	if (!scratch) {
		return no_memory(r);
	}
	int n = cua_picture_from_json(value, scratch, r->err);
	free(scratch);
	return n < 0 ? n : 0;
}

typedef int read_fn(const struct reader *r, const json_t *value);

static read_fn *const readers[] = {
	[CUA_PARAM_INT] = read_int,
	[CUA_PARAM_UINT] = read_int,
	[CUA_PARAM_UINT64] = read_int,
	[CUA_PARAM_REAL] = read_real,
	[CUA_PARAM_BOOL] = read_bool,
	[CUA_PARAM_STRING] = read_string,
	[CUA_PARAM_ENUM] = read_enum,
	[CUA_PARAM_INTS] = read_ints,
	[CUA_PARAM_POINTS] = read_points,
	[CUA_PARAM_KEYS] = read_keys,
	[CUA_PARAM_STRINGS] = read_strings,
	[CUA_PARAM_TEXT] = read_text,
	[CUA_PARAM_DATA] = read_data,
	[CUA_PARAM_COMMAND] = read_command,
	[CUA_PARAM_ENV] = read_env,
	[CUA_PARAM_ACTIONS] = read_actions,
	[CUA_PARAM_PICTURE] = read_picture,
};

/* ---------------------------------------------------------------- near misses */

#define NEAR_MAX 40

static size_t least(size_t a, size_t b) {
	return a < b ? a : b;
}

/* Edit distance of two short words; longer ones are cut. */
static size_t distance(const char *a, const char *b) {
	size_t row[NEAR_MAX + 1];
	size_t len = strnlen(b, NEAR_MAX);
	for (size_t j = 0; j <= len; j++) {
		row[j] = j;
	}
	for (size_t i = 0; i < strnlen(a, NEAR_MAX); i++) {
		size_t corner = row[0];
		row[0] = i + 1;
		for (size_t j = 0; j < len; j++) {
			size_t change = corner + (a[i] != b[j]);
			corner = row[j + 1];
			row[j + 1] = least(change, least(row[j], row[j + 1]) + 1);
		}
	}
	return row[len];
}

static void nearer(
	const char *name, const char *candidate, const char **best, size_t *best_distance) {
	size_t d = distance(name, candidate);
	if (d < *best_distance) {
		*best_distance = d;
		*best = candidate;
	}
}

const char *cua_action_nearest(const char *name) {
	const char *best = "";
	size_t best_distance = SIZE_MAX;
	for (unsigned i = 0; i < CUA_ACTION_MAX_; i++) {
		nearer(name, cua_action_get(i)->name, &best, &best_distance);
	}
	return best;
}

static int unknown_param(const struct cua_action *action, const char *name, struct cua_err *err) {
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;
	size_t common = 0;
	const struct cua_param *input = cua_input_params(&common);
	for (size_t i = 0; i < action->param_count; i++) {
		nearer(name, action->params[i].name, &best, &best_distance);
	}
	for (size_t i = 0; i < common && action->input; i++) {
		nearer(name, input[i].name, &best, &best_distance);
	}
	if (!best) {
		return cua_err_about(err, CUA_BAD_REQUEST, name,
			"%s takes no parameters, not %.40s", action->name, name);
	}
	return cua_err_about(err, CUA_BAD_REQUEST, name,
		"%s has no parameter %.40s; the nearest is %s", action->name, name, best);
}

/* ---------------------------------------------------------------- whole calls */

static int read_params(const json_t *params, bool skip_action, const struct reader *base) {
	json_t *object = (json_t *)(uintptr_t)params;
	for (void *it = json_object_iter(object); it; it = json_object_iter_next(object, it)) {
		const char *name = json_object_iter_key(it);
		if (skip_action && strcmp(name, "action") == 0) {
			continue;
		}
		struct reader r = *base;
		r.param = cua_action_param(base->call->action, name);
		if (!r.param) {
			return unknown_param(base->call->action, name, base->err);
		}
		int n = readers[r.param->kind](&r, json_object_iter_value(it));
		if (n < 0) {
			return n;
		}
	}
	return 0;
}

static bool given(const json_t *params, const char *name) {
	return json_object_get(params, name) != NULL;
}

/* Two optional parameters of which both or neither must be there. */
static int check_point(const json_t *params, const struct cua_action *action, struct cua_err *err) {
	const struct cua_param *x = cua_action_param(action, "x");
	if (!x || x->required || given(params, "x") == given(params, "y")) {
		return 0;
	}
	const char *missing = given(params, "x") ? "y" : "x";
	return cua_err_about(
		err, CUA_BAD_REQUEST, missing, "%s is missing: x and y come together", missing);
}

/* A content that is either text or bytes. */
static int check_content(
	const json_t *params, const struct cua_action *action, struct cua_err *err) {
	if (!cua_action_param(action, "data_b64") ||
		given(params, "text") != given(params, "data_b64")) {
		return 0;
	}
	return cua_err_about(err, CUA_BAD_REQUEST, "text", "give either text or data_b64");
}

static int check_required(
	const json_t *params, const struct cua_action *action, struct cua_err *err) {
	for (size_t i = 0; i < action->param_count; i++) {
		const struct cua_param *param = &action->params[i];
		if (param->required && !given(params, param->name)) {
			return cua_err_about(err, CUA_BAD_REQUEST, param->name,
				"%s needs the parameter %s", action->name, param->name);
		}
	}
	int n = check_point(params, action, err);
	return n < 0 ? n : check_content(params, action, err);
}

static int call_read(const json_t *params, bool skip_action, const struct cua_action *action,
	const struct reader *base) {
	*base->call =
		(struct cua_call){.action = action, .id = (unsigned)cua_action_find(action->name)};
	*base->mem = (struct cua_call_mem){0};
	if (params && !json_is_object(params)) {
		return cua_err_set(base->err, CUA_BAD_REQUEST, "the parameters of %s are an object",
			action->name);
	}
	int r = read_params(params, skip_action, base);
	r = r < 0 ? r : check_required(params, action, base->err);
	if (r < 0) {
		cua_call_mem_done(base->mem);
		base->call->blob_count = 0;
	}
	return r;
}

int cua_call_from_json(const json_t *params, const struct cua_action *action, struct cua_call *ret,
	struct cua_call_mem *mem, struct cua_err *err) {
	const struct reader base = {.call = ret, .mem = mem, .err = err};
	return call_read(params, false, action, &base);
}

int cua_call_from_object(
	const json_t *object, struct cua_call *ret, struct cua_call_mem *mem, struct cua_err *err) {
	*mem = (struct cua_call_mem){0};
	const json_t *name = json_object_get(object, "action");
	if (!json_is_string(name)) {
		return cua_err_about(err, CUA_BAD_REQUEST, "action",
			"an action is an object {\"action\":NAME, …}");
	}
	const char *text = json_string_value(name);
	int id = cua_action_find(text);
	if (id < 0) {
		return cua_err_about(err, CUA_BAD_REQUEST, "action",
			"there is no action %.40s; the nearest is %s", text,
			cua_action_nearest(text));
	}
	const struct reader base = {.call = ret, .mem = mem, .err = err};
	return call_read(object, true, cua_action_get((unsigned)id), &base);
}

int cua_picture_from_json(const json_t *value, struct cua_call *ret, struct cua_err *err) {
	const struct cua_action *screenshot = cua_action_get(CUA_ACTION_SCREENSHOT);
	if (!value || json_is_null(value) || json_is_false(value)) {
		return 0;
	}
	if (!json_is_true(value) && !json_is_object(value)) {
		return cua_err_about(err, CUA_BAD_REQUEST, "screenshot",
			"screenshot is not true, false or an object of screenshot's parameters");
	}
	struct cua_call_mem none;
	int r = cua_call_from_json(
		json_is_object(value) ? value : NULL, screenshot, ret, &none, err);
	return r < 0 ? r : 1;
}
