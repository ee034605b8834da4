/* Session specs: what is taken, what is refused and how the refusal names the key. */
#include <string.h>

#include "server/front/spec.h"
#include "tests/lib/suite.h"

static const struct spec_screens screens = {{1280, 800}, {1920, 1200}};

static struct spec read_good(const char *text) {
	struct spec spec;
	struct cua_err err = {0};
	json_t *json = json_loads(text, 0, NULL);
	ck_assert_msg(json != NULL, "%s", text);
	int r = spec_read(json, &screens, &spec, &err);
	ck_assert_msg(r == 0, "%s: %s", text, err.message);
	json_decref(json);
	return spec;
}

START_TEST(an_empty_spec_has_the_defaults) {
	struct spec spec = read_good("{}");
	ck_assert_uint_eq(spec.screen.width, 1280);
	ck_assert_uint_eq(spec.screen.height, 800);
	ck_assert_uint_eq(spec.screen.dpi, 96);
	ck_assert_uint_eq(spec.screen.max_width, 1920);
	ck_assert_uint_eq(spec.screen.max_height, 1200);
	ck_assert_int_eq(spec.network, cua_Network_NETWORK_OPEN);
	ck_assert(!spec.limits.has_memory && !spec.limits.has_cpu_milli);
	ck_assert(spec.name[0] == '\0' && !spec.labels && !spec.command && !spec.env);
	spec_done(&spec);
}
END_TEST

START_TEST(a_full_spec_is_read) {
	struct spec spec = read_good(
		"{\"name\":\"task-12\",\"title\":\"Fix \\u00fc\",\"template\":\"desktop\","
		"\"screen\":\"2560x1440@120\",\"labels\":{\"team\":\"web\"},"
		"\"command\":\"firefox\",\"env\":{\"LANG\":\"C.UTF-8\"},"
		"\"limits\":{\"cpus\":0.5,\"memory\":\"1.5G\",\"pids\":2048,\"disk\":\"10G\"},"
		"\"ttl\":\"8h\",\"idle\":\"30m\",\"on_end\":\"remove\",\"gpu\":\"none\","
		"\"network\":\"none\",\"mounts\":[]}");
	ck_assert_str_eq(spec.name, "task-12");
	ck_assert_str_eq(spec.template, "desktop");
	ck_assert_uint_eq(spec.screen.width, 2560);
	ck_assert_uint_eq(spec.screen.dpi, 120);
	ck_assert_uint_eq(spec.screen.max_width, 2560);
	ck_assert_uint_eq(spec.screen.max_height, 1440);
	ck_assert_uint_eq(spec.limits.cpu_milli, 500);
	ck_assert_uint_eq(spec.limits.memory, 3ull << 29);
	ck_assert_uint_eq(spec.limits.disk, 10ull << 30);
	ck_assert_uint_eq(spec.limits.pids, 2048);
	ck_assert_uint_eq(spec.ttl_ms, 8ull * 3600 * 1000);
	ck_assert_uint_eq(spec.idle_ms, 30 * 60 * 1000);
	ck_assert_uint_eq(json_array_size(spec.command), 3);
	ck_assert_str_eq(json_string_value(json_array_get(spec.command, 2)), "firefox");
	spec_done(&spec);
}
END_TEST

struct bad {
	const char *text;
	enum cua_code code;
	const char *subject;
};

