/* JSON-RPC messages of clients, up to the parameters of every action. */
#include <stdint.h>
#include <stdlib.h>

#include "cua/action_json.h"
#include "server/front/rpc_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_params(const struct rpc_call *call) {
	int id = cua_action_find(call->method);
	struct cua_call *parsed = calloc(1, sizeof(*parsed));
	struct cua_call_mem mem = {0};
	struct cua_err err;
	if (parsed && id >= 0 &&
		cua_call_from_json(
			call->params, cua_action_get((unsigned)id), parsed, &mem, &err) == 0) {
		cua_call_mem_done(&mem);
	}
	free(parsed);
}

static void try_call(json_t *value) {
	struct rpc_call call;
	const char *why = NULL;
	int code = rpc_read(value, &call, &why);
	json_t *answer = NULL;
	if (code == 0) {
		try_params(&call);
		answer = rpc_answer(call.id, json_object());
		rpc_call_done(&call);
	} else {
		answer = rpc_error(call.id, code, why, NULL);
	}
	size_t len = 0;
	free(rpc_binary_head(answer, &len));
	json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	const char *why = NULL;
	json_t *json = rpc_decode((struct cua_span){.data = data, .len = size}, &why);
	if (json_is_array(json)) {
		for (size_t i = 0; i < json_array_size(json); i++) {
			try_call(json_array_get(json, i));
		}
	} else if (json) {
		try_call(json);
	}
	json_decref(json);
	return 0;
}
