/* Two buses, one after the other; see the header. */
#include "desktop/a11y.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SESSION_BUS "/run/user/1000/bus"
/* The first question starts a program, on a machine that may be busy. */
#define CONNECT_MS 8000
#define TAG_LEN 4

#define NO_BUS                                                                                     \
	"this session has no accessibility bus: it needs the package at-spi2-core and a session "  \
	"bus, which the template \"desktop\" has"

enum step {
	STEP_IDLE,
	STEP_SESSION_SOCKET,
	STEP_SESSION,
	STEP_SOCKET,
	STEP_UP,
};

struct a11y {
	struct a11y_config config;
	enum step step;
	struct loop_timer *begin; /* the first step, from the loop */
	struct loop_timer *timer; /* for all of the steps */
	uint32_t serial; /* of the socket that is awaited */
	struct bus *session;
	struct bus *bus;
	struct a11y_wait *waits;
	char path[108];
	char tag[TAG_LEN + 1];
};

/* ---------------------------------------------------------------- the end of the steps */

void a11y_cancel(struct a11y_wait *wait) {
	if (wait->at_) {
		*wait->at_ = wait->next_;
		if (wait->next_) {
			wait->next_->at_ = wait->at_;
		}
		wait->at_ = NULL;
	}
}

static void tell(struct a11y *a11y, struct bus *bus, const struct cua_err *err) {
	struct a11y_wait *list = a11y->waits;
	a11y->waits = NULL;
	if (list) {
		list->at_ = &list;
	}
	while (list) {
		struct a11y_wait *wait = list;
		a11y_cancel(wait);
		wait->fn(wait->ctx, bus, err);
	}
}

static void fail(struct a11y *a11y, const struct cua_err *why) {
	struct cua_err err = *why;
	loop_timer_stop(a11y->timer);
	a11y->step = STEP_IDLE;
	a11y->serial++;
	a11y->session = bus_free(a11y->session);
	a11y->bus = bus_free(a11y->bus);
	tell(a11y, NULL, &err);
}

static void on_late(void *ctx) {
	struct cua_err err;
	(void)cua_err_set(
		&err, CUA_TIMEOUT, "the accessibility bus did not answer within %d ms", CONNECT_MS);
	fail(ctx, &err);
}

static void on_lost(void *ctx, const struct cua_err *why) {
	fail(ctx, why);
}

/* ---------------------------------------------------------------- the steps */

static void want_socket(struct a11y *a11y, enum step step, const char *path) {
	struct cua_err err;
	a11y->step = step;
	if (a11y->config.socket(a11y->config.ctx, ++a11y->serial, path, &err) < 0) {
		fail(a11y, &err);
	}
}

/* "unix:path=/run/…/bus_0,guid=…", of a hostile program, into the socket's path. Characters that D-Bus
 * escapes are none of the paths that are used. */
static bool read_address(struct a11y *a11y, const char *address) {
	static const char *const kinds[] = {"unix:path=", "unix:abstract="};
	const char *guid = strstr(address, "guid=");
	(void)snprintf(a11y->tag, sizeof(a11y->tag), "%s", guid ? guid + strlen("guid=") : "0000");
	for (size_t i = 0; a11y->tag[i]; i++) {
		if (!isxdigit((unsigned char)a11y->tag[i])) {
			(void)snprintf(a11y->tag, sizeof(a11y->tag), "0000");
		}
	}
	for (size_t i = 0; i < CUA_COUNT(kinds); i++) {
		size_t len = strlen(kinds[i]);
		if (strncmp(address, kinds[i], len) == 0) {
			int n = snprintf(a11y->path, sizeof(a11y->path), "%s%.*s",
				i == 0 ? "" : "@", (int)strcspn(address + len, ",;"),
				address + len);
			return n > 1 && (size_t)n < sizeof(a11y->path);
		}
	}
	return false;
}

static void on_address(void *ctx, struct bus_reply *reply, const struct cua_err *err) {
	struct a11y *a11y = ctx;
	struct cua_err own;
	const char *address = NULL;
	if (!reply) {
		own = *err;
		if (err->code == CUA_NOT_FOUND) {
			(void)cua_err_set(&own, CUA_NOT_FOUND, NO_BUS);
		}
		fail(a11y, &own);
	} else if (bus_read(reply, "s", &address) <= 0 || !read_address(a11y, address)) {
		(void)cua_err_set(
			&own, CUA_INTERNAL, "the accessibility bus has no usable address");
		fail(a11y, &own);
	} else {
		want_socket(a11y, STEP_SOCKET, a11y->path);
	}
}

static void on_enabled(void *ctx, struct bus_reply *reply, const struct cua_err *err) {
	/* Whoever refuses it is asked all the same: programs may be accessible without. */
	(void)ctx;
	(void)reply;
	(void)err;
}

