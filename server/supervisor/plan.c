/* Derives ids, names, addresses and paths of a session from its record. Touches nothing but
 * /etc/subuid and /etc/subgid; everything else is arithmetic. */
#include "server/supervisor/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cua/fdio.h"
#include "cua/ident.h"
#include "cua/parse.h"

#define FIRST_HOST 2u /* slot 1 gets the pool's third usable address: room for one of the host's */
#define POOL_BITS_MIN 8u
#define POOL_BITS_MAX 29u
#define SUBID_SIZE 65536

static uint32_t pool_last(const struct plan_host *host) {
	return host->pool | (0xffffffffu >> host->pool_bits);
}

static uint32_t gateway_of(const struct plan_host *host) {
	uint32_t last = pool_last(host);
	return host->pool_bits <= 24 ? (last & ~0xffu) | 1u : last - 1;
}

static void dotted(uint32_t address, char ret[16]) {
	(void)snprintf(ret, 16, "%u.%u.%u.%u", address >> 24, address >> 16 & 0xff,
		address >> 8 & 0xff, address & 0xff);
}

void plan_gateway(const struct plan_host *host, char ret_address[16]) {
	dotted(gateway_of(host), ret_address);
}

/* First address that no session may have: the gateway, or the broadcast address where the gateway
 * lies below all sessions. */
static uint32_t pool_end(const struct plan_host *host) {
	uint32_t gateway = gateway_of(host);
	return gateway > host->pool + FIRST_HOST ? gateway : pool_last(host);
}

uint32_t plan_slots(const struct plan_host *host) {
	uint32_t ranges = host->id_count / PLAN_IDS_PER_SESSION;
	uint32_t by_ids = ranges > 0 ? ranges - 1 : 0;
	uint32_t by_pool = pool_end(host) - host->pool - FIRST_HOST - 1;
	uint32_t slots = by_ids < by_pool ? by_ids : by_pool;
	/* Workers' uids are in one range, too. */
	return slots < PLAN_IDS_PER_SESSION ? slots : PLAN_IDS_PER_SESSION - 1;
}

static int check_record(const struct plan_record *record, struct cua_err *err) {
	if (!cua_id_ok(record->id)) {
		return cua_err_about(err, CUA_INVALID, "id", "not a session id");
	}
	if (!cua_name_ok(record->name)) {
		return cua_err_about(err, CUA_INVALID, "name", "not a session name");
	}
	if (!cua_name_ok(record->template)) {
		return cua_err_about(err, CUA_INVALID, "template", "not a template name");
	}
	const cua_Limits *l = &record->limits;
	if (!l->has_cpu_milli || !l->has_memory || !l->has_pids || !l->has_disk) {
		return cua_err_about(err, CUA_INVALID, "limits", "all four limits must be set");
	}
	return 0;
}

static void fill_network(const struct plan_host *host, struct plan *plan) {
	uint32_t slot = plan->record.slot;
	(void)snprintf(plan->interface, sizeof(plan->interface), "cs%" PRIu32, slot);
	/* The second digit marks an address as locally administered. */
	(void)snprintf(plan->hwaddr, sizeof(plan->hwaddr), "0a:c5:%02x:%02x:%02x:%02x", slot >> 24,
		slot >> 16 & 0xff, slot >> 8 & 0xff, slot & 0xff);
	plan_gateway(host, plan->gateway);
	if (plan->record.network != cua_Network_NETWORK_NONE) {
		dotted(host->pool + FIRST_HOST + slot, plan->address);
	}
}

static void fill_paths(const struct plan_host *host, struct plan *plan) {
	const char *id = plan->record.id;
	(void)snprintf(plan->state, PLAN_PATH, "%s/sessions/%s", host->state_dir, id);
	(void)snprintf(plan->run, PLAN_PATH, "%s/sessions/%s", host->run_dir, id);
	(void)snprintf(plan->image, PLAN_PATH, "%s/sessions/%s/disk.img", host->state_dir, id);
	(void)snprintf(plan->disk, PLAN_PATH, "%s/sessions/%s/disk", host->run_dir, id);
	(void)snprintf(plan->rootfs, PLAN_PATH, "%s/sessions/%s/rootfs", host->run_dir, id);
	(void)snprintf(plan->x11, PLAN_PATH, "%s/sessions/%s/x11", host->run_dir, id);
	(void)snprintf(plan->link, PLAN_PATH, "%s/sessions/%s/link", host->run_dir, id);
	(void)snprintf(plan->lxcpath, PLAN_PATH, "%s/sessions/%s/lxc", host->run_dir, id);
}

