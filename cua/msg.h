/* Messages over SOCK_SEQPACKET: one datagram is one message with its own descriptors.
 *
 * A datagram is a fixed head (type, number of blobs, their lengths), the nanopb body, and the blobs,
 * which are byte strings of any length: together up to CUA_MSG_INLINE in the datagram itself, else
 * in one sealed memfd that goes first among the descriptors. Whatever does not fit the message's row
 * (unknown type, wrong direction, number of descriptors, trailing bytes, truncation) is an error
 * after which the peer must be dropped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/err.h"
#include "cua/limits.h"
#include "wire.pb.h"

/* Who sends a message to whom. */
enum cua_dir {
	CUA_DIR_SUPERVISOR_TO_CUAD = 1 << 0,
	CUA_DIR_CUAD_TO_SUPERVISOR = 1 << 1,
	CUA_DIR_SUPERVISOR_TO_WORKER = 1 << 2,
	CUA_DIR_WORKER_TO_SUPERVISOR = 1 << 3,
	CUA_DIR_CUAD_TO_WORKER = 1 << 4,
	CUA_DIR_WORKER_TO_CUAD = 1 << 5,
	CUA_DIR_CUAD_TO_INIT = 1 << 6,
	CUA_DIR_INIT_TO_CUAD = 1 << 7,
	CUA_DIR_CONFIG = 1 << 8, /* cuad --print-config to the supervisor */
};

enum cua_msg_type {
	CUA_MSG_HELLO = 1,
	CUA_MSG_REPLY,
	CUA_MSG_CONFIG,
	CUA_MSG_SESSION_CREATE,
	CUA_MSG_SESSION_DELETE,
	CUA_MSG_SESSION_STATE,
	CUA_MSG_SESSION_LINK,
	CUA_MSG_USAGE_REQUEST,
	CUA_MSG_USAGE,
	CUA_MSG_LISTENER,
	CUA_MSG_SYNCED,
	CUA_MSG_TEMPLATE_REQUEST,
	CUA_MSG_BUILD_PROGRESS,
	CUA_MSG_WORKER_START,
	CUA_MSG_WORKER_LINK,
	CUA_MSG_WORKER_STATE,
	CUA_MSG_ACTION_REQUEST,
	CUA_MSG_ACTION_RESULT,
	CUA_MSG_LEASE_END,
	CUA_MSG_EXEC_START,
	CUA_MSG_EXEC_STARTED,
	CUA_MSG_EXEC_EXIT,
	CUA_MSG_EXEC_SIGNAL,
	CUA_MSG_EXEC_RESIZE,
	CUA_MSG_DESKTOP_COMMAND,
	CUA_MSG_FILE_REQUEST,
	CUA_MSG_FILE_END,
	CUA_MSG_FILE_RESULT,
	CUA_MSG_SERVICE_EVENT,
	CUA_MSG_SOCKET_REQUEST,
	CUA_MSG_SOCKET_RESULT,
	CUA_MSG_MAX_,
};

struct cua_span {
	const void *data;
	size_t len;
};

/* A received message. Owns its descriptors and the mapping of its blobs until cua_msg_done(). */
struct cua_msg {
	enum cua_msg_type type;
	union {
		cua_Hello hello;
		cua_Reply reply;
		cua_Config config;
		cua_SessionCreate session_create;
		cua_SessionDelete session_delete;
		cua_SessionState session_state;
		cua_SessionLink session_link;
		cua_UsageRequest usage_request;
		cua_Usage usage;
		cua_ListenerHandover listener;
		cua_Synced synced;
		cua_TemplateRequest template_request;
		cua_BuildProgress build_progress;
		cua_WorkerStart worker_start;
		cua_WorkerLink worker_link;
		cua_WorkerState worker_state;
		cua_ActionRequest action_request;
		cua_ActionResult action_result;
		cua_LeaseEnd lease_end;
		cua_ExecStart exec_start;
		cua_ExecStarted exec_started;
		cua_ExecExit exec_exit;
		cua_ExecSignal exec_signal;
		cua_ExecResize exec_resize;
		cua_DesktopCommand desktop_command;
		cua_FileRequest file_request;
		cua_FileEnd file_end;
		cua_FileResult file_result;
		cua_ServiceEvent service_event;
		cua_SocketRequest socket_request;
		cua_SocketResult socket_result;
	} body;
	struct cua_span blob[CUA_MSG_BLOBS];
	size_t blob_count;
	int fd[CUA_MSG_FDS]; /* -1 where empty; move one out with take_fd() to keep it */
	size_t fd_count;
	/* private */
	void *map_;
	size_t map_len_;
	uint8_t raw_[CUA_MSG_MAX];
};

