/* One connection to a D-Bus daemon in the session, driven by the worker's loop. The only user of
 * sd-bus. Nothing blocks: every call has a deadline and its answer comes by a callback. The daemon
 * and everybody on it are untrusted; what does not decode is an error of that call or ends the
 * connection. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "desktop/loop.h"

struct bus;
struct bus_call;
struct bus_reply;

/* The connection is gone. Calls under way have been answered with an error. */
typedef void bus_lost(void *ctx, const struct cua_err *why);

/* Speaks D-Bus over a connected socket, which becomes the bus's, also on failure, and which must be a
 * Unix stream socket. Greets; calls may be made at once. lost is called once, from the loop. NULL on
 * failure. */
struct bus *bus_new(struct loop *loop, int fd, bus_lost *lost, void *ctx, struct cua_err *err);
/* Disconnects without calling anybody; calls under way end unanswered and their handles with them.
 * NULL is fine. Returns NULL. */
struct bus *bus_free(struct bus *bus);

/* Whom to call. */
struct bus_method {
	const char *to;
	const char *path;
	const char *interface;
	const char *member;
};

/* An answer: reply is NULL when err says why: -CUA_TIMEOUT, -CUA_NOT_FOUND when the program, object
 * or method does not exist, -CUA_INTERNAL for its own errors or a lost bus. Valid during the call. */
typedef void bus_answer(void *ctx, struct bus_reply *reply, const struct cua_err *err);

/* Who gets the answer, and within how many milliseconds. */
struct bus_wait {
	uint32_t ms;
	bus_answer *fn;
	void *ctx;
};

/* Calls a method; the arguments are those of a D-Bus signature of basic types and variants ("ssv" is
 * followed by the variant's own signature). fn is called once, from the loop. The handle is valid
 * until then. NULL on failure. */
struct bus_call *bus_call(struct bus *bus, const struct bus_method *method,
	const struct bus_wait *wait, struct cua_err *err, const char *types, ...);
/* Forgets a call: fn is not called. NULL is fine. Returns NULL. */
struct bus_call *bus_call_cancel(struct bus_call *call);

/* Reads the next values by their signature; basic types and variants of a known signature. 1, or 0 at
 * the end of an array, or -CUA_INVALID when the program sent something else. Strings are valid as
 * long as the reply, and well-formed UTF-8. */
int bus_read(struct bus_reply *reply, const char *types, ...) CUA_CHECK;
/* Steps into an array ('a'), struct ('r') or variant ('v') with these contents. As bus_read(). */
int bus_enter(struct bus_reply *reply, char type, const char *contents) CUA_CHECK;
/* Steps out; an array must have been read to its end. */
int bus_exit(struct bus_reply *reply) CUA_CHECK;
