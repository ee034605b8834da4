/* Listening sockets; see the header. No byte of a client is read here. */
#include "server/supervisor/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cua/limits.h"

static void add(struct listeners *to, int fd, uint32_t kind, const cua_Listener *tcp) {
	struct listener *l = &to->list[to->count++];
	*l = (struct listener){.fd = fd, .what = {.kind = kind, .has_listener = tcp != NULL}};
	if (tcp) {
		l->what.listener = *tcp;
	}
}

static int control_bind(int fd, const char *run_dir, gid_t group) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[sizeof(address.sun_path)];
	int n = snprintf(name, sizeof(name), "%s/cuad.sock", run_dir);
	int m = snprintf(address.sun_path, sizeof(address.sun_path), "%s/.cuad.sock", run_dir);
	if ((size_t)n >= sizeof(name) || (size_t)m >= sizeof(address.sun_path)) {
		return -ENAMETOOLONG;
	}
	if (unlink(address.sun_path) < 0 && errno != ENOENT) {
		return -errno;
	}
	/* The socket is born with no rights for others; only then does it get its name. */
	mode_t old = umask(0777);
	int r = bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	(void)umask(old);
	if (r < 0) {
		return r;
	}
	if (chown(address.sun_path, 0, group) < 0 || chmod(address.sun_path, 0660) < 0 ||
		listen(fd, CUA_CONNECTIONS_MAX) < 0 || rename(address.sun_path, name) < 0) {
		return -errno;
	}
	return 0;
}

static int open_control(
	struct listeners *to, const char *run_dir, gid_t group, struct cua_err *err) {
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? -errno : control_bind(fd, run_dir, group);
	if (r < 0) {
		return cua_err_errno(err, r, "cannot make the control socket in %s", run_dir);
	}
	add(to, take_fd(fd), LISTEN_CONTROL, NULL);
	return 0;
}

static socklen_t make_address(const cua_Listener *l, struct sockaddr_storage *ret) {
	*ret = (struct sockaddr_storage){0};
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	if (inet_pton(AF_INET, l->address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)l->port);
		return sizeof(*v4);
	}
	(void)inet_pton(AF_INET6, l->address, &v6->sin6_addr);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)l->port);
	return sizeof(*v6);
}

static int open_tcp(struct listeners *to, const cua_Listener *l, struct cua_err *err) {
	struct sockaddr_storage address;
	socklen_t len = make_address(l, &address);
	_cleanup_fd_ int fd =
		socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const int on = 1;
	if (fd >= 0) {
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	}
	if (fd >= 0 && address.ss_family == AF_INET6) {
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	}
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 ||
		listen(fd, CUA_CONNECTIONS_MAX) < 0) {
		int number = errno;
		(void)cua_err_errno(
			err, number, "cannot listen on %s port %u", l->address, (unsigned)l->port);
		if (err && number == EADDRINUSE) {
			err->code = CUA_CONFLICT;
		}
		return number == EADDRINUSE ? -(int)CUA_CONFLICT : -(int)CUA_INTERNAL;
	}
	add(to, take_fd(fd), LISTEN_TCP, l);
	return 0;
}

int listen_open(const cua_Config *config, const char *run_dir, gid_t group, struct listeners *ret,
	struct cua_err *err) {
	*ret = (struct listeners){0};
	int r = open_control(ret, run_dir, group, err);
	for (size_t i = 0; i < config->listen_count && r == 0; i++) {
		r = open_tcp(ret, &config->listen[i], err);
	}
	if (r < 0) {
		listen_close(ret);
	}
	return r;
}

void listen_close(struct listeners *listeners) {
	for (size_t i = 0; i < listeners->count; i++) {
		(void)close(listeners->list[i].fd);
	}
	listeners->count = 0;
}
