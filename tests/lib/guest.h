/* A container made by hand for tests of cuad-init: namespaces, a root on tmpfs with the machine's
 * /usr in it, and the test in the part of cuad on the other end of E5. Needs root. Every function
 * fails the running Check test when something does not work or takes longer than a minute. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cua/msg.h"

struct guest {
	pid_t pid; /* cuad-init, as seen from here */
	char dir[64];
	char init[512]; /* the program: server/init/cuad-init below $CUAD_BUILD */
	int listener;
	int sock; /* E5, greeted; -1 without */
	uint32_t serial;
	bool wants_events; /* service events are skipped otherwise */
	struct cua_msg in;
};

/* Starts cuad-init with this services file and waits for its greeting. */
void guest_start(struct guest *guest, const char *services);
/* Ends it with SIGTERM, checks its exit status, cleans up. Milliseconds that it took. */
unsigned guest_stop(struct guest *guest);
/* Replaces the listening socket by a new one, by rename. */
void guest_listen(struct guest *guest);
/* Waits for a connection and exchanges greetings; an older connection is closed. */
void guest_accept(struct guest *guest);
/* The same without sending a greeting. */
void guest_accept_mute(struct guest *guest);

void guest_send(struct guest *guest, const struct cua_out *out);
/* Waits for the next message and leaves it in guest->in until the next call; `what` is for the
 * failure's text. */
void guest_next(struct guest *guest, const char *what);
/* The same for a message that has to be of this type. */
void guest_expect(struct guest *guest, enum cua_msg_type type);
/* Waits until the other side has closed the connection. */
void guest_expect_closed(struct guest *guest);

/* A command that runs. */
struct guest_exec {
	uint32_t serial;
	int in; /* our ends of stdio; a terminal's socket is `in` */
	int out;
	int err;
};

struct guest_command {
	const char *const *argv; /* NULL-terminated */
	const char *const *env; /* or NULL */
	const char *user;
	const char *cwd;
	bool tty;
	bool detach;
};

/* Sends EXEC_START. */
struct guest_exec guest_exec_start(struct guest *guest, const struct guest_command *command);
void guest_exec_close(struct guest_exec *exec);

struct guest_output {
	char out[262144];
	char err[4096];
	cua_ExecExit exit;
	uint32_t pid; /* 0: it was never started */
};

/* Runs a command to its end with an empty stdin and collects what it wrote. */
void guest_run(struct guest *guest, const struct guest_command *command, struct guest_output *ret);
/* The same for `sh -c SCRIPT` as the agent; fails the test unless it exits with 0. */
void guest_sh(struct guest *guest, const char *script, struct guest_output *ret);
/* Waits until `sh -c SCRIPT` exits with 0. */
void guest_until(struct guest *guest, const char *script);
/* Milliseconds of a monotonic clock. */
unsigned long guest_now_ms(void);
