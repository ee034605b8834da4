/* JSON as clients send it. */
#pragma once

#include <jansson.h>

#include "cua/msg.h"

/* How we write JSON: 15 digits give back what was meant, 17 make 0.1 0.10000000000000001. */
#define JSON_OUT (JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))

/* Parses a text: any value, no member twice. NULL: it is no JSON (bad_request), or has more values
 * than CUA_JSON_VALUES (too_large). The caller decrefs. */
json_t *json_text_decode(struct cua_span text, struct cua_err *err);
