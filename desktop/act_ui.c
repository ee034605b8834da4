/* Actions on accessible nodes: tell them, invoke, set, focus. All of it waits for other programs, so
 * each is a chain of callbacks that ends by resuming its job. */
#include <math.h>
#include <string.h>

#include "cua/ui.h"
#include "desktop/perform_priv.h"
#include "desktop/uifind.h"
#include "desktop/windows.h"

#define TIMEOUT_MS 2000
#define TREE_NODES 1000
#define FIND_NODES 100
/* Between two looks at whether a program has done what it was told. */
#define AGAIN_MS 20

struct act_ui;
typedef int act_ui_fn(struct act_ui *ui, struct cua_err *err);

/* How far setting a value by the keyboard is. */
enum typed {
	TYPED_NOT,
	TYPED_FOCUS, /* the node is to get the focus */
	TYPED_SELECT, /* what is there is to be selected */
	TYPED_TEXT,
};

struct act_ui {
	struct job *job;
	struct ui_find *find;
	act_ui_fn *found; /* what to do with what was found; 1: it goes on, 0: that is all */
	bool (*done_well)(
		struct act_ui *ui); /* whether the program has done it; NULL: not looked at */
	bool acting; /* the node has been told, and is looked at again */
	bool finished;
	enum typed typed;
	struct cua_err err; /* code CUA_OK: it went well */
	struct bus_call *call;
	struct loop_timer *again;
	uint64_t end_us; /* for the program to have done it */
	double number; /* the one to set */
	bool by_number;
	struct cua_span nodes;
};

static uint32_t timeout_of(const struct job *job) {
	return job->call.args.has_timeout ? job->call.args.timeout : TIMEOUT_MS;
}

/* Ends the chain; the job and this may be gone afterwards. */
static void finish(struct act_ui *ui, int r, const struct cua_err *err) {
	ui->finished = true;
	if (r < 0) {
		ui->err = *err;
	}
	job_resume(ui->job);
}

void act_ui_done(struct job *job) {
	struct act_ui *ui = job->ui;
	if (ui) {
		ui->call = bus_call_cancel(ui->call);
		ui->find = ui_find_free(ui->find);
		ui->again = loop_timer_free(ui->again);
		free((void *)(uintptr_t)ui->nodes.data);
		free(ui);
	}
	job->ui = NULL;
}

struct cua_span act_ui_nodes(const struct job *job) {
	return job->ui->nodes;
}

/* ---------------------------------------------------------------- the chain */

static uint32_t target_of(const struct act_ui *ui) {
	const uint32_t *list = NULL;
	uint32_t count = ui_find_list(ui->find, &list);
	return count > 0 ? list[0] : UI_NONE;
}

static struct ui_node *node_of(const struct act_ui *ui) {
	return &ui_find_nodes(ui->find)->node[target_of(ui)];
}

static int encode_nodes(struct act_ui *ui, bool flat, struct cua_err *err) {
	const uint32_t *list = NULL;
	uint32_t count = ui_find_list(ui->find, &list);
	free((void *)(uintptr_t)ui->nodes.data);
	ui->nodes = (struct cua_span){0};
	return ui_nodes_encode(ui_find_nodes(ui->find), list, count, flat, &ui->nodes, err);
}

/* Looks again until the program has done it or the time is over. */
static void look_again(struct act_ui *ui) {
	struct cua_err err = {0};
	if (ui->done_well(ui) && ui->typed == TYPED_FOCUS) {
		ui->typed = TYPED_SELECT;
		job_resume(ui->job);
	} else if (ui->done_well(ui)) {
		int r = encode_nodes(ui, true, &err);
		finish(ui, r, &err);
	} else if (loop_now_us() >= ui->end_us) {
		const struct ui_node *node = node_of(ui);
		int r = cua_err_set(&err, CUA_CONFLICT,
			"the %s \"%.100s\" did not do it: its value is \"%.100s\"",
			cua_ui_role_name(node->role), node->name ? node->name : "",
			node->value ? node->value : "");
		finish(ui, r, &err);
	} else {
		loop_timer_start(ui->again, AGAIN_MS);
	}
}

