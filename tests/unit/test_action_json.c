/* Actions in JSON: what is read, what is refused and how, and the schema. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cua/action_json.h"
#include "tests/lib/suite.h"

static struct cua_call call;
static struct cua_call_mem mem;
static struct cua_err err;

/* Reads {"action":NAME, …}; the result of the reader. */
static int read_text(const char *text) {
	json_error_t where;
	json_t *json = json_loads(text, JSON_ALLOW_NUL, &where);
	ck_assert_msg(json != NULL, "%s: %s", text, where.text);
	cua_call_mem_done(&mem);
	err = (struct cua_err){0};
	int r = cua_call_from_object(json, &call, &mem, &err);
	json_decref(json);
	return r;
}

static void good(const char *text) {
	ck_assert_msg(read_text(text) == 0, "%s: %s", text, err.message);
}

/* Refused with this code about this parameter. */
static void bad(const char *text, enum cua_code code, const char *subject) {
	int r = read_text(text);
	ck_assert_msg(r == -(int)code, "%s: %d %s", text, r, err.message);
	ck_assert_msg(strcmp(err.subject, subject) == 0, "%s: about %s", text, err.subject);
	ck_assert_uint_eq(mem.count, 0);
}

static void ck_blob(bool has, uint32_t number, const char *bytes, size_t len) {
	struct cua_span blob = cua_call_blob(&call, has, number);
	ck_assert(has);
	ck_assert_uint_eq(blob.len, len);
	ck_assert_mem_eq(blob.data, bytes, len);
}

START_TEST(numbers) {
	good("{\"action\":\"click\",\"x\":10,\"y\":20.0,\"count\":2,\"button\":\"right\"}");
	ck_assert_int_eq(call.id, CUA_ACTION_CLICK);
	ck_assert_int_eq(call.args.x, 10);
	ck_assert_int_eq(call.args.y, 20);
	ck_assert_uint_eq(call.args.count, 2);
	ck_assert_int_eq(call.args.button, cua_Button_BUTTON_RIGHT);
	ck_assert(call.args.has_x && call.args.has_count && call.args.has_button);
	good("{\"action\":\"click\"}");
	ck_assert(!call.args.has_x && !call.args.has_count);
	bad("{\"action\":\"click\",\"x\":\"10\",\"y\":1}", CUA_BAD_REQUEST, "x");
	bad("{\"action\":\"click\",\"x\":1.5,\"y\":1}", CUA_BAD_REQUEST, "x");
	bad("{\"action\":\"click\",\"x\":null,\"y\":1}", CUA_BAD_REQUEST, "x");
	bad("{\"action\":\"click\",\"x\":99999,\"y\":1}", CUA_OUT_OF_SCREEN, "x");
	bad("{\"action\":\"click\",\"x\":1e300,\"y\":1}", CUA_OUT_OF_SCREEN, "x");
	bad("{\"action\":\"click\",\"count\":4}", CUA_INVALID, "count");
	bad("{\"action\":\"click\",\"button\":\"middel\"}", CUA_INVALID, "button");
	bad("{\"action\":\"click\",\"x\":1}", CUA_BAD_REQUEST, "y");
	bad("{\"action\":\"move\",\"x\":1}", CUA_BAD_REQUEST, "y");
	bad("{\"action\":\"move\",\"x\":1,\"y\":1,\"relative\":1}", CUA_BAD_REQUEST, "relative");
}
END_TEST

START_TEST(unknown_names_tell_the_nearest) {
	bad("{\"action\":\"screenshoot\"}", CUA_BAD_REQUEST, "action");
	ck_assert_ptr_nonnull(strstr(err.message, "screenshot"));
	bad("{\"action\":\"click\",\"buton\":\"left\"}", CUA_BAD_REQUEST, "buton");
	ck_assert_ptr_nonnull(strstr(err.message, "nearest is button"));
	bad("{\"action\":\"click\",\"modifers\":[]}", CUA_BAD_REQUEST, "modifers");
	ck_assert_ptr_nonnull(strstr(err.message, "nearest is modifiers"));
	bad("{\"action\":\"screen_size\",\"x\":1}", CUA_BAD_REQUEST, "x");
	bad("{\"action\":5}", CUA_BAD_REQUEST, "action");
	bad("{}", CUA_BAD_REQUEST, "action");
	bad("[]", CUA_BAD_REQUEST, "action");
	json_t *params = json_pack("{s:s}", "action", "click");
	ck_assert_int_eq(
		cua_call_from_json(params, cua_action_get(CUA_ACTION_CLICK), &call, &mem, &err),
		-CUA_BAD_REQUEST);
	json_decref(params);
	ck_assert_int_eq(
		cua_call_from_json(NULL, cua_action_get(CUA_ACTION_RELEASE_ALL), &call, &mem, &err),
		0);
}
END_TEST

