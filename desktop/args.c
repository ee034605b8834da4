/* Parameters against the action table; see the header. */
#include "desktop/args.h"

#include <math.h>
#include <string.h>

#include "cua/ident.h"

/* Where a parameter's value and its presence lie. */
static const void *value_of(const cua_Args *args, const struct cua_param *param) {
	return (const char *)args + param->field;
}

static bool counted(enum cua_param_kind kind) {
	return kind == CUA_PARAM_INTS || kind == CUA_PARAM_POINTS || kind == CUA_PARAM_KEYS ||
	       kind == CUA_PARAM_STRINGS;
}

/* Number of values: of a list, else 1 or 0. */
static size_t count_of(const cua_Args *args, const struct cua_param *param) {
	const char *at = (const char *)args + param->presence;
	if (!counted(param->kind)) {
		bool has = false;
		memcpy(&has, at, sizeof(has));
		return has;
	}
	pb_size_t count = 0;
	memcpy(&count, at, sizeof(count));
	return count;
}

static size_t names_count(const char *const *names) {
	size_t count = 0;
	while (names[count]) {
		count++;
	}
	return count;
}

static int check_range(const struct cua_param *param, double value, struct cua_err *err) {
	if (isnan(value) || value < param->min || value > param->max) {
		return cua_err_about(err, CUA_INVALID, param->name, "%s must be from %g to %g",
			param->name, param->min, param->max);
	}
	return 0;
}

static int check_number(const cua_Args *args, const struct cua_param *param, struct cua_err *err) {
	const void *at = value_of(args, param);
	switch (param->kind) {
	case CUA_PARAM_INT:
		return check_range(param, *(const int32_t *)at, err);
	case CUA_PARAM_UINT:
		return check_range(param, *(const uint32_t *)at, err);
	case CUA_PARAM_UINT64:
		return check_range(param, (double)*(const uint64_t *)at, err);
	case CUA_PARAM_REAL:
		return check_range(param, *(const double *)at, err);
	default:
		return 0;
	}
}

static int check_enum(const cua_Args *args, const struct cua_param *param, struct cua_err *err) {
	uint32_t value = 0;
	memcpy(&value, value_of(args, param), sizeof(value));
	if (value >= names_count(param->names)) {
		return cua_err_about(
			err, CUA_INVALID, param->name, "%s has no value %u", param->name, value);
	}
	return 0;
}

/* The kinds that are lists. */
static int check_list(const cua_Args *args, const struct cua_param *param, struct cua_err *err) {
	size_t count = count_of(args, param);
	size_t max = (size_t)param->max;
	bool right = count <= max;
	if (param->kind == CUA_PARAM_INTS) {
		right = count == max;
	} else if (param->kind == CUA_PARAM_POINTS) {
		right = count % 2 == 0 && count / 2 >= (size_t)param->min && count / 2 <= max;
	}
	if (!right) {
		return cua_err_about(err, CUA_INVALID, param->name,
			"%s has a wrong number of items", param->name);
	}
	const int32_t *items = value_of(args, param);
	for (size_t i = 0; param->kind == CUA_PARAM_INTS && i < count; i++) {
		if (items[i] < param->min) {
			return cua_err_about(err, CUA_INVALID, param->name,
				"%s must be at least %g", param->name, param->min);
		}
	}
	return 0;
}

static int check_text(
	const struct cua_call *call, const struct cua_param *param, struct cua_err *err) {
	uint32_t number = *(const uint32_t *)value_of(&call->args, param);
	struct cua_span text = cua_call_blob(call, true, number);
	if (number >= call->blob_count || !cua_utf8_ok(text.data, text.len)) {
		return cua_err_about(
			err, CUA_INVALID, param->name, "%s is not UTF-8 without NUL", param->name);
	}
	if ((double)text.len > param->max) {
		return cua_err_about(err, CUA_TOO_LARGE, param->name, "%s is longer than %g bytes",
			param->name, param->max);
	}
	return 0;
}

static int check_one(
	const struct cua_call *call, const struct cua_param *param, struct cua_err *err) {
	if (param->kind == CUA_PARAM_PICTURE) {
		return 0; /* kept by cuad */
	}
	if (count_of(&call->args, param) == 0) {
		return param->required ? cua_err_about(err, CUA_INVALID, param->name,
						 "%s is missing", param->name)
				       : 0;
	}
	if (counted(param->kind)) {
		return check_list(&call->args, param, err);
	}
	switch (param->kind) {
	case CUA_PARAM_ENUM:
		return check_enum(&call->args, param, err);
	case CUA_PARAM_TEXT:
		return check_text(call, param, err);
	default:
		return check_number(&call->args, param, err);
	}
}

int args_check(const struct cua_call *call, struct cua_err *err) {
	int r = 0;
	for (size_t i = 0; r == 0 && i < call->action->param_count; i++) {
		r = check_one(call, &call->action->params[i], err);
	}
	size_t count = 0;
	const struct cua_param *common = cua_input_params(&count);
	for (size_t i = 0; r == 0 && call->action->input && i < count; i++) {
		r = check_one(call, &common[i], err);
	}
	return r;
}

int args_point(const cua_Args *args, const int screen[2], const int32_t point[2], int ret[2],
	struct cua_err *err) {
	static const char *const names[2] = {"x", "y"};
	for (int i = 0; i < 2; i++) {
		int64_t size = args->space_count == 2 ? args->space[i] : screen[i];
		if (size < 1 || point[i] < 0 || point[i] >= size) {
			return cua_err_about(err, CUA_OUT_OF_SCREEN, names[i],
				"%s is %d, but must be from 0 to %d", names[i], point[i],
				(int)size - 1);
		}
		/* The middle of the picture's pixel. */
		ret[i] = (int)((2 * (int64_t)point[i] + 1) * screen[i] / (2 * size));
	}
	return 0;
}

void args_step(const cua_Args *args, const int screen[2], const int32_t step[2], int ret[2]) {
	for (int i = 0; i < 2; i++) {
		int64_t size =
			args->space_count == 2 && args->space[i] > 0 ? args->space[i] : screen[i];
		ret[i] = (int)((int64_t)step[i] * screen[i] / size);
	}
}
