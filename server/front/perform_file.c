/* The file actions: one message asks, and for content a socket pair carries the bytes. Files of any
 * size go through api_file.c; here content is a value in an answer, and bounded. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/front/perform_priv.h"
#include "server/front/result.h"
#include "server/front/stream.h"
#include "server/front/strings.h"

/* What a socket holds at most; with it everything written before `done` has been read. */
#define SOCKET_CAPACITY (16u << 20)

struct transfer {
	struct op *op;
	struct stream *stream;
	struct strings got;
	uint64_t size; /* of the file */
	bool full; /* no memory for all of it */
};

static void transfer_free(struct transfer *t) {
	if (t) {
		(void)stream_free(t->stream);
		strings_done(&t->got);
		free(t);
	}
}
CUA_DEFINE_CLEANUP(struct transfer *, transfer_free)

static void copy_text(char *to, size_t size, const char *from) {
	(void)snprintf(to, size, "%s", from);
}

/* "0644" and the like. */
static int read_mode(const cua_Args *args, cua_FileRequest *ret, struct cua_err *err) {
	if (!args->has_mode) {
		return 0;
	}
	char *end = NULL;
	unsigned long mode = strtoul(args->mode, &end, 8);
	if (args->mode[0] < '0' || args->mode[0] > '7' || *end || mode > 07777) {
		return cua_err_about(
			err, CUA_INVALID, "mode", "mode must be octal, such as \"0644\"");
	}
	ret->has_mode = true;
	ret->mode = (uint32_t)mode;
	return 0;
}

static int request_of(const struct op *op, cua_FileRequest *ret, struct cua_err *err) {
	static const cua_FileOp ops[CUA_ACTION_MAX_] = {
		[CUA_ACTION_FILE_READ] = cua_FileOp_FILE_READ,
		[CUA_ACTION_FILE_WRITE] = cua_FileOp_FILE_WRITE,
		[CUA_ACTION_FILE_APPEND] = cua_FileOp_FILE_APPEND,
		[CUA_ACTION_FILE_LIST] = cua_FileOp_FILE_LIST,
		[CUA_ACTION_FILE_STAT] = cua_FileOp_FILE_STAT,
		[CUA_ACTION_FILE_REMOVE] = cua_FileOp_FILE_REMOVE,
		[CUA_ACTION_FILE_MKDIR] = cua_FileOp_FILE_MKDIR,
		[CUA_ACTION_FILE_MOVE] = cua_FileOp_FILE_MOVE,
	};
	const cua_Args *args = &op->call.args;
	ret->op = ops[op->call.id];
	copy_text(ret->path, sizeof(ret->path), args->path);
	ret->has_destination = args->has_destination;
	copy_text(ret->destination, sizeof(ret->destination), args->destination);
	ret->has_mkdirs = args->has_mkdirs;
	ret->mkdirs = args->mkdirs;
	ret->has_recursive = args->has_recursive;
	ret->recursive = args->recursive;
	return read_mode(args, ret, err);
}

/* ---------------------------------------------------------------- without content */

static json_t *result_of(const struct op *op, struct cua_msg *msg, struct cua_err *err) {
	const cua_FileResult *told = &msg->body.file_result;
	switch (op->action->result) {
	case CUA_RESULT_FILE_LIST:
		return result_list(msg->blob_count > 0 ? msg->blob[0] : (struct cua_span){0},
			told->has_truncated && told->truncated, err);
	case CUA_RESULT_FILE_STAT:
		return result_entry(&told->entry);
	case CUA_RESULT_FILE_SIZE:
		return json_pack("{s:I}", "size", (json_int_t)told->size);
	default:
		return json_object();
	}
}

/* The error in a message or the one instead of it; 0 if there is none. */
static int file_error(struct cua_msg *msg, const struct cua_err *err, struct cua_err *ret) {
	if (!msg) {
		*ret = *err;
		return -(int)err->code;
	}
	if (msg->type != CUA_MSG_FILE_RESULT) {
		return cua_err_set(
			ret, CUA_INTERNAL, "%s answers a file operation", cua_msg_name(msg->type));
	}
	return msg->body.file_result.has_error
		       ? cua_error_from_wire(&msg->body.file_result.error, ret)
		       : 0;
}

static bool on_other(void *data, struct cua_msg *msg, const struct cua_err *err) {
	struct op *op = data;
	struct cua_err own;
	if (file_error(msg, err, &own) < 0) {
		op_fail(op, &own);
		return false;
	}
	(void)cua_err_set(&own, CUA_EXHAUSTED, "no memory for the answer");
	json_t *result = result_of(op, msg, &own);
	if (result) {
		op_result(op, result);
	} else {
		op_fail(op, &own);
	}
	return false;
}

int perform_file_other(struct op *op, struct session *session, struct cua_err *err) {
	_cleanup_free_ cua_FileRequest *wanted = calloc(1, sizeof(*wanted));
	if (!wanted) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a request");
	}
	int r = request_of(op, wanted, err);
	return r < 0 ? r : guest_file(session->guest, wanted, -1, on_other, op, err);
}

/* ---------------------------------------------------------------- with content */

