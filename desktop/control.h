/* The worker's two edges: E2 to the supervisor, who is trusted, and E3 to cuad, who need not be. A
 * peer that breaks the protocol is dropped; without the supervisor the worker ends, without cuad it
 * waits for a new edge. */
#pragma once

#include "cua/msg.h"
#include "desktop/loop.h"

struct control;

struct control_ops {
	/* Once: begin. x11_dir is the caller's and closed afterwards. Negative ends the worker. */
	int (*start)(void *ctx, const cua_WorkerStart *start, int x11_dir, struct cua_err *err);
	/* An action to perform; msg is valid during the call. */
	void (*request)(void *ctx, const struct cua_msg *msg);
	void (*lease_end)(void *ctx, uint32_t lease);
	/* The answer to control_socket(): the socket, which becomes the receiver's, or -1 with why. */
	void (*socket)(void *ctx, uint32_t serial, int fd, const struct cua_err *why);
	/* cuad is gone or about to be replaced: nobody waits for answers any more. */
	void (*front_gone)(void *ctx, const struct cua_err *why);
	/* The supervisor is gone, or the worker could not start: end. */
	void (*ended)(void *ctx, const struct cua_err *why);
};

/* Takes over the socket of E2 and greets. Calls nothing before the loop runs. NULL on failure. */
struct control *control_new(struct loop *loop, int supervisor, const struct control_ops *ops,
	void *ctx, struct cua_err *err);
/* Closes both edges without a call. NULL is fine. Returns NULL. */
struct control *control_free(struct control *control);

/* Tells the supervisor how the worker is. A supervisor that does not take it ends the worker. */
void control_state(struct control *control, const cua_WorkerState *state);
/* Answers an action, with a picture if len is not 0. Without cuad, or with one that does not read,
 * the answer is lost. */
void control_answer(struct control *control, const cua_ActionResult *result,
	struct cua_span picture, const int *memfd);
/* Asks cuad for a connection to a stream socket of the container: an absolute path, or an abstract
 * name after '@'. 0: it will be answered unless cuad goes. Negative without cuad. */
int control_socket(
	struct control *control, uint32_t serial, const char *path, struct cua_err *err) CUA_CHECK;
