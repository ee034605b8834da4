/* Handlers of what is not about one session: health, info, the API's description, tokens, tickets,
 * the page at /. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cua/ident.h"
#include "server/front/api.h"
#include "server/front/auth.h"
#include "server/front/config.h"
#include "server/front/front.h"
#include "server/front/lws.h"
#include "server/front/openapi.h"
#include "server/front/sessions.h"
#include "server/front/tokens.h"

/* ---------------------------------------------------------------- health, info, openapi */

static void get_health(struct request *req) {
	struct cua_err err;
	if (!sessions_synced(request_front(req)->sessions)) {
		(void)cua_err_about(&err, CUA_EXHAUSTED, "sessions", "the server is starting");
		request_reply_error(req, &err);
		return;
	}
	request_reply_json(
		req, 200, json_pack("{s:s, s:s}", "status", "ok", "version", CUAD_VERSION));
}

static json_t *limits_json(const struct config *config) {
	const cua_Limits *limits = &config->limits;
	return json_pack("{s:f, s:I, s:i, s:I}", "cpus", limits->cpu_milli / 1000.0, "memory",
		(json_int_t)limits->memory, "pids", (int)limits->pids, "disk",
		(json_int_t)limits->disk);
}

static json_t *host_json(void) {
	struct utsname host;
	(void)uname(&host);
	long pages = sysconf(_SC_PHYS_PAGES);
	return json_pack("{s:s, s:s, s:s, s:i, s:I}", "name", host.nodename, "kernel", host.release,
		"machine", host.machine, "cpus", (int)sysconf(_SC_NPROCESSORS_ONLN), "memory",
		(json_int_t)pages * sysconf(_SC_PAGESIZE));
}

/* Names of what is built; /v1/templates tells more. */
static json_t *templates_json(const struct front *front) {
	char path[512];
	json_t *names = json_array();
	(void)snprintf(path, sizeof(path), "%s/templates", sessions_state_dir(front->sessions));
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		(void)snprintf(path, sizeof(path), "%.*s/layers", CUA_NAME_MAX, entry->d_name);
		if (cua_name_ok(entry->d_name) && faccessat(dirfd(dir), path, F_OK, 0) == 0) {
			(void)json_array_append_new(names, json_string(entry->d_name));
		}
	}
	if (dir) {
		(void)closedir(dir);
	}
	return names;
}

static void get_info(struct request *req) {
	const struct front *front = request_front(req);
	const struct config *config = front->config;
	request_reply_json(req, 200,
		json_pack("{s:s, s:o, s:{s:o, s:i}, s:s, s:o, s:{s:I, s:i}, s:[]}", "version",
			CUAD_VERSION, "host", host_json(), "limits", "session", limits_json(config),
			"max_sessions", (int)config->max_sessions, "default_template",
			config->default_template, "templates", templates_json(front), "counts",
			"sessions", (json_int_t)sessions_count(front->sessions), "connections",
			(int)server_connections(front->server), "gpus"));
}

static void get_openapi(struct request *req) {
	request_reply_json(req, 200, openapi_document());
}

/* ---------------------------------------------------------------- tokens */

static json_t *time_json(uint64_t ms) {
	char text[32];
	char whole[48];
	struct tm tm;
	time_t secs = (time_t)(ms / 1000);
	if (ms == 0 || !gmtime_r(&secs, &tm)) {
		return json_null();
	}
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(whole, sizeof(whole), "%s.%03uZ", text, (unsigned)(ms % 1000));
	return json_string(whole);
}

static json_t *token_json(const struct token *token) {
	json_t *session = token->session[0] ? json_string(token->session) : json_null();
	return json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o}", "id", token->id, "role",
		cua_role_name(token->role), "session", session, "label", token->label, "created",
		time_json(token->created_ms), "expires", time_json(token->expires_ms), "used",
		time_json(token->used_ms));
}

static int unknown_key(const json_t *body, const char *const *known, struct cua_err *err) {
	const char *key = NULL;
	json_t *value = NULL;
	json_object_foreach((json_t *)(uintptr_t)body, key, value) {
		size_t i = 0;
		while (known[i] && strcmp(known[i], key) != 0) {
			i++;
		}
		if (!known[i]) {
			return cua_err_about(err, CUA_BAD_REQUEST, key, "unknown key %.60s", key);
		}
	}
	return 0;
}

