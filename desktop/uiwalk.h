/* A walk over accessible nodes: asks programs for their nodes, breadth first, many questions at once,
 * bounded in time, number, depth and bytes. A program that does not answer is given up by itself; the
 * others go on. Everything that programs say is their word, made valid but not believed. */
#pragma once

#include "desktop/a11y.h"
#include "desktop/uinodes.h"

enum ui_scope {
	UI_SCOPE_FOCUSED, /* all of the active window is walked */
	UI_SCOPE_WINDOW, /* the active one */
	UI_SCOPE_ALL,
};

/* What a node can be asked. Children are asked of every node that is walked. */
enum ui_question {
	UI_ASK_STATES = 1 << 0,
	UI_ASK_ROLE = 1 << 1,
	UI_ASK_NAME = 1 << 2,
	UI_ASK_INTERFACES = 1 << 3,
	UI_ASK_FACTS = UI_ASK_STATES | UI_ASK_ROLE | UI_ASK_NAME | UI_ASK_INTERFACES,
	UI_ASK_DETAILS = 1 << 4, /* bounds, actions, value, where the interfaces are known */
};

struct ui_walk;

/* A step has ended; the walk may be freed in it. */
typedef void ui_walk_done(void *ctx);

/* The active window as the window manager tells it. */
struct ui_window {
	uint32_t pid; /* 0: there is none, or nobody knows */
	char title[CUA_TITLE_SIZE];
};

struct ui_walk_config {
	struct loop *loop;
	struct a11y *a11y; /* whose bus is there; if it is lost, nothing more is found */
	enum ui_scope scope;
	struct ui_window active;
	uint32_t depth; /* levels below the programs' own nodes */
	uint32_t nodes; /* at most so many are asked; CUA_UI_NODES_MAX at most */
	bool hidden; /* also nodes that do not show */
	unsigned ask; /* or-ed enum ui_question: of every node; states, names if they decide */
	uint32_t ms; /* for everything */
	ui_walk_done *done;
	void *ctx;
};

/* Begins to ask what there is, the children of every node in scope and what `ask` says. done is called
 * from the loop when all is known or the time is over. NULL on failure. */
struct ui_walk *ui_walk_new(const struct ui_walk_config *config, struct cua_err *err);
/* The same for one node by its id, without its children. -CUA_NOT_FOUND for an id that is none. */
struct ui_walk *ui_walk_node(
	const struct ui_walk_config *config, const char *id, struct cua_err *err);
/* Ends it. NULL is fine. Returns NULL. */
struct ui_walk *ui_walk_free(struct ui_walk *walk);

/* The bus that the nodes are on; NULL once it is lost. */
struct bus *ui_walk_bus(const struct ui_walk *walk);
/* What has been found. The fields of nodes may be changed between the steps. */
struct ui_nodes *ui_walk_nodes(struct ui_walk *walk);
/* True when what was found is not to be trusted, and why: the registry does not answer, or the bus is
 * gone, perhaps in the middle. */
bool ui_walk_failed(const struct ui_walk *walk, struct cua_err *ret_why);

/* Asks these nodes something, although it was asked before; nodes that had no answer yet are asked
 * more. done is called once more, from the loop. */
void ui_walk_ask(struct ui_walk *walk, const uint32_t *list, uint32_t count, unsigned ask);

/* Whether a node's value is a text. */
bool ui_walk_holds_text(const struct ui_node *node);
