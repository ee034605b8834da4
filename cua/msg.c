/* Messages over SOCK_SEQPACKET; see the header. This file is where bytes of an untrusted peer are
 * checked first: nothing else of a message is looked at before its row agrees. */
#include "cua/msg.h"

#include <errno.h>
#include <pb_decode.h>
#include <pb_encode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/msg_priv.h"

struct head {
	uint16_t type;
	uint8_t blob_count;
	uint8_t in_memfd;
	uint32_t body_len;
	uint32_t blob_len[CUA_MSG_BLOBS];
};

struct msg_def {
	const char *name;
	const pb_msgdesc_t *fields;
	unsigned dirs;
	uint8_t fd_min;
	uint8_t fd_max;
	uint8_t blob_max;
};

#define ANY_DIR                                                                                    \
	(CUA_DIR_SUPERVISOR_TO_CUAD | CUA_DIR_CUAD_TO_SUPERVISOR | CUA_DIR_SUPERVISOR_TO_WORKER |  \
		CUA_DIR_WORKER_TO_SUPERVISOR | CUA_DIR_CUAD_TO_WORKER | CUA_DIR_WORKER_TO_CUAD |   \
		CUA_DIR_CUAD_TO_INIT | CUA_DIR_INIT_TO_CUAD)

/* name, body, who to whom, descriptors at least and at most, blobs at most */
static const struct msg_def defs[CUA_MSG_MAX_] = {
	[CUA_MSG_HELLO] = {"hello", cua_Hello_fields, ANY_DIR, 0, 0, 0},
	[CUA_MSG_REPLY] = {"reply", cua_Reply_fields,
		CUA_DIR_SUPERVISOR_TO_CUAD | CUA_DIR_INIT_TO_CUAD, 0, 0, 0},
	[CUA_MSG_CONFIG] = {"config", cua_Config_fields, CUA_DIR_CONFIG, 0, 0, 0},
	[CUA_MSG_SESSION_CREATE] = {"session_create", cua_SessionCreate_fields,
		CUA_DIR_CUAD_TO_SUPERVISOR, 0, 0, 0},
	[CUA_MSG_SESSION_DELETE] = {"session_delete", cua_SessionDelete_fields,
		CUA_DIR_CUAD_TO_SUPERVISOR, 0, 0, 0},
	[CUA_MSG_SESSION_STATE] = {"session_state", cua_SessionState_fields,
		CUA_DIR_SUPERVISOR_TO_CUAD, 0, 0, 0},
	[CUA_MSG_SESSION_LINK] = {"session_link", cua_SessionLink_fields,
		CUA_DIR_SUPERVISOR_TO_CUAD, 1, 1, 0},
	[CUA_MSG_USAGE_REQUEST] = {"usage_request", cua_UsageRequest_fields,
		CUA_DIR_CUAD_TO_SUPERVISOR, 0, 0, 0},
	[CUA_MSG_USAGE] = {"usage", cua_Usage_fields, CUA_DIR_SUPERVISOR_TO_CUAD, 0, 0, 0},
	[CUA_MSG_LISTENER] = {"listener", cua_ListenerHandover_fields, CUA_DIR_SUPERVISOR_TO_CUAD,
		1, 1, 0},
	[CUA_MSG_SYNCED] = {"synced", cua_Synced_fields, CUA_DIR_SUPERVISOR_TO_CUAD, 0, 0, 0},
	[CUA_MSG_TEMPLATE_REQUEST] = {"template_request", cua_TemplateRequest_fields,
		CUA_DIR_CUAD_TO_SUPERVISOR, 0, 0, 0},
	[CUA_MSG_BUILD_PROGRESS] = {"build_progress", cua_BuildProgress_fields,
		CUA_DIR_SUPERVISOR_TO_CUAD, 0, 0, 0},
	[CUA_MSG_WORKER_START] = {"worker_start", cua_WorkerStart_fields,
		CUA_DIR_SUPERVISOR_TO_WORKER, 2, 2, 0},
	[CUA_MSG_WORKER_LINK] = {"worker_link", cua_WorkerLink_fields, CUA_DIR_SUPERVISOR_TO_WORKER,
		1, 1, 0},
	[CUA_MSG_WORKER_STATE] = {"worker_state", cua_WorkerState_fields,
		CUA_DIR_WORKER_TO_SUPERVISOR, 0, 0, 0},
	[CUA_MSG_ACTION_REQUEST] = {"action_request", cua_ActionRequest_fields,
		CUA_DIR_CUAD_TO_WORKER, 0, 0, CUA_MSG_BLOBS},
	[CUA_MSG_ACTION_RESULT] = {"action_result", cua_ActionResult_fields, CUA_DIR_WORKER_TO_CUAD,
		0, 0, 1},
	[CUA_MSG_LEASE_END] = {"lease_end", cua_LeaseEnd_fields, CUA_DIR_CUAD_TO_WORKER, 0, 0, 0},
	[CUA_MSG_EXEC_START] = {"exec_start", cua_ExecStart_fields, CUA_DIR_CUAD_TO_INIT, 0, 3, 2},
	[CUA_MSG_EXEC_STARTED] = {"exec_started", cua_ExecStarted_fields, CUA_DIR_INIT_TO_CUAD, 0,
		0, 0},
	[CUA_MSG_EXEC_EXIT] = {"exec_exit", cua_ExecExit_fields, CUA_DIR_INIT_TO_CUAD, 0, 0, 0},
	[CUA_MSG_EXEC_SIGNAL] = {"exec_signal", cua_ExecSignal_fields, CUA_DIR_CUAD_TO_INIT, 0, 0,
		0},
	[CUA_MSG_EXEC_RESIZE] = {"exec_resize", cua_ExecResize_fields, CUA_DIR_CUAD_TO_INIT, 0, 0,
		0},
	[CUA_MSG_DESKTOP_COMMAND] = {"desktop_command", cua_DesktopCommand_fields,
		CUA_DIR_CUAD_TO_INIT, 0, 0, 2},
	[CUA_MSG_FILE_REQUEST] = {"file_request", cua_FileRequest_fields, CUA_DIR_CUAD_TO_INIT, 0,
		1, 0},
	[CUA_MSG_FILE_END] = {"file_end", cua_FileEnd_fields, CUA_DIR_CUAD_TO_INIT, 0, 0, 0},
	[CUA_MSG_FILE_RESULT] = {"file_result", cua_FileResult_fields, CUA_DIR_INIT_TO_CUAD, 0, 1,
		1},
	[CUA_MSG_SERVICE_EVENT] = {"service_event", cua_ServiceEvent_fields, CUA_DIR_INIT_TO_CUAD,
		0, 0, 0},
	[CUA_MSG_SOCKET_REQUEST] = {"socket_request", cua_SocketRequest_fields,
		CUA_DIR_WORKER_TO_CUAD, 0, 0, 0},
	[CUA_MSG_SOCKET_RESULT] = {"socket_result", cua_SocketResult_fields, CUA_DIR_CUAD_TO_WORKER,
		0, 1, 0},
};

