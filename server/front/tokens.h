/* API tokens in SQLite: STATE/front/cuad.db. A token is shown once when it is made; what is kept is
 * its SHA-256. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cua/action.h"
#include "cua/err.h"
#include "cua/limits.h"

struct tokens;

#define TOKEN_PREFIX "cuad_"
#define TOKEN_TEXT_SIZE 64

/* What is known about a token. Times are milliseconds since the epoch; 0: never. */
struct token {
	char id[CUA_ID_SIZE];
	enum cua_role role;
	char session[CUA_ID_SIZE]; /* "" for any */
	char label[CUA_TOKEN_LABEL_SIZE];
	uint64_t created_ms;
	uint64_t expires_ms;
	uint64_t used_ms; /* to the minute */
};

/* Opens DIR/front/cuad.db, and makes it and its directory if needed. NULL on failure. */
struct tokens *tokens_open(const char *dir, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct tokens *tokens_close(struct tokens *tokens);

/* Makes a token from role, session, label and expires_ms of *token, fills its other fields, and
 * writes the only copy of its text. -CUA_INVALID about the field that is wrong: an agent's token
 * needs a session, and only an agent's and a viewer's may have one. */
int tokens_create(struct tokens *tokens, struct token *token, char ret_text[TOKEN_TEXT_SIZE],
	struct cua_err *err) CUA_CHECK;
/* Finds the token that a client showed. 0, or -CUA_UNAUTHORIZED when there is none such or it is
 * expired. */
int tokens_find(
	struct tokens *tokens, const char *text, struct token *ret, struct cua_err *err) CUA_CHECK;
/* Calls fn for each token, the oldest first. */
int tokens_list(struct tokens *tokens, void (*fn)(void *data, const struct token *token),
	void *data, struct cua_err *err) CUA_CHECK;
/* Forgets a token at once. -CUA_NOT_FOUND. */
int tokens_revoke(struct tokens *tokens, const char *id, struct cua_err *err) CUA_CHECK;
/* Forgets the tokens of a session that is gone. */
int tokens_revoke_session(
	struct tokens *tokens, const char *session, struct cua_err *err) CUA_CHECK;
