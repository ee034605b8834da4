/* The action table as JSON Schema, for OpenAPI and other documents; declared in action_json.h. */
#include "cua/action_json.h"

#include <string.h>

/* ---------------------------------------------------------------- parameters */

static json_t *enum_schema(const struct cua_param *param) {
	json_t *names = json_array();
	for (size_t i = 0; param->names[i]; i++) {
		(void)json_array_append_new(names, json_string(param->names[i]));
	}
	return json_pack("{s:s, s:o}", "type", "string", "enum", names);
}

static json_t *integer_schema(double min, double max) {
	return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)min,
		"maximum", (json_int_t)max);
}

static json_t *list_schema(json_t *items, double min, double max) {
	return json_pack("{s:s, s:o, s:I, s:I}", "type", "array", "items", items, "minItems",
		(json_int_t)min, "maxItems", (json_int_t)max);
}

static json_t *string_schema(double max) {
	return json_pack("{s:s, s:I}", "type", "string", "maxLength", (json_int_t)max);
}

static json_t *ints_schema(const struct cua_param *param) {
	json_t *list =
		list_schema(integer_schema(param->min, CUA_SCREEN_MAX_W), param->max, param->max);
	if (param->max != 2) {
		return list;
	}
	json_t *size = json_pack("{s:s, s:{s:o, s:o}, s:[s, s], s:b}", "type", "object",
		"properties", "width", integer_schema(param->min, CUA_SCREEN_MAX_W), "height",
		integer_schema(param->min, CUA_SCREEN_MAX_W), "required", "width", "height",
		"additionalProperties", 0);
	return json_pack("{s:[o, o]}", "oneOf", list, size);
}

static json_t *text_or_list(double item, double max) {
	return json_pack("{s:[o, o]}", "oneOf", string_schema(item),
		list_schema(string_schema(item), 1, max));
}

static json_t *map_schema(void) {
	return json_pack(
		"{s:s, s:{s:s}}", "type", "object", "additionalProperties", "type", "string");
}

static json_t *picture_schema(void) {
	return json_pack("{s:[{s:s}, o]}", "oneOf", "type", "boolean",
		cua_action_schema(cua_action_get(CUA_ACTION_SCREENSHOT)));
}

static json_t *kind_schema(const struct cua_param *param) {
	switch (param->kind) {
	case CUA_PARAM_INT:
	case CUA_PARAM_UINT:
	case CUA_PARAM_UINT64:
		return integer_schema(param->min, param->max);
	case CUA_PARAM_REAL:
		return json_pack("{s:s, s:f, s:f}", "type", "number", "minimum", param->min,
			"maximum", param->max);
	case CUA_PARAM_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case CUA_PARAM_STRING:
		return string_schema(param->item_size - 1);
	case CUA_PARAM_ENUM:
		return enum_schema(param);
	case CUA_PARAM_INTS:
		return ints_schema(param);
	case CUA_PARAM_POINTS:
		return list_schema(
			list_schema(integer_schema(-CUA_SCREEN_MAX_W, CUA_SCREEN_MAX_W), 2, 2),
			param->min, param->max);
	case CUA_PARAM_KEYS:
		return text_or_list(param->item_size - 1, param->max);
	case CUA_PARAM_STRINGS:
		return list_schema(string_schema(param->item_size - 1), 0, param->max);
	case CUA_PARAM_TEXT:
		return string_schema(param->max);
	case CUA_PARAM_DATA:
		return json_pack("{s:s, s:s}", "type", "string", "contentEncoding", "base64");
	case CUA_PARAM_COMMAND:
		return text_or_list(CUA_ARG_BYTES - 1, CUA_ARGV_COUNT);
	case CUA_PARAM_ENV:
		return map_schema();
	case CUA_PARAM_ACTIONS:
		return list_schema(
			json_pack("{s:s, s:[s]}", "type", "object", "required", "action"),
			param->min, param->max);
	case CUA_PARAM_PICTURE:
		return picture_schema();
	}
	return json_object();
}

static json_t *param_schema(const struct cua_param *param) {
	json_t *schema = kind_schema(param);
	(void)json_object_set_new(schema, "description", json_string(param->help));
	if (param->fallback) {
		json_t *fallback = json_loads(param->fallback, JSON_DECODE_ANY, NULL);
		if (fallback) {
			(void)json_object_set_new(schema, "default", fallback);
		}
	}
	return schema;
}

static void add_params(
	const struct cua_param *params, size_t count, json_t *properties, json_t *required) {
	for (size_t i = 0; i < count; i++) {
		(void)json_object_set_new(properties, params[i].name, param_schema(&params[i]));
		if (params[i].required) {
			(void)json_array_append_new(required, json_string(params[i].name));
		}
	}
}

json_t *cua_action_schema(const struct cua_action *action) {
	json_t *properties = json_object();
	json_t *required = json_array();
	add_params(action->params, action->param_count, properties, required);
	if (action->input) {
		size_t common = 0;
		const struct cua_param *input = cua_input_params(&common);
		add_params(input, common, properties, required);
	}
	return json_pack("{s:s, s:s, s:o, s:o, s:b}", "type", "object", "description", action->help,
		"properties", properties, "required", required, "additionalProperties", 0);
}

/* ---------------------------------------------------------------- results */

