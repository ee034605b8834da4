/* Directories of ours on the host: made with exact owner and mode, removed without ever following a
 * symlink or crossing into another mount. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cua/err.h"

/* Makes one directory, or gives an existing one this owner and mode. -CUA_CONFLICT when something
 * else is there, a symlink included. */
int tree_make(const char *path, mode_t mode, uid_t uid, gid_t gid, struct cua_err *err) CUA_CHECK;

/* Makes a directory and those above it, 0755 root, that do not exist. */
int tree_make_all(const char *path, struct cua_err *err) CUA_CHECK;

/* Removes a directory with everything below. Not there is success. Fails at a mount point. */
int tree_remove(const char *path, struct cua_err *err) CUA_CHECK;

/* True if something is mounted at the path itself. */
bool tree_is_mount(const char *path);

/* Unmounts whatever is mounted at the path, in layers; lazily when it is busy. Nothing is success. */
int tree_unmount(const char *path, struct cua_err *err) CUA_CHECK;
