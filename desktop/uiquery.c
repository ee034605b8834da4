/* Matching; see the header. glibc's matcher runs in time that grows with pattern and text, and its
 * compiler copies what is repeated: hence the bound on repetitions. */
#include "desktop/uiquery.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>

#include "cua/ident.h"
#include "cua/limits.h"
#include "cua/ui.h"

/* What all {m,n} of a pattern may multiply to. */
#define REPEAT_MAX 64
/* Bytes of a text that a pattern is tried on. */
#define TEXT_MAX 512

enum match { MATCH_SUBSTRING, MATCH_EXACT, MATCH_REGEX };

struct ui_query {
	int role; /* -1: any */
	uint64_t states; /* all of them */
	bool by_name;
	bool by_value;
	enum match match;
	char text[CUA_UI_NAME_MAX + 1];
	bool compiled;
	regex_t regex;
};

/* ---------------------------------------------------------------- patterns */

/* Behind a bracket expression's opening [. */
static const char *skip_bracket(const char *p) {
	p += *p == '^';
	p += *p == ']';
	while (*p && *p != ']') {
		char kind = p[1];
		if (*p == '[' && (kind == ':' || kind == '.' || kind == '=')) {
			const char end[] = {kind, ']', '\0'};
			const char *close = strstr(p + 2, end);
			p = close ? close + 1 : p;
		}
		p++;
	}
	return *p ? p + 1 : p;
}

/* The largest number up to the closing brace, 1 for none. */
static unsigned long repeats(const char *p) {
	unsigned long most = 1;
	while (*p && *p != '}') {
		char *end = NULL;
		unsigned long number = isdigit((unsigned char)*p) ? strtoul(p, &end, 10) : 0;
		most = number > most ? number : most;
		p = end ? end : p + 1;
	}
	return most;
}

static int check_pattern(const char *p, struct cua_err *err) {
	unsigned long product = 1;
	size_t len = strlen(p);
	if (len > CUA_UI_PATTERN_MAX) {
		return cua_err_about(err, CUA_INVALID, "name",
			"a regular expression has at most %d bytes", CUA_UI_PATTERN_MAX);
	}
	while (*p) {
		if (*p == '\\' && isdigit((unsigned char)p[1])) {
			return cua_err_about(err, CUA_INVALID, "name",
				"a regular expression may not refer back (\\%c)", p[1]);
		}
		if (*p == '{') {
			unsigned long most = repeats(p + 1);
			product *= most > REPEAT_MAX ? REPEAT_MAX + 1 : most;
		}
		if (product > REPEAT_MAX) {
			return cua_err_about(err, CUA_INVALID, "name",
				"the repetitions {…} of a regular expression multiply to more "
				"than %d",
				REPEAT_MAX);
		}
		if (*p == '[') {
			p = skip_bracket(p + 1);
		} else {
			p += *p == '\\' && p[1] ? 2 : 1;
		}
	}
	return 0;
}

static int compile(struct ui_query *query, struct cua_err *err) {
	int r = check_pattern(query->text, err);
	if (r < 0) {
		return r;
	}
	int failed = regcomp(&query->regex, query->text, REG_EXTENDED | REG_NOSUB);
	if (failed) {
		char why[128];
		(void)regerror(failed, &query->regex, why, sizeof(why));
		return cua_err_about(err, CUA_INVALID, "name",
			"%.200s is no regular expression: %s", query->text, why);
	}
	query->compiled = true;
	return 0;
}

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
	return r == 0 && query->by_name && query->match == MATCH_REGEX ? compile(query, err) : r;
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
	if (query && query->compiled) {
		regfree(&query->regex);
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

static bool text_matches(const struct ui_query *query, const char *text) {
	char cut[TEXT_MAX + 1];
	if (!text) {
		return false;
	}
	switch (query->match) {
	case MATCH_EXACT:
		return strcmp(text, query->text) == 0;
	case MATCH_REGEX:
		(void)snprintf(cut, sizeof(cut), "%s", text);
		return regexec(&query->regex, cut, 0, NULL, 0) == 0;
	case MATCH_SUBSTRING:
		break;
	}
	return strcasestr(text, query->text) != NULL;
}

bool ui_query_matches(const struct ui_query *query, const struct ui_subject *subject) {
	if ((query->role >= 0 && subject->role != (uint32_t)query->role) ||
		(subject->states & query->states) != query->states) {
		return false;
	}
	return !query->by_name || text_matches(query, subject->name) ||
	       (query->by_value && text_matches(query, subject->value));
}
