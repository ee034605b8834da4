/* Actions and their parameters in JSON, strictly by the action table: what a client sends becomes a
 * cua_call, and the table becomes JSON Schema for documents. Nothing here knows an action by name
 * but `screenshot`, whose parameters others embed.
 *
 * Errors are about the parameter (err->subject): an unknown one is bad_request and names the nearest
 * known one, a wrong type is bad_request, a value out of its range is invalid. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "cua/action.h"

/* Memory of a call's blobs. Start with {0}. */
struct cua_call_mem {
	void *blob[CUA_MSG_BLOBS];
	size_t count;
};

/* Frees the blobs; the call that refers to them must not be used any more. */
void cua_call_mem_done(struct cua_call_mem *mem);

/* Reads the parameters (an object, or NULL for none) of an action. On success *ret is filled and its
 * blobs live in *mem until cua_call_mem_done(); on failure *mem is empty. Absent optional parameters
 * stay absent: defaults are the performer's. Every key must be the action's parameter, so keys of
 * the transport (`binary`) are taken out by the caller before. Parameters of the kinds ACTIONS and
 * PICTURE are only checked (the list's length, the object's keys and values); the caller reads them
 * from the JSON. */
int cua_call_from_json(const json_t *params, const struct cua_action *action, struct cua_call *ret,
	struct cua_call_mem *mem, struct cua_err *err) CUA_CHECK;

/* The same for {"action": NAME, PARAMETER…}, as in `batch` and in POST …/actions. An unknown name is
 * bad_request about "action" and names the nearest known one. */
int cua_call_from_object(const json_t *object, struct cua_call *ret, struct cua_call_mem *mem,
	struct cua_err *err) CUA_CHECK;

/* The value of a PICTURE parameter: NULL, null and false want no picture (0); true and an object do
 * (1), and *ret is then a call of `screenshot`, which has no blobs. */
int cua_picture_from_json(const json_t *value, struct cua_call *ret, struct cua_err *err) CUA_CHECK;

/* The nearest known action name to a misspelt one; never NULL. */
const char *cua_action_nearest(const char *name);

/* JSON Schema (2020-12, as OpenAPI 3.1 uses it) of an action's parameters: an object schema with
 * additionalProperties false. The caller decrefs; NULL without memory. */
json_t *cua_action_schema(const struct cua_action *action);

/* JSON Schema of a result's shape. The caller decrefs; NULL without memory. */
json_t *cua_result_schema(enum cua_result result);
