/* Actions as clients send them in JSON. */
#include <jansson.h>
#include <stdint.h>

#include "cua/action_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static struct cua_call call;
	struct cua_call_mem mem;
	struct cua_err err;
	json_t *json = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!json) {
		return 0;
	}
	if (cua_call_from_object(json, &call, &mem, &err) == 0) {
		cua_call_mem_done(&mem);
	}
	for (unsigned i = 0; i < CUA_ACTION_MAX_; i++) {
		if (cua_call_from_json(json, cua_action_get(i), &call, &mem, &err) == 0) {
			cua_call_mem_done(&mem);
		}
	}
	json_decref(json);
	return 0;
}