START_TEST(lists) {
	good("{\"action\":\"drag\",\"path\":[[1,2],[3,4],[5,6]]}");
	ck_assert_uint_eq(call.args.path_points_count, 6);
	ck_assert_int_eq(call.args.path_points[5], 6);
	bad("{\"action\":\"drag\",\"path\":[[1,2]]}", CUA_INVALID, "path");
	bad("{\"action\":\"drag\",\"path\":[[1,2],[3]]}", CUA_BAD_REQUEST, "path");
	bad("{\"action\":\"drag\",\"path\":[[1,2],[3,\"x\"]]}", CUA_BAD_REQUEST, "path");
	bad("{\"action\":\"drag\",\"path\":{}}", CUA_BAD_REQUEST, "path");
	good("{\"action\":\"screenshot\",\"region\":[1,2,3,4],\"max\":{\"width\":5,\"height\":6}}");
	ck_assert_uint_eq(call.args.region_count, 4);
	ck_assert_int_eq(call.args.max[1], 6);
	bad("{\"action\":\"screenshot\",\"region\":[1,2,3]}", CUA_BAD_REQUEST, "region");
	bad("{\"action\":\"screenshot\",\"region\":[1,2,3,-4]}", CUA_INVALID, "region");
	good("{\"action\":\"click\",\"space\":[800,600],\"modifiers\":[\"ctrl\",\"shift\"]}");
	ck_assert_str_eq(call.args.modifiers[1], "shift");
	bad("{\"action\":\"click\",\"space\":{\"width\":5}}", CUA_BAD_REQUEST, "space");
	bad("{\"action\":\"click\",\"space\":{\"width\":5,\"height\":6,\"x\":1}}", CUA_BAD_REQUEST,
		"space");
	bad("{\"action\":\"click\",\"modifiers\":\"ctrl\"}", CUA_BAD_REQUEST, "modifiers");
	bad("{\"action\":\"click\",\"modifiers\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\","
	    "\"9\"]}",
		CUA_INVALID, "modifiers");
}
END_TEST

START_TEST(keys) {
	good("{\"action\":\"key\",\"keys\":\"ctrl+shift+t\"}");
	ck_assert_uint_eq(call.args.keys_count, 1);
	good("{\"action\":\"key\",\"keys\":[\"a\",\"U+20AC\"]}");
	ck_assert_uint_eq(call.args.keys_count, 2);
	ck_assert_str_eq(call.args.keys[1], "U+20AC");
	good("{\"action\":\"key_down\",\"key\":\"ctrl\"}");
	bad("{\"action\":\"key_down\",\"key\":[\"a\",\"b\"]}", CUA_INVALID, "key");
	bad("{\"action\":\"key\",\"keys\":[]}", CUA_INVALID, "keys");
	bad("{\"action\":\"key\",\"keys\":\"\"}", CUA_INVALID, "keys");
	bad("{\"action\":\"key\",\"keys\":7}", CUA_BAD_REQUEST, "keys");
	bad("{\"action\":\"key\"}", CUA_BAD_REQUEST, "keys");
}
END_TEST

START_TEST(texts) {
	good("{\"action\":\"type\",\"text\":\"a\\nä€😀\"}");
	ck_blob(call.args.has_text, call.args.text, "a\nä€😀", 11);
	good("{\"action\":\"type\",\"text\":\"\"}");
	bad("{\"action\":\"type\",\"text\":\"a\\u0000b\"}", CUA_BAD_REQUEST, "text");
	bad("{\"action\":\"type\",\"text\":5}", CUA_BAD_REQUEST, "text");
	json_t *json = json_pack("{s:s, s:o}", "action", "type", "text", json_null());
	char *big = malloc(CUA_TEXT_MAX + 2);
	memset(big, 'a', CUA_TEXT_MAX + 1);
	(void)json_object_set_new(json, "text", json_stringn(big, CUA_TEXT_MAX));
	ck_assert_int_eq(cua_call_from_object(json, &call, &mem, &err), 0);
	cua_call_mem_done(&mem);
	(void)json_object_set_new(json, "text", json_stringn(big, CUA_TEXT_MAX + 1));
	ck_assert_int_eq(cua_call_from_object(json, &call, &mem, &err), -CUA_TOO_LARGE);
	json_decref(json);
	free(big);
}
END_TEST

START_TEST(base64) {
	good("{\"action\":\"file_write\",\"path\":\"/a\",\"data_b64\":\"AAEC/w==\"}");
	ck_blob(call.args.has_data, call.args.data, "\0\1\2\xff", 4);
	good("{\"action\":\"file_write\",\"path\":\"/a\",\"data_b64\":\"\"}");
	ck_assert_uint_eq(call.blob[0].len, 0);
	static const char *const wrong[] = {"A", "AA", "AAA", "AA=A",
		"A===", "AA==AA==", "AAB=", "AB==", "AA-_", " AAAA", "AAAA\\n", "===="};
	for (size_t i = 0; i < CUA_COUNT(wrong); i++) {
		char text[128];
		(void)snprintf(text, sizeof(text),
			"{\"action\":\"file_write\",\"path\":\"/a\",\"data_b64\":\"%s\"}",
			wrong[i]);
		bad(text, CUA_BAD_REQUEST, "data_b64");
	}
	bad("{\"action\":\"file_write\",\"path\":\"/a\"}", CUA_BAD_REQUEST, "text");
	bad("{\"action\":\"file_write\",\"path\":\"/a\",\"text\":\"\",\"data_b64\":\"\"}",
		CUA_BAD_REQUEST, "text");
	bad("{\"action\":\"file_write\",\"path\":\"\",\"text\":\"\"}", CUA_INVALID, "path");
}
END_TEST

