/* The files that make a session's root its own: hostname, hosts, resolv.conf, machine-id. */
#pragma once

#include "server/supervisor/plan.h"

/* Writes them into the mounted root, owned by the container's root, before its first start. No
 * symlink of the tree is followed: -CUA_INVALID (about "template") when a directory on the way is
 * one; a file in the way is replaced. */
int seed_root(const struct plan *plan, struct cua_err *err) CUA_CHECK;