static const struct bad bad_specs[] = {
	{"[]", CUA_BAD_REQUEST, ""},
	{"{\"colour\":1}", CUA_BAD_REQUEST, "colour"},
	{"{\"limits\":{\"cpu\":1}}", CUA_BAD_REQUEST, "limits.cpu"},
	{"{\"limits\":1}", CUA_BAD_REQUEST, "limits"},
	{"{\"limits\":{\"cpus\":\"2\"}}", CUA_BAD_REQUEST, "limits.cpus"},
	{"{\"limits\":{\"cpus\":0.001}}", CUA_INVALID, "limits.cpus"},
	{"{\"limits\":{\"cpus\":1e30}}", CUA_INVALID, "limits.cpus"},
	{"{\"limits\":{\"memory\":\"4X\"}}", CUA_INVALID, "limits.memory"},
	{"{\"limits\":{\"memory\":\"1K\"}}", CUA_INVALID, "limits.memory"},
	{"{\"limits\":{\"memory\":-5}}", CUA_BAD_REQUEST, "limits.memory"},
	{"{\"limits\":{\"pids\":1}}", CUA_INVALID, "limits.pids"},
	{"{\"limits\":{\"pids\":-1}}", CUA_INVALID, "limits.pids"},
	{"{\"name\":\"-a\"}", CUA_INVALID, "name"},
	{"{\"name\":7}", CUA_BAD_REQUEST, "name"},
	{"{\"name\":\"a23456789012345678901234567890123\"}", CUA_INVALID, "name"},
	{"{\"template\":\"../x\"}", CUA_INVALID, "template"},
	{"{\"screen\":\"1280\"}", CUA_INVALID, "screen"},
	{"{\"screen\":\"1280x800@\"}", CUA_INVALID, "screen"},
	{"{\"screen\":\"1280x800@9\"}", CUA_INVALID, "screen"},
	{"{\"screen\":\"100x100\"}", CUA_INVALID, "screen"},
	{"{\"screen\":\"99999x99999\"}", CUA_INVALID, "screen"},
	{"{\"screen\":\"1920x1080\",\"screen_max\":\"1280x800\"}", CUA_INVALID, "screen"},
	{"{\"screen_max\":\"1280x800@96\"}", CUA_INVALID, "screen_max"},
	{"{\"ttl\":\"8\"}", CUA_INVALID, "ttl"},
	{"{\"ttl\":\"8 h\"}", CUA_INVALID, "ttl"},
	{"{\"ttl\":0}", CUA_INVALID, "ttl"},
	{"{\"ttl\":\"9999999d\"}", CUA_INVALID, "ttl"},
	{"{\"idle\":true}", CUA_BAD_REQUEST, "idle"},
	{"{\"labels\":[]}", CUA_BAD_REQUEST, "labels"},
	{"{\"labels\":{\"a\":1}}", CUA_BAD_REQUEST, "labels"},
	{"{\"labels\":{\"a\":null}}", CUA_BAD_REQUEST, "labels"},
	{"{\"labels\":{\"\":\"x\"}}", CUA_INVALID, "labels"},
	{"{\"env\":{\"A=B\":\"x\"}}", CUA_INVALID, "env"},
	{"{\"env\":{\"A\":1}}", CUA_BAD_REQUEST, "env"},
	{"{\"command\":[]}", CUA_INVALID, "command"},
	{"{\"command\":\"\"}", CUA_BAD_REQUEST, "command"},
	{"{\"command\":[\"\"]}", CUA_INVALID, "command"},
	{"{\"command\":[1]}", CUA_BAD_REQUEST, "command"},
	{"{\"on_end\":\"stop\"}", CUA_INVALID, "on_end"},
	{"{\"gpu\":\"any\"}", CUA_INVALID, "gpu"},
	{"{\"gpu\":[0]}", CUA_INVALID, "gpu"},
	{"{\"network\":\"closed\"}", CUA_INVALID, "network"},
	{"{\"network\":{\"allow\":[]}}", CUA_INVALID, "network"},
	{"{\"mounts\":[{}]}", CUA_INVALID, "mounts"},
};

START_TEST(bad_specs_name_the_key) {
	for (size_t i = 0; i < CUA_COUNT(bad_specs); i++) {
		const struct bad *bad = &bad_specs[i];
		struct spec spec;
		struct cua_err err = {0};
		json_t *json = json_loads(bad->text, 0, NULL);
		ck_assert_int_eq(spec_read(json, &screens, &spec, &err), -(int)bad->code);
		ck_assert_msg(
			strcmp(err.subject, bad->subject) == 0, "%s: %s", bad->text, err.subject);
		json_decref(json);
	}
}
END_TEST

START_TEST(a_change_takes_few_keys) {
	struct spec spec;
	struct cua_err err = {0};
	json_t *json =
		json_loads("{\"labels\":{\"a\":null,\"b\":\"c\"},\"title\":\"x\",\"ttl\":null,"
			   "\"idle\":\"1m\"}",
			0, NULL);
	ck_assert_int_eq(spec_read_change(json, &spec, &err), 0);
	ck_assert(spec.has_title && spec.has_ttl && spec.has_idle);
	ck_assert_uint_eq(spec.ttl_ms, 0);
	ck_assert_uint_eq(spec.idle_ms, 60000);
	ck_assert_uint_eq(json_object_size(spec.labels), 2);
	spec_done(&spec);
	json_decref(json);
	json = json_loads("{\"name\":\"b\"}", 0, NULL);
	ck_assert_int_eq(spec_read_change(json, &spec, &err), -CUA_INVALID);
	ck_assert_str_eq(err.subject, "name");
	json_decref(json);
	json = json_loads("{\"nonsense\":1}", 0, NULL);
	ck_assert_int_eq(spec_read_change(json, &spec, &err), -CUA_BAD_REQUEST);
	json_decref(json);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {an_empty_spec_has_the_defaults, a_full_spec_is_read,
		bad_specs_name_the_key, a_change_takes_few_keys};
	return suite_run("spec", tests, CUA_COUNT(tests));
}