/* A member that is a string, or "" if it is absent or null. */
static int text_of(const json_t *body, const char *key, const char **ret, struct cua_err *err) {
	const json_t *value = json_object_get(body, key);
	*ret = json_is_string(value) ? json_string_value(value) : "";
	if (value && !json_is_string(value) && !json_is_null(value)) {
		return cua_err_about(err, CUA_BAD_REQUEST, key, "%s is a string", key);
	}
	return 0;
}

static int role_of(const json_t *body, int *ret, struct cua_err *err) {
	const char *text = NULL;
	int r = text_of(body, "role", &text, err);
	if (r < 0) {
		return r;
	}
	*ret = cua_role_find(text);
	return *ret > 0 ? 0
			: cua_err_about(err, CUA_INVALID, "role",
				  "role is one of viewer, agent, operator, admin");
}

/* The token's session as a word that the identity may use: id, name or prefix. */
static int session_of(
	struct request *req, const json_t *body, char ret[CUA_ID_SIZE], struct cua_err *err) {
	const char *word = NULL;
	int r = text_of(body, "session", &word, err);
	ret[0] = '\0';
	if (r < 0 || word[0] == '\0') {
		return r;
	}
	const struct session *session =
		sessions_find(request_front(req)->sessions, word, request_identity(req), err);
	if (!session) {
		return -(int)err->code;
	}
	memcpy(ret, session->told.id, CUA_ID_SIZE);
	return 0;
}

static int ttl_of(const json_t *body, uint64_t *ret_expires_ms, struct cua_err *err) {
	const json_t *ttl = json_object_get(body, "ttl");
	*ret_expires_ms = 0;
	if (!ttl || json_is_null(ttl)) {
		return 0;
	}
	json_int_t secs = json_integer_value(ttl);
	if (!json_is_integer(ttl)) {
		return cua_err_about(err, CUA_BAD_REQUEST, "ttl", "ttl is a number of seconds");
	}
	if (secs < 1 || secs > 10ll * 366 * 86400) {
		return cua_err_about(err, CUA_INVALID, "ttl", "ttl is from 1 second to 10 years");
	}
	*ret_expires_ms = (uint64_t)time(NULL) * 1000 + (uint64_t)secs * 1000;
	return 0;
}

static int token_read(
	struct request *req, const json_t *body, struct token *ret, struct cua_err *err) {
	static const char *const keys[] = {"role", "session", "label", "ttl", NULL};
	const char *label = NULL;
	int role = 0;
	*ret = (struct token){0};
	if (!json_is_object(body)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "the body is an object");
	}
	int r = unknown_key(body, keys, err);
	r = r < 0 ? r : role_of(body, &role, err);
	r = r < 0 ? r : session_of(req, body, ret->session, err);
	r = r < 0 ? r : ttl_of(body, &ret->expires_ms, err);
	r = r < 0 ? r : text_of(body, "label", &label, err);
	if (r < 0) {
		return r;
	}
	if (strlen(label) >= sizeof(ret->label)) {
		return cua_err_about(err, CUA_INVALID, "label", "label is longer than %d bytes",
			CUA_TOKEN_LABEL_SIZE - 1);
	}
	ret->role = (enum cua_role)role;
	memcpy(ret->label, label, strlen(label) + 1);
	return 0;
}

static void post_token(struct request *req) {
	struct cua_err err;
	struct token token;
	char text[TOKEN_TEXT_SIZE];
	json_t *body = request_json(req, &err);
	int r = body ? token_read(req, body, &token, &err) : -1;
	json_decref(body);
	if (r == 0) {
		r = tokens_create(request_front(req)->tokens, &token, text, &err);
	}
	if (r < 0) {
		request_reply_error(req, &err);
		return;
	}
	json_t *answer = token_json(&token);
	(void)json_object_set_new(answer, "token", json_string(text));
	request_reply_json(req, 201, answer);
}

static void add_token(void *data, const struct token *token) {
	(void)json_array_append_new(data, token_json(token));
}

static void get_tokens(struct request *req) {
	struct cua_err err;
	json_t *list = json_array();
	if (tokens_list(request_front(req)->tokens, add_token, list, &err) < 0) {
		json_decref(list);
		request_reply_error(req, &err);
		return;
	}
	request_reply_json(req, 200, json_pack("{s:o}", "tokens", list));
}

static void delete_token(struct request *req) {
	struct cua_err err;
	const struct front *front = request_front(req);
	const char *id = request_param(req, "id");
	if (tokens_revoke(front->tokens, id, &err) < 0) {
		request_reply_error(req, &err);
		return;
	}
	auth_forget_token(front->auth, id);
	request_reply_empty(req, 204, NULL);
}

