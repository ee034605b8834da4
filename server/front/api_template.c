/* /v1/templates: what is built, as the manifests tell it; building and removing by the supervisor. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cua/ident.h"
#include "server/front/api.h"
#include "server/front/front.h"
#include "server/front/json_text.h"
#include "server/front/peer.h"
#include "server/front/sessions.h"

enum verb { VERB_BUILD = 0, VERB_REMOVE = 1 };

/* ---------------------------------------------------------------- showing */

static int open_templates(struct request *req) {
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/templates",
		sessions_state_dir(request_front(req)->sessions));
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The manifest of a template, its name in it. NULL: it is not built. */
static json_t *manifest(int dir, const char *name) {
	char path[CUA_NAME_SIZE + 16];
	(void)snprintf(path, sizeof(path), "%s/layers", name);
	if (!cua_name_ok(name) || faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		return NULL;
	}
	(void)snprintf(path, sizeof(path), "%s/manifest.json", name);
	_cleanup_fd_ int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	json_t *json = fd >= 0 ? json_loadfd(fd, 0, NULL) : NULL;
	if (!json_is_object(json)) {
		json_decref(json);
		json = json_object();
	}
	(void)json_object_set_new(json, "name", json_string(name));
	return json;
}

static json_t *list_all(int dir) {
	json_t *list = json_array();
	DIR *stream = dir >= 0 ? fdopendir(dir) : NULL;
	if (!stream) {
		return list;
	}
	for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
		json_t *one = manifest(dirfd(stream), entry->d_name);
		if (one) {
			(void)json_object_del(one, "packages"); /* hundreds; shown one by one */
			(void)json_array_append_new(list, one);
		}
	}
	(void)closedir(stream);
	return list;
}

static void get_templates(struct request *req) {
	request_reply_json(
		req, 200, json_pack("{s:o}", "templates", list_all(open_templates(req))));
}

static void get_template(struct request *req) {
	_cleanup_fd_ int dir = open_templates(req);
	const char *name = request_param(req, "name");
	json_t *json = dir >= 0 ? manifest(dir, name) : NULL;
	struct cua_err err;
	if (json) {
		request_reply_json(req, 200, json);
	} else {
		(void)cua_err_about(
			&err, CUA_NOT_FOUND, "template", "there is no template %.32s", name);
		request_reply_error(req, &err);
	}
}

/* ---------------------------------------------------------------- asking the supervisor */

struct pending {
	struct request *req; /* NULL after the client has left */
	enum verb verb;
	char name[CUA_NAME_SIZE];
	bool begun; /* lines are being sent */
};

static void on_gone(void *data) {
	struct pending *pending = data;
	pending->req = NULL;
}

/* One line of the streamed answer; takes the reference. */
static void send_line(struct pending *pending, json_t *json) {
	if (!pending->begun) {
		pending->begun = true;
		request_stream_begin(pending->req, 200, "application/x-ndjson", -1);
	}
	_cleanup_free_ char *text = json_dumps(json, JSON_OUT);
	json_decref(json);
	if (text) {
		size_t len = strlen(text);
		text[len] = '\n'; /* in the place of the NUL */
		(void)request_stream_write(
			pending->req, (struct cua_span){.data = text, .len = len + 1});
	}
}

static void answer_error(struct pending *pending, const struct cua_err *err) {
	if (pending->begun) {
		send_line(pending, json_pack("{s:o}", "error", error_to_json(err)));
		request_stream_end(pending->req, false);
	} else {
		request_reply_error(pending->req, err);
	}
}

static void answer_done(struct pending *pending) {
	if (pending->verb == VERB_REMOVE) {
		request_reply_empty(pending->req, 204, NULL);
		return;
	}
	_cleanup_fd_ int dir = open_templates(pending->req);
	json_t *json = dir >= 0 ? manifest(dir, pending->name) : NULL;
	if (json) {
		(void)json_object_del(json, "packages");
	}
	send_line(pending, json_pack("{s:o}", "template", json ? json : json_null()));
	request_stream_end(pending->req, false);
}

