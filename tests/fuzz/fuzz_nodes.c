/* A worker's list of accessible nodes into JSON: whatever it says, the answer is JSON or an error. */
#include <stdlib.h>

#include "server/front/result_ui.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct cua_err err;
	for (int flat = 0; flat < 2; flat++) {
		json_t *json =
			result_ui((struct cua_span){.data = data, .len = size}, flat, 15, &err);
		char *text = json ? json_dumps(json, 0) : NULL;
		if (json && !text) {
			abort();
		}
		free(text);
		json_decref(json);
	}
	return 0;
}
