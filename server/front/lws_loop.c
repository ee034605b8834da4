/* The loop on libwebsockets: its poll() waits, an epoll set of ours inside it holds the descriptors
 * of loop.h. That way a hung-up descriptor is read to its end before it goes, and a paused one never
 * wakes us; libwebsockets' own raw files do neither. */
#include "server/front/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include "cua/limits.h"
#include "server/front/lws_priv.h"

#define BATCH 64

struct loop {
	struct lws_context *lws;
	struct loop_io *dead; /* removed while events of the same batch may still name them */
	struct loop_timer *timers;
	int epoll; /* libwebsockets closes it */
	bool dispatching;
	bool stopping;
};

struct loop_io {
	struct loop *loop;
	struct loop_io *next_dead;
	loop_fn *on_read;
	loop_fn *on_write;
	void *data;
	int fd;
	uint32_t armed; /* what the epoll set holds now; 0: it is not in it */
	bool hangup_only;
	bool paused;
	bool want_write;
	bool dead;
};

struct loop_timer {
	lws_sorted_usec_list_t sul; /* first, so that it can be turned back into the timer */
	struct loop *loop;
	struct loop_timer *next;
	struct loop_timer **link;
	loop_fn *fn;
	void *data;
};

/* ---------------------------------------------------------------- descriptors */

static uint32_t io_wanted(const struct loop_io *io) {
	if (io->dead) {
		return 0;
	}
	if (io->hangup_only) {
		return io->paused ? 0 : EPOLLRDHUP;
	}
	return (io->paused ? 0 : (uint32_t)EPOLLIN) | (io->want_write ? (uint32_t)EPOLLOUT : 0);
}

/* An entry with no events would still report hang-ups without end, so it is taken out instead. */
static int io_update(struct loop_io *io) {
	uint32_t wanted = io_wanted(io);
	if (wanted == io->armed) {
		return 0;
	}
	struct epoll_event event = {.events = wanted, .data.ptr = io};
	int op = io->armed == 0 ? EPOLL_CTL_ADD : wanted == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
	io->armed = wanted;
	return epoll_ctl(io->loop->epoll, op, io->fd, &event) < 0 ? -errno : 0;
}

static struct loop_io *io_add(
	struct loop *loop, const struct loop_io *values, struct cua_err *err) {
	struct loop_io *io = malloc(sizeof(*io));
	if (!io) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to watch a descriptor");
		return NULL;
	}
	*io = *values;
	io->loop = loop;
	int r = io_update(io);
	if (r < 0) {
		(void)cua_err_errno(err, r, "cannot watch a descriptor");
		free(io);
		return NULL;
	}
	return io;
}

struct loop_io *loop_io_add(struct loop *loop, int fd, loop_fn *on_read, loop_fn *on_write,
	void *data, struct cua_err *err) {
	return io_add(loop,
		&(struct loop_io){.fd = fd, .on_read = on_read, .on_write = on_write, .data = data},
		err);
}

struct loop_io *loop_io_add_hangup(
	struct loop *loop, int fd, loop_fn *fn, void *data, struct cua_err *err) {
	return io_add(loop,
		&(struct loop_io){.fd = fd, .on_read = fn, .data = data, .hangup_only = true}, err);
}

void loop_io_want_write(struct loop_io *io) {
	io->want_write = io->on_write != NULL;
	(void)io_update(io);
}

void loop_io_pause(struct loop_io *io, bool paused) {
	io->paused = paused;
	(void)io_update(io);
}

struct loop_io *loop_io_remove(struct loop_io *io) {
	if (!io || io->dead) {
		return NULL;
	}
	io->dead = true;
	(void)io_update(io);
	if (io->loop->dispatching) {
		io->next_dead = io->loop->dead;
		io->loop->dead = io;
	} else {
		free(io);
	}
	return NULL;
}

static void io_dispatch(struct loop_io *io, uint32_t events) {
	const uint32_t over = EPOLLHUP | EPOLLERR | EPOLLRDHUP;
	if (!io->dead && !io->paused && (events & (EPOLLIN | over))) {
		if (io->hangup_only) {
			loop_io_pause(io, true);
		}
		io->on_read(io->data);
	}
	if (!io->dead && io->want_write && (events & (EPOLLOUT | over))) {
		io->want_write = false;
		(void)io_update(io);
		io->on_write(io->data);
	}
}

