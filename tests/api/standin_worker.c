/* A worker that makes everything up; see the header. */
#include "tests/api/standin_worker.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cua/action.h"
#include "cua/fdio.h"
#include "cua/msg.h"

#define DELAYED_MAX 64

struct delayed {
	uint32_t serial;
	long due_ms;
};

struct worker {
	int sock;
	uint64_t frame;
	int32_t leases_ended;
	int32_t last_lease;
	char typed[64];
	struct delayed delayed[DELAYED_MAX];
	struct cua_msg in;
};

static long now_ms(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void answer(struct worker *w, const cua_ActionResult *result, struct cua_span picture) {
	struct cua_err err;
	const struct cua_out out = {.type = CUA_MSG_ACTION_RESULT,
		.body = result,
		.blob = &picture,
		.blob_count = picture.len > 0 ? 1 : 0};
	if (cua_msg_send(w->sock, &out, &err) < 0) {
		_exit(0);
	}
}

static void effect(struct worker *w, uint32_t serial) {
	static cua_ActionResult result;
	result = (cua_ActionResult){.serial = serial,
		.has_effect = true,
		.effect = cua_Effect_EFFECT_CHANGED,
		.changed_count = 1,
		.changed = {{1, 2, 3, 4}},
		.has_frame = true,
		.frame = ++w->frame,
		.has_settled = true,
		.settled = true,
		.has_elapsed_us = true,
		.elapsed_us = 1500};
	answer(w, &result, (struct cua_span){0});
}

static void picture(struct worker *w, const cua_ActionRequest *request) {
	static cua_ActionResult result;
	char bytes[64];
	result =
		(cua_ActionResult){.serial = request->serial, .has_frame = true, .frame = w->frame};
	if (request->args.has_if_changed_since && request->args.if_changed_since == w->frame) {
		result.has_unchanged = result.unchanged = true;
		answer(w, &result, (struct cua_span){0});
		return;
	}
	result.has_format = result.has_width = result.has_height = true;
	result.format = request->args.format;
	result.width = 800;
	result.height = 600;
	int len = snprintf(bytes, sizeof(bytes), "PICTURE %llu", (unsigned long long)w->frame);
	answer(w, &result, (struct cua_span){.data = bytes, .len = (size_t)len});
}

static void fail(struct worker *w, uint32_t serial) {
	static cua_ActionResult result;
	struct cua_err err;
	(void)cua_err_about(&err, CUA_OUT_OF_SCREEN, "x", "5555 is outside");
	result = (cua_ActionResult){
		.serial = serial, .has_error = true, .error = cua_error_to_wire(&err)};
	answer(w, &result, (struct cua_span){0});
}

static void cursor(struct worker *w, uint32_t serial) {
	static cua_ActionResult result;
	result = (cua_ActionResult){.serial = serial,
		.has_x = true,
		.x = w->leases_ended,
		.has_y = true,
		.y = w->last_lease,
		.has_shape = true};
	(void)snprintf(result.shape, sizeof(result.shape), "%s", w->typed);
	answer(w, &result, (struct cua_span){0});
}

static void delay(struct worker *w, const cua_ActionRequest *request) {
	for (size_t i = 0; i < DELAYED_MAX; i++) {
		if (w->delayed[i].serial == 0) {
			w->delayed[i] = (struct delayed){
				request->serial, now_ms() + (long)request->args.ms};
			return;
		}
	}
}

static void on_request(struct worker *w, const struct cua_msg *msg) {
	const cua_ActionRequest *request = &msg->body.action_request;
	switch (request->action) {
	case CUA_ACTION_SCREENSHOT:
		picture(w, request);
		break;
	case CUA_ACTION_CURSOR_POSITION:
		cursor(w, request->serial);
		break;
	case CUA_ACTION_WAIT:
		delay(w, request);
		break;
	case CUA_ACTION_DRAG:
		break;
	case CUA_ACTION_TYPE:
		(void)snprintf(w->typed, sizeof(w->typed), "%.*s", (int)msg->blob[0].len,
			(const char *)msg->blob[0].data);
		effect(w, request->serial);
		break;
	default:
		if (request->args.has_x && request->args.x == 5555) {
			fail(w, request->serial);
		} else {
			effect(w, request->serial);
		}
	}
}

/* Answers what is due; milliseconds until the next, -1 if there is none. */
static int answer_delayed(struct worker *w) {
	long next = -1;
	for (size_t i = 0; i < DELAYED_MAX; i++) {
		struct delayed *d = &w->delayed[i];
		long left = d->serial ? d->due_ms - now_ms() : -1;
		if (d->serial && left <= 0) {
			effect(w, d->serial);
			d->serial = 0;
		} else if (d->serial && (next < 0 || left < next)) {
			next = left;
		}
	}
	return (int)next;
}

static void receive(struct worker *w) {
	struct cua_err err;
	int r = cua_msg_recv(w->sock, CUA_DIR_CUAD_TO_WORKER, &w->in, &err);
	if (r < 0) {
		_exit(0);
	}
	if (r == 0) {
		return;
	}
	if (w->in.type == CUA_MSG_ACTION_REQUEST) {
		on_request(w, &w->in);
	} else if (w->in.type == CUA_MSG_LEASE_END) {
		w->leases_ended++;
		w->last_lease = (int32_t)w->in.body.lease_end.lease;
	}
	cua_msg_done(&w->in);
}

static _Noreturn void run(int sock) {
	static struct worker w;
	struct cua_err err;
	w.sock = sock;
	if (cua_hello_send(sock, &err) < 0) {
		_exit(1);
	}
	for (;;) {
		struct pollfd wait = {.fd = sock, .events = POLLIN};
		if (poll(&wait, 1, answer_delayed(&w)) > 0) {
			receive(&w);
		}
	}
}

int standin_worker_start(void) {
	int pair[2];
	struct cua_err err;
	if (fd_seqpacket_pair(pair, &err) < 0) {
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		/* others must see it when the test closes its own descriptors */
		(void)dup2(pair[1], 3);
		(void)close_range(4, ~0u, 0);
		run(3);
	}
	(void)close(pair[1]);
	return pair[0];
}
