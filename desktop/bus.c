/* sd-bus behind our own names; see the header. sd-bus tells what to wait for after each step, so the
 * descriptor's watch and the timer are set anew whenever it was used. */
#include "desktop/bus.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "cua/fdio.h"

/* Messages handled before others get their turn. */
#define BURST 64

struct bus {
	sd_bus *sd;
	struct loop_io *io;
	struct loop_timer *timer;
	bus_lost *lost;
	void *ctx;
	struct bus_call *calls; /* under way */
	bool stepping; /* somebody is called from here: freed afterwards */
	bool dying;
};

struct bus_call {
	struct bus *bus;
	struct bus_call *next;
	struct bus_call **at; /* what points to this one */
	sd_bus_slot *slot;
	bus_answer *fn;
	void *ctx;
};

/* ---------------------------------------------------------------- calls */

static void call_drop(struct bus_call *call) {
	*call->at = call->next;
	if (call->next) {
		call->next->at = call->at;
	}
	(void)sd_bus_slot_unref(call->slot);
	free(call);
}

struct bus_call *bus_call_cancel(struct bus_call *call) {
	if (call) {
		call_drop(call);
	}
	return NULL;
}

static enum cua_code code_of(const sd_bus_error *error) {
	static const char *const missing[] = {SD_BUS_ERROR_SERVICE_UNKNOWN,
		SD_BUS_ERROR_NAME_HAS_NO_OWNER, SD_BUS_ERROR_UNKNOWN_OBJECT,
		SD_BUS_ERROR_UNKNOWN_INTERFACE, SD_BUS_ERROR_UNKNOWN_METHOD,
		SD_BUS_ERROR_UNKNOWN_PROPERTY, "org.freedesktop.DBus.Error.Disconnected",
		"org.freedesktop.DBus.Error.Spawn.ServiceNotFound"};
	if (sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY) ||
		sd_bus_error_has_name(error, SD_BUS_ERROR_TIMEOUT) ||
		sd_bus_error_get_errno(error) == ETIMEDOUT) {
		return CUA_TIMEOUT;
	}
	for (size_t i = 0; i < CUA_COUNT(missing); i++) {
		if (sd_bus_error_has_name(error, missing[i])) {
			return CUA_NOT_FOUND;
		}
	}
	return CUA_INTERNAL;
}

static int on_reply(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
	struct bus_call *call = userdata;
	bus_answer *fn = call->fn;
	void *ctx = call->ctx;
	struct cua_err err;
	(void)ret_error;
	/* The slot is in use during this call: sd-bus holds it. */
	call_drop(call);
	if (!sd_bus_message_is_method_error(message, NULL)) {
		fn(ctx, (struct bus_reply *)message, NULL);
		return 0;
	}
	const sd_bus_error *error = sd_bus_message_get_error(message);
	(void)cua_err_set(&err, code_of(error), "%.200s", error->message ? error->message : "");
	fn(ctx, NULL, &err);
	return 0;
}

static void step_later(struct bus *bus) {
	loop_timer_start(bus->timer, 0);
}

static int send_call(struct bus_call *call, const struct bus_method *method, uint32_t ms,
	const char *types, va_list args) {
	sd_bus_message *message = NULL;
	int r = sd_bus_message_new_method_call(call->bus->sd, &message, method->to, method->path,
		method->interface, method->member);
	if (r >= 0 && types[0] != '\0') {
		r = sd_bus_message_appendv(message, types, args);
	}
	if (r >= 0) {
		/* Nobody is started for the sake of a question but by its well-known name. */
		(void)sd_bus_message_set_auto_start(message, method->to[0] != ':');
		r = sd_bus_call_async(
			call->bus->sd, &call->slot, message, on_reply, call, (uint64_t)ms * 1000);
	}
	(void)sd_bus_message_unref(message);
	return r;
}

struct bus_call *bus_call(struct bus *bus, const struct bus_method *method,
	const struct bus_wait *wait, struct cua_err *err, const char *types, ...) {
	struct bus_call *call = calloc(1, sizeof(*call));
	if (!call) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a call");
		return NULL;
	}
	*call = (struct bus_call){.bus = bus, .fn = wait->fn, .ctx = wait->ctx};
	va_list args;
	va_start(args, types);
	int r = send_call(call, method, wait->ms, types, args);
	va_end(args);
	if (r < 0) {
		(void)cua_err_errno(err, r, "cannot call %s", method->member);
		free(call);
		return NULL;
	}
	call->at = &bus->calls;
	call->next = bus->calls;
	if (call->next) {
		call->next->at = &call->next;
	}
	bus->calls = call;
	step_later(bus);
	return call;
}

/* ---------------------------------------------------------------- the connection */

static void fail_calls(struct bus *bus, const struct cua_err *why) {
	while (bus->calls) {
		bus_answer *fn = bus->calls->fn;
		void *ctx = bus->calls->ctx;
		call_drop(bus->calls);
		fn(ctx, NULL, why);
	}
}

