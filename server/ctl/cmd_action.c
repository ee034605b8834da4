/* screenshot, do, run: actions over HTTP. */
#include "server/ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cua/fdio.h"

/* ---------------------------------------------------------------- screenshot */

static const char *format_of(const struct args *args, const char *file) {
	const char *given = args_get(args, "format");
	const char *dot = file ? strrchr(file, '.') : NULL;
	if (given) {
		return given;
	}
	if (dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0)) {
		return "jpeg";
	}
	return dot && strcasecmp(dot, ".webp") == 0 ? "webp" : "png";
}

static int add_query(char **query, const char *key, const char *value) {
	if (!value) {
		return 0;
	}
	_cleanup_free_ char *old = *query;
	_cleanup_free_ char *escaped = url_escape(value, false);
	return asprintf(query, "%s&%s=%s", old, key, escaped ? escaped : "") < 0 ? -1 : 0;
}

static char *screenshot_path(const struct args *args, const char *format) {
	_cleanup_free_ char *id = url_escape(args->operands[0], false);
	char *path = NULL;
	if (asprintf(&path, "/v1/sessions/%s/screenshot?format=%s", id ? id : "", format) < 0) {
		return NULL;
	}
	const char *scale = args_get(args, "scale");
	bool fit = scale && strchr(scale, 'x');
	if (add_query(&path, "quality", args_get(args, "quality")) < 0 ||
		add_query(&path, "region", args_get(args, "region")) < 0 ||
		add_query(&path, fit ? "max" : "scale", scale) < 0 ||
		add_query(&path, "cursor", args_has(args, "cursor") ? "true" : NULL) < 0 ||
		add_query(&path, "settle", args_get(args, "settle")) < 0) {
		return NULL;
	}
	return path;
}

static int save_picture(struct ctl *ctl, const char *file, const struct answer *answer) {
	struct cua_err err;
	if (strcmp(file, "-") == 0) {
		int r = fd_write_all(STDOUT_FILENO, answer->body, answer->len);
		return r < 0 ? (cua_err_errno(&err, r, "cannot write the picture"),
				       ctl_fail(ctl, &err))
			     : 0;
	}
	_cleanup_fd_ int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : fd_write_all(fd, answer->body, answer->len);
	if (r < 0) {
		(void)cua_err_errno(&err, r, "cannot write %s", file);
		return ctl_fail(ctl, &err);
	}
	if (ctl->json) {
		json_t *json =
			json_pack("{s:s,s:I}", "file", file, "bytes", (json_int_t)answer->len);
		print_json(json);
		json_decref(json);
	} else {
		(void)printf("%s\n", file);
	}
	return EXIT_DONE;
}

int cmd_screenshot(struct ctl *ctl, const struct args *args) {
	const char *file = args_get(args, "output");
	const char *format = format_of(args, file);
	char fallback[96];
	if (!file && !isatty(STDOUT_FILENO)) {
		file = "-";
	} else if (!file) {
		(void)snprintf(fallback, sizeof(fallback), "%.64s.%s", args->operands[0],
			strcmp(format, "jpeg") == 0 ? "jpg" : format);
		file = fallback;
	}
	_cleanup_free_ char *path = screenshot_path(args, format);
	if (!path) {
		return EXIT_FAILED;
	}
	struct answer answer;
	int status = ctl_call(ctl, "GET", path, NULL, &answer);
	if (status == 0) {
		status = save_picture(ctl, file, &answer);
	}
	answer_done(&answer);
	return status;
}

/* ---------------------------------------------------------------- do and run */

static int perform(struct ctl *ctl, const char *session, json_t *action, bool quiet) {
	_cleanup_free_ char *id = url_escape(session, false);
	char path[256];
	(void)snprintf(path, sizeof(path), "/v1/sessions/%s/actions", id ? id : "");
	struct answer answer;
	int status = ctl_call(ctl, "POST", path, action, &answer);
	if (status == 0 && !quiet) {
		print_json(answer.json);
	}
	answer_done(&answer);
	return status;
}

/* K=V with V as JSON where it parses as JSON. */
static int set_param(json_t *action, const char *assignment) {
	const char *equals = strchr(assignment, '=');
	if (!equals || equals == assignment) {
		return -1;
	}
	_cleanup_free_ char *key = strndup(assignment, (size_t)(equals - assignment));
	json_t *value = json_loads(equals + 1, JSON_DECODE_ANY, NULL);
	if (!value) {
		value = json_string(equals + 1);
	}
	return key && value ? json_object_set_new(action, key, value) : -1;
}

int cmd_do(struct ctl *ctl, const struct args *args) {
	json_t *action = json_pack("{s:s}", "action", args->operands[1]);
	for (size_t i = 2; i < args->operand_count; i++) {
		if (set_param(action, args->operands[i]) < 0) {
			json_decref(action);
			return ctl_usage(ctl, "\"%s\" is not KEY=VALUE", args->operands[i]);
		}
	}
	return perform(ctl, args->operands[0], action, false);
}

static int run_line(struct ctl *ctl, const char *session, const char *line, size_t number) {
	json_error_t error;
	json_t *action = json_loads(line, 0, &error);
	if (!json_is_object(action)) {
		json_decref(action);
		(void)fprintf(
			stderr, "cuactl: line %zu is not a JSON object: %s\n", number, error.text);
		return EXIT_FAILED;
	}
	int status = perform(ctl, session, action, false);
	if (status != 0) {
		(void)fprintf(stderr, "cuactl: stopped at line %zu\n", number);
	}
	return status;
}

int cmd_run(struct ctl *ctl, const struct args *args) {
	const char *name = args->operands[1];
	FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");
	if (!file) {
		struct cua_err err;
		(void)cua_err_errno(&err, errno, "cannot read %s", name);
		return ctl_fail(ctl, &err);
	}
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int status = EXIT_DONE;
	for (size_t number = 1; status == 0 && getline(&line, &size, file) >= 0; number++) {
		if (line[strspn(line, " \t\r\n")] != '\0') {
			status = run_line(ctl, args->operands[0], line, number);
		}
	}
	if (file != stdin) {
		(void)fclose(file);
	}
	return status;
}
