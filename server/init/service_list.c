/* Parsing of the services file: bounded, in place, and lenient line by line, since a desktop with
 * one service missing can be mended from inside and a container that does not start cannot. */
#include "server/init/service_list.h"

#include <stdlib.h>
#include <string.h>

#include "cua/ident.h"

static int parse_flags(char *text, struct service_def *def, struct cua_err *err) {
	if (strcmp(text, "-") == 0) {
		return 0;
	}
	char *next = text;
	while (next) {
		const char *flag = strsep(&next, ",");
		if (strcmp(flag, "once") == 0) {
			def->once = true;
		} else if (strcmp(flag, "screen") == 0) {
			def->screen = true;
		} else if (strncmp(flag, "wait=/", 6) == 0) {
			def->wait = flag + 5;
		} else {
			return cua_err_set(err, CUA_INVALID, "unknown flag \"%.64s\"", flag);
		}
	}
	return 0;
}

static int parse_argv(char *next, struct service_def *def, struct cua_err *err) {
	size_t argc = 0;
	while (next) {
		if (argc == CUA_SERVICE_ARGS) {
			return cua_err_set(
				err, CUA_INVALID, "more than %d arguments", CUA_SERVICE_ARGS);
		}
		def->argv[argc++] = strsep(&next, "\t");
	}
	def->argv[argc] = NULL;
	if (argc == 0 || def->argv[0][0] == '\0') {
		return cua_err_set(err, CUA_INVALID, "no command");
	}
	return 0;
}

static int parse_line(char *line, struct service_def *ret, struct cua_err *err) {
	char *next = line;
	*ret = (struct service_def){.name = strsep(&next, "\t")};
	if (!cua_name_ok(ret->name)) {
		return cua_err_set(err, CUA_INVALID, "\"%.64s\" is no valid name", ret->name);
	}
	ret->user = strsep(&next, "\t");
	if (!ret->user || !cua_user_ok(ret->user)) {
		return cua_err_set(err, CUA_INVALID, "%s: no valid user", ret->name);
	}
	char *flags = strsep(&next, "\t");
	if (!flags) {
		return cua_err_set(err, CUA_INVALID, "%s: no flags", ret->name);
	}
	int r = parse_flags(flags, ret, err);
	if (r == 0) {
		r = parse_argv(next, ret, err);
	}
	return r < 0 ? cua_err_prefix(err, "%s", ret->name) : 0;
}

static int take_line(char *line, size_t number, struct service_list *list, struct cua_err *err) {
	if (line[0] == '\0' || line[0] == '#') {
		return 0;
	}
	if (list->count == CUA_SERVICES_MAX) {
		return cua_err_set(err, CUA_INVALID, "line %zu: more than %d services", number,
			CUA_SERVICES_MAX);
	}
	int r = parse_line(line, &list->def[list->count], err);
	if (r < 0) {
		return cua_err_prefix(err, "line %zu", number);
	}
	list->count++;
	return 0;
}

int service_list_parse(char *text, struct service_list *ret, struct cua_err *err) {
	memset(ret, 0, sizeof(*ret));
	ret->text_ = text;
	int bad = 0;
	char *next = text;
	for (size_t number = 1; next; number++) {
		struct cua_err problem;
		if (take_line(strsep(&next, "\n"), number, ret, &problem) < 0) {
			if (bad == 0 && err) {
				*err = problem;
			}
			bad++;
		}
	}
	return bad;
}

void service_list_done(struct service_list *list) {
	free(list->text_);
	list->text_ = NULL;
	list->count = 0;
}
