/* The life of a session, from the supervisor's side: starting → running → stopping → gone, or
 * stopped, or failed.
 *
 * Whatever happens (a request, the end of an operation, a death) changes what is wanted of the
 * session or what is true of it; then one function looks at both and starts the next operation, never
 * two at once. So a delete during a create waits for its child and then destroys. */
#pragma once

#include "server/supervisor/supervisor.h"

enum session_goal {
	SESSION_REST, /* as it is */
	SESSION_RUN, /* become running, stay so */
	SESSION_STOP, /* no container, no mounts; disk and record stay */
	SESSION_ERASE, /* nothing stays */
};

struct waiter {
	uint32_t generation; /* which cuad asked */
	uint32_t serial;
};

struct waiters {
	struct waiter list[CUA_WAITERS_MAX];
	size_t count;
};

struct session {
	struct session *next;
	struct supervisor *sup;
	struct plan plan;
	cua_State state;
	enum session_goal goal;
	char reason[384];
	cua_Phase phases[12];
	size_t phase_count;
	uint64_t asked_us;
	struct op *op; /* the one that runs or waits; NULL between two */
	struct loop_timer *deadline; /* of the start */
	struct link *link;
	struct worker *worker;
	int init_fd; /* pidfd of the container's PID 1; -1 without one */
	struct loop_io *init_io;
	pid_t init;
	int e5; /* init's connection, while no cuad is there to get it */
	uint64_t up_us; /* when the container ran */
	bool linked; /* init has connected since our start */
	bool husk; /* a launch that failed and was cleared away: only this memory is left */
	bool unsaved; /* the record has changed since it was written */
	bool damaged; /* the record cannot be read: never to be started */
	uint32_t told; /* generation of the cuad that knows it */
	struct waiters deleting;
	struct waiters asking; /* for its usage */
};

/* Starts a new session. Everything is checked; on failure nothing has changed. */
int session_create(
	struct supervisor *sup, const cua_SessionCreate *wanted, struct cua_err *err) CUA_CHECK;

/* Removes a session in any state; the answer is sent when it is gone or cannot be removed. A session
 * that is not there is gone. */
void session_delete(struct supervisor *sup, const char *id, struct waiter who);

/* Answers with the session's usage, later. */
void session_usage(struct supervisor *sup, const char *id, struct waiter who);

/* Takes over what was found at start. init is the host pid of its PID 1 or 0. With reason the record
 * is damaged, and the session shows as failed for that reason. With --halt it is stopped instead. */
void session_adopt(struct supervisor *sup, const struct plan *plan, pid_t init, const char *reason);

/* Tells a new cuad all about it: state, E3, E5. */
void session_tell(struct session *session);
/* The message about its state. */
void session_describe(const struct session *session, cua_SessionState *ret);

/* Frees all of them; containers run on. */
void session_free_all(struct supervisor *sup);
