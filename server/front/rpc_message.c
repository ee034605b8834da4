/* JSON-RPC messages; see the header. */
#include "server/front/rpc_message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/front/json_text.h"

json_t *rpc_decode(struct cua_span text, const char **ret_why) {
	struct cua_err err;
	json_t *json = json_text_decode(text, &err);
	if (!json) {
		*ret_why = err.code == CUA_TOO_LARGE ? "the message has too many values"
						     : "the message is not JSON";
	}
	return json;
}

static bool id_ok(const json_t *id) {
	return !id || json_is_string(id) || json_is_number(id) || json_is_null(id);
}

/* Takes `binary` out of the parameters. -32602 if it is no boolean. */
static int take_binary(struct rpc_call *call, const char **ret_why) {
	const json_t *binary = json_object_get(call->params, "binary");
	if (!binary) {
		return 0;
	}
	if (!json_is_boolean(binary)) {
		*ret_why = "binary must be true or false";
		return RPC_INVALID_PARAMS;
	}
	call->binary = json_is_true(binary);
	(void)json_object_del(call->params, "binary");
	return 0;
}

static int read_params(const json_t *params, struct rpc_call *ret, const char **ret_why) {
	if (params && !json_is_object(params)) {
		*ret_why = "params must be an object";
		return RPC_INVALID_PARAMS;
	}
	ret->params = params ? json_copy((json_t *)(uintptr_t)params) : json_object();
	int r = take_binary(ret, ret_why);
	if (r < 0) {
		rpc_call_done(ret);
	}
	return r;
}

int rpc_read(json_t *value, struct rpc_call *ret, const char **ret_why) {
	*ret = (struct rpc_call){0};
	const json_t *id = json_object_get(value, "id");
	if (!json_is_object(value) || !id_ok(id)) {
		*ret_why = json_is_object(value) ? "id must be a string, a number or null"
						 : "a call is an object";
		return RPC_INVALID_REQUEST;
	}
	ret->id = (json_t *)(uintptr_t)id;
	const char *version = json_string_value(json_object_get(value, "jsonrpc"));
	ret->method = json_string_value(json_object_get(value, "method"));
	if (!version || strcmp(version, "2.0") != 0 || !ret->method) {
		*ret_why = ret->method ? "jsonrpc must be \"2.0\"" : "method must be a string";
		return RPC_INVALID_REQUEST;
	}
	return read_params(json_object_get(value, "params"), ret, ret_why);
}

void rpc_call_done(struct rpc_call *call) {
	json_decref(call->params);
	call->params = NULL;
}

json_t *rpc_answer(json_t *id, json_t *result) {
	return json_pack(
		"{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id ? id : json_null(), "result", result);
}

json_t *rpc_error(json_t *id, int code, const char *message, json_t *data) {
	json_t *error = json_pack("{s:i, s:s}", "code", code, "message", message);
	if (error && data) {
		(void)json_object_set(error, "data", data);
	}
	json_decref(data);
	return json_pack(
		"{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id ? id : json_null(), "error", error);
}

void *rpc_binary_head(const json_t *answer, size_t *ret_len) {
	size_t len = json_dumpb(answer, NULL, 0, JSON_OUT);
	uint8_t *head = len > 0 ? malloc(4 + len) : NULL;
	if (!head) {
		return NULL;
	}
	head[0] = (uint8_t)(len >> 24);
	head[1] = (uint8_t)(len >> 16);
	head[2] = (uint8_t)(len >> 8);
	head[3] = (uint8_t)len;
	(void)json_dumpb(answer, (char *)head + 4, len, JSON_OUT);
	*ret_len = 4 + len;
	return head;
}
