/* Records on disk: what is written is read again, and nothing but that is. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "server/supervisor/store.h"
#include "tests/lib/suite.h"

static struct plan_record sample(void) {
	return (struct plan_record){.id = "abcdef012345",
		.name = "task-12",
		.template = "desktop",
		.slot = 7,
		.screen = {.width = 1280,
			.height = 800,
			.dpi = 96,
			.max_width = 1920,
			.max_height = 1200},
		.limits = {.has_cpu_milli = true,
			.cpu_milli = 2000,
			.has_memory = true,
			.memory = 1ull << 33,
			.has_pids = true,
			.pids = 512,
			.has_disk = true,
			.disk = 10ull << 30},
		.network = cua_Network_NETWORK_OPEN,
		.created_ms = 1767225600123,
		.complete = true};
}

START_TEST(test_round_trip) {
	const struct plan_record record = sample();
	char text[STORE_TEXT_MAX];
	char again[STORE_TEXT_MAX];
	size_t len = store_format(&record, text, sizeof(text));
	struct plan_record read = {0};
	ck_assert_int_eq(store_parse(text, len, &read, NULL), 0);
	ck_assert_str_eq(read.id, record.id);
	ck_assert_str_eq(read.name, record.name);
	ck_assert_uint_eq(read.limits.memory, record.limits.memory);
	ck_assert_uint_eq(read.created_ms, record.created_ms);
	ck_assert(read.complete && read.limits.has_disk);
	ck_assert_uint_eq(store_format(&read, again, sizeof(again)), len);
	ck_assert_mem_eq(text, again, len);
}
END_TEST

/* Cut anywhere, or with one byte changed anywhere, it is refused or still a plausible record. */
START_TEST(test_damage) {
	const struct plan_record record = sample();
	char text[STORE_TEXT_MAX];
	size_t len = store_format(&record, text, sizeof(text));
	struct plan_record read;
	for (size_t cut = 0; cut + 1 < len; cut++) {
		struct cua_err err;
		ck_assert_int_eq(store_parse(text, cut, &read, &err), -CUA_INVALID);
	}
	for (size_t i = 0; i < len; i++) {
		for (int byte = 0; byte < 256; byte += 5) {
			char old = text[i];
			text[i] = (char)byte;
			if (store_parse(text, len, &read, NULL) == 0) {
				ck_assert_uint_gt(read.slot, 0);
				ck_assert_uint_le(read.slot, CUA_SESSIONS_MAX);
			}
			text[i] = old;
		}
	}
}
END_TEST

static void expect_refused(const char *from, const char *to) {
	const struct plan_record record = sample();
	char text[STORE_TEXT_MAX];
	char changed[2 * STORE_TEXT_MAX];
	(void)store_format(&record, text, sizeof(text));
	const char *at = strstr(text, from);
	ck_assert_ptr_nonnull(at);
	int n = snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, to,
		at + strlen(from));
	struct plan_record read;
	ck_assert_msg(store_parse(changed, (size_t)n, &read, NULL) == -CUA_INVALID, "%s", to);
}

START_TEST(test_lies) {
	expect_refused("cuad-session 1", "cuad-session 2");
	expect_refused("slot=7", "slot=0");
	expect_refused("slot=7", "slot=4000");
	expect_refused("slot=7", "slot=-7");
	expect_refused("slot=7", "slot=7x");
	expect_refused("slot=7", "slot=");
	expect_refused("slot=7\n", "slot=7\nslot=7\n");
	expect_refused("slot=7\n", "slot=7\nextra=1\n");
	expect_refused("slot=7\n", "");
	expect_refused("name=task-12", "name=../../etc");
	expect_refused("id=abcdef012345", "id=abcdef01234");
	expect_refused("network=1", "network=9");
	expect_refused("complete=1", "complete=2");
	expect_refused("memory=8589934592", "memory=99999999999999999999");
}
END_TEST

START_TEST(test_files) {
	struct plan_host host = {0};
	(void)snprintf(host.state_dir, sizeof(host.state_dir), "/tmp/cuad-store-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(host.state_dir));
	struct cua_err err;
	ck_assert_int_eq(store_open(&host, &err), 0);
	struct plan_record record = sample();
	struct plan_record read;
	ck_assert_int_eq(store_read(&host, record.id, &read, &err), -CUA_NOT_FOUND);
	record.complete = false;
	ck_assert_int_eq(store_write(&host, &record, &err), 0);
	record.complete = true;
	ck_assert_int_eq(store_write(&host, &record, &err), 0);
	ck_assert_int_eq(store_read(&host, record.id, &read, &err), 0);
	ck_assert(read.complete);
	char path[600];
	struct stat st;
	(void)snprintf(path, sizeof(path), "%s/sessions/%s/record", host.state_dir, record.id);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	/* Another session's record in this place is damage. */
	char other[600];
	(void)snprintf(other, sizeof(other), "%s/sessions/zzzzzzzzzzzz", host.state_dir);
	ck_assert_int_eq(mkdir(other, 0700), 0);
	(void)snprintf(other, sizeof(other), "%s/sessions/zzzzzzzzzzzz/record", host.state_dir);
	ck_assert_int_eq(rename(path, other), 0);
	ck_assert_int_eq(store_read(&host, "zzzzzzzzzzzz", &read, &err), -CUA_INVALID);
	_cleanup_free_ char(*ids)[CUA_ID_SIZE] = NULL;
	ck_assert_int_eq(store_list(&host, &ids, &err), 2);
	(void)remove(other);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/sessions/%s", host.state_dir, ids[i]);
		(void)remove(path);
	}
	(void)snprintf(path, sizeof(path), "%s/sessions", host.state_dir);
	(void)remove(path);
	(void)snprintf(path, sizeof(path), "%s/templates", host.state_dir);
	(void)remove(path);
	ck_assert_int_eq(remove(host.state_dir), 0);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {test_round_trip, test_damage, test_lies, test_files};
	return suite_run("store", tests, CUA_COUNT(tests));
}
