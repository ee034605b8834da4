/* What cuad knows and owns: the loop, the edge to the supervisor, the sessions, tokens, config. */
#pragma once

#include "server/front/http.h"
#include "server/front/loop.h"

struct sessions; /* sessions.h */
struct tokens;   /* tokens.h */
struct config;   /* config.h */

struct front {
	struct loop *loop;
	struct server *server; /* lws.h: listeners and connections */
	struct config *config;
	struct tokens *tokens;
	struct sessions *sessions; /* owns the edges E1, E3, E5 */
};

/* All routes, for the server and for OpenAPI; gathered in routes.c from the tables of the api_*.c. */
const struct route *front_routes(size_t *ret_count);
