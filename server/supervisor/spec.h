/* What cuad asks for, checked field by field as if cuad lied; and the configuration likewise. Pure:
 * looks at nothing but its arguments. */
#pragma once

#include "server/supervisor/plan.h"

/* Turns a request into a record without slot and time; limits that are absent come from the
 * configuration. -CUA_INVALID or -CUA_OUT_OF_SCREEN about the field that is wrong. */
int spec_session(const cua_Config *config, const cua_SessionCreate *wanted, struct plan_record *ret,
	struct cua_err *err) CUA_CHECK;

/* Checks every value of the configuration and fills the host's pool from it. -CUA_INVALID about the
 * key; -CUA_FORBIDDEN for a listener beyond loopback without TLS that is not marked insecure. */
int spec_config(const cua_Config *config, struct plan_host *host, struct cua_err *err) CUA_CHECK;
