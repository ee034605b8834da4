/* Asking; see the header. Each program has a queue of nodes and a number of questions under way, so
 * that a slow one does not keep the others and a call's deadline is about that call. */
#include "desktop/uiwalk.h"

#include <stdio.h>
#include <string.h>

#include "cua/ui.h"

/* Questions under way for one program. */
#define WINDOW 64
/* A program that leaves a question open for so long does not answer. */
#define PATIENCE_MS 1000
/* Children of one node that are counted when they are left out. */
#define COUNT_MAX 100000
#define ACTION_NAME_MAX 47

#define ACCESSIBLE "org.a11y.atspi.Accessible"
#define COMPONENT "org.a11y.atspi.Component"
#define ACTION "org.a11y.atspi.Action"
#define VALUE "org.a11y.atspi.Value"
#define TEXT "org.a11y.atspi.Text"
#define PROPERTIES "org.freedesktop.DBus.Properties"
#define DRIVER "org.freedesktop.DBus"
#define REGISTRY "org.a11y.atspi.Registry"
#define ROOT "/org/a11y/atspi/accessible/root"

struct ask;
typedef void take_fn(struct ui_walk *walk, uint32_t number, struct bus_reply *reply);

/* One question under way. */
struct ask {
	struct ui_walk *walk;
	struct ask *next;
	struct ask **at;
	struct bus_call *call;
	uint32_t node; /* UI_NONE: the registry */
	take_fn *take; /* NULL: the name of an action */
	uint32_t which; /* of which action */
};

struct ui_walk {
	struct ui_walk_config config;
	struct ui_nodes nodes;
	struct ask *asks;
	struct loop_timer *timer; /* the end of the step's time */
	unsigned ask; /* in this step */
	bool one; /* one node is meant: all is asked about it */
	bool expand; /* children are wanted */
	bool over; /* the step has ended */
	bool walking; /* the first step */
	struct cua_err why; /* code CUA_OK while all is well */
};

/* ---------------------------------------------------------------- questions */

static void ask_drop(struct ask *ask) {
	*ask->at = ask->next;
	if (ask->next) {
		ask->next->at = ask->at;
	}
	free(ask);
}

static void end_step(struct ui_walk *walk) {
	while (walk->asks) {
		(void)bus_call_cancel(walk->asks->call);
		ask_drop(walk->asks);
	}
	walk->over = true;
	loop_timer_start(walk->timer, 0);
}

static void end_if_done(struct ui_walk *walk) {
	if (!walk->asks && !walk->over) {
		end_step(walk);
	}
}

static struct ui_app *app_of(struct ui_walk *walk, uint32_t number) {
	return &walk->nodes.app[walk->nodes.node[number].app];
}

/* Forgets all that a program was or is to be asked. */
static void give_up(struct ui_walk *walk, struct ui_app *app) {
	app->dead = true;
	app->first = app->last = UI_NONE;
	app->asked = 0;
	struct ask *next = NULL;
	for (struct ask *ask = walk->asks; ask; ask = next) {
		next = ask->next;
		if (ask->node != UI_NONE && app_of(walk, ask->node) == app) {
			(void)bus_call_cancel(ask->call);
			ask_drop(ask);
		}
	}
}

static void ask_more(struct ui_walk *walk, struct ui_app *app);
static void take_action_name(
	struct ui_walk *walk, uint32_t number, uint32_t which, struct bus_reply *reply);
static void take_pid(struct ui_walk *walk, uint32_t number, struct bus_reply *reply);

static void on_node_answer(
	struct ui_walk *walk, const struct ask *ask, struct bus_reply *reply, enum cua_code code) {
	struct ui_app *app = app_of(walk, ask->node);
	struct ui_node *node = &walk->nodes.node[ask->node];
	app->asked--;
	if (code == CUA_TIMEOUT) {
		give_up(walk, app);
		return;
	}
	app->answered = app->answered || ask->take != take_pid;
	node->known = node->known || (reply && ask->take != take_pid);
	if (reply && ask->take) {
		ask->take(walk, ask->node, reply);
	} else if (reply) {
		take_action_name(walk, ask->node, ask->which, reply);
	}
	ask_more(walk, &walk->nodes.app[walk->nodes.node[ask->node].app]);
}

