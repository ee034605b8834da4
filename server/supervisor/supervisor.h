/* Everything the supervisor owns, in one struct that its modules pass around. */
#pragma once

#include "cua/msg.h"
#include "server/supervisor/loop.h"
#include "server/supervisor/op.h"
#include "server/supervisor/options.h"
#include "server/supervisor/plan.h"

struct frontend;
struct builds;
struct guard;
struct resolver;
struct session;

struct supervisor {
	struct options options;
	struct plan_host host;
	cua_Config config;
	uid_t uid; /* of the user cuad */
	gid_t gid;
	int lock; /* RUN/lock, also held by the ops' children */
	int state_lock; /* STATE/lock */
	struct loop *loop;
	struct ops *ops;
	struct cua_msg *scratch; /* the one buffer for received messages */
	struct session *sessions; /* in the order of their making */
	size_t session_count;
	struct guard *guard;
	struct resolver *resolver;
	struct builds *builds;
	struct frontend *frontend; /* NULL until the start is over, and while stopping */
	struct loop_timer *deadline; /* of start and stop */
	bool stopping;
	int status; /* what supervisor_run() returns */
};

/* Runs until SIGTERM or SIGINT (sessions live on), or, with --halt, until all sessions are stopped.
 * Returns the exit status; what went wrong has been logged. */
int supervisor_run(const struct options *options);
