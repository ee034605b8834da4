/* Writes nftables text for sessions and settings of interfaces. The rules themselves are in
 * firewall.nft and never made here; listings are never read back (nft does not print all of what it
 * has taken). */
#include "server/supervisor/firewall.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netfilter.h>
#include <nftables/libnftables.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/parse.h"
#include "server/supervisor/netlink.h"

#define RULES_SIZE 65536
#define TABLE "cuad"

static void put_address(FILE *out, uint32_t a) {
	(void)fprintf(out, "%u.%u.%u.%u", a >> 24, a >> 16 & 0xff, a >> 8 & 0xff, a & 0xff);
}

/* Replaces the first line of libnftables' complaint with ours. */
static int explain(struct nft_ctx *nft, const char *what, struct cua_err *err) {
	const char *text = nft_ctx_get_error_buffer(nft);
	size_t len = text ? strcspn(text, "\n") : 0;
	return cua_err_set(err, CUA_INTERNAL, "cannot %s: %.*s", what, (int)len, text ? text : "");
}

static int run_text(const char *text, const char *what, struct cua_err *err) {
	struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
	if (!nft) {
		return cua_err_errno(err, ENOMEM, "cannot %s", what);
	}
	(void)nft_ctx_buffer_error(nft);
	(void)nft_ctx_buffer_output(nft);
	int r = nft_run_cmd_from_buffer(nft, text) == 0 ? 0 : explain(nft, what, err);
	nft_ctx_free(nft);
	return r;
}

static void put_session(FILE *out, const char *verb, const struct plan *plan) {
	(void)fprintf(out, "%s element inet " TABLE " bind4 { \"%s\" . %s }\n", verb,
		plan->interface, plan->address);
	(void)fprintf(out, "%s element inet " TABLE " class { \"%s\" : goto open }\n", verb,
		plan->interface);
}

/* What the rules have counted for the interface. */
static void put_counted(FILE *out, const char *verb, const struct plan *plan) {
	static const char *const sets[] = {"flows", "questions", "talks"};
	for (size_t i = 0; i < CUA_COUNT(sets); i++) {
		(void)fprintf(out, "%s element inet " TABLE " %s { \"%s\" }\n", verb, sets[i],
			plan->interface);
	}
}

static int put_allowed(FILE *out, const char (*allow)[20], size_t count, struct cua_err *err) {
	for (size_t i = 0; i < count; i++) {
		struct ipv4_network net;
		if (!parse_network(allow[i], &net)) {
			return cua_err_about(err, CUA_INVALID, "allow",
				"'%.20s' is not an IPv4 address or network", allow[i]);
		}
		(void)fprintf(out, "add element inet " TABLE " allow4 { ");
		put_address(out, net.address & ipv4_mask(&net));
		(void)fprintf(out, "/%" PRIu32 " }\n", net.bits);
		if (net.bits == 32) {
			(void)fprintf(out, "add element inet " TABLE " host4 { ");
			put_address(out, net.address);
			(void)fprintf(out, " }\n");
		}
	}
	return 0;
}

/* The file, with what it leaves open, in place of whatever table there is. */
static int put_rules(FILE *out, const struct plan_host *host, struct cua_err *err) {
	char path[PLAN_PATH];
	char gateway[16];
	_cleanup_free_ char *rules = calloc(1, RULES_SIZE);
	(void)snprintf(path, sizeof(path), "%s/firewall.nft", host->data_dir);
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 || !rules ? -errno : fd_read_all(fd, rules, RULES_SIZE - 1);
	if (n <= 0) {
		return cua_err_errno(err, n < 0 ? (int)n : ENODATA, "cannot read %s", path);
	}
	plan_gateway(host, gateway);
	(void)fprintf(out, "define gateway = %s\ndefine pool = ", gateway);
	put_address(out, host->pool);
	(void)fprintf(out, "/%" PRIu32 "\n", host->pool_bits);
	(void)fputs("add table inet " TABLE "\ndelete table inet " TABLE "\n"
		    "add table arp " TABLE "\ndelete table arp " TABLE "\n",
		out);
	(void)fputs(rules, out);
	return 0;
}

static int write_setting(const char *path, const char *value, struct cua_err *err) {
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd_write_all(fd, value, strlen(value));
	return r < 0 ? cua_err_errno(err, r, "cannot write %s", path) : 0;
}

static uint32_t gateway_number(const struct plan_host *host) {
	char text[16];
	struct in_addr in = {0};
	plan_gateway(host, text);
	(void)inet_pton(AF_INET, text, &in);
	return ntohl(in.s_addr);
}

static int prepare_host(const struct plan_host *host, struct cua_err *err) {
	int r = write_setting("/proc/sys/net/ipv4/ip_forward", "1", err);
	if (r < 0) {
		return r;
	}
	r = netlink_address("lo", gateway_number(host), true);
	return r < 0 ? cua_err_errno(err, r, "cannot give the host the gateway address") : 0;
}

