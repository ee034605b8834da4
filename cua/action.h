/* The action table: every action is one row, and JSON-RPC, HTTP, `cuactl do`, OpenAPI and the manual
 * are made from the rows.
 *
 * To add an action: a row in action.c (and, for a parameter name that does not exist yet, a field in
 * wire.proto), a function in the program that performs it (desktop/perform.c, or server/front for
 * commands and files), and a test. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/err.h"
#include "cua/msg.h"

/* Roles, each includes the ones before it. */
enum cua_role {
	CUA_ROLE_NONE = 0,
	CUA_ROLE_VIEWER,
	CUA_ROLE_AGENT,
	CUA_ROLE_OPERATOR,
	CUA_ROLE_ADMIN,
	CUA_ROLE_MAX_,
};

enum cua_action_id {
	CUA_ACTION_SCREENSHOT = 0,
	CUA_ACTION_SCREEN_SIZE,
	CUA_ACTION_CURSOR_POSITION,
	CUA_ACTION_MOVE,
	CUA_ACTION_CLICK,
	CUA_ACTION_MOUSE_DOWN,
	CUA_ACTION_MOUSE_UP,
	CUA_ACTION_DRAG,
	CUA_ACTION_SCROLL,
	CUA_ACTION_KEY,
	CUA_ACTION_KEY_DOWN,
	CUA_ACTION_KEY_UP,
	CUA_ACTION_TYPE,
	CUA_ACTION_PASTE,
	CUA_ACTION_RELEASE_ALL,
	CUA_ACTION_WAIT,
	CUA_ACTION_WAIT_SETTLED,
	CUA_ACTION_WAIT_FOR,
	CUA_ACTION_WINDOWS,
	CUA_ACTION_WINDOW_FOCUS,
	CUA_ACTION_WINDOW_MOVE,
	CUA_ACTION_WINDOW_RESIZE,
	CUA_ACTION_WINDOW_MINIMIZE,
	CUA_ACTION_WINDOW_MAXIMIZE,
	CUA_ACTION_WINDOW_RESTORE,
	CUA_ACTION_WINDOW_CLOSE,
	CUA_ACTION_WINDOW_SCREENSHOT,
	CUA_ACTION_SET_SCREEN,
	CUA_ACTION_CLIPBOARD_GET,
	CUA_ACTION_CLIPBOARD_SET,
	CUA_ACTION_UI_TREE,
	CUA_ACTION_UI_FIND,
	CUA_ACTION_UI_INVOKE,
	CUA_ACTION_UI_SET_VALUE,
	CUA_ACTION_UI_FOCUS,
	CUA_ACTION_LAUNCH,
	CUA_ACTION_EXEC,
	CUA_ACTION_FILE_READ,
	CUA_ACTION_FILE_WRITE,
	CUA_ACTION_FILE_APPEND,
	CUA_ACTION_FILE_LIST,
	CUA_ACTION_FILE_STAT,
	CUA_ACTION_FILE_REMOVE,
	CUA_ACTION_FILE_MKDIR,
	CUA_ACTION_FILE_MOVE,
	CUA_ACTION_BATCH,
	CUA_ACTION_MAX_,
};

/* Who performs an action. */
enum cua_performer {
	CUA_BY_DESKTOP, /* the worker, over E3 */
	CUA_BY_GUEST, /* cuad-init in the container, over E5 */
	CUA_BY_FRONT, /* cuad itself */
};

/* What the answer looks like. */
enum cua_result {
	CUA_RESULT_EFFECT, /* effect, changed, frame, settled, elapsed_ms */
	CUA_RESULT_PICTURE,
	CUA_RESULT_WAITED, /* what came, after wait_for */
	CUA_RESULT_SCREEN, /* width, height, dpi */
	CUA_RESULT_CURSOR, /* x, y, shape */
	CUA_RESULT_WINDOWS,
	CUA_RESULT_WINDOW, /* an effect's members, window or closed */
	CUA_RESULT_CLIPBOARD, /* text or data_b64, empty */
	CUA_RESULT_UI_TREE, /* nodes with their children */
	CUA_RESULT_UI_NODES, /* a flat list */
	CUA_RESULT_PID,
	CUA_RESULT_EXEC,
	CUA_RESULT_FILE_TEXT,
	CUA_RESULT_FILE_SIZE,
	CUA_RESULT_FILE_LIST,
	CUA_RESULT_FILE_STAT,
	CUA_RESULT_DONE, /* {} */
	CUA_RESULT_BATCH, /* list of the actions' results */
	CUA_RESULT_MAX_,
};

