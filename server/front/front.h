/* What cuad knows and owns: the loop, the edge to the supervisor, the sessions, tokens, config. */
#pragma once

#include "server/front/http.h"
#include "server/front/loop.h"

struct auth; /* auth.h */
struct config; /* config.h */
struct sessions; /* sessions.h */
struct tokens; /* tokens.h */

struct front {
	struct loop *loop;
	struct server *server; /* lws.h: listeners and connections */
	struct config *config;
	struct tokens *tokens;
	struct auth *auth;
	struct sessions *sessions; /* owns the edges E1, E3, E5 */
};

/* Reads the configuration from config_fd, opens tokens and sessions below state_dir and takes the
 * supervisor's socket. Listeners come over that socket. NULL on failure. */
struct front *front_new(int config_fd, int supervisor, const char *state_dir, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct front *front_free(struct front *front);

/* The rows of all route tables, for the server and for OpenAPI, by number from 0 on; NULL after the
 * last one (routes.c). */
const struct route *front_route(size_t number);
