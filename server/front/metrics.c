/* GET /metrics: numbers in the text form of Prometheus. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/front/api.h"
#include "server/front/front.h"
#include "server/front/lws.h"
#include "server/front/sessions.h"

static void write_sessions(FILE *out, struct sessions *sessions) {
	size_t by_state[_cua_State_ARRAYSIZE] = {0};
	for (size_t i = 0; i < sessions_count(sessions); i++) {
		unsigned state = (unsigned)sessions_at(sessions, i)->told.state;
		by_state[state < _cua_State_ARRAYSIZE ? state : cua_State_STATE_FAILED]++;
	}
	(void)fputs("# TYPE cuad_sessions gauge\n", out);
	for (unsigned i = 0; i < cua_State_STATE_GONE; i++) {
		(void)fprintf(out, "cuad_sessions{state=\"%s\"} %zu\n",
			session_state_name((cua_State)i), by_state[i]);
	}
}

static void write_actions(FILE *out, const char *name, const uint64_t *values) {
	(void)fprintf(out, "# TYPE %s counter\n", name);
	for (unsigned i = 0; i < CUA_ACTION_MAX_; i++) {
		(void)fprintf(out, "%s{action=\"%s\"} %" PRIu64 "\n", name, cua_action_get(i)->name,
			values[i]);
	}
}

static void write_all(FILE *out, struct front *front) {
	const struct counters *counters = sessions_counters(front->sessions);
	write_sessions(out, front->sessions);
	write_actions(out, "cuad_actions_total", counters->actions);
	write_actions(out, "cuad_action_errors_total", counters->failures);
	(void)fprintf(out,
		"# TYPE cuad_commands_total counter\ncuad_commands_total %" PRIu64 "\n"
		"# TYPE cuad_sessions_created_total counter\ncuad_sessions_created_total %" PRIu64
		"\n# TYPE cuad_connections gauge\ncuad_connections %u\n",
		counters->commands, counters->created, server_connections(front->server));
}

static void get_metrics(struct request *req) {
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (out) {
		write_all(out, request_front(req));
	}
	if (!out || fclose(out) != 0) {
		struct cua_err err;
		(void)cua_err_set(&err, CUA_EXHAUSTED, "no memory for the metrics");
		request_reply_error(req, &err);
	} else {
		request_reply_bytes(req, 200, "text/plain; version=0.0.4",
			(struct cua_span){.data = text, .len = len}, NULL);
	}
	free(text);
}

static const struct route routes[] = {
	{.method = HTTP_GET,
		.pattern = "/metrics",
		.role = CUA_ROLE_OPERATOR,
		.handler = get_metrics,
		.summary = "Numbers for Prometheus."},
};

const struct route *metrics_routes(size_t *ret_count) {
	*ret_count = CUA_COUNT(routes);
	return routes;
}
