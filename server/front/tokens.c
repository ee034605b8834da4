/* API tokens in SQLite; the only user of sqlite3. Not the policy of who may do what (auth.c). */
#include "server/front/tokens.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cua/ident.h"
#include "server/front/digest.h"

#define USED_STEP_MS 60000
#define SCHEMA_VERSION 1

struct tokens {
	sqlite3 *db;
};

/* Order of the columns as row_read() takes them. */
#define COLUMNS "id, role, session, label, created_ms, expires_ms, used_ms"

static void stmt_done(sqlite3_stmt **stmt) {
	(void)sqlite3_finalize(*stmt);
}

#define _cleanup_stmt_ _cleanup_(stmt_done)

static int db_error(struct tokens *tokens, const char *what, struct cua_err *err) {
	int code = sqlite3_errcode(tokens->db);
	return cua_err_set(err, code == SQLITE_FULL ? CUA_EXHAUSTED : CUA_INTERNAL, "%s: %s", what,
		sqlite3_errmsg(tokens->db));
}

static uint64_t wall_ms(void) {
	struct timespec ts;
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---------------------------------------------------------------- opening */

static const char schema[] =
	"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
	"CREATE TABLE IF NOT EXISTS token (id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE,"
	" role TEXT NOT NULL, session TEXT NOT NULL, label TEXT NOT NULL,"
	" created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL);";

static int read_version(struct tokens *tokens, int *ret, struct cua_err *err) {
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	if (sqlite3_prepare_v2(tokens->db, "PRAGMA user_version", -1, &stmt, NULL) != SQLITE_OK ||
		sqlite3_step(stmt) != SQLITE_ROW) {
		return db_error(tokens, "cannot read the token database", err);
	}
	*ret = sqlite3_column_int(stmt, 0);
	return 0;
}

static int set_up(struct tokens *tokens, struct cua_err *err) {
	int version = 0;
	int r = read_version(tokens, &version, err);
	if (r < 0) {
		return r;
	}
	if (version > SCHEMA_VERSION) {
		return cua_err_set(err, CUA_CONFLICT,
			"the token database is of a newer version (%d)", version);
	}
	if (sqlite3_exec(tokens->db, schema, NULL, NULL, NULL) != SQLITE_OK ||
		sqlite3_exec(tokens->db, "PRAGMA user_version=1", NULL, NULL, NULL) != SQLITE_OK) {
		return db_error(tokens, "cannot set up the token database", err);
	}
	return 0;
}

struct tokens *tokens_open(const char *dir, struct cua_err *err) {
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/front", dir);
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		(void)cua_err_errno(err, errno, "cannot make %s", path);
		return NULL;
	}
	(void)snprintf(path, sizeof(path), "%s/front/cuad.db", dir);
	struct tokens *tokens = calloc(1, sizeof(*tokens));
	if (!tokens) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for tokens");
		return NULL;
	}
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW;
	if (sqlite3_open_v2(path, &tokens->db, flags, NULL) != SQLITE_OK) {
		(void)db_error(tokens, path, err);
		return tokens_close(tokens);
	}
	(void)chmod(path, 0600);
	return set_up(tokens, err) < 0 ? tokens_close(tokens) : tokens;
}

struct tokens *tokens_close(struct tokens *tokens) {
	if (tokens) {
		(void)sqlite3_close(tokens->db);
		free(tokens);
	}
	return NULL;
}

/* ---------------------------------------------------------------- rows */

static void text_read(sqlite3_stmt *stmt, int column, char *ret, size_t size) {
	const unsigned char *text = sqlite3_column_text(stmt, column);
	(void)snprintf(ret, size, "%s", text ? (const char *)text : "");
}

static void row_read(sqlite3_stmt *stmt, struct token *ret) {
	char role[16];
	*ret = (struct token){0};
	text_read(stmt, 0, ret->id, sizeof(ret->id));
	text_read(stmt, 1, role, sizeof(role));
	text_read(stmt, 2, ret->session, sizeof(ret->session));
	text_read(stmt, 3, ret->label, sizeof(ret->label));
	int found = cua_role_find(role);
	ret->role = found < 0 ? CUA_ROLE_NONE : (enum cua_role)found;
	ret->created_ms = (uint64_t)sqlite3_column_int64(stmt, 4);
	ret->expires_ms = (uint64_t)sqlite3_column_int64(stmt, 5);
	ret->used_ms = (uint64_t)sqlite3_column_int64(stmt, 6);
}