int firewall_apply(const struct plan_host *host, const struct plan *sessions, size_t count,
	const char (*allow)[20], size_t allow_count, struct cua_err *err) {
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (!out) {
		return cua_err_errno(err, errno, "cannot write the firewall's rules");
	}
	int r = put_rules(out, host, err);
	r = r < 0 ? r : put_allowed(out, allow, allow_count, err);
	for (size_t i = 0; i < count; i++) {
		if (sessions[i].address[0]) {
			put_session(out, "add", &sessions[i]);
		}
	}
	if (fclose(out) != 0 && r == 0) {
		r = cua_err_errno(err, ENOMEM, "cannot write the firewall's rules");
	}
	r = r < 0 ? r : run_text(text, "load the firewall", err);
	return r < 0 ? r : prepare_host(host, err);
}

static int remove_elements(const struct plan *plan, struct cua_err *err) {
	/* Adding first makes it no error that an element is not there. */
	static const char *const verbs[] = {"add", "delete"};
	char text[1024];
	FILE *out = fmemopen(text, sizeof(text), "w");
	if (!out) {
		return cua_err_errno(err, errno, "cannot remove the session from the firewall");
	}
	for (size_t i = 0; i < CUA_COUNT(verbs); i++) {
		put_session(out, verbs[i], plan);
		put_counted(out, verbs[i], plan);
	}
	(void)fclose(out);
	return run_text(text, "remove the session from the firewall", err);
}

int firewall_add(const struct plan_host *host, const struct plan *plan, struct cua_err *err) {
	char text[512];
	(void)host;
	if (!plan->address[0]) {
		return 0;
	}
	FILE *out = fmemopen(text, sizeof(text), "w");
	if (!out) {
		return cua_err_errno(err, errno, "cannot add the session to the firewall");
	}
	put_session(out, "add", plan);
	(void)fclose(out);
	return run_text(text, "add the session to the firewall", err);
}

static int set_interface(const struct plan *plan, const char *family, const char *key,
	const char *value, struct cua_err *err) {
	char path[128];
	(void)snprintf(
		path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family, plan->interface, key);
	return write_setting(path, value, err);
}

int firewall_harden(const struct plan *plan, struct cua_err *err) {
	if (!plan->address[0]) {
		return 0;
	}
	int r = set_interface(plan, "ipv4", "rp_filter", "1", err);
	r = r < 0 ? r : set_interface(plan, "ipv4", "accept_redirects", "0", err);
	r = r < 0 ? r : set_interface(plan, "ipv4", "send_redirects", "0", err);
	r = r < 0 ? r : set_interface(plan, "ipv4", "accept_source_route", "0", err);
	if (r == 0 && access("/proc/sys/net/ipv6", F_OK) == 0) {
		r = set_interface(plan, "ipv6", "disable_ipv6", "1", err);
	}
	return r;
}

bool firewall_intact(void) {
	return netlink_rules_count(NFPROTO_INET, TABLE, "forward") > 0 &&
	       netlink_rules_count(NFPROTO_INET, TABLE, "input") > 0 &&
	       netlink_rules_count(NFPROTO_INET, TABLE, "raw") > 0 &&
	       netlink_rules_count(NFPROTO_ARP, TABLE, "input") > 0;
}

int firewall_remove(const struct plan_host *host, const struct plan *plan, struct cua_err *err) {
	(void)host;
	if (!plan->address[0]) {
		return 0;
	}
	int r = remove_elements(plan, err);
	if (r < 0 && firewall_intact()) {
		return r;
	}
	struct in_addr in = {0};
	(void)inet_pton(AF_INET, plan->address, &in);
	r = netlink_flows_delete(ntohl(in.s_addr));
	return r < 0 ? cua_err_errno(err, r, "cannot forget the session's connections") : 0;
}

int firewall_clear(const struct plan_host *host, struct cua_err *err) {
	int r = run_text("add table inet " TABLE "\ndelete table inet " TABLE "\n"
			 "add table arp " TABLE "\ndelete table arp " TABLE "\n",
		"remove the firewall", err);
	if (r < 0) {
		return r;
	}
	r = netlink_address("lo", gateway_number(host), false);
	return r < 0 ? cua_err_errno(err, r, "cannot take the gateway address away") : 0;
}

int firewall_watch_open(struct cua_err *err) {
	int fd = netlink_nft_listen();
	return fd < 0 ? cua_err_errno(err, fd, "cannot watch nftables") : fd;
}

int firewall_watch_read(int fd) {
	/* Our own replacing of the table is heard, too: what counts is what is there now. */
	return netlink_nft_heard(fd, TABLE) && !firewall_intact();
}