enum cua_param_kind {
	CUA_PARAM_INT, /* int32, uint32 or uint64 field by its width and sign */
	CUA_PARAM_UINT,
	CUA_PARAM_UINT64,
	CUA_PARAM_REAL, /* double */
	CUA_PARAM_BOOL,
	CUA_PARAM_STRING, /* bounded by the field, UTF-8 without NUL */
	CUA_PARAM_ENUM, /* one of `names`, position = value */
	CUA_PARAM_INTS, /* exactly `max` integers */
	CUA_PARAM_POINTS, /* [[x,y],…], at least `min`, at most `max` points */
	CUA_PARAM_KEYS, /* "ctrl+c" or a list of such; at most `max` */
	CUA_PARAM_STRINGS, /* list of bounded strings; at most `max` */
	CUA_PARAM_TEXT, /* blob: UTF-8 of at most `max` bytes */
	CUA_PARAM_DATA, /* blob: base64 in JSON, at most `max` bytes */
	CUA_PARAM_COMMAND, /* blob: list of strings, or one string = sh -c */
	CUA_PARAM_ENV, /* blob: object of strings */
	CUA_PARAM_ACTIONS, /* batch: list of actions, kept as JSON by the front */
	CUA_PARAM_PICTURE, /* true or an object of screenshot's parameters, kept as JSON by the front */
};

struct cua_param {
	const char *name;
	enum cua_param_kind kind;
	uint16_t field; /* offset of the value in cua_Args */
	uint16_t presence; /* offset of has_… or …_count */
	uint16_t item_size; /* STRING and STRINGS: size of one string with its NUL */
	bool required;
	bool coordinate; /* what lies beyond its range is out of the screen, not invalid */
	double min;
	double max;
	const char *fallback; /* the default as JSON text, for documents; applied by performers */
	const char *const *names; /* ENUM: NULL-terminated */
	const char *help;
};

struct cua_action {
	const char *name;
	const char *help; /* one sentence */
	enum cua_role role;
	enum cua_performer by;
	enum cua_result result;
	bool ordered; /* runs in the order sent on its connection */
	bool input; /* takes modifiers, settle, settle_max, space, screenshot as well */
	const struct cua_param *params;
	size_t param_count;
};

/* The row of an action; NULL for an id out of range. */
const struct cua_action *cua_action_get(unsigned id);
/* Id by name, or -1. */
int cua_action_find(const char *name);
/* The parameters that every input action takes besides its own. */
const struct cua_param *cua_input_params(size_t *ret_count);
/* A parameter of an action by name, the common input ones included; NULL if it has none such. */
const struct cua_param *cua_action_param(const struct cua_action *action, const char *name);
/* "viewer" and so on; "none" for the first. */
const char *cua_role_name(enum cua_role role);
/* Role by name, or -1. */
int cua_role_find(const char *name);
/* The name of a result shape for documents: "effect", "picture", … */
const char *cua_result_name(enum cua_result result);
/* Its members in one sentence, for documents. */
const char *cua_result_help(enum cua_result result);

/* An action with its parameters, as performers get it. blob[] views are owned by whoever filled
 * them (a message, or a cua_call). */
struct cua_call {
	const struct cua_action *action;
	unsigned id;
	cua_Args args;
	struct cua_span blob[CUA_MSG_BLOBS];
	size_t blob_count;
};

/* The blob that a parameter of kind TEXT, DATA, COMMAND or ENV refers to; empty if absent or if
 * the number is wrong. */
struct cua_span cua_call_blob(const struct cua_call *call, bool has, uint32_t number);
