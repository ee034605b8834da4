/* Descriptors: full reads and writes, sealed memfds, socket pairs. All close-on-exec. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "cua/err.h"

/* Writes everything, over short writes and EINTR. 0 or -errno. */
int fd_write_all(int fd, const void *data, size_t len) CUA_CHECK;

/* Reads until len bytes or end of file. Bytes read, or -errno. */
ssize_t fd_read_all(int fd, void *ret_data, size_t len) CUA_CHECK;

/* A memfd with a copy of the bytes, sealed against shrinking, growing and writing; the caller
 * closes it. Negative cua_code on failure. */
int fd_memfd_sealed(const void *data, size_t len, struct cua_err *err) CUA_CHECK;

/* The same with several parts one after the other. */
int fd_memfd_gather(const struct iovec *parts, size_t count, struct cua_err *err) CUA_CHECK;

/* An unsealed memfd whose first bytes, so many, have their memory already: filling it is then no more
 * than copying. The caller closes it. Negative cua_code on failure. */
int fd_memfd_room(size_t size, struct cua_err *err) CUA_CHECK;
/* Writes the parts into one that nothing was written to, gives back what they do not fill, and seals
 * it as fd_memfd_sealed() does. 0 or negative cua_code. */
int fd_memfd_fill(int fd, const struct iovec *parts, size_t count, struct cua_err *err) CUA_CHECK;

/* A memfd of this size mapped shared and writable, sealed against shrinking, growing and further
 * sealing only: for X's MIT-SHM. The caller unmaps *ret_map and closes the fd. */
int fd_memfd_mapped(size_t size, void **ret_map, struct cua_err *err) CUA_CHECK;

/* Maps a peer's memfd for reading after checking that it is fully sealed (SHRINK, GROW, WRITE) and
 * has exactly this size; otherwise the peer could cut it off under the reader. The caller unmaps. */
int fd_map_sealed(int fd, size_t size, const void **ret_map, struct cua_err *err) CUA_CHECK;

/* A SOCK_SEQPACKET pair, non-blocking. 0 or negative cua_code. */
int fd_seqpacket_pair(int ret_pair[2], struct cua_err *err) CUA_CHECK;

/* True for a connected-kind stream socket of the Unix family, which does not listen: what a peer may
 * pass where one is expected. Asks the socket layer only, so that a descriptor of a hostile file
 * system is not touched. */
bool fd_is_stream_socket(int fd);

/* Sets or clears O_NONBLOCK. 0 or -errno. */
int fd_set_nonblock(int fd, int on) CUA_CHECK;

/* Replaces the file's content as a whole: temporary name in the same directory, fsync, rename. */
int fd_replace_file(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
	struct cua_err *err) CUA_CHECK;