static int check(const struct token *token, struct cua_err *err) {
	bool bound = token->session[0] != '\0';
	if (token->role <= CUA_ROLE_NONE || token->role >= CUA_ROLE_MAX_) {
		return cua_err_about(
			err, CUA_INVALID, "role", "role is one of viewer, agent, operator, admin");
	}
	if (bound && !cua_id_ok(token->session)) {
		return cua_err_about(err, CUA_INVALID, "session", "session is not a session's id");
	}
	if (bound && token->role > CUA_ROLE_AGENT) {
		return cua_err_about(err, CUA_INVALID, "session",
			"a token of role %s is for all sessions", cua_role_name(token->role));
	}
	if (!bound && token->role == CUA_ROLE_AGENT) {
		return cua_err_about(err, CUA_INVALID, "session",
			"a token of role agent needs the session that it is for");
	}
	if (!cua_utf8_ok(token->label, strlen(token->label))) {
		return cua_err_about(err, CUA_INVALID, "label", "label is not UTF-8");
	}
	return 0;
}

static int count(struct tokens *tokens, struct cua_err *err) {
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	if (sqlite3_prepare_v2(tokens->db, "SELECT count(*) FROM token", -1, &stmt, NULL) !=
			SQLITE_OK ||
		sqlite3_step(stmt) != SQLITE_ROW) {
		return db_error(tokens, "cannot count tokens", err);
	}
	return sqlite3_column_int(stmt, 0);
}

/* Expired ones are kept for listing until there are too many. */
static int make_room(struct tokens *tokens, struct cua_err *err) {
	int there = count(tokens, err);
	if (there < CUA_TOKENS_MAX) {
		return there < 0 ? there : 0;
	}
	char sql[128];
	(void)snprintf(sql, sizeof(sql),
		"DELETE FROM token WHERE expires_ms > 0 AND expires_ms < %llu",
		(unsigned long long)wall_ms());
	(void)sqlite3_exec(tokens->db, sql, NULL, NULL, NULL);
	if (count(tokens, err) >= CUA_TOKENS_MAX) {
		return cua_err_about(err, CUA_EXHAUSTED, "tokens",
			"there are %d tokens already; revoke some", CUA_TOKENS_MAX);
	}
	return 0;
}

/* ---------------------------------------------------------------- create */