#define INT "{\"type\":\"integer\"}"
#define STR "{\"type\":\"string\"}"
#define BOOL "{\"type\":\"boolean\"}"
#define OBJECT(members) "{\"type\":\"object\",\"properties\":{" members "}}"
#define LIST(item) "{\"type\":\"array\",\"items\":" item "}"
#define ENTRY                                                                                      \
	"\"uid\":" INT ",\"gid\":" INT ",\"name_b64\":" STR ",\"name\":" STR ",\"type\":" STR      \
	",\"size\":" INT ",\"mode\":" STR ",\"mtime\":" STR
#define PICTURE                                                                                    \
	"\"mime\":" STR ",\"width\":" INT ",\"height\":" INT ",\"frame\":" INT ",\"data\":" STR    \
	",\"bytes\":" INT ",\"unchanged\":" BOOL

#define NODE                                                                                       \
	"\"id\":" STR ",\"role\":" STR ",\"name\":" STR ",\"value\":" STR                          \
	",\"states\":" LIST(STR) ",\"actions\":" LIST(STR) ",\"bounds\":" LIST(                    \
		INT) ",\"unresponsive\":" BOOL ",\"children_left_out\":" INT

#define EFFECT                                                                                     \
	"\"effect\":{\"enum\":[\"changed\",\"unchanged\",\"unknown\"]},"                           \
	"\"changed\":" LIST(LIST(INT)) ",\"animated\":" LIST(                                      \
		LIST(INT)) ",\"frame\":" INT ",\"released\":" INT ",\"settled\":" BOOL             \
			   ",\"elapsed_ms\":{\"type\":\"number\"},\"screenshot\":" OBJECT(         \
				   PICTURE) ",\"node\":" OBJECT(NODE)
#define NODES(more)                                                                                \
	OBJECT("\"nodes\":" LIST(OBJECT(NODE more)) ",\"truncated\":" BOOL                         \
						    ",\"truncated_by\":" LIST(STR))
#define WINDOW                                                                                     \
	OBJECT("\"id\":" INT ",\"title\":" STR ",\"app\":" STR ",\"pid\":" INT ",\"x\":" INT       \
	       ",\"y\":" INT ",\"width\":" INT ",\"height\":" INT ",\"active\":" BOOL              \
	       ",\"minimized\":" BOOL ",\"maximized\":" BOOL ",\"type\":" STR                      \
	       ",\"frame\":" LIST(INT) ",\"more\":" INT)

static const char *const shapes[CUA_RESULT_MAX_] = {
	[CUA_RESULT_EFFECT] = OBJECT(EFFECT),
	[CUA_RESULT_PICTURE] = OBJECT(PICTURE),
	[CUA_RESULT_WAITED] = OBJECT(
		"\"matched\":{\"enum\":[\"window\",\"text\",\"region_changed\"]},\"window\":" WINDOW
		",\"changed\":" LIST(LIST(INT)) ",\"frame\":" INT
						",\"elapsed_ms\":{\"type\":\"number\"}"),
	[CUA_RESULT_SCREEN] = OBJECT("\"width\":" INT ",\"height\":" INT ",\"dpi\":" INT),
	[CUA_RESULT_CURSOR] = OBJECT("\"x\":" INT ",\"y\":" INT ",\"shape\":" STR),
	[CUA_RESULT_WINDOWS] = LIST(WINDOW),
	[CUA_RESULT_WINDOW] = OBJECT(EFFECT ",\"window\":" WINDOW ",\"closed\":" BOOL),
	[CUA_RESULT_CLIPBOARD] = OBJECT("\"text\":" STR ",\"data_b64\":" STR ",\"empty\":" BOOL),
	[CUA_RESULT_UI_TREE] = NODES(",\"children\":{\"type\":\"array\"}"),
	[CUA_RESULT_UI_NODES] = NODES(""),
	[CUA_RESULT_PID] = OBJECT("\"pid\":" INT),
	[CUA_RESULT_EXEC] =
		OBJECT("\"exit_code\":{\"type\":[\"integer\",\"null\"]},"
		       "\"signal\":{\"type\":[\"integer\",\"null\"]},\"stdout\":" STR
		       ",\"stderr\":" STR ",\"stdout_b64\":" STR ",\"stderr_b64\":" STR
		       ",\"stdout_bytes\":" INT ",\"stderr_bytes\":" INT ",\"stdout_cut_at\":" INT
		       ",\"stderr_cut_at\":" INT ",\"truncated\":" BOOL ",\"timed_out\":" BOOL
		       ",\"duration_ms\":{\"type\":\"number\"}"),
	[CUA_RESULT_FILE_TEXT] =
		OBJECT("\"size\":" INT ",\"eof\":" BOOL ",\"text\":" STR ",\"data_b64\":" STR),
	[CUA_RESULT_FILE_SIZE] = OBJECT("\"size\":" INT),
	[CUA_RESULT_FILE_LIST] = OBJECT("\"entries\":" LIST(OBJECT(ENTRY)) ",\"truncated\":" BOOL),
	[CUA_RESULT_FILE_STAT] = OBJECT(ENTRY),
	[CUA_RESULT_DONE] = OBJECT(""),
	[CUA_RESULT_BATCH] = "{\"type\":\"array\"}",
};

json_t *cua_result_schema(enum cua_result result) {
	return json_loads(result < CUA_RESULT_MAX_ ? shapes[result] : "{}", 0, NULL);
}
