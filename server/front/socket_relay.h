/* A worker's way to a socket of its container: the container's init connects, as the agent, and the
 * socket goes to the worker. No byte of it passes here. */
#pragma once

#include "cua/msg.h"

/* Handles a SOCKET_REQUEST of the session's (struct session) worker. It is answered once. */
void session_socket(void *session, const cua_SocketRequest *wanted);
