/* Actions of HTTP requests; see the header. */
#include "server/front/reply.h"

#include <stdlib.h>

#include "server/front/result.h"

struct pending {
	struct request *req; /* NULL after the client has left */
	reply_fn *write;
};

static void on_gone(void *data) {
	struct pending *pending = data;
	pending->req = NULL;
}

static void on_done(void *data, const struct outcome *outcome, const struct cua_err *err) {
	_cleanup_free_ struct pending *pending = data;
	if (pending->req) {
		pending->write(pending->req, outcome, err);
	}
}

void reply_action(struct request *req, const char *action, const json_t *params, reply_fn *write) {
	struct pending *pending = calloc(1, sizeof(*pending));
	if (!pending) {
		abort();
	}
	*pending = (struct pending){.req = req, .write = write};
	request_on_gone(req, on_gone, pending);
	perform(&(struct perform_ask){.front = request_front(req),
			.who = request_identity(req),
			.session = request_param(req, "id"),
			.lease = PERFORM_HTTP_LEASE,
			.action = action,
			.params = params},
		on_done, pending);
}

void reply_action_error(
	struct request *req, const struct outcome *outcome, const struct cua_err *err) {
	if (outcome->detail) {
		request_reply_json(req, cua_code_http(err->code),
			json_pack("{s:o}", "error", result_error(err, outcome->detail)));
	} else {
		request_reply_error(req, err);
	}
}

void reply_action_json(
	struct request *req, const struct outcome *outcome, const struct cua_err *err) {
	struct cua_err own;
	if (!err && outcome_inline_picture(outcome, &own) < 0) {
		err = &own;
	}
	if (err) {
		reply_action_error(req, outcome, err);
	} else {
		request_reply_json(req, 200, json_incref(outcome->result));
	}
}
