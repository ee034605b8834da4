/* Actions over plain HTTP: the screenshot, one action or a list, and exec. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cua/parse.h"
#include "server/front/api.h"
#include "server/front/front.h"
#include "server/front/perform.h"
#include "server/front/reply.h"

/* ---------------------------------------------------------------- actions and exec */

/* A list is a batch. */
static void post_actions(struct request *req) {
	struct cua_err err;
	json_t *body = request_json(req, &err);
	if (!body) {
		request_reply_error(req, &err);
	} else if (json_is_array(body)) {
		json_t *params = json_pack("{s:O}", "actions", body);
		reply_action(req, "batch", params, reply_action_json);
		json_decref(params);
	} else if (json_is_object(body)) {
		reply_action(req, NULL, body, reply_action_json);
	} else {
		(void)cua_err_set(&err, CUA_BAD_REQUEST, "an action is an object");
		request_reply_error(req, &err);
	}
	json_decref(body);
}

static void post_exec(struct request *req) {
	struct cua_err err;
	json_t *body = request_json(req, &err);
	if (!body) {
		request_reply_error(req, &err);
		return;
	}
	reply_action(req, "exec", body, reply_action_json);
	json_decref(body);
}

/* ---------------------------------------------------------------- screenshot */

static void reply_picture(
	struct request *req, const struct outcome *outcome, const struct cua_err *err) {
	if (err) {
		reply_action_error(req, outcome, err);
		return;
	}
	char etag[32];
	(void)snprintf(etag, sizeof(etag), "%" JSON_INTEGER_FORMAT,
		json_integer_value(json_object_get(outcome->result, "frame")));
	if (!outcome->picture) {
		request_reply_empty(req, 304, etag);
		return;
	}
	request_reply_bytes(req, 200, json_string_value(json_object_get(outcome->picture, "mime")),
		outcome->bytes, etag);
}

/* "10,20,300,200" */
static json_t *numbers(const char *text) {
	json_t *list = json_array();
	const char *p = text;
	for (bool more = true; more;) {
		char *end = NULL;
		long number = strtol(p, &end, 10);
		if (end == p || (*end && *end != ',')) {
			json_decref(list);
			return json_string(text); /* the action's own check tells what is wrong */
		}
		(void)json_array_append_new(list, json_integer(number));
		more = *end == ',';
		p = end + 1;
	}
	return list;
}

/* A query parameter as the JSON that the action's parameter takes. */
static json_t *query_value(const struct cua_param *param, const char *text) {
	if (param->kind == CUA_PARAM_INTS) {
		return numbers(text);
	}
	if (param->kind == CUA_PARAM_BOOL && (!*text || strcmp(text, "1") == 0)) {
		return json_true();
	}
	if (param->kind == CUA_PARAM_BOOL && strcmp(text, "0") == 0) {
		return json_false();
	}
	json_t *value =
		param->kind == CUA_PARAM_ENUM ? NULL : json_loads(text, JSON_DECODE_ANY, NULL);
	return value ? value : json_string(text);
}

/* WxH is the action's `max`, also when it is called a scale. */
static void set_query(json_t *params, const struct cua_param *param, const char *text) {
	uint32_t size[2];
	bool fits = strcmp(param->name, "scale") == 0 || strcmp(param->name, "max") == 0;
	if (fits && parse_pair(text, size)) {
		(void)json_object_set_new(params, "max",
			json_pack("[I, I]", (json_int_t)size[0], (json_int_t)size[1]));
		return;
	}
	(void)json_object_set_new(params, param->name, query_value(param, text));
}

/* The frame that the client has, out of If-None-Match. */
static void set_known_frame(json_t *params, const struct request *req) {
	const char *known = request_header(req, "if-none-match");
	if (known && strncmp(known, "W/", 2) == 0) {
		known += 2;
	}
	uint64_t frame = 0;
	if (known && *known++ == '"' && parse_digits(&known, INT64_MAX, &frame) && *known == '"') {
		(void)json_object_set_new(
			params, "if_changed_since", json_integer((json_int_t)frame));
	}
}

static void get_screenshot(struct request *req) {
	const struct cua_action *action = cua_action_get(CUA_ACTION_SCREENSHOT);
	json_t *params = json_object();
	set_known_frame(params, req);
	for (size_t i = 0; i < action->param_count; i++) {
		const char *text = request_query(req, action->params[i].name);
		if (text) {
			set_query(params, &action->params[i], text);
		}
	}
	reply_action(req, action->name, params, reply_picture);
	json_decref(params);
}

static const struct route routes[] = {
	{.method = HTTP_GET,
		.pattern = "/v1/sessions/{id}/screenshot",
		.role = CUA_ROLE_VIEWER,
		.handler = get_screenshot,
		.summary = "The picture of the screen; its ETag is the frame's number."},
	{.method = HTTP_POST,
		.pattern = "/v1/sessions/{id}/actions",
		.role = CUA_ROLE_VIEWER,
		.handler = post_actions,
		.summary = "Perform one action, or a list up to the first error."},
	{.method = HTTP_POST,
		.pattern = "/v1/sessions/{id}/exec",
		.role = CUA_ROLE_AGENT,
		.handler = post_exec,
		.summary = "Run a command and return its output."},
};

const struct route *api_action_routes(size_t *ret_count) {
	*ret_count = CUA_COUNT(routes);
	return routes;
}
