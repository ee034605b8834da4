/* PID 1's side of commands: a row for each keeper, and its reports turned into messages. What the
 * command does is the keeper's business. */
#include "server/init/exec.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "server/init/keeper.h"
#include "server/init/spawn.h"

struct exec {
	struct exec_table *table;
	struct loop_source source; /* the keeper's control socket; owned */
	uint32_t serial;
	bool detach;
};

struct exec_table {
	struct loop *loop;
	exec_send_fn *send;
	void *self;
	struct exec exec[CUA_EXEC_PER_SESSION];
};

static void forget(struct exec *exec) {
	int fd = exec->source.fd;
	loop_remove(exec->table->loop, &exec->source);
	if (fd >= 0) {
		(void)close(fd);
	}
}

static void send_failure(
	const struct exec_table *table, uint32_t serial, const struct cua_err *err) {
	cua_ExecExit body = {.serial = serial, .has_error = true, .error = cua_error_to_wire(err)};
	table->send(table->self, CUA_MSG_EXEC_EXIT, &body);
}

static void send_end(const struct exec *exec, const struct keeper_report *report) {
	cua_ExecExit body = {.serial = exec->serial,
		.has_duration_us = true,
		.duration_us = report->duration_us};
	if (WIFSIGNALED(report->status)) {
		body.has_signal = true;
		body.signal = WTERMSIG(report->status);
	} else {
		body.has_exit_code = true;
		body.exit_code = WEXITSTATUS(report->status);
	}
	exec->table->send(exec->table->self, CUA_MSG_EXEC_EXIT, &body);
}

/* True when the report was the last one. */
static bool pass_on(const struct exec *exec, const struct keeper_report *report) {
	const struct exec_table *table = exec->table;
	if (report->kind == KEEPER_FAILED) {
		send_failure(table, exec->serial, &report->err);
		return true;
	}
	if (report->kind == KEEPER_ENDED) {
		send_end(exec, report);
		return true;
	}
	cua_ExecStarted body = {.serial = exec->serial, .pid = (uint32_t)report->pid};
	table->send(table->self, CUA_MSG_EXEC_STARTED, &body);
	return exec->detach;
}

static void on_report(void *self, uint32_t events) {
	(void)events;
	struct exec *exec = self;
	struct keeper_report report;
	ssize_t n = recv(exec->source.fd, &report, sizeof(report), MSG_DONTWAIT);
	/* ECONNRESET: it closed with an order unread; what it reported before is still to come. */
	if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET)) {
		return;
	}
	if (n != (ssize_t)sizeof(report)) {
		struct cua_err err;
		(void)cua_err_set(&err, CUA_INTERNAL, "the command's keeper was killed");
		send_failure(exec->table, exec->serial, &err);
		forget(exec);
		return;
	}
	if (pass_on(exec, &report)) {
		forget(exec);
	}
}

struct exec_table *exec_table_new(struct loop *loop, exec_send_fn *send, void *self) {
	struct exec_table *table = calloc(1, sizeof(*table));
	if (!table) {
		return NULL;
	}
	table->loop = loop;
	table->send = send;
	table->self = self;
	for (size_t i = 0; i < CUA_COUNT(table->exec); i++) {
		struct exec *exec = &table->exec[i];
		exec->table = table;
		exec->source = (struct loop_source){.fd = -1, .fn = on_report, .self = exec};
	}
	return table;
}

void exec_kill_all(struct exec_table *table) {
	for (size_t i = 0; i < CUA_COUNT(table->exec); i++) {
		forget(&table->exec[i]);
	}
}

struct exec_table *exec_table_free(struct exec_table *table) {
	if (table) {
		exec_kill_all(table);
		free(table);
	}
	return NULL;
}

static struct exec *find(struct exec_table *table, uint32_t serial) {
	for (size_t i = 0; i < CUA_COUNT(table->exec); i++) {
		if (table->exec[i].source.fd >= 0 && table->exec[i].serial == serial) {
			return &table->exec[i];
		}
	}
	return NULL;
}

static struct exec *find_free(struct exec_table *table) {
	for (size_t i = 0; i < CUA_COUNT(table->exec); i++) {
		if (table->exec[i].source.fd < 0) {
			return &table->exec[i];
		}
	}
	return NULL;
}

