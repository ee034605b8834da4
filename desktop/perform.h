/* Performs actions: a table from the action's id to its function, and the jobs under way. Input
 * actions run one at a time in the order in which they came; all others run side by side. */
#pragma once

#include "cua/action.h"
#include "desktop/pool.h"
#include "desktop/scene.h"
#include "desktop/watchdog.h"

struct perform;

/* Bytes that go with an answer. */
struct perform_blob {
	struct cua_span bytes; /* empty without any */
	const int *memfd; /* NULL, or a sealed memfd with the same bytes */
};

/* Receives each answer; valid during the call. picture is empty without one. */
typedef void perform_answer(
	void *ctx, const cua_ActionResult *result, const struct perform_blob *picture);

struct perform_config {
	struct loop *loop;
	struct scene *scene;
	struct watchdog *dog; /* sleeps while a picture is encoded */
	struct pool *pool; /* encodes pictures; NULL: there is none */
	uint32_t dpi;
	uint32_t screen_max[2]; /* width and height */
	struct a11y *a11y; /* NULL: there are no accessible nodes */
	perform_answer *answer;
	void *ctx;
};

/* Nothing under way. scene, dog and pool must outlive it. NULL on failure. */
struct perform *perform_new(const struct perform_config *config, struct cua_err *err);
/* Ends what is under way without an answer. NULL is fine. Returns NULL. */
struct perform *perform_free(struct perform *p);

/* Begins an action (an ACTION_REQUEST, valid during the call). It is answered exactly once, perhaps
 * before this returns, unless perform_cancel() comes first. */
void perform_request(struct perform *p, const struct cua_msg *msg);
/* Goes on with the actions that wait for a change; to be called each time that the loop is about to
 * wait. */
void perform_pump(struct perform *p);
/* Its owner is gone: lets go of what a lease holds. The action that it has under way ends with an
 * error, what it has in the queue is not begun; only a drag is brought to its end, without delay. */
void perform_lease_end(struct perform *p, uint32_t lease);
/* Ends everything without answers and lets go of every key and button: cuad is gone. */
void perform_cancel(struct perform *p);
/* Answers everything with a conflict: the X server is gone. To be called before scene_detach(). */
void perform_fail(struct perform *p);
