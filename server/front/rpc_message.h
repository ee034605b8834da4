/* JSON-RPC 2.0 as text: what a client sent becomes calls, results become answers. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "cua/msg.h"

/* JSON-RPC's own errors, and the one for everything else. */
#define RPC_PARSE_ERROR (-32700)
#define RPC_INVALID_REQUEST (-32600)
#define RPC_METHOD_NOT_FOUND (-32601)
#define RPC_INVALID_PARAMS (-32602)
#define RPC_FAILED (-32000)

struct rpc_call {
	json_t *id; /* borrowed; NULL for a notification, which gets no answer */
	const char *method; /* borrowed */
	json_t *params; /* owned: an object without the keys of the transport */
	bool binary; /* the picture as bytes instead of base64 */
};

/* Parses a message. NULL: it is no JSON, or has too many values, and *ret_why
 * says so. The caller decrefs. */
json_t *rpc_decode(struct cua_span text, const char **ret_why);
/* Reads one call out of a value. 0 and *ret, which must be given to rpc_call_done(); or a code of
 * JSON-RPC, *ret_why, and ret->id when it could be told. */
int rpc_read(json_t *value, struct rpc_call *ret, const char **ret_why);
void rpc_call_done(struct rpc_call *call);

/* Answers; id is borrowed and NULL becomes null. result and data are taken over. */
json_t *rpc_answer(json_t *id, json_t *result);
json_t *rpc_error(json_t *id, int code, const char *message, json_t *data);
/* What comes before the bytes of a binary answer: the length of the head, and the head. The caller
 * frees; NULL without memory. */
void *rpc_binary_head(const json_t *answer, size_t *ret_len);
