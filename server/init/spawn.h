/* What every program started in the container has in common: user, environment, directory, stdio. */
#pragma once

#include <stdbool.h>

#include "cua/err.h"
#include "server/init/account.h"

struct spawn {
	const char *user; /* NULL or "": agent */
	const char *cwd; /* NULL or "": the home, or "/" when there is none */
	char *const *argv; /* at least one string; argv[0] is looked up in PATH */
	char *const *env; /* K=V on top of the base environment; NULL: none */
	int fd[3]; /* stdio; all -1: /dev/null and the log */
	const char *log; /* with fd -1: /var/log/cuad/LOG.log; NULL: /dev/null */
	int terminal; /* a terminal that becomes stdio and controls the session, or -1 */
	int keep_fd; /* one more descriptor that stays open, with its number, or -1 */
};

/* A spawn with every descriptor empty. */
#define SPAWN_INIT                                                                                 \
	{ .fd = {-1, -1, -1}, .terminal = -1, .keep_fd = -1 }

/* Turns this process, a fresh child of root, into the program: new session, default signals,
 * environment, stdio, user, directory, execve. Returns only on failure, negative:
 * -CUA_NOT_FOUND or -CUA_FORBIDDEN about "user", "cwd" or "command", -CUA_TOO_LARGE about
 * "command", -CUA_INVALID about "env" or "command". */
int spawn_exec(const struct spawn *spawn, struct cua_err *err) CUA_CHECK;

/* Forks; in the child every signal is blocked and every descriptor from 3 on is closed but those of
 * `keep` (entries of -1 are skipped). 0 in the child, the pid in the parent, or negative. */
pid_t spawn_fork(const int *keep, size_t keep_count, struct cua_err *err) CUA_CHECK;

/* The environment that a program of this account gets: the base, overridden and followed by `env`.
 * NULL on failure (about "env" when an entry is no K=V). For the rest of a process's life: it is
 * never freed. */
char **spawn_environment(
	const struct account *account, char *const *env, bool terminal, struct cua_err *err);

/* Waits until the other side has closed a SOCK_SEQPACKET socket: a process that told its last word
 * there must not exit before, since a message that it left unread would make the kernel discard what
 * it sent. */
void spawn_await_close(int sock);
