/* `batch`: several actions in order, up to the first that fails. Each passes perform() by itself. */
#include "server/front/perform_priv.h"

static void next(struct op *op);

static json_t *actions_of(const struct op *op) {
	return json_object_get(op->params, "actions");
}

/* The error tells which action it was and what the ones before it answered. */
static void stop(struct op *op, const struct cua_err *err) {
	op->detail = json_pack("{s:I, s:O}", "index", (json_int_t)op->index, "results", op->first);
	op_fail(op, err);
}

static void on_done(void *data, const struct outcome *outcome, const struct cua_err *err) {
	struct op *op = data;
	struct cua_err own;
	if (!err && (outcome_inline_picture(outcome, &own) < 0 ||
			    json_array_append(op->first, outcome->result) < 0)) {
		(void)cua_err_set(&own, CUA_EXHAUSTED, "no memory for the results");
		err = &own;
	}
	if (err) {
		stop(op, err);
		return;
	}
	op->index++;
	next(op);
}

static void next(struct op *op) {
	const json_t *actions = actions_of(op);
	if (op->index == json_array_size(actions)) {
		op_result(op, json_incref(op->first));
		return;
	}
	if (op->over && *op->over) {
		struct cua_err err = {0};
		(void)cua_err_set(&err, CUA_CONFLICT, "the connection that asked for it has ended");
		stop(op, &err);
		return;
	}
	perform(&(struct perform_ask){.front = op->front,
			.who = &op->who,
			.session = op->session,
			.lease = op->lease,
			.params = json_array_get(actions, op->index)},
		on_done, op);
}

static int check_nesting(const json_t *actions, struct cua_err *err) {
	for (size_t i = 0; i < json_array_size(actions); i++) {
		const char *name =
			json_string_value(json_object_get(json_array_get(actions, i), "action"));
		if (name && strcmp(name, "batch") == 0) {
			return cua_err_about(
				err, CUA_INVALID, "actions", "a batch cannot hold a batch");
		}
	}
	return 0;
}

int perform_batch(struct op *op, struct session *session, struct cua_err *err) {
	(void)session;
	int r = check_nesting(actions_of(op), err);
	if (r < 0) {
		return r;
	}
	op->first = json_array();
	if (!op->first) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for the results");
	}
	next(op);
	return 0;
}
