/* launch, list, show, set, rm, open. */
#include "server/ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the spec of launch */

/* Sets a.b.c to a value given as YAML, creating objects on the way. */
static int set_dotted(json_t *object, const char *assignment, struct cua_err *err) {
	const char *equals = strchr(assignment, '=');
	if (!equals || equals == assignment) {
		return cua_err_set(err, CUA_BAD_REQUEST, "\"%s\" is not KEY=VALUE", assignment);
	}
	json_t *value = yaml_to_json(equals + 1, strlen(equals + 1), err);
	if (!value) {
		return cua_err_prefix(err, "%s", assignment);
	}
	_cleanup_free_ char *path = strndup(assignment, (size_t)(equals - assignment));
	char *rest = path;
	for (char *dot; rest && (dot = strchr(rest, '.')); rest = dot + 1) {
		*dot = '\0';
		json_t *child = json_object_get(object, rest);
		if (!json_is_object(child)) {
			child = json_object();
			(void)json_object_set_new(object, rest, child);
		}
		object = child;
	}
	return rest && json_object_set_new(object, rest, value) == 0
		       ? 0
		       : cua_err_set(err, CUA_EXHAUSTED, "out of memory");
}

static int set_label(json_t *spec, const char *label, struct cua_err *err) {
	const char *equals = strchr(label, '=');
	if (!equals || equals == label) {
		return cua_err_set(err, CUA_BAD_REQUEST, "label \"%s\" is not KEY=VALUE", label);
	}
	json_t *labels = json_object_get(spec, "labels");
	if (!labels) {
		labels = json_object();
		(void)json_object_set_new(spec, "labels", labels);
	}
	_cleanup_free_ char *key = strndup(label, (size_t)(equals - label));
	return key && json_object_set_new(labels, key, json_string(equals + 1)) == 0
		       ? 0
		       : cua_err_set(err, CUA_BAD_REQUEST, "label \"%s\" is not valid text", label);
}

static json_t *read_spec_file(const char *path, struct cua_err *err) {
	_cleanup_fd_ int opened = -1;
	int fd = STDIN_FILENO;
	if (strcmp(path, "-") != 0) {
		fd = opened = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0) {
		(void)cua_err_errno(err, errno, "cannot read %s", path);
		return NULL;
	}
	enum { SPEC_MAX = 1 << 20 };
	_cleanup_free_ char *text = malloc(SPEC_MAX);
	size_t len = 0;
	ssize_t n = 1;
	while (text && len < SPEC_MAX && (n = read(fd, text + len, SPEC_MAX - len)) > 0) {
		len += (size_t)n;
	}
	if (!text || n < 0 || len == SPEC_MAX) {
		(void)cua_err_set(
			err, CUA_BAD_REQUEST, "cannot read %s, or it is over 1 MiB", path);
		return NULL;
	}
	json_t *spec = yaml_to_json(text, len, err);
	if (!spec) {
		(void)cua_err_prefix(err, "%s", path);
	}
	return spec;
}

static int apply_option(json_t *spec, const struct arg_value *option, struct cua_err *err) {
	if (strcmp(option->name, "set") == 0) {
		return set_dotted(spec, option->value, err);
	}
	if (strcmp(option->name, "label") == 0) {
		return set_label(spec, option->value, err);
	}
	if (strcmp(option->name, "template") == 0 || strcmp(option->name, "name") == 0 ||
		strcmp(option->name, "screen") == 0) {
		(void)json_object_set_new(spec, option->name, json_string(option->value));
	}
	return 0;
}

