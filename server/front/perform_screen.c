/* Actions on the screen: asked of the worker, and once more for the picture that an input action may
 * want after it. */
#include <string.h>

#include "server/front/perform_priv.h"
#include "server/front/result.h"
#include "server/front/result_ui.h"
#include "server/front/worker.h"

static void answer(struct op *op, json_t *result, json_t *picture, struct cua_span bytes) {
	if (!result) {
		op_result(op, NULL);
	} else {
		op_finish(op, result, picture, bytes);
	}
}

/* The picture after an input action goes into the action's own result. */
static void on_picture(void *data, const cua_ActionResult *told, struct cua_span bytes,
	const struct cua_err *err) {
	struct op *op = data;
	if (err) {
		struct cua_err own = *err;
		(void)cua_err_prefix(&own, "the action was done, its picture failed");
		op_fail(op, &own);
		return;
	}
	json_t *picture = NULL;
	json_t *json = result_screen(CUA_RESULT_PICTURE, told, bytes, &picture);
	json_t *result = take_ptr(op->first);
	if (!json || json_object_set_new(result, "screenshot", json) < 0) {
		json_decref(result);
		op_result(op, NULL);
		return;
	}
	answer(op, result, picture, bytes);
}

/* Whether a picture is wanted: 1 and *ret, or 0. The parameter was checked with the others. */
static int wanted_picture(const struct op *op, struct cua_call *ret, struct cua_err *err) {
	const json_t *value = op->action->input ? json_object_get(op->params, "screenshot") : NULL;
	return cua_picture_from_json(value, ret, err);
}

static int ask_picture(struct op *op, const struct cua_call *call, struct cua_err *err) {
	struct session *session = sessions_get(op->front->sessions, op->session);
	if (!session || !session->worker) {
		return cua_err_set(err, CUA_CONFLICT, "the desktop worker is not connected");
	}
	return worker_request(session->worker, call, op->lease, on_picture, op, err);
}

/* The supervisor tells it, too, but its message and this answer come in any order. */
static void note_screen(const struct op *op, const cua_ActionResult *told) {
	struct session *session = sessions_get(op->front->sessions, op->session);
	if (session && op->call.id == CUA_ACTION_SET_SCREEN && told->width > 0 &&
		told->height > 0) {
		session->told.screen.width = told->width;
		session->told.screen.height = told->height;
	}
}

/* The result's JSON; NULL with the error. */
static json_t *shape(const struct op *op, const cua_ActionResult *told, struct cua_span bytes,
	json_t **ret_picture, struct cua_err *err) {
	bool tree = op->action->result == CUA_RESULT_UI_TREE;
	if (tree || op->action->result == CUA_RESULT_UI_NODES) {
		return result_ui(bytes, !tree, told->has_ui_cut ? told->ui_cut : 0, err);
	}
	json_t *result = result_screen(op->action->result, told, bytes, ret_picture);
	if (!result) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the answer");
	} else if (op->action->input && bytes.len > 0) {
		json_t *nodes = result_ui_nodes(bytes, true, err);
		if (!nodes) {
			json_decref(result);
			return NULL;
		}
		(void)json_object_set(result, "node", json_array_get(nodes, 0));
		json_decref(nodes);
	}
	return result;
}

static void on_answer(void *data, const cua_ActionResult *told, struct cua_span bytes,
	const struct cua_err *err) {
	struct op *op = data;
	if (err) {
		op_fail(op, err);
		return;
	}
	note_screen(op, told);
	json_t *picture = NULL;
	struct cua_err own;
	json_t *result = shape(op, told, bytes, &picture, &own);
	if (!result) {
		op_fail(op, &own);
		return;
	}
	_cleanup_free_ struct cua_call *call = calloc(1, sizeof(*call));
	int r = call ? wanted_picture(op, call, &own)
		     : cua_err_set(&own, CUA_EXHAUSTED, "no memory for a picture");
	if (r > 0) {
		op->first = take_ptr(result);
		r = ask_picture(op, call, &own);
	} else if (r == 0) {
		answer(op, result, picture, picture ? bytes : (struct cua_span){0});
	}
	if (r < 0) {
		json_decref(result);
		op_fail(op, &own);
	}
}

/* ---------------------------------------------------------------- what HTTP holds */

static void on_held_too_long(void *data) {
	struct session *session = data;
	session->http_lease = NULL;
	if (session->worker) {
		worker_lease_end(session->worker, PERFORM_HTTP_LEASE);
	}
}

/* An HTTP request has no connection whose end would let go of what it holds. */
static void watch_lease(struct op *op, struct session *session) {
	if (op->lease == PERFORM_HTTP_LEASE &&
		(op->call.id == CUA_ACTION_KEY_DOWN || op->call.id == CUA_ACTION_MOUSE_DOWN)) {
		(void)loop_timer_cancel(session->http_lease);
		session->http_lease = loop_timer_add(
			op->front->loop, CUA_HTTP_HOLD_MS, on_held_too_long, session);
	}
}

int perform_screen(struct op *op, struct session *session, struct cua_err *err) {
	int r = worker_request(session->worker, &op->call, op->lease, on_answer, op, err);
	if (r == 0) {
		watch_lease(op, session);
	}
	return r;
}
