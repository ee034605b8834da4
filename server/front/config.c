/* The configuration: defaults, the meaning of each key, and its form for the supervisor. The file's
 * syntax is config_yaml.c's. */
#include "server/front/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cua/fdio.h"
#include "cua/ident.h"
#include "cua/parse.h"
#include "server/front/config_yaml.h"
#include "server/front/units.h"

/* What the readers of keys need. */
struct reader {
	const char *text;
	size_t len;
	struct config *config;
	struct cua_err *err;
};

static const struct config defaults = {
	.listen = {{.address = "127.0.0.1", .port = 7880}},
	.listen_count = 1,
	.pool = "10.213.0.0/16",
	.max_sessions = 200,
	.limits = {.has_cpu_milli = true,
		.cpu_milli = 2000,
		.has_memory = true,
		.memory = 4ull << 30,
		.has_pids = true,
		.pids = 2048,
		.has_disk = true,
		.disk = 10ull << 30},
	.memory_reserve = 1ull << 30,
	.default_template = "desktop",
	.screen = {1280, 800},
	.screen_max = {1920, 1200},
};

static int wrong(const struct reader *r, const char *key, const char *value, const char *expected) {
	unsigned line = config_yaml_line(r->text, r->len, key, 1);
	return cua_err_about(r->err, CUA_INVALID, key, "%s in line %u: \"%.60s\" is not %s", key,
		line, value ? value : "", expected);
}

/* ---------------------------------------------------------------- listeners */

static int read_bool(const struct reader *r, const char *key, const char *value, bool *ret) {
	if (!value) {
		return 0;
	}
	*ret = strcmp(value, "true") == 0;
	return *ret || strcmp(value, "false") == 0 ? 0 : wrong(r, key, value, "true or false");
}

static int read_tls(
	const struct reader *r, const struct yaml_tls *tls, struct config_listener *to) {
	if (!tls) {
		return 0;
	}
	if (!tls->cert || tls->cert[0] != '/') {
		return wrong(r, "cert", tls->cert, "the whole path of a file");
	}
	if (!tls->key || tls->key[0] != '/') {
		return wrong(r, "key", tls->key, "the whole path of a file");
	}
	(void)snprintf(to->tls_cert, sizeof(to->tls_cert), "%s", tls->cert);
	(void)snprintf(to->tls_key, sizeof(to->tls_key), "%s", tls->key);
	return 0;
}

static int read_listener(const struct reader *r, const struct yaml_listener *from, bool insecure,
	struct config_listener *to) {
	bool loopback = false;
	uint64_t port = 7880;
	const char *address = from->address ? from->address : "127.0.0.1";
	if (!units_address(address, &loopback)) {
		return wrong(r, "address", address, "an IPv4 or IPv6 address");
	}
	if (from->port && !parse_number(from->port, 1, 65535, &port)) {
		return wrong(r, "port", from->port, "a port from 1 to 65535");
	}
	*to = (struct config_listener){.port = (uint16_t)port, .insecure = insecure};
	(void)snprintf(to->address, sizeof(to->address), "%s", address);
	int n = read_bool(r, "insecure", from->insecure, &to->insecure);
	n = n < 0 ? n : read_tls(r, from->tls, to);
	if (n == 0 && !loopback && to->tls_cert[0] == '\0' && !to->insecure) {
		return cua_err_about(r->err, CUA_INVALID, "listen",
			"address in line %u: listening on %s without tls needs insecure: true",
			config_yaml_line(r->text, r->len, "address", 1), address);
	}
	return n;
}

static int read_listen(const struct reader *r, const struct yaml_config *yaml) {
	bool insecure = false;
	int n = read_bool(r, "insecure", yaml->insecure, &insecure);
	if (!yaml->listen) {
		return n;
	}
	r->config->listen_count = yaml->listen_count;
	for (unsigned i = 0; i < yaml->listen_count && n == 0; i++) {
		n = read_listener(r, &yaml->listen[i], insecure, &r->config->listen[i]);
	}
	return n;
}

/* ---------------------------------------------------------------- the rest */

static int read_size(
	const struct reader *r, const char *key, const char *value, uint64_t min, uint64_t *ret) {
	uint64_t size = 0;
	if (!value) {
		return 0;
	}
	if (!units_size(value, &size) || size < min) {
		char expected[64];
		(void)snprintf(expected, sizeof(expected), "a size like 4G, at least %lluM",
			(unsigned long long)(min >> 20));
		return wrong(r, key, value, expected);
	}
	*ret = size;
	return 0;
}