static const struct msg_def *def_of(unsigned type) {
	return type < CUA_MSG_MAX_ && defs[type].name ? &defs[type] : NULL;
}

const char *cua_msg_name(enum cua_msg_type type) {
	const struct msg_def *def = def_of(type);
	return def ? def->name : "?";
}

/* ---------------------------------------------------------------- sending */

static size_t blobs_total(const struct cua_out *out) {
	size_t total = 0;
	for (size_t i = 0; i < out->blob_count; i++) {
		total += out->blob[i].len;
	}
	return total;
}

/* Copies the blobs one after the other into *to. */
static void blobs_copy(const struct cua_out *out, uint8_t *to) {
	for (size_t i = 0; i < out->blob_count; i++) {
		if (out->blob[i].len > 0) {
			memcpy(to, out->blob[i].data, out->blob[i].len);
			to += out->blob[i].len;
		}
	}
}

static int blobs_memfd(const struct cua_out *out, size_t total, struct cua_err *err) {
	if (out->blob_count == 1) {
		return fd_memfd_sealed(out->blob[0].data, total, err);
	}
	_cleanup_free_ uint8_t *joined = malloc(total);
	if (!joined) {
		return cua_err_set(
			err, CUA_EXHAUSTED, "no memory for a message of %zu bytes", total);
	}
	blobs_copy(out, joined);
	return fd_memfd_sealed(joined, total, err);
}

static int head_check(const struct cua_out *out, const struct msg_def *def, struct cua_err *err) {
	if (!def || out->blob_count > def->blob_max || out->fd_count > def->fd_max ||
		out->fd_count < def->fd_min) {
		return cua_err_set(
			err, CUA_INTERNAL, "message %u does not fit its row", (unsigned)out->type);
	}
	if (blobs_total(out) > CUA_BLOB_MAX) {
		return cua_err_set(err, CUA_TOO_LARGE, "message %s: %zu bytes are more than %u",
			def->name, blobs_total(out), CUA_BLOB_MAX);
	}
	return 0;
}