static int insert(struct tokens *tokens, const struct token *token,
	const uint8_t hash[DIGEST_SHA256], struct cua_err *err) {
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	static const char sql[] =
		"INSERT INTO token (" COLUMNS ", hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7)";
	if (sqlite3_prepare_v2(tokens->db, sql, -1, &stmt, NULL) != SQLITE_OK) {
		return db_error(tokens, "cannot add a token", err);
	}
	(void)sqlite3_bind_text(stmt, 1, token->id, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(stmt, 2, cua_role_name(token->role), -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(stmt, 3, token->session, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(stmt, 4, token->label, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(stmt, 5, (sqlite3_int64)token->created_ms);
	(void)sqlite3_bind_int64(stmt, 6, (sqlite3_int64)token->expires_ms);
	(void)sqlite3_bind_blob(stmt, 7, hash, DIGEST_SHA256, SQLITE_STATIC);
	return sqlite3_step(stmt) == SQLITE_DONE ? 0 : db_error(tokens, "cannot add a token", err);
}

int tokens_create(struct tokens *tokens, struct token *token, char ret_text[TOKEN_TEXT_SIZE],
	struct cua_err *err) {
	int r = check(token, err);
	r = r < 0 ? r : make_room(tokens, err);
	if (r < 0) {
		return r;
	}
	char text[TOKEN_TEXT_SIZE];
	uint8_t hash[DIGEST_SHA256];
	digest_secret_new(TOKEN_PREFIX, text, sizeof(text));
	digest_sha256(text, strlen(text), hash);
	cua_id_new(token->id);
	token->created_ms = wall_ms();
	token->used_ms = 0;
	r = insert(tokens, token, hash, err);
	if (r == 0) {
		memcpy(ret_text, text, sizeof(text));
	}
	digest_wipe(text, sizeof(text));
	return r;
}

/* ---------------------------------------------------------------- find */

static void mark_used(struct tokens *tokens, struct token *token, uint64_t now) {
	if (now - token->used_ms < USED_STEP_MS) {
		return;
	}
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	static const char sql[] = "UPDATE token SET used_ms = ?1 WHERE id = ?2";
	if (sqlite3_prepare_v2(tokens->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		(void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)now);
		(void)sqlite3_bind_text(stmt, 2, token->id, -1, SQLITE_STATIC);
		(void)sqlite3_step(stmt);
		token->used_ms = now;
	}
}

int tokens_find(struct tokens *tokens, const char *text, struct token *ret, struct cua_err *err) {
	uint8_t hash[DIGEST_SHA256];
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	static const char sql[] = "SELECT " COLUMNS ", hash FROM token WHERE hash = ?1";
	digest_sha256(text, strlen(text), hash);
	if (sqlite3_prepare_v2(tokens->db, sql, -1, &stmt, NULL) != SQLITE_OK) {
		return db_error(tokens, "cannot look up a token", err);
	}
	(void)sqlite3_bind_blob(stmt, 1, hash, sizeof(hash), SQLITE_STATIC);
	if (sqlite3_step(stmt) != SQLITE_ROW || sqlite3_column_bytes(stmt, 7) != DIGEST_SHA256 ||
		!digest_equal(sqlite3_column_blob(stmt, 7), hash, sizeof(hash))) {
		return cua_err_set(err, CUA_UNAUTHORIZED, "the token is not known");
	}
	struct token token;
	row_read(stmt, &token);
	uint64_t now = wall_ms();
	if (token.role == CUA_ROLE_NONE || (token.expires_ms > 0 && token.expires_ms <= now)) {
		return cua_err_set(err, CUA_UNAUTHORIZED, "the token has expired");
	}
	mark_used(tokens, &token, now);
	*ret = token;
	return 0;
}

/* ---------------------------------------------------------------- list and revoke */

int tokens_list(struct tokens *tokens, void (*fn)(void *data, const struct token *token),
	void *data, struct cua_err *err) {
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	static const char sql[] = "SELECT " COLUMNS " FROM token ORDER BY created_ms, id";
	if (sqlite3_prepare_v2(tokens->db, sql, -1, &stmt, NULL) != SQLITE_OK) {
		return db_error(tokens, "cannot list tokens", err);
	}
	int step = sqlite3_step(stmt);
	while (step == SQLITE_ROW) {
		struct token token;
		row_read(stmt, &token);
		fn(data, &token);
		step = sqlite3_step(stmt);
	}
	return step == SQLITE_DONE ? 0 : db_error(tokens, "cannot list tokens", err);
}

/* Deletes where the statement's one parameter has this value; the number of rows. */
static int delete_where(
	struct tokens *tokens, const char *sql, const char *value, struct cua_err *err) {
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	if (sqlite3_prepare_v2(tokens->db, sql, -1, &stmt, NULL) != SQLITE_OK) {
		return db_error(tokens, "cannot revoke a token", err);
	}
	(void)sqlite3_bind_text(stmt, 1, value, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) != SQLITE_DONE) {
		return db_error(tokens, "cannot revoke a token", err);
	}
	return sqlite3_changes(tokens->db);
}

int tokens_revoke(struct tokens *tokens, const char *id, struct cua_err *err) {
	int n = delete_where(tokens, "DELETE FROM token WHERE id = ?1", id, err);
	return n == 0  ? cua_err_set(err, CUA_NOT_FOUND, "there is no token %.20s", id)
	       : n < 0 ? n
		       : 0;
}

int tokens_revoke_session(struct tokens *tokens, const char *session, struct cua_err *err) {
	int n = delete_where(tokens, "DELETE FROM token WHERE session = ?1", session, err);
	return n < 0 ? n : 0;
}