static void on_answer(void *ctx, struct bus_reply *reply, const struct cua_err *err) {
	struct ask ask = *(struct ask *)ctx;
	struct ui_walk *walk = ask.walk;
	ask_drop(ctx);
	if (ask.node != UI_NONE) {
		on_node_answer(walk, &ask, reply, err ? err->code : CUA_OK);
	} else if (reply) {
		ask.take(walk, UI_NONE, reply);
	} else {
		walk->why = *err;
		(void)cua_err_prefix(&walk->why, "the registry of accessible programs");
	}
	end_if_done(walk);
}

struct bus *ui_walk_bus(const struct ui_walk *walk) {
	bool same = strcmp(walk->nodes.tag, a11y_tag(walk->config.a11y)) == 0;
	return same ? a11y_bus(walk->config.a11y) : NULL;
}

/* What is asked of whom. */
struct question {
	const char *interface;
	const char *member; /* a method, or with `property` a property */
	bool property;
	take_fn *take;
	uint32_t which; /* GetName: the number of the action */
};

static struct bus_call *send(struct ask *ask, const struct question *q, const char *app,
	const char *path, struct cua_err *err) {
	const struct bus_wait wait = {.ms = PATIENCE_MS, .fn = on_answer, .ctx = ask};
	struct bus *bus = ui_walk_bus(ask->walk);
	struct bus_method method = {app, path, q->interface, q->member};
	if (!bus) {
		(void)cua_err_set(err, CUA_CONFLICT, "the accessibility bus is gone");
		return NULL;
	}
	if (q->property) {
		method.interface = PROPERTIES;
		method.member = "Get";
		return bus_call(bus, &method, &wait, err, "ss", q->interface, q->member);
	}
	if (strcmp(q->member, "GetExtents") == 0) {
		return bus_call(bus, &method, &wait, err, "u", 0);
	}
	if (strcmp(q->member, "GetName") == 0) {
		return bus_call(bus, &method, &wait, err, "i", (int32_t)q->which);
	}
	if (strcmp(q->interface, DRIVER) == 0) {
		method.to = DRIVER;
		method.path = "/org/freedesktop/DBus";
		return bus_call(bus, &method, &wait, err, "s", app);
	}
	if (strcmp(q->member, "GetText") == 0) {
		return bus_call(bus, &method, &wait, err, "ii", 0, CUA_UI_VALUE_MAX);
	}
	return bus_call(bus, &method, &wait, err, "");
}

static int put(
	struct ui_walk *walk, uint32_t number, const struct question *q, struct cua_err *err) {
	struct ask *ask = calloc(1, sizeof(*ask));
	if (!ask) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a question");
	}
	*ask = (struct ask){.walk = walk,
		.node = number,
		.take = q->take,
		.which = q->which,
		.at = &walk->asks};
	bool known = number != UI_NONE;
	ask->call = send(ask, q, known ? app_of(walk, number)->name : REGISTRY,
		known ? walk->nodes.node[number].path : ROOT, err);
	if (!ask->call) {
		free(ask);
		return -CUA_INTERNAL;
	}
	ask->next = walk->asks;
	if (ask->next) {
		ask->next->at = &ask->next;
	}
	walk->asks = ask;
	if (known) {
		app_of(walk, number)->asked++;
	}
	return 0;
}

/* ---------------------------------------------------------------- answers to the first step */

static void take_role(struct ui_walk *walk, uint32_t number, struct bus_reply *reply) {
	(void)!bus_read(reply, "u", &walk->nodes.node[number].role);
}

/* Chromium does not say which of its windows is active, so the window manager's word counts too. */
static bool is_active(const struct ui_walk *walk, const struct ui_node *node) {
	const struct ui_window *window = &walk->config.active;
	uint32_t pid = walk->nodes.app[node->app].pid;
	if (window->pid != 0 && pid != 0 && pid != window->pid) {
		return false;
	}
	return (node->states & CUA_UI_BIT(CUA_UI_STATE_ACTIVE)) ||
	       (window->pid != 0 && node->name && strcmp(node->name, window->title) == 0);
}

