/* A terminal of the container joined to a stream socket, with a bounded buffer each way. Used by a
 * keeper, which polls. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "cua/err.h"
#include "cua/limits.h"

struct pty_buffer {
	size_t start;
	size_t len;
	char data[CUA_PTY_BYTES];
};

struct pty {
	int master;
	int slave; /* held open, so that the terminal outlives whoever closes it */
	int peer;
	bool peer_done; /* it will send nothing more */
	struct pty_buffer to_terminal;
	struct pty_buffer to_peer;
};

/* Makes a terminal of this size (0: 80x24) and takes over the stream socket. */
int pty_open(
	struct pty *pty, int peer, unsigned columns, unsigned rows, struct cua_err *err) CUA_CHECK;
/* Tells the programs in the terminal its new size. */
void pty_resize(const struct pty *pty, unsigned columns, unsigned rows);
/* Sends a signal to the group that is in the foreground of the terminal. */
void pty_signal(const struct pty *pty, int signal);
/* Fills two pollfds: what the pump waits for. */
void pty_prepare(const struct pty *pty, struct pollfd ret[2]);
/* Moves what can be moved. When the peer is gone the terminal is hung up (SIGHUP to its programs). */
void pty_pump(struct pty *pty, const struct pollfd polled[2]);
/* After the main program ended: moves what it wrote last to the peer, at most `ms`. */
void pty_drain(struct pty *pty, unsigned ms);
/* Closes everything that is open. */
void pty_done(struct pty *pty);
