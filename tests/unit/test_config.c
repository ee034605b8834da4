/* The configuration file: defaults, every key, and that errors name key and line. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "server/front/config.h"
#include "server/front/units.h"
#include "tests/lib/suite.h"

static struct cua_err err;

static struct config *parse(const char *text) {
	err = (struct cua_err){0};
	return config_parse(text, strlen(text), &err);
}

static void refused(const char *text, const char *subject, const char *part) {
	struct config *config = parse(text);
	ck_assert_msg(config == NULL, "accepted: %s", text);
	ck_assert_msg(strcmp(err.subject, subject) == 0, "%s: about %s: %s", text, err.subject,
		err.message);
	ck_assert_msg(strstr(err.message, part) != NULL, "%s: %s", text, err.message);
}

START_TEST(defaults) {
	static const char *const empty[] = {"", "{}", "# nothing\n", "\n\n"};
	for (size_t i = 0; i < CUA_COUNT(empty); i++) {
		struct config *config = parse(empty[i]);
		ck_assert_msg(config != NULL, "%s", err.message);
		ck_assert_uint_eq(config->listen_count, 1);
		ck_assert_str_eq(config->listen[0].address, "127.0.0.1");
		ck_assert_uint_eq(config->listen[0].port, 7880);
		ck_assert_str_eq(config->pool, "10.213.0.0/16");
		ck_assert_str_eq(config->default_template, "desktop");
		ck_assert_uint_eq(config->limits.cpu_milli, 2000);
		ck_assert_uint_eq(config->limits.memory, 4ull << 30);
		ck_assert_uint_eq(config->limits.pids, 2048);
		ck_assert_uint_eq(config->limits.disk, 10ull << 30);
		char url[CONFIG_URL_SIZE];
		config_base_url(config, url);
		ck_assert_str_eq(url, "http://127.0.0.1:7880");
		ck_assert_ptr_null(config_origins(config)[0]);
		(void)config_free(config);
	}
}
END_TEST

START_TEST(every_key) {
	struct config *config = parse("listen:\n"
				      "  - {address: 127.0.0.1, port: 7880}\n"
				      "  - address: 0.0.0.0\n"
				      "    port: 443\n"
				      "    tls: {cert: /etc/c.pem, key: /etc/k.pem}\n"
				      "  - {address: '::', port: 81, insecure: true}\n"
				      "allow: [192.168.7.0/24, 10.0.0.1/32]\n"
				      "pool: 10.99.0.0/20\n"
				      "max_sessions: 60\n"
				      "limits: {cpus: 0.5, memory: 512M, pids: 100, disk: 1.5G}\n"
				      "memory_reserve: 2G\n"
				      "dns: [9.9.9.9, '2620:fe::fe']\n"
				      "default_template: base\n"
				      "origins: [https://desk.example.org]\n"
				      "screen: 1920x1080\n"
				      "screen_max: 3840x2160\n");
	ck_assert_msg(config != NULL, "%s", err.message);
	ck_assert_uint_eq(config->listen_count, 3);
	ck_assert_str_eq(config->listen[1].tls_key, "/etc/k.pem");
	ck_assert(config->listen[2].insecure);
	ck_assert_str_eq(config->allow[1], "10.0.0.1/32");
	ck_assert_uint_eq(config->limits.cpu_milli, 500);
	ck_assert_uint_eq(config->limits.disk, 3ull << 29);
	ck_assert_uint_eq(config->memory_reserve, 2ull << 30);
	ck_assert_str_eq(config->dns[1], "2620:fe::fe");
	ck_assert_str_eq(config_origins(config)[0], "https://desk.example.org");
	ck_assert_uint_eq(config->screen[1], 1080);
	cua_Config wire;
	config_to_wire(config, &wire);
	ck_assert_uint_eq(wire.listen_count, 3);
	ck_assert_str_eq(wire.listen[1].tls_cert, "/etc/c.pem");
	ck_assert(!wire.listen[0].has_tls_cert && wire.insecure);
	ck_assert_uint_eq(wire.dns_count, 2);
	ck_assert_uint_eq(wire.allow_count, 2);
	ck_assert_uint_eq(wire.max_sessions, 60);
	ck_assert_uint_eq(wire.defaults.pids, 100);
	(void)config_free(config);
}
END_TEST

START_TEST(unknown_keys_name_key_and_line) {
	refused("pool: 10.213.0.0/16\n\nnonsense: 1\n", "nonsense",
		"unknown key nonsense in line 3");
	refused("limits:\n  cpus: 1\n  # memry is not it\n  memry: 4G\n", "memry", "in line 4");
	refused("listen:\n  - address: 127.0.0.1\n    prot: 3\n", "prot", "in line 3");
	refused("listen: [{address: 127.0.0.1, prot: 3}]\n", "prot", "in line 1");
	refused("pool: 10.0.0.0/8\ndns: []\npool: 10.0.0.0/8\n", "pool", "again in line 3");
}
END_TEST

START_TEST(wrong_values_name_key_and_line) {
	refused("\nport: 1\n", "port", "in line 2");
	refused("listen:\n- port: 70000\n", "port", "port in line 2: \"70000\"");
	refused("listen:\n- address: localhost\n", "address", "in line 2");
	refused("listen: [{address: 0.0.0.0}]", "listen", "insecure: true");
	refused("listen: [{address: 127.0.0.1, insecure: maybe}]", "insecure", "true or false");
	refused("listen: [{address: 127.0.0.1, tls: {cert: /c}}]", "key", "whole path");
	refused("listen: [{address: 127.0.0.1, tls: {cert: c, key: /k}}]", "cert", "whole path");
	refused("allow: [192.168.7.1/24]", "allow", "192.168.7.1/24");
	refused("allow: [192.168.7.0]", "allow", "192.168.7.0");
	refused("pool: x", "pool", "network");
	refused("limits: {memory: 4Q}", "memory", "size like 4G");
	refused("limits: {memory: 1M}", "memory", "at least 64M");
	refused("limits: {cpus: -1}", "cpus", "CPUs");
	refused("limits: {pids: 2.5}", "pids", "processes");
	refused("max_sessions: 0", "max_sessions", "from 1");
	refused("default_template: ../x", "default_template", "template");
	refused("screen: 100x100", "screen", "1280x800");
	refused("screen: 4000x2000", "screen", "screen_max");
	refused("origins: [desk.example.org]", "origins", "https://");
	refused("dns: [resolver]", "dns", "addresses");
	refused("pool:\n", "pool", "line 1");
}
END_TEST

START_TEST(not_yaml) {
	static const char *const texts[] = {"- 1", "5", "a: b: c", "listen: 5", "pool: [1]", "{",
		"\tpool: x", "pool: \xff\xfe", "allow: {a: b}", "null"};
	for (size_t i = 0; i < CUA_COUNT(texts); i++) {
		ck_assert_msg(parse(texts[i]) == NULL, "accepted: %s", texts[i]);
		ck_assert_uint_gt(strlen(err.message), 0);
	}
}
END_TEST

START_TEST(printing) {
	static const char *const texts[] = {"max_sessions: 7\n", "nonsense: 7\n"};
	static struct cua_msg msg;
	for (size_t i = 0; i < CUA_COUNT(texts); i++) {
		int file = fd_memfd_sealed(texts[i], strlen(texts[i]), &err);
		ck_assert_int_eq(lseek(file, 0, SEEK_SET), 0);
		int pair[2];
		ck_assert_int_eq(fd_seqpacket_pair(pair, &err), 0);
		ck_assert_int_eq(config_print(file, pair[0], &err), 0);
		ck_assert_int_eq(cua_msg_recv(pair[1], CUA_DIR_CONFIG, &msg, &err), 1);
		ck_assert_uint_eq(msg.body.config.max_sessions, (i == 0 ? 7u : 200u));
		ck_assert_int_eq(msg.body.config.has_error, i == 1);
		cua_msg_done(&msg);
		(void)close(file);
		(void)close(pair[0]);
		(void)close(pair[1]);
	}
}
END_TEST

START_TEST(units) {
	uint64_t value = 0;
	ck_assert(units_size("4G", &value) && value == 4ull << 30);
	ck_assert(units_size("1.5k", &value) && value == 1536);
	ck_assert(units_size("10GiB", &value) && value == 10ull << 30);
	ck_assert(units_duration("8h", &value) && value == 8 * 3600000);
	ck_assert(units_duration("90", &value) && value == 90000);
	ck_assert(units_duration("250ms", &value) && value == 250);
	static const char *const wrong[] = {"", "G", "-1", "4 G", "1e3", "0x10", "1.", ".5", "inf",
		"nan", "99999999999999999999", "4GG"};
	for (size_t i = 0; i < CUA_COUNT(wrong); i++) {
		ck_assert_msg(!units_size(wrong[i], &value), "%s", wrong[i]);
		ck_assert_msg(!units_duration(wrong[i], &value), "%s", wrong[i]);
	}
	uint32_t screen[2];
	ck_assert(units_screen("1280x800", screen) && screen[0] == 1280);
	ck_assert(!units_screen("1280", screen) && !units_screen("1280x", screen));
	ck_assert(!units_screen("1280x800x2", screen) && !units_screen("x800", screen));
	ck_assert(units_network("0.0.0.0/0") && !units_network("10.0.0.0/33"));
}
END_TEST

int main(void) {
	const TTest *const tests[] = {defaults, every_key, unknown_keys_name_key_and_line,
		wrong_values_name_key_and_line, not_yaml, printing, units};
	return suite_run("config", tests, CUA_COUNT(tests));
}
