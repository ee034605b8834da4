/* Nodes become objects, and find their parent among those before them; see the header. */
#include "server/front/result_ui.h"

#include <string.h>

#include "cua/ident.h"
#include "cua/ui.h"

/* Levels of a tree: deeper ones would be hard on whoever reads the JSON. */
#define DEPTH_MAX (CUA_UI_DEPTH_MAX + 1)

struct tree {
	json_t *top;
	json_t **node; /* of each number, borrowed; NULL where a node has no room for children */
	uint8_t *depth;
	uint32_t count;
	bool flat;
	cua_UiNode wire;
};

/* ---------------------------------------------------------------- one node */

static json_t *text_json(const char *text) {
	return cua_utf8_ok(text, strlen(text)) ? json_string(text) : json_string("");
}

static json_t *states_json(uint64_t states) {
	json_t *list = json_array();
	for (unsigned i = 0; cua_ui_state_name(i); i++) {
		if (states & CUA_UI_BIT(i)) {
			(void)json_array_append_new(list, json_string(cua_ui_state_name(i)));
		}
	}
	return list;
}

static json_t *actions_json(const cua_UiNode *wire) {
	json_t *list = json_array();
	for (size_t i = 0; i < wire->actions_count; i++) {
		(void)json_array_append_new(list, text_json(wire->actions[i]));
	}
	return list;
}

static json_t *node_json(const cua_UiNode *wire) {
	json_t *json = json_pack("{s:o, s:s, s:o, s:o}", "id", text_json(wire->id), "role",
		cua_ui_role_name(wire->role), "name", text_json(wire->has_name ? wire->name : ""),
		"states", states_json(wire->states));
	if (!json) {
		return NULL;
	}
	if (wire->has_value) {
		(void)json_object_set_new(json, "value", text_json(wire->value));
	}
	if (wire->actions_count > 0) {
		(void)json_object_set_new(json, "actions", actions_json(wire));
	}
	if (wire->has_bounds) {
		(void)json_object_set_new(json, "bounds",
			json_pack("[i, i, i, i]", wire->bounds.x, wire->bounds.y,
				wire->bounds.width, wire->bounds.height));
	}
	if (wire->has_unresponsive && wire->unresponsive) {
		(void)json_object_set_new(json, "unresponsive", json_true());
	}
	if (wire->has_children_cut) {
		(void)json_object_set_new(
			json, "children_left_out", json_integer(wire->children_cut));
	}
	return json;
}

/* ---------------------------------------------------------------- the tree */

static json_t *children_of(json_t *parent) {
	json_t *children = json_object_get(parent, "children");
	if (!children) {
		children = json_array();
		(void)json_object_set_new(parent, "children", children);
	}
	return children;
}

/* Where a node belongs; NULL when its parent is none. */
static json_t *place_of(struct tree *tree, uint8_t *ret_depth) {
	const cua_UiNode *wire = &tree->wire;
	*ret_depth = 0;
	if (tree->flat || !wire->has_parent) {
		return tree->top;
	}
	if (wire->parent >= tree->count || tree->depth[wire->parent] >= DEPTH_MAX) {
		return NULL;
	}
	*ret_depth = (uint8_t)(tree->depth[wire->parent] + 1);
	return children_of(tree->node[wire->parent]);
}

static int add(struct tree *tree, struct cua_err *err) {
	uint8_t depth = 0;
	if (tree->count >= CUA_UI_NODES_MAX) {
		return cua_err_set(err, CUA_INTERNAL, "the worker sent too many nodes");
	}
	json_t *list = place_of(tree, &depth);
	if (!list) {
		return cua_err_set(err, CUA_INTERNAL, "the worker sent a node without a parent");
	}
	json_t *node = node_json(&tree->wire);
	if (!node || json_array_append_new(list, node) < 0) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for the nodes");
	}
	tree->node[tree->count] = node;
	tree->depth[tree->count] = depth;
	tree->count++;
	return 0;
}

static void tree_done(struct tree *tree) {
	json_decref(tree->top);
	free(tree->node);
	free(tree->depth);
}

json_t *result_ui_nodes(struct cua_span list, bool flat, struct cua_err *err) {
	_cleanup_(tree_done) struct tree tree = {.top = json_array(),
		.node = calloc(CUA_UI_NODES_MAX, sizeof(*tree.node)),
		.depth = calloc(CUA_UI_NODES_MAX, sizeof(*tree.depth)),
		.flat = flat};
	if (!tree.top || !tree.node || !tree.depth) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the nodes");
		return NULL;
	}
	int r = 0;
	while ((r = cua_node_next(&list, &tree.wire, err)) > 0) {
		r = add(&tree, err);
		if (r < 0) {
			break;
		}
	}
	if (r < 0) {
		err->code = CUA_INTERNAL;
		return NULL;
	}
	return take_ptr(tree.top);
}

json_t *result_ui(struct cua_span list, bool flat, uint32_t cut, struct cua_err *err) {
	static const char *const reasons[] = {"depth", "nodes", "time", "size"};
	json_t *nodes = result_ui_nodes(list, flat, err);
	if (!nodes) {
		return NULL;
	}
	json_t *json = json_pack("{s:o, s:b}", "nodes", nodes, "truncated", cut != 0);
	json_t *why = json_array();
	for (unsigned i = 0; i < CUA_COUNT(reasons); i++) {
		if (cut & 1u << i) {
			(void)json_array_append_new(why, json_string(reasons[i]));
		}
	}
	if (cut != 0) {
		(void)json_object_set(json, "truncated_by", why);
	}
	json_decref(why);
	return json;
}
