/* A session's cuad-init over E5: commands and file operations in the container. Every command that
 * the server starts passes guest_start(). */
#pragma once

#include <sys/types.h>

#include "server/front/peer.h"

struct guest;

/* Takes E5's socket. on_down is called once when the edge is lost; the owner frees the guest. */
struct guest *guest_new(struct loop *loop, struct cua_msg *scratch, int sock,
	void (*on_down)(void *owner, const struct cua_err *why), void *owner, struct cua_err *err);
/* Open calls end with an error. NULL is fine. Returns NULL. */
struct guest *guest_free(struct guest *guest);
struct loop *guest_loop(const struct guest *guest);
/* Commands that run now. */
size_t guest_commands(const struct guest *guest);

struct guest_command {
	struct cua_span argv; /* strings, each with its NUL */
	struct cua_span env; /* K=V, each with its NUL */
	const char *user; /* NULL: the session's own */
	const char *cwd; /* NULL: the user's home */
	bool tty;
	uint32_t columns, rows;
	bool detach;
};

/* What happens to a started command. */
struct guest_command_ops {
	/* It was executed. May be NULL. */
	void (*started)(void *data, uint32_t pid);
	/* It ended (or, detached, was started): exit is NULL when err says why there is none. The last
	 * call. */
	void (*ended)(void *data, const cua_ExecExit *exit, const struct cua_err *err);
};

/* Starts a command with these descriptors as ExecStart says; they stay the caller's. Returns 0 and
 * the command's serial, or negative: exhausted when too many commands run. */
int guest_start(struct guest *guest, const struct guest_command *command, const int *fds,
	size_t fd_count, const struct guest_command_ops *ops, void *data, uint32_t *ret_serial,
	struct cua_err *err) CUA_CHECK;
/* A signal for the command's process group; SIGKILL for its whole session. */
void guest_signal(struct guest *guest, uint32_t serial, int signal);
void guest_resize(struct guest *guest, uint32_t serial, uint32_t columns, uint32_t lines);
/* Starts the session's own command on the desktop, once in the session's life. */
int guest_desktop_command(struct guest *guest, struct cua_span argv, struct cua_span env,
	struct cua_err *err) CUA_CHECK;

/* A file operation. fd (-1 for none) stays the caller's. wanted->serial is filled here. The answer
 * gets FileResult messages as the protocol says. */
int guest_file(struct guest *guest, cua_FileRequest *wanted, int fd, peer_answer *answer,
	void *data, struct cua_err *err) CUA_CHECK;
/* Connects to a stream socket in the container as the agent: `path` is absolute, or an abstract name
 * after '@'. The answer gets a FileResult with the socket as its descriptor, unless it is an error;
 * what the container gives is not to be believed, see fd_is_stream_socket(). */
int guest_connect(struct guest *guest, const char *path, peer_answer *answer, void *data,
	struct cua_err *err) CUA_CHECK;
/* Ends a write: the number of bytes that were sent. */
int guest_file_end(struct guest *guest, uint32_t serial, uint64_t size, bool abort,
	struct cua_err *err) CUA_CHECK;
/* Stops waiting for an operation's answer. */
void guest_forget(struct guest *guest, uint32_t serial);
