/* Matching; see the header. */
#include "desktop/uiquery.h"

#include <string.h>

#include "cua/ident.h"
#include "cua/limits.h"
#include "cua/ui.h"
#include "desktop/pattern.h"

enum match { MATCH_SUBSTRING, MATCH_EXACT, MATCH_REGEX };

struct ui_query {
	int role; /* -1: any */
	uint64_t states; /* all of them */
	bool by_name;
	bool by_value;
	enum match match;
	char text[CUA_UI_NAME_MAX + 1];
	struct pattern *pattern; /* NULL unless MATCH_REGEX */
	bool slow; /* the pattern took too long */
};

/* ---------------------------------------------------------------- queries */

static int read_states(struct ui_query *query, const cua_Args *args, struct cua_err *err) {
	for (size_t i = 0; i < args->states_count; i++) {
		int state = cua_ui_state_find(args->states[i]);
		if (state < 0) {
			return cua_err_about(err, CUA_INVALID, "states",
				"there is no state %.31s; some are showing, focused, checked, "
				"selected, expanded, editable, sensitive",
				args->states[i]);
		}
		query->states |= CUA_UI_BIT(state);
	}
	return 0;
}

static int read_args(struct ui_query *query, const cua_Args *args, struct cua_err *err) {
	if (args->has_role) {
		query->role = cua_ui_role_find(args->role);
		if (query->role < 0) {
			return cua_err_about(err, CUA_INVALID, "role",
				"there is no role %.47s; some are push button, check box, entry, "
				"text, link, menu item, combo box, list item, frame",
				args->role);
		}
	}
	query->by_name = args->has_node_name;
	query->match = args->has_match ? (enum match)args->match : MATCH_SUBSTRING;
	(void)snprintf(
		query->text, sizeof(query->text), "%s", args->has_node_name ? args->node_name : "");
	if (!cua_utf8_ok(query->text, strlen(query->text))) {
		return cua_err_about(err, CUA_INVALID, "name", "name is not UTF-8");
	}
	int r = read_states(query, args, err);
	if (r == 0 && query->by_name && query->match == MATCH_REGEX) {
		query->pattern = pattern_new(query->text, err);
		r = query->pattern ? 0 : -(int)err->code;
	}
	return r;
}

static struct ui_query *query_alloc(struct cua_err *err) {
	struct ui_query *query = calloc(1, sizeof(*query));
	if (!query) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a query");
		return NULL;
	}
	query->role = -1;
	return query;
}

struct ui_query *ui_query_new(const cua_Args *args, struct cua_err *err) {
	struct ui_query *query = query_alloc(err);
	return query && read_args(query, args, err) < 0 ? ui_query_free(query) : query;
}

struct ui_query *ui_query_text(const char *text, struct cua_err *err) {
	if (strlen(text) > CUA_UI_NAME_MAX) {
		(void)cua_err_about(err, CUA_TOO_LARGE, "text",
			"a text to be looked for has at most %d bytes", CUA_UI_NAME_MAX);
		return NULL;
	}
	struct ui_query *query = query_alloc(err);
	if (query) {
		query->by_name = query->by_value = true;
		(void)snprintf(query->text, sizeof(query->text), "%s", text);
	}
	return query;
}

struct ui_query *ui_query_free(struct ui_query *query) {
	if (query) {
		query->pattern = pattern_free(query->pattern);
	}
	free(query);
	return NULL;
}

bool ui_query_role(const struct ui_query *query) {
	return query->role >= 0;
}

bool ui_query_name(const struct ui_query *query) {
	return query->by_name;
}

bool ui_query_values(const struct ui_query *query) {
	return query->by_value;
}

bool ui_query_slow(const struct ui_query *query) {
	return query->slow;
}

static bool pattern_fits(struct ui_query *query, const char *text) {
	int r = pattern_matches(query->pattern, text);
	query->slow = query->slow || r < 0;
	return r > 0;
}

static bool text_matches(struct ui_query *query, const char *text) {
	if (!text) {
		return false;
	}
	switch (query->match) {
	case MATCH_EXACT:
		return strcmp(text, query->text) == 0;
	case MATCH_REGEX:
		return pattern_fits(query, text);
	case MATCH_SUBSTRING:
		break;
	}
	return strcasestr(text, query->text) != NULL;
}

bool ui_query_matches(struct ui_query *query, const struct ui_subject *subject) {
	if ((query->role >= 0 && subject->role != (uint32_t)query->role) ||
		(subject->states & query->states) != query->states) {
		return false;
	}
	return !query->by_name || text_matches(query, subject->name) ||
	       (query->by_value && text_matches(query, subject->value));
}
