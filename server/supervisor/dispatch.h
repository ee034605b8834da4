/* What cuad may ask of root: one row per request, checked before the function sees it. */
#pragma once

#include "server/supervisor/supervisor.h"

/* Handles a request of the cuad of that generation. Negative: no honest cuad sends this, kill it.
 * A request that cannot be met is answered with the reason instead. */
int dispatch(struct supervisor *sup, uint32_t generation, struct cua_msg *msg,
	struct cua_err *err) CUA_CHECK;
