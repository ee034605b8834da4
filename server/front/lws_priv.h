/* Shared by the two files that include libwebsockets, lws_loop.c and lws_conn.c. */
#pragma once

#include <libwebsockets.h>

#include "server/front/loop.h"

/* libwebsockets' own structures behind a loop. */
struct lws_context *loop_lws(const struct loop *loop);

/* Like loop_io_add(), but fn is called once, when the other side of a socket has closed its end or
 * the connection is broken; nothing is read. */
struct loop_io *loop_io_add_hangup(
	struct loop *loop, int fd, loop_fn *fn, void *data, struct cua_err *err);