/* ---------------------------------------------------------------- tickets */

/* Whom a ticket is for: the one who asks, or somebody with fewer rights. */
static int ticket_read(
	struct request *req, const json_t *body, struct identity *ret, struct cua_err *err) {
	static const char *const keys[] = {"role", "session", NULL};
	const struct identity *own = request_identity(req);
	int role = own->role;
	char session[CUA_ID_SIZE];
	*ret = *own;
	if (!json_is_object(body)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "the body is an object");
	}
	int r = unknown_key(body, keys, err);
	r = r < 0 || !json_object_get(body, "role") ? r : role_of(body, &role, err);
	r = r < 0 ? r : session_of(req, body, session, err);
	if (r < 0) {
		return r;
	}
	if (role > (int)own->role) {
		return cua_err_set(
			err, CUA_FORBIDDEN, "a ticket has no more rights than who makes it");
	}
	ret->role = (enum cua_role)role;
	if (session[0] != '\0') {
		memcpy(ret->session, session, sizeof(session));
		ret->role = role > CUA_ROLE_AGENT ? CUA_ROLE_AGENT : ret->role;
	}
	return 0;
}

static void post_ticket(struct request *req) {
	struct cua_err err;
	struct identity identity;
	char ticket[AUTH_SECRET_SIZE];
	char base[CONFIG_URL_SIZE];
	const struct front *front = request_front(req);
	json_t *body = request_json(req, &err);
	int r = body ? ticket_read(req, body, &identity, &err) : -1;
	json_decref(body);
	if (r == 0) {
		r = auth_ticket_new(front->auth, &identity, ticket, &err);
	}
	if (r < 0) {
		request_reply_error(req, &err);
		return;
	}
	config_base_url(front->config, base);
	json_t *url = identity.session[0] ? json_sprintf("%s/v1/sessions/%s/screenshot?ticket=%s",
						    base, identity.session, ticket)
					  : json_sprintf("%s/?ticket=%s", base, ticket);
	request_reply_json(req, 201,
		json_pack("{s:s, s:i, s:o}", "ticket", ticket, "expires_in", CUA_TICKET_SECS, "url",
			url));
}

/* ---------------------------------------------------------------- the page at / */

static const char page[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta "
	"charset=\"utf-8\"><title>cuad</title></head>\n"
	"<body><h1>cuad " CUAD_VERSION "</h1>\n"
	"<p>Desktops for agents. This server is used through its API:</p>\n"
	"<ul><li><a href=\"/openapi.json\">openapi.json</a>: every route and every action</li>\n"
	"<li><a href=\"/v1/health\">/v1/health</a></li>\n"
	"<li><a href=\"/v1/sessions\">/v1/sessions</a> (needs a token, or the ticket of "
	"<code>cuactl open</code>)</li></ul>\n"
	"</body></html>\n";

static void get_page(struct request *req) {
	const struct cua_span bytes = {.data = page, .len = sizeof(page) - 1};
	request_reply_bytes(req, 200, "text/html; charset=utf-8", bytes, NULL);
}

/* ---------------------------------------------------------------- rows */

static const struct route routes[] = {
	{HTTP_GET, "/v1/health", CUA_ROLE_NONE, get_health, .summary = "Whether the server is up."},
	{HTTP_GET, "/v1/info", CUA_ROLE_VIEWER, get_info,
		.summary = "Version, host, limits and counts."},
	{HTTP_GET, "/openapi.json", CUA_ROLE_NONE, get_openapi, .summary = "This description."},
	{HTTP_POST, "/v1/tokens", CUA_ROLE_ADMIN, post_token,
		.summary = "Make a token; its text is shown this once."},
	{HTTP_GET, "/v1/tokens", CUA_ROLE_ADMIN, get_tokens, .summary = "List tokens."},
	{HTTP_DELETE, "/v1/tokens/{id}", CUA_ROLE_ADMIN, delete_token,
		.summary = "Revoke a token."},
	{HTTP_POST, "/v1/tickets", CUA_ROLE_VIEWER, post_ticket,
		.summary =
			"Make a one-time ticket for a browser: add ?ticket=… to a page's address."},
	{HTTP_GET, "/", CUA_ROLE_NONE, get_page, .summary = "A page that leads here."},
};

const struct route *api_system_routes(size_t *ret_count) {
	*ret_count = CUA_COUNT(routes);
	return routes;
}
