/* Asks the host's apt whether packages exist at all, so that a misspelt name fails at once. */
#pragma once

#include "server/build/recipe.h"

/* 0 when the host's apt knows every package of the chain; -CUA_INVALID (about "package") names the
 * first that it does not. */
int known_packages(const struct recipe_chain *chain, struct cua_err *err) CUA_CHECK;
