/* Decodes pictures by the libraries that everybody else uses, to check what our encoders wrote. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decoded {
	int width;
	int height;
	uint32_t *pixels; /* 0x00RRGGBB, freed by the caller */
};

/* False when the bytes are not a whole, valid file of the format. */
bool decode_png(const void *data, size_t len, struct decoded *ret);
bool decode_jpeg(const void *data, size_t len, struct decoded *ret);
bool decode_webp(const void *data, size_t len, struct decoded *ret);
