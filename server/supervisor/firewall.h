/* The host's side of the sessions' network: one constant nftables table with maps keyed by
 * interface, and the gateway address. The only file that includes libnftables. Blocking; op children
 * only. */
#pragma once

#include "server/supervisor/plan.h"

/* Puts the whole in force in one transaction: our table (replacing an older one), the elements of
 * these sessions, the exceptions to the never-list; sets ip_forward and the gateway address on lo.
 * Also what mends the table after a foreign `flush ruleset`. */
int firewall_apply(const struct plan_host *host, const struct plan *sessions, size_t count,
	const char (*allow)[20], size_t allow_count, struct cua_err *err) CUA_CHECK;

/* Adds a session's elements, before its interface exists. Again is success. */
int firewall_add(const struct plan_host *host, const struct plan *plan, struct cua_err *err) CUA_CHECK;

/* Host-side settings of the interface once it exists: no IPv6, strict reverse path. */
int firewall_harden(const struct plan *plan, struct cua_err *err) CUA_CHECK;

/* Removes a session's elements, after its interface is gone. Not there is success. */
int firewall_remove(const struct plan_host *host, const struct plan *plan, struct cua_err *err) CUA_CHECK;

/* Takes the table and the gateway address away (uninstall, down). */
int firewall_clear(const struct plan_host *host, struct cua_err *err) CUA_CHECK;

/* A netlink socket (owned by the caller) that becomes readable on nftables changes; no library. */
int firewall_watch_open(struct cua_err *err) CUA_CHECK;
/* Drains the socket. 1 when our table was deleted by somebody, else 0. */
int firewall_watch_read(int fd);
