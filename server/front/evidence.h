/* What was done. The one place that every action passes after it was performed, whatever way it
 * came. */
#pragma once

#include <stdint.h>

#include "cua/action.h"
#include "server/front/http.h"

struct evidence {
	const char *session; /* its id */
	const struct identity *who;
	const struct cua_action *action;
	uint64_t took_ms;
	const struct cua_err *err; /* NULL: it was done */
};

/* Notes one action. Its parameters and results, which may hold secrets, are not written. */
void evidence_note(const struct evidence *evidence);