/* A program's own node is there whether it shows or not. */
static bool is_wanted(const struct ui_walk *walk, const struct ui_node *node) {
	if (!walk->expand || node->depth == 0) {
		return true;
	}
	if (node->depth == 1 && walk->config.scope != UI_SCOPE_ALL) {
		return is_active(walk, node);
	}
	return walk->config.hidden || (node->states & CUA_UI_BIT(CUA_UI_STATE_SHOWING)) != 0;
}

/* Called whenever something is known that decides; children come last. */
static void judge(const struct ui_walk *walk, struct ui_node *node) {
	if (walk->walking) {
		node->dropped = !is_wanted(walk, node);
	}
}

static void take_name(struct ui_walk *walk, uint32_t number, struct bus_reply *reply) {
	struct ui_node *node = &walk->nodes.node[number];
	const char *name = NULL;
	if (bus_read(reply, "v", "s", &name) > 0) {
		ui_nodes_text(&walk->nodes, &node->name, name, CUA_UI_NAME_MAX);
		judge(walk, node);
	}
}

static void take_state(struct ui_walk *walk, uint32_t number, struct bus_reply *reply) {
	struct ui_node *node = &walk->nodes.node[number];
	uint32_t bits[2] = {0, 0};
	if (bus_enter(reply, 'a', "u") > 0) {
		for (int i = 0; i < 2 && bus_read(reply, "u", &bits[i]) > 0; i++) {
		}
	}
	node->states = bits[0] | (uint64_t)bits[1] << 32;
	judge(walk, node);
}

static void take_interfaces(struct ui_walk *walk, uint32_t number, struct bus_reply *reply) {
	static const struct {
		const char *name;
		enum ui_interface bit;
	} known[] = {{ACTION, UI_ACTION}, {COMPONENT, UI_COMPONENT}, {VALUE, UI_VALUE},
		{"org.a11y.atspi.EditableText", UI_EDITABLE_TEXT}, {TEXT, UI_TEXT}};
	const char *name = NULL;
	int r = bus_enter(reply, 'a', "s");
	for (int i = 0; r > 0 && i < 64; i++) {
		r = bus_read(reply, "s", &name);
		for (size_t k = 0; r > 0 && k < CUA_COUNT(known); k++) {
			if (strcmp(name, known[k].name) == 0) {
				walk->nodes.node[number].interfaces |= known[k].bit;
			}
		}
	}
}

static void queue(struct ui_walk *walk, uint32_t number) {
	struct ui_app *app = app_of(walk, number);
	walk->nodes.node[number].next = UI_NONE;
	if (app->first == UI_NONE) {
		app->first = number;
	} else {
		walk->nodes.node[app->last].next = number;
	}
	app->last = number;
}

/* The bus knows it, also of a program that does not answer. */
static void ask_pid(struct ui_walk *walk, uint32_t number) {
	static const struct question pid = {
		DRIVER, "GetConnectionUnixProcessID", false, take_pid, 0};
	(void)!put(walk, number, &pid, NULL);
}

/* True when a child of this node is to be added. */
static bool has_room(struct ui_walk *walk, uint32_t parent) {
	struct ui_nodes *nodes = &walk->nodes;
	if (parent != UI_NONE && nodes->node[parent].depth >= walk->config.depth) {
		nodes->cut |= CUA_UI_CUT_DEPTH;
		return false;
	}
	if (nodes->count >= walk->config.nodes) {
		nodes->cut |= CUA_UI_CUT_NODES;
		return false;
	}
	return true;
}

static void take_child(struct ui_walk *walk, uint32_t parent, const char *app, const char *path) {
	static const char null[] = "/org/a11y/atspi/null";
	if (strcmp(path, null) == 0 || !app[0]) {
		return;
	}
	uint32_t child =
		has_room(walk, parent) ? ui_nodes_add(&walk->nodes, app, path, parent) : UI_NONE;
	if (child == UI_NONE) {
		if (parent != UI_NONE) {
			walk->nodes.node[parent].children_cut++;
		}
		return;
	}
	queue(walk, child);
	if (parent == UI_NONE) {
		ask_pid(walk, child);
	}
	/* A child may belong to another program, which has nothing to do yet. */
	ask_more(walk, app_of(walk, child));
}

