/* Directory trees on the host that only root writes: make, measure, remove. Symlinks are never
 * followed and other file systems never entered. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cua/err.h"

/* Makes a directory and what is missing above it. */
int tree_make(const char *path, mode_t mode, struct cua_err *err) CUA_CHECK;

/* Removes a tree as a whole; not there is success. */
int tree_remove(const char *path, struct cua_err *err);

/* Bytes on disk, every hard link counted once. */
int tree_size(const char *path, uint64_t *ret_bytes, struct cua_err *err) CUA_CHECK;

/* Writes a file with this content and mode below an existing root, and the directories (0755) that
 * its path lacks. */
int tree_write(const char *root, const char *path, const char *content, mode_t mode,
	struct cua_err *err) CUA_CHECK;