/* Writes head, body and inline blobs into the buffer; the datagram's length or negative. */
static ssize_t encode(const struct cua_out *out, const struct msg_def *def, bool in_memfd,
	uint8_t buf[CUA_MSG_MAX], struct cua_err *err) {
	struct head head = {.type = (uint16_t)out->type,
		.blob_count = (uint8_t)out->blob_count,
		.in_memfd = in_memfd};
	for (size_t i = 0; i < out->blob_count; i++) {
		head.blob_len[i] = (uint32_t)out->blob[i].len;
	}
	size_t tail = in_memfd ? 0 : blobs_total(out);
	pb_ostream_t stream =
		pb_ostream_from_buffer(buf + sizeof(head), CUA_MSG_MAX - sizeof(head) - tail);
	if (!pb_encode(&stream, def->fields, out->body)) {
		return cua_err_set(err, CUA_TOO_LARGE, "message %s cannot be encoded: %s",
			def->name, PB_GET_ERROR(&stream));
	}
	head.body_len = (uint32_t)stream.bytes_written;
	memcpy(buf, &head, sizeof(head));
	if (tail > 0) {
		blobs_copy(out, buf + sizeof(head) + stream.bytes_written);
	}
	return (ssize_t)(sizeof(head) + stream.bytes_written + tail);
}

int cua_packet_send(int sock, const struct cua_packet *packet, struct cua_err *err) {
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * (CUA_MSG_FDS + 1))];
	} control = {0};
	struct iovec iov = {.iov_base = packet->data, .iov_len = packet->len};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
	if (packet->fd_count > 0) {
		mh.msg_control = control.space;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * packet->fd_count);
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&mh);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * packet->fd_count);
		memcpy(CMSG_DATA(cmsg), packet->fd, sizeof(int) * packet->fd_count);
	}
	for (;;) {
		if (sendmsg(sock, &mh, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
			return 0;
		}
		if (errno == EINTR) {
			continue;
		}
		if (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS) {
			return cua_err_set(err, CUA_EXHAUSTED, "the peer does not read");
		}
		return cua_err_set(err, CUA_NOT_FOUND, "the peer is gone: %s", strerror(errno));
	}
}

int cua_packet_make(const struct cua_out *out, uint8_t buf[CUA_MSG_MAX], struct cua_packet *ret,
	struct cua_err *err) {
	const struct msg_def *def = def_of(out->type);
	int r = head_check(out, def, err);
	if (r < 0) {
		return r;
	}
	*ret = (struct cua_packet){.data = buf, .memfd = -1};
	size_t total = blobs_total(out);
	_cleanup_fd_ int memfd = -1;
	bool in_memfd = total > CUA_MSG_INLINE;
	if (in_memfd && out->memfd) {
		ret->fd[ret->fd_count++] = *out->memfd;
	} else if (in_memfd) {
		memfd = blobs_memfd(out, total, err);
		if (memfd < 0) {
			return memfd;
		}
		ret->fd[ret->fd_count++] = memfd;
	}
	for (size_t i = 0; i < out->fd_count; i++) {
		ret->fd[ret->fd_count++] = out->fd[i];
	}
	ssize_t len = encode(out, def, in_memfd, buf, err);
	if (len < 0) {
		return (int)len;
	}
	ret->len = (size_t)len;
	ret->memfd = take_fd(memfd);
	return 0;
}

int cua_msg_send(int sock, const struct cua_out *out, struct cua_err *err) {
	uint8_t buf[CUA_MSG_MAX];
	struct cua_packet packet;
	int r = cua_packet_make(out, buf, &packet, err);
	if (r < 0) {
		return r;
	}
	_cleanup_fd_ int memfd = packet.memfd;
	return cua_packet_send(sock, &packet, err);
}

/* ---------------------------------------------------------------- receiving */

static void drop_fds(struct cua_msg *msg) {
	for (size_t i = 0; i < CUA_MSG_FDS; i++) {
		if (msg->fd[i] >= 0) {
			(void)close(msg->fd[i]);
		}
		msg->fd[i] = -1;
	}
	msg->fd_count = 0;
}

void cua_msg_done(struct cua_msg *msg) {
	drop_fds(msg);
	if (msg->map_) {
		(void)munmap(msg->map_, msg->map_len_);
	}
	msg->map_ = NULL;
	msg->blob_count = 0;
}

