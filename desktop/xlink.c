/* See the header. A server listens before it answers, and Xlib would wait for the answer without a
 * deadline: so a connection of our own greets the server first, and Xlib connects when it has
 * answered that. The greeting's connection is held until then, or a server that resets when its last
 * client leaves would do so. */
#include "desktop/xlink.h"

#include <errno.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>

#define RETRY_FIRST_MS 5
#define RETRY_MAX_MS 1000

struct xlink {
	struct xlink_config config;
	char dir[80];
	int notify;
	struct loop_io *notify_io;
	int probe; /* the greeting's socket */
	struct loop_io *probe_io;
	struct loop_timer *retry;
	uint64_t pause_ms;
	struct x11 *x;
	struct loop_io *x_io;
	struct cua_err reason;
};

static void attempt(void *ctx);

static void drop_probe(struct xlink *link) {
	link->probe_io = loop_io_remove(link->probe_io);
	if (link->probe >= 0) {
		(void)close(link->probe);
	}
	link->probe = -1;
}

static void drop_x(struct xlink *link) {
	link->x_io = loop_io_remove(link->x_io);
	if (link->config.on_fd) {
		link->config.on_fd(link->config.ctx, -1);
	}
	link->x = x11_close(link->x);
}

static void retry_later(struct xlink *link) {
	drop_probe(link);
	loop_timer_start(link->retry, link->pause_ms);
	link->pause_ms = link->pause_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : link->pause_ms * 2;
}

/* xlink_pump() does the work before the loop waits again. */
static void on_x_readable(void *ctx) {
	(void)ctx;
}

/* The server answers: now Xlib connects. */
static void connect_x(struct xlink *link) {
	char display[16];
	(void)snprintf(display, sizeof(display), ":%u", link->config.display);
	link->x = x11_open(display, &link->reason);
	if (!link->x) {
		retry_later(link);
		return;
	}
	if (link->config.on_fd) {
		link->config.on_fd(link->config.ctx, x11_fd(link->x));
	}
	link->x_io =
		loop_io_add(link->config.loop, x11_fd(link->x), on_x_readable, link, &link->reason);
	drop_probe(link);
	if (!link->x_io || !link->config.on_up(link->config.ctx, link->x)) {
		drop_x(link);
		retry_later(link);
		return;
	}
	link->pause_ms = RETRY_FIRST_MS;
}

static void on_probe(void *ctx) {
	struct xlink *link = ctx;
	unsigned char answer = 0;
	ssize_t n = recv(link->probe, &answer, sizeof(answer), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	link->probe_io = loop_io_remove(link->probe_io);
	if (n == 1 && answer == 1) {
		connect_x(link);
		return;
	}
	(void)cua_err_set(&link->reason, CUA_NOT_FOUND, "the X server %s",
		n == 1 ? "refuses the connection" : "hangs up");
	retry_later(link);
}

/* Sends the greeting of the X protocol: little-endian, version 11.0, no authorisation. */
static int greet(struct xlink *link, struct cua_err *err) {
	static const unsigned char greeting[12] = {'l', 0, 11};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/X%u", link->dir,
		link->config.display);
	link->probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (link->probe < 0) {
		return cua_err_errno(err, errno, "cannot create a socket");
	}
	if (connect(link->probe, (struct sockaddr *)&address, sizeof(address)) < 0) {
		return cua_err_errno(err, errno, "no X server at %s", address.sun_path);
	}
	if (send(link->probe, greeting, sizeof(greeting), MSG_NOSIGNAL) < 0) {
		return cua_err_errno(err, errno, "the X server hangs up");
	}
	link->probe_io = loop_io_add(link->config.loop, link->probe, on_probe, link, err);
	return link->probe_io ? 0 : -CUA_EXHAUSTED;
}

static void attempt(void *ctx) {
	struct xlink *link = ctx;
	if (link->x || link->probe >= 0) {
		return;
	}
	int r = greet(link, &link->reason);
	if (r == -CUA_NOT_FOUND) {
		drop_probe(link); /* no such socket yet: inotify will tell */
	} else if (r < 0) {
		retry_later(link);
	}
}

/* Something appeared in the directory; what it is does not matter. */
static void on_notify(void *ctx) {
	struct xlink *link = ctx;
	char events[sizeof(struct inotify_event) + NAME_MAX + 1]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	while (read(link->notify, events, sizeof(events)) > 0) {
	}
	link->pause_ms = RETRY_FIRST_MS;
	attempt(link);
}

static int watch_dir(struct xlink *link, struct cua_err *err) {
	link->notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (link->notify < 0 ||
		inotify_add_watch(link->notify, link->dir, IN_CREATE | IN_MOVED_TO) < 0) {
		return cua_err_errno(err, errno, "cannot watch %s", link->dir);
	}
	link->notify_io = loop_io_add(link->config.loop, link->notify, on_notify, link, err);
	return link->notify_io ? 0 : -CUA_EXHAUSTED;
}

CUA_DEFINE_CLEANUP(struct xlink *, xlink_free)

struct xlink *xlink_new(const struct xlink_config *config, struct cua_err *err) {
	_cleanup_(xlink_free_p) struct xlink *link = calloc(1, sizeof(*link));
	if (!link) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the X server's link");
		return NULL;
	}
	link->config = *config;
	link->notify = -1;
	link->probe = -1;
	link->pause_ms = RETRY_FIRST_MS;
	(void)snprintf(link->dir, sizeof(link->dir), "%s", config->dir);
	link->retry = loop_timer_new(config->loop, attempt, link, err);
	if (!link->retry || watch_dir(link, err) < 0) {
		return NULL;
	}
	loop_timer_start(link->retry, 0);
	return take_ptr(link);
}

struct xlink *xlink_free(struct xlink *link) {
	if (!link) {
		return NULL;
	}
	drop_probe(link);
	if (link->x) {
		drop_x(link);
	}
	loop_io_remove(link->notify_io);
	if (link->notify >= 0) {
		(void)close(link->notify);
	}
	loop_timer_free(link->retry);
	free(link);
	return NULL;
}

bool xlink_pump(struct xlink *link) {
	if (!link->x) {
		return false;
	}
	bool more = x11_dispatch(link->x, link->config.on_event, link->config.ctx);
	x11_flush(link->x);
	if (x11_alive(link->x)) {
		return more;
	}
	(void)cua_err_set(&link->reason, CUA_NOT_FOUND, "the X server is gone");
	link->config.on_down(link->config.ctx, &link->reason);
	drop_x(link);
	retry_later(link);
	return true;
}
