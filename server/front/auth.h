/* Who is asking: tokens, one-time tickets and the cookies they are exchanged for; failed attempts are
 * counted by address. Tickets and cookies live in memory only. */
#pragma once

#include <stdbool.h>

#include "server/front/http.h"

struct auth;
struct config;
struct tokens;

#define AUTH_COOKIE "cuad_session"
#define AUTH_SECRET_SIZE 64

/* What a request shows. NULL where absent. */
struct auth_credentials {
	const char *authorization;
	const char *api_key;
	const char *cookie; /* the whole header */
	const char *ticket;
	const char *peer; /* the client's address */
};

/* tokens is borrowed; it may be NULL: then no token is known. NULL on failure. */
struct auth *auth_new(struct tokens *tokens, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct auth *auth_free(struct auth *auth);

/* Finds out who is asking. ret_cookie is "" or, after a ticket was used up, the value of the cookie
 * to set; *ret_by_cookie tells that a browser sent the credentials by itself. -CUA_UNAUTHORIZED
 * without or with wrong credentials, -CUA_RATE_LIMITED for wrong ones after too many of them. */
struct auth_result {
	struct identity identity;
	char cookie[AUTH_SECRET_SIZE];
	bool by_cookie;
};
int auth_check(struct auth *auth, const struct auth_credentials *credentials,
	struct auth_result *ret, struct cua_err *err) CUA_CHECK;

/* Makes a one-time ticket for this identity, good for CUA_TICKET_SECS. */
int auth_ticket_new(struct auth *auth, const struct identity *identity,
	char ret_ticket[AUTH_SECRET_SIZE], struct cua_err *err) CUA_CHECK;
/* Ends the cookies and tickets that came from a token. */
void auth_forget_token(struct auth *auth, const char *token_id);

/* True if a browser page of this origin may talk to us: the Host header's own, or one of a
 * NULL-terminated list. A missing origin (no browser) is fine. */
bool auth_origin_ok(const char *origin, const char *host, const char *const *allowed);
