/* Results of actions as JSON, in the shapes that the action table names. Each function returns NULL
 * without memory. */
#pragma once

#include <jansson.h>

#include "cua/action.h"
#include "server/front/exec.h"

/* What the worker answered, with the bytes beside it, in the shape `result`. *ret_picture is the
 * object in it that describes the picture, or NULL without one. */
json_t *result_screen(enum cua_result result, const cua_ActionResult *told, struct cua_span bytes,
	json_t **ret_picture);
/* {exit_code, signal, stdout, …}. */
json_t *result_exec(const struct exec_result *told);
/* {name, type, size, mode, mtime, …}. */
json_t *result_entry(const cua_FileEntry *entry);
/* {entries: […], truncated} of a list's blob; err says if it is malformed. */
json_t *result_list(struct cua_span blob, bool truncated, struct cua_err *err);
/* {size, eof, text | data_b64}; encoding as in Args. -CUA_INVALID for text that is not UTF-8. */
json_t *result_file(
	struct cua_span bytes, uint64_t size, bool eof, uint32_t encoding, struct cua_err *err);
/* The contract's error object, {"kind", "message", "detail"}; detail is borrowed and may be NULL. */
json_t *result_error(const struct cua_err *err, json_t *detail);
