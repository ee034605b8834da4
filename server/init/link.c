/* Connecting, greeting, reconnecting. A connection that ends early is tried again after a pause
 * that doubles, so a peer that refuses us costs nothing; a new socket is tried at once. */
#include "server/init/link.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cua/log.h"
#include "server/init/watch.h"

#define RETRY_MIN_MS 100
#define RETRY_MAX_MS 5000
#define STABLE_US 1000000

struct link {
	struct loop *loop;
	struct link_config config;
	struct cua_chan chan;
	struct loop_source source;
	struct watch watch;
	struct loop_timer retry;
	unsigned retry_ms;
	uint64_t connected_us;
	bool greeted;
	bool broken; /* sending failed: the retry timer drops the connection */
	bool writing;
	struct cua_msg in;
};

static void attempt(struct link *link);

static void retry_later(struct link *link) {
	loop_timer_set(link->loop, &link->retry, link->retry_ms);
	link->retry_ms *= 2;
	if (link->retry_ms > RETRY_MAX_MS) {
		link->retry_ms = RETRY_MAX_MS;
	}
}

static void drop(struct link *link, const char *why) {
	cua_log(CUA_LOG_INFO, "link: %s", why);
	loop_remove(link->loop, &link->source);
	cua_chan_done(&link->chan);
	bool was_up = link->greeted;
	link->greeted = false;
	link->broken = false;
	link->writing = false;
	if (was_up) {
		link->config.on_drop(link->config.self);
	}
	if (was_up && loop_now_us() - link->connected_us > STABLE_US) {
		link->retry_ms = RETRY_MIN_MS;
		attempt(link);
		return;
	}
	retry_later(link);
}

static void update_events(struct link *link) {
	bool want = cua_chan_pending(&link->chan);
	if (want == link->writing) {
		return;
	}
	struct cua_err err;
	uint32_t events = want ? EPOLLIN | EPOLLOUT : EPOLLIN;
	if (loop_change(link->loop, &link->source, events, &err) == 0) {
		link->writing = want;
	}
}

/* The greeting comes first and only once. */
static int take_message(struct link *link, struct cua_err *err) {
	bool hello = link->in.type == CUA_MSG_HELLO;
	if (hello == link->greeted) {
		return cua_err_set(err, CUA_BAD_REQUEST, "message %s at the wrong time",
			cua_msg_name(link->in.type));
	}
	if (!hello) {
		return link->config.on_message(link->config.self, &link->in, err);
	}
	int r = cua_hello_check(&link->in, err);
	link->greeted = r == 0;
	return r;
}

static int receive(struct link *link, struct cua_err *err) {
	for (int i = 0; i < CUA_EDGE_BURST; i++) {
		int r = cua_msg_recv(link->chan.sock, CUA_DIR_CUAD_TO_INIT, &link->in, err);
		if (r <= 0) {
			return r;
		}
		r = take_message(link, err);
		cua_msg_done(&link->in);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static void on_socket(void *self, uint32_t events) {
	struct link *link = self;
	struct cua_err err = {0};
	int r = 0;
	if (events & EPOLLOUT) {
		r = cua_chan_flush(&link->chan, &err);
	}
	if (r == 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) {
		r = receive(link, &err);
	}
	if (r < 0) {
		drop(link, err.message);
		return;
	}
	update_events(link);
}

static int connect_socket(const char *path, struct cua_err *err) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (n < 0 || (size_t)n >= sizeof(address.sun_path)) {
		return cua_err_set(err, CUA_INVALID, "the path of the link is too long");
	}
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		return cua_err_errno(err, errno, "cannot connect to %s", path);
	}
	int r = cua_hello_send(fd, err);
	return r < 0 ? r : take_fd(fd);
}

static int open_link(struct link *link, struct cua_err *err) {
	_cleanup_fd_ int fd = connect_socket(link->config.path, err);
	if (fd < 0) {
		return -(int)err->code;
	}
	int r = loop_add(link->loop, &link->source, fd, EPOLLIN, err);
	if (r < 0) {
		return r;
	}
	cua_chan_init(&link->chan, take_fd(fd));
	link->connected_us = loop_now_us();
	return 0;
}

static void attempt(struct link *link) {
	if (link->chan.sock >= 0) {
		return;
	}
	struct cua_err err;
	if (open_link(link, &err) < 0) {
		cua_log(CUA_LOG_DEBUG, "link: %s", err.message);
		retry_later(link);
	}
}

static void on_retry(void *self) {
	struct link *link = self;
	if (link->broken) {
		drop(link, "the peer does not read or is gone");
	} else {
		attempt(link);
	}
}

static void on_new_socket(void *self) {
	struct link *link = self;
	if (link->chan.sock < 0) {
		loop_timer_stop(link->loop, &link->retry);
		link->retry_ms = RETRY_MIN_MS;
		attempt(link);
	}
}

struct link *link_new(struct loop *loop, const struct link_config *config) {
	struct link *link = calloc(1, sizeof(*link));
	if (!link) {
		return NULL;
	}
	link->loop = loop;
	link->config = *config;
	link->chan.sock = -1;
	link->retry_ms = RETRY_MIN_MS;
	link->source = (struct loop_source){.fd = -1, .fn = on_socket, .self = link};
	link->retry = (struct loop_timer){.fn = on_retry, .self = link};
	watch_init(&link->watch, loop, on_new_socket, link);
	return link;
}

struct link *link_free(struct link *link) {
	if (link) {
		loop_remove(link->loop, &link->source);
		loop_timer_stop(link->loop, &link->retry);
		watch_stop(&link->watch);
		cua_chan_done(&link->chan);
		free(link);
	}
	return NULL;
}

void link_start(struct link *link) {
	struct cua_err err;
	if (watch_parent(&link->watch, link->config.path, &err) < 0) {
		cua_log(CUA_LOG_WARN, "link: %s", err.message);
	}
	attempt(link);
}

void link_send(struct link *link, const struct cua_out *out) {
	if (!link->greeted || link->broken) {
		return;
	}
	struct cua_err err;
	if (cua_chan_send(&link->chan, out, &err) < 0) {
		cua_log(CUA_LOG_WARN, "link: %s: %s", cua_msg_name(out->type), err.message);
		link->broken = true;
		loop_timer_set(link->loop, &link->retry, 0);
		return;
	}
	update_events(link);
}
