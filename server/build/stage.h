/* What a recipe adds to the installed packages, laid out as a tree to be copied over the system. */
#pragma once

#include "server/build/recipe.h"

/* Writes the files of the chain, /etc/cuad/services and /etc/cuad/template below dir/stage, and the
 * `run` scripts one after another as dir/script. */
int stage_write(const char *dir, const struct recipe_chain *chain, struct cua_err *err) CUA_CHECK;
