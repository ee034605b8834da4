/* The host's side of the sessions' network: one constant nftables table with maps keyed by
 * interface, and the gateway address. The only file that includes libnftables. Blocking; op children
 * only (the watch apart). */
#pragma once

#include "server/supervisor/plan.h"

/* Puts the whole in force in one transaction: our table (replacing an older one), the elements of
 * these sessions, the exceptions to the never-list; sets ip_forward and the gateway address on lo.
 * Also what mends the table after a foreign `flush ruleset`. An exception is an IPv4 address or
 * network; one of a single address (without prefix length or /32) opens that address also when it
 * is the host's own. No exception opens the pool. -CUA_INVALID (about "allow") for anything else. */
int firewall_apply(const struct plan_host *host, const struct plan *sessions, size_t count,
	const char (*allow)[20], size_t allow_count, struct cua_err *err) CUA_CHECK;

/* Adds a session's elements, before its interface exists. Again is success; a session without a
 * network has none. */
int firewall_add(
	const struct plan_host *host, const struct plan *plan, struct cua_err *err) CUA_CHECK;

/* Host-side settings of the interface once it exists: no IPv6, strict reverse path. */
int firewall_harden(const struct plan *plan, struct cua_err *err) CUA_CHECK;

/* Removes a session's elements, after its interface is gone, and makes the host forget its
 * connections, so that nothing of them reaches the next session with this address. Not there is
 * success. */
int firewall_remove(
	const struct plan_host *host, const struct plan *plan, struct cua_err *err) CUA_CHECK;

/* Takes the table and the gateway address away (uninstall, down). */
int firewall_clear(const struct plan_host *host, struct cua_err *err) CUA_CHECK;

/* True if our table is there with its rules. */
bool firewall_intact(void);

/* A netlink socket (owned by the caller) that becomes readable on nftables changes; no library.
 * Negative cua_code on failure. */
int firewall_watch_open(struct cua_err *err) CUA_CHECK;

/* Drains the socket. 1 when our table or its rules were deleted by somebody, else 0. Does not block:
 * fit for the supervisor's loop. */
int firewall_watch_read(int fd);