static bool on_answer(void *data, struct cua_msg *msg, const struct cua_err *err) {
	struct pending *pending = data;
	struct cua_err own;
	if (msg && msg->type == CUA_MSG_BUILD_PROGRESS) {
		if (pending->req) {
			send_line(pending,
				json_pack("{s:s}", "progress", msg->body.build_progress.line));
		}
		return true;
	}
	if (msg && msg->type == CUA_MSG_REPLY && msg->body.reply.has_error) {
		(void)cua_error_from_wire(&msg->body.reply.error, &own);
		err = &own;
	}
	if (pending->req && err) {
		answer_error(pending, err);
	} else if (pending->req) {
		answer_done(pending);
	}
	free(pending);
	return false;
}

struct order {
	enum verb verb;
	const char *name;
	bool force;
};

static int ask(struct request *req, const struct order *order, struct cua_err *err) {
	const char *name = order->name;
	if (!cua_name_ok(name)) {
		return cua_err_about(err, order->verb == VERB_BUILD ? CUA_INVALID : CUA_NOT_FOUND,
			"template", "%.64s is no name of a template", name ? name : "that");
	}
	struct peer *supervisor = sessions_supervisor(request_front(req)->sessions);
	_cleanup_free_ struct pending *pending = calloc(1, sizeof(*pending));
	if (!pending) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a request");
	}
	pending->req = req;
	pending->verb = order->verb;
	(void)snprintf(pending->name, sizeof(pending->name), "%s", name);
	cua_TemplateRequest body = {.serial = peer_serial(supervisor),
		.verb = order->verb,
		.has_force = order->force,
		.force = order->force};
	(void)snprintf(body.name, sizeof(body.name), "%s", name);
	int r = peer_call(supervisor,
		&(struct peer_call){.serial = body.serial, .answer = on_answer, .data = pending},
		&(struct cua_out){.type = CUA_MSG_TEMPLATE_REQUEST, .body = &body}, err);
	if (r < 0) {
		return r;
	}
	request_on_gone(req, on_gone, take_ptr(pending));
	return 0;
}

/* The name is the body's own. */
static int read_order(json_t *body, struct order *ret, struct cua_err *err) {
	const char *key = NULL;
	json_t *value = NULL;
	*ret = (struct order){.verb = VERB_BUILD};
	json_object_foreach(body, key, value) {
		if (strcmp(key, "recipe") == 0 && json_is_string(value)) {
			ret->name = json_string_value(value);
		} else if (strcmp(key, "force") == 0 && json_is_boolean(value)) {
			ret->force = json_is_true(value);
		} else {
			return cua_err_about(err, CUA_BAD_REQUEST, key,
				"%.64s: the body is {\"recipe\": a string, \"force\": true or "
				"false}",
				key);
		}
	}
	return ret->name ? 0
			 : cua_err_about(err, CUA_BAD_REQUEST, "recipe",
				   "recipe is missing: the name of what to build");
}

static void post_template(struct request *req) {
	struct cua_err err;
	struct order order;
	json_t *body = request_json(req, &err);
	int r = body ? read_order(body, &order, &err) : -1;
	if (r == 0) {
		r = ask(req, &order, &err);
	}
	json_decref(body);
	if (r < 0) {
		request_reply_error(req, &err);
	}
}

static void delete_template(struct request *req) {
	struct cua_err err;
	const struct order order = {.verb = VERB_REMOVE, .name = request_param(req, "name")};
	if (ask(req, &order, &err) < 0) {
		request_reply_error(req, &err);
	}
}

static const struct route routes[] = {
	{.method = HTTP_GET,
		.pattern = "/v1/templates",
		.role = CUA_ROLE_OPERATOR,
		.handler = get_templates,
		.summary = "List the templates that are built."},
	{.method = HTTP_GET,
		.pattern = "/v1/templates/{name}",
		.role = CUA_ROLE_OPERATOR,
		.handler = get_template,
		.summary = "Show a template's manifest."},
	{.method = HTTP_POST,
		.pattern = "/v1/templates",
		.role = CUA_ROLE_ADMIN,
		.handler = post_template,
		.summary =
			"Build a template; its progress comes as lines of JSON, the result last."},
	{.method = HTTP_DELETE,
		.pattern = "/v1/templates/{name}",
		.role = CUA_ROLE_ADMIN,
		.handler = delete_template,
		.summary = "Remove a template that no session uses."},
};

const struct route *api_template_routes(size_t *ret_count) {
	*ret_count = CUA_COUNT(routes);
	return routes;
}
