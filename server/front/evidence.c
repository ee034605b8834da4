/* Notes of actions: lines of the log at its most talkative level. */
#include "server/front/evidence.h"

#include <inttypes.h>

#include "cua/log.h"

void evidence_note(const struct evidence *evidence) {
	cua_log(CUA_LOG_DEBUG, "session=%s action=%s role=%s token=%s result=%s ms=%" PRIu64,
		evidence->session, evidence->action->name, cua_role_name(evidence->who->role),
		evidence->who->token_id[0] ? evidence->who->token_id : "-",
		evidence->err ? cua_code_name(evidence->err->code) : "ok", evidence->took_ms);
}
