/* The parsers of cuad-init: services file, users and groups, command line. */
#include <check.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "server/init/account.h"
#include "server/init/init.h"
#include "server/init/service_list.h"
#include "server/init/spawn.h"
#include "tests/lib/suite.h"

static struct service_list list;
static struct cua_err err;

static int parse(const char *text) {
	char *copy = strdup(text);
	ck_assert_ptr_nonnull(copy);
	service_list_done(&list);
	return service_list_parse(copy, &list, &err);
}

START_TEST(services_good) {
	ck_assert_int_eq(parse("# comment\n\n"
			       "dbus\troot\twait=/run/dbus/socket,once\tdbus-daemon\t--system\t\n"
			       "wm\tagent\tscreen\topenbox"),
		0);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_str_eq(list.def[0].wait, "/run/dbus/socket");
	ck_assert(list.def[0].once && !list.def[0].screen);
	ck_assert_str_eq(list.def[0].argv[1], "--system");
	ck_assert_str_eq(list.def[0].argv[2], "");
	ck_assert_ptr_null(list.def[0].argv[3]);
	ck_assert(list.def[1].screen && !list.def[1].once && !list.def[1].wait);
	ck_assert_str_eq(list.def[1].user, "agent");
	ck_assert_int_eq(parse(""), 0);
	ck_assert_uint_eq(list.count, 0);
}
END_TEST

START_TEST(services_bad) {
	static const char *const lines[] = {"x", "x\tagent", "x\tagent\t-", "x\tagent\t-\t",
		"Bad\tagent\t-\ttrue", "x\tno user\t-\ttrue", "x\tagent\twhat\ttrue",
		"x\tagent\twait=relative\ttrue", "x\tagent\t\ttrue", "\tagent\t-\ttrue",
		"x\t\t-\ttrue"};
	for (size_t i = 0; i < CUA_COUNT(lines); i++) {
		ck_assert_msg(parse(lines[i]) == 1, "%s", lines[i]);
		ck_assert_uint_eq(list.count, 0);
		ck_assert_ptr_nonnull(strstr(err.message, "line 1"));
	}
	ck_assert_int_eq(parse("bad\nok\tagent\t-\ttrue\nworse\n"), 2);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_ptr_nonnull(strstr(err.message, "line 1"));
}
END_TEST

/* One more than allowed, of services and of arguments. */
START_TEST(services_bounds) {
	char text[8192] = "";
	size_t used = 0;
	for (int i = 0; i <= CUA_SERVICES_MAX; i++) {
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "s%d\tagent\t-\ttrue\n", i);
	}
	ck_assert_int_eq(parse(text), 1);
	ck_assert_uint_eq(list.count, CUA_SERVICES_MAX);
	used = (size_t)snprintf(text, sizeof(text), "s\tagent\t-");
	for (int i = 0; i < CUA_SERVICE_ARGS; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "\ta%d", i);
	}
	ck_assert_int_eq(parse(text), 0);
	ck_assert_str_eq(list.def[0].argv[CUA_SERVICE_ARGS - 1], "a127");
	(void)snprintf(text + used, sizeof(text) - used, "\tx");
	ck_assert_int_eq(parse(text), 1);
}
END_TEST

/* ---------------------------------------------------------------- accounts */

static char etc[64];
static struct account account;

static void put(const char *name, const char *text) {
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/%s", etc, name);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	(void)fclose(file);
}

static void setup_etc(void) {
	(void)snprintf(etc, sizeof(etc), "/tmp/cuad-etc-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(etc));
}

static void teardown_etc(void) {
	static const char *const names[] = {"passwd", "group", ""};
	for (size_t i = 0; i < CUA_COUNT(names); i++) {
		char path[128];
		(void)snprintf(path, sizeof(path), "%s/%s", etc, names[i]);
		(void)remove(path);
	}
}

START_TEST(account_good) {
	put("passwd", "root:x:0:0::/root:/bin/sh\nagent:x:1000:1001:A,B,C:/home/agent:/bin/bash\n"
		      "bare:x:7:7:::\n");
	put("group", "a:x:44:agent\nb:x:45:x,agent\nb2:x:45:agent\nc:x:46:agent2,xagent\n"
		     "bad:x:-1:agent\nworse:x:4294967295:agent\nshort:x:1\nd:x:1001:agent");
	ck_assert_int_eq(account_find(etc, NULL, &account, &err), 0);
	ck_assert_uint_eq(account.uid, 1000);
	ck_assert_uint_eq(account.gid, 1001);
	ck_assert_str_eq(account.shell, "/bin/bash");
	ck_assert_uint_eq(account.group_count, 3);
	ck_assert_uint_eq(account.groups[0], 1001);
	ck_assert_uint_eq(account.groups[1], 44);
	ck_assert_uint_eq(account.groups[2], 45);
	ck_assert_int_eq(account_find(etc, "bare", &account, &err), 0);
	ck_assert_str_eq(account.home, "/");
	ck_assert_str_eq(account.shell, "/bin/sh");
}
END_TEST

START_TEST(account_bad) {
	put("passwd", "one:x:1\ntwo:x:99999999999:1:::\nthree:x: 1:1:::\nfour:x:1:0x1:::\n"
		      "five:x::1:::\nsix:x:1:1:a:b:c:d:e\n:x:0:0:::\n");
	static const char *const names[] = {
		"one", "two", "three", "four", "five", "agent", "../x", "one:x:1", "A"};
	for (size_t i = 0; i < CUA_COUNT(names); i++) {
		ck_assert_int_eq(account_find(etc, names[i], &account, &err), -CUA_NOT_FOUND);
		ck_assert_str_eq(err.subject, "user");
	}
	teardown_etc();
	setup_etc();
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/passwd", etc);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(account_find(etc, "agent", &account, &err), -CUA_INVALID);
	ck_assert_int_eq(remove(path), 0);
	put("passwd", "");
	ck_assert_int_eq(truncate(path, CUA_ACCOUNT_BYTES + 1), 0);
	ck_assert_int_eq(account_find(etc, "agent", &account, &err), -CUA_INVALID);
}
END_TEST

START_TEST(account_group_bound) {
	put("passwd", "agent:x:1000:1000::/home/agent:/bin/bash\n");
	char text[8192];
	size_t used = 0;
	for (int i = 0; i < CUA_GROUPS_MAX * 2; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "g:x:%d:agent\n", i);
	}
	put("group", text);
	ck_assert_int_eq(account_find(etc, "", &account, &err), 0);
	ck_assert_uint_eq(account.group_count, CUA_GROUPS_MAX);
}
END_TEST

