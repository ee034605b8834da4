/* Finding the row of the route table that a request means. */
#pragma once

#include "server/front/http.h"
#include "server/front/http_parse.h"

/* The {name} parts of a matched path, decoded. */
struct route_params {
	struct {
		char name[16];
		const char *value; /* inside the path that was matched */
	} item[CUA_PATH_PARAMS];
	size_t count;
};

enum route_found {
	ROUTE_FOUND,
	ROUTE_NOT_FOUND, /* no such path */
	ROUTE_NOT_METHOD, /* the path exists, with other methods: ret_allow names them */
	ROUTE_NOT_WS, /* the path is a WebSocket's, and the request is not one */
	ROUTE_MALFORMED, /* percent-encoding of a part */
};

struct route_query {
	enum http_method method;
	bool method_known;
	bool ws;
};

/* Finds the row for a path, which is cut up and decoded in place when it matches. ret_allow gets the
 * value of an Allow header, with ROUTE_NOT_METHOD. */
enum route_found routes_find(const struct route_query *query, char *path,
	const struct route **ret_route, struct route_params *ret_params, char ret_allow[64]);
/* Value of a part, or NULL. */
const char *route_param(const struct route_params *params, const char *name);
/* "GET" and so on. */
const char *http_method_name(enum http_method method);
/* False for a method that no route has. */
bool http_method_find(const char *name, enum http_method *ret);
