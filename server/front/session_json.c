/* A session as clients see it. */
#include <stdio.h>
#include <time.h>

#include "server/front/config.h"
#include "server/front/sessions_priv.h"

static const char *const states[] = {
	[cua_State_STATE_STARTING] = "starting",
	[cua_State_STATE_RUNNING] = "running",
	[cua_State_STATE_PAUSED] = "paused",
	[cua_State_STATE_STOPPING] = "stopping",
	[cua_State_STATE_STOPPED] = "stopped",
	[cua_State_STATE_FAILED] = "failed",
	[cua_State_STATE_GONE] = "gone",
};

const char *session_state_name(cua_State state) {
	return (unsigned)state < CUA_COUNT(states) ? states[state] : "failed";
}

/* ISO 8601 in UTC with milliseconds; null for 0. */
static json_t *time_json(uint64_t ms) {
	if (ms == 0) {
		return json_null();
	}
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char text[32];
	char whole[48];
	if (!gmtime_r(&seconds, &tm) ||
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
		return json_null();
	}
	(void)snprintf(whole, sizeof(whole), "%s.%03uZ", text, (unsigned)(ms % 1000));
	return json_string(whole);
}

static json_t *limits_json(const cua_Limits *limits) {
	return json_pack("{s:f, s:I, s:I, s:I}", "cpus", limits->cpu_milli / 1000.0, "memory",
		(json_int_t)limits->memory, "pids", (json_int_t)limits->pids, "disk",
		(json_int_t)limits->disk);
}

static json_t *usage_json(const cua_Usage *usage) {
	return json_pack("{s:I, s:I, s:I, s:I}", "cpu_ms", (json_int_t)usage->cpu_ms, "memory",
		(json_int_t)usage->memory, "disk", (json_int_t)usage->disk, "pids",
		(json_int_t)usage->pids);
}

static json_t *screen_json(const cua_Screen *screen) {
	return json_pack("{s:I, s:I, s:I}", "width", (json_int_t)screen->width, "height",
		(json_int_t)screen->height, "dpi", (json_int_t)screen->dpi);
}

static json_t *urls_json(const struct session *session) {
	char http[CONFIG_URL_SIZE];
	config_base_url(session->all->front->config, http);
	/* "http" becomes "ws", "https" becomes "wss" */
	return json_pack("{s:o, s:o, s:o, s:o}", "api",
		json_sprintf("%s/v1/sessions/%s", http, session->told.id), "view",
		json_sprintf("%s/v1/sessions/%s/screenshot", http, session->told.id), "rpc",
		json_sprintf("ws%s/v1/sessions/%s/rpc", http + 4, session->told.id), "pty",
		json_sprintf("ws%s/v1/sessions/%s/pty", http + 4, session->told.id));
}

/* How long each part of the start took, in milliseconds. */
static json_t *phases_json(const cua_SessionState *told) {
	json_t *phases = json_object();
	for (size_t i = 0; i < told->phases_count; i++) {
		(void)json_object_set_new(
			phases, told->phases[i].name, json_real(told->phases[i].us / 1000.0));
	}
	return phases;
}

json_t *session_json(const struct session *session) {
	const cua_SessionState *told = &session->told;
	const struct record *record = session->record;
	json_t *json = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:O, s:s, s:o, s:[], s:s, s:o, s:o, s:o}",
		"id", told->id, "name", told->name, "title", record->title, "state",
		session_state_name(told->state), "template", told->template, "screen",
		screen_json(&told->screen), "created", time_json(told->created_ms), "expires",
		time_json(record->expires_ms), "labels", record->labels, "owner", record->owner,
		"limits", limits_json(&told->limits), "gpu", "network",
		told->network == cua_Network_NETWORK_NONE ? "none" : "open", "usage",
		usage_json(&session->usage), "urls", urls_json(session), "phases",
		phases_json(told));
	if (json && told->has_reason && told->reason[0]) {
		(void)json_object_set_new(json, "reason", json_string(told->reason));
	}
	if (json && told->has_address && told->address[0]) {
		(void)json_object_set_new(json, "address", json_string(told->address));
	}
	return json;
}
