/* Accessible nodes without programs: queries, ids, order, encoding. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cua/ui.h"
#include "desktop/uinodes.h"
#include "desktop/uiquery.h"
#include "tests/lib/suite.h"

static struct cua_err err;

/* ---------------------------------------------------------------- queries */

static struct ui_query *query_of(const char *role, const char *name, unsigned match) {
	static cua_Args args;
	args = (cua_Args){.has_role = role != NULL,
		.has_node_name = name != NULL,
		.has_match = true,
		.match = match};
	(void)snprintf(args.role, sizeof(args.role), "%s", role ? role : "");
	(void)snprintf(args.node_name, sizeof(args.node_name), "%s", name ? name : "");
	return ui_query_new(&args, &err);
}

static bool matches(const char *pattern, unsigned match, const char *name) {
	struct ui_query *query = query_of(NULL, pattern, match);
	ck_assert_msg(query != NULL, "%s: %s", pattern, err.message);
	bool yes = ui_query_matches(query, &(struct ui_subject){.name = name});
	ui_query_free(query);
	return yes;
}

START_TEST(test_names_match) {
	ck_assert(matches("save", 0, "Save as"));
	ck_assert(!matches("save", 1, "Save"));
	ck_assert(matches("Save", 1, "Save"));
	ck_assert(matches("^S.*e$", 2, "Save"));
	ck_assert(!matches("^S.*e$", 2, "save"));
	ck_assert(matches("[]{][^]{9}]", 2, "{x"));
	ck_assert(matches("a{2,3}", 2, "caab"));
	ck_assert(matches("\xc3\xbc", 0,
		"Gr\xc3\xbc\xc3\x9f"
		"e"));
	ck_assert(!matches("x", 0, NULL));
}
END_TEST

START_TEST(test_roles_and_states) {
	struct ui_query *query = query_of("Push_Button", NULL, 0);
	uint32_t button = (uint32_t)cua_ui_role_find("push button");
	ck_assert(ui_query_matches(query, &(struct ui_subject){.role = button}));
	ck_assert(!ui_query_matches(query, &(struct ui_subject){.role = button + 1}));
	ui_query_free(query);
	cua_Args args = {.states_count = 2, .states = {"focused", "has-popup"}};
	query = ui_query_new(&args, &err);
	uint64_t both = CUA_UI_BIT(CUA_UI_STATE_FOCUSED) | CUA_UI_BIT(CUA_UI_STATE_HAS_POPUP);
	ck_assert(ui_query_matches(query, &(struct ui_subject){.states = both}));
	ck_assert(!ui_query_matches(
		query, &(struct ui_subject){.states = CUA_UI_BIT(CUA_UI_STATE_FOCUSED)}));
	ui_query_free(query);
	query = ui_query_text("needle", &err);
	ck_assert(ui_query_matches(query, &(struct ui_subject){.value = "a Needle here"}));
	ck_assert(!ui_query_matches(query, &(struct ui_subject){.name = "hay"}));
	ui_query_free(query);
}
END_TEST

