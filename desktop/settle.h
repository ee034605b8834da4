/* Waiting until the screen stops changing: quiet for so long, but not longer than so long in all.
 * Any number of waits run side by side. Knows time only; who sees changes tells it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "desktop/loop.h"

struct settle;

struct settle_want {
	uint32_t quiet_ms; /* without a change, counted from the beginning at the earliest */
	uint32_t max_ms;
	/* If nothing has changed since since_us, wait at least so long: a program that is slow to react
	 * is no reason to call a screen quiet. */
	uint32_t first_ms;
	uint64_t since_us;
};

/* One wait; embedded in its owner, who leaves the fields alone while it runs. */
struct settle_wait {
	struct settle_wait *next_;
	struct settle_wait *previous_;
	struct settle *settle_;
	uint64_t start_us;
	struct settle_want want_;
	void (*fn_)(struct settle_wait *wait, bool settled);
};

/* look(ctx) is called before a wait ends as quiet: it looks at the screen, reports what it finds by
 * settle_changed(), and so may prolong the wait. The caller frees it. NULL on failure. */
struct settle *settle_new(struct loop *loop, loop_fn *look, void *ctx, struct cua_err *err);
/* All waits must have ended. NULL is fine. Returns NULL. */
struct settle *settle_free(struct settle *settle);

/* Begins a wait. fn is called once, never before this returns: settled tells whether it was quiet,
 * else max_ms were over. */
void settle_begin(struct settle *settle, struct settle_wait *wait, const struct settle_want *want,
	void (*fn)(struct settle_wait *wait, bool settled));
/* Ends a wait without a call; fine on one that has ended or is zero. */
void settle_cancel(struct settle_wait *wait);
/* When the screen last changed. It may be earlier than was said before: what turns out to be an
 * animation no longer counts. */
void settle_changed(struct settle *settle, uint64_t us);
/* True while there is a wait, that is while changes matter. */
bool settle_busy(const struct settle *settle);
