/* One file request, performed in a child of PID 1 as the agent. */
#pragma once

#include "cua/msg.h"
#include "server/init/account.h"

/* What one request works with. */
struct file_job {
	const cua_FileRequest *request;
	char path[CUA_PATH_SIZE]; /* absolute */
	char destination[CUA_PATH_SIZE]; /* absolute; for a move */
	int control; /* FILE_RESULT out, FILE_END in; closes when nobody waits */
	int data; /* stream socket, or -1 */
	struct cua_msg *in; /* where a FILE_END is received */
};

/* Number of descriptors that a request of this kind comes with: 1 or 0. */
size_t file_ops_wants_fd(cua_FileOp op);

/* The life of the child, made by spawn_fork(): becomes the agent, performs the request and sends its
 * result over control. data is the stream socket or -1. */
_Noreturn void file_ops_run(const cua_FileRequest *request, int control, int data);

/* ---- for the files that perform them ---- */

/* Sends a result over control, its serial filled in. blob may be NULL. */
int file_ops_send(const struct file_job *job, cua_FileResult *result, const struct cua_span *blob,
	struct cua_err *err) CUA_CHECK;
/* The entry of a name relative to a directory (AT_FDCWD: a path), not following symlinks. */
int file_ops_entry(int dirfd, const char *name, cua_FileEntry *ret, struct cua_err *err) CUA_CHECK;
/* Makes all missing directories above a path, 0755. */
int file_ops_make_parents(const char *path, struct cua_err *err) CUA_CHECK;
/* "a directory", "a FIFO", …: what a mode is, for messages. */
const char *file_ops_kind(mode_t mode);

/* FILE_READ: answers with the size, streams, answers again with done (and eof when the end was
 * reached). Refuses what is not a regular file. */
int file_read_perform(const struct file_job *job, struct cua_err *err) CUA_CHECK;
/* FILE_WRITE and FILE_APPEND: take the stream until FILE_END and put it in place as a whole. */
int file_write_perform(const struct file_job *job, struct cua_err *err) CUA_CHECK;
int file_append_perform(const struct file_job *job, struct cua_err *err) CUA_CHECK;
/* FILE_LIST: sorted by name, at most CUA_LIST_ENTRIES. */
int file_list_perform(const struct file_job *job, struct cua_err *err) CUA_CHECK;
/* FILE_REMOVE: with `recursive` a directory and all below it; symlinks are removed, not followed,
 * and mount points are refused. */
int file_remove_perform(const struct file_job *job, struct cua_err *err) CUA_CHECK;
/* FILE_MOVE: as mv does, but never into a directory that exists. */
int file_move_perform(const struct file_job *job, struct cua_err *err) CUA_CHECK;