static void on_again(void *ctx) {
	struct act_ui *ui = ctx;
	ui_find_refresh(ui->find);
}

static void on_found(void *ctx) {
	struct act_ui *ui = ctx;
	struct cua_err err = {0};
	int r = ui_find_result(ui->find, &err);
	if (r == 0 && ui->acting) {
		look_again(ui);
		return;
	}
	if (r == 0) {
		r = ui->found(ui, &err);
	}
	if (r <= 0) {
		finish(ui, r, &err);
	}
}

/* What the window manager knows about the active window. */
static struct ui_window active_window(struct job *job) {
	struct ui_window active = {0};
	cua_ActionResult *room = job->result; /* made anew for every step */
	struct cua_err ignored;
	size_t count = 0;
	if (windows_list(job->scene->x, room->windows, CUA_COUNT(room->windows), &count, &ignored) <
		0) {
		return active;
	}
	for (size_t i = 0; i < count; i++) {
		if (room->windows[i].active) {
			active.pid = room->windows[i].has_pid ? room->windows[i].pid : 0;
			(void)snprintf(
				active.title, sizeof(active.title), "%s", room->windows[i].title);
		}
	}
	return active;
}

static int begin(struct job *job, const struct ui_find_config *wanted, act_ui_fn *found,
	struct cua_err *err) {
	struct act_ui *ui = calloc(1, sizeof(*ui));
	struct ui_find_config config = *wanted;
	if (!ui) {
		(void)ui_query_free(config.query);
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for an action");
	}
	job->ui = ui;
	ui->job = job;
	ui->found = found;
	ui->again = loop_timer_new(job_loop(job), on_again, ui, err);
	config.loop = job_loop(job);
	config.a11y = job_a11y(job);
	config.ms = timeout_of(job);
	config.active = active_window(job);
	config.done = on_found;
	config.ctx = ui;
	ui->find = ui_find_new(&config, err);
	return ui->again && ui->find ? JOB_WAITS : -CUA_EXHAUSTED;
}

/* The step of a job whose chain has begun. */
static int go_on(struct job *job, struct cua_err *err) {
	const struct act_ui *ui = job->ui;
	if (!ui->finished) {
		return JOB_WAITS;
	}
	if (ui->err.code != CUA_OK) {
		*err = ui->err;
		return -(int)ui->err.code;
	}
	struct ui_nodes *nodes = ui_find_nodes(ui->find);
	job->result->has_ui_cut = nodes->cut != 0 && !job->call.action->input;
	job->result->ui_cut = nodes->cut;
	return 0;
}

/* ---------------------------------------------------------------- telling */

static enum ui_scope scope_of(const cua_Args *args, enum ui_scope fallback) {
	return args->has_ui_scope ? (enum ui_scope)args->ui_scope : fallback;
}

/* A program that does not answer cannot tell its name; its windows do. */
static void name_the_silent(struct act_ui *ui) {
	struct ui_nodes *nodes = ui_find_nodes(ui->find);
	cua_ActionResult *room = ui->job->result;
	struct cua_err ignored;
	size_t count = 0;
	bool any = false;
	for (uint32_t i = 0; i < nodes->app_count; i++) {
		any = any || nodes->app[i].dead;
	}
	if (!any || !ui->job->scene->x ||
		windows_list(ui->job->scene->x, room->windows, CUA_COUNT(room->windows), &count,
			&ignored) < 0) {
		return;
	}
	for (uint32_t i = 0; i < nodes->app_count; i++) {
		struct ui_node *root = &nodes->node[nodes->app[i].root];
		for (size_t k = 0; k < count; k++) {
			if (nodes->app[i].dead && !root->name && nodes->app[i].pid != 0 &&
				room->windows[k].pid == nodes->app[i].pid) {
				ui_nodes_text(nodes, &root->name, room->windows[k].title,
					CUA_UI_NAME_MAX);
				root->role = CUA_UI_ROLE_APPLICATION;
			}
		}
	}
}