/* Takes the memfd out of the descriptors and maps it. */
static int blobs_map(struct cua_msg *msg, size_t total, struct cua_err *err) {
	if (msg->fd_count == 0) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a message lacks its memory");
	}
	_cleanup_fd_ int memfd = msg->fd[0];
	msg->fd_count--;
	memmove(msg->fd, msg->fd + 1, sizeof(int) * (CUA_MSG_FDS - 1));
	msg->fd[CUA_MSG_FDS - 1] = -1;
	const void *map = NULL;
	int r = fd_map_sealed(memfd, total, &map, err);
	if (r < 0) {
		return r;
	}
	msg->map_ = (void *)(uintptr_t)map;
	msg->map_len_ = total;
	return 0;
}

static int blobs_place(struct cua_msg *msg, const struct head *head, const uint8_t *tail,
	size_t tail_len, struct cua_err *err) {
	size_t total = 0;
	for (size_t i = 0; i < head->blob_count; i++) {
		total += head->blob_len[i];
	}
	if (total > CUA_BLOB_MAX || tail_len != (head->in_memfd ? 0 : total)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a message's blobs have a wrong size");
	}
	if (head->in_memfd) {
		int r = blobs_map(msg, total, err);
		if (r < 0) {
			return r;
		}
		tail = msg->map_;
	}
	for (size_t i = 0; i < head->blob_count; i++) {
		msg->blob[i] = (struct cua_span){.data = tail, .len = head->blob_len[i]};
		tail += head->blob_len[i];
	}
	msg->blob_count = head->blob_count;
	return 0;
}

static int body_decode(struct cua_msg *msg, const struct msg_def *def, const uint8_t *body,
	size_t len, struct cua_err *err) {
	pb_istream_t stream = pb_istream_from_buffer(body, len);
	if (!pb_decode(&stream, def->fields, &msg->body)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "message %s is malformed: %s", def->name,
			PB_GET_ERROR(&stream));
	}
	return 0;
}

static int parse(struct cua_msg *msg, size_t len, unsigned dirs, struct cua_err *err) {
	struct head head;
	if (len < sizeof(head)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a message is too short");
	}
	memcpy(&head, msg->raw_, sizeof(head));
	const struct msg_def *def = def_of(head.type);
	if (!def || !(def->dirs & dirs)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "message type %u is not for this peer",
			(unsigned)head.type);
	}
	if (head.blob_count > def->blob_max || head.in_memfd > 1 ||
		head.body_len > len - sizeof(head)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "message %s has a wrong head", def->name);
	}
	const uint8_t *body = msg->raw_ + sizeof(head);
	msg->type = (enum cua_msg_type)head.type;
	int r = blobs_place(
		msg, &head, body + head.body_len, len - sizeof(head) - head.body_len, err);
	if (r < 0) {
		return r;
	}
	if (msg->fd_count < def->fd_min || msg->fd_count > def->fd_max) {
		return cua_err_set(err, CUA_BAD_REQUEST, "message %s has %zu descriptors",
			def->name, msg->fd_count);
	}
	return body_decode(msg, def, body, head.body_len, err);
}

int cua_msg_parse(struct cua_msg *ret, size_t len, unsigned dirs, struct cua_err *err) {
	ret->map_ = NULL;
	ret->blob_count = 0;
	int r = parse(ret, len, dirs, err);
	if (r < 0) {
		cua_msg_done(ret);
		return r;
	}
	return 1;
}

/* Collects the descriptors; surplus ones are closed and make the message bad. */
static bool collect_fds(struct cua_msg *msg, struct msghdr *mh) {
	bool surplus = false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			continue;
		}
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd = -1;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (msg->fd_count < CUA_MSG_FDS) {
				msg->fd[msg->fd_count++] = fd;
			} else {
				(void)close(fd);
				surplus = true;
			}
		}
	}
	return !surplus;
}

int cua_msg_recv(int sock, unsigned dirs, struct cua_msg *ret, struct cua_err *err) {
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * (CUA_MSG_FDS + 1))];
	} control;
	struct iovec iov = {.iov_base = ret->raw_, .iov_len = sizeof(ret->raw_)};
	struct msghdr mh = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space)};
	for (size_t i = 0; i < CUA_MSG_FDS; i++) {
		ret->fd[i] = -1;
	}
	ret->fd_count = 0;
	ssize_t n = 0;
	/* A peer that closes with messages of ours unread leaves ECONNRESET, told once and before the
	 * messages that it sent earlier. */
	do {
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
		return 0;
	}
	if (n <= 0) {
		return cua_err_set(err, CUA_NOT_FOUND, "the peer is gone");
	}
	bool fds_ok = collect_fds(ret, &mh);
	if (!fds_ok || (mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		drop_fds(ret);
		return cua_err_set(err, CUA_BAD_REQUEST, "a message was cut off");
	}
	return cua_msg_parse(ret, (size_t)n, dirs, err);
}

