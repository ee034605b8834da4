/* What follows from a session's record, and what liblxc is told about it. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "server/supervisor/lxcconf.h"
#include "server/supervisor/plan.h"
#include "tests/lib/suite.h"

static struct plan_host make_host(const char *pool) {
	struct plan_host host = {
		.state_dir = "/var/lib/cuad",
		.run_dir = "/run/cuad",
		.libexec_dir = "/usr/libexec/cuad",
		.data_dir = "/usr/share/cuad",
		.id_base = 1000000,
		.id_count = 655360000,
	};
	struct cua_err err;
	ck_assert_msg(plan_host_pool(&host, pool, &err) == 0, "%s", err.message);
	return host;
}

static struct plan_record make_record(uint32_t slot) {
	return (struct plan_record){
		.id = "abcdefghij01",
		.name = "task-12",
		.template = "base",
		.slot = slot,
		.screen = {1280, 800, 96, 1920, 1200},
		.limits = {true, 2000, true, 4ull << 30, true, 2048, true, 10ull << 30},
		.network = cua_Network_NETWORK_OPEN,
	};
}

START_TEST(test_derives) {
	struct plan_host host = make_host("10.213.0.0/16");
	struct plan_record record = make_record(1);
	struct plan plan;
	struct cua_err err;
	ck_assert_int_eq(plan_make(&host, &record, &plan, &err), 0);
	ck_assert_str_eq(plan.interface, "cs1");
	ck_assert_str_eq(plan.address, "10.213.0.3");
	ck_assert_str_eq(plan.gateway, "10.213.255.1");
	ck_assert_str_eq(plan.hwaddr, "0a:c5:00:00:00:01");
	ck_assert_uint_eq(plan.id_first, 1065536);
	ck_assert_uint_eq(plan.worker_uid, 1000001);
	ck_assert_str_eq(plan.image, "/var/lib/cuad/sessions/abcdefghij01/disk.img");
	ck_assert_str_eq(plan.rootfs, "/run/cuad/sessions/abcdefghij01/rootfs");
	record.network = cua_Network_NETWORK_NONE;
	ck_assert_int_eq(plan_make(&host, &record, &plan, &err), 0);
	ck_assert_str_eq(plan.address, "");
}
END_TEST

START_TEST(test_refuses) {
	struct plan_host host = make_host("10.213.0.0/16");
	struct plan plan = {.interface = "kept"};
	struct cua_err err;
	struct plan_record wrong[6];
	static const char *const about[] = {
		"id", "name", "template", "limits", "sessions", "sessions"};
	for (size_t i = 0; i < CUA_COUNT(wrong); i++) {
		wrong[i] = make_record(1);
	}
	(void)snprintf(wrong[0].id, sizeof(wrong[0].id), "../../etc/pa");
	(void)snprintf(wrong[1].name, sizeof(wrong[1].name), "a b");
	(void)snprintf(wrong[2].template, sizeof(wrong[2].template), "../x");
	wrong[3].limits.has_disk = false;
	wrong[4].slot = 0;
	wrong[5].slot = 10000;
	for (size_t i = 0; i < CUA_COUNT(wrong); i++) {
		ck_assert_int_lt(plan_make(&host, &wrong[i], &plan, &err), 0);
		ck_assert_str_eq(err.subject, about[i]);
		ck_assert_str_eq(plan.interface, "kept");
	}
}
END_TEST

/* No two slots share an address, and none has the gateway's or one beyond the pool. */
START_TEST(test_pools) {
	static const char *const pools[] = {"10.213.0.0/16", "10.0.0.0/8", "172.16.4.0/24",
		"192.168.7.128/26", "192.168.7.8/29"};
	static const char *const gateways[] = {
		"10.213.255.1", "10.255.255.1", "172.16.4.1", "192.168.7.190", "192.168.7.14"};
	for (size_t i = 0; i < CUA_COUNT(pools); i++) {
		struct plan_host host = make_host(pools[i]);
		struct plan_record record = make_record(plan_slots(&host));
		struct plan plan;
		struct cua_err err;
		char gateway[16];
		plan_gateway(&host, gateway);
		ck_assert_str_eq(gateway, gateways[i]);
		ck_assert_uint_ge(record.slot, 1);
		ck_assert_int_eq(plan_make(&host, &record, &plan, &err), 0);
		ck_assert_str_ne(plan.address, gateway);
		record.slot++;
		ck_assert_int_eq(plan_make(&host, &record, &plan, &err), -CUA_EXHAUSTED);
	}
	static const char *const wrong[] = {"", "10.0.0.0", "10.0.0.1/16", "10.0.0.0/30",
		"10.0.0.0/7", "10.0.0.0/16 ", "10.0.0/16", "::/64", "10.0.0.0/016x"};
	for (size_t i = 0; i < CUA_COUNT(wrong); i++) {
		struct plan_host host;
		struct cua_err err;
		ck_assert_msg(
			plan_host_pool(&host, wrong[i], &err) == -CUA_INVALID, "%s", wrong[i]);
	}
}
END_TEST