static int ask_address(struct a11y *a11y, struct cua_err *err) {
	const struct bus_method enable = {
		"org.a11y.Bus", "/org/a11y/bus", "org.freedesktop.DBus.Properties", "Set"};
	const struct bus_method address = {
		"org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress"};
	const struct bus_wait wait = {.ms = CONNECT_MS, .fn = on_address, .ctx = a11y};
	const struct bus_wait enabled = {.ms = CONNECT_MS, .fn = on_enabled};
	bool sent = bus_call(a11y->session, &enable, &enabled, err, "ssv", "org.a11y.Status",
			    "IsEnabled", "b", 1) &&
		    bus_call(a11y->session, &address, &wait, err, "");
	return sent ? 0 : -CUA_INTERNAL;
}

static int open_session(struct a11y *a11y, int fd, struct cua_err *err) {
	a11y->session = bus_new(a11y->config.loop, fd, on_lost, a11y, err);
	a11y->step = STEP_SESSION;
	return a11y->session ? ask_address(a11y, err) : -CUA_INTERNAL;
}

static int open_bus(struct a11y *a11y, int fd, struct cua_err *err) {
	a11y->bus = bus_new(a11y->config.loop, fd, on_lost, a11y, err);
	if (!a11y->bus) {
		return -CUA_INTERNAL;
	}
	loop_timer_stop(a11y->timer);
	a11y->step = STEP_UP;
	a11y->session = bus_free(a11y->session);
	tell(a11y, a11y->bus, NULL);
	return 0;
}

void a11y_socket(struct a11y *a11y, uint32_t serial, int fd, const struct cua_err *why) {
	struct cua_err err;
	int r = 0;
	bool expected = serial == a11y->serial &&
			(a11y->step == STEP_SESSION_SOCKET || a11y->step == STEP_SOCKET);
	if (!expected) {
		_cleanup_fd_ int late = fd;
		return;
	}
	if (fd < 0) {
		err = *why;
		r = err.code == CUA_NOT_FOUND ? cua_err_set(&err, CUA_NOT_FOUND, NO_BUS) : -1;
	} else {
		r = a11y->step == STEP_SESSION_SOCKET ? open_session(a11y, fd, &err)
						      : open_bus(a11y, fd, &err);
	}
	if (r < 0) {
		fail(a11y, &err);
	}
}

void a11y_front_gone(struct a11y *a11y, const struct cua_err *why) {
	if (a11y->step != STEP_IDLE && a11y->step != STEP_UP) {
		fail(a11y, why);
	}
}

/* ---------------------------------------------------------------- for the others */

static void begin(void *ctx) {
	struct a11y *a11y = ctx;
	if (a11y->step == STEP_UP) {
		tell(a11y, a11y->bus, NULL);
	} else if (a11y->step == STEP_IDLE) {
		loop_timer_start(a11y->timer, CONNECT_MS);
		want_socket(a11y, STEP_SESSION_SOCKET, SESSION_BUS);
	}
}

struct bus *a11y_bus(struct a11y *a11y) {
	return a11y->step == STEP_UP ? a11y->bus : NULL;
}

const char *a11y_tag(const struct a11y *a11y) {
	return a11y->tag;
}

void a11y_wait(struct a11y *a11y, struct a11y_wait *wait) {
	wait->at_ = &a11y->waits;
	wait->next_ = a11y->waits;
	if (wait->next_) {
		wait->next_->at_ = &wait->next_;
	}
	a11y->waits = wait;
	if (a11y->step == STEP_IDLE || a11y->step == STEP_UP) {
		loop_timer_start(a11y->begin, 0);
	}
}

CUA_DEFINE_CLEANUP(struct a11y *, a11y_free)

struct a11y *a11y_new(const struct a11y_config *config, struct cua_err *err) {
	_cleanup_(a11y_free_p) struct a11y *a11y = calloc(1, sizeof(*a11y));
	if (!a11y) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a bus");
		return NULL;
	}
	a11y->config = *config;
	a11y->timer = loop_timer_new(config->loop, on_late, a11y, err);
	a11y->begin = loop_timer_new(config->loop, begin, a11y, err);
	return a11y->timer && a11y->begin ? take_ptr(a11y) : NULL;
}

struct a11y *a11y_free(struct a11y *a11y) {
	if (a11y) {
		while (a11y->waits) {
			a11y_cancel(a11y->waits);
		}
		a11y->session = bus_free(a11y->session);
		a11y->bus = bus_free(a11y->bus);
		a11y->timer = loop_timer_free(a11y->timer);
		a11y->begin = loop_timer_free(a11y->begin);
	}
	free(a11y);
	return NULL;
}
