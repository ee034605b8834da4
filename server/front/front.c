/* Builds cuad out of its parts and takes it apart again. Nothing else is decided here. */
#include "server/front/front.h"

#include <stdlib.h>

#include "server/front/auth.h"
#include "server/front/config.h"
#include "server/front/lws.h"
#include "server/front/sessions.h"
#include "server/front/tokens.h"

/* The sessions take over the supervisor's socket in any case. */
static int build(struct front *front, int supervisor, const char *state_dir, struct cua_err *err) {
	_cleanup_fd_ int owned = supervisor;
	front->loop = loop_new(err);
	front->tokens = front->loop ? tokens_open(state_dir, err) : NULL;
	front->auth = front->tokens ? auth_new(front->tokens, err) : NULL;
	front->server = front->auth ? server_new(front, err) : NULL;
	if (!front->server) {
		return -CUA_INTERNAL;
	}
	front->sessions = sessions_new(front, take_fd(owned), state_dir, err);
	return front->sessions ? 0 : -CUA_INTERNAL;
}

struct front *front_new(int config_fd, int supervisor, const char *state_dir, struct cua_err *err) {
	struct front *front = calloc(1, sizeof(*front));
	if (!front) {
		(void)close(supervisor);
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for cuad");
		return NULL;
	}
	front->config = config_read(config_fd, err);
	if (!front->config) {
		(void)close(supervisor);
		return front_free(front);
	}
	return build(front, supervisor, state_dir, err) < 0 ? front_free(front) : front;
}

/* Connections end first: what they hold of sessions is given back then. */
struct front *front_free(struct front *front) {
	if (!front) {
		return NULL;
	}
	(void)server_free(front->server);
	(void)sessions_free(front->sessions);
	(void)auth_free(front->auth);
	(void)tokens_close(front->tokens);
	(void)config_free(front->config);
	(void)loop_free(front->loop);
	free(front);
	return NULL;
}
