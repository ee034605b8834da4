/* One command and its parent; see the header. */
#include "server/init/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/init/loop.h"
#include "server/init/proc.h"
#include "server/init/pty.h"
#include "server/init/spawn.h"

struct keeper {
	const struct keeper_job *job;
	int control;
	int signals;
	int start_pipe; /* closes when the program runs; -1 then */
	bool tty;
	pid_t main;
	bool ended;
	int status;
	uint64_t ended_us;
	struct pty pty;
};

static void report(const struct keeper *keeper, const struct keeper_report *report) {
	(void)send(keeper->control, report, sizeof(*report), MSG_NOSIGNAL);
}

/* The last report, and the keeper's end. */
static _Noreturn void report_last(const struct keeper *keeper, const struct keeper_report *last) {
	report(keeper, last);
	spawn_await_close(keeper->control);
	_exit(0);
}

static _Noreturn void fail(const struct keeper *keeper, const struct cua_err *err) {
	report_last(keeper, &(struct keeper_report){.kind = KEEPER_FAILED, .err = *err});
}

static void reap(void *self) {
	struct keeper *keeper = self;
	int status = 0;
	for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0;
		pid = waitpid(-1, &status, WNOHANG)) {
		if (pid == keeper->main) {
			keeper->ended = true;
			keeper->status = status;
			keeper->ended_us = loop_now_us();
		}
	}
}

static void kill_all(struct keeper *keeper) {
	(void)proc_kill_descendants(CUA_KILL_MS, reap, keeper);
}

/* ---------------------------------------------------------------- start */

static _Noreturn void become_command(const struct keeper *keeper, int start_pipe) {
	const struct keeper_job *job = keeper->job;
	struct spawn spawn = SPAWN_INIT;
	struct cua_err err = {0};
	spawn.user = job->start->has_user ? job->start->user : NULL;
	spawn.cwd = job->start->has_cwd ? job->start->cwd : NULL;
	spawn.log = "launch";
	spawn.argv = cua_strings_split(job->argv, CUA_ARGV_COUNT, &err);
	spawn.env = cua_strings_split(job->env, CUA_ARGV_COUNT, &err);
	if (keeper->tty) {
		spawn.terminal = keeper->pty.slave;
	} else if (job->fd) {
		for (int i = 0; i < 3; i++) {
			spawn.fd[i] = job->fd[i];
		}
	}
	if (spawn.argv && spawn.env) {
		(void)!spawn_exec(&spawn, &err);
	}
	(void)!write(start_pipe, &err, sizeof(err));
	_exit(127);
}

static int start(struct keeper *keeper, struct cua_err *err) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0) {
		return cua_err_errno(err, errno, "cannot start a command");
	}
	keeper->start_pipe = ends[0];
	keeper->main = fork();
	if (keeper->main == 0) {
		become_command(keeper, ends[1]);
	}
	int saved = errno;
	(void)close(ends[1]);
	if (keeper->main < 0) {
		return cua_err_set(
			err, CUA_EXHAUSTED, "no process can be started: %s", strerror(saved));
	}
	for (int i = 0; !keeper->tty && keeper->job->fd && i < 3; i++) {
		(void)close(keeper->job->fd[i]);
	}
	return 0;
}

static int prepare(struct keeper *keeper, struct cua_err *err) {
	(void)prctl(PR_SET_NAME, "cuad-exec");
	sigset_t child;
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	keeper->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (keeper->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
		return cua_err_errno(err, errno, "cannot prepare a command");
	}
	const cua_ExecStart *request = keeper->job->start;
	if (keeper->tty) {
		return pty_open(&keeper->pty, keeper->job->fd[0],
			request->has_columns ? request->columns : 0,
			request->has_rows ? request->rows : 0, err);
	}
	return 0;
}

/* ---------------------------------------------------------------- events */

