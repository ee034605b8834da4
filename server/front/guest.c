/* E5; see the header. Only messages: pipes are filled and emptied by those who made them. */
#include "server/front/guest.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define START_DEADLINE_MS 30000
#define FILE_DEADLINE_MS 60000

struct guest {
	struct peer *peer;
	struct loop *loop;
	void (*on_down)(void *owner, const struct cua_err *why);
	void *owner;
	size_t commands;
};

struct command {
	struct guest *guest;
	const struct guest_command_ops *ops;
	void *data;
	bool detach;
};

static int on_service_event(void *owner, struct cua_msg *msg, struct cua_err *err) {
	(void)owner;
	(void)msg;
	(void)err;
	return 0; /* programs of the desktop are cuad-init's business */
}

static const struct peer_row rows[] = {
	PEER_ANSWER(CUA_MSG_REPLY, reply),
	PEER_ANSWER(CUA_MSG_EXEC_STARTED, exec_started),
	PEER_ANSWER(CUA_MSG_EXEC_EXIT, exec_exit),
	PEER_ANSWER(CUA_MSG_FILE_RESULT, file_result),
	{.type = CUA_MSG_SERVICE_EVENT, .handle = on_service_event},
};

static void on_peer_down(void *owner, const struct cua_err *why) {
	struct guest *guest = owner;
	guest->on_down(guest->owner, why);
}

struct guest *guest_new(struct loop *loop, struct cua_msg *scratch, int sock,
	void (*on_down)(void *owner, const struct cua_err *why), void *owner, struct cua_err *err) {
	struct guest *guest = calloc(1, sizeof(*guest));
	if (!guest) {
		(void)close(sock);
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for an edge");
		return NULL;
	}
	*guest = (struct guest){.loop = loop, .on_down = on_down, .owner = owner};
	guest->peer = peer_new(sock,
		&(struct peer_config){.loop = loop,
			.scratch = scratch,
			.dirs = CUA_DIR_INIT_TO_CUAD,
			.rows = rows,
			.row_count = CUA_COUNT(rows),
			.on_down = on_peer_down,
			.owner = guest},
		err);
	if (!guest->peer) {
		free(guest);
		return NULL;
	}
	return guest;
}

struct guest *guest_free(struct guest *guest) {
	if (guest) {
		(void)peer_free(guest->peer);
		free(guest);
	}
	return NULL;
}

struct loop *guest_loop(const struct guest *guest) {
	return guest->loop;
}

size_t guest_commands(const struct guest *guest) {
	return guest->commands;
}

/* ---------------------------------------------------------------- commands */

static void command_end(
	struct command *command, const cua_ExecExit *exit, const struct cua_err *err) {
	command->guest->commands--;
	command->ops->ended(command->data, exit, err);
	free(command);
}

static bool on_started(struct command *command, const cua_ExecStarted *started) {
	if (command->ops->started) {
		command->ops->started(command->data, started->pid);
	}
	if (command->detach) {
		command_end(command, NULL, NULL);
		return false;
	}
	return true;
}

static bool on_command_answer(void *data, struct cua_msg *msg, const struct cua_err *err) {
	struct command *command = data;
	if (msg && msg->type == CUA_MSG_EXEC_STARTED) {
		return on_started(command, &msg->body.exec_started);
	}
	struct cua_err own;
	if (!msg) {
		command_end(command, NULL, err);
	} else if (msg->type != CUA_MSG_EXEC_EXIT) {
		(void)cua_err_set(
			&own, CUA_INTERNAL, "%s answers a command", cua_msg_name(msg->type));
		command_end(command, NULL, &own);
	} else if (msg->body.exec_exit.has_error) {
		(void)cua_error_from_wire(&msg->body.exec_exit.error, &own);
		command_end(command, NULL, &own);
	} else {
		command_end(command, &msg->body.exec_exit, NULL);
	}
	return false;
}

static void exec_start_fill(cua_ExecStart *start, const struct guest_command *wanted) {
	start->has_user = wanted->user != NULL;
	start->has_cwd = wanted->cwd != NULL;
	(void)snprintf(start->user, sizeof(start->user), "%s", wanted->user ? wanted->user : "");
	(void)snprintf(start->cwd, sizeof(start->cwd), "%s", wanted->cwd ? wanted->cwd : "");
	start->has_tty = start->tty = wanted->tty;
	start->has_columns = start->has_rows = wanted->tty;
	start->columns = wanted->columns;
	start->rows = wanted->rows;
	start->has_detach = start->detach = wanted->detach;
}

