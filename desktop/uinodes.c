/* The store; see the header. */
#include "desktop/uinodes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cua/ui.h"

#define PREFIX "/org/a11y/atspi/accessible/"
#define STEP ((size_t)256 << 10) /* by which a list of encoded nodes grows */
#define NODE_ROOM (cua_UiNode_size + (size_t)8) /* an encoded node and its length at most */
#define SLOTS 32768 /* a power of two, more than twice the nodes */

/* ---------------------------------------------------------------- programs and nodes */

void ui_nodes_done(struct ui_nodes *nodes) {
	for (uint32_t i = 0; i < nodes->count; i++) {
		struct ui_node *node = &nodes->node[i];
		free(node->path);
		free(node->name);
		free(node->value);
		for (size_t k = 0; k < UI_ACTIONS; k++) {
			free(node->action[k]);
		}
	}
	for (uint32_t i = 0; i < nodes->app_count; i++) {
		free(nodes->app[i].name);
	}
	free(nodes->node);
	free(nodes->app);
	free(nodes->slot);
	*nodes = (struct ui_nodes){0};
}

static uint32_t hash_of(const char *app, const char *path) {
	uint32_t hash = 2166136261u;
	for (const char *p = app; *p; p++) {
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	}
	for (const char *p = path; *p; p++) {
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	}
	return hash;
}

/* The slot of an object, or the empty one where it would be. */
static uint32_t *slot_of(const struct ui_nodes *nodes, const char *app, const char *path) {
	uint32_t at = hash_of(app, path) % SLOTS;
	while (nodes->slot[at] != 0) {
		const struct ui_node *node = &nodes->node[nodes->slot[at] - 1];
		const char *owner = nodes->app[node->app].name;
		assert(node->path && owner);
		if (strcmp(node->path, path) == 0 && strcmp(owner, app) == 0) {
			break;
		}
		at = (at + 1) % SLOTS;
	}
	return &nodes->slot[at];
}

static bool reserve(struct ui_nodes *nodes) {
	if (!nodes->slot) {
		nodes->slot = calloc(SLOTS, sizeof(*nodes->slot));
		nodes->app = calloc(CUA_UI_APPS_MAX, sizeof(*nodes->app));
	}
	if (nodes->count == nodes->space) {
		uint32_t space = nodes->space ? nodes->space * 2 : 64;
		struct ui_node *node = realloc(nodes->node, space * sizeof(*node));
		if (!node) {
			return false;
		}
		nodes->node = node;
		nodes->space = space;
	}
	return nodes->slot && nodes->app;
}

/* The number of a program, which is added if it is new. */
static uint32_t app_of(struct ui_nodes *nodes, const char *name) {
	for (uint32_t i = 0; i < nodes->app_count; i++) {
		if (strcmp(nodes->app[i].name, name) == 0) {
			return i;
		}
	}
	char *copy = nodes->app_count < CUA_UI_APPS_MAX ? strdup(name) : NULL;
	if (!copy) {
		nodes->cut |= CUA_UI_CUT_NODES;
		return UI_NONE;
	}
	nodes->app[nodes->app_count] = (struct ui_app){
		.name = copy, .root = nodes->count, .first = UI_NONE, .last = UI_NONE};
	return nodes->app_count++;
}

uint32_t ui_nodes_add(struct ui_nodes *nodes, const char *app, const char *path, uint32_t parent) {
	if (nodes->count >= CUA_UI_NODES_MAX || nodes->bytes > CUA_UI_BYTES_MAX) {
		nodes->cut |= nodes->count >= CUA_UI_NODES_MAX ? CUA_UI_CUT_NODES : CUA_UI_CUT_SIZE;
		return UI_NONE;
	}
	if (!reserve(nodes)) {
		return UI_NONE;
	}
	uint32_t *slot = slot_of(nodes, app, path);
	_cleanup_free_ char *copy = *slot == 0 ? strdup(path) : NULL;
	uint32_t number = copy ? app_of(nodes, app) : UI_NONE;
	if (number == UI_NONE) {
		return UI_NONE;
	}
	nodes->bytes += strlen(copy);
	nodes->node[nodes->count] = (struct ui_node){
		.app = number, .parent = parent, .next = UI_NONE, .path = take_ptr(copy)};
	if (parent != UI_NONE) {
		nodes->node[nodes->count].depth = (uint16_t)(nodes->node[parent].depth + 1);
	}
	*slot = ++nodes->count;
	return nodes->count - 1;
}

void ui_nodes_text(struct ui_nodes *nodes, char **at, const char *text, size_t max) {
	size_t len = strnlen(text, max + 1);
	if (len > max) {
		len = max;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) {
			len--;
		}
	}
	char *copy = strndup(text, len);
	if (copy) {
		free(*at);
		*at = copy;
		nodes->bytes += len;
	}
}

/* ---------------------------------------------------------------- ids */

bool ui_nodes_id(const struct ui_nodes *nodes, uint32_t number, char *ret, size_t size) {
	const struct ui_node *node = &nodes->node[number];
	const char *app = nodes->app[node->app].name;
	const char *path = node->path;
	bool usual = strncmp(path, PREFIX, strlen(PREFIX)) == 0;
	int n = snprintf(ret, size, "%s.%s/%s", nodes->tag, app[0] == ':' ? app + 1 : app,
		usual ? path + strlen(PREFIX) : path);
	return n > 0 && (size_t)n < size;
}

bool ui_nodes_parse_id(const char *tag, const char *id, char ret_app[256], char ret_path[256]) {
	size_t len = strlen(tag);
	const char *slash = strchr(id, '/');
	if (strncmp(id, tag, len) != 0 || id[len] != '.' || !slash || slash == id + len + 1) {
		return false;
	}
	const char *app = id + len + 1;
	int a = snprintf(ret_app, 256, ":%.*s", (int)(slash - app), app);
	int p = snprintf(ret_path, 256, "%s%s", slash[1] == '/' ? "" : PREFIX, slash + 1);
	return a > 0 && a < 256 && p > 0 && p < 256;
}