static int tell_tree(struct act_ui *ui, struct cua_err *err) {
	name_the_silent(ui);
	return encode_nodes(ui, false, err);
}

static int tell_list(struct act_ui *ui, struct cua_err *err) {
	return encode_nodes(ui, true, err);
}

int act_ui_tree(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	if (job->ui) {
		return go_on(job, err);
	}
	return begin(job,
		&(struct ui_find_config){
			.scope = scope_of(args, UI_SCOPE_WINDOW),
			/* the first level is the programs' own */
			.depth = (args->has_max_depth ? args->max_depth : CUA_UI_DEPTH_MAX) - 1,
			.max = args->has_max_nodes ? args->max_nodes : TREE_NODES,
			.hidden = args->has_hidden && args->hidden,
		},
		tell_tree, err);
}

/* A query of the action's parameters. */
static int begin_query(
	struct job *job, struct ui_find_config *config, act_ui_fn *found, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	config->query = ui_query_new(args, err);
	if (!config->query) {
		return -(int)err->code;
	}
	config->scope = scope_of(args, UI_SCOPE_ALL);
	config->depth = CUA_UI_DEPTH_MAX;
	config->hidden = !args->has_hidden || args->hidden;
	return begin(job, config, found, err);
}

int act_ui_find(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	if (job->ui) {
		return go_on(job, err);
	}
	struct ui_find_config config = {.max = args->has_max_nodes ? args->max_nodes : FIND_NODES};
	return begin_query(job, &config, tell_list, err);
}

/* ---------------------------------------------------------------- one node */

static bool can_act(const struct ui_node *node) {
	return (node->interfaces & UI_ACTION) != 0;
}

static bool can_be_typed(const struct ui_node *node) {
	return (node->interfaces & UI_TEXT) && (node->interfaces & UI_COMPONENT) &&
	       (node->states & CUA_UI_BIT(CUA_UI_STATE_EDITABLE));
}

static bool can_be_set(const struct ui_node *node) {
	return (node->interfaces & (UI_VALUE | UI_EDITABLE_TEXT)) || can_be_typed(node);
}

static bool can_have_focus(const struct ui_node *node) {
	return (node->interfaces & UI_COMPONENT) &&
	       (node->states & CUA_UI_BIT(CUA_UI_STATE_FOCUSABLE));
}

static int refuse_ambiguous(
	const struct ui_nodes *nodes, const uint32_t list[2], uint32_t count, struct cua_err *err) {
	char id[2][96] = {"", ""};
	const char *name[2] = {"", ""};
	const char *role[2] = {"", ""};
	for (int i = 0; i < 2; i++) {
		const struct ui_node *node = &nodes->node[list[i]];
		(void)ui_nodes_id(nodes, list[i], id[i], sizeof(id[i]));
		name[i] = node->name ? node->name : "";
		role[i] = cua_ui_role_name(node->role);
	}
	return cua_err_about(err, CUA_CONFLICT, "name",
		"%u nodes match, such as %s (%s \"%.60s\") and %s (%s \"%.60s\"); give an id or "
		"more of "
		"role, name, states",
		count, id[0], role[0], name[0], id[1], role[1], name[1]);
}

/* ---- which one of several is meant: each rule leaves some of them, or does not apply ---- */

typedef bool prefers(const struct act_ui *ui, uint32_t number, uint32_t first);

static bool prefers_exact(const struct act_ui *ui, uint32_t number, uint32_t first) {
	const struct ui_node *node = &ui_find_nodes(ui->find)->node[number];
	const cua_Args *args = &ui->job->call.args;
	(void)first;
	return args->has_node_name && node->name && strcmp(node->name, args->node_name) == 0;
}