int plan_make(const struct plan_host *host, const struct plan_record *record, struct plan *ret,
	struct cua_err *err) {
	int r = check_record(record, err);
	if (r < 0) {
		return r;
	}
	uint32_t slots = plan_slots(host);
	if (record->slot < 1 || record->slot > slots) {
		return cua_err_about(err, CUA_EXHAUSTED, "sessions",
			"no place %" PRIu32
			": ids and addresses of this host are enough for %" PRIu32 " sessions",
			record->slot, slots);
	}
	*ret = (struct plan){
		.record = *record,
		.id_first = host->id_base + record->slot * PLAN_IDS_PER_SESSION,
		.worker_uid = host->id_base + record->slot,
	};
	fill_network(host, ret);
	fill_paths(host, ret);
	return 0;
}

int plan_host_pool(struct plan_host *host, const char *text, struct cua_err *err) {
	struct ipv4_network pool;
	if (!parse_network(text, &pool) || pool.bits < POOL_BITS_MIN || pool.bits > POOL_BITS_MAX ||
		(pool.address & ~ipv4_mask(&pool)) != 0) {
		return cua_err_about(err, CUA_INVALID, "pool",
			"'%s' is not an IPv4 network of /%u to /%u", text, POOL_BITS_MIN,
			POOL_BITS_MAX);
	}
	host->pool = pool.address;
	host->pool_bits = pool.bits;
	return 0;
}

/* One line "root:BASE:COUNT". */
static bool parse_line(const char *line, uint32_t *ret_base, uint32_t *ret_count) {
	if (strncmp(line, "root:", 5) != 0 && strncmp(line, "0:", 2) != 0) {
		return false;
	}
	const char *at = strchr(line, ':') + 1;
	uint64_t base = 0;
	uint64_t count = 0;
	if (!parse_digits(&at, UINT32_MAX, &base) || base == 0 || *at++ != ':' ||
		!parse_digits(&at, UINT32_MAX - base, &count)) {
		return false;
	}
	*ret_base = (uint32_t)base;
	*ret_count = (uint32_t)count;
	return true;
}

bool plan_ids_parse(const char *text, uint32_t *ret_base, uint32_t *ret_count) {
	uint32_t best_base = 0;
	uint32_t best = 0;
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		uint32_t base = 0;
		uint32_t count = 0;
		if (parse_line(line, &base, &count) && count > best) {
			best = count;
			best_base = base;
		}
	}
	if (best < 2 * PLAN_IDS_PER_SESSION) {
		return false;
	}
	*ret_base = best_base;
	*ret_count = best;
	return true;
}

static int read_ids(
	const char *path, uint32_t *ret_base, uint32_t *ret_count, struct cua_err *err) {
	_cleanup_free_ char *text = calloc(1, SUBID_SIZE);
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!text || fd < 0) {
		return cua_err_errno(err, text ? errno : ENOMEM, "cannot read %s", path);
	}
	ssize_t n = fd_read_all(fd, text, SUBID_SIZE - 1);
	if (n < 0) {
		return cua_err_errno(err, (int)n, "cannot read %s", path);
	}
	if (!plan_ids_parse(text, ret_base, ret_count)) {
		return cua_err_about(err, CUA_EXHAUSTED, "ids",
			"%s has no range of at least %u ids for root; a line such as "
			"root:1000000:655360000 serves",
			path, 2 * PLAN_IDS_PER_SESSION);
	}
	return 0;
}

int plan_host_ids(struct plan_host *host, struct cua_err *err) {
	uint32_t base = 0;
	uint32_t count = 0;
	uint32_t group_base = 0;
	uint32_t group_count = 0;
	int r = read_ids("/etc/subuid", &base, &count, err);
	if (r == 0) {
		r = read_ids("/etc/subgid", &group_base, &group_count, err);
	}
	if (r < 0) {
		return r;
	}
	if (base != group_base || count != group_count) {
		return cua_err_about(err, CUA_INVALID, "ids",
			"root's ranges in /etc/subuid and /etc/subgid differ");
	}
	host->id_base = base;
	host->id_count = count;
	return 0;
}