/* ---------------------------------------------------------------- order */

void ui_nodes_keep_below(struct ui_nodes *nodes, uint32_t top) {
	for (uint32_t i = 0; i < nodes->count; i++) {
		struct ui_node *node = &nodes->node[i];
		bool below = i == top || (node->parent != UI_NONE && i > top &&
						 !nodes->node[node->parent].dropped);
		node->dropped = node->dropped || !below;
	}
	nodes->node[top].parent = UI_NONE;
}

/* Children are behind their parent in the store, in order: walking it from the end makes lists of
 * children with the first one in front. */
bool ui_nodes_order(const struct ui_nodes *nodes, uint32_t *ret, uint32_t *ret_count) {
	uint32_t *links = calloc(2 * (size_t)nodes->count + 1, sizeof(*links));
	if (!links) {
		return false;
	}
	uint32_t *child = links;
	uint32_t *sibling = links + nodes->count;
	uint32_t top = 0; /* number + 1, as all links */
	for (uint32_t i = nodes->count; i-- > 0;) {
		uint32_t parent = nodes->node[i].parent;
		uint32_t *head = parent == UI_NONE ? &top : &child[parent];
		sibling[i] = *head;
		*head = i + 1;
	}
	uint32_t count = 0;
	for (uint32_t at = top; at != 0;) {
		uint32_t i = at - 1;
		bool kept = !nodes->node[i].dropped;
		if (kept) {
			ret[count++] = i;
		}
		at = kept && child[i] ? child[i] : sibling[i];
		while (at == 0 && nodes->node[i].parent != UI_NONE) {
			i = nodes->node[i].parent;
			at = sibling[i];
		}
	}
	free(links);
	*ret_count = count;
	return true;
}

/* ---------------------------------------------------------------- encoding */

static void fill_wire(const struct ui_nodes *nodes, uint32_t number, cua_UiNode *wire) {
	const struct ui_node *node = &nodes->node[number];
	wire->role = node->role;
	wire->states = node->states;
	wire->has_name = node->name && node->name[0];
	(void)snprintf(wire->name, sizeof(wire->name), "%s", node->name ? node->name : "");
	wire->has_value = node->value != NULL;
	(void)snprintf(wire->value, sizeof(wire->value), "%s", node->value ? node->value : "");
	for (size_t i = 0; i < node->action_count; i++) {
		if (node->action[i][0]) {
			char *to = wire->actions[wire->actions_count++];
			(void)snprintf(to, sizeof(wire->actions[0]), "%s", node->action[i]);
		}
	}
	wire->has_bounds = node->has_bounds;
	wire->bounds =
		(cua_Rect){node->bounds.x, node->bounds.y, node->bounds.width, node->bounds.height};
	const struct ui_app *app = &nodes->app[node->app];
	wire->has_unresponsive = wire->unresponsive = app->dead && app->root == number;
	wire->has_children_cut = node->children_cut > 0;
	wire->children_cut = node->children_cut;
}

struct encoder {
	uint8_t *data;
	size_t len;
	size_t space;
	uint32_t *place; /* in the list, by the node's number; UI_NONE: not in it */
	uint32_t listed;
	cua_UiNode wire;
};

static void encoder_done(struct encoder *encoder) {
	free(encoder->data);
	free(encoder->place);
}

/* 1, 0 when the node cannot be told, negative. */
static int encode_one(struct ui_nodes *nodes, struct encoder *to, uint32_t number, bool flat,
	struct cua_err *err) {
	if (to->space - to->len < NODE_ROOM) {
		size_t space = to->space + STEP;
		uint8_t *data = realloc(to->data, space);
		if (!data) {
			return cua_err_set(err, CUA_EXHAUSTED, "no memory for the nodes");
		}
		to->data = data;
		to->space = space;
	}
	uint32_t parent = nodes->node[number].parent;
	to->wire = (cua_UiNode)cua_UiNode_init_zero;
	if (!ui_nodes_id(nodes, number, to->wire.id, sizeof(to->wire.id)) ||
		(!flat && parent != UI_NONE && to->place[parent] == UI_NONE)) {
		return 0;
	}
	fill_wire(nodes, number, &to->wire);
	to->wire.has_parent = !flat && parent != UI_NONE;
	to->wire.parent = to->wire.has_parent ? to->place[parent] : 0;
	int r = cua_node_put(&to->wire, to->data + to->len, to->space - to->len, err);
	if (r < 0) {
		return r;
	}
	to->len += (size_t)r;
	to->place[number] = to->listed++;
	return 1;
}

int ui_nodes_encode(struct ui_nodes *nodes, const uint32_t *list, uint32_t count, bool flat,
	struct cua_span *ret, struct cua_err *err) {
	_cleanup_(encoder_done) struct encoder to = {
		.place = malloc((nodes->count + 1) * sizeof(*to.place))};
	if (!to.place) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for the nodes");
	}
	memset(to.place, 0xff, (nodes->count + 1) * sizeof(*to.place));
	int r = 0;
	for (uint32_t i = 0; r >= 0 && i < count; i++) {
		if (to.len > CUA_UI_BYTES_MAX) {
			nodes->cut |= CUA_UI_CUT_SIZE;
			break;
		}
		r = encode_one(nodes, &to, list[i], flat, err);
	}
	if (r < 0) {
		return r;
	}
	*ret = (struct cua_span){.data = take_ptr(to.data), .len = to.len};
	return 0;
}
