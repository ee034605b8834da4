/* /v1/sessions/{id}/files/{path}: content of any size as a stream in both directions, and the small
 * file actions. A path is absolute in the session, or begins with ~/ for the agent's home. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/front/api.h"
#include "server/front/front.h"
#include "server/front/guest.h"
#include "server/front/reply.h"
#include "server/front/stream.h"

#define UNSENT_MAX (1u << 20)

/* One file on its way. */
struct transfer {
	struct request *req; /* NULL after the client has left */
	struct front *front;
	struct identity who;
	char session[CUA_ID_SIZE];
	enum cua_action_id action;
	uint64_t since;
	struct guest *guest; /* as long as the question is open */
	uint32_t serial;
	bool asked;
	struct stream *stream;
	bool begun; /* download: the head of the answer was sent */
	bool told_all; /* download: the init has sent everything */
	bool drained; /* download: and all of it was read */
	uint64_t size; /* upload: bytes so far */
};

/* "~/x" is below the agent's home, where relative paths start; everything else is absolute. */
static int path_of(const struct request *req, char ret[CUA_PATH_SIZE], struct cua_err *err) {
	const char *rest = request_param(req, "path");
	rest = rest ? rest : "";
	int len = 0;
	if (rest[0] == '~' && (rest[1] == '/' || rest[1] == '\0')) {
		len = snprintf(ret, CUA_PATH_SIZE, "%s", rest[1] && rest[2] ? rest + 2 : ".");
	} else {
		len = snprintf(ret, CUA_PATH_SIZE, "/%s", rest);
	}
	/* A part of the path would be another file. */
	return len < CUA_PATH_SIZE ? 0
				   : cua_err_about(err, CUA_INVALID, "path",
					     "a path has at most %d bytes", CUA_PATH_SIZE - 1);
}

/* Notes the end of it, and forgets it. */
static void transfer_end(struct transfer *t, const struct cua_err *err) {
	if (t->asked) {
		guest_forget(t->guest, t->serial);
	}
	perform_end(t->front, &t->who, t->session, t->action, t->since, err);
	(void)stream_free(t->stream);
	free(t);
}

/* Answers with an error, by cutting off if the answer has begun. */
static void transfer_fail(struct transfer *t, const struct cua_err *err) {
	struct cua_err told = *err;
	if (t->req && t->begun) {
		request_stream_end(t->req, true);
	} else if (t->req) {
		request_reply_error(t->req, &told);
	}
	transfer_end(t, &told);
}

static void on_gone(void *data) {
	struct transfer *t = data;
	t->req = NULL;
	struct cua_err err;
	(void)cua_err_set(&err, CUA_CONFLICT, "the client has left");
	if (t->asked && t->action == CUA_ACTION_FILE_WRITE) {
		(void)!guest_file_end(t->guest, t->serial, 0, true, NULL);
	}
	transfer_end(t, &err);
}

/* A transfer with the session's init on the other end of *ret_theirs. NULL: req was answered. */
static struct transfer *transfer_new(struct request *req, enum cua_action_id action,
	const struct stream_ops *ops, int *ret_theirs) {
	struct front *front = request_front(req);
	struct cua_err err;
	struct session *session =
		perform_begin(front, request_identity(req), request_param(req, "id"), action, &err);
	struct transfer *t = session ? calloc(1, sizeof(*t)) : NULL;
	int pair[2] = {-1, -1};
	if (!session || !t || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		if (session) {
			(void)cua_err_set(&err, CUA_EXHAUSTED, "cannot begin to copy a file");
		}
		request_reply_error(req, &err);
		free(t);
		return NULL;
	}
	*t = (struct transfer){.req = req, .front = front, .action = action};
	t->who = *request_identity(req);
	memcpy(t->session, session->told.id, sizeof(t->session));
	t->since = loop_now_ms();
	t->guest = session->guest;
	*ret_theirs = pair[1];
	t->stream = stream_new(front->loop, pair[0], ops, t, &err);
	if (!t->stream) {
		(void)close(pair[1]);
		transfer_fail(t, &err);
		return NULL;
	}
	request_on_gone(req, on_gone, t);
	return t;
}

