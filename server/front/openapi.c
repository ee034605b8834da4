/* OpenAPI 3.1 from the tables; see the header. A route or an action that is added appears by itself. */
#include "server/front/openapi.h"

#include <stdio.h>
#include <string.h>

#include "cua/action_json.h"
#include "server/front/front.h"
#include "server/front/routes.h"
#include "server/front/spec.h"

#define REF(kind, name) "#/components/" kind "/" name

/* ---------------------------------------------------------------- actions */

/* {"action": NAME, …} as POST …/actions takes it. */
static json_t *action_object(const struct cua_action *action) {
	json_t *schema = cua_action_schema(action);
	json_t *properties = json_object_get(schema, "properties");
	json_t *required = json_object_get(schema, "required");
	(void)json_object_set_new(properties, "action", json_pack("{s:s}", "const", action->name));
	(void)json_array_insert_new(required, 0, json_string("action"));
	(void)json_object_set_new(schema, "x-role", json_string(cua_role_name(action->role)));
	(void)json_object_set_new(schema, "x-result", json_string(cua_result_name(action->result)));
	return schema;
}

static json_t *error_schema(void) {
	json_t *kinds = json_array();
	for (int code = CUA_OK + 1; code < CUA_CODE_MAX_; code++) {
		(void)json_array_append_new(kinds, json_string(cua_code_name((enum cua_code)code)));
	}
	return json_pack("{s:s, s:[s], s:{s:{s:s, s:[s, s], s:{s:{s:o}, s:{s:s}, s:{s:s}}}}}",
		"type", "object", "required", "error", "properties", "error", "type", "object",
		"required", "kind", "message", "properties", "kind", "enum", kinds, "message",
		"type", "string", "detail", "type", "object");
}

#define TIME "{\"type\":[\"string\",\"null\"],\"description\":\"ISO 8601, UTC\"}"
#define STR "{\"type\":\"string\"}"
#define INT "{\"type\":\"integer\"}"
#define SIZES "\"memory\":" INT ",\"disk\":" INT ",\"pids\":" INT
#define REFER(name) "{\"$ref\":\"#/components/schemas/" name "\"}"

/* What is neither an action nor its result. */
static const struct {
	const char *name;
	const char *schema;
} others[] = {
	{"session", "{\"type\":\"object\",\"properties\":{\"id\":" STR ",\"name\":" STR
		    ",\"title\":" STR
		    ",\"state\":{\"enum\":[\"starting\",\"running\",\"paused\",\"stopping\","
		    "\"stopped\",\"failed\"]},\"reason\":" STR ",\"template\":" STR
		    ",\"screen\":" REFER(
			    "result_screen") ",\"created\":" TIME ",\"expires\":" TIME
					     ",\"labels\":{\"type\":\"object\"},\"owner\":" STR
					     ",\"limits\":{\"type\":\"object\",\"properties\":{"
					     "\"cpus\":{\"type\":"
					     "\"number\"}," SIZES
					     "}},\"gpu\":{\"type\":\"array\"},\"network\":" STR
					     ",\"address\":" STR ",\"usage\":{\"type\":\"object\","
					     "\"properties\":{\"cpu_ms\":" INT "," SIZES
					     "}},\"urls\":{\"type\":\"object\","
					     "\"description\":\"api, view, rpc, "
					     "pty\"},\"phases\":{\"type\":\"object\","
					     "\"description\":\"What the start took, in "
					     "milliseconds.\"}}}"},
	{"sessions", "{\"type\":\"object\",\"properties\":{\"sessions\":{\"type\":\"array\","
		     "\"items\":" REFER("session") "}}}"},
	{"actions", "{\"oneOf\":[" REFER("action") ",{\"type\":\"array\",\"items\":" REFER(
			    "action") "}]}"},
	{"token_spec",
		"{\"type\":\"object\",\"required\":[\"role\"],\"properties\":{\"role\":{\"enum\":["
		"\"viewer\",\"agent\",\"operator\",\"admin\"]},\"session\":" STR ",\"label\":" STR
		",\"ttl\":{\"type\":\"integer\",\"description\":\"seconds\"}},"
		"\"additionalProperties\":false}"},
	{"token", "{\"type\":\"object\",\"properties\":{\"token\":{\"type\":\"string\","
		  "\"description\":\"only when it is made\"},\"id\":" STR ",\"role\":" STR
		  ",\"session\":{\"type\":[\"string\",\"null\"]},\"label\":" STR
		  ",\"created\":" TIME ",\"expires\":" TIME ",\"used\":" TIME "}}"},
	{"tokens", "{\"type\":\"object\",\"properties\":{\"tokens\":{\"type\":\"array\","
		   "\"items\":" REFER("token") "}}}"},
	{"ticket_spec", "{\"type\":\"object\",\"properties\":{\"session\":" STR ",\"role\":" STR
			"},\"additionalProperties\":false}"},
	{"ticket", "{\"type\":\"object\",\"properties\":{\"ticket\":" STR ",\"expires_in\":" INT
		   ",\"url\":" STR "}}"},
};

