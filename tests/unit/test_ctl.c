/* cuactl without a server: command lines, YAML, the table, help. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "server/ctl/ctl.h"
#include "tests/lib/suite.h"

static const struct option_def defs[] = {{"interactive", 'i', NULL, "."}, {"tty", 't', NULL, "."},
	{"user", 'u', "USER", "."}, {"label", 0, "K=V", "."}};

static int parse(struct args *args, int argc, const char **argv, struct cua_err *err) {
	return args_parse(argc, (char **)(uintptr_t)argv, defs, CUA_COUNT(defs), args, err);
}

START_TEST(args_take_all_forms) {
	const char *argv[] = {
		"id", "-it", "--user=root", "--label", "a=b", "--label=c=d", "-", "--", "ls", "-l"};
	struct args args;
	struct cua_err err;
	ck_assert_int_eq(parse(&args, CUA_COUNT(argv), argv, &err), 0);
	ck_assert(args_has(&args, "interactive") && args_has(&args, "tty"));
	ck_assert_str_eq(args_get(&args, "user"), "root");
	ck_assert_str_eq(args_get(&args, "label"), "c=d");
	ck_assert_uint_eq(args.operand_count, 2);
	ck_assert_str_eq(args.operands[1], "-");
	ck_assert_uint_eq(args.rest_count, 2);
	ck_assert_str_eq(args.rest[1], "-l");
	args_done(&args);
}
END_TEST

START_TEST(args_refuse_what_they_do_not_know) {
	static const char *const bad[] = {"--frob", "-x", "--tty=1", "--user"};
	for (size_t i = 0; i < CUA_COUNT(bad); i++) {
		const char *argv[] = {bad[i]};
		struct args args;
		struct cua_err err;
		ck_assert_int_eq(parse(&args, 1, argv, &err), -CUA_BAD_REQUEST);
		ck_assert_ptr_nonnull(strpbrk(err.message, "-"));
	}
}
END_TEST

static void expect_json(const char *yaml, const char *json) {
	struct cua_err err;
	json_t *got = yaml_to_json(yaml, strlen(yaml), &err);
	ck_assert_msg(got != NULL, "%s: %s", yaml, err.message);
	json_t *want = json_loads(json, JSON_DECODE_ANY, NULL);
	ck_assert_msg(
		json_equal(got, want), "%s became %s", yaml, json_dumps(got, JSON_ENCODE_ANY));
	json_decref(got);
	json_decref(want);
}

START_TEST(yaml_becomes_json) {
	expect_json("name: a\nlimits: {cpus: 2, memory: 4G}\n",
		"{\"name\":\"a\",\"limits\":{\"cpus\":2,\"memory\":\"4G\"}}");
	expect_json("[1, 1.5, true, null, \"1\", 007, ~]", "[1,1.5,true,null,\"1\",\"007\",null]");
	expect_json("[{source: ~/code, target: /w, mode: rw}]",
		"[{\"source\":\"~/code\",\"target\":\"/w\",\"mode\":\"rw\"}]");
	expect_json("any", "\"any\"");
}
END_TEST

START_TEST(yaml_refuses_with_a_line) {
	struct cua_err err;
	const char *broken = "a: 1\nb: [1, 2\nc: 3\n";
	ck_assert_ptr_null(yaml_to_json(broken, strlen(broken), &err));
	ck_assert_ptr_nonnull(strstr(err.message, "line "));
	char deep[256];
	memset(deep, '[', 100);
	memset(deep + 100, ']', 100);
	ck_assert_ptr_null(yaml_to_json(deep, 200, &err));
}
END_TEST

START_TEST(table_is_complete) {
	size_t count = 0;
	const struct command *c = ctl_commands(&count);
	ck_assert_uint_gt(count, 20);
	for (size_t i = 0; i < count; i++) {
		ck_assert(c[i].name && c[i].help && c[i].run);
		for (size_t k = 0; k < c[i].option_count; k++) {
			ck_assert_ptr_nonnull(c[i].options[k].help);
		}
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);
		ck_assert(help_words(out, c[i].name, c[i].sub));
		ck_assert_int_eq(fclose(out), 0);
		ck_assert_ptr_nonnull(strstr(text, c[i].help));
		free(text);
	}
}
END_TEST

START_TEST(url_escape_keeps_only_what_is_safe) {
	char *text = url_escape("a b/ä?&%", false);
	ck_assert_str_eq(text, "a%20b%2F%C3%A4%3F%26%25");
	free(text);
	text = url_escape("a/b", true);
	ck_assert_str_eq(text, "a/b");
	free(text);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {args_take_all_forms, args_refuse_what_they_do_not_know,
		yaml_becomes_json, yaml_refuses_with_a_line, table_is_complete,
		url_escape_keeps_only_what_is_safe};
	return suite_run("ctl", tests, CUA_COUNT(tests));
}
