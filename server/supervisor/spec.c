/* Checks of requests and configuration; see the header. */
#include "server/supervisor/spec.h"

#include <arpa/inet.h>
#include <inttypes.h>

#include "cua/ident.h"
#include "cua/parse.h"

static int check_range(
	const char *key, uint64_t value, uint64_t min, uint64_t max, struct cua_err *err) {
	if (value < min || value > max) {
		return cua_err_about(err, CUA_INVALID, key,
			"%s is %" PRIu64 ", allowed is %" PRIu64 " to %" PRIu64, key, value, min,
			max);
	}
	return 0;
}

static int check_screen(const cua_Screen *s, struct cua_err *err) {
	int r = check_range("screen_max", s->max_width, CUA_SCREEN_MIN_W, CUA_SCREEN_MAX_W, err);
	if (r == 0) {
		r = check_range(
			"screen_max", s->max_height, CUA_SCREEN_MIN_H, CUA_SCREEN_MAX_H, err);
	}
	if (r == 0) {
		r = check_range("screen", s->width, CUA_SCREEN_MIN_W, s->max_width, err);
	}
	if (r == 0) {
		r = check_range("screen", s->height, CUA_SCREEN_MIN_H, s->max_height, err);
	}
	if (r == 0) {
		r = check_range("dpi", s->dpi, CUA_DPI_MIN, CUA_DPI_MAX, err);
	}
	return r;
}

static int check_limits(const cua_Limits *l, struct cua_err *err) {
	int r = check_range("cpus", l->cpu_milli, CUA_CPU_MILLI_MIN, CUA_CPU_MILLI_MAX, err);
	if (r == 0) {
		r = check_range("memory", l->memory, CUA_MEMORY_MIN, CUA_MEMORY_MAX, err);
	}
	if (r == 0) {
		r = check_range("pids", l->pids, CUA_PIDS_MIN, CUA_PIDS_MAX, err);
	}
	if (r == 0) {
		r = check_range("disk", l->disk, CUA_DISK_MIN, CUA_DISK_MAX, err);
	}
	return r;
}

static cua_Limits limits_merge(const cua_Limits *wanted, const cua_Limits *defaults) {
	return (cua_Limits){
		.has_cpu_milli = true,
		.has_memory = true,
		.has_pids = true,
		.has_disk = true,
		.cpu_milli = wanted->has_cpu_milli ? wanted->cpu_milli : defaults->cpu_milli,
		.memory = wanted->has_memory ? wanted->memory : defaults->memory,
		.pids = wanted->has_pids ? wanted->pids : defaults->pids,
		.disk = wanted->has_disk ? wanted->disk : defaults->disk,
	};
}

static int check_names(const cua_SessionCreate *wanted, struct cua_err *err) {
	if (!cua_id_ok(wanted->id)) {
		return cua_err_about(err, CUA_INVALID, "id", "that is no session id");
	}
	if (!cua_name_ok(wanted->name)) {
		return cua_err_about(err, CUA_INVALID, "name", "a name is [a-z0-9][a-z0-9-]{0,31}");
	}
	if (!cua_name_ok(wanted->template)) {
		return cua_err_about(err, CUA_INVALID, "template",
			"a template's name is [a-z0-9][a-z0-9-]{0,31}");
	}
	/* nanopb lets any number through as an enum. */
	if (wanted->network != cua_Network_NETWORK_NONE &&
		wanted->network != cua_Network_NETWORK_OPEN) {
		return cua_err_about(err, CUA_INVALID, "network", "the network is none or open");
	}
	return 0;
}

int spec_session(const cua_Config *config, const cua_SessionCreate *wanted, struct plan_record *ret,
	struct cua_err *err) {
	int r = check_names(wanted, err);
	if (r == 0) {
		r = check_screen(&wanted->screen, err);
	}
	cua_Limits limits = limits_merge(&wanted->limits, &config->defaults);
	if (r == 0) {
		r = check_limits(&limits, err);
	}
	if (r < 0) {
		return r;
	}
	*ret = (struct plan_record){
		.screen = wanted->screen, .limits = limits, .network = wanted->network};
	(void)snprintf(ret->id, sizeof(ret->id), "%s", wanted->id);
	(void)snprintf(ret->name, sizeof(ret->name), "%s", wanted->name);
	(void)snprintf(ret->template, sizeof(ret->template), "%s", wanted->template);
	return 0;
}

/* ---------------------------------------------------------------- configuration */

/* True for 127.0.0.0/8 and ::1 in text form. */
static bool spec_is_loopback(const char *address) {
	struct in_addr v4;
	struct in6_addr v6;
	if (inet_pton(AF_INET, address, &v4) == 1) {
		return ntohl(v4.s_addr) >> 24 == 127;
	}
	return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static bool is_address(const char *text) {
	struct in6_addr any;
	return inet_pton(AF_INET, text, &any) == 1 || inet_pton(AF_INET6, text, &any) == 1;
}

static int check_listener(const cua_Config *config, const cua_Listener *l, struct cua_err *err) {
	if (!is_address(l->address)) {
		return cua_err_about(
			err, CUA_INVALID, "listen", "%s is not an IP address", l->address);
	}
	int r = check_range("port", l->port, 1, 65535, err);
	if (r < 0) {
		return r;
	}
	bool tls = l->has_tls_cert && l->tls_cert[0] && l->has_tls_key && l->tls_key[0];
	bool insecure = config->has_insecure && config->insecure;
	if (!spec_is_loopback(l->address) && !tls && !insecure) {
		return cua_err_about(err, CUA_FORBIDDEN, "listen",
			"listening on %s without TLS needs `insecure: true`", l->address);
	}
	return 0;
}

static int check_network(const char *text, struct cua_err *err) {
	struct ipv4_network network;
	if (!strchr(text, '/') || !parse_network(text, &network)) {
		return cua_err_set(err, CUA_INVALID, "%s is not a network like 10.0.0.0/16", text);
	}
	if ((network.address & ~ipv4_mask(&network)) != 0) {
		return cua_err_set(err, CUA_INVALID, "%s has bits beyond its prefix", text);
	}
	return 0;
}

static int check_lists(const cua_Config *config, struct cua_err *err) {
	for (size_t i = 0; i < config->listen_count; i++) {
		int r = check_listener(config, &config->listen[i], err);
		if (r < 0) {
			return r;
		}
	}
	for (size_t i = 0; i < config->allow_count; i++) {
		if (check_network(config->allow[i], err) < 0) {
			return cua_err_prefix(err, "allow");
		}
	}
	for (size_t i = 0; i < config->dns_count; i++) {
		if (!is_address(config->dns[i])) {
			return cua_err_about(
				err, CUA_INVALID, "dns", "%s is not an IP address", config->dns[i]);
		}
	}
	return 0;
}

int spec_config(const cua_Config *config, struct plan_host *host, struct cua_err *err) {
	int r = check_lists(config, err);
	if (r == 0) {
		r = check_range("max_sessions", config->max_sessions, 1, CUA_SESSIONS_MAX, err);
	}
	cua_Limits limits = limits_merge(&config->defaults, &(cua_Limits){0});
	if (r == 0) {
		r = check_limits(&limits, err);
	}
	if (r == 0 && !cua_name_ok(config->default_template)) {
		r = cua_err_about(err, CUA_INVALID, "template", "that is no template's name");
	}
	return r == 0 ? plan_host_pool(host, config->pool, err) : r;
}