static void add_others(json_t *all) {
	for (size_t i = 0; i < CUA_COUNT(others); i++) {
		(void)json_object_set_new(
			all, others[i].name, json_loads(others[i].schema, 0, NULL));
	}
	(void)json_object_set_new(all, "spec", spec_schema());
	(void)json_object_set_new(all, "change", spec_change_schema());
	(void)json_object_set_new(
		all, "exec_spec", cua_action_schema(cua_action_get(CUA_ACTION_EXEC)));
}

static json_t *result_schema(enum cua_result result) {
	json_t *schema = cua_result_schema(result);
	(void)json_object_set_new(schema, "description", json_string(cua_result_help(result)));
	return schema;
}

static json_t *reference(const char *kind, const char *name) {
	return json_pack("{s:o}", "$ref", json_sprintf("#/components/%s/%s", kind, name));
}

static json_t *schemas(void) {
	json_t *all = json_object();
	json_t *any = json_array();
	json_t *results = json_array();
	char name[64];
	for (unsigned i = 0; i < CUA_ACTION_MAX_; i++) {
		const struct cua_action *action = cua_action_get(i);
		(void)snprintf(name, sizeof(name), "action_%s", action->name);
		(void)json_object_set_new(all, name, action_object(action));
		(void)json_array_append_new(any, reference("schemas", name));
	}
	for (unsigned i = 0; i < CUA_RESULT_MAX_; i++) {
		(void)snprintf(
			name, sizeof(name), "result_%s", cua_result_name((enum cua_result)i));
		(void)json_object_set_new(all, name, result_schema((enum cua_result)i));
		(void)json_array_append_new(results, reference("schemas", name));
	}
	(void)json_object_set_new(all, "action",
		json_pack("{s:s, s:o, s:{s:s}}", "description", "One action with its parameters.",
			"oneOf", any, "discriminator", "propertyName", "action"));
	(void)json_object_set_new(all, "result",
		json_pack("{s:s, s:o}", "description",
			"Which one is told by x-result of the action; a list's is result_batch.",
			"anyOf", results));
	(void)json_object_set_new(all, "error", error_schema());
	add_others(all);
	return all;
}

/* ---------------------------------------------------------------- routes */

/* What the rows of routes do not say: schemas of body and answer, and names behind the '?'. */
static const struct about {
	const char *operation;
	const char *body;
	const char *answer;
	const char *query;
} abouts[] = {
	{"POST_v1_sessions", "spec", "session", "wait"},
	{"GET_v1_sessions", NULL, "sessions", "state label"},
	{"GET_v1_sessions_id", NULL, "session", NULL},
	{"PATCH_v1_sessions_id", "change", "session", NULL},
	{"POST_v1_sessions_id_actions", "actions", "result", NULL},
	{"POST_v1_sessions_id_exec", "exec_spec", "result_exec", NULL},
	{"GET_v1_sessions_id_files_path", NULL, NULL, "list stat"},
	{"PUT_v1_sessions_id_files_path", NULL, "result_file_size", "mode mkdirs"},
	{"DELETE_v1_sessions_id_files_path", NULL, NULL, "recursive"},
	{"POST_v1_tokens", "token_spec", "token", NULL},
	{"GET_v1_tokens", NULL, "tokens", NULL},
	{"POST_v1_tickets", "ticket_spec", "ticket", NULL},
};

static const struct about *about(const char *operation) {
	static const struct about nothing = {0};
	for (size_t i = 0; i < CUA_COUNT(abouts); i++) {
		if (strcmp(abouts[i].operation, operation) == 0) {
			return &abouts[i];
		}
	}
	return &nothing;
}

static void add_parameter(json_t *list, json_t *name, const char *in, json_t *schema) {
	(void)json_array_append_new(
		list, json_pack("{s:o, s:s, s:b, s:o}", "name", name, "in", in, "required",
			      strcmp(in, "path") == 0, "schema", schema));
}

