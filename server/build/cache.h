/* Downloaded packages, kept between builds as hard links. */
#pragma once

#include "cua/err.h"

/* Links (or, across file systems, copies) every package of one directory into another that has it
 * not; makes the target directory. */
int cache_link(const char *from, const char *to, struct cua_err *err) CUA_CHECK;

/* Marks the packages of a directory that are in `used` as used now, and removes those that no build
 * has used for 30 days. */
void cache_prune(const char *dir, const char *used);

/* Removes every package file in the directory. */
void cache_empty(const char *dir);