static void take_children(struct ui_walk *walk, uint32_t parent, struct bus_reply *reply) {
	const char *app = NULL;
	const char *path = NULL;
	if (parent != UI_NONE && walk->nodes.node[parent].dropped) {
		return;
	}
	int r = bus_enter(reply, 'a', "(so)");
	for (int i = 0; r > 0 && i < COUNT_MAX; i++) {
		r = bus_read(reply, "(so)", &app, &path);
		if (r > 0) {
			take_child(walk, parent, app, path);
		}
	}
}

/* ---------------------------------------------------------------- answers to the second step */

static void take_bounds(struct ui_walk *walk, uint32_t number, struct bus_reply *reply) {
	struct ui_node *node = &walk->nodes.node[number];
	int32_t b[4] = {0, 0, 0, 0};
	node->has_bounds = bus_read(reply, "(iiii)", &b[0], &b[1], &b[2], &b[3]) > 0 && b[2] >= 0 &&
			   b[3] >= 0 && b[0] != INT32_MIN && b[1] != INT32_MIN;
	node->bounds = (struct rect){b[0], b[1], b[2], b[3]};
}

/* Chromium tells no localized names, which GetActions has, but the others one by one. Only the first
 * matters unless the node is the one that is meant. */
static void take_action_name(
	struct ui_walk *walk, uint32_t number, uint32_t which, struct bus_reply *reply) {
	struct ui_node *node = &walk->nodes.node[number];
	const char *name = NULL;
	if (which < node->action_count && bus_read(reply, "s", &name) > 0) {
		ui_nodes_text(&walk->nodes, &node->action[which], name, ACTION_NAME_MAX);
	}
}

static void ask_action_names(struct ui_walk *walk, uint32_t number) {
	const struct ui_node *node = &walk->nodes.node[number];
	for (uint32_t i = 0; i < (walk->one ? node->action_count : node->action_count > 0); i++) {
		if (node->action[i][0] == '\0') {
			const struct question name = {ACTION, "GetName", false, NULL, i};
			(void)!put(walk, number, &name, NULL);
		}
	}
}

static void take_actions(struct ui_walk *walk, uint32_t number, struct bus_reply *reply) {
	struct ui_node *node = &walk->nodes.node[number];
	const char *name = NULL;
	const char *rest[2] = {NULL, NULL};
	int r = bus_enter(reply, 'a', "(sss)");
	node->action_count = 0;
	while (r > 0 && node->action_count < UI_ACTIONS) {
		r = bus_read(reply, "(sss)", &name, &rest[0], &rest[1]);
		if (r > 0) {
			ui_nodes_text(&walk->nodes, &node->action[node->action_count], name,
				ACTION_NAME_MAX);
			node->action_count += node->action[node->action_count] != NULL;
		}
	}
	ask_action_names(walk, number);
}

static void take_pid(struct ui_walk *walk, uint32_t number, struct bus_reply *reply) {
	(void)!bus_read(reply, "u", &app_of(walk, number)->pid);
}

static void take_number(struct ui_walk *walk, uint32_t number, struct bus_reply *reply) {
	struct ui_node *node = &walk->nodes.node[number];
	double value = 0;
	char text[32];
	if (bus_read(reply, "v", "d", &value) > 0) {
		(void)snprintf(text, sizeof(text), "%.15g", value);
		ui_nodes_text(&walk->nodes, &node->value, text, CUA_UI_VALUE_MAX);
	}
}

static void take_text(struct ui_walk *walk, uint32_t number, struct bus_reply *reply) {
	const char *text = NULL;
	if (bus_read(reply, "s", &text) > 0) {
		ui_nodes_text(
			&walk->nodes, &walk->nodes.node[number].value, text, CUA_UI_VALUE_MAX);
	}
}

/* ---------------------------------------------------------------- who is asked what */

static const struct {
	enum ui_question bit;
	struct question question;
} facts[] = {
	{UI_ASK_STATES, {ACCESSIBLE, "GetState", false, take_state, 0}},
	{UI_ASK_ROLE, {ACCESSIBLE, "GetRole", false, take_role, 0}},
	{UI_ASK_NAME, {ACCESSIBLE, "Name", true, take_name, 0}},
	{UI_ASK_INTERFACES, {ACCESSIBLE, "GetInterfaces", false, take_interfaces, 0}},
};

