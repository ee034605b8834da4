/* The way of every action; see the header. How each kind is performed is in perform_*.c. */
#include "server/front/perform.h"

#include <stdlib.h>
#include <string.h>

#include "server/front/base64.h"
#include "server/front/evidence.h"
#include "server/front/perform_priv.h"
#include "server/front/policy.h"

static performer *const guest_performers[CUA_ACTION_MAX_] = {
	[CUA_ACTION_LAUNCH] = perform_launch,
	[CUA_ACTION_EXEC] = perform_exec,
	[CUA_ACTION_FILE_READ] = perform_file_read,
	[CUA_ACTION_FILE_WRITE] = perform_file_write,
	[CUA_ACTION_FILE_APPEND] = perform_file_write,
	[CUA_ACTION_FILE_LIST] = perform_file_other,
	[CUA_ACTION_FILE_STAT] = perform_file_other,
	[CUA_ACTION_FILE_REMOVE] = perform_file_other,
	[CUA_ACTION_FILE_MKDIR] = perform_file_other,
	[CUA_ACTION_FILE_MOVE] = perform_file_other,
};

/* ---------------------------------------------------------------- before */

static int check_runs(const struct session *session, struct cua_err *err) {
	if (session->told.state != cua_State_STATE_RUNNING) {
		return cua_err_about(err, CUA_CONFLICT, "session", "session %s is %s",
			session->told.name, session_state_name(session->told.state));
	}
	return 0;
}

static int check_edge(
	const struct session *session, const struct cua_action *action, struct cua_err *err) {
	if (action->by == CUA_BY_DESKTOP && !session->worker) {
		return cua_err_about(err, CUA_CONFLICT, "session",
			"the desktop worker of session %s is not connected", session->told.name);
	}
	if (action->by == CUA_BY_GUEST && !session->guest) {
		return cua_err_about(err, CUA_CONFLICT, "session",
			"the init of session %s is not connected", session->told.name);
	}
	return 0;
}

static int check_role(
	const struct identity *who, const struct cua_action *action, struct cua_err *err) {
	if (who->role < action->role) {
		return cua_err_set(err, CUA_FORBIDDEN, "%s needs the role %s, this token has %s",
			action->name, cua_role_name(action->role), cua_role_name(who->role));
	}
	return 0;
}

static int check_all(struct session *session, const struct identity *who,
	const struct cua_action *action, struct cua_err *err) {
	int r = check_role(who, action, err);
	if (r == 0) {
		r = policy_check(session, who, action, err);
	}
	if (r == 0) {
		r = check_runs(session, err);
	}
	if (r == 0) {
		r = check_edge(session, action, err);
	}
	if (r == 0) {
		session_touch(session);
	}
	return r;
}

struct session *perform_begin(struct front *front, const struct identity *who, const char *word,
	enum cua_action_id action, struct cua_err *err) {
	struct session *session = sessions_find(front->sessions, word, who, err);
	if (!session || check_all(session, who, cua_action_get(action), err) < 0) {
		return NULL;
	}
	return session;
}

/* ---------------------------------------------------------------- after */

static void count(struct front *front, unsigned action, bool failed) {
	struct counters *counters = sessions_counters(front->sessions);
	counters->actions[action]++;
	counters->failures[action] += failed;
}

void perform_end(struct front *front, const struct identity *who, const char *session_id,
	enum cua_action_id action, uint64_t since, const struct cua_err *err) {
	count(front, action, err != NULL);
	evidence_note(&(struct evidence){.session = session_id,
		.who = who,
		.action = cua_action_get(action),
		.took_ms = loop_now_ms() - since,
		.err = err});
	struct session *session = sessions_get(front->sessions, session_id);
	if (session) {
		session_touch(session);
	}
}

static struct op *op_free(struct op *op) {
	if (op) {
		cua_call_mem_done(&op->mem);
		json_decref(op->params);
		json_decref(op->detail);
		json_decref(op->first);
		free(op);
	}
	return NULL;
}

