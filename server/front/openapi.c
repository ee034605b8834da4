/* OpenAPI 3.1 from the tables; see the header. A route or an action that is added appears by itself. */
#include "server/front/openapi.h"

#include <stdio.h>
#include <string.h>

#include "cua/action_json.h"
#include "server/front/front.h"
#include "server/front/routes.h"

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

static json_t *schemas(void) {
	json_t *all = json_object();
	json_t *any = json_array();
	char name[64];
	for (unsigned i = 0; i < CUA_ACTION_MAX_; i++) {
		const struct cua_action *action = cua_action_get(i);
		(void)snprintf(name, sizeof(name), "action_%s", action->name);
		(void)json_object_set_new(all, name, action_object(action));
		(void)json_array_append_new(any,
			json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", name)));
	}
	for (unsigned i = 0; i < CUA_RESULT_MAX_; i++) {
		(void)snprintf(
			name, sizeof(name), "result_%s", cua_result_name((enum cua_result)i));
		(void)json_object_set_new(all, name, cua_result_schema((enum cua_result)i));
	}
	(void)json_object_set_new(all, "action",
		json_pack("{s:s, s:o, s:{s:s}}", "description", "One action with its parameters.",
			"oneOf", any, "discriminator", "propertyName", "action"));
	(void)json_object_set_new(all, "error", error_schema());
	return all;
}

/* ---------------------------------------------------------------- routes */

static json_t *parameters(const char *pattern) {
	json_t *list = json_array();
	for (const char *p = strchr(pattern, '{'); p; p = strchr(p + 1, '{')) {
		json_t *name = json_stringn(p + 1, strcspn(p + 1, "}"));
		(void)json_array_append_new(
			list, json_pack("{s:o, s:s, s:b, s:{s:s}}", "name", name, "in", "path",
				      "required", 1, "schema", "type", "string"));
	}
	return list;
}

static json_t *responses(const struct route *route) {
	const char *success = route->ws ? "101" : "2XX";
	const char *text = route->ws ? "The WebSocket is open." : "Done.";
	return json_pack("{s:{s:s}, s:{s:s}}", success, "description", text, "default", "$ref",
		REF("responses", "error"));
}

static json_t *body_of(const struct route *route) {
	if (route->stream) {
		return json_pack("{s:{s:{}}}", "content", "application/octet-stream");
	}
	bool actions = strcmp(route->pattern, "/v1/sessions/{id}/actions") == 0;
	const char *one = REF("schemas", "action");
	json_t *schema = actions ? json_pack("{s:[{s:s}, {s:s, s:{s:s}}]}", "oneOf", "$ref", one,
					   "type", "array", "items", "$ref", one)
				 : json_pack("{s:s}", "type", "object");
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
	json_t *op = json_pack("{s:s, s:s, s:o, s:s}", "operationId", id, "summary",
		route->summary ? route->summary : "", "responses", responses(route), "x-role",
		cua_role_name(route->role));
	if (strchr(route->pattern, '{')) {
		(void)json_object_set_new(op, "parameters", parameters(route->pattern));
	}
	if (route->role == CUA_ROLE_NONE) {
		(void)json_object_set_new(op, "security", json_array());
	}
	bool body = route->method == HTTP_POST || route->method == HTTP_PUT ||
		    route->method == HTTP_PATCH;
	if (body) {
		(void)json_object_set_new(op, "requestBody", body_of(route));
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
