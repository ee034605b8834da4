/* A session's desktop worker over E3: actions on the screen. */
#pragma once

#include "cua/action.h"
#include "server/front/peer.h"

struct worker;

struct worker_ops {
	/* The edge is lost; the last call. */
	void (*down)(void *owner, const struct cua_err *why);
	/* The worker asks for a connection in its container; to be answered by worker_socket(). */
	void (*socket)(void *owner, const cua_SocketRequest *wanted);
};

/* Takes E3's socket. The owner frees the worker when it is told that the edge is lost. */
struct worker *worker_new(struct loop *loop, struct cua_msg *scratch, int sock,
	const struct worker_ops *ops, void *owner, struct cua_err *err);
/* Open requests end with an error. NULL is fine. Returns NULL. */
struct worker *worker_free(struct worker *worker);

/* The answer, once: result is NULL when err says why. picture is empty without one; all is valid
 * during the call. */
typedef void worker_answer(void *data, const cua_ActionResult *result, struct cua_span picture,
	const struct cua_err *err);

/* How long the worker may take for an action: its own waiting times and some to spare. */
uint64_t worker_deadline_ms(const struct cua_call *call);
/* Asks the worker for an action in the name of a lease. The deadline follows from the action's own
 * waiting times, so that a worker that hangs ends in a timeout. */
int worker_request(struct worker *worker, const struct cua_call *call, uint32_t lease,
	worker_answer *answer, void *data, struct cua_err *err) CUA_CHECK;
/* Lets go of the keys and buttons that a lease holds. */
void worker_lease_end(struct worker *worker, uint32_t lease);
/* Answers a request for a connection: fd, which stays the caller's, or -1 with the error. */
void worker_socket(struct worker *worker, uint32_t serial, int fd, const struct cua_err *err);
