/* What liblxc is told about a session, as a list of keys and values. Pure but for looking at what
 * the host has (cgroup files, devices, lxcfs, AppArmor); does not include liblxc. */
#pragma once

#include <stddef.h>

#include "server/supervisor/plan.h"

struct lxcconf_item {
	const char *key;
	const char *value;
};

struct lxcconf {
	struct lxcconf_item *items;
	size_t count;
	char *text; /* holds all keys and values */
};

/* Makes the list in the order in which liblxc wants it. Freed by lxcconf_done(). */
int lxcconf_make(const struct plan_host *host, const struct plan *plan, struct lxcconf *ret,
	struct cua_err *err) CUA_CHECK;

/* Frees the list; also of a zeroed one. */
void lxcconf_done(struct lxcconf *conf);