int guest_start(struct guest *guest, const struct guest_command *wanted, const int *fds,
	size_t fd_count, const struct guest_command_ops *ops, void *data, uint32_t *ret_serial,
	struct cua_err *err) {
	if (guest->commands >= CUA_EXEC_PER_SESSION) {
		return cua_err_about(err, CUA_EXHAUSTED, "commands",
			"%d commands of this session run already", CUA_EXEC_PER_SESSION);
	}
	_cleanup_free_ struct command *command = calloc(1, sizeof(*command));
	_cleanup_free_ cua_ExecStart *start = calloc(1, sizeof(*start));
	if (!command || !start) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a command");
	}
	*command = (struct command){
		.guest = guest, .ops = ops, .data = data, .detach = wanted->detach};
	exec_start_fill(start, wanted);
	start->serial = peer_serial(guest->peer);
	struct peer_call call = {.serial = start->serial,
		.deadline_ms = START_DEADLINE_MS,
		.answer = on_command_answer,
		.data = command};
	const struct cua_span blob[] = {wanted->argv, wanted->env};
	int r = peer_call(guest->peer, &call,
		&(struct cua_out){.type = CUA_MSG_EXEC_START,
			.body = start,
			.blob = blob,
			.blob_count = CUA_COUNT(blob),
			.fd = fds,
			.fd_count = fd_count},
		err);
	if (r < 0) {
		return r;
	}
	(void)take_ptr(command);
	guest->commands++;
	*ret_serial = start->serial;
	return 0;
}

void guest_signal(struct guest *guest, uint32_t serial, int signal) {
	cua_ExecSignal body = {.serial = serial, .signal = signal};
	/* a broken edge ends the command by itself */
	(void)!peer_send(
		guest->peer, &(struct cua_out){.type = CUA_MSG_EXEC_SIGNAL, .body = &body}, NULL);
}

void guest_resize(struct guest *guest, uint32_t serial, uint32_t columns, uint32_t lines) {
	cua_ExecResize body = {.serial = serial, .columns = columns, .rows = lines};
	(void)!peer_send(
		guest->peer, &(struct cua_out){.type = CUA_MSG_EXEC_RESIZE, .body = &body}, NULL);
}

/* A failing command of the desktop shows on the desktop, not here. */
static bool on_desktop_command(void *data, struct cua_msg *msg, const struct cua_err *err) {
	(void)data;
	(void)msg;
	(void)err;
	return false;
}

int guest_desktop_command(
	struct guest *guest, struct cua_span argv, struct cua_span env, struct cua_err *err) {
	cua_DesktopCommand body = {.serial = peer_serial(guest->peer)};
	const struct cua_span blob[] = {argv, env};
	return peer_call(guest->peer,
		&(struct peer_call){.serial = body.serial, .answer = on_desktop_command},
		&(struct cua_out){.type = CUA_MSG_DESKTOP_COMMAND,
			.body = &body,
			.blob = blob,
			.blob_count = CUA_COUNT(blob)},
		err);
}

/* ---------------------------------------------------------------- files */

int guest_file(struct guest *guest, cua_FileRequest *wanted, int fd, peer_answer *answer,
	void *data, struct cua_err *err) {
	wanted->serial = peer_serial(guest->peer);
	bool writes = wanted->op == cua_FileOp_FILE_WRITE || wanted->op == cua_FileOp_FILE_APPEND;
	return peer_call(guest->peer,
		&(struct peer_call){.serial = wanted->serial,
			.deadline_ms = writes ? 0 : FILE_DEADLINE_MS,
			.answer = answer,
			.data = data},
		&(struct cua_out){.type = CUA_MSG_FILE_REQUEST,
			.body = wanted,
			.fd = &fd,
			.fd_count = fd >= 0 ? 1 : 0},
		err);
}

int guest_connect(struct guest *guest, const char *path, peer_answer *answer, void *data,
	struct cua_err *err) {
	_cleanup_free_ cua_FileRequest *wanted = calloc(1, sizeof(*wanted));
	if (!wanted) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a request");
	}
	wanted->op = cua_FileOp_FILE_CONNECT;
	(void)snprintf(wanted->path, sizeof(wanted->path), "%s", path);
	return guest_file(guest, wanted, -1, answer, data, err);
}

int guest_file_end(
	struct guest *guest, uint32_t serial, uint64_t size, bool abort, struct cua_err *err) {
	cua_FileEnd body = {.serial = serial, .size = size, .has_abort = abort, .abort = abort};
	return peer_send(
		guest->peer, &(struct cua_out){.type = CUA_MSG_FILE_END, .body = &body}, err);
}

void guest_forget(struct guest *guest, uint32_t serial) {
	peer_forget(guest->peer, serial);
}
