/* A store of accessible nodes and the programs that they belong to, in the order in which they were
 * found, parents first. Bounded in number and bytes; each object is in it once, so that a tree with a
 * cycle ends. Knows nothing of D-Bus. */
#pragma once

#include "cua/msg.h"
#include "desktop/frame.h"

#define UI_NONE UINT32_MAX
#define UI_ACTIONS 8

/* Interfaces of a node. */
enum ui_interface {
	UI_ACTION = 1 << 0,
	UI_COMPONENT = 1 << 1,
	UI_EDITABLE_TEXT = 1 << 2,
	UI_TEXT = 1 << 3,
	UI_VALUE = 1 << 4,
};

struct ui_app {
	char *name; /* on the bus */
	uint32_t root; /* its node */
	uint32_t pid; /* in the container; 0: not known */
	uint32_t asked; /* questions under way */
	uint32_t first, last; /* nodes that wait to be asked */
	bool answered; /* at least once */
	bool dead; /* does not answer */
};

struct ui_node {
	uint32_t app;
	uint32_t parent; /* UI_NONE at the top */
	uint32_t next; /* in the queue of its program */
	uint32_t role;
	uint32_t children_cut;
	uint64_t states;
	unsigned interfaces; /* or-ed enum ui_interface */
	uint16_t depth;
	uint8_t action_count;
	bool known; /* it has answered something */
	bool dropped; /* not part of the tree that is wanted */
	bool children_kept; /* some child is not dropped */
	bool has_bounds;
	struct rect bounds;
	char *path;
	char *name; /* NULL until known */
	char *value; /* NULL without one */
	char *action[UI_ACTIONS];
};

struct ui_nodes {
	struct ui_node *node;
	uint32_t count;
	uint32_t space;
	struct ui_app *app;
	uint32_t app_count;
	uint32_t *slot; /* of the hash table: number of the node + 1 */
	uint32_t slots;
	size_t bytes; /* of strings */
	unsigned cut; /* CUA_UI_CUT_… */
	char tag[8]; /* begins every id */
};

/* Empties and frees; fine on a zero struct. */
void ui_nodes_done(struct ui_nodes *nodes);

/* Adds an object of a program below a parent (UI_NONE: at the top). Its number; or UI_NONE: it is
 * there already, or a limit is reached, which `cut` tells then, or there is no memory. */
uint32_t ui_nodes_add(struct ui_nodes *nodes, const char *app, const char *path, uint32_t parent);
/* Sets *at, a string of a node, to a copy of at most max bytes, cut between characters. Without memory
 * it stays what it was. */
void ui_nodes_text(struct ui_nodes *nodes, char **at, const char *text, size_t max);

/* The id of a node for clients: TAG.NAME/NUMBER, or with the whole path after //. False when it would be
 * too long. */
bool ui_nodes_id(const struct ui_nodes *nodes, uint32_t number, char *ret, size_t size);
/* Reads an id: the program's name and the path. False when it is none, or of another tag. */
bool ui_nodes_parse_id(const char *tag, const char *id, char ret_app[256], char ret_path[256]);

/* Marks as dropped what has no ancestor `top`, and makes that the top. */
void ui_nodes_keep_below(struct ui_nodes *nodes, uint32_t top);
/* The nodes in the order of a document: children right behind their parent. ret has room for count
 * numbers; dropped nodes are left out. False when there is no memory for it. */
bool ui_nodes_order(const struct ui_nodes *nodes, uint32_t *ret, uint32_t *ret_count);

/* Encodes nodes as a list of UiNode; with `flat` without parents, else each must come after its
 * parent. Appends to *ret, which the caller frees; stops at CUA_UI_BYTES_MAX, which `cut` tells then.
 * 0, or -CUA_EXHAUSTED. */
int ui_nodes_encode(struct ui_nodes *nodes, const uint32_t *list, uint32_t count, bool flat,
	struct cua_span *ret, struct cua_err *err) CUA_CHECK;
