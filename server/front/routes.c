/* The route table: joined from the tables of the api files, and matched. No handler is here. */
#include "server/front/routes.h"

#include <stdio.h>
#include <string.h>

#include "server/front/api.h"
#include "server/front/front.h"

static const char *const methods[] = {
	[HTTP_GET] = "GET",
	[HTTP_HEAD] = "HEAD",
	[HTTP_POST] = "POST",
	[HTTP_PUT] = "PUT",
	[HTTP_PATCH] = "PATCH",
	[HTTP_DELETE] = "DELETE",
};

const char *http_method_name(enum http_method method) {
	return methods[method];
}

bool http_method_find(const char *name, enum http_method *ret) {
	for (size_t i = 0; i < CUA_COUNT(methods); i++) {
		if (strcmp(methods[i], name) == 0) {
			*ret = (enum http_method)i;
			return true;
		}
	}
	return false;
}

typedef const struct route *table_fn(size_t *ret_count);

static table_fn *const tables[] = {
	api_system_routes,
	api_session_routes,
	api_action_routes,
	api_file_routes,
	api_template_routes,
	rpc_routes,
	pty_routes,
	events_routes,
	metrics_routes,
};

const struct route *front_route(size_t number) {
	for (size_t t = 0; t < CUA_COUNT(tables); t++) {
		size_t count = 0;
		const struct route *routes = tables[t](&count);
		if (number < count) {
			return &routes[number];
		}
		number -= count;
	}
	return NULL;
}

/* ---------------------------------------------------------------- matching */

static size_t segment_len(const char *text) {
	return strcspn(text, "/");
}

static bool is_rest(const char *pattern) {
	return strncmp(pattern, "{path}", 6) == 0 && pattern[6] == '\0';
}

/* Compares without changing the path. */
static bool pattern_fits(const char *pattern, const char *path) {
	while (*pattern == '/' && *path == '/') {
		pattern++;
		path++;
		if (is_rest(pattern)) {
			return true;
		}
		size_t p = segment_len(pattern);
		size_t s = segment_len(path);
		bool any = pattern[0] == '{';
		if (any ? s == 0 : (p != s || strncmp(pattern, path, p) != 0)) {
			return false;
		}
		pattern += p;
		path += s;
	}
	return *pattern == '\0' && *path == '\0';
}

/* Takes the part's value out of the path: ends it, decodes it. Returns what follows. */
static char *take_param(
	const char *pattern, size_t name_len, char *path, struct route_params *ret, bool *ok) {
	size_t len = is_rest(pattern) ? strlen(path) : segment_len(path);
	char *next = path + len;
	bool last = *next == '\0';
	*next = '\0';
	if (ret->count >= CUA_PATH_PARAMS || http_decode(path, false, NULL) < 0) {
		*ok = false;
		return NULL;
	}
	(void)snprintf(ret->item[ret->count].name, sizeof(ret->item[0].name), "%.*s",
		(int)(name_len - 2), pattern + 1);
	ret->item[ret->count++].value = path;
	return last ? NULL : next + 1;
}

static bool take_params(const char *pattern, char *path, struct route_params *ret) {
	bool ok = true;
	*ret = (struct route_params){0};
	char *p = path + 1;
	for (const char *s = pattern + 1; p && ok; s += *s == '/') {
		size_t len = segment_len(s);
		if (s[0] == '{') {
			p = take_param(s, len, p, ret, &ok);
		} else {
			p += len;
			p = *p == '/' ? p + 1 : NULL;
		}
		s += len;
	}
	return ok;
}

struct search {
	const struct route *found;
	unsigned allow; /* bits of enum http_method */
	bool path_known;
};

static void look_at(const struct route *route, const struct route_query *query, const char *path,
	struct search *s) {
	if (!pattern_fits(route->pattern, path)) {
		return;
	}
	s->path_known = true;
	bool is_ws = route->ws != NULL;
	if (is_ws && !query->ws) {
		return;
	}
	if (!is_ws) {
		s->allow |= 1u << route->method;
	}
	enum http_method method = query->method == HTTP_HEAD ? HTTP_GET : query->method;
	bool better = !s->found || (is_ws && !s->found->ws);
	if (query->method_known && route->method == method && better) {
		s->found = route;
	}
}

static void allow_text(unsigned allow, char ret[64]) {
	if (allow & (1u << HTTP_GET)) {
		allow |= 1u << HTTP_HEAD;
	}
	size_t used = 0;
	ret[0] = '\0';
	for (size_t i = 0; i < CUA_COUNT(methods); i++) {
		if (allow & (1u << i)) {
			used += (size_t)snprintf(
				ret + used, 64 - used, "%s%s", used > 0 ? ", " : "", methods[i]);
		}
	}
}

enum route_found routes_find(const struct route_query *query, char *path,
	const struct route **ret_route, struct route_params *ret_params, char ret_allow[64]) {
	struct search s = {0};
	const struct route *route = NULL;
	for (size_t i = 0; (route = front_route(i)) != NULL; i++) {
		look_at(route, query, path, &s);
	}
	if (!s.found) {
		allow_text(s.allow, ret_allow);
		return !s.path_known ? ROUTE_NOT_FOUND : s.allow ? ROUTE_NOT_METHOD : ROUTE_NOT_WS;
	}
	if (!take_params(s.found->pattern, path, ret_params)) {
		return ROUTE_MALFORMED;
	}
	*ret_route = s.found;
	return ROUTE_FOUND;
}

const char *route_param(const struct route_params *params, const char *name) {
	for (size_t i = 0; i < params->count; i++) {
		if (strcmp(params->item[i].name, name) == 0) {
			return params->item[i].value;
		}
	}
	return NULL;
}
