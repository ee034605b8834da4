/* Notices when somebody takes our firewall table away (`nft flush ruleset`) and puts it back. */
#pragma once

#include "server/supervisor/supervisor.h"

struct guard;

/* NULL on failure. */
struct guard *guard_new(struct supervisor *sup, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct guard *guard_free(struct guard *guard);