START_TEST(commands) {
	good("{\"action\":\"exec\",\"command\":\"echo $A\",\"env\":{\"A\":\"1=2\",\"B_2\":\"\"}}");
	ck_blob(call.args.has_command, call.args.command, "/bin/sh\0-c\0echo $A", 19);
	ck_blob(call.args.has_env, call.args.env, "A=1=2\0B_2=", 11);
	good("{\"action\":\"exec\",\"command\":[\"ls\",\"\",\"-l\"],\"stdin\":\"x\"}");
	ck_blob(call.args.has_command, call.args.command, "ls\0\0-l", 7);
	bad("{\"action\":\"exec\",\"command\":\"\"}", CUA_INVALID, "command");
	bad("{\"action\":\"exec\",\"command\":[]}", CUA_INVALID, "command");
	bad("{\"action\":\"exec\",\"command\":[\"\"]}", CUA_INVALID, "command");
	bad("{\"action\":\"exec\",\"command\":[\"a\",5]}", CUA_BAD_REQUEST, "command");
	bad("{\"action\":\"exec\",\"command\":{}}", CUA_BAD_REQUEST, "command");
	bad("{\"action\":\"exec\",\"command\":\"a\",\"env\":{\"A B\":\"\"}}", CUA_INVALID, "env");
	bad("{\"action\":\"exec\",\"command\":\"a\",\"env\":{\"A\":1}}", CUA_BAD_REQUEST, "env");
	bad("{\"action\":\"exec\",\"command\":\"a\",\"env\":[]}", CUA_BAD_REQUEST, "env");
	bad("{\"action\":\"exec\",\"command\":\"a\",\"timeout\":0}", CUA_INVALID, "timeout");
	bad("{\"action\":\"exec\",\"command\":\"a\",\"user\":"
	    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
		CUA_INVALID, "user");
}
END_TEST

START_TEST(pictures_and_batches) {
	good("{\"action\":\"click\",\"screenshot\":true}");
	good("{\"action\":\"click\",\"screenshot\":{\"format\":\"jpeg\",\"quality\":50}}");
	bad("{\"action\":\"click\",\"screenshot\":{\"quality\":500}}", CUA_INVALID, "quality");
	bad("{\"action\":\"click\",\"screenshot\":5}", CUA_BAD_REQUEST, "screenshot");
	ck_assert_int_eq(cua_picture_from_json(json_false(), &call, &err), 0);
	ck_assert_int_eq(cua_picture_from_json(NULL, &call, &err), 0);
	ck_assert_int_eq(cua_picture_from_json(json_true(), &call, &err), 1);
	ck_assert_int_eq(call.id, CUA_ACTION_SCREENSHOT);
	good("{\"action\":\"batch\",\"actions\":[{\"action\":\"click\"}]}");
	bad("{\"action\":\"batch\",\"actions\":[]}", CUA_INVALID, "actions");
	bad("{\"action\":\"batch\",\"actions\":[5]}", CUA_BAD_REQUEST, "actions");
}
END_TEST

START_TEST(every_row_has_a_schema) {
	for (unsigned id = 0; id < CUA_ACTION_MAX_; id++) {
		const struct cua_action *action = cua_action_get(id);
		json_t *schema = cua_action_schema(action);
		ck_assert_msg(schema != NULL, "%s", action->name);
		json_t *properties = json_object_get(schema, "properties");
		size_t common = 0;
		(void)cua_input_params(&common);
		ck_assert_uint_eq(json_object_size(properties),
			action->param_count + (action->input ? common : 0));
		for (size_t i = 0; i < action->param_count; i++) {
			json_t *one = json_object_get(properties, action->params[i].name);
			ck_assert_msg(json_object_get(one, "type") || json_object_get(one, "oneOf"),
				"%s.%s", action->name, action->params[i].name);
			ck_assert_msg(
				!action->params[i].fallback || json_object_get(one, "default"),
				"%s.%s", action->name, action->params[i].name);
		}
		json_decref(schema);
	}
	for (unsigned i = 0; i < CUA_RESULT_MAX_; i++) {
		json_t *shape = cua_result_schema((enum cua_result)i);
		ck_assert_msg(shape != NULL, "%s", cua_result_name((enum cua_result)i));
		json_decref(shape);
	}
}
END_TEST

int main(void) {
	const TTest *const tests[] = {numbers, unknown_names_tell_the_nearest, lists, keys, texts,
		base64, commands, pictures_and_batches, every_row_has_a_schema};
	return suite_run("action_json", tests, CUA_COUNT(tests));
}