static void free_dead(struct loop *loop) {
	while (loop->dead) {
		struct loop_io *io = loop->dead;
		loop->dead = io->next_dead;
		free(io);
	}
}

static void loop_dispatch(struct loop *loop) {
	struct epoll_event events[BATCH];
	int n = epoll_wait(loop->epoll, events, BATCH, 0);
	loop->dispatching = true;
	for (int i = 0; i < n; i++) {
		io_dispatch(events[i].data.ptr, events[i].events);
	}
	loop->dispatching = false;
	free_dead(loop);
}

/* ---------------------------------------------------------------- timers */

static void timer_unlink(struct loop_timer *timer) {
	*timer->link = timer->next;
	if (timer->next) {
		timer->next->link = timer->link;
	}
	free(timer);
}

static void on_timer(lws_sorted_usec_list_t *sul) {
	struct loop_timer *timer = (struct loop_timer *)sul;
	loop_fn *fn = timer->fn;
	void *data = timer->data;
	timer_unlink(timer);
	fn(data);
}

struct loop_timer *loop_timer_add(struct loop *loop, uint64_t ms, loop_fn *fn, void *data) {
	struct loop_timer *timer = calloc(1, sizeof(*timer));
	if (!timer) {
		abort(); /* a small fixed size, and no caller could go on without its deadline */
	}
	timer->loop = loop;
	timer->fn = fn;
	timer->data = data;
	timer->next = loop->timers;
	timer->link = &loop->timers;
	if (timer->next) {
		timer->next->link = &timer->next;
	}
	loop->timers = timer;
	lws_usec_t us = ms > 0 ? (lws_usec_t)(ms * 1000) : 1;
	lws_sul_schedule(loop->lws, 0, &timer->sul, on_timer, us);
	return timer;
}

struct loop_timer *loop_timer_cancel(struct loop_timer *timer) {
	if (timer) {
		lws_sul_cancel(&timer->sul);
		timer_unlink(timer);
	}
	return NULL;
}

/* ---------------------------------------------------------------- the loop itself */

static int on_event(
	struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len) {
	(void)user;
	(void)in;
	(void)len;
	if (reason == LWS_CALLBACK_RAW_RX_FILE) {
		loop_dispatch(lws_context_user(lws_get_context(wsi)));
	}
	return 0;
}

static const struct lws_protocols protocols[] = {
	{.name = "loop", .callback = on_event},
	{0},
};

static int adopt_epoll(struct loop *loop) {
	const struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN,
		.vhost_name = "loop",
		.protocols = protocols,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1};
	struct lws_vhost *vhost = lws_create_vhost(loop->lws, &info);
	if (!vhost) {
		return -1;
	}
	lws_sock_file_fd_type fd = {.filefd = loop->epoll};
	return lws_adopt_descriptor_vhost(vhost, LWS_ADOPT_RAW_FILE_DESC, fd, "loop", NULL) ? 0
											    : -1;
}

struct loop *loop_new(struct cua_err *err) {
	struct loop *loop = calloc(1, sizeof(*loop));
	if (!loop) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the event loop");
		return NULL;
	}
	lws_set_log_level(0, NULL);
	const struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN,
		.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
		.user = loop,
		.pt_serv_buf_size = 65536,
		.timeout_secs = CUA_IDLE_SECS,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1};
	loop->lws = lws_create_context(&info);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!loop->lws || loop->epoll < 0 || adopt_epoll(loop) < 0) {
		(void)cua_err_set(err, CUA_INTERNAL, "cannot set up the event loop");
		return loop_free(loop);
	}
	return loop;
}

void loop_run(struct loop *loop) {
	while (!loop->stopping && lws_service(loop->lws, 0) >= 0) {
	}
}

struct loop *loop_free(struct loop *loop) {
	if (!loop) {
		return NULL;
	}
	while (loop->timers) {
		(void)loop_timer_cancel(loop->timers);
	}
	if (loop->lws) {
		lws_context_destroy(loop->lws);
	}
	free_dead(loop);
	free(loop);
	return NULL;
}

void loop_stop(struct loop *loop) {
	loop->stopping = true;
	lws_cancel_service(loop->lws);
}

struct lws_context *loop_lws(const struct loop *loop) {
	return loop->lws;
}

uint64_t loop_now_ms(void) {
	struct timespec ts;
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}
