/* Users and groups of the container, read from /etc/passwd and /etc/group without the C library's
 * name services: those load plug-ins, which a static program cannot. */
#pragma once

#include <sys/types.h>

#include "cua/err.h"
#include "cua/limits.h"

struct account {
	char name[CUA_USER_SIZE];
	char home[CUA_PATH_SIZE];
	char shell[256];
	uid_t uid;
	gid_t gid;
	gid_t groups[CUA_GROUPS_MAX]; /* the supplementary ones, gid included */
	size_t group_count;
};

/* Looks a user up in `etc`/passwd and `etc`/group (normally "/etc"); "agent" when name is NULL or
 * empty. -CUA_NOT_FOUND (about "user") when there is none. May block on a hostile file system: call
 * it in a child once the container runs. */
int account_find(
	const char *etc, const char *name, struct account *ret, struct cua_err *err) CUA_CHECK;

/* Makes this process run as the account: groups, gid, uid, for good. */
int account_become(const struct account *account, struct cua_err *err) CUA_CHECK;

/* Writes the absolute form of a path as this user means it: "" and "~" are the home, "~/x" and "x"
 * lie below it. -CUA_INVALID (about `subject`) when the result is too long. */
int account_path(const struct account *account, const char *path, const char *subject,
	char ret_path[CUA_PATH_SIZE], struct cua_err *err) CUA_CHECK;

/* The whole of a regular file of at most CUA_ACCOUNT_BYTES as a string; NULL on failure. Never
 * waits on a FIFO. The caller frees it. */
char *account_read_file(const char *path, struct cua_err *err);
