/* Shared by perform.c and the performers: an action that is being performed. */
#pragma once

#include "cua/action_json.h"
#include "server/front/front.h"
#include "server/front/perform.h"

struct op {
	struct front *front;
	struct identity who;
	char session[CUA_ID_SIZE];
	uint32_t lease;
	const bool *over; /* as in struct perform_ask */
	const struct cua_action *action; /* NULL as long as it is not known */
	struct cua_call call;
	struct cua_call_mem mem;
	json_t *params; /* as they came */
	uint64_t since;
	perform_done *done;
	void *data;
	enum perform_fault fault;
	struct cua_err failed; /* to be told when the loop runs again */
	json_t *detail; /* of the error; owned */
	json_t *first; /* an input action's own result while its picture is taken; owned */
	size_t index; /* batch: of the action that runs now */
};

/* Starts to perform. On 0 exactly one of the two below follows later. */
typedef int performer(struct op *op, struct session *session, struct cua_err *err);

/* Answers and frees op; takes the result. picture and bytes as in struct outcome. */
void op_finish(struct op *op, json_t *result, json_t *picture, struct cua_span bytes);
/* The same without a picture. A NULL result is a lack of memory. */
void op_result(struct op *op, json_t *result);
/* Answers with an error and frees op. */
void op_fail(struct op *op, const struct cua_err *err);

performer perform_screen; /* perform_screen.c: all that the worker does */
performer perform_exec; /* perform_exec.c */
performer perform_launch;
performer perform_file_read; /* perform_file.c */
performer perform_file_write;
performer perform_file_other; /* list, stat, remove, mkdir, move */
performer perform_batch; /* perform_batch.c */
