/* PID 1's side of file requests: a row for each child, whose results are relayed after a look at
 * their type and serial. */
#include "server/init/files.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "server/init/file_ops.h"
#include "server/init/spawn.h"

struct file_op {
	struct files *files;
	struct loop_source source; /* the child's control socket; owned */
	uint32_t serial;
	bool reading;
};

struct files {
	struct loop *loop;
	files_send_fn *send;
	void *self;
	struct file_op op[CUA_FILE_OPS];
	struct cua_msg in;
};

static void forget(struct file_op *op) {
	int fd = op->source.fd;
	loop_remove(op->files->loop, &op->source);
	if (fd >= 0) {
		(void)close(fd);
	}
}

static void send_failure(const struct files *files, uint32_t serial, const struct cua_err *err) {
	cua_FileResult body = {
		.serial = serial, .has_error = true, .error = cua_error_to_wire(err)};
	files->send(files->self, &(struct cua_out){.type = CUA_MSG_FILE_RESULT, .body = &body});
}

/* True when the result was the last one. */
static bool relay(const struct file_op *op, const struct cua_msg *msg) {
	const cua_FileResult *result = &msg->body.file_result;
	op->files->send(op->files->self, &(struct cua_out){.type = CUA_MSG_FILE_RESULT,
						 .body = result,
						 .blob = msg->blob,
						 .blob_count = msg->blob_count,
						 .fd = msg->fd,
						 .fd_count = msg->fd_count});
	return result->has_error || !op->reading || (result->has_done && result->done);
}

static void on_result(void *self, uint32_t events) {
	(void)events;
	struct file_op *op = self;
	struct cua_msg *msg = &op->files->in;
	struct cua_err err;
	int r = cua_msg_recv(op->source.fd, CUA_DIR_INIT_TO_CUAD, msg, &err);
	if (r == 0) {
		return;
	}
	if (r < 0) {
		(void)cua_err_set(&err, CUA_INTERNAL, "a file operation was killed");
		send_failure(op->files, op->serial, &err);
		forget(op);
		return;
	}
	bool last = true;
	if (msg->type == CUA_MSG_FILE_RESULT && msg->body.file_result.serial == op->serial) {
		last = relay(op, msg);
	}
	cua_msg_done(msg);
	if (last) {
		forget(op);
	}
}

struct files *files_new(struct loop *loop, files_send_fn *send, void *self) {
	struct files *files = calloc(1, sizeof(*files));
	if (!files) {
		return NULL;
	}
	files->loop = loop;
	files->send = send;
	files->self = self;
	for (size_t i = 0; i < CUA_COUNT(files->op); i++) {
		struct file_op *op = &files->op[i];
		op->files = files;
		op->source = (struct loop_source){.fd = -1, .fn = on_result, .self = op};
	}
	return files;
}

void files_abort_all(struct files *files) {
	for (size_t i = 0; i < CUA_COUNT(files->op); i++) {
		forget(&files->op[i]);
	}
}

struct files *files_free(struct files *files) {
	if (files) {
		files_abort_all(files);
		free(files);
	}
	return NULL;
}

static struct file_op *find(struct files *files, uint32_t serial) {
	for (size_t i = 0; i < CUA_COUNT(files->op); i++) {
		if (files->op[i].source.fd >= 0 && files->op[i].serial == serial) {
			return &files->op[i];
		}
	}
	return NULL;
}

static struct file_op *find_free(struct files *files) {
	for (size_t i = 0; i < CUA_COUNT(files->op); i++) {
		if (files->op[i].source.fd < 0) {
			return &files->op[i];
		}
	}
	return NULL;
}

static int start_child(struct file_op *op, const struct cua_msg *msg, struct cua_err *err) {
	int pair[2];
	int r = fd_seqpacket_pair(pair, err);
	if (r < 0) {
		return r;
	}
	_cleanup_fd_ int ours = pair[0];
	_cleanup_fd_ int theirs = pair[1];
	const int keep[] = {theirs, msg->fd[0]};
	pid_t pid = spawn_fork(keep, CUA_COUNT(keep), err);
	if (pid == 0) {
		file_ops_run(&msg->body.file_request, theirs, msg->fd[0]);
	}
	if (pid < 0) {
		return (int)pid;
	}
	r = loop_add(op->files->loop, &op->source, ours, EPOLLIN, err);
	if (r < 0) {
		return r;
	}
	(void)take_fd(ours);
	return 0;
}

static int try_request(struct files *files, const struct cua_msg *msg, struct cua_err *err) {
	struct file_op *op = find_free(files);
	if (!op) {
		return cua_err_about(err, CUA_EXHAUSTED, "files",
			"%d file operations run in this session already", CUA_FILE_OPS);
	}
	op->serial = msg->body.file_request.serial;
	op->reading = msg->body.file_request.op == cua_FileOp_FILE_READ;
	return start_child(op, msg, err);
}

int files_request(struct files *files, const struct cua_msg *msg, struct cua_err *err) {
	const cua_FileRequest *request = &msg->body.file_request;
	if (msg->fd_count != file_ops_wants_fd(request->op)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a file request came with %zu descriptors",
			msg->fd_count);
	}
	if (find(files, request->serial)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "serial %u is in use", request->serial);
	}
	struct cua_err failure;
	if (try_request(files, msg, &failure) < 0) {
		send_failure(files, request->serial, &failure);
	}
	return 0;
}

void files_end(struct files *files, const cua_FileEnd *end) {
	const struct file_op *op = find(files, end->serial);
	if (op) {
		(void)!cua_msg_send(op->source.fd,
			&(struct cua_out){.type = CUA_MSG_FILE_END, .body = end}, NULL);
	}
}