/* The name of a type for logs, for example "session_create"; "?" for an unknown one. */
const char *cua_msg_name(enum cua_msg_type type);

/* What a sender gives: descriptors and blobs stay the caller's. */
struct cua_out {
	enum cua_msg_type type;
	const void *body; /* the cua_… struct of that type */
	const struct cua_span *blob;
	size_t blob_count;
	const int *fd;
	size_t fd_count;
	/* NULL; or a sealed memfd with just the bytes of the only blob: they are not copied */
	const int *memfd;
};

/* Sends one message. 0; -CUA_EXHAUSTED when the socket is full (nothing was sent); another negative
 * cua_code when the peer is gone or the message is larger than allowed. */
int cua_msg_send(int sock, const struct cua_out *out, struct cua_err *err) CUA_CHECK;

/* Receives one message sent in one of these directions (or-ed enum cua_dir). 1: *ret is filled and
 * must be given to cua_msg_done(). 0: nothing there (EAGAIN). -CUA_NOT_FOUND: the peer closed.
 * Any other negative: the peer broke the protocol and must be dropped. *ret is large (about
 * 100 KB): keep one per process, not one on each stack. */
int cua_msg_recv(int sock, unsigned dirs, struct cua_msg *ret, struct cua_err *err) CUA_CHECK;

/* Parses a datagram that is already in ret->raw_ with its descriptors in ret->fd; for
 * cua_msg_recv() and the fuzz target. Results as above. */
int cua_msg_parse(struct cua_msg *ret, size_t len, unsigned dirs, struct cua_err *err) CUA_CHECK;

/* Closes what is left of the descriptors and unmaps the blobs. */
void cua_msg_done(struct cua_msg *msg);

/* Error structs to and from their message form. */
cua_Error cua_error_to_wire(const struct cua_err *err);
/* Returns -code. An unknown code becomes internal. */
int cua_error_from_wire(const cua_Error *wire, struct cua_err *err);

/* The build id that HELLO carries: two programs talk only if theirs are equal. */
const char *cua_build_id(void);
/* Sends HELLO on a fresh edge. */
int cua_hello_send(int sock, struct cua_err *err) CUA_CHECK;
/* Checks a received HELLO. 0, or -CUA_CONFLICT for another build. */
int cua_hello_check(const struct cua_msg *msg, struct cua_err *err) CUA_CHECK;

/* ---- outgoing queue for non-blocking sockets, for any event loop ---- */

/* Messages that did not fit into the socket's buffer, in order; bounded by CUA_CHAN_BACKLOG. */
struct cua_chan {
	int sock; /* owned; -1 when closed */
	struct cua_chan_item *head;
	struct cua_chan_item *tail;
	size_t count;
};

/* Takes over the socket. */
void cua_chan_init(struct cua_chan *chan, int sock);
/* Closes the socket and forgets what was queued. Fine on a done or zero-with-minus-one struct. */
void cua_chan_done(struct cua_chan *chan);
/* Sends now or queues (descriptors are then duplicated). Negative when the backlog is full or the
 * peer is gone: close the channel. */
int cua_chan_send(struct cua_chan *chan, const struct cua_out *out, struct cua_err *err) CUA_CHECK;
/* True while something is queued: watch the socket for writing, then call cua_chan_flush(). */
bool cua_chan_pending(const struct cua_chan *chan);
/* Sends what fits. 0 or negative as cua_chan_send(). */
int cua_chan_flush(struct cua_chan *chan, struct cua_err *err) CUA_CHECK;

/* ---- lists of strings inside a blob: "a\0b\0" ---- */

/* Number of strings, or -CUA_INVALID when the last one has no NUL or there are more than max. */
int cua_strings_count(struct cua_span blob, size_t max, struct cua_err *err) CUA_CHECK;
/* A NULL-terminated array into the blob, which must outlive it; the caller frees the array only.
 * NULL on failure. */
char **cua_strings_split(struct cua_span blob, size_t max, struct cua_err *err);

/* ---- lists of file entries inside a blob, each with its length before it ---- */

/* Encodes one entry into buf. Bytes written, or -CUA_TOO_LARGE when size does not suffice. */
int cua_entry_put(
	const cua_FileEntry *entry, void *buf, size_t size, struct cua_err *err) CUA_CHECK;
/* Takes the first entry off *rest. 1: *ret is filled. 0: the list is at its end. Negative: it is
 * malformed. */
int cua_entry_next(struct cua_span *rest, cua_FileEntry *ret, struct cua_err *err) CUA_CHECK;
/* The same for accessible nodes. */
int cua_node_put(const cua_UiNode *node, void *buf, size_t size, struct cua_err *err) CUA_CHECK;
int cua_node_next(struct cua_span *rest, cua_UiNode *ret, struct cua_err *err) CUA_CHECK;
