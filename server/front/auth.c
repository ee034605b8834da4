/* Who is asking; see the header. Not what they may do: the route's row says which role it needs. */
#include "server/front/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/front/digest.h"
#include "server/front/http_parse.h"
#include "server/front/loop.h"
#include "server/front/tokens.h"

/* A ticket or a cookie: only its hash is kept. */
struct grant {
	uint8_t hash[DIGEST_SHA256];
	uint64_t until_ms; /* 0: the place is free */
	struct identity identity;
};

struct failures {
	char peer[64];
	uint64_t since_ms;
	unsigned count;
};

struct auth {
	struct tokens *tokens;
	struct grant tickets[CUA_TICKETS_MAX];
	struct grant cookies[CUA_COOKIES_MAX];
	struct failures failures[CUA_AUTH_PEERS];
};

struct auth *auth_new(struct tokens *tokens, struct cua_err *err) {
	struct auth *auth = calloc(1, sizeof(*auth));
	if (!auth) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for tickets");
		return NULL;
	}
	auth->tokens = tokens;
	return auth;
}

struct auth *auth_free(struct auth *auth) {
	free(auth);
	return NULL;
}

/* ---------------------------------------------------------------- tickets and cookies */

/* A free place, an expired one, or else the one that would expire first. */
static struct grant *grant_place(struct grant *grants, size_t count) {
	struct grant *best = &grants[0];
	for (size_t i = 0; i < count; i++) {
		if (grants[i].until_ms < best->until_ms) {
			best = &grants[i];
		}
	}
	return best;
}

static void grant_new(struct grant *place, const struct identity *identity, unsigned secs,
	char ret_secret[AUTH_SECRET_SIZE]) {
	digest_secret_new("", ret_secret, AUTH_SECRET_SIZE);
	*place = (struct grant){.until_ms = loop_now_ms() + secs * 1000ull, .identity = *identity};
	digest_sha256(ret_secret, strlen(ret_secret), place->hash);
}

/* Looks at every place, so that the time tells nothing. */
static struct grant *grant_find(
	struct grant *grants, size_t count, const char *secret, size_t len) {
	uint8_t hash[DIGEST_SHA256];
	digest_sha256(secret, len, hash);
	uint64_t now = loop_now_ms();
	struct grant *found = NULL;
	for (size_t i = 0; i < count; i++) {
		if (digest_equal(grants[i].hash, hash, sizeof(hash)) && grants[i].until_ms > now) {
			found = &grants[i];
		}
	}
	return found;
}

int auth_ticket_new(struct auth *auth, const struct identity *identity,
	char ret_ticket[AUTH_SECRET_SIZE], struct cua_err *err) {
	struct grant *place = grant_place(auth->tickets, CUA_TICKETS_MAX);
	if (place->until_ms > loop_now_ms()) {
		return cua_err_about(err, CUA_EXHAUSTED, "tickets",
			"%d tickets are waiting to be used", CUA_TICKETS_MAX);
	}
	grant_new(place, identity, CUA_TICKET_SECS, ret_ticket);
	return 0;
}

static void grants_forget(struct grant *grants, size_t count, const char *token_id) {
	for (size_t i = 0; i < count; i++) {
		if (strcmp(grants[i].identity.token_id, token_id) == 0) {
			grants[i] = (struct grant){0};
		}
	}
}

void auth_forget_token(struct auth *auth, const char *token_id) {
	grants_forget(auth->tickets, CUA_TICKETS_MAX, token_id);
	grants_forget(auth->cookies, CUA_COOKIES_MAX, token_id);
}

/* ---------------------------------------------------------------- failed attempts */

static struct failures *failures_of(struct auth *auth, const char *peer) {
	struct failures *oldest = &auth->failures[0];
	for (size_t i = 0; i < CUA_AUTH_PEERS; i++) {
		struct failures *f = &auth->failures[i];
		if (strcmp(f->peer, peer) == 0) {
			return f;
		}
		if (f->since_ms < oldest->since_ms) {
			oldest = f;
		}
	}
	*oldest = (struct failures){.since_ms = loop_now_ms()};
	(void)snprintf(oldest->peer, sizeof(oldest->peer), "%s", peer);
	return oldest;
}