static json_t *build_spec(const struct args *args, struct cua_err *err) {
	const char *file = args_get(args, "file");
	json_t *spec = file ? read_spec_file(file, err) : json_object();
	if (spec && !json_is_object(spec)) {
		json_decref(spec);
		(void)cua_err_set(
			err, CUA_BAD_REQUEST, "%s is not a mapping of keys to values", file);
		return NULL;
	}
	for (size_t i = 0; spec && i < args->option_count; i++) {
		if (apply_option(spec, &args->options[i], err) < 0) {
			json_decref(spec);
			return NULL;
		}
	}
	if (spec && args->rest_count > 0) {
		json_t *command = json_array();
		for (size_t i = 0; i < args->rest_count; i++) {
			(void)json_array_append_new(command, json_string(args->rest[i]));
		}
		(void)json_object_set_new(spec, "command", command);
	}
	return spec;
}

/* ---------------------------------------------------------------- launch */

struct launch {
	struct ctl *ctl;
	size_t wanted;
	size_t done;
	size_t failed;
	bool progress;
	int status;
};

static void launch_progress(const struct launch *launch) {
	if (launch->progress) {
		(void)fprintf(stderr, "\r%zu of %zu ready%s", launch->done - launch->failed,
			launch->wanted, launch->done == launch->wanted ? "\n" : "");
	}
}

static void print_session_line(const json_t *session) {
	(void)printf("%s  %s  %s  %s\n", json_text(session, "id"), json_text(session, "name"),
		json_text(session, "state"), json_text(json_object_get(session, "urls"), "view"));
	(void)fflush(stdout);
}

static void on_launched(void *data, const struct client_reply *reply) {
	struct launch *launch = data;
	launch->done++;
	if (launch->progress) {
		(void)fprintf(stderr, "\r\033[K");
	}
	if (reply->err.code != CUA_OK) {
		launch->failed++;
		int status = ctl_fail(launch->ctl, &reply->err);
		launch->status = launch->wanted == 1 ? status : EXIT_FAILED;
	} else {
		json_t *session = json_loadb(reply->body, reply->len, 0, NULL);
		if (launch->ctl->json) {
			print_json(session);
		} else {
			print_session_line(session);
		}
		json_decref(session);
	}
	launch_progress(launch);
}

static int launch_one(struct client *client, struct launch *launch, json_t *spec, size_t index,
	const char *path) {
	json_t *own = json_copy(spec);
	const char *name = json_string_value(json_object_get(spec, "name"));
	if (name && launch->wanted > 1) {
		(void)json_object_set_new(own, "name", json_sprintf("%s-%zu", name, index + 1));
	}
	_cleanup_free_ char *text = json_dumps(own, JSON_COMPACT);
	json_decref(own);
	struct client_request request = {.method = "POST",
		.path = path,
		.body = {.data = text, .len = text ? strlen(text) : 0},
		.done = on_launched,
		.data = launch};
	struct cua_err err;
	return client_start(client, &request, &err) < 0 ? ctl_fail(launch->ctl, &err) : 0;
}

int cmd_launch(struct ctl *ctl, const struct args *args) {
	struct cua_err err;
	long number = 1;
	if (args_number(args, "number", 1, CUA_SESSIONS_MAX, &number, &err) < 0 || number < 1) {
		return ctl_usage(ctl, "-n must be a number from 1 to %d", CUA_SESSIONS_MAX);
	}
	json_t *spec = build_spec(args, &err);
	if (!spec) {
		return ctl_fail(ctl, &err);
	}
	struct launch launch = {.ctl = ctl,
		.wanted = (size_t)number,
		.progress = number > 1 && isatty(STDERR_FILENO) && !ctl->json};
	struct client *client = ctl_client(ctl, &launch.status);
	const char *path = args_has(args, "no-wait") ? "/v1/sessions?wait=0" : "/v1/sessions";
	launch_progress(&launch);
	for (size_t i = 0; client && i < launch.wanted; i++) {
		int status = launch_one(client, &launch, spec, i, path);
		launch.status = status != 0 ? status : launch.status;
	}
	json_decref(spec);
	if (client) {
		client_run(client);
		(void)client_free(client);
	}
	return launch.status;
}

/* ---------------------------------------------------------------- list and show */