static void op_end(struct op *op, const struct outcome *outcome, const struct cua_err *err) {
	if (op->action) {
		perform_end(op->front, &op->who, op->session, (enum cua_action_id)op->call.id,
			op->since, err);
	}
	op->done(op->data, outcome, err);
	(void)op_free(op);
}

void op_finish(struct op *op, json_t *result, json_t *picture, struct cua_span bytes) {
	struct outcome outcome = {.result = result, .picture = picture, .bytes = bytes};
	op_end(op, &outcome, NULL);
	json_decref(result);
}

void op_result(struct op *op, json_t *result) {
	if (result) {
		op_finish(op, result, NULL, (struct cua_span){0});
		return;
	}
	struct cua_err err;
	(void)cua_err_set(&err, CUA_EXHAUSTED, "no memory for the answer");
	op_fail(op, &err);
}

void op_fail(struct op *op, const struct cua_err *err) {
	struct cua_err told = *err;
	struct outcome outcome = {.fault = op->fault, .detail = op->detail};
	op_end(op, &outcome, &told);
}

static void on_failed(void *data) {
	struct op *op = data;
	op_fail(op, &op->failed);
}

int outcome_inline_picture(const struct outcome *outcome, struct cua_err *err) {
	if (!outcome->picture) {
		return 0;
	}
	json_t *data = base64_json(outcome->bytes);
	if (!data || json_object_set_new(outcome->picture, "data", data) < 0) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for the picture");
	}
	return 0;
}

/* ---------------------------------------------------------------- the way */

static int find_action(struct op *op, const struct perform_ask *ask, struct cua_err *err) {
	const char *name = ask->action;
	if (!name) {
		name = json_string_value(json_object_get(ask->params, "action"));
	}
	if (!name) {
		op->fault = PERFORM_BAD_PARAMS;
		return cua_err_about(err, CUA_BAD_REQUEST, "action", "the action is not named");
	}
	int id = cua_action_find(name);
	if (id < 0) {
		op->fault = PERFORM_UNKNOWN_ACTION;
		return cua_err_about(err, CUA_BAD_REQUEST, "action",
			"there is no action %.64s; do you mean %s?", name,
			cua_action_nearest(name));
	}
	op->action = cua_action_get((unsigned)id);
	op->call.id = (unsigned)id;
	return 0;
}

static int read_params(struct op *op, const struct perform_ask *ask, struct cua_err *err) {
	int r = ask->action ? cua_call_from_json(ask->params, op->action, &op->call, &op->mem, err)
			    : cua_call_from_object(ask->params, &op->call, &op->mem, err);
	if (r == -CUA_BAD_REQUEST) {
		op->fault = PERFORM_BAD_PARAMS;
	}
	return r;
}

static performer *performer_of(const struct op *op) {
	switch (op->action->by) {
	case CUA_BY_DESKTOP:
		return perform_screen;
	case CUA_BY_GUEST:
		return guest_performers[op->call.id];
	case CUA_BY_FRONT:
		return perform_batch;
	}
	return NULL;
}

static int op_begin(struct op *op, const struct perform_ask *ask, struct cua_err *err) {
	struct session *session = sessions_find(op->front->sessions, ask->session, &op->who, err);
	if (!session) {
		return -(int)err->code;
	}
	memcpy(op->session, session->told.id, sizeof(op->session));
	int r = find_action(op, ask, err);
	if (r == 0) {
		r = read_params(op, ask, err);
	}
	if (r == 0) {
		r = check_all(session, &op->who, op->action, err);
	}
	return r < 0 ? r : performer_of(op)(op, session, err);
}

void perform(const struct perform_ask *ask, perform_done *done, void *data) {
	struct op *op = calloc(1, sizeof(*op));
	if (!op) {
		abort(); /* a fixed size, and nobody could be told */
	}
	op->front = ask->front;
	op->who = *ask->who;
	op->lease = ask->lease;
	op->over = ask->over;
	op->done = done;
	op->data = data;
	op->params = json_incref((json_t *)(uintptr_t)ask->params);
	op->since = loop_now_ms();
	int r = op_begin(op, ask, &op->failed);
	if (r < 0) {
		(void)loop_timer_add(op->front->loop, 0, on_failed, op);
	}
}