/* Counts a wrong attempt and turns its error into rate_limited when there were too many. */
static int failed(struct auth *auth, const char *peer, struct cua_err *err) {
	struct failures *f = failures_of(auth, peer);
	uint64_t now = loop_now_ms();
	if (now - f->since_ms > CUA_AUTH_WINDOW_SECS * 1000ull) {
		f->since_ms = now;
		f->count = 0;
	}
	if (++f->count > CUA_AUTH_FAILS) {
		return cua_err_set(err, CUA_RATE_LIMITED,
			"too many wrong tokens from this address; wait %d s", CUA_AUTH_WINDOW_SECS);
	}
	return -CUA_UNAUTHORIZED;
}

/* ---------------------------------------------------------------- checking */

static int by_ticket(
	struct auth *auth, const char *ticket, struct auth_result *ret, struct cua_err *err) {
	struct grant *grant = grant_find(auth->tickets, CUA_TICKETS_MAX, ticket, strlen(ticket));
	if (!grant) {
		return cua_err_set(
			err, CUA_UNAUTHORIZED, "the ticket is not known, used or expired");
	}
	ret->identity = grant->identity;
	*grant = (struct grant){0};
	grant_new(grant_place(auth->cookies, CUA_COOKIES_MAX), &ret->identity, CUA_COOKIE_SECS,
		ret->cookie);
	return 0;
}

static int by_token(
	struct auth *auth, const char *text, struct auth_result *ret, struct cua_err *err) {
	struct token token;
	if (!auth->tokens) {
		return cua_err_set(err, CUA_UNAUTHORIZED, "the token is not known");
	}
	int r = tokens_find(auth->tokens, text, &token, err);
	if (r < 0) {
		return r;
	}
	ret->identity.role = token.role;
	memcpy(ret->identity.session, token.session, sizeof(token.session));
	memcpy(ret->identity.token_id, token.id, sizeof(token.id));
	return 0;
}

static int by_cookie(
	struct auth *auth, const char *header, struct auth_result *ret, struct cua_err *err) {
	const char *value = NULL;
	ssize_t len = http_cookie_find(header, AUTH_COOKIE, &value);
	struct grant *grant =
		len > 0 ? grant_find(auth->cookies, CUA_COOKIES_MAX, value, (size_t)len) : NULL;
	if (!grant) {
		return cua_err_set(
			err, CUA_UNAUTHORIZED, "sign in with a ticket: `cuactl open` prints one");
	}
	ret->identity = grant->identity;
	ret->by_cookie = true;
	return 0;
}

static const char *bearer(const char *authorization) {
	if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0) {
		return NULL;
	}
	authorization += 7;
	return authorization + strspn(authorization, " ");
}

int auth_check(struct auth *auth, const struct auth_credentials *credentials,
	struct auth_result *ret, struct cua_err *err) {
	*ret = (struct auth_result){0};
	const char *token = bearer(credentials->authorization);
	token = token ? token : credentials->api_key;
	int r = 0;
	if (token) {
		r = by_token(auth, token, ret, err);
	} else if (credentials->authorization) {
		r = cua_err_set(
			err, CUA_UNAUTHORIZED, "the only scheme of Authorization is Bearer");
	} else if (credentials->ticket) {
		r = by_ticket(auth, credentials->ticket, ret, err);
	} else if (credentials->cookie) {
		return by_cookie(auth, credentials->cookie, ret, err);
	} else {
		return cua_err_set(err, CUA_UNAUTHORIZED,
			"a token is needed: Authorization: Bearer TOKEN, or X-API-Key: TOKEN");
	}
	return r == -CUA_UNAUTHORIZED ? failed(auth, credentials->peer, err) : r;
}

/* ---------------------------------------------------------------- origins */

bool auth_origin_ok(const char *origin, const char *host, const char *const *allowed) {
	if (!origin) {
		return true;
	}
	for (; allowed && *allowed; allowed++) {
		if (strcasecmp(origin, *allowed) == 0) {
			return true;
		}
	}
	const char *own = strstr(origin, "://");
	return own && host && strcasecmp(own + 3, host) == 0;
}