/* The program runs, or has said why it cannot. */
static void on_start(struct keeper *keeper) {
	struct cua_err err;
	ssize_t n = read(keeper->start_pipe, &err, sizeof(err));
	if (n < 0 && errno == EINTR) {
		return;
	}
	(void)close(keeper->start_pipe);
	keeper->start_pipe = -1;
	if (n == (ssize_t)sizeof(err)) {
		fail(keeper, &err);
	}
	struct keeper_report started = {.kind = KEEPER_STARTED, .pid = keeper->main};
	if (keeper->job->start->has_detach && keeper->job->start->detach) {
		report_last(keeper, &started);
	}
	report(keeper, &started);
}

static void send_signal(struct keeper *keeper, int signal) {
	if (keeper->ended || signal < 1 || signal >= NSIG) {
		return;
	}
	if (signal == SIGKILL) {
		kill_all(keeper);
		return;
	}
	if (keeper->tty) {
		pty_signal(&keeper->pty, signal);
	}
	if (kill(-keeper->main, signal) < 0) {
		(void)kill(keeper->main, signal);
	}
}

static void on_order(struct keeper *keeper) {
	struct keeper_order order;
	ssize_t n = recv(keeper->control, &order, sizeof(order), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n != (ssize_t)sizeof(order)) {
		kill_all(keeper);
		_exit(0);
	}
	if (order.kind == KEEPER_SIGNAL) {
		send_signal(keeper, order.signal);
	} else if (keeper->tty) {
		pty_resize(&keeper->pty, order.columns, order.rows);
	}
}

static void on_child(struct keeper *keeper) {
	struct signalfd_siginfo info;
	(void)!read(keeper->signals, &info, sizeof(info));
	reap(keeper);
}

static _Noreturn void finish(struct keeper *keeper) {
	if (keeper->tty) {
		pty_drain(&keeper->pty, CUA_PTY_DRAIN_MS);
		pty_done(&keeper->pty);
	}
	uint64_t us = keeper->ended_us - keeper->job->begun_us;
	report_last(keeper, &(struct keeper_report){.kind = KEEPER_ENDED,
				    .pid = keeper->main,
				    .status = keeper->status,
				    .duration_us = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us});
}

enum { POLL_CONTROL, POLL_SIGNALS, POLL_START, POLL_PTY, POLL_COUNT = POLL_PTY + 2 };

static void turn(struct keeper *keeper) {
	struct pollfd polled[POLL_COUNT] = {
		[POLL_CONTROL] = {.fd = keeper->control, .events = POLLIN},
		[POLL_SIGNALS] = {.fd = keeper->signals, .events = POLLIN},
		[POLL_START] = {.fd = keeper->start_pipe, .events = POLLIN},
		[POLL_PTY] = {.fd = -1},
		[POLL_PTY + 1] = {.fd = -1},
	};
	if (keeper->tty) {
		pty_prepare(&keeper->pty, &polled[POLL_PTY]);
	}
	if (poll(polled, POLL_COUNT, -1) < 0) {
		return;
	}
	if (polled[POLL_START].revents) {
		on_start(keeper);
	}
	if (polled[POLL_SIGNALS].revents) {
		on_child(keeper);
	}
	if (polled[POLL_CONTROL].revents) {
		on_order(keeper);
	}
	if (keeper->tty) {
		pty_pump(&keeper->pty, &polled[POLL_PTY]);
	}
}

void keeper_run(const struct keeper_job *job) {
	struct keeper *keeper = calloc(1, sizeof(*keeper));
	if (!keeper) {
		_exit(1);
	}
	*keeper = (struct keeper){.job = job, .control = job->control, .start_pipe = -1};
	keeper->tty = job->fd && job->start->has_tty && job->start->tty;
	struct cua_err err;
	if (prepare(keeper, &err) < 0 || start(keeper, &err) < 0) {
		fail(keeper, &err);
	}
	/* The end counts only once the start is known: a short program may be over before. */
	while (!keeper->ended || keeper->start_pipe >= 0) {
		turn(keeper);
	}
	finish(keeper);
}
