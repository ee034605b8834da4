/* Validation of names. What passes here is safe in paths, host names, cgroup and interface
 * names: liblxc itself accepts anything. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cua/cleanup.h"
#include "cua/limits.h"

/* A name of a session, template or snapshot: [a-z0-9][a-z0-9-]{0,31}. NULL is not a name. */
bool cua_name_ok(const char *name);
/* An id: exactly 12 of [a-z0-9]. */
bool cua_id_ok(const char *id);
/* A user name as in a container's passwd: [a-z_][a-z0-9_-]{0,31}. */
bool cua_user_ok(const char *user);
/* A key of the environment: [A-Za-z_][A-Za-z0-9_]*, at most 64 characters. */
bool cua_env_key_ok(const char *key, size_t len);
/* True if the bytes are well-formed UTF-8 without NUL. */
bool cua_utf8_ok(const void *data, size_t len);
/* Fills a fresh id from the kernel's random source; aborts if there is none. */
void cua_id_new(char ret_id[CUA_ID_SIZE]);
