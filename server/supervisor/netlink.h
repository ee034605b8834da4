/* The few requests to the kernel's network for which a tool would be too slow: links, addresses,
 * tracked connections, and whether our tables still have their rules. Plain netlink, no library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Deletes an interface by name. 0, also when there is none; else -errno. */
int netlink_link_delete(const char *name);

/* Adds (again is success) or takes away (not there is success) the address, host order, as /32 at
 * an interface. 0 or -errno. */
int netlink_address(const char *interface, uint32_t address, bool add);

/* Forgets every tracked IPv4 connection that this address, host order, began. 0 or -errno. */
int netlink_flows_delete(uint32_t address);

/* Number of rules in a chain of an nftables table; 0 when there is no such table. -errno on failure. */
int netlink_rules_count(uint8_t family, const char *table, const char *chain);

/* A non-blocking socket that hears nftables changes, or -errno. */
int netlink_nft_listen(void);

/* Drains it. 1 when a table, chain or rule of the named table was deleted or messages were lost,
 * else 0. */
int netlink_nft_heard(int fd, const char *table);
