/* Connect, walk, match, details; see the header. */
#include "desktop/uifind.h"

#include <stdio.h>
#include <string.h>

#include "cua/ui.h"

enum step {
	STEP_CONNECT,
	STEP_WALK,
	STEP_FACTS, /* of the nodes that may be meant */
	STEP_VALUES, /* which the query looks at */
	STEP_DETAILS,
};

struct ui_find {
	struct ui_find_config config;
	char id[320];
	enum step step;
	struct a11y_wait wait;
	struct ui_walk *walk;
	uint32_t *list;
	uint32_t count;
	struct cua_err why; /* code CUA_OK while all is well */
};

static void end(struct ui_find *find) {
	find->config.done(find->config.ctx);
}

/* ---------------------------------------------------------------- what was found */

typedef bool selects(const struct ui_find *find, const struct ui_node *node);

static bool matches(const struct ui_find *find, const struct ui_node *node) {
	const struct ui_subject subject = {.role = node->role,
		.states = node->states,
		.name = node->name,
		.value = node->value};
	bool query = !find->config.query ||
		     (node->known && ui_query_matches(find->config.query, &subject));
	return query && (!find->config.fits || find->config.fits(node));
}

/* By what was asked of every node. */
static bool may_match(const struct ui_find *find, const struct ui_node *node) {
	const struct ui_subject subject = {.role = node->role,
		.states = ui_query_role(find->config.query) || ui_query_name(find->config.query)
				  ? UINT64_MAX
				  : node->states,
		.name = node->name};
	return node->known && ui_query_matches(find->config.query, &subject);
}

/* The innermost node that has the focus, or UI_NONE. */
static uint32_t focused(const struct ui_nodes *nodes) {
	uint32_t found = UI_NONE;
	for (uint32_t i = 0; i < nodes->count; i++) {
		const struct ui_node *node = &nodes->node[i];
		if (!node->dropped && (node->states & CUA_UI_BIT(CUA_UI_STATE_FOCUSED)) &&
			(found == UI_NONE || node->depth >= nodes->node[found].depth)) {
			found = i;
		}
	}
	return found;
}

/* A program without a window in the scope is not part of it, unless nobody knows. */
static void drop_idle_programs(struct ui_nodes *nodes) {
	for (uint32_t i = nodes->count; i-- > 0;) {
		struct ui_node *node = &nodes->node[i];
		bool dead = nodes->app[node->app].dead && nodes->app[node->app].root == i;
		node->dropped =
			node->dropped || (node->depth == 0 && !dead && !node->children_kept);
		if (!node->dropped && node->parent != UI_NONE) {
			nodes->node[node->parent].children_kept = true;
		}
	}
}

static void apply_scope(struct ui_find *find, struct ui_nodes *nodes) {
	if (find->config.scope == UI_SCOPE_ALL) {
		return;
	}
	drop_idle_programs(nodes);
	if (find->config.scope == UI_SCOPE_FOCUSED) {
		uint32_t top = focused(nodes);
		if (top == UI_NONE) {
			(void)cua_err_set(&find->why, CUA_NOT_FOUND,
				"no accessible node has the focus; try scope window or all");
			return;
		}
		ui_nodes_keep_below(nodes, top);
	}
}

static void select_nodes(struct ui_find *find, selects *fits) {
	struct ui_nodes *nodes = ui_walk_nodes(find->walk);
	uint32_t all = 0;
	find->count = 0;
	if (!ui_nodes_order(nodes, find->list, &all)) {
		(void)cua_err_set(&find->why, CUA_EXHAUSTED, "no memory for accessible nodes");
	}
	for (uint32_t i = 0; i < all; i++) {
		if (!fits(find, &nodes->node[find->list[i]])) {
			continue;
		}
		if (fits == matches && find->count == find->config.max) {
			nodes->cut |= CUA_UI_CUT_NODES;
			break;
		}
		find->list[find->count++] = find->list[i];
	}
	if (find->config.query && ui_query_slow(find->config.query)) {
		(void)cua_err_about(&find->why, CUA_INVALID, "name",
			"the regular expression takes too long on the names that there are");
	}
}

/* ---------------------------------------------------------------- steps */

static void ask_details(struct ui_find *find) {
	find->step = STEP_DETAILS;
	select_nodes(find, matches);
	ui_walk_ask(find->walk, find->list, find->count, UI_ASK_DETAILS);
}

/* What every node was asked decides which ones are asked the rest. */
static void ask_facts(struct ui_find *find) {
	find->step = STEP_FACTS;
	select_nodes(find, may_match);
	ui_walk_ask(find->walk, find->list, find->count, UI_ASK_FACTS);
}

static void ask_values(struct ui_find *find) {
	const struct ui_nodes *nodes = ui_walk_nodes(find->walk);
	find->step = STEP_VALUES;
	find->count = 0;
	for (uint32_t i = 0; i < nodes->count; i++) {
		if (!nodes->node[i].dropped && ui_walk_holds_text(&nodes->node[i])) {
			find->list[find->count++] = i;
		}
	}
	ui_walk_ask(find->walk, find->list, find->count, UI_ASK_DETAILS);
}

