/* Accessible nodes as JSON. What the worker sends is checked again: it may have been taken over by
 * what it looks at. */
#pragma once

#include <jansson.h>

#include "cua/msg.h"

/* The nodes of a list as a JSON array: with `flat` one after the other, else each with its children,
 * only those without a parent at the top. NULL with -CUA_INTERNAL's text when the list is malformed;
 * the caller decrefs. */
json_t *result_ui_nodes(struct cua_span list, bool flat, struct cua_err *err);
/* The whole result of ui_tree and ui_find; cut is ActionResult's ui_cut. */
json_t *result_ui(struct cua_span list, bool flat, uint32_t cut, struct cua_err *err);
