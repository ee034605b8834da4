/* The one way to do anything in a session: resolve the session, check the role, ask the policy,
 * perform, note the evidence, answer. Every dialect ends here. */
#pragma once

#include <jansson.h>

#include "cua/action.h"
#include "server/front/sessions.h"

/* The lease of keys and buttons held by plain HTTP requests; let go after a while. */
#define PERFORM_HTTP_LEASE 1

struct perform_ask {
	struct front *front;
	const struct identity *who;
	const char *session; /* id, name or prefix */
	uint32_t lease; /* from sessions_lease_new(), or PERFORM_HTTP_LEASE */
	const char *action; /* its name; NULL: params has it as "action" */
	const json_t *params; /* an object, or NULL; borrowed during the call */
	const bool *over; /* becomes true when nobody waits for the rest any more; NULL: never */
};

enum perform_fault {
	PERFORM_FAILED, /* the action itself */
	PERFORM_UNKNOWN_ACTION, /* there is no such action */
	PERFORM_BAD_PARAMS, /* its parameters are not what the action table says */
};

/* What came of it. Valid during the call of perform_done. */
struct outcome {
	json_t *result; /* NULL when it failed */
	json_t *picture; /* the object in result that describes a picture; NULL without one */
	struct cua_span bytes; /* the picture's, which are not in result yet */
	json_t *detail; /* for the error; NULL without any */
	enum perform_fault fault;
};

/* err is NULL on success. */
typedef void perform_done(void *data, const struct outcome *outcome, const struct cua_err *err);

/* Performs one action; done is called exactly once, never from inside this call. */
void perform(const struct perform_ask *ask, perform_done *done, void *data);

/* Puts the picture's bytes into the result as base64, if there is one. */
int outcome_inline_picture(const struct outcome *outcome, struct cua_err *err) CUA_CHECK;

/* For what is a stream rather than a request and answer (files over HTTP, terminals): the steps
 * before performing. NULL with the error, or the session, which runs. */
struct session *perform_begin(struct front *front, const struct identity *who, const char *session,
	enum cua_action_id action, struct cua_err *err);
/* And the step after it. since: loop_now_ms() at the beginning. */
void perform_end(struct front *front, const struct identity *who, const char *session_id,
	enum cua_action_id action, uint64_t since, const struct cua_err *err);
