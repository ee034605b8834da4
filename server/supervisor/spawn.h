/* Starting our other programs: fork, descriptors, rights, exec. The supervisor is their parent and
 * they end with it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cua/err.h"

struct spawn {
	const char *path; /* also argv[0]'s file; no search in PATH */
	char *const *argv;
	int input; /* becomes stdin; -1: /dev/null */
	int output; /* becomes stdout; -1: ours */
	int edge; /* becomes descriptor 3; -1: none */
	uid_t uid;
	gid_t gid;
	bool drop; /* become uid and gid, with no other group, for good */
	bool keep_port; /* with drop: may still bind ports below 1024 */
	int parent_death; /* signal that it gets when the supervisor dies; 0: none */
};

/* Starts the program with an environment of PATH, LANG and CUAD_LOG only, and no descriptors but
 * those above and stderr. Returns the pid, and in *ret_pidfd its pidfd (owned by the caller). That
 * the program cannot be executed shows as its exit status 127. */
pid_t spawn_program(const struct spawn *spawn, int *ret_pidfd, struct cua_err *err) CUA_CHECK;

/* A close-on-exec pidfd of a process. */
int spawn_pidfd(pid_t pid, struct cua_err *err) CUA_CHECK;

/* After fork: all signals get their default action and none is blocked (the loop's handlers would
 * write into the pipe that parent and child share), and the limit of descriptors is the usual one. */
void spawn_reset(void);

/* Looks up a user. -CUA_NOT_FOUND (about "user") when there is none. */
int spawn_user(const char *name, uid_t *ret_uid, gid_t *ret_gid, struct cua_err *err) CUA_CHECK;
