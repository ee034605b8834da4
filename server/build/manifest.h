/* A template's manifest: what it was built from, in manifest.json. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cua/limits.h"
#include "server/build/recipe.h"

/* Changes whenever this program builds the same recipe into something different. */
#define MANIFEST_FORMAT 1

struct manifest_recipe {
	char name[CUA_NAME_SIZE];
	char sha256[65];
};

/* What a build was made from; two equal ones need no second build. */
struct manifest_origin {
	struct manifest_recipe recipe[RECIPE_DEPTH]; /* oldest ancestor first */
	size_t recipe_count;
	char arch[32];
	char codename[64];
};

/* Hashes the recipe files of a chain; arch and codename are the caller's to set. */
int manifest_hash(const struct recipe_chain *chain, struct manifest_origin *ret,
	struct cua_err *err) CUA_CHECK;

/* True if dir/manifest.json says that it was built from the same by this version. Any fault of the
 * file means false. */
bool manifest_matches(const char *dir, const struct manifest_origin *origin);

/* Writes dir/manifest.json about dir/rootfs. `seconds` is what the build took so far. */
int manifest_write(const char *dir, const struct recipe *recipe,
	const struct manifest_origin *origin, unsigned seconds, struct cua_err *err) CUA_CHECK;