/* ---------------------------------------------------------------- small helpers */

cua_Error cua_error_to_wire(const struct cua_err *err) {
	cua_Error wire = {.code = (uint32_t)err->code, .has_message = true};
	(void)snprintf(wire.message, sizeof(wire.message), "%s", err->message);
	wire.has_subject = err->subject[0] != '\0';
	(void)snprintf(wire.subject, sizeof(wire.subject), "%s", err->subject);
	return wire;
}

int cua_error_from_wire(const cua_Error *wire, struct cua_err *err) {
	enum cua_code code = CUA_INTERNAL;
	if (wire->code > 0 && wire->code < CUA_CODE_MAX_) {
		code = (enum cua_code)wire->code;
	}
	return cua_err_about(err, code, wire->has_subject ? wire->subject : "", "%s",
		wire->has_message ? wire->message : "");
}

const char *cua_build_id(void) {
	return CUA_BUILD_ID;
}

int cua_hello_send(int sock, struct cua_err *err) {
	cua_Hello hello = {0};
	(void)snprintf(hello.build, sizeof(hello.build), "%s", cua_build_id());
	return cua_msg_send(sock, &(struct cua_out){.type = CUA_MSG_HELLO, .body = &hello}, err);
}

int cua_hello_check(const struct cua_msg *msg, struct cua_err *err) {
	if (strcmp(msg->body.hello.build, cua_build_id()) != 0) {
		return cua_err_set(err, CUA_CONFLICT, "the peer is build %s, this is %s",
			msg->body.hello.build, cua_build_id());
	}
	return 0;
}

int cua_strings_count(struct cua_span blob, size_t max, struct cua_err *err) {
	const char *p = blob.data;
	size_t count = 0;
	for (size_t i = 0; i < blob.len; i++) {
		count += p[i] == '\0';
	}
	if (count > max || (blob.len > 0 && p[blob.len - 1] != '\0')) {
		return cua_err_set(
			err, CUA_INVALID, "a list of strings is malformed or longer than %zu", max);
	}
	return (int)count;
}

char **cua_strings_split(struct cua_span blob, size_t max, struct cua_err *err) {
	int count = cua_strings_count(blob, max, err);
	if (count < 0) {
		return NULL;
	}
	char **list = calloc((size_t)count + 1, sizeof(*list));
	if (!list) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for %d strings", count);
		return NULL;
	}
	char *p = (char *)(uintptr_t)blob.data;
	for (int i = 0; i < count; i++) {
		list[i] = p;
		p += strlen(p) + 1;
	}
	return list;
}

static int item_put(const pb_msgdesc_t *fields, const void *item, const struct cua_span *to,
	struct cua_err *err) {
	pb_ostream_t stream = pb_ostream_from_buffer((void *)(uintptr_t)to->data, to->len);
	if (!pb_encode_delimited(&stream, fields, item)) {
		return cua_err_set(err, CUA_TOO_LARGE, "an item of a list cannot be encoded: %s",
			PB_GET_ERROR(&stream));
	}
	return (int)stream.bytes_written;
}

static int item_next(
	struct cua_span *rest, const pb_msgdesc_t *fields, void *ret_item, struct cua_err *err) {
	if (rest->len == 0) {
		return 0;
	}
	pb_istream_t stream = pb_istream_from_buffer(rest->data, rest->len);
	if (!pb_decode_delimited(&stream, fields, ret_item)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "an item of a list is malformed: %s",
			PB_GET_ERROR(&stream));
	}
	rest->data = (const uint8_t *)rest->data + (rest->len - stream.bytes_left);
	rest->len = stream.bytes_left;
	return 1;
}

int cua_entry_put(const cua_FileEntry *entry, void *buf, size_t size, struct cua_err *err) {
	return item_put(
		cua_FileEntry_fields, entry, &(struct cua_span){.data = buf, .len = size}, err);
}

int cua_entry_next(struct cua_span *rest, cua_FileEntry *ret, struct cua_err *err) {
	return item_next(rest, cua_FileEntry_fields, ret, err);
}

int cua_node_put(const cua_UiNode *node, void *buf, size_t size, struct cua_err *err) {
	return item_put(cua_UiNode_fields, node, &(struct cua_span){.data = buf, .len = size}, err);
}

int cua_node_next(struct cua_span *rest, cua_UiNode *ret, struct cua_err *err) {
	return item_next(rest, cua_UiNode_fields, ret, err);
}