static void go_down(struct bus *bus, int errnum) {
	struct cua_err err;
	(void)cua_err_set(&err, CUA_INTERNAL, "the accessibility bus is gone: %s",
		strerror(errnum < 0 ? -errnum : errnum));
	bus->io = loop_io_remove(bus->io);
	loop_timer_stop(bus->timer);
	fail_calls(bus, &err);
	if (!bus->dying) {
		bus->lost(bus->ctx, &err);
	}
}

static void watch(struct bus *bus) {
	int events = sd_bus_get_events(bus->sd);
	uint64_t until = UINT64_MAX;
	if (events < 0 || sd_bus_get_timeout(bus->sd, &until) < 0) {
		go_down(bus, ENOTCONN);
		return;
	}
	loop_io_want(bus->io, (events & POLLIN) != 0, (events & POLLOUT) != 0);
	if (until == UINT64_MAX) {
		loop_timer_stop(bus->timer);
		return;
	}
	uint64_t now = loop_now_us();
	loop_timer_start(bus->timer, until > now ? (until - now + 999) / 1000 : 0);
}

static void step(struct bus *bus) {
	for (int i = 0; i < BURST && !bus->dying; i++) {
		int r = sd_bus_process(bus->sd, NULL);
		if (bus->dying) {
			return;
		}
		if (r < 0 || sd_bus_is_open(bus->sd) <= 0) {
			go_down(bus, r < 0 ? r : ENOTCONN);
			return;
		}
		if (r == 0) {
			watch(bus);
			return;
		}
	}
	step_later(bus);
}

static void on_step(void *ctx) {
	struct bus *bus = ctx;
	bus->stepping = true;
	step(bus);
	bus->stepping = false;
	if (bus->dying) {
		(void)bus_free(bus);
	}
}

static int connect_bus(struct bus *bus, struct loop *loop, int fd, struct cua_err *err) {
	bus->timer = loop_timer_new(loop, on_step, bus, err);
	int r = bus->timer ? sd_bus_new(&bus->sd) : -ENOMEM;
	if (r < 0) {
		(void)close(fd);
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a bus");
	}
	r = sd_bus_set_fd(bus->sd, fd, fd);
	if (r < 0) {
		(void)close(fd);
	}
	if (r >= 0) {
		(void)sd_bus_set_bus_client(bus->sd, 1);
		(void)sd_bus_negotiate_creds(bus->sd, 0, 0);
		/* Nobody is to fill the worker with descriptors. */
		(void)sd_bus_negotiate_fds(bus->sd, 0);
		r = sd_bus_start(bus->sd);
	}
	if (r < 0) {
		return cua_err_errno(err, r, "cannot speak to the bus");
	}
	bus->io = loop_io_add(loop, sd_bus_get_fd(bus->sd), on_step, bus, err);
	if (!bus->io) {
		return -CUA_EXHAUSTED;
	}
	step_later(bus);
	return 0;
}

CUA_DEFINE_CLEANUP(struct bus *, bus_free)

struct bus *bus_new(struct loop *loop, int fd, bus_lost *lost, void *ctx, struct cua_err *err) {
	if (!fd_is_stream_socket(fd)) {
		(void)close(fd);
		(void)cua_err_set(err, CUA_INTERNAL, "the session gave no socket for its bus");
		return NULL;
	}
	_cleanup_(bus_free_p) struct bus *bus = calloc(1, sizeof(*bus));
	if (!bus) {
		(void)close(fd);
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a bus");
		return NULL;
	}
	bus->lost = lost;
	bus->ctx = ctx;
	return connect_bus(bus, loop, fd, err) < 0 ? NULL : take_ptr(bus);
}

struct bus *bus_free(struct bus *bus) {
	if (!bus) {
		return NULL;
	}
	while (bus->calls) {
		call_drop(bus->calls);
	}
	bus->dying = bus->stepping;
	if (!bus->dying) {
		bus->io = loop_io_remove(bus->io);
		bus->timer = loop_timer_free(bus->timer);
		/* Not flushed: that would wait. */
		(void)sd_bus_close_unref(bus->sd);
		free(bus);
	}
	return NULL;
}

/* ---------------------------------------------------------------- answers */

static int told(int r) {
	return r < 0 ? -CUA_INVALID : r > 0;
}

int bus_read(struct bus_reply *reply, const char *types, ...) {
	va_list args;
	va_start(args, types);
	int r = sd_bus_message_readv((sd_bus_message *)reply, types, args);
	va_end(args);
	return told(r);
}

int bus_enter(struct bus_reply *reply, char type, const char *contents) {
	return told(sd_bus_message_enter_container((sd_bus_message *)reply, type, contents));
}

int bus_exit(struct bus_reply *reply) {
	return told(sd_bus_message_exit_container((sd_bus_message *)reply));
}
