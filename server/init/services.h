/* The programs that make the desktop: what runs, in which order, and what is started again.
 *
 * Xvfb is composed here and starts first; the lines of the services file follow one after the
 * other. A service that needs the display waits until Xvfb has said that it is ready, and is started
 * again when Xvfb was. */
#pragma once

#include <sys/types.h>

#include "cua/msg.h"
#include "server/init/loop.h"
#include "server/init/service_list.h"

struct services;

/* Called when a service ended (its status as of waitpid) or runs. */
typedef void services_event_fn(void *self, const char *name, bool running, int status);

struct services_config {
	unsigned max_width; /* of the X server's screen */
	unsigned max_height;
	unsigned dpi;
	const struct service_list *list; /* outlives the services */
	services_event_fn *on_event;
	void *self;
};

/* Nothing runs yet. NULL without memory. */
struct services *services_new(struct loop *loop, const struct services_config *config);
/* Frees; processes stay. NULL is fine; returns NULL. */
struct services *services_free(struct services *services);

/* Starts what can be started. */
void services_start(struct services *services);
/* A child of PID 1 ended: true if it was a service's. */
bool services_on_exit(struct services *services, pid_t pid, int status);
/* The session's own command (lists of strings), run as the agent once the display and all services
 * before it are up, and started again when it fails but not when it ends with 0. A second one is
 * ignored. */
int services_command(struct services *services, struct cua_span argv, struct cua_span env,
	struct cua_err *err) CUA_CHECK;
/* Nothing is started any more. */
void services_stop(struct services *services);