static bool prefers_showing(const struct act_ui *ui, uint32_t number, uint32_t first) {
	(void)first;
	return (ui_find_nodes(ui->find)->node[number].states & CUA_UI_BIT(CUA_UI_STATE_SHOWING)) !=
	       0;
}

/* The text in a link is no other target than the link. */
static bool prefers_outermost(const struct act_ui *ui, uint32_t number, uint32_t first) {
	const struct ui_nodes *nodes = ui_find_nodes(ui->find);
	for (uint32_t up = nodes->node[number].parent; up != UI_NONE; up = nodes->node[up].parent) {
		if (up == first) {
			return false;
		}
	}
	return true;
}

static void prefer(struct act_ui *ui, prefers *rule) {
	const uint32_t *list = NULL;
	uint32_t count = ui_find_list(ui->find, &list);
	_cleanup_free_ uint32_t *kept = malloc((count + 1) * sizeof(*kept));
	uint32_t n = 0;
	for (uint32_t i = 0; kept && i < count; i++) {
		if (rule(ui, list[i], list[0])) {
			kept[n++] = list[i];
		}
	}
	if (n > 0) {
		ui_find_choose(ui->find, kept, n);
	}
}

/* Exactly one node must be meant. */
static int choose(struct act_ui *ui, struct cua_err *err) {
	const uint32_t *list = NULL;
	const struct ui_nodes *nodes = ui_find_nodes(ui->find);
	prefer(ui, prefers_exact);
	prefer(ui, prefers_showing);
	prefer(ui, prefers_outermost);
	uint32_t count = ui_find_list(ui->find, &list);
	if (count == 0) {
		return cua_err_about(err, CUA_NOT_FOUND, "name",
			"no accessible node matches that can do this%s",
			nodes->cut & CUA_UI_CUT_TIME ? "; not all programs answered in time" : "");
	}
	return count > 1 ? refuse_ambiguous(nodes, list, count, err) : 0;
}

static int begin_target(
	struct job *job, ui_find_fits *fits, act_ui_fn *found, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	struct ui_find_config config = {.max = FIND_NODES};
	if (args->has_node) {
		config.id = args->node;
		return begin(job, &config, found, err);
	}
	if (!args->has_role && !args->has_node_name && args->states_count == 0) {
		return cua_err_about(
			err, CUA_INVALID, "id", "which node? give its id, or role, name or states");
	}
	config.fits = fits;
	return begin_query(job, &config, found, err);
}

static void on_told(void *ctx, struct bus_reply *reply, const struct cua_err *err) {
	struct act_ui *ui = ctx;
	struct cua_err own = {0};
	int yes = 1;
	int r = 0;
	ui->call = NULL;
	if (!reply) {
		own = *err;
		(void)cua_err_prefix(&own, "the program");
		r = -(int)own.code;
	} else if (bus_read(reply, "b", &yes) > 0 && !yes) {
		r = cua_err_set(
			&own, CUA_CONFLICT, "the program refused: the node may be disabled");
	}
	if (r < 0 || !ui->done_well) {
		r = r < 0 ? r : encode_nodes(ui, true, &own);
		finish(ui, r, &own);
		return;
	}
	ui->acting = true;
	ui_find_refresh(ui->find);
}

static const char *app_name(const struct act_ui *ui) {
	return ui_find_nodes(ui->find)->app[node_of(ui)->app].name;
}

/* Tells the node to do something. done_well is asked afterwards until it says yes. Returns 1. */
#define TELL(ui, interface, member, ...)                                                           \
	tell(ui, bus_call(ui_find_bus(ui->find),                                                   \
			 &(struct bus_method){app_name(ui), node_of(ui)->path, interface, member}, \
			 &(struct bus_wait){.ms = timeout_of(ui->job), .fn = on_told, .ctx = ui},  \
			 err, __VA_ARGS__))

static int tell(struct act_ui *ui, struct bus_call *call) {
	ui->call = call;
	ui->end_us = loop_now_us() + (uint64_t)timeout_of(ui->job) * 1000;
	return call ? 1 : -CUA_INTERNAL;
}

