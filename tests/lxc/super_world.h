/* A supervisor of its own for each test, with the test as its cuad: directories, a network
 * namespace, a template without programs, the real cuad-init. Everything fails the running Check
 * test when it does not work or takes longer than its deadline. Needs root. */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cua/msg.h"

struct known {
	cua_SessionState told; /* id[0] is 0 in an empty place */
	int e3; /* the last ones that came; -1 without */
	int e5;
	unsigned e3_count;
	unsigned e5_count;
};

struct world {
	char dir[40];
	pid_t supervisor;
	int door; /* where stand-ins for cuad bring E1 */
	int keeper; /* keeps the present stand-in alive */
	pid_t cuad;
	int e1;
	uint32_t serial;
	struct known known[32];
	unsigned listeners;
	int control; /* the control socket that came; -1 */
	bool force; /* of template builds */
	uint32_t reply_serial;
	struct cua_err reply; /* code 0: success */
	cua_Usage usage;
	unsigned progress;
	bool synced;
	struct cua_msg msg;
};

/* Directories, network, template "tiny". The configuration is these lines for the stand-in. */
void world_open(struct world *w, const char *config);
/* Stops the supervisor, checks that nothing of the sessions stays (all must have been deleted), and
 * removes the directories. */
void world_close(struct world *w);

/* Starts the supervisor and does not wait. */
void world_launch(struct world *w);
/* Waits for the (next) cuad, greets, and reads until SYNCED. What was known before is forgotten. */
void world_connect(struct world *w);
/* Both. */
void world_start(struct world *w);
/* Sends the signal and returns the exit status as wait() has it. */
int world_stop(struct world *w, int number);
/* Runs cuad-supervisor with this option to its end and returns its exit status. */
int world_run(const struct world *w, const char *option);
/* Puts a text into libexec/desktop.mode. */
void world_desktop_mode(const struct world *w, const char *mode);

/* Sends a create; fields of the usual session may be changed by the caller before. */
cua_SessionCreate world_session(struct world *w, const char *name);
void world_send(struct world *w, enum cua_msg_type type, const void *body);
/* Sends and waits for the answer. Returns its code. */
enum cua_code world_create(struct world *w, const cua_SessionCreate *wanted);
enum cua_code world_delete(struct world *w, const char *id);
enum cua_code world_template(struct world *w, uint32_t verb, const char *name);
enum cua_code world_await_reply(struct world *w, uint32_t serial);

/* What is known of a session; an empty one if nothing. */
struct known *world_known(struct world *w, const char *id);
/* Reads messages until the session is in this state. */
struct known *world_await(struct world *w, const char *id, cua_State state);
/* Reads messages until that many E3 and E5 have come for the session. */
struct known *world_await_links(struct world *w, const char *id, unsigned e3, unsigned e5);
/* Waits for the other side's HELLO on an edge. */
void world_hello(struct world *w, int sock, unsigned dirs);
/* Reads messages until fn says true, at most for some seconds. */
void world_until(struct world *w, bool (*fn)(struct world *w, const void *arg), const void *arg,
	unsigned seconds);

/* Pid of the child of `parent` with this name and word in its command line, or 0. */
pid_t world_find(pid_t parent, const char *comm, const char *word);
/* Host pid of PID 1 of a session's container while it runs, or 0. With id NULL of any session of
 * this world, of none else's. */
pid_t world_init(const struct world *w, const char *id);
/* Waits until a process is gone. */
void world_await_gone(pid_t pid);
/* Number of entries of a directory below the world's, or 0. */
unsigned world_entries(const struct world *w, const char *path);
/* Runs a program to its end with an empty stdin; its exit status. */
int world_exec(const char *const argv[]);
