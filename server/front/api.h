/* The rows of the route table, one function for each file that has handlers; routes.c joins them. */
#pragma once

#include <stddef.h>

#include "server/front/http.h"

/* Health, info, openapi.json, tokens, tickets and the page at / (api_system.c). */
const struct route *api_system_routes(size_t *ret_count);
/* /v1/sessions and what changes a session as a whole (api_session.c). */
const struct route *api_session_routes(size_t *ret_count);
/* Screenshot, actions and exec (api_action.c). */
const struct route *api_action_routes(size_t *ret_count);
/* /v1/sessions/{id}/files (api_file.c). */
const struct route *api_file_routes(size_t *ret_count);
/* /v1/templates (api_template.c). */
const struct route *api_template_routes(size_t *ret_count);
/* /metrics (metrics.c). */
const struct route *metrics_routes(size_t *ret_count);
/* The WebSockets: rpc (rpc.c), pty (pty.c), events (events.c). */
const struct route *rpc_routes(size_t *ret_count);
const struct route *pty_routes(size_t *ret_count);
const struct route *events_routes(size_t *ret_count);
