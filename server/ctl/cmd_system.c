/* Templates, tokens, completion, version, help. */
#include "server/ctl/ctl.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- templates */

static const json_t *members(const json_t *json, const char *key) {
	return json_is_array(json) ? json : json_object_get(json, key);
}

int cmd_template_list(struct ctl *ctl, const struct args *args) {
	(void)args;
	enum { COLUMNS = 4 };
	static const char *const head[COLUMNS] = {"NAME", "SIZE", "AGE", "DESCRIPTION"};
	struct answer answer;
	int status = ctl_call(ctl, "GET", "/v1/templates", NULL, &answer);
	const json_t *list = members(answer.json, "templates");
	size_t rows = json_array_size(list);
	char **cells = calloc(rows * COLUMNS + 1, sizeof(*cells));
	for (size_t i = 0; cells && status == 0 && i < rows; i++) {
		const json_t *t = json_array_get(list, i);
		char size[32];
		char age[32];
		print_size(json_number_value(json_object_get(t, "size")), size, sizeof(size));
		print_age(json_text(t, "created"), age, sizeof(age));
		cells[i * COLUMNS] = strdup(json_text(t, "name"));
		cells[i * COLUMNS + 1] = strdup(size);
		cells[i * COLUMNS + 2] = strdup(age);
		cells[i * COLUMNS + 3] = strdup(json_text(t, "description"));
	}
	if (status == 0 && ctl->json) {
		print_json(list);
	} else if (status == 0 && cells) {
		print_table(head, COLUMNS, cells, rows);
	}
	for (size_t i = 0; cells && i < rows * COLUMNS; i++) {
		free(cells[i]);
	}
	free(cells);
	answer_done(&answer);
	return status;
}

static char *template_path(const char *name) {
	_cleanup_free_ char *escaped = url_escape(name, false);
	char *path = NULL;
	return asprintf(&path, "/v1/templates/%s", escaped ? escaped : "") < 0 ? NULL : path;
}

int cmd_template_show(struct ctl *ctl, const struct args *args) {
	_cleanup_free_ char *path = template_path(args->operands[0]);
	struct answer answer;
	int status = ctl_call(ctl, "GET", path ? path : "", NULL, &answer);
	if (status == 0 && ctl->json) {
		print_json(answer.json);
	} else if (status == 0) {
		(void)json_dumpf(answer.json, stdout, JSON_INDENT(2));
		(void)fputc('\n', stdout);
	}
	answer_done(&answer);
	return status;
}

/* The build's progress comes as one JSON object a line. */
struct build {
	struct ctl *ctl;
	char line[4096];
	size_t len;
	int status;
};

static void build_line(struct build *build) {
	json_t *json = json_loadb(build->line, build->len, 0, NULL);
	const json_t *error = json_object_get(json, "error");
	const char *progress = json_string_value(json_object_get(json, "progress"));
	if (build->ctl->json && json) {
		print_json(json);
	} else if (progress) {
		(void)printf("%s\n", progress);
		(void)fflush(stdout);
	}
	if (error) {
		struct cua_err err;
		(void)cua_err_set(&err, cua_code_from_name(json_text(error, "kind")), "%s",
			json_text(error, "message"));
		build->status = ctl_fail(build->ctl, &err);
	}
	json_decref(json);
}

static int on_build_bytes(void *data, struct cua_span bytes) {
	struct build *build = data;
	const char *p = bytes.data;
	for (size_t i = 0; i < bytes.len; i++) {
		if (p[i] == '\n') {
			build_line(build);
			build->len = 0;
		} else if (build->len < sizeof(build->line)) {
			build->line[build->len++] = p[i];
		}
	}
	return 0;
}

static void on_build_done(void *data, const struct client_reply *reply) {
	struct build *build = data;
	if (reply->err.code != CUA_OK) {
		build->status = ctl_fail(build->ctl, &reply->err);
	} else if (build->len > 0) {
		build_line(build);
	}
}

int cmd_template_build(struct ctl *ctl, const struct args *args) {
	struct build build = {.ctl = ctl};
	struct client *client = ctl_client(ctl, &build.status);
	json_t *body = json_pack(
		"{s:s,s:b}", "recipe", args->operands[0], "force", args_has(args, "force"));
	_cleanup_free_ char *text = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	if (!client || !text) {
		return build.status;
	}
	struct client_request request = {.method = "POST",
		.path = "/v1/templates",
		.body = {.data = text, .len = strlen(text)},
		.sink = on_build_bytes,
		.done = on_build_done,
		.data = &build};
	struct cua_err err;
	if (client_start(client, &request, &err) < 0) {
		build.status = ctl_fail(ctl, &err);
	} else {
		client_run(client);
	}
	(void)client_free(client);
	return build.status;
}

