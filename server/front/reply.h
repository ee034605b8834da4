/* Answering an HTTP request with what an action gave. */
#pragma once

#include "server/front/perform.h"

/* Writes the answer to a request whose client is still there. */
typedef void reply_fn(
	struct request *req, const struct outcome *outcome, const struct cua_err *err);

/* Performs an action in the session of the path's {id}; params is borrowed. action may be NULL as
 * in struct perform_ask. */
void reply_action(struct request *req, const char *action, const json_t *params, reply_fn *write);
/* The result as JSON, a picture in it as base64; or the error. */
reply_fn reply_action_json;
/* The error, with its detail. */
reply_fn reply_action_error;