static bool label_matches(const json_t *session, const char *label) {
	const char *equals = strchr(label, '=');
	json_t *labels = json_object_get(session, "labels");
	if (!equals) {
		return json_object_get(labels, label) != NULL;
	}
	_cleanup_free_ char *key = strndup(label, (size_t)(equals - label));
	return key && strcmp(json_text(labels, key), equals + 1) == 0;
}

static bool matches(const json_t *session, const struct args *args) {
	const char *state = args_get(args, "state");
	if (state && strcmp(json_text(session, "state"), state) != 0) {
		return false;
	}
	for (size_t i = 0; i < args->option_count; i++) {
		if (strcmp(args->options[i].name, "label") == 0 &&
			!label_matches(session, args->options[i].value)) {
			return false;
		}
	}
	return true;
}

/* All sessions that match --label and --state, as a new array; NULL after an error. */
static json_t *fetch_sessions(struct ctl *ctl, const struct args *args, int *ret_status) {
	struct answer answer;
	*ret_status = ctl_call(ctl, "GET", "/v1/sessions", NULL, &answer);
	if (*ret_status != 0) {
		answer_done(&answer);
		return NULL;
	}
	json_t *all =
		json_is_array(answer.json) ? answer.json : json_object_get(answer.json, "sessions");
	json_t *some = json_array();
	size_t i = 0;
	json_t *session = NULL;
	json_array_foreach(all, i, session) {
		if (matches(session, args)) {
			(void)json_array_append(some, session);
		}
	}
	answer_done(&answer);
	return some;
}

enum { LIST_COLUMNS = 7 };

static void list_row(const json_t *session, char **cells) {
	char age[32];
	char memory[32];
	print_age(json_text(session, "created"), age, sizeof(age));
	json_t *usage = json_object_get(session, "usage");
	print_size(json_number_value(json_object_get(usage, "memory")), memory, sizeof(memory));
	json_t *screen = json_object_get(session, "screen");
	cells[0] = strdup(json_text(session, "id"));
	cells[1] = strdup(json_text(session, "name"));
	cells[2] = strdup(json_text(session, "state"));
	cells[3] = strdup(json_text(session, "template"));
	if (asprintf(&cells[4], "%dx%d", (int)json_integer_value(json_object_get(screen, "width")),
		    (int)json_integer_value(json_object_get(screen, "height"))) < 0) {
		cells[4] = NULL;
	}
	cells[5] = strdup(age);
	cells[6] = strdup(memory);
}

int cmd_list(struct ctl *ctl, const struct args *args) {
	static const char *const head[LIST_COLUMNS] = {
		"ID", "NAME", "STATE", "TEMPLATE", "SCREEN", "AGE", "MEMORY"};
	int status = 0;
	json_t *sessions = fetch_sessions(ctl, args, &status);
	if (!sessions) {
		return status;
	}
	if (ctl->json) {
		print_json(sessions);
		json_decref(sessions);
		return EXIT_DONE;
	}
	size_t rows = json_array_size(sessions);
	char **cells = calloc(rows * LIST_COLUMNS + 1, sizeof(*cells));
	for (size_t i = 0; cells && i < rows; i++) {
		list_row(json_array_get(sessions, i), cells + i * LIST_COLUMNS);
	}
	if (cells) {
		print_table(head, LIST_COLUMNS, cells, rows);
	}
	for (size_t i = 0; cells && i < rows * LIST_COLUMNS; i++) {
		free(cells[i]);
	}
	free(cells);
	json_decref(sessions);
	return EXIT_DONE;
}

static void show_value(const char *key, const json_t *value) {
	if (json_is_string(value)) {
		(void)printf("%-10s %s\n", key, json_string_value(value));
	} else {
		(void)printf("%-10s ", key);
		print_json(value);
	}
}