int cmd_template_rm(struct ctl *ctl, const struct args *args) {
	_cleanup_free_ char *path = template_path(args->operands[0]);
	struct answer answer;
	int status = ctl_call(ctl, "DELETE", path ? path : "", NULL, &answer);
	answer_done(&answer);
	return status;
}

/* ---------------------------------------------------------------- tokens */

int cmd_token_create(struct ctl *ctl, const struct args *args) {
	const char *role = args_get(args, "role");
	struct cua_err err;
	long ttl = 0;
	if (!role) {
		return ctl_usage(ctl, "--role is missing");
	}
	if (args_number(args, "ttl", 0, 10L * 366 * 86400, &ttl, &err) < 0) {
		return ctl_usage(ctl, "%s", err.message);
	}
	json_t *body = json_pack("{s:s}", "role", role);
	const char *session = args_get(args, "session");
	const char *label = args_get(args, "label");
	if (session) {
		(void)json_object_set_new(body, "session", json_string(session));
	}
	if (label) {
		(void)json_object_set_new(body, "label", json_string(label));
	}
	if (ttl > 0) {
		(void)json_object_set_new(body, "ttl", json_integer(ttl));
	}
	struct answer answer;
	int status = ctl_call(ctl, "POST", "/v1/tokens", body, &answer);
	if (status == 0 && ctl->json) {
		print_json(answer.json);
	} else if (status == 0) {
		(void)printf("%s\n", json_text(answer.json, "token"));
	}
	if (answer.body) {
		explicit_bzero(answer.body, answer.len);
	}
	answer_done(&answer);
	return status;
}

int cmd_token_list(struct ctl *ctl, const struct args *args) {
	(void)args;
	enum { COLUMNS = 5 };
	static const char *const head[COLUMNS] = {"ID", "ROLE", "SESSION", "EXPIRES", "LABEL"};
	static const char *const keys[COLUMNS] = {"id", "role", "session", "expires", "label"};
	struct answer answer;
	int status = ctl_call(ctl, "GET", "/v1/tokens", NULL, &answer);
	const json_t *list = members(answer.json, "tokens");
	size_t rows = json_array_size(list);
	const char **cells = calloc(rows * COLUMNS + 1, sizeof(*cells));
	for (size_t i = 0; cells && status == 0 && i < rows * COLUMNS; i++) {
		const char *text = json_text(json_array_get(list, i / COLUMNS), keys[i % COLUMNS]);
		cells[i] = text[0] ? text : "-";
	}
	if (status == 0 && ctl->json) {
		print_json(list);
	} else if (status == 0 && cells) {
		print_table(head, COLUMNS, (char *const *)cells, rows);
	}
	free((void *)cells);
	answer_done(&answer);
	return status;
}

int cmd_token_revoke(struct ctl *ctl, const struct args *args) {
	_cleanup_free_ char *id = url_escape(args->operands[0], false);
	char path[256];
	(void)snprintf(path, sizeof(path), "/v1/tokens/%s", id ? id : "");
	struct answer answer;
	int status = ctl_call(ctl, "DELETE", path, NULL, &answer);
	answer_done(&answer);
	return status;
}

/* ---------------------------------------------------------------- the rest */

int cmd_completion(struct ctl *ctl, const struct args *args) {
	return completion_script(stdout, args->operands[0])
		       ? EXIT_DONE
		       : ctl_usage(ctl, "there is no completion for \"%s\"", args->operands[0]);
}

int cmd_version(struct ctl *ctl, const struct args *args) {
	(void)args;
	if (ctl->json) {
		json_t *json = json_pack("{s:s}", "version", CUAD_VERSION);
		print_json(json);
		json_decref(json);
	} else {
		(void)printf("cuactl %s\n", CUAD_VERSION);
	}
	return EXIT_DONE;
}

int cmd_help(struct ctl *ctl, const struct args *args) {
	if (args->operand_count == 0) {
		help_overview(stdout);
		return EXIT_DONE;
	}
	if (strcmp(args->operands[0], "manual") == 0) {
		help_manual(stdout);
		return EXIT_DONE;
	}
	const char *word = args->operands[0];
	const char *sub = args->operand_count > 1 ? args->operands[1] : NULL;
	if (help_words(stdout, word, sub)) {
		return EXIT_DONE;
	}
	if (sub && strcmp(word, "do") == 0) {
		return help_action(stdout, sub)
			       ? EXIT_DONE
			       : ctl_usage(ctl, "there is no action \"%s\"; see: cuactl help do",
					 sub);
	}
	return ctl_usage(
		ctl, "there is no command \"%s%s%s\"", word, sub ? " " : "", sub ? sub : "");
}