static int ready_to_tell(struct act_ui *ui, struct cua_err *err) {
	int r = choose(ui, err);
	if (r == 0 && !ui_find_bus(ui->find)) {
		r = cua_err_set(err, CUA_CONFLICT, "the accessibility bus is gone");
	}
	return r;
}

/* ---------------------------------------------------------------- invoke */

/* The action that a click would do; the first one when none of the usual names is there. */
static int usual_action(const struct ui_node *node) {
	static const char *const usual[] = {"click", "press", "activate", "jump", "open", "toggle",
		"select", "doDefault", "invoke"};
	for (size_t i = 0; i < CUA_COUNT(usual); i++) {
		for (int k = 0; k < node->action_count; k++) {
			if (cua_ui_names_equal(node->action[k], usual[i])) {
				return k;
			}
		}
	}
	return 0;
}

static int find_action(const struct act_ui *ui, struct cua_err *err) {
	const struct ui_node *node = node_of(ui);
	const cua_Args *args = &ui->job->call.args;
	if (node->action_count == 0) {
		return cua_err_set(err, CUA_INVALID, "the %s \"%.100s\" has no actions",
			cua_ui_role_name(node->role), node->name ? node->name : "");
	}
	if (!args->has_verb) {
		return usual_action(node);
	}
	for (int k = 0; k < node->action_count; k++) {
		if (cua_ui_names_equal(node->action[k], args->verb)) {
			return k;
		}
	}
	return cua_err_about(err, CUA_INVALID, "verb",
		"the node has no action %.63s; its first is %s", args->verb, node->action[0]);
}

static int invoke(struct act_ui *ui, struct cua_err *err) {
	int r = ready_to_tell(ui, err);
	int action = r == 0 ? find_action(ui, err) : r;
	return action < 0 ? action
			  : TELL(ui, "org.a11y.atspi.Action", "DoAction", "i", (int32_t)action);
}

int act_ui_invoke(struct job *job, struct cua_err *err) {
	return job->ui ? go_on(job, err) : begin_target(job, can_act, invoke, err);
}

/* ---------------------------------------------------------------- set */

/* What is kept of a node's value is its beginning; a password is not told. */
static bool value_is_set(struct act_ui *ui) {
	const struct ui_node *node = node_of(ui);
	const char *value = node->value ? node->value : "";
	const char *text = ui->job->text;
	if (ui->by_number) {
		return fabs(strtod(value, NULL) - ui->number) < 1e-6;
	}
	if (node->role == CUA_UI_ROLE_PASSWORD_TEXT) {
		return true;
	}
	size_t len = strlen(value);
	return strlen(text) < CUA_UI_VALUE_MAX ? strcmp(value, text) == 0
					       : len > 0 && strncmp(value, text, len) == 0;
}

static bool read_number(const char *text, double *ret) {
	char *end = NULL;
	*ret = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*ret);
}

static bool has_focus(struct act_ui *ui) {
	return (node_of(ui)->states & CUA_UI_BIT(CUA_UI_STATE_FOCUSED)) != 0;
}

static int focus(struct act_ui *ui, struct cua_err *err) {
	int r = ready_to_tell(ui, err);
	if (r < 0) {
		return r;
	}
	ui->done_well = has_focus;
	return TELL(ui, "org.a11y.atspi.Component", "GrabFocus", "");
}

/* ---- Chromium lets nobody set its texts: they are typed into the node, over what is there ---- */

static int begin_typing(struct act_ui *ui, struct cua_err *err) {
	const struct ui_node *node = node_of(ui);
	if ((node->states & CUA_UI_BIT(CUA_UI_STATE_SINGLE_LINE)) && strchr(ui->job->text, '\n')) {
		return cua_err_about(err, CUA_INVALID, "value", "the %s \"%.100s\" has one line",
			cua_ui_role_name(node->role), node->name ? node->name : "");
	}
	ui->typed = TYPED_FOCUS;
	return focus(ui, err);
}

