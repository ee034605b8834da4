/* Descriptors; see the header. */
#include "cua/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int fd_write_all(int fd, const void *data, size_t len) {
	const char *p = data;
	while (len > 0) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return -errno;
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t fd_read_all(int fd, void *ret_data, size_t len) {
	char *p = ret_data;
	size_t got = 0;
	while (got < len) {
		ssize_t n = read(fd, p + got, len - got);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return -errno;
		}
		if (n == 0) {
			break;
		}
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* Writes all parts in as few calls as they fit into; 0 or -errno. */
static int write_parts(int fd, const struct iovec *parts, size_t count) {
	while (count > 0) {
		size_t some = count < IOV_MAX ? count : IOV_MAX;
		size_t len = 0;
		for (size_t i = 0; i < some; i++) {
			len += parts[i].iov_len;
		}
		ssize_t n = writev(fd, parts, (int)some);
		if (n < 0 || (size_t)n != len) {
			return n < 0 ? -errno : -ENOSPC; /* a memfd takes all or has no memory */
		}
		parts += some;
		count -= some;
	}
	return 0;
}

int fd_memfd_room(size_t size, struct cua_err *err) {
	_cleanup_fd_ int fd = memfd_create("cua-blob", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0) {
		return cua_err_errno(err, errno, "cannot create a memfd");
	}
	if (size > 0 && fallocate(fd, 0, 0, (off_t)size) < 0) {
		return cua_err_errno(err, errno, "no memory for a memfd of %zu bytes", size);
	}
	return take_fd(fd);
}

int fd_memfd_fill(int fd, const struct iovec *parts, size_t count, struct cua_err *err) {
	int r = write_parts(fd, parts, count);
	if (r < 0) {
		return cua_err_errno(err, r, "cannot fill a memfd");
	}
	if (ftruncate(fd, lseek(fd, 0, SEEK_CUR)) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) <
			0) {
		return cua_err_errno(err, errno, "cannot seal a memfd");
	}
	return 0;
}

int fd_memfd_gather(const struct iovec *parts, size_t count, struct cua_err *err) {
	_cleanup_fd_ int fd = fd_memfd_room(0, err);
	if (fd < 0) {
		return fd;
	}
	int r = fd_memfd_fill(fd, parts, count, err);
	return r < 0 ? r : take_fd(fd);
}

int fd_memfd_sealed(const void *data, size_t len, struct cua_err *err) {
	struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	return fd_memfd_gather(&part, 1, err);
}

int fd_memfd_mapped(size_t size, void **ret_map, struct cua_err *err) {
	_cleanup_fd_ int fd = memfd_create("cua-frame", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0) {
		return cua_err_errno(err, errno, "cannot create a frame of %zu bytes", size);
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		return cua_err_errno(err, errno, "cannot seal a frame");
	}
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		return cua_err_errno(err, errno, "cannot map a frame of %zu bytes", size);
	}
	*ret_map = map;
	return take_fd(fd);
}

int fd_map_sealed(int fd, size_t size, const void **ret_map, struct cua_err *err) {
	const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & needed) != needed) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a peer sent memory that is not sealed");
	}
	struct stat st;
	if (fstat(fd, &st) < 0 || st.st_size < 0 || (size_t)st.st_size != size || size == 0) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a peer sent memory of another size");
	}
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED) {
		return cua_err_errno(err, errno, "cannot map %zu bytes of a peer", size);
	}
	*ret_map = map;
	return 0;
}

int fd_seqpacket_pair(int ret_pair[2], struct cua_err *err) {
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret_pair) < 0) {
		return cua_err_errno(err, errno, "cannot create a socket pair");
	}
	return 0;
}

static bool socket_has(int fd, int option, int wanted) {
	int value = -1;
	socklen_t len = sizeof(value);
	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 && value == wanted;
}

bool fd_is_stream_socket(int fd) {
	return socket_has(fd, SO_DOMAIN, AF_UNIX) && socket_has(fd, SO_TYPE, SOCK_STREAM) &&
	       socket_has(fd, SO_ACCEPTCONN, 0);
}

int fd_set_nonblock(int fd, int on) {
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0) {
		return -errno;
	}
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

static int write_and_rename(
	int dirfd, int fd, const char *tmp, const char *name, const void *data, size_t len) {
	int r = fd_write_all(fd, data, len);
	if (r < 0) {
		return r;
	}
	if (fsync(fd) < 0 || renameat(dirfd, tmp, dirfd, name) < 0) {
		return -errno;
	}
	return 0;
}

int fd_replace_file(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
	struct cua_err *err) {
	char tmp[300];
	(void)snprintf(tmp, sizeof(tmp), ".%s.tmp", name);
	_cleanup_fd_ int fd =
		openat(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0) {
		return cua_err_errno(err, errno, "cannot write %s", name);
	}
	int r = write_and_rename(dirfd, fd, tmp, name, data, len);
	if (r < 0) {
		(void)unlinkat(dirfd, tmp, 0);
		return cua_err_errno(err, r, "cannot write %s", name);
	}
	return 0;
}
