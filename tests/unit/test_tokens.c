/* Tokens on disk, tickets and cookies in memory, origins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/front/auth.h"
#include "server/front/digest.h"
#include "server/front/tokens.h"
#include "tests/lib/suite.h"

static char dir[] = "/tmp/cuad-tokens-XXXXXX";
static struct cua_err err;

static struct tokens *fresh(void) {
	ck_assert_ptr_nonnull(mkdtemp(dir));
	struct tokens *tokens = tokens_open(dir, &err);
	ck_assert_msg(tokens != NULL, "%s", err.message);
	return tokens;
}

static void clean(void) {
	char path[256];
	static const char *const names[] = {"cuad.db", "cuad.db-wal", "cuad.db-shm"};
	for (size_t i = 0; i < CUA_COUNT(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/front/%s", dir, names[i]);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/front", dir);
	(void)rmdir(path);
	(void)rmdir(dir);
}

static struct token make(struct tokens *tokens, enum cua_role role, char text[TOKEN_TEXT_SIZE]) {
	struct token token = {.role = role};
	ck_assert_msg(tokens_create(tokens, &token, text, &err) == 0, "%s", err.message);
	return token;
}

START_TEST(life_of_a_token) {
	struct tokens *tokens = fresh();
	char text[TOKEN_TEXT_SIZE];
	struct token found;
	struct token token = make(tokens, CUA_ROLE_ADMIN, text);
	ck_assert_uint_eq(strlen(text), 48);
	ck_assert_int_eq(strncmp(text, TOKEN_PREFIX, 5), 0);
	ck_assert_int_eq(tokens_find(tokens, text, &found, &err), 0);
	ck_assert_str_eq(found.id, token.id);
	ck_assert_uint_gt(found.used_ms, 0);
	tokens = tokens_close(tokens);
	tokens = tokens_open(dir, &err);
	ck_assert_int_eq(tokens_find(tokens, text, &found, &err), 0);
	text[10] = (char)(text[10] == 'a' ? 'b' : 'a');
	ck_assert_int_eq(tokens_find(tokens, text, &found, &err), -CUA_UNAUTHORIZED);
	ck_assert_int_eq(tokens_find(tokens, "", &found, &err), -CUA_UNAUTHORIZED);
	ck_assert_int_eq(tokens_revoke(tokens, token.id, &err), 0);
	ck_assert_int_eq(tokens_revoke(tokens, token.id, &err), -CUA_NOT_FOUND);
	text[10] = (char)(text[10] == 'a' ? 'b' : 'a');
	ck_assert_int_eq(tokens_find(tokens, text, &found, &err), -CUA_UNAUTHORIZED);
	(void)tokens_close(tokens);
	clean();
}
END_TEST

START_TEST(expiry_and_sessions) {
	struct tokens *tokens = fresh();
	char text[TOKEN_TEXT_SIZE];
	struct token found;
	struct token token = {.role = CUA_ROLE_VIEWER, .expires_ms = 1000};
	ck_assert_int_eq(tokens_create(tokens, &token, text, &err), 0);
	ck_assert_int_eq(tokens_find(tokens, text, &found, &err), -CUA_UNAUTHORIZED);
	token = (struct token){.role = CUA_ROLE_AGENT, .session = "abcdefghijkl"};
	ck_assert_int_eq(tokens_create(tokens, &token, text, &err), 0);
	ck_assert_int_eq(tokens_find(tokens, text, &found, &err), 0);
	ck_assert_str_eq(found.session, "abcdefghijkl");
	ck_assert_int_eq(tokens_revoke_session(tokens, "abcdefghijkl", &err), 0);
	ck_assert_int_eq(tokens_find(tokens, text, &found, &err), -CUA_UNAUTHORIZED);
	static const struct token wrong[] = {{.role = CUA_ROLE_NONE}, {.role = CUA_ROLE_AGENT},
		{.role = CUA_ROLE_ADMIN, .session = "abcdefghijkl"},
		{.role = CUA_ROLE_VIEWER, .session = "x"},
		{.role = CUA_ROLE_VIEWER, .label = "\xff"}};
	for (size_t i = 0; i < CUA_COUNT(wrong); i++) {
		token = wrong[i];
		ck_assert_int_eq(tokens_create(tokens, &token, text, &err), -CUA_INVALID);
	}
	(void)tokens_close(tokens);
	clean();
}
END_TEST

static void count_token(void *data, const struct token *token) {
	unsigned *count = data;
	ck_assert_int_eq(token->role, CUA_ROLE_OPERATOR);
	(*count)++;
}

START_TEST(listing_and_files) {
	struct tokens *tokens = fresh();
	char text[TOKEN_TEXT_SIZE];
	for (int i = 0; i < 5; i++) {
		(void)make(tokens, CUA_ROLE_OPERATOR, text);
	}
	unsigned count = 0;
	ck_assert_int_eq(tokens_list(tokens, count_token, &count, &err), 0);
	ck_assert_uint_eq(count, 5);
	char path[256];
	struct stat st;
	(void)snprintf(path, sizeof(path), "%s/front/cuad.db", dir);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 077, 0);
	(void)tokens_close(tokens);
	clean();
}
END_TEST

/* What auth makes of these credentials; 0 or negative. */
static int check(struct auth *auth, const char *token, const char *ticket, const char *cookie,
	struct auth_result *ret) {
	const struct auth_credentials credentials = {
		.api_key = token, .ticket = ticket, .cookie = cookie, .peer = "192.0.2.1"};
	return auth_check(auth, &credentials, ret, &err);
}