static int read_limits(const struct reader *r, const struct yaml_limits *from) {
	cua_Limits *to = &r->config->limits;
	if (!from) {
		return 0;
	}
	if (from->cpus &&
		(!units_milli(from->cpus, &to->cpu_milli) || to->cpu_milli < CUA_CPU_MILLI_MIN ||
			to->cpu_milli > CUA_CPU_MILLI_MAX)) {
		return wrong(r, "cpus", from->cpus, "a number of CPUs like 2 or 0.5");
	}
	uint64_t pids = to->pids;
	if (from->pids && !parse_number(from->pids, CUA_PIDS_MIN, CUA_PIDS_MAX, &pids)) {
		return wrong(r, "pids", from->pids, "a number of processes from 32 on");
	}
	to->pids = (uint32_t)pids;
	int n = read_size(r, "memory", from->memory, CUA_MEMORY_MIN, &to->memory);
	return n < 0 ? n : read_size(r, "disk", from->disk, CUA_DISK_MIN, &to->disk);
}

static int read_networks(const struct reader *r, const struct yaml_config *yaml) {
	struct config *config = r->config;
	for (unsigned i = 0; i < yaml->allow_count; i++) {
		if (!units_network(yaml->allow[i])) {
			return wrong(r, "allow", yaml->allow[i],
				"a list of networks like 192.168.7.0/24");
		}
		(void)snprintf(config->allow[i], sizeof(config->allow[i]), "%s", yaml->allow[i]);
	}
	config->allow_count = yaml->allow_count;
	if (yaml->pool) {
		if (!units_network(yaml->pool)) {
			return wrong(r, "pool", yaml->pool, "a network like 10.213.0.0/16");
		}
		(void)snprintf(config->pool, sizeof(config->pool), "%s", yaml->pool);
	}
	for (unsigned i = 0; i < yaml->dns_count; i++) {
		bool loopback = false;
		if (!units_address(yaml->dns[i], &loopback)) {
			return wrong(r, "dns", yaml->dns[i], "a list of addresses");
		}
		(void)snprintf(config->dns[i], sizeof(config->dns[i]), "%s", yaml->dns[i]);
	}
	config->dns_count = yaml->dns_count;
	return 0;
}

/* scheme://host[:port], nothing behind it. */
static bool is_origin(const char *text) {
	const char *host = strstr(text, "://");
	return (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0) && host[3] &&
	       !strpbrk(host + 3, "/?# ");
}

static int read_origins(const struct reader *r, const struct yaml_config *yaml) {
	for (unsigned i = 0; i < yaml->origins_count; i++) {
		if (!is_origin(yaml->origins[i])) {
			return wrong(r, "origins", yaml->origins[i],
				"a list like [https://desk.example.org]");
		}
		char *copy = strdup(yaml->origins[i]);
		if (!copy) {
			return cua_err_set(
				r->err, CUA_EXHAUSTED, "no memory for the configuration");
		}
		r->config->origins[r->config->origin_count++] = copy;
	}
	return 0;
}

static int read_sessions(const struct reader *r, const struct yaml_config *yaml) {
	struct config *config = r->config;
	uint64_t number = config->max_sessions;
	if (yaml->max_sessions && !parse_number(yaml->max_sessions, 1, CUA_SESSIONS_MAX, &number)) {
		return wrong(r, "max_sessions", yaml->max_sessions, "a number from 1 to 1000");
	}
	config->max_sessions = (uint32_t)number;
	if (yaml->default_template) {
		if (!cua_name_ok(yaml->default_template)) {
			return wrong(
				r, "default_template", yaml->default_template, "a template's name");
		}
		(void)snprintf(config->default_template, sizeof(config->default_template), "%s",
			yaml->default_template);
	}
	if (yaml->screen && !units_screen(yaml->screen, config->screen)) {
		return wrong(r, "screen", yaml->screen, "a size like 1280x800, from 320x240 on");
	}
	if (yaml->screen_max && !units_screen(yaml->screen_max, config->screen_max)) {
		return wrong(r, "screen_max", yaml->screen_max, "a size like 1920x1200");
	}
	if (config->screen[0] > config->screen_max[0] ||
		config->screen[1] > config->screen_max[1]) {
		return wrong(r, yaml->screen ? "screen" : "screen_max",
			yaml->screen ? yaml->screen : yaml->screen_max, "within screen_max");
	}
	return read_size(r, "memory_reserve", yaml->memory_reserve, 0, &config->memory_reserve);
}

static int read_all(const struct reader *r, const struct yaml_config *yaml) {
	int n = read_listen(r, yaml);
	n = n < 0 ? n : read_limits(r, yaml->limits);
	n = n < 0 ? n : read_networks(r, yaml);
	n = n < 0 ? n : read_origins(r, yaml);
	return n < 0 ? n : read_sessions(r, yaml);
}

