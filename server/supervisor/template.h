/* Templates, as the supervisor sees them: directories that cuad-build makes and sessions stand on. */
#pragma once

#include "server/supervisor/session.h"

/* A removed template waits under a name that begins so until it is deleted. */
#define TEMPLATE_REMOVED ".removed-"

/* True if the template is there as a whole. */
bool template_exists(const struct plan_host *host, const char *name);

/* Runs cuad-build for what is wanted; lines of its output go to who as progress, then the answer. -CUA_CONFLICT
 * when it is being built, -CUA_EXHAUSTED when as many builds run as may. */
int template_build(struct supervisor *sup, const cua_TemplateRequest *wanted, struct waiter who,
	struct cua_err *err) CUA_CHECK;

/* Takes it away at once and deletes it in an op child, then answers. -CUA_NOT_FOUND; -CUA_CONFLICT
 * naming the sessions that use it, or the template that is built on it. */
int template_remove(
	struct supervisor *sup, const char *name, struct waiter who, struct cua_err *err) CUA_CHECK;

/* Kills the builds that run. */
void template_stop_builds(struct supervisor *sup);
