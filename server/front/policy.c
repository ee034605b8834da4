/* The policy: whoever has the role may do it. */
#include "server/front/policy.h"

int policy_check(const struct session *session, const struct identity *who,
	const struct cua_action *action, struct cua_err *err) {
	(void)session;
	(void)who;
	(void)action;
	(void)err;
	return 0;
}