/* ---------------------------------------------------------------- public */

struct config *config_parse(const char *text, size_t len, struct cua_err *err) {
	struct config *config = malloc(sizeof(*config));
	if (!config) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the configuration");
		return NULL;
	}
	*config = defaults;
	struct yaml_config *yaml = NULL;
	int r = config_yaml_load(text, len, &yaml, err);
	if (r == 0 && yaml) {
		const struct reader reader = {
			.text = text, .len = len, .config = config, .err = err};
		r = read_all(&reader, yaml);
	}
	config_yaml_free(yaml);
	return r < 0 ? config_free(config) : config;
}

struct config *config_read(int fd, struct cua_err *err) {
	_cleanup_free_ char *text = malloc(CUA_CONFIG_BYTES + 1);
	if (!text) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the configuration");
		return NULL;
	}
	ssize_t len = fd_read_all(fd, text, CUA_CONFIG_BYTES + 1);
	if (len < 0) {
		(void)cua_err_errno(err, (int)len, "cannot read the configuration");
		return NULL;
	}
	if (len > (ssize_t)CUA_CONFIG_BYTES) {
		(void)cua_err_set(
			err, CUA_TOO_LARGE, "the file is larger than %u bytes", CUA_CONFIG_BYTES);
		return NULL;
	}
	return config_parse(text, (size_t)len, err);
}

struct config *config_free(struct config *config) {
	if (config) {
		for (size_t i = 0; i < config->origin_count; i++) {
			free(config->origins[i]);
		}
		free(config);
	}
	return NULL;
}

const char *const *config_origins(const struct config *config) {
	return (const char *const *)config->origins;
}

void config_base_url(const struct config *config, char ret_url[CONFIG_URL_SIZE]) {
	const struct config *c = config && config->listen_count > 0 ? config : &defaults;
	const struct config_listener *l = &c->listen[0];
	bool v6 = strchr(l->address, ':') != NULL;
	const char *address = strcmp(l->address, "0.0.0.0") == 0 ? "127.0.0.1"
			      : strcmp(l->address, "::") == 0	 ? "::1"
								 : l->address;
	(void)snprintf(ret_url, CONFIG_URL_SIZE, "%s://%s%s%s:%u",
		l->tls_cert[0] ? "https" : "http", v6 ? "[" : "", address, v6 ? "]" : "",
		(unsigned)l->port);
}

static void listeners_to_wire(const struct config *config, cua_Config *ret) {
	ret->listen_count = (pb_size_t)config->listen_count;
	for (size_t i = 0; i < config->listen_count; i++) {
		const struct config_listener *from = &config->listen[i];
		cua_Listener *to = &ret->listen[i];
		to->port = from->port;
		to->has_tls_cert = to->has_tls_key = from->tls_cert[0] != '\0';
		memcpy(to->address, from->address, sizeof(to->address));
		memcpy(to->tls_cert, from->tls_cert, sizeof(to->tls_cert));
		memcpy(to->tls_key, from->tls_key, sizeof(to->tls_key));
		ret->has_insecure = ret->insecure = ret->insecure || from->insecure;
	}
}

void config_to_wire(const struct config *config, cua_Config *ret) {
	*ret = (cua_Config){.max_sessions = config->max_sessions,
		.defaults = config->limits,
		.memory_reserve = config->memory_reserve};
	listeners_to_wire(config, ret);
	memcpy(ret->allow, config->allow, sizeof(ret->allow));
	ret->allow_count = (pb_size_t)config->allow_count;
	memcpy(ret->pool, config->pool, sizeof(ret->pool));
	memcpy(ret->dns, config->dns, sizeof(ret->dns));
	ret->dns_count = (pb_size_t)config->dns_count;
	memcpy(ret->default_template, config->default_template, sizeof(ret->default_template));
}

_Static_assert(sizeof(((cua_Config *)0)->allow) == sizeof(((struct config *)0)->allow), "allow");
_Static_assert(sizeof(((cua_Config *)0)->dns) == sizeof(((struct config *)0)->dns), "dns");

int config_print(int in, int sock, struct cua_err *err) {
	struct cua_err why;
	cua_Config wire = {0};
	struct config *config = config_read(in, &why);
	if (config) {
		config_to_wire(config, &wire);
	} else {
		config_to_wire(&defaults, &wire);
		wire.has_error = true;
		wire.error = cua_error_to_wire(&why);
	}
	(void)config_free(config);
	return cua_msg_send(sock, &(struct cua_out){.type = CUA_MSG_CONFIG, .body = &wire}, err);
}