/* Keys go to the active window, so it must be the node's. */
static int check_window(const struct act_ui *ui, struct cua_err *err) {
	uint32_t pid = ui_find_nodes(ui->find)->app[node_of(ui)->app].pid;
	const struct ui_window active = active_window(ui->job);
	if (active.pid != 0 && pid != 0 && active.pid != pid) {
		return cua_err_set(err, CUA_CONFLICT,
			"the node's window is not the active one, so nothing can be typed there; "
			"give "
			"it the focus first");
	}
	return 0;
}

static int strike(struct job *job, const char *keys, struct cua_err *err) {
	struct keymap_chord chord;
	int r = keymap_chord(keys, &chord, err);
	if (r == 0) {
		r = input_keys_down(job->scene->input, job->lease, &chord, err);
	}
	if (r == 0) {
		input_keys_up(job->scene->input, job->lease, &chord);
	}
	return r;
}

static int select_all(struct act_ui *ui, struct cua_err *err) {
	struct job *job = ui->job;
	int r = check_window(ui, err);
	if (r == 0) {
		r = strike(job, "ctrl+a", err);
	}
	if (r != 0) {
		return r;
	}
	ui->typed = TYPED_TEXT;
	if (job->text[0] == '\0') {
		return strike(job, "Delete", err);
	}
	job->typing = typing_start(job->scene->input, job->call.blob[0], 0, err);
	return job->typing ? 0 : -(int)err->code;
}

/* A step of the job while it types. */
static int type_value(struct act_ui *ui, struct cua_err *err) {
	struct job *job = ui->job;
	int r = ui->typed == TYPED_SELECT ? select_all(ui, err) : 0;
	if (r == 0 && job->typing) {
		r = typing_step(job->typing, err);
	}
	if (r != 0) {
		return r;
	}
	job->typing = typing_free(job->typing);
	ui->typed = TYPED_NOT;
	ui->done_well = value_is_set;
	ui->end_us = loop_now_us() + (uint64_t)timeout_of(job) * 1000;
	ui_find_refresh(ui->find);
	return JOB_WAITS;
}

static int set_value(struct act_ui *ui, struct cua_err *err) {
	int r = ready_to_tell(ui, err);
	if (r < 0) {
		return r;
	}
	struct ui_node *node = node_of(ui);
	bool number = read_number(ui->job->text, &ui->number);
	ui->done_well = value_is_set;
	ui->by_number = (node->interfaces & UI_VALUE) && number;
	if (ui->by_number) {
		/* Its text, if it has one too, may be rounded. */
		node->interfaces &= ~(unsigned)UI_TEXT;
		return TELL(ui, "org.freedesktop.DBus.Properties", "Set", "ssv",
			"org.a11y.atspi.Value", "CurrentValue", "d", ui->number);
	}
	if (node->interfaces & UI_EDITABLE_TEXT) {
		return TELL(
			ui, "org.a11y.atspi.EditableText", "SetTextContents", "s", ui->job->text);
	}
	if (can_be_typed(node)) {
		return begin_typing(ui, err);
	}
	return cua_err_about(err, CUA_INVALID, "value",
		node->interfaces & UI_VALUE ? "the %s \"%.100s\" takes a number"
					    : "the %s \"%.100s\" has no value that can be set",
		cua_ui_role_name(node->role), node->name ? node->name : "");
}

int act_ui_set_value(struct job *job, struct cua_err *err) {
	if (job->ui && job->ui->typed > TYPED_FOCUS) {
		return type_value(job->ui, err);
	}
	return job->ui ? go_on(job, err) : begin_target(job, can_be_set, set_value, err);
}

/* ---------------------------------------------------------------- focus */

int act_ui_focus(struct job *job, struct cua_err *err) {
	return job->ui ? go_on(job, err) : begin_target(job, can_have_focus, focus, err);
}