static void after_walk(struct ui_find *find) {
	struct ui_nodes *nodes = ui_walk_nodes(find->walk);
	find->list = malloc((nodes->count + 1) * sizeof(*find->list));
	if (!find->list) {
		(void)cua_err_set(&find->why, CUA_EXHAUSTED, "no memory for the nodes");
	} else if (!find->config.id) {
		apply_scope(find, nodes);
	} else if (!nodes->node[0].known) {
		(void)cua_err_about(&find->why, nodes->app[0].dead ? CUA_TIMEOUT : CUA_NOT_FOUND,
			"id",
			nodes->app[0].dead ? "the program of node %s does not answer"
					   : "node %s is gone; ask ui_tree or ui_find again",
			find->id);
	}
	if (find->why.code != CUA_OK) {
		end(find);
	} else if (find->config.query && ui_query_values(find->config.query)) {
		ask_values(find);
	} else if (find->config.query) {
		ask_facts(find);
	} else {
		ask_details(find);
	}
}

static void on_walked(void *ctx) {
	struct ui_find *find = ctx;
	if (ui_walk_failed(find->walk, &find->why)) {
		end(find);
		return;
	}
	switch (find->step) {
	case STEP_CONNECT:
		break;
	case STEP_WALK:
		after_walk(find);
		break;
	case STEP_FACTS:
	case STEP_VALUES:
		ask_details(find);
		break;
	case STEP_DETAILS:
		end(find);
		break;
	}
}

/* As little as possible: the others are asked of those that may be meant. */
static unsigned asked_of_all(const struct ui_find *find) {
	const struct ui_query *query = find->config.query;
	if (!query || ui_query_values(query) || find->config.scope == UI_SCOPE_FOCUSED) {
		return UI_ASK_FACTS;
	}
	bool neither = !ui_query_role(query) && !ui_query_name(query);
	return (neither ? UI_ASK_STATES : 0u) | (ui_query_role(query) ? UI_ASK_ROLE : 0u) |
	       (ui_query_name(query) ? UI_ASK_NAME : 0u);
}

static int walk(struct ui_find *find, struct cua_err *err) {
	const struct ui_find_config *config = &find->config;
	/* Nodes that are dropped later are asked too. */
	uint64_t nodes =
		config->fits || config->query ? CUA_UI_NODES_MAX : 2 * (uint64_t)config->max + 512;
	const struct ui_walk_config walk_config = {.loop = config->loop,
		.a11y = config->a11y,
		.scope = config->scope,
		.active = config->active,
		.depth = config->depth,
		.nodes = nodes < CUA_UI_NODES_MAX ? (uint32_t)nodes : CUA_UI_NODES_MAX,
		.hidden = config->hidden,
		.ask = asked_of_all(find),
		.ms = config->ms,
		.done = on_walked,
		.ctx = find};
	find->step = STEP_WALK;
	find->walk = config->id ? ui_walk_node(&walk_config, find->id, err)
				: ui_walk_new(&walk_config, err);
	return find->walk ? 0 : -CUA_INTERNAL;
}

static void on_bus(void *ctx, struct bus *bus, const struct cua_err *err) {
	struct ui_find *find = ctx;
	int r = -1;
	if (bus) {
		r = walk(find, &find->why);
	} else {
		find->why = *err;
	}
	if (r < 0) {
		end(find);
	}
}

/* ---------------------------------------------------------------- for the others */

struct ui_find *ui_find_new(const struct ui_find_config *config, struct cua_err *err) {
	struct ui_find *find = calloc(1, sizeof(*find));
	if (!find) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to find nodes");
		(void)ui_query_free(config->query);
		return NULL;
	}
	find->config = *config;
	find->config.id = config->id ? find->id : NULL;
	(void)snprintf(find->id, sizeof(find->id), "%s", config->id ? config->id : "");
	find->wait = (struct a11y_wait){.fn = on_bus, .ctx = find};
	a11y_wait(config->a11y, &find->wait);
	return find;
}

struct ui_find *ui_find_free(struct ui_find *find) {
	if (find) {
		a11y_cancel(&find->wait);
		find->walk = ui_walk_free(find->walk);
		find->config.query = ui_query_free(find->config.query);
		free(find->list);
	}
	free(find);
	return NULL;
}

int ui_find_result(const struct ui_find *find, struct cua_err *err) {
	if (find->why.code != CUA_OK) {
		*err = find->why;
	}
	return -(int)find->why.code;
}

uint32_t ui_find_list(const struct ui_find *find, const uint32_t **ret) {
	*ret = find->list;
	return find->count;
}

struct ui_nodes *ui_find_nodes(struct ui_find *find) {
	return find->walk ? ui_walk_nodes(find->walk) : NULL;
}

struct bus *ui_find_bus(struct ui_find *find) {
	return find->walk ? ui_walk_bus(find->walk) : NULL;
}

void ui_find_refresh(struct ui_find *find) {
	ui_walk_ask(find->walk, find->list, find->count, UI_ASK_DETAILS | UI_ASK_STATES);
}

void ui_find_choose(struct ui_find *find, const uint32_t *list, uint32_t count) {
	memmove(find->list, list, count * sizeof(*list));
	find->count = count;
}
