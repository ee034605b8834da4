/* The worker of one session: ties the edges, the sandbox, the X server and the actions together. */
#pragma once

#include "cua/err.h"

/* Runs the worker on E2 until the supervisor is gone. Takes over the socket. Returns the process's
 * exit status: 0 when the supervisor hung up, 1 when the worker could not do its work. */
int desktop_run(int supervisor);
