/* A worker as the supervisor and cuad see it: an Xvfb :0, a real cuad-desktop, and the test at the
 * other end of E2 and E3. The test's process has a /tmp and a network of its own, so that display 0
 * is free for each test. Needs root. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cua/action.h"
#include "cua/msg.h"

#define DESK_WIDTH 1280
#define DESK_HEIGHT 800
#define DESK_UID 123456
#define DESK_ID "desktest0001"

struct desk {
	int program; /* cuad-desktop, opened */
	pid_t xvfb;
	pid_t worker;
	int supervisor; /* our end of E2 */
	int front; /* our end of E3 */
	uint32_t screen[2]; /* for the next worker; DESK_WIDTH and DESK_HEIGHT at first */
	uint32_t serial;
	uint32_t lease; /* in whose name actions are sent; 1 at first */
	/* Connects for a SOCKET_REQUEST: a socket, or -1, which is told as not_found. NULL: always -1. */
	int (*connect)(const char *path);
	struct cua_msg msg; /* the last one received */
	struct cua_err err;
};

/* Enters the namespaces; once per process. The steps below end the test by ck_assert when they fail. */
void desk_init(struct desk *d);
/* Kills everything. */
void desk_done(struct desk *d);

/* Starts Xvfb with a screen of at most 1920x1200 and waits until it is ready. */
void desk_start_xvfb(struct desk *d);
/* Kills Xvfb with SIGKILL. */
void desk_kill_xvfb(struct desk *d);
/* Starts the worker and greets; sends WORKER_START and greets on E3. */
void desk_start_worker(struct desk *d);
/* Sends a new E3 in place of the old one, which is closed, and greets. */
void desk_link(struct desk *d);
/* A fake window manager announces itself and the root is painted; the connection is returned as an
 * opaque pointer (Display *) to be closed by the caller. */
void *desk_paint(void);

/* Receives one message from a socket into d->msg within ms; it is freed by the next call. False when
 * none comes or the peer hangs up. */
bool desk_receive(struct desk *d, int sock, unsigned dirs, int ms);
/* Waits for a WORKER_STATE with this `ready`. False when none comes within ms. */
bool desk_wait_ready(struct desk *d, bool ready, int ms);

/* Sends an action with an optional text; returns its serial. */
uint32_t desk_send(struct desk *d, int action, const cua_Args *args, const char *text);
/* Receives the next answer within ms, meanwhile answering requests for sockets. */
const cua_ActionResult *desk_answer(struct desk *d, int ms);
/* Both; checks that the answer is to this one. */
const cua_ActionResult *desk_do(struct desk *d, int action, const cua_Args *args);
/* True when the worker has ended within ms; *ret_status as of waitpid(). */
bool desk_worker_ended(struct desk *d, int ms, int *ret_status);