static bool role_is_text(uint32_t role) {
	return role == CUA_UI_ROLE_TEXT || role == CUA_UI_ROLE_ENTRY ||
	       role == CUA_UI_ROLE_TERMINAL || role == CUA_UI_ROLE_PASSWORD_TEXT;
}

/* Labels have the text interface too, and their name says it all. */
bool ui_walk_holds_text(const struct ui_node *node) {
	return (node->interfaces & UI_TEXT) &&
	       ((node->states & CUA_UI_BIT(CUA_UI_STATE_EDITABLE)) || role_is_text(node->role));
}

/* Chromium gives an action to every paragraph; of what nobody can point at only the node that is meant
 * is asked. */
static bool acts(const struct ui_walk *walk, const struct ui_node *node) {
	static const uint64_t pointed_at =
		CUA_UI_BIT(CUA_UI_STATE_FOCUSABLE) | CUA_UI_BIT(CUA_UI_STATE_SELECTABLE) |
		CUA_UI_BIT(CUA_UI_STATE_CHECKABLE) | CUA_UI_BIT(CUA_UI_STATE_EXPANDABLE) |
		CUA_UI_BIT(CUA_UI_STATE_HAS_POPUP);
	return (node->interfaces & UI_ACTION) && (walk->one || (node->states & pointed_at));
}

static void ask_details(struct ui_walk *walk, uint32_t number) {
	static const struct question bounds = {COMPONENT, "GetExtents", false, take_bounds, 0};
	static const struct question actions = {ACTION, "GetActions", false, take_actions, 0};
	static const struct question value = {VALUE, "CurrentValue", true, take_number, 0};
	static const struct question text = {TEXT, "GetText", false, take_text, 0};
	const struct ui_node *node = &walk->nodes.node[number];
	const struct {
		bool wanted;
		const struct question *question;
	} details[] = {
		{(node->interfaces & UI_COMPONENT) != 0, &bounds},
		{acts(walk, node), &actions},
		{(node->interfaces & UI_VALUE) != 0, &value},
		{ui_walk_holds_text(node), &text},
	};
	for (size_t i = 0; i < CUA_COUNT(details); i++) {
		if (details[i].wanted) {
			(void)!put(walk, number, details[i].question, NULL);
		}
	}
}

/* A program's own node and its windows say what is in scope. */
static unsigned needed(const struct ui_walk *walk, const struct ui_node *node) {
	bool window = walk->config.scope != UI_SCOPE_ALL && node->depth <= 1;
	bool decides = !walk->config.hidden || window;
	if (!walk->walking || !walk->expand) {
		return 0;
	}
	return (decides ? UI_ASK_STATES : 0u) | (window ? UI_ASK_NAME : 0u);
}

static void ask_node(struct ui_walk *walk, uint32_t number) {
	static const struct question children = {
		ACCESSIBLE, "GetChildren", false, take_children, 0};
	unsigned ask = walk->ask | needed(walk, &walk->nodes.node[number]);
	for (size_t i = 0; i < CUA_COUNT(facts); i++) {
		if (ask & facts[i].bit) {
			(void)!put(walk, number, &facts[i].question, NULL);
		}
	}
	if (walk->walking && walk->expand) {
		(void)!put(walk, number, &children, NULL);
	}
	if (ask & UI_ASK_DETAILS) {
		ask_details(walk, number);
	}
}

static void ask_more(struct ui_walk *walk, struct ui_app *app) {
	while (!walk->over && !app->dead && app->first != UI_NONE && app->asked < WINDOW) {
		uint32_t number = app->first;
		app->first = walk->nodes.node[number].next;
		ask_node(walk, number);
	}
}

/* ---------------------------------------------------------------- steps */

/* Who has not answered anything by the end of the time does not answer. */
static void on_time(struct ui_walk *walk) {
	walk->nodes.cut |= CUA_UI_CUT_TIME;
	for (uint32_t i = 0; i < walk->nodes.app_count; i++) {
		struct ui_app *app = &walk->nodes.app[i];
		app->dead = app->dead || (app->asked > 0 && !app->answered);
	}
	end_step(walk);
}