START_TEST(test_refused_queries) {
	static const char *const patterns[] = {
		"a{100000}", "(", "[", "*", "(((a{999}){999}){999})", "\\C", "(?<name>"};
	for (size_t i = 0; i < CUA_COUNT(patterns); i++) {
		ck_assert_msg(!query_of(NULL, patterns[i], 2), "%s", patterns[i]);
		ck_assert_int_eq(err.code, CUA_INVALID);
		ck_assert_str_eq(err.subject, "name");
	}
	char long_one[CUA_UI_PATTERN_MAX + 2];
	memset(long_one, 'a', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = '\0';
	ck_assert(!query_of(NULL, long_one, 2));
	ck_assert(!query_of("pusch button", NULL, 0));
	ck_assert_str_eq(err.subject, "role");
	ck_assert(!query_of(NULL, "\xff", 0));
	cua_Args args = {.states_count = 1, .states = {"purple"}};
	ck_assert(!ui_query_new(&args, &err));
	ck_assert_str_eq(err.subject, "states");
}
END_TEST

/* Steps that double with each letter, on a text that does not let them end early. */
START_TEST(test_patterns_end) {
	char text[CUA_UI_NAME_MAX + 1];
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	static const char *const worst[] = {
		"(a|aa)+[^a]", "((a+)+)+[^a]", "(a|b)*a(a|b){60}[^ab]", ".*a.*.*.*[^a]"};
	for (size_t i = 0; i < CUA_COUNT(worst); i++) {
		struct ui_query *query = query_of(NULL, worst[i], 2);
		ck_assert_msg(query != NULL, "%s", err.message);
		ck_assert(!ui_query_slow(query));
		ck_assert(!ui_query_matches(query, &(struct ui_subject){.name = text}));
		ck_assert_msg(ui_query_slow(query), "%s", worst[i]);
		ui_query_free(query);
	}
}
END_TEST

/* ---------------------------------------------------------------- the store */

static uint32_t add(struct ui_nodes *nodes, const char *path, uint32_t parent) {
	uint32_t number = ui_nodes_add(nodes, ":1.7", path, parent);
	if (number != UI_NONE) {
		nodes->node[number].known = true;
	}
	return number;
}

START_TEST(test_order_and_cycles) {
	struct ui_nodes nodes = {.tag = "abcd"};
	uint32_t root = add(&nodes, "/r", UI_NONE);
	uint32_t a = add(&nodes, "/a", root);
	uint32_t b = add(&nodes, "/b", root);
	uint32_t aa = add(&nodes, "/aa", a);
	uint32_t bb = add(&nodes, "/bb", b);
	ck_assert_uint_eq(add(&nodes, "/r", bb), UI_NONE);
	ck_assert_uint_eq(nodes.cut, 0);
	uint32_t order[8];
	uint32_t count = 0;
	ck_assert(ui_nodes_order(&nodes, order, &count));
	ck_assert_uint_eq(count, 5);
	ck_assert_mem_eq(order, ((uint32_t[]){root, a, aa, b, bb}), 5 * sizeof(*order));
	nodes.node[a].dropped = true;
	ck_assert(ui_nodes_order(&nodes, order, &count));
	ck_assert_uint_eq(count, 3);
	ck_assert_mem_eq(order, ((uint32_t[]){root, b, bb}), 3 * sizeof(*order));
	ui_nodes_keep_below(&nodes, b);
	ck_assert(ui_nodes_order(&nodes, order, &count));
	ck_assert_uint_eq(count, 2);
	ck_assert_mem_eq(order, ((uint32_t[]){b, bb}), 2 * sizeof(*order));
	ui_nodes_done(&nodes);
}
END_TEST

START_TEST(test_ids) {
	static const char *const paths[] = {"/org/a11y/atspi/accessible/12",
		"/org/a11y/atspi/accessible/root", "/other/place", "/"};
	struct ui_nodes nodes = {.tag = "abcd"};
	for (uint32_t i = 0; i < CUA_COUNT(paths); i++) {
		char id[288];
		char app[256];
		char path[256];
		ck_assert_uint_eq(add(&nodes, paths[i], UI_NONE), i);
		ck_assert(ui_nodes_id(&nodes, i, id, sizeof(id)));
		ck_assert(ui_nodes_parse_id("abcd", id, app, path));
		ck_assert_str_eq(app, ":1.7");
		ck_assert_str_eq(path, paths[i]);
		ck_assert(!ui_nodes_parse_id("abce", id, app, path));
		ck_assert(!ui_nodes_id(&nodes, i, id, 8));
	}
	ui_nodes_done(&nodes);
}
END_TEST

START_TEST(test_limits) {
	struct ui_nodes nodes = {.tag = "abcd"};
	char path[32];
	for (uint32_t i = 0; i <= CUA_UI_NODES_MAX; i++) {
		(void)snprintf(path, sizeof(path), "/n/%u", i);
		uint32_t number = add(&nodes, path, i == 0 ? UI_NONE : 0);
		ck_assert_uint_eq(number, i < CUA_UI_NODES_MAX ? i : UI_NONE);
	}
	ck_assert_uint_eq(nodes.cut, CUA_UI_CUT_NODES);
	ui_nodes_text(&nodes, &nodes.node[0].name, "ab\xc3\xbc", 3);
	ck_assert_str_eq(nodes.node[0].name, "ab");
	ui_nodes_done(&nodes);
	nodes = (struct ui_nodes){.tag = "abcd"};
	for (uint32_t i = 0; i < CUA_UI_APPS_MAX + 10; i++) {
		(void)snprintf(path, sizeof(path), ":1.%u", i);
		(void)ui_nodes_add(&nodes, path, "/", UI_NONE);
	}
	ck_assert_uint_eq(nodes.app_count, CUA_UI_APPS_MAX);
	ui_nodes_done(&nodes);
}
END_TEST

START_TEST(test_encoding) {
	struct ui_nodes nodes = {.tag = "abcd"};
	uint32_t root = add(&nodes, "/r", UI_NONE);
	uint32_t child = add(&nodes, "/c", root);
	ui_nodes_text(&nodes, &nodes.node[child].name, "Name", 64);
	nodes.node[child].action_count = 2;
	ui_nodes_text(&nodes, &nodes.node[child].action[0], "", 47);
	ui_nodes_text(&nodes, &nodes.node[child].action[1], "press", 47);
	nodes.app[0].dead = true;
	struct cua_span list = {0};
	ck_assert_int_eq(
		ui_nodes_encode(&nodes, (uint32_t[]){root, child}, 2, false, &list, &err), 0);
	static cua_UiNode node;
	struct cua_span rest = list;
	ck_assert_int_eq(cua_node_next(&rest, &node, &err), 1);
	ck_assert(!node.has_parent && node.unresponsive);
	ck_assert_int_eq(cua_node_next(&rest, &node, &err), 1);
	ck_assert(node.has_parent && node.parent == 0 && !node.unresponsive);
	ck_assert_str_eq(node.name, "Name");
	ck_assert_uint_eq(node.actions_count, 1);
	ck_assert_str_eq(node.actions[0], "press");
	ck_assert_int_eq(cua_node_next(&rest, &node, &err), 0);
	free((void *)(uintptr_t)list.data);
	/* A child without its parent is not told in a tree. */
	ck_assert_int_eq(ui_nodes_encode(&nodes, &child, 1, false, &list, &err), 0);
	ck_assert_uint_eq(list.len, 0);
	free((void *)(uintptr_t)list.data);
	ck_assert_int_eq(ui_nodes_encode(&nodes, &child, 1, true, &list, &err), 0);
	ck_assert_uint_gt(list.len, 0);
	free((void *)(uintptr_t)list.data);
	ui_nodes_done(&nodes);
}
END_TEST

/* A list of the longest nodes that there can be, at every place where its room may end. */
START_TEST(test_encoding_long_nodes) {
	enum { LONG = 120 };
	static char text[CUA_UI_VALUE_MAX + 1];
	struct ui_nodes nodes = {.tag = "abcd"};
	uint32_t list[LONG];
	char path[288];
	memset(text, 'x', CUA_UI_VALUE_MAX);
	for (uint32_t i = 0; i < LONG; i++) {
		(void)snprintf(path, sizeof(path), "/%0277u", i);
		list[i] = add(&nodes, path, UI_NONE);
		struct ui_node *node = &nodes.node[list[i]];
		node->role = node->children_cut = UINT32_MAX;
		node->states = UINT64_MAX;
		node->has_bounds = true;
		node->bounds = (struct rect){-1, -1, INT32_MAX, INT32_MAX};
		node->action_count = UI_ACTIONS;
		ui_nodes_text(&nodes, &node->name, text, CUA_UI_NAME_MAX);
		ui_nodes_text(&nodes, &node->value, text, CUA_UI_VALUE_MAX);
		for (size_t k = 0; k < UI_ACTIONS; k++) {
			ui_nodes_text(&nodes, &node->action[k], text, 47);
		}
	}
	for (size_t len = 0; len <= CUA_UI_VALUE_MAX; len++) {
		struct cua_span encoded = {0};
		ui_nodes_text(&nodes, &nodes.node[0].value, text, len);
		ck_assert_msg(ui_nodes_encode(&nodes, list, LONG, true, &encoded, &err) == 0,
			"%zu: %s", len, err.message);
		free((void *)(uintptr_t)encoded.data);
	}
	ui_nodes_done(&nodes);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {test_names_match, test_roles_and_states, test_refused_queries,
		test_patterns_end, test_order_and_cycles, test_ids, test_limits, test_encoding,
		test_encoding_long_nodes};
	return suite_run("uinodes", tests, CUA_COUNT(tests));
}