START_TEST(tickets_are_used_once) {
	struct auth *auth = auth_new(NULL, &err);
	struct identity who = {.role = CUA_ROLE_OPERATOR, .token_id = "tttttttttttt"};
	struct auth_result result;
	char ticket[AUTH_SECRET_SIZE];
	char cookie[AUTH_SECRET_SIZE + 32];
	ck_assert_int_eq(auth_ticket_new(auth, &who, ticket, &err), 0);
	ck_assert_int_eq(check(auth, NULL, "x", NULL, &result), -CUA_UNAUTHORIZED);
	ck_assert_int_eq(check(auth, NULL, ticket, NULL, &result), 0);
	ck_assert_int_eq(result.identity.role, CUA_ROLE_OPERATOR);
	(void)snprintf(cookie, sizeof(cookie), "a=b; " AUTH_COOKIE "=%s; c", result.cookie);
	ck_assert_int_eq(check(auth, NULL, ticket, NULL, &result), -CUA_UNAUTHORIZED);
	ck_assert_int_eq(check(auth, NULL, NULL, cookie, &result), 0);
	ck_assert(result.by_cookie);
	ck_assert_str_eq(result.identity.token_id, who.token_id);
	auth_forget_token(auth, who.token_id);
	ck_assert_int_eq(check(auth, NULL, NULL, cookie, &result), -CUA_UNAUTHORIZED);
	(void)auth_free(auth);
}
END_TEST

START_TEST(there_is_a_limit_of_tickets) {
	struct auth *auth = auth_new(NULL, &err);
	const struct identity who = {.role = CUA_ROLE_VIEWER};
	char ticket[AUTH_SECRET_SIZE];
	for (int i = 0; i < CUA_TICKETS_MAX; i++) {
		ck_assert_int_eq(auth_ticket_new(auth, &who, ticket, &err), 0);
	}
	ck_assert_int_eq(auth_ticket_new(auth, &who, ticket, &err), -CUA_EXHAUSTED);
	(void)auth_free(auth);
}
END_TEST

START_TEST(wrong_tokens_are_counted_by_address) {
	struct auth *auth = auth_new(NULL, &err);
	struct auth_result result;
	for (int i = 0; i < CUA_AUTH_FAILS; i++) {
		ck_assert_int_eq(check(auth, "cuad_x", NULL, NULL, &result), -CUA_UNAUTHORIZED);
	}
	ck_assert_int_eq(check(auth, "cuad_x", NULL, NULL, &result), -CUA_RATE_LIMITED);
	ck_assert_int_eq(check(auth, NULL, NULL, NULL, &result), -CUA_UNAUTHORIZED);
	const struct auth_credentials other = {.api_key = "cuad_x", .peer = "192.0.2.2"};
	ck_assert_int_eq(auth_check(auth, &other, &result, &err), -CUA_UNAUTHORIZED);
	(void)auth_free(auth);
}
END_TEST

START_TEST(origins) {
	static const char *const allowed[] = {"https://desk.example.org", NULL};
	ck_assert(auth_origin_ok(NULL, "x", NULL));
	ck_assert(auth_origin_ok("http://127.0.0.1:7880", "127.0.0.1:7880", allowed));
	ck_assert(auth_origin_ok("https://Desk.example.org", "x", allowed));
	ck_assert(!auth_origin_ok("https://desk.example.org.evil", "x", allowed));
	ck_assert(!auth_origin_ok("http://127.0.0.1:7881", "127.0.0.1:7880", allowed));
	ck_assert(!auth_origin_ok("null", "null", allowed));
	ck_assert(!auth_origin_ok("http://evil", NULL, NULL));
}
END_TEST

START_TEST(digests) {
	uint8_t hash[DIGEST_SHA256];
	digest_sha256("abc", 3, hash);
	ck_assert_mem_eq(hash, "\xba\x78\x16\xbf\x8f\x01\xcf\xea", 8);
	char accept[DIGEST_WS_ACCEPT];
	digest_ws_accept("dGhlIHNhbXBsZSBub25jZQ==", accept);
	ck_assert_str_eq(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
	char a[64];
	char b[64];
	digest_secret_new("", a, sizeof(a));
	digest_secret_new("", b, sizeof(b));
	ck_assert_uint_eq(strlen(a), 43);
	ck_assert_str_ne(a, b);
	ck_assert_uint_eq(
		strspn(a, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), 43);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {life_of_a_token, expiry_and_sessions, listing_and_files,
		tickets_are_used_once, there_is_a_limit_of_tickets,
		wrong_tokens_are_counted_by_address, origins, digests};
	return suite_run("tokens", tests, CUA_COUNT(tests));
}