static size_t fds_wanted(const cua_ExecStart *start) {
	if (start->has_detach && start->detach) {
		return 0;
	}
	return start->has_tty && start->tty ? 1 : 3;
}

static int check_lists(const struct cua_msg *msg, struct cua_err *err) {
	if (msg->blob_count < 1 || msg->blob[0].len == 0) {
		return cua_err_about(err, CUA_INVALID, "command", "the command is empty");
	}
	size_t env = msg->blob_count > 1 ? msg->blob[1].len : 0;
	if (msg->blob[0].len + env > CUA_ARGV_BYTES) {
		return cua_err_about(err, CUA_TOO_LARGE, "command",
			"arguments and environment are longer than %u bytes", CUA_ARGV_BYTES);
	}
	return 0;
}

/* Forks the keeper and leaves PID 1's end of its control socket in the row. */
static int start_keeper(struct exec *exec, const struct cua_msg *msg, struct cua_err *err) {
	struct keeper_job job = {.start = &msg->body.exec_start,
		.argv = msg->blob[0],
		.fd = msg->fd_count > 0 ? msg->fd : NULL,
		.begun_us = loop_now_us()};
	if (msg->blob_count > 1) {
		job.env = msg->blob[1];
	}
	int pair[2];
	int r = fd_seqpacket_pair(pair, err);
	if (r < 0) {
		return r;
	}
	_cleanup_fd_ int ours = pair[0];
	_cleanup_fd_ int theirs = pair[1];
	job.control = theirs;
	const int keep[] = {theirs, msg->fd[0], msg->fd[1], msg->fd[2]};
	pid_t pid = spawn_fork(keep, CUA_COUNT(keep), err);
	if (pid == 0) {
		/* Reports must not get lost when PID 1 is slow to read. */
		(void)!fd_set_nonblock(theirs, 0);
		keeper_run(&job);
	}
	if (pid < 0) {
		return (int)pid;
	}
	r = loop_add(exec->table->loop, &exec->source, ours, EPOLLIN, err);
	if (r < 0) {
		return r;
	}
	(void)take_fd(ours);
	return 0;
}

static int try_start(struct exec_table *table, const struct cua_msg *msg, struct cua_err *err) {
	int r = check_lists(msg, err);
	if (r < 0) {
		return r;
	}
	struct exec *exec = find_free(table);
	if (!exec) {
		return cua_err_about(err, CUA_EXHAUSTED, "commands",
			"%d commands run in this session already", CUA_EXEC_PER_SESSION);
	}
	exec->serial = msg->body.exec_start.serial;
	exec->detach = msg->body.exec_start.has_detach && msg->body.exec_start.detach;
	return start_keeper(exec, msg, err);
}

int exec_start(struct exec_table *table, const struct cua_msg *msg, struct cua_err *err) {
	const cua_ExecStart *start = &msg->body.exec_start;
	if (msg->fd_count != fds_wanted(start)) {
		return cua_err_set(
			err, CUA_BAD_REQUEST, "a command came with %zu descriptors", msg->fd_count);
	}
	if (find(table, start->serial)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "serial %u is in use", start->serial);
	}
	struct cua_err failure;
	if (try_start(table, msg, &failure) < 0) {
		send_failure(table, start->serial, &failure);
	}
	return 0;
}

static void give_order(
	struct exec_table *table, uint32_t serial, const struct keeper_order *order) {
	const struct exec *exec = find(table, serial);
	if (exec) {
		(void)send(exec->source.fd, order, sizeof(*order), MSG_NOSIGNAL | MSG_DONTWAIT);
	}
}

void exec_signal(struct exec_table *table, const cua_ExecSignal *request) {
	give_order(table, request->serial,
		&(struct keeper_order){.kind = KEEPER_SIGNAL, .signal = request->signal});
}

void exec_resize(struct exec_table *table, const cua_ExecResize *request) {
	give_order(table, request->serial,
		&(struct keeper_order){
			.kind = KEEPER_RESIZE, .columns = request->columns, .rows = request->rows});
}
