/* The configuration file. */
#include <stdint.h>

#include "server/front/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct cua_err err;
	cua_Config wire;
	struct config *config = config_parse((const char *)data, size, &err);
	if (config) {
		config_to_wire(config, &wire);
		(void)config_free(config);
	}
	return 0;
}
