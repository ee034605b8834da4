/* Session specs of clients, new ones and changes. */
#include <stdint.h>

#include "server/front/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static const struct spec_screens screens = {{1280, 800}, {1920, 1200}};
	json_t *json = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
	struct spec spec;
	struct cua_err err;
	if (json && spec_read(json, &screens, &spec, &err) == 0) {
		spec_done(&spec);
	}
	if (json && spec_read_change(json, &spec, &err) == 0) {
		spec_done(&spec);
	}
	json_decref(json);
	return 0;
}
