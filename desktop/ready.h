/* When a desktop may be called ready: a window manager has announced itself, something is painted,
 * and a pointer motion arrives. Driven by events; after a while it is enough that input works. */
#pragma once

#include "desktop/scene.h"

struct ready;

struct ready_phase {
	const char *name;
	uint32_t us;
};

/* Begins to judge the scene's connection, which must stay attached until ready_free(). done(ctx) is
 * called once from the loop, when it is ready. NULL on failure. */
struct ready *ready_new(struct scene *scene, loop_fn *done, void *ctx, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct ready *ready_free(struct ready *ready);
/* Judges again; to be called each time that the loop is about to wait. */
void ready_pump(struct ready *ready);
/* How long each condition took after the one before it: window manager, painting, input. The number
 * of phases, at most max. */
size_t ready_phases(const struct ready *ready, struct ready_phase *ret, size_t max);
