/* Whether an action may be done. The one place that every action passes before it is performed,
 * whatever way it came. */
#pragma once

#include "cua/action.h"
#include "server/front/sessions.h"

/* 0, or negative with the reason. The role has been checked already. */
int policy_check(const struct session *session, const struct identity *who,
	const struct cua_action *action, struct cua_err *err) CUA_CHECK;
