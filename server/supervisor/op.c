/* Children for blocking work; see the header. What they do is in steps.c and reclaim.c. */
#include "server/supervisor/op.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/limits.h"
#include "server/supervisor/spawn.h"

/* One datagram of a child: a note, or its result. */
struct op_frame {
	bool last;
	int code;
	struct cua_err err;
	struct op_note note;
};

struct op_report {
	int sock;
	uint64_t since_us;
};

struct op {
	struct op *next;
	struct ops *ops;
	struct op_spec spec;
	void *args;
	int sock;
	struct loop_io *io;
	struct loop_child *child;
	struct loop_timer *deadline;
	struct op_frame result;
	bool running;
};

struct ops {
	struct loop *loop;
	int lock;
	struct op *list; /* oldest first; running and waiting ones */
	unsigned running;
	loop_fn *idle_fn;
	void *idle_data;
	struct loop_timer *idle;
};

/* ---------------------------------------------------------------- in the child */

void op_note(struct op_report *report, const char *name, const uint64_t value[4]) {
	struct op_frame frame = {0};
	(void)snprintf(frame.note.name, sizeof(frame.note.name), "%s", name);
	memcpy(frame.note.value, value, sizeof(frame.note.value));
	(void)!send(report->sock, &frame, sizeof(frame), MSG_NOSIGNAL);
}

void op_phase(struct op_report *report, const char *name) {
	uint64_t now = loop_now_us();
	op_note(report, name, (const uint64_t[4]){now - report->since_us});
	report->since_us = now;
}

/* Closes what the child has from us but pipes: an edge or a connection must not stay up because some
 * operation takes long. Pipes are left, for libuv's fork handler closes one of its own
 * by number in every later fork, and would hit whatever had taken that number. */
static int close_ours(int sock, int lock) {
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry = NULL;
	while (dir && (entry = readdir(dir))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		bool kept = fd <= STDERR_FILENO || fd == dirfd(dir) || fd == sock || fd == lock;
		struct stat st;
		if (!kept && fstat(fd, &st) == 0 && !S_ISFIFO(st.st_mode)) {
			(void)close(fd);
		}
	}
	return dir ? closedir(dir) : -1;
}

/* Leaves the child with stdio, its report and the lock. The container's monitor, a grandchild that
 * lives on, closes all it inherited by itself. */
static int child_setup(int sock, int lock, pid_t parent) {
	spawn_reset();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) {
		return -1;
	}
	(void)setsid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0) {
		return -1;
	}
	return close_ours(sock, lock);
}

static void child_main(const struct op *op, pid_t parent) {
	if (child_setup(op->sock, op->ops->lock, parent) < 0) {
		_exit(1);
	}
	struct op_report report = {.sock = op->sock, .since_us = loop_now_us()};
	struct op_frame frame = {.last = true};
	frame.code = op->spec.work(op->args, &report, &frame.err);
	ssize_t n = send(op->sock, &frame, sizeof(frame), MSG_NOSIGNAL);
	_exit(n == (ssize_t)sizeof(frame) ? 0 : 1);
}

/* ---------------------------------------------------------------- in the supervisor */

struct ops *ops_new(struct loop *loop, int lock) {
	struct ops *ops = loop_alloc(sizeof(*ops));
	*ops = (struct ops){.loop = loop, .lock = lock};
	return ops;
}

static void op_free(struct op *op) {
	op->deadline = loop_timer_cancel(op->deadline);
	op->io = loop_io_remove(op->io);
	op->child = loop_child_drop(op->child);
	if (op->sock >= 0) {
		(void)close(op->sock);
	}
	free(op->args);
	free(op);
}

struct ops *ops_free(struct ops *ops) {
	while (ops && ops->list) {
		struct op *op = ops->list;
		ops->list = op->next;
		op_free(op);
	}
	if (ops) {
		ops->idle = loop_timer_cancel(ops->idle);
	}
	free(ops);
	return NULL;
}

static void op_unlink(struct op *op) {
	struct op **at = &op->ops->list;
	while (*at != op) {
		at = &(*at)->next;
	}
	*at = op->next;
}

static void ops_pump(struct ops *ops);
static void check_idle(struct ops *ops);

static void op_finish(struct op *op) {
	struct ops *ops = op->ops;
	op_unlink(op);
	ops->running -= op->running;
	struct op_spec spec = op->spec;
	int code = op->result.code;
	struct cua_err err = op->result.err;
	op_free(op);
	if (spec.on_done) {
		spec.on_done(spec.data, code, &err);
	}
	ops_pump(ops);
	check_idle(ops);
}

/* Takes what the child has told so far. False when there is nothing more. */
static bool op_take(struct op *op) {
	struct op_frame frame;
	ssize_t n = recv(op->sock, &frame, sizeof(frame), MSG_DONTWAIT);
	if (n != (ssize_t)sizeof(frame)) {
		return false;
	}
	if (frame.last) {
		op->result = frame;
	} else if (op->spec.on_note) {
		op->spec.on_note(op->spec.data, &frame.note);
	}
	return true;
}

static void on_report(void *data) {
	struct op *op = data;
	if (!op_take(op)) {
		/* End of file: the exit follows, and takes what is left. */
		op->io = loop_io_remove(op->io);
	}
}