START_TEST(paths) {
	static const struct account agent = {.home = "/home/agent"};
	static const char *const cases[][2] = {{"", "/home/agent"}, {"~", "/home/agent"},
		{"~/x", "/home/agent/x"}, {"x/../y", "/home/agent/x/../y"}, {"/x", "/x"},
		{"~x", "/home/agent/~x"}};
	char path[CUA_PATH_SIZE];
	for (size_t i = 0; i < CUA_COUNT(cases); i++) {
		ck_assert_int_eq(account_path(&agent, cases[i][0], "path", path, &err), 0);
		ck_assert_str_eq(path, cases[i][1]);
	}
	char longest[CUA_PATH_SIZE];
	memset(longest, 'x', sizeof(longest));
	longest[CUA_PATH_SIZE - 1] = '\0';
	ck_assert_int_eq(account_path(&agent, longest, "path", path, &err), -CUA_INVALID);
}
END_TEST

/* ---------------------------------------------------------------- command line */

static int options(struct init_options *ret, char *const *more) {
	char *argv[16] = {"cuad-init"};
	int argc = 1;
	for (; more[argc - 1]; argc++) {
		argv[argc] = more[argc - 1];
	}
	optind = 0;
	return init_parse_options(argc, argv, ret, &err);
}

#define OPTIONS(...) ((char *const[]){__VA_ARGS__, NULL})

START_TEST(command_line) {
	struct init_options got;
	ck_assert_int_eq(options(&got, OPTIONS("--screen", "800x600", "--max", "1920x1080", "--dpi",
					       "120", "--link", "/l")),
		0);
	ck_assert_uint_eq(got.max_height, 1080);
	ck_assert_uint_eq(got.dpi, 120);
	ck_assert_str_eq(got.link, "/l");
	ck_assert_int_eq(options(&got, OPTIONS("--screen", "800x600", "--max", "640x480")), 0);
	ck_assert_uint_eq(got.max_width, 800);
	static const char *const sizes[] = {
		"", "800", "800x", "x600", "800x600x", "-1x600", "800x99999", "100x100", "0x0"};
	for (size_t i = 0; i < CUA_COUNT(sizes); i++) {
		char size[16];
		(void)snprintf(size, sizeof(size), "%s", sizes[i]);
		ck_assert_msg(options(&got, OPTIONS("--screen", size)) < 0, "%s", sizes[i]);
	}
	ck_assert_int_lt(options(&got, OPTIONS("--dpi", "9")), 0);
	ck_assert_int_lt(options(&got, OPTIONS("--what")), 0);
	ck_assert_int_lt(options(&got, OPTIONS("word")), 0);
}
END_TEST

START_TEST(environment) {
	static const struct account agent = {
		.name = "agent", .home = "/h", .shell = "/bin/sh", .uid = 5};
	char *const given[] = {"HOME=/other", "X=", NULL};
	char **env = spawn_environment(&agent, given, true, &err);
	ck_assert_ptr_nonnull(env);
	int homes = 0;
	int terms = 0;
	size_t count = 0;
	for (; env[count]; count++) {
		homes += strncmp(env[count], "HOME=", 5) == 0;
		terms += strncmp(env[count], "TERM=", 5) == 0;
	}
	ck_assert_int_eq(homes, 1);
	ck_assert_int_eq(terms, 1);
	ck_assert_str_eq(env[count - 2], "HOME=/other");
	ck_assert_str_eq(env[count - 1], "X=");
	char *const bad[] = {"1X=2", NULL};
	ck_assert_ptr_null(spawn_environment(&agent, bad, false, &err));
	ck_assert_str_eq(err.subject, "env");
}
END_TEST

int main(void) {
	const TTest *const in_plain[] = {
		services_good, services_bad, services_bounds, paths, command_line, environment};
	const TTest *const in_accounts[] = {account_good, account_bad, account_group_bound};
	const struct suite_case cases[] = {
		{.name = "plain", .tests = in_plain, .count = CUA_COUNT(in_plain)},
		{.name = "accounts",
			.setup = setup_etc,
			.teardown = teardown_etc,
			.tests = in_accounts,
			.count = CUA_COUNT(in_accounts)},
	};
	return suite_run_cases("init_parse", cases, CUA_COUNT(cases));
}
