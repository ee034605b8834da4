/* A small epoll loop. It is not for sharing: only cuad-init has a reason to live without a library,
 * since it is static and must never be larger than needed. */
#include "server/init/loop.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

uint64_t loop_now_us(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void on_signals(void *self, uint32_t events) {
	(void)events;
	struct loop *loop = self;
	struct signalfd_siginfo info;
	while (read(loop->signals.fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		loop->on_signal(loop->on_signal_self, (int)info.ssi_signo);
	}
}

int loop_init(struct loop *loop, const sigset_t *signals, loop_signal_fn *on_signal, void *self,
	struct cua_err *err) {
	*loop = (struct loop){.epoll = -1, .on_signal = on_signal, .on_signal_self = self};
	loop->signals = (struct loop_source){.fd = -1, .fn = on_signals, .self = loop};
	if (sigprocmask(SIG_BLOCK, signals, NULL) < 0) {
		return cua_err_errno(err, errno, "cannot block signals");
	}
	_cleanup_fd_ int fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0 || loop->epoll < 0) {
		return cua_err_errno(err, errno, "cannot create the event loop");
	}
	int r = loop_add(loop, &loop->signals, fd, EPOLLIN, err);
	if (r < 0) {
		return r;
	}
	(void)take_fd(fd);
	return 0;
}

void loop_done(struct loop *loop) {
	if (loop->signals.fd >= 0) {
		(void)close(loop->signals.fd);
	}
	if (loop->epoll >= 0) {
		(void)close(loop->epoll);
	}
	loop->signals.fd = -1;
	loop->epoll = -1;
}

int loop_add(struct loop *loop, struct loop_source *source, int fd, uint32_t events,
	struct cua_err *err) {
	assert(source->fd < 0 && source->fn);
	struct epoll_event event = {.events = events, .data.ptr = source};
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		return cua_err_errno(err, errno, "cannot watch a descriptor");
	}
	source->fd = fd;
	return 0;
}

int loop_change(
	struct loop *loop, const struct loop_source *source, uint32_t events, struct cua_err *err) {
	struct epoll_event event = {.events = events, .data.ptr = (void *)(uintptr_t)source};
	if (epoll_ctl(loop->epoll, EPOLL_CTL_MOD, source->fd, &event) < 0) {
		return cua_err_errno(err, errno, "cannot watch a descriptor");
	}
	return 0;
}

void loop_remove(struct loop *loop, struct loop_source *source) {
	if (source->fd < 0) {
		return;
	}
	(void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	source->fd = -1;
	for (int i = 0; i < loop->batch_len; i++) {
		if (loop->batch[i] == source) {
			loop->batch[i] = NULL;
		}
	}
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer) {
	if (!timer->armed) {
		return;
	}
	struct loop_timer **at = &loop->timers;
	while (*at != timer) {
		at = &(*at)->next;
	}
	*at = timer->next;
	timer->armed = false;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t ms) {
	loop_timer_stop(loop, timer);
	timer->at_us = loop_now_us() + ms * 1000;
	struct loop_timer **at = &loop->timers;
	while (*at && (*at)->at_us <= timer->at_us) {
		at = &(*at)->next;
	}
	timer->next = *at;
	timer->armed = true;
	*at = timer;
}

static void run_due_timers(struct loop *loop) {
	uint64_t now = loop_now_us();
	while (!loop->quit && loop->timers && loop->timers->at_us <= now) {
		struct loop_timer *timer = loop->timers;
		loop->timers = timer->next;
		timer->armed = false;
		timer->fn(timer->self);
	}
}

/* Milliseconds until the next timer, rounded up so that it is due then; -1 without one. */
static int next_timeout(const struct loop *loop) {
	if (!loop->timers) {
		return -1;
	}
	uint64_t now = loop_now_us();
	if (loop->timers->at_us <= now) {
		return 0;
	}
	uint64_t ms = (loop->timers->at_us - now + 999) / 1000;
	return ms > 3600000 ? 3600000 : (int)ms;
}

int loop_run(struct loop *loop, struct cua_err *err) {
	while (!loop->quit) {
		struct epoll_event events[LOOP_BATCH];
		int n = epoll_wait(loop->epoll, events, LOOP_BATCH, next_timeout(loop));
		if (n < 0 && errno != EINTR) {
			return cua_err_errno(err, errno, "cannot wait for events");
		}
		loop->batch_len = n < 0 ? 0 : n;
		for (int i = 0; i < loop->batch_len; i++) {
			loop->batch[i] = events[i].data.ptr;
		}
		for (int i = 0; i < loop->batch_len && !loop->quit; i++) {
			struct loop_source *source = loop->batch[i];
			if (source) {
				source->fn(source->self, events[i].events);
			}
		}
		loop->batch_len = 0;
		run_due_timers(loop);
	}
	return 0;
}

void loop_quit(struct loop *loop) {
	loop->quit = true;
}
