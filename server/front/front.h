/* What cuad knows and owns: the loop, the edge to the supervisor, the sessions, tokens, config. */
#pragma once

#include "server/front/http.h"
#include "server/front/loop.h"

struct auth;     /* auth.h */
struct config;   /* config.h */
struct sessions; /* sessions.h */
struct tokens;   /* tokens.h */

struct front {
	struct loop *loop;
	struct server *server; /* lws.h: listeners and connections */
	struct config *config;
	struct tokens *tokens;
	struct auth *auth;
	struct sessions *sessions; /* owns the edges E1, E3, E5 */
};

/* The rows of all route tables, for the server and for OpenAPI, by number from 0 on; NULL after the
 * last one (routes.c). */
const struct route *front_route(size_t number);