static void on_bytes(void *data, struct cua_span bytes) {
	struct transfer *t = data;
	if (t->got.len + bytes.len > CUA_FILE_READ_MAX ||
		strings_append(&t->got, bytes, NULL) < 0) {
		t->full = true;
	}
}

static const struct stream_ops transfer_ops = {.bytes = on_bytes};

/* A transfer with a socket pair, and the pair's other end. NULL on failure. */
static struct transfer *transfer_open(struct op *op, int *ret_theirs, struct cua_err *err) {
	_cleanup_(transfer_free_p) struct transfer *t = calloc(1, sizeof(*t));
	if (!t) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a file");
		return NULL;
	}
	t->op = op;
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		(void)cua_err_errno(err, errno, "cannot make a socket pair");
		return NULL;
	}
	t->stream = stream_new(op->front->loop, pair[0], &transfer_ops, t, err);
	if (!t->stream) {
		(void)close(pair[1]);
		return NULL;
	}
	*ret_theirs = pair[1];
	return take_ptr(t);
}

static void read_end(struct transfer *t, const cua_FileResult *told) {
	struct op *op = t->op;
	stream_drain(t->stream, SOCKET_CAPACITY);
	struct cua_err err;
	json_t *result = NULL;
	if (t->full) {
		(void)cua_err_set(&err, CUA_EXHAUSTED, "no memory for the file's content");
	} else {
		result = result_file(strings_span(&t->got), t->size, told->eof,
			op->call.args.has_encoding ? op->call.args.encoding : 0, &err);
	}
	transfer_free(t);
	if (result) {
		op_result(op, result);
	} else {
		op_fail(op, &err);
	}
}

static bool on_read_answer(void *data, struct cua_msg *msg, const struct cua_err *err) {
	struct transfer *t = data;
	struct cua_err own;
	if (file_error(msg, err, &own) < 0) {
		struct op *op = t->op;
		transfer_free(t);
		op_fail(op, &own);
		return false;
	}
	t->size = msg->body.file_result.size;
	if (msg->body.file_result.has_done && msg->body.file_result.done) {
		read_end(t, &msg->body.file_result);
		return false;
	}
	return true;
}

int perform_file_read(struct op *op, struct session *session, struct cua_err *err) {
	const cua_Args *args = &op->call.args;
	_cleanup_free_ cua_FileRequest *wanted = calloc(1, sizeof(*wanted));
	if (!wanted) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a request");
	}
	int r = request_of(op, wanted, err);
	if (r < 0) {
		return r;
	}
	wanted->has_offset = true;
	wanted->offset = args->has_offset ? args->offset : 0;
	wanted->has_length = true;
	wanted->length = args->has_length && args->length < CUA_FILE_READ_MAX ? args->length
									      : CUA_FILE_READ_MAX;
	_cleanup_fd_ int theirs = -1;
	_cleanup_(transfer_free_p) struct transfer *t = transfer_open(op, &theirs, err);
	if (!t) {
		return -(int)err->code;
	}
	r = guest_file(session->guest, wanted, theirs, on_read_answer, t, err);
	if (r == 0) {
		(void)take_ptr(t);
	}
	return r;
}

static bool on_write_answer(void *data, struct cua_msg *msg, const struct cua_err *err) {
	struct transfer *t = data;
	struct op *op = t->op;
	transfer_free(t);
	return on_other(op, msg, err);
}

static int content_of(const struct op *op, struct cua_span *ret, struct cua_err *err) {
	const cua_Args *args = &op->call.args;
	if (args->has_text == args->has_data) {
		return cua_err_about(err, CUA_BAD_REQUEST, "text",
			"the content comes either as text or as data_b64");
	}
	*ret = args->has_text ? cua_call_blob(&op->call, true, args->text)
			      : cua_call_blob(&op->call, true, args->data);
	return 0;
}

static int send_content(struct session *session, struct transfer *t, uint32_t serial,
	struct cua_span content, struct cua_err *err) {
	int r = stream_write(t->stream, content, err);
	if (r < 0) {
		return r;
	}
	stream_finish(t->stream);
	return guest_file_end(session->guest, serial, content.len, false, err);
}

int perform_file_write(struct op *op, struct session *session, struct cua_err *err) {
	_cleanup_free_ cua_FileRequest *wanted = calloc(1, sizeof(*wanted));
	if (!wanted) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a request");
	}
	struct cua_span content = {0};
	int r = content_of(op, &content, err);
	if (r == 0) {
		r = request_of(op, wanted, err);
	}
	if (r < 0) {
		return r;
	}
	_cleanup_fd_ int theirs = -1;
	_cleanup_(transfer_free_p) struct transfer *t = transfer_open(op, &theirs, err);
	if (!t) {
		return -(int)err->code;
	}
	r = guest_file(session->guest, wanted, theirs, on_write_answer, t, err);
	if (r < 0) {
		return r;
	}
	r = send_content(session, t, wanted->serial, content, err);
	if (r < 0) {
		guest_forget(session->guest, wanted->serial);
		(void)!guest_file_end(session->guest, wanted->serial, 0, true, NULL);
		return r;
	}
	(void)take_ptr(t);
	return 0;
}
