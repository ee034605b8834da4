/* Finding accessible nodes: connects to the bus if need be, walks, matches, and asks for the details of
 * what was found. Whoever waits for a text on the screen asks here too: a query of ui_query_text(),
 * `hidden` false, max 1; the number found tells. */
#pragma once

#include "desktop/a11y.h"
#include "desktop/uiquery.h"
#include "desktop/uiwalk.h"

struct ui_find;

/* Whether a node that matches is one. */
typedef bool ui_find_fits(const struct ui_node *node);

struct ui_find_config {
	struct loop *loop;
	struct a11y *a11y;
	struct ui_query *query; /* becomes its own, also on failure; NULL: with an id */
	const char *id; /* of the one node that is looked for; NULL: by query; copied */
	ui_find_fits *fits; /* NULL: all that match */
	enum ui_scope scope;
	struct ui_window active;
	uint32_t depth;
	uint32_t max; /* nodes in the result */
	bool hidden;
	uint32_t ms; /* from the bus's being there to the result */
	/* It has ended, or the refreshing has; called from the loop; may free it. */
	void (*done)(void *ctx);
	void *ctx;
};

/* Begins. NULL on failure, with `done` not called. */
struct ui_find *ui_find_new(const struct ui_find_config *config, struct cua_err *err);
/* Ends it. NULL is fine. Returns NULL. */
struct ui_find *ui_find_free(struct ui_find *find);

/* 0, or why nothing could be found out: there is no bus, or no such id. Finding nothing is no error. */
int ui_find_result(const struct ui_find *find, struct cua_err *err) CUA_CHECK;
/* The numbers of the nodes found, in the order of a document; valid until the next step. */
uint32_t ui_find_list(const struct ui_find *find, const uint32_t **ret);
/* The nodes; NULL before there are any. */
struct ui_nodes *ui_find_nodes(struct ui_find *find);
/* The bus, for calls about what was found; NULL once it is lost. */
struct bus *ui_find_bus(struct ui_find *find);
/* Asks the details of the nodes found anew; done is called again. */
void ui_find_refresh(struct ui_find *find);
/* Leaves only these of the nodes found. */
void ui_find_choose(struct ui_find *find, const uint32_t *list, uint32_t count);