static void on_timer(void *ctx) {
	struct ui_walk *walk = ctx;
	if (!walk->over) {
		on_time(walk);
	} else {
		walk->config.done(walk->config.ctx);
	}
}

static void begin_step(struct ui_walk *walk, uint64_t ms) {
	walk->over = false;
	loop_timer_start(walk->timer, ms);
}

static struct ui_walk *walk_alloc(const struct ui_walk_config *config, struct cua_err *err) {
	struct ui_walk *walk = calloc(1, sizeof(*walk));
	if (!walk) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a walk");
		return NULL;
	}
	walk->config = *config;
	(void)snprintf(walk->nodes.tag, sizeof(walk->nodes.tag), "%s", a11y_tag(config->a11y));
	walk->timer = loop_timer_new(config->loop, on_timer, walk, err);
	if (!walk->timer) {
		return ui_walk_free(walk);
	}
	walk->ask = config->ask;
	walk->walking = true;
	/* Three quarters of the time are for walking, the rest for what is asked afterwards. */
	begin_step(walk, config->ms - config->ms / 4);
	return walk;
}

struct ui_walk *ui_walk_new(const struct ui_walk_config *config, struct cua_err *err) {
	static const struct question programs = {
		ACCESSIBLE, "GetChildren", false, take_children, 0};
	struct ui_walk *walk = walk_alloc(config, err);
	if (walk) {
		walk->expand = true;
		if (put(walk, UI_NONE, &programs, err) < 0) {
			return ui_walk_free(walk);
		}
	}
	return walk;
}

struct ui_walk *ui_walk_node(
	const struct ui_walk_config *config, const char *id, struct cua_err *err) {
	char app[256];
	char path[256];
	if (!ui_nodes_parse_id(a11y_tag(config->a11y), id, app, path)) {
		(void)cua_err_about(err, CUA_NOT_FOUND, "id",
			"there is no node %.200s; ids come from ui_tree and ui_find, and end with "
			"their program",
			id);
		return NULL;
	}
	struct ui_walk *walk = walk_alloc(config, err);
	uint32_t number = walk ? ui_nodes_add(&walk->nodes, app, path, UI_NONE) : UI_NONE;
	if (number == UI_NONE) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a node");
		return ui_walk_free(walk);
	}
	walk->one = true;
	ask_pid(walk, number);
	ask_node(walk, number);
	end_if_done(walk);
	return walk;
}

struct ui_walk *ui_walk_free(struct ui_walk *walk) {
	if (walk) {
		while (walk->asks) {
			(void)bus_call_cancel(walk->asks->call);
			ask_drop(walk->asks);
		}
		walk->timer = loop_timer_free(walk->timer);
		ui_nodes_done(&walk->nodes);
	}
	free(walk);
	return NULL;
}

struct ui_nodes *ui_walk_nodes(struct ui_walk *walk) {
	return &walk->nodes;
}

bool ui_walk_failed(const struct ui_walk *walk, struct cua_err *ret_why) {
	*ret_why = walk->why;
	if (walk->why.code == CUA_OK && !ui_walk_bus(walk)) {
		(void)cua_err_set(ret_why, CUA_CONFLICT, "the accessibility bus is gone");
	}
	return ret_why->code != CUA_OK;
}

void ui_walk_ask(struct ui_walk *walk, const uint32_t *list, uint32_t count, unsigned ask) {
	walk->walking = false;
	walk->one = count == 1;
	walk->ask = ask;
	begin_step(walk, walk->config.ms / 4);
	for (uint32_t i = 0; i < walk->nodes.app_count; i++) {
		walk->nodes.app[i].asked = 0;
		walk->nodes.app[i].first = UI_NONE;
	}
	for (uint32_t i = 0; i < count; i++) {
		queue(walk, list[i]);
	}
	for (uint32_t i = 0; i < walk->nodes.app_count; i++) {
		ask_more(walk, &walk->nodes.app[i]);
	}
	end_if_done(walk);
}
