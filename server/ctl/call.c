/* One request at a time, and how errors are told. */
#include "server/ctl/ctl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void answer_done(struct answer *answer) {
	free(answer->body);
	json_decref(answer->json);
	*answer = (struct answer){0};
}

/* What to do about an error, where we know it. */
static const char *remedy(const struct ctl *ctl, const struct cua_err *err) {
	if (strncmp(err->message, "cannot reach", 12) == 0) {
		return ctl->where.host ? "is the URL right, and does the server run?"
				       : "does the service run, and are you root or in the group "
					 "cuad? See: "
					 "cuactl doctor";
	}
	static const struct {
		const char *begins;
		const char *remedy;
	} known[] = {
		{"there is no session", "see: cuactl list"},
		{"there is no template",
			"see: cuactl template list; from a recipe: cuactl template build NAME"},
		{"there is no action", "see: cuactl help do"},
	};
	for (size_t i = 0; i < CUA_COUNT(known); i++) {
		if (strncmp(err->message, known[i].begins, strlen(known[i].begins)) == 0) {
			return known[i].remedy;
		}
	}
	if (err->code == CUA_UNAUTHORIZED) {
		return "give a token: CUAD_TOKEN=…; one is made by: cuactl token create --role "
		       "operator";
	}
	return NULL;
}

int ctl_fail(const struct ctl *ctl, const struct cua_err *err) {
	if (ctl->json) {
		json_t *json = json_pack("{s:{s:s,s:s,s:s}}", "error", "kind",
			cua_code_name(err->code), "message", err->message, "subject", err->subject);
		print_json(json);
		json_decref(json);
	}
	const char *help = remedy(ctl, err);
	(void)fprintf(stderr, "cuactl: %s%s%s%s\n", err->message, help ? " (" : "",
		help ? help : "", help ? ")" : "");
	if (strncmp(err->message, "cannot reach", 12) == 0) {
		return EXIT_UNREACHABLE;
	}
	return cua_code_exit(err->code);
}

int ctl_usage(const struct ctl *ctl, const char *fmt, ...) {
	va_list ap;
	va_start(ap, fmt);
	(void)fprintf(stderr, "cuactl %s: ", ctl->command->name);
	(void)vfprintf(stderr, fmt, ap);
	(void)fprintf(stderr, "\n\n");
	va_end(ap);
	help_command(stderr, ctl->command);
	return EXIT_USAGE;
}

struct client *ctl_client(struct ctl *ctl, int *ret_status) {
	struct cua_err err;
	struct client *client = client_new(&ctl->where, &err);
	if (!client) {
		*ret_status = ctl_fail(ctl, &err);
	}
	return client;
}

static void on_done(void *data, const struct client_reply *reply) {
	struct answer *answer = data;
	answer->status = reply->status;
	answer->err = reply->err;
	answer->len = reply->len;
	answer->body = malloc(reply->len + 1);
	if (answer->body) {
		if (reply->len > 0) {
			memcpy(answer->body, reply->body, reply->len);
		}
		answer->body[reply->len] = '\0';
		answer->json = json_loadb(answer->body, reply->len, JSON_DECODE_ANY, NULL);
	}
}

int ctl_call(
	struct ctl *ctl, const char *method, const char *path, json_t *body, struct answer *ret) {
	*ret = (struct answer){0};
	int status = EXIT_FAILED;
	struct client *client = ctl_client(ctl, &status);
	_cleanup_free_ char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	json_decref(body);
	if (!client) {
		return status;
	}
	struct client_request request = {.method = method,
		.path = path,
		.body = {.data = text, .len = text ? strlen(text) : 0},
		.done = on_done,
		.data = ret};
	if (client_start(client, &request, &ret->err) == 0) {
		client_run(client);
	}
	(void)client_free(client);
	if (ret->err.code != CUA_OK) {
		return ctl_fail(ctl, &ret->err);
	}
	return EXIT_DONE;
}
