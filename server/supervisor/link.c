/* The socket that cuad-init connects to; see the header. */
#include "server/supervisor/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cua/limits.h"

/* A container that connects in a loop costs us this many refusals, then a pause. */
#define REFUSALS_BEFORE_PAUSE 64
#define PAUSE_MS 1000

struct link {
	struct loop *loop;
	int sock;
	struct loop_io *io;
	struct loop_timer *pause;
	pid_t init;
	unsigned refusals;
	void (*on_peer)(void *data, int fd);
	void *data;
};

/* Binds below /proc/self/fd, for the path of a state directory may be longer than a socket's may be. */
static int bind_in(int dir, int sock, uid_t owner) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)snprintf(
		address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/.sock.new", dir);
	if (unlinkat(dir, ".sock.new", 0) < 0 && errno != ENOENT) {
		return -errno;
	}
	if (bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		fchmodat(dir, ".sock.new", 0600, 0) < 0 ||
		fchownat(dir, ".sock.new", owner, owner, AT_SYMLINK_NOFOLLOW) < 0 ||
		listen(sock, CUA_WAITERS_MAX) < 0 || renameat(dir, ".sock.new", dir, "sock") < 0) {
		return -errno;
	}
	return 0;
}

struct link *link_open(struct loop *loop, const char *path, uid_t owner,
	void (*on_peer)(void *data, int fd), void *data, struct cua_err *err) {
	_cleanup_fd_ int dir = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_fd_ int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r = dir < 0 || sock < 0 ? -errno : bind_in(dir, sock, owner);
	if (r < 0) {
		(void)cua_err_errno(err, r, "cannot make the session's socket in %s", path);
		return NULL;
	}
	struct link *link = loop_alloc(sizeof(*link));
	*link = (struct link){
		.loop = loop, .sock = take_fd(sock), .on_peer = on_peer, .data = data};
	return link;
}

static bool is_init(const struct link *link, int fd) {
	struct ucred who;
	socklen_t len = sizeof(who);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.pid == link->init;
}

static void on_pause_over(void *data) {
	struct link *link = data;
	link->pause = NULL;
	link->refusals = 0;
	loop_io_pause(link->io, false);
}

static void refuse(struct link *link) {
	link->refusals++;
	if (link->refusals >= REFUSALS_BEFORE_PAUSE && !link->pause) {
		loop_io_pause(link->io, true);
		link->pause = loop_timer_add(link->loop, PAUSE_MS, on_pause_over, link);
	}
}

static void on_connection(void *data) {
	struct link *link = data;
	_cleanup_fd_ int fd = accept4(link->sock, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		/* Out of descriptors, or the client left: either way no reason to spin. */
		if (errno != EAGAIN) {
			refuse(link);
		}
		return;
	}
	if (is_init(link, fd)) {
		link->on_peer(link->data, take_fd(fd));
	} else {
		refuse(link);
	}
}

int link_admit(struct link *link, pid_t init, struct cua_err *err) {
	link->init = init;
	if (!link->io) {
		link->io = loop_io_add(link->loop, link->sock, on_connection, NULL, link, err);
	}
	return link->io ? 0 : -(int)CUA_INTERNAL;
}

struct link *link_free(struct link *link) {
	if (link) {
		link->io = loop_io_remove(link->io);
		link->pause = loop_timer_cancel(link->pause);
		(void)close(link->sock);
		free(link);
	}
	return NULL;
}
