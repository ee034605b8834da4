/* File requests of cuad: each is performed by a child of its own that runs as the agent, so that
 * neither rights nor a FIFO nor a hung mount of the container reach PID 1. */
#pragma once

#include "cua/msg.h"
#include "server/init/loop.h"

struct files;

/* How answers leave; as cua_chan_send(), and dropped when there is no cuad. */
typedef void files_send_fn(void *self, const struct cua_out *out);

/* No request yet; NULL without memory. */
struct files *files_new(struct loop *loop, files_send_fn *send, void *self);
/* Aborts what runs and frees. NULL is fine; returns NULL. */
struct files *files_free(struct files *files);

/* Begins a FILE_REQUEST; the message's descriptors are closed by the caller. Every request gets
 * its FILE_RESULT. Negative only when the peer broke the rules (a serial in use, descriptors that do
 * not fit) and must be dropped. */
int files_request(struct files *files, const struct cua_msg *msg, struct cua_err *err) CUA_CHECK;
/* Passes on a FILE_END; an unknown serial is a request that has failed already. */
void files_end(struct files *files, const cua_FileEnd *end);
/* Aborts every request; nobody is there to be told. Half-written files vanish. */
void files_abort_all(struct files *files);