static json_t *parameters(const struct route *route, const char *query) {
	json_t *list = json_array();
	for (const char *p = strchr(route->pattern, '{'); p; p = strchr(p + 1, '{')) {
		add_parameter(list, json_stringn(p + 1, strcspn(p + 1, "}")), "path",
			json_pack("{s:s}", "type", "string"));
	}
	for (const char *p = query; p && *p; p += strcspn(p, " "), p += *p == ' ') {
		add_parameter(list, json_stringn(p, strcspn(p, " ")), "query",
			json_pack("{s:s}", "type", "string"));
	}
	if (strcmp(route->pattern, "/v1/sessions/{id}/screenshot") == 0) {
		json_t *schema = cua_action_schema(cua_action_get(CUA_ACTION_SCREENSHOT));
		const char *name = NULL;
		json_t *value = NULL;
		json_object_foreach(json_object_get(schema, "properties"), name, value) {
			add_parameter(list, json_string(name), "query", json_incref(value));
		}
		json_decref(schema);
	}
	return list;
}

static json_t *responses(const struct route *route, const char *answer) {
	const char *success = route->ws ? "101" : "2XX";
	json_t *done =
		json_pack("{s:s}", "description", route->ws ? "The WebSocket is open." : "Done.");
	if (answer) {
		(void)json_object_set_new(done, "content",
			json_pack("{s:{s:o}}", "application/json", "schema",
				reference("schemas", answer)));
	}
	return json_pack("{s:o, s:o}", success, done, "default", reference("responses", "error"));
}

static json_t *body_of(const struct route *route, const char *body) {
	if (route->stream) {
		return json_pack("{s:{s:{}}}", "content", "application/octet-stream");
	}
	json_t *schema = body ? reference("schemas", body) : json_pack("{s:s}", "type", "object");
	return json_pack("{s:{s:{s:o}}}", "content", "application/json", "schema", schema);
}

static void operation_id(const struct route *route, char ret[96]) {
	size_t used = (size_t)snprintf(ret, 96, "%s", http_method_name(route->method));
	for (const char *p = route->pattern; *p && used < 90; p++) {
		bool word = strchr("/{}.", *p) == NULL;
		if (word || ret[used - 1] != '_') {
			ret[used++] = (char)(word ? *p : '_');
		}
	}
	while (used > 0 && ret[used - 1] == '_') {
		used--;
	}
	ret[used] = '\0';
}

static json_t *operation(const struct route *route) {
	char id[96];
	operation_id(route, id);
	const struct about *more = about(id);
	json_t *op = json_pack("{s:s, s:s, s:o, s:s}", "operationId", id, "summary",
		route->summary ? route->summary : "", "responses", responses(route, more->answer),
		"x-role", cua_role_name(route->role));
	(void)json_object_set_new(op, "parameters", parameters(route, more->query));
	if (route->role == CUA_ROLE_NONE) {
		(void)json_object_set_new(op, "security", json_array());
	}
	bool body = route->method == HTTP_POST || route->method == HTTP_PUT ||
		    route->method == HTTP_PATCH;
	if (body) {
		(void)json_object_set_new(op, "requestBody", body_of(route, more->body));
	}
	if (route->ws) {
		(void)json_object_set_new(op, "x-websocket",
			route->protocol ? json_string(route->protocol) : json_true());
	}
	return op;
}

static json_t *paths(void) {
	json_t *all = json_object();
	const struct route *route = NULL;
	for (size_t i = 0; (route = front_route(i)) != NULL; i++) {
		json_t *path = json_object_get(all, route->pattern);
		if (!path) {
			path = json_object();
			(void)json_object_set_new(all, route->pattern, path);
		}
		char method[8] = "";
		const char *name = http_method_name(route->method);
		for (size_t k = 0; name[k]; k++) {
			method[k] = (char)(name[k] | 0x20);
		}
		(void)json_object_set_new(path, method, operation(route));
	}
	return all;
}

json_t *openapi_document(void) {
	json_t *security = json_pack("{s:{s:s, s:s}, s:{s:s, s:s, s:s}}", "bearer", "type", "http",
		"scheme", "bearer", "key", "type", "apiKey", "in", "header", "name", "X-API-Key");
	json_t *error = json_pack("{s:s, s:{s:{s:{s:s}}}}", "description",
		"The error, with its status code.", "content", "application/json", "schema", "$ref",
		REF("schemas", "error"));
	return json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s, s:s}}, s:[{s:[]}, {s:[]}], s:o,"
			 " s:{s:o, s:{s:o}, s:o}}",
		"openapi", "3.1.0", "info", "title", "cuad", "version", CUAD_VERSION, "description",
		"Desktops for agents: sessions, what is seen and done in them, commands, files.",
		"license", "name", "GPL-2.0-or-later", "identifier", "GPL-2.0-or-later", "security",
		"bearer", "key", "paths", paths(), "components", "schemas", schemas(), "responses",
		"error", error, "securitySchemes", security);
}
