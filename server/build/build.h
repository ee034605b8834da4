/* Builds one template from its recipe with mmdebstrap. */
#pragma once

#include <stdbool.h>

#include "cua/err.h"

struct build {
	const char *name;
	const char *state; /* /var/lib/cuad: templates/ and cache/ are made here */
	const char *const
		*recipes; /* directories with recipes, NULL-terminated; first found wins */
	bool force; /* build also when nothing changed */
};

/* Builds the template and puts it in place, printing progress to standard output. Nothing to do is
 * success, and says so. Needs root. On failure nothing that looks finished is left, an older template
 * stays, and the message says what to do. */
int build_run(const struct build *build, struct cua_err *err) CUA_CHECK;
