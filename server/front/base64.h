/* Base64 for bytes that go into JSON. */
#pragma once

#include <jansson.h>

#include "cua/msg.h"

/* A JSON string with the bytes in base64 (RFC 4648, with padding). NULL without memory. */
json_t *base64_json(struct cua_span bytes);