int cmd_show(struct ctl *ctl, const struct args *args) {
	_cleanup_free_ char *id = url_escape(args->operands[0], false);
	char path[256];
	(void)snprintf(path, sizeof(path), "/v1/sessions/%s", id ? id : "");
	struct answer answer;
	int status = ctl_call(ctl, "GET", path, NULL, &answer);
	if (status == 0 && ctl->json) {
		print_json(answer.json);
	} else if (status == 0) {
		const char *key = NULL;
		json_t *value = NULL;
		json_object_foreach(answer.json, key, value) {
			show_value(key, value);
		}
	}
	answer_done(&answer);
	return status;
}

int cmd_set(struct ctl *ctl, const struct args *args) {
	json_t *patch = json_object();
	struct cua_err err;
	for (size_t i = 1; i < args->operand_count; i++) {
		if (set_dotted(patch, args->operands[i], &err) < 0) {
			json_decref(patch);
			return ctl_usage(ctl, "%s", err.message);
		}
	}
	_cleanup_free_ char *id = url_escape(args->operands[0], false);
	char path[256];
	(void)snprintf(path, sizeof(path), "/v1/sessions/%s", id ? id : "");
	struct answer answer;
	int status = ctl_call(ctl, "PATCH", path, patch, &answer);
	if (status == 0 && ctl->json) {
		print_json(answer.json);
	}
	answer_done(&answer);
	return status;
}

/* ---------------------------------------------------------------- rm and open */

struct removal {
	struct ctl *ctl;
	const char *name;
	int *status;
};

static void on_removed(void *data, const struct client_reply *reply) {
	struct removal *removal = data;
	if (reply->err.code != CUA_OK) {
		int status = ctl_fail(removal->ctl, &reply->err);
		*removal->status = *removal->status == 0 ? status : EXIT_FAILED;
	} else if (!removal->ctl->json) {
		(void)printf("%s\n", removal->name);
	}
}

static int remove_all(struct ctl *ctl, const char *const *names, size_t count) {
	int status = EXIT_DONE;
	struct removal *removals = calloc(count + 1, sizeof(*removals));
	struct client *client = ctl_client(ctl, &status);
	for (size_t i = 0; client && removals && i < count; i++) {
		removals[i] = (struct removal){.ctl = ctl, .name = names[i], .status = &status};
		_cleanup_free_ char *id = url_escape(names[i], false);
		char path[256];
		(void)snprintf(path, sizeof(path), "/v1/sessions/%s", id ? id : "");
		struct client_request request = {
			.method = "DELETE", .path = path, .done = on_removed, .data = &removals[i]};
		struct cua_err err;
		if (client_start(client, &request, &err) < 0) {
			status = ctl_fail(ctl, &err);
		}
	}
	if (client) {
		client_run(client);
		(void)client_free(client);
	}
	free(removals);
	return status;
}

int cmd_rm(struct ctl *ctl, const struct args *args) {
	bool all = args_has(args, "all");
	if (all == (args->operand_count > 0)) {
		return ctl_usage(ctl, "name sessions, or give --all");
	}
	if (!all) {
		return remove_all(ctl, args->operands, args->operand_count);
	}
	int status = 0;
	json_t *sessions = fetch_sessions(ctl, args, &status);
	if (!sessions) {
		return status;
	}
	size_t count = json_array_size(sessions);
	const char **ids = calloc(count + 1, sizeof(*ids));
	for (size_t i = 0; ids && i < count; i++) {
		ids[i] = json_text(json_array_get(sessions, i), "id");
	}
	status = ids && count > 0 ? remove_all(ctl, ids, count) : EXIT_DONE;
	free((void *)ids);
	json_decref(sessions);
	return status;
}

int cmd_open(struct ctl *ctl, const struct args *args) {
	json_t *body = json_object();
	if (args->operand_count > 0) {
		(void)json_object_set_new(body, "session", json_string(args->operands[0]));
	}
	struct answer answer;
	int status = ctl_call(ctl, "POST", "/v1/tickets", body, &answer);
	if (status == 0 && ctl->json) {
		print_json(answer.json);
	} else if (status == 0) {
		(void)printf("%s\n", json_text(answer.json, "url"));
	}
	answer_done(&answer);
	return status;
}