START_TEST(test_ids) {
	uint32_t base = 0;
	uint32_t count = 0;
	ck_assert(plan_ids_parse("user:100000:65536\nroot:1000000:655360000\n", &base, &count));
	ck_assert_uint_eq(base, 1000000);
	ck_assert_uint_eq(count, 655360000);
	ck_assert(plan_ids_parse("root:100000:65536\nroot:2000000:131072", &base, &count));
	ck_assert_uint_eq(base, 2000000);
	static const char *const wrong[] = {"", "\n\n", "root:100000:65536\n", "root:0:655360000\n",
		"rooter:1000000:655360000\n", "root:4294900000:655360000\n", "root:x:1\n", "root"};
	for (size_t i = 0; i < CUA_COUNT(wrong); i++) {
		ck_assert_msg(!plan_ids_parse(wrong[i], &base, &count), "%s", wrong[i]);
	}
}
END_TEST

static size_t count_of(const struct lxcconf *conf, const char *key, const char *value) {
	size_t found = 0;
	for (size_t i = 0; i < conf->count; i++) {
		found += strcmp(conf->items[i].key, key) == 0 &&
			 (!value || strcmp(conf->items[i].value, value) == 0);
	}
	return found;
}

START_TEST(test_configuration) {
	struct plan_host host = make_host("10.213.0.0/16");
	struct plan_record record = make_record(7);
	struct plan plan;
	struct lxcconf conf;
	struct cua_err err;
	ck_assert_int_eq(plan_make(&host, &record, &plan, &err), 0);
	ck_assert_int_eq(lxcconf_make(&host, &plan, &conf, &err), 0);
	ck_assert_uint_eq(count_of(&conf, "lxc.idmap", "u 0 1458752 65536"), 1);
	ck_assert_uint_eq(count_of(&conf, "lxc.cgroup.pids.max", "2048"), 1);
	ck_assert_uint_eq(count_of(&conf, "lxc.cgroup2.memory.max", "4294967296"), 1);
	ck_assert_uint_eq(count_of(&conf, "lxc.cgroup2.cpu.max", "200000 100000"), 1);
	ck_assert_uint_eq(count_of(&conf, "lxc.net.0.veth.pair", "cs7"), 1);
	ck_assert_uint_eq(count_of(&conf, "lxc.net.0.ipv4.address", "10.213.0.9/32"), 1);
	/* PID 1 must die with its monitor. */
	ck_assert_uint_eq(count_of(&conf, "lxc.monitor.signal.pdeath", NULL), 0);
	lxcconf_done(&conf);
	plan.address[0] = '\0';
	ck_assert_int_eq(lxcconf_make(&host, &plan, &conf, &err), 0);
	ck_assert_uint_eq(count_of(&conf, "lxc.net.0.type", "empty"), 1);
	ck_assert_uint_eq(count_of(&conf, "lxc.net.0.veth.pair", NULL), 0);
	lxcconf_done(&conf);
	lxcconf_done(&conf);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {
		test_derives, test_refuses, test_pools, test_ids, test_configuration};
	return suite_run("plan", tests, CUA_COUNT(tests));
}