static void on_exit_status(void *data, int status) {
	struct op *op = data;
	op->child = NULL;
	while (op_take(op)) {
	}
	if (!op->result.last) {
		op->result.code =
			WIFSIGNALED(status)
				? cua_err_set(&op->result.err, CUA_INTERNAL,
					  "the operation was killed by signal %d", WTERMSIG(status))
				: cua_err_set(&op->result.err, CUA_INTERNAL,
					  "the operation ended without a result");
	}
	op_finish(op);
}

static void on_never_started(void *data) {
	struct op *op = data;
	op->deadline = NULL;
	op_finish(op);
}

static void on_deadline(void *data) {
	struct op *op = data;
	op->deadline = NULL;
	op_kill(op);
}

void op_kill(struct op *op) {
	if (op->result.last) {
		return;
	}
	op->result.last = true;
	op->result.code = cua_err_set(
		&op->result.err, CUA_TIMEOUT, "the operation took too long and was stopped");
	if (op->child) {
		/* Its whole group: a child of the child that starts a container would go on. */
		(void)kill(-loop_child_pid(op->child), SIGKILL);
		return;
	}
	op->deadline = loop_timer_cancel(op->deadline);
	op->deadline = loop_timer_add(op->ops->loop, 0, on_never_started, op);
}

void op_cancel(struct op *op) {
	if (!op->running) {
		op_kill(op);
	}
}

static int op_fork(struct op *op, struct cua_err *err) {
	int pair[2];
	/* Blocking: a child with much to tell waits until it is read. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		return cua_err_errno(err, errno, "cannot create a socket pair");
	}
	op->sock = pair[1];
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0) {
		child_main(op, parent);
	}
	op->sock = pair[0];
	(void)close(pair[1]);
	if (pid < 0) {
		return cua_err_errno(err, errno, "cannot fork");
	}
	int pidfd = spawn_pidfd(pid, err);
	if (pidfd < 0) {
		return pidfd;
	}
	op->child = loop_child_add(op->ops->loop, pid, pidfd, on_exit_status, op, err);
	return op->child ? 0 : -(int)CUA_INTERNAL;
}

static void op_run(struct op *op) {
	op->running = true;
	op->ops->running++;
	int r = op_fork(op, &op->result.err);
	if (r == 0) {
		op->io = loop_io_add(op->ops->loop, op->sock, on_report, NULL, op, &op->result.err);
		op->deadline = loop_timer_add(op->ops->loop, op->spec.deadline_ms, on_deadline, op);
		return;
	}
	op->result.last = true;
	op->result.code = r;
	op->deadline = loop_timer_add(op->ops->loop, 0, on_never_started, op);
}

static void ops_pump(struct ops *ops) {
	for (struct op *op = ops->list; op && ops->running < CUA_OPS_MAX; op = op->next) {
		if (!op->running && !op->result.last) {
			op_run(op);
		}
	}
}

struct op *op_start(struct ops *ops, const struct op_spec *spec) {
	struct op *op = loop_alloc(sizeof(*op));
	*op = (struct op){.ops = ops, .spec = *spec, .sock = -1};
	op->args = loop_alloc(spec->args_size + 1);
	memcpy(op->args, spec->args, spec->args_size);
	struct op **at = &ops->list;
	while (*at) {
		at = &(*at)->next;
	}
	*at = op;
	ops_pump(ops);
	return op;
}

void ops_cancel_waiting(struct ops *ops) {
	for (struct op *op = ops->list; op; op = op->next) {
		op_cancel(op);
	}
}

static void on_idle(void *data) {
	struct ops *ops = data;
	ops->idle = NULL;
	if (!ops->list && ops->idle_fn) {
		loop_fn *fn = ops->idle_fn;
		ops->idle_fn = NULL;
		fn(ops->idle_data);
	}
}

/* Asked from the loop: the last on_done may have started something new. */
static void check_idle(struct ops *ops) {
	if (!ops->list && ops->idle_fn && !ops->idle) {
		ops->idle = loop_timer_add(ops->loop, 0, on_idle, ops);
	}
}

void ops_on_idle(struct ops *ops, loop_fn *fn, void *data) {
	ops->idle_fn = fn;
	ops->idle_data = data;
	check_idle(ops);
}

/* ---------------------------------------------------------------- the lock */

static void on_alarm(int number) {
	(void)number;
}

/* flock() knows no deadline: a signal ends the wait. */
static int lock_within(int fd, unsigned deadline_ms) {
	struct sigaction act = {.sa_handler = on_alarm};
	struct sigaction old;
	(void)sigaction(SIGALRM, &act, &old);
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0) {
		return -errno;
	}
	/* Repeats, in case the first signal comes before the wait has begun. */
	struct itimerspec when = {
		.it_value = {deadline_ms / 1000, (long)(deadline_ms % 1000) * 1000000},
		.it_interval = {0, 100000000}};
	(void)timer_settime(timer, 0, &when, NULL);
	int r = flock(fd, LOCK_EX) < 0 ? -errno : 0;
	(void)timer_delete(timer);
	(void)sigaction(SIGALRM, &old, NULL);
	return r;
}

int op_lock(const char *dir, unsigned deadline_ms, struct cua_err *err) {
	char path[300];
	(void)snprintf(path, sizeof(path), "%s/lock", dir);
	_cleanup_fd_ int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		return cua_err_errno(err, errno, "cannot open %s", path);
	}
	int r = lock_within(fd, deadline_ms);
	if (r == -EINTR) {
		return cua_err_set(err, CUA_CONFLICT,
			"another supervisor is running with %s; stop it first", dir);
	}
	if (r < 0) {
		return cua_err_errno(err, r, "cannot lock %s", path);
	}
	return take_fd(fd);
}
