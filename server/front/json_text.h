/* JSON as clients send it. */
#pragma once

#include <jansson.h>

#include "cua/msg.h"

/* Parses a text: any value, no member twice. NULL: it is no JSON (bad_request), or has more values
 * than CUA_JSON_VALUES (too_large). The caller decrefs. */
json_t *json_text_decode(struct cua_span text, struct cua_err *err);
