/* HTTP on a connection: reads requests, finds and checks their route, carries bodies, hands over to
 * WebSocket (http_conn.c). Handlers see http.h only. */
#pragma once

#include "cua/err.h"

struct conn;

/* Starts reading requests from a fresh connection. Negative without memory. */
int http_conn_new(struct conn *conn) CUA_CHECK;
