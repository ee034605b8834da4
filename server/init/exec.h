/* The commands that cuad started: one keeper each, found again by the serial of the request. */
#pragma once

#include "cua/msg.h"
#include "server/init/loop.h"

struct exec_table;

/* How answers leave: sends one message to cuad, or drops it when there is no cuad. */
typedef void exec_send_fn(void *self, enum cua_msg_type type, const void *body);

/* An empty table; NULL without memory. */
struct exec_table *exec_table_new(struct loop *loop, exec_send_fn *send, void *self);
/* Kills what runs and frees. NULL is fine; returns NULL. */
struct exec_table *exec_table_free(struct exec_table *table);

/* Starts what an EXEC_START asks for; the message's descriptors are closed by the caller. A request
 * that cannot be met is answered with EXEC_EXIT. Negative only when the peer broke the rules (a
 * serial that is in use, descriptors that do not fit) and must be dropped. */
int exec_start(struct exec_table *table, const struct cua_msg *msg, struct cua_err *err) CUA_CHECK;
/* Passes on EXEC_SIGNAL and EXEC_RESIZE; an unknown serial is a command that just ended. */
void exec_signal(struct exec_table *table, const cua_ExecSignal *request);
void exec_resize(struct exec_table *table, const cua_ExecResize *request);
/* Kills every command with all its processes, detached ones apart, and forgets them: nobody is
 * there to be told. */
void exec_kill_all(struct exec_table *table);
