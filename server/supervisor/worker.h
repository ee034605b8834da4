/* The desktop worker of one session, from the supervisor's side: starts it, introduces it to cuad,
 * starts it again when it dies. */
#pragma once

#include <stdbool.h>

#include "server/supervisor/edge.h"
#include "server/supervisor/plan.h"

struct worker;

struct worker_spec {
	struct loop *loop;
	struct cua_msg *scratch;
	const struct plan_host *host; /* outlives the worker */
	const struct plan *plan; /* outlives the worker */
	/* The screen is painted and input works. Called again after each restart. The phases are
	 * checked. */
	void (*on_ready)(void *data, const cua_Phase *phases, size_t count);
	/* The screen has another size, within the plan's bounds; whoever owns the plan notes it there. */
	void (*on_size)(void *data, uint32_t width, uint32_t height);
	/* It died or says that it cannot go on; it is started again by itself. */
	void (*on_trouble)(void *data, const struct cua_err *why);
	/* A fresh E3 for cuad; the callee owns the descriptor. */
	void (*on_link)(void *data, int fd);
	void *data;
};

/* Starts the worker; the session's x11 directory must exist. What fails is told by on_trouble. */
struct worker *worker_new(const struct worker_spec *spec);
/* Makes a new E3 (cuad was restarted): on_link is called, now or when the worker is ready. */
void worker_relink(struct worker *worker);
bool worker_is_ready(const struct worker *worker);
/* Kills it. NULL is fine. Returns NULL. */
struct worker *worker_free(struct worker *worker);