/* The error of an answer; 0 if it is none. */
static int answer_error(
	struct transfer *t, struct cua_msg *msg, const struct cua_err *err, struct cua_err *ret) {
	if (!msg) {
		t->asked = false;
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

/* ---------------------------------------------------------------- download */

static void download_finish_if_over(struct transfer *t) {
	if (t->told_all && t->drained) {
		request_stream_end(t->req, false);
		transfer_end(t, NULL);
	}
}

static void on_content(void *data, struct cua_span bytes) {
	struct transfer *t = data;
	if (request_stream_write(t->req, bytes) > UNSENT_MAX) {
		stream_pause(t->stream, true);
	}
}

static void on_content_end(void *data) {
	struct transfer *t = data;
	t->drained = true;
	download_finish_if_over(t);
}

static const struct stream_ops download_ops = {.bytes = on_content, .closed = on_content_end};

static void on_client_took(void *data) {
	struct transfer *t = data;
	stream_pause(t->stream, false);
}

/* The size is known: the answer begins. A size of 0 says nothing of files like those in /proc. */
static void download_begin(struct transfer *t, uint64_t size) {
	t->begun = true;
	request_stream_begin(t->req, 200, "application/octet-stream",
		size > 0 && size <= INT64_MAX ? (int64_t)size : -1);
	request_stream_on_drain(t->req, on_client_took, t);
	stream_pause(t->stream, false);
}

static bool on_download(void *data, struct cua_msg *msg, const struct cua_err *err) {
	struct transfer *t = data;
	struct cua_err own;
	if (answer_error(t, msg, err, &own) < 0) {
		t->asked = false;
		transfer_fail(t, &own);
		return false;
	}
	const cua_FileResult *told = &msg->body.file_result;
	if (!t->begun) {
		download_begin(t, told->size);
	}
	if (request_method(t->req) == HTTP_HEAD) {
		t->asked = false;
		request_stream_end(t->req, false);
		transfer_end(t, NULL);
		return false;
	}
	if (told->has_done && told->done) {
		t->asked = false;
		t->told_all = true;
		download_finish_if_over(t);
		return false;
	}
	return true;
}

static void download(struct request *req) {
	int theirs = -1;
	struct cua_err err;
	cua_FileRequest wanted = {.op = cua_FileOp_FILE_READ};
	if (path_of(req, wanted.path, &err) < 0) {
		request_reply_error(req, &err);
		return;
	}
	struct transfer *t = transfer_new(req, CUA_ACTION_FILE_READ, &download_ops, &theirs);
	if (!t) {
		return;
	}
	stream_pause(t->stream, true);
	int r = guest_file(t->guest, &wanted, theirs, on_download, t, &err);
	(void)close(theirs);
	if (r < 0) {
		transfer_fail(t, &err);
		return;
	}
	t->asked = true;
	t->serial = wanted.serial;
}

/* ---------------------------------------------------------------- upload */

static void on_nothing(void *data, struct cua_span bytes) {
	(void)data;
	(void)bytes;
}

static void on_init_took(void *data) {
	struct transfer *t = data;
	request_body_pause(t->req, false);
}

static const struct stream_ops upload_ops = {.bytes = on_nothing, .drained = on_init_took};

static bool on_upload(void *data, struct cua_msg *msg, const struct cua_err *err) {
	struct transfer *t = data;
	struct cua_err own;
	int r = answer_error(t, msg, err, &own);
	t->asked = false;
	if (r < 0) {
		transfer_fail(t, &own);
		return false;
	}
	request_reply_json(
		t->req, 200, json_pack("{s:I}", "size", (json_int_t)msg->body.file_result.size));
	transfer_end(t, NULL);
	return false;
}

static void on_piece(void *data, struct cua_span piece) {
	struct transfer *t = data;
	struct cua_err err;
	int r = 0;
	if (piece.len == 0) {
		stream_finish(t->stream);
		r = guest_file_end(t->guest, t->serial, t->size, false, &err);
	} else {
		t->size += piece.len;
		r = stream_write(t->stream, piece, &err);
	}
	if (r < 0) {
		transfer_fail(t, &err);
	} else if (stream_queued(t->stream) > STREAM_HIGH_WATER) {
		request_body_pause(t->req, true);
	}
}

static bool is_set(const struct request *req, const char *name) {
	const char *text = request_query(req, name);
	return text && strcmp(text, "0") != 0 && strcmp(text, "false") != 0;
}

static int upload_request(const struct request *req, cua_FileRequest *ret, struct cua_err *err) {
	const char *mode = request_query(req, "mode");
	ret->op = cua_FileOp_FILE_WRITE;
	ret->has_mkdirs = ret->mkdirs = is_set(req, "mkdirs");
	if (path_of(req, ret->path, err) < 0) {
		return -(int)err->code;
	}
	if (mode) {
		char *end = NULL;
		unsigned long bits = strtoul(mode, &end, 8);
		if (*mode < '0' || *mode > '7' || *end || bits > 07777) {
			return cua_err_about(
				err, CUA_INVALID, "mode", "mode must be octal, such as 0644");
		}
		ret->has_mode = true;
		ret->mode = (uint32_t)bits;
	}
	return 0;
}

static void put_file(struct request *req) {
	int theirs = -1;
	struct cua_err err;
	cua_FileRequest wanted = {0};
	if (upload_request(req, &wanted, &err) < 0) {
		request_reply_error(req, &err);
		return;
	}
	struct transfer *t = transfer_new(req, CUA_ACTION_FILE_WRITE, &upload_ops, &theirs);
	if (!t) {
		return;
	}
	int r = guest_file(t->guest, &wanted, theirs, on_upload, t, &err);
	(void)close(theirs);
	if (r < 0) {
		transfer_fail(t, &err);
		return;
	}
	t->asked = true;
	t->serial = wanted.serial;
	request_on_body(req, on_piece, t);
}

/* ---------------------------------------------------------------- the small ones */

static void small_action(struct request *req, const char *action) {
	char path[CUA_PATH_SIZE];
	struct cua_err err;
	if (path_of(req, path, &err) < 0) {
		request_reply_error(req, &err);
		return;
	}
	json_t *params = json_pack("{s:s}", "path", path);
	if (!params) {
		(void)cua_err_about(&err, CUA_BAD_REQUEST, "path", "the path is not UTF-8");
		request_reply_error(req, &err);
		return;
	}
	if (strcmp(action, "file_remove") == 0 && is_set(req, "recursive")) {
		(void)json_object_set_new(params, "recursive", json_true());
	}
	reply_action(req, action, params, reply_action_json);
	json_decref(params);
}

static void get_file(struct request *req) {
	if (request_query(req, "list")) {
		small_action(req, "file_list");
	} else if (request_query(req, "stat")) {
		small_action(req, "file_stat");
	} else {
		download(req);
	}
}

static void delete_file(struct request *req) {
	small_action(req, "file_remove");
}

static const struct route routes[] = {
	{.method = HTTP_GET,
		.pattern = "/v1/sessions/{id}/files/{path}",
		.role = CUA_ROLE_AGENT,
		.handler = get_file,
		.summary = "A file's content; ?list a directory's entries; ?stat what it is. The "
			   "path is "
			   "absolute; ~/x is below the agent's home."},
	{.method = HTTP_PUT,
		.pattern = "/v1/sessions/{id}/files/{path}",
		.role = CUA_ROLE_AGENT,
		.handler = put_file,
		.stream = true,
		.summary = "Write a file, whole or not at all; ?mode, ?mkdirs."},
	{.method = HTTP_DELETE,
		.pattern = "/v1/sessions/{id}/files/{path}",
		.role = CUA_ROLE_AGENT,
		.handler = delete_file,
		.summary = "Remove a file; ?recursive a directory with all in it."},
};

const struct route *api_file_routes(size_t *ret_count) {
	*ret_count = CUA_COUNT(routes);
	return routes;
}
