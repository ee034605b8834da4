/* Waiting until the screen stops changing: quiet for so long, but not longer than so long in all.
 * Any number of waits run side by side. Knows time only; who sees changes tells it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "desktop/loop.h"

struct settle;

/* One wait; embedded in its owner, who leaves the fields alone while it runs. */
struct settle_wait {
	struct settle_wait *next_;
	struct settle_wait *previous_;
	struct settle *settle_;
	uint64_t start_us;
	uint64_t quiet_us;
	uint64_t cap_us;
	void (*fn_)(struct settle_wait *wait, bool settled);
};

/* look(ctx) is called before a wait ends as quiet: it looks at the screen, reports what it finds by
 * settle_changed(), and so may prolong the wait. The caller frees it. NULL on failure. */
struct settle *settle_new(struct loop *loop, loop_fn *look, void *ctx, struct cua_err *err);
/* All waits must have ended. NULL is fine. Returns NULL. */
struct settle *settle_free(struct settle *settle);

/* Begins a wait for quiet_ms without a change, counted from now at the earliest. fn is called once,
 * never before this returns: settled tells whether it was quiet, else max_ms were over. */
void settle_begin(struct settle *settle, struct settle_wait *wait, const uint32_t quiet_max_ms[2],
	void (*fn)(struct settle_wait *wait, bool settled));
/* Ends a wait without a call; fine on one that has ended or is zero. */
void settle_cancel(struct settle_wait *wait);
/* The screen has changed just now. */
void settle_changed(struct settle *settle);
/* True while there is a wait, that is while changes matter. */
bool settle_busy(const struct settle *settle);
