/* The action table. Rows only: what they mean is in action.h, parsing in action_json.c. */
#include "cua/action.h"

#include <string.h>

#define FIELD(f) .field = (uint16_t)offsetof(cua_Args, f)
#define HAS(f) FIELD(f), .presence = (uint16_t)offsetof(cua_Args, has_##f)
#define MANY(f) FIELD(f), .presence = (uint16_t)offsetof(cua_Args, f##_count)
#define STRING_OF(f) HAS(f), .item_size = (uint16_t)sizeof(((cua_Args *)0)->f)
#define STRINGS_OF(f) MANY(f), .item_size = (uint16_t)sizeof(((cua_Args *)0)->f[0])

static const char *const buttons[] = {"left", "middle", "right", "back", "forward", NULL};
static const char *const formats[] = {"png", "jpeg", "webp", NULL};
static const char *const selections[] = {"clipboard", "primary", NULL};
static const char *const ui_scopes[] = {"focused", "window", "all", NULL};
static const char *const ui_matches[] = {"substring", "exact", "regex", NULL};
static const char *const encodings[] = {"auto", "text", "base64", NULL};

#define COORD_MAX CUA_SCREEN_MAX_W
#define X_OPT                                                                                      \
	{                                                                                          \
		.name = "x", .kind = CUA_PARAM_INT, HAS(x), .min = -COORD_MAX, .max = COORD_MAX,   \
		.coordinate = true,                                                                \
		.help = "Column in pixels from the left; the pointer's own position without it."   \
	}
#define Y_OPT                                                                                      \
	{                                                                                          \
		.name = "y", .kind = CUA_PARAM_INT, HAS(y), .min = -COORD_MAX, .max = COORD_MAX,   \
		.coordinate = true,                                                                \
		.help = "Row in pixels from the top; given together with x or not at all."         \
	}
#define BUTTON                                                                                     \
	{                                                                                          \
		.name = "button", .kind = CUA_PARAM_ENUM, HAS(button), .names = buttons,           \
		.fallback = "\"left\"", .help = "The mouse button."                                \
	}
#define PATH                                                                                       \
	{                                                                                          \
		.name = "path", .kind = CUA_PARAM_STRING, STRING_OF(path), .required = true,       \
		.help = "Path in the session; a relative one starts at the agent's home."          \
	}
#define CWD                                                                                        \
	{                                                                                          \
		.name = "cwd", .kind = CUA_PARAM_STRING, STRING_OF(cwd), .fallback = "\"~\"",      \
		.help = "Working directory; the user's home without it."                           \
	}
#define ENVIRONMENT                                                                                \
	{                                                                                          \
		.name = "env", .kind = CUA_PARAM_ENV, HAS(env),                                    \
		.help = "Variables added to the session's environment."                            \
	}
#define SELECTION                                                                                  \
	{                                                                                          \
		.name = "selection", .kind = CUA_PARAM_ENUM, HAS(selection), .names = selections,  \
		.fallback = "\"clipboard\"",                                                       \
		.help = "The clipboard, or what is selected and pasted by the middle button."      \
	}
#define SETTLE                                                                                     \
	{                                                                                          \
		.name = "settle", .kind = CUA_PARAM_UINT, HAS(settle), .max = CUA_WAIT_MAX_MS,     \
		.fallback = "0",                                                                   \
		.help = "Milliseconds without a change to wait for before answering. What moves "  \
			"by itself does not count; input that has shown nothing yet gets 200 ms "  \
			"to."                                                                      \
	}
#define SETTLE_MAX                                                                                 \
	{                                                                                          \
		.name = "settle_max", .kind = CUA_PARAM_UINT, HAS(settle_max),                     \
		.max = CUA_WAIT_MAX_MS, .fallback = "2000",                                        \
		.help = "Longest wait for `settle`, in milliseconds."                              \
	}
#define FORMAT                                                                                     \
	{                                                                                          \
		.name = "format", .kind = CUA_PARAM_ENUM, HAS(format), .names = formats,           \
		.fallback = "\"png\"", .help = "Encoding of the picture."                          \
	}
#define QUALITY                                                                                    \
	{                                                                                          \
		.name = "quality", .kind = CUA_PARAM_UINT, HAS(quality), .min = 1, .max = 100,     \
		.fallback = "80", .help = "Quality of JPEG and WebP."                              \
	}
#define SCALE                                                                                      \
	{                                                                                          \
		.name = "scale", .kind = CUA_PARAM_REAL, HAS(scale), .min = 0.05, .max = 1,        \
		.fallback = "1", .help = "Factor by which the picture is made smaller."            \
	}
#define MAX_SIZE                                                                                   \
	{                                                                                          \
		.name = "max", .kind = CUA_PARAM_INTS, MANY(max), .max = 2, .min = 1,              \
		.help = "[width,height]: made smaller to fit, keeping its proportions."            \
	}
#define WINDOW_ID                                                                                  \
	{                                                                                          \
		.name = "id", .kind = CUA_PARAM_UINT, HAS(id), .required = true, .min = 1,         \
		.max = UINT32_MAX, .help = "The window's id, from `windows`."                      \
	}
#define SIZE(f, least, most, text)                                                                 \
	{                                                                                          \
		.name = #f, .kind = CUA_PARAM_UINT, HAS(f), .required = true, .min = (least),      \
		.max = (most), .help = (text)                                                      \
	}

static const struct cua_param input_params[] = {
	{.name = "modifiers",
		.kind = CUA_PARAM_STRINGS,
		STRINGS_OF(modifiers),
		.max = 8,
		.help = "Keys held during the action, for example [\"ctrl\"]."},
	SETTLE,
	SETTLE_MAX,
	{.name = "screenshot",
		.kind = CUA_PARAM_PICTURE,
		.fallback = "false",
		.help = "true or an object of screenshot's parameters: answer with the picture "
			"too."},
	{.name = "space",
		.kind = CUA_PARAM_INTS,
		MANY(space),
		.max = 2,
		.min = 1,
		.help = "{width,height} or [w,h] of the picture that the coordinates refer to."},
};

static const struct cua_param screenshot_params[] = {
	FORMAT,
	QUALITY,
	{.name = "region",
		.kind = CUA_PARAM_INTS,
		MANY(region),
		.max = 4,
		.min = 0,
		.help = "[x,y,width,height]: only this part of the screen."},
	SCALE,
	MAX_SIZE,
	{.name = "cursor",
		.kind = CUA_PARAM_BOOL,
		HAS(cursor),
		.fallback = "false",
		.help = "Draw the mouse cursor into the picture."},
	SETTLE,
	SETTLE_MAX,
	{.name = "if_changed_since",
		.kind = CUA_PARAM_UINT64,
		HAS(if_changed_since),
		.max = 9007199254740991.0,
		.help = "Frame number of the last picture: answer {\"unchanged\":true} if it is "
			"still right."},
};

static const struct cua_param move_params[] = {
	{.name = "x",
		.kind = CUA_PARAM_INT,
		HAS(x),
		.required = true,
		.min = -COORD_MAX,
		.max = COORD_MAX,
		.coordinate = true,
		.help = "Column in pixels from the left."},
	{.name = "y",
		.kind = CUA_PARAM_INT,
		HAS(y),
		.required = true,
		.min = -COORD_MAX,
		.max = COORD_MAX,
		.coordinate = true,
		.help = "Row in pixels from the top."},
	{.name = "relative",
		.kind = CUA_PARAM_BOOL,
		HAS(relative),
		.fallback = "false",
		.help = "x and y are steps from the pointer's position."},
};

static const struct cua_param click_params[] = {
	X_OPT,
	Y_OPT,
	BUTTON,
	{.name = "count",
		.kind = CUA_PARAM_UINT,
		HAS(count),
		.min = 1,
		.max = 3,
		.fallback = "1",
		.help = "1 single, 2 double, 3 triple click."},
};

static const struct cua_param mouse_button_params[] = {X_OPT, Y_OPT, BUTTON};

static const struct cua_param drag_params[] = {
	{.name = "path",
		.kind = CUA_PARAM_POINTS,
		MANY(path_points),
		.coordinate = true,
		.required = true,
		.min = 2,
		.max = CUA_PATH_POINTS,
		.help = "Points [[x,y],…] from the press to the release."},
	BUTTON,
	{.name = "duration",
		.kind = CUA_PARAM_UINT,
		HAS(duration),
		.max = 30000,
		.fallback = "300",
		.help = "Milliseconds that the motion takes; at least 150."},
};

static const struct cua_param scroll_params[] = {
	X_OPT,
	Y_OPT,
	{.name = "dx",
		.kind = CUA_PARAM_INT,
		HAS(dx),
		.min = -100,
		.max = 100,
		.fallback = "0",
		.help = "Wheel clicks to the right; negative: left."},
	{.name = "dy",
		.kind = CUA_PARAM_INT,
		HAS(dy),
		.min = -100,
		.max = 100,
		.fallback = "0",
		.help = "Wheel clicks down; negative: up."},
};

static const struct cua_param key_params[] = {
	{.name = "keys",
		.kind = CUA_PARAM_KEYS,
		STRINGS_OF(keys),
		.required = true,
		.max = 16,
		.help = "\"ctrl+shift+t\", or a list of such, pressed one after the other."},
	{.name = "repeat",
		.kind = CUA_PARAM_UINT,
		HAS(repeat),
		.min = 1,
		.max = 1000,
		.fallback = "1",
		.help = "How often."},
	{.name = "hold",
		.kind = CUA_PARAM_UINT,
		HAS(hold),
		.max = 30000,
		.fallback = "0",
		.help = "Milliseconds between press and release."},
};

static const struct cua_param one_key_params[] = {
	{.name = "key",
		.kind = CUA_PARAM_KEYS,
		STRINGS_OF(keys),
		.required = true,
		.max = 1,
		.help = "Name of one key."},
};

static const struct cua_param type_params[] = {
	{.name = "text",
		.kind = CUA_PARAM_TEXT,
		HAS(text),
		.required = true,
		.max = CUA_TEXT_MAX,
		.help = "Any Unicode text; newline is Return, tab is Tab."},
	{.name = "delay",
		.kind = CUA_PARAM_UINT,
		HAS(delay),
		.max = 1000,
		.fallback = "0",
		.help = "Milliseconds per character."},
};

static const struct cua_param paste_params[] = {
	{.name = "text",
		.kind = CUA_PARAM_TEXT,
		HAS(text),
		.required = true,
		.max = CUA_CLIPBOARD_MAX,
		.help = "Any Unicode text."},
	{.name = "keys",
		.kind = CUA_PARAM_KEYS,
		STRINGS_OF(keys),
		.max = 1,
		.help = "The combination that pastes; without it the one of the program that has "
			"the keyboard, as far as it is known, else ctrl+v."},
};

static const struct cua_param clipboard_get_params[] = {SELECTION};

static const struct cua_param clipboard_set_params[] = {
	{.name = "text",
		.kind = CUA_PARAM_TEXT,
		HAS(text),
		.required = true,
		.max = CUA_CLIPBOARD_MAX,
		.help = "Any Unicode text."},
	SELECTION,
};

static const struct cua_param wait_params[] = {
	{.name = "ms",
		.kind = CUA_PARAM_UINT,
		HAS(ms),
		.required = true,
		.max = CUA_WAIT_MAX_MS,
		.help = "Milliseconds to wait."},
};

static const struct cua_param wait_settled_params[] = {
	{.name = "quiet",
		.kind = CUA_PARAM_UINT,
		HAS(quiet),
		.min = 1,
		.max = CUA_WAIT_MAX_MS,
		.fallback = "200",
		.help = "Milliseconds without any change."},
	{.name = "max",
		.kind = CUA_PARAM_UINT,
		HAS(settle_max),
		.max = CUA_WAIT_MAX_MS,
		.fallback = "5000",
		.help = "Longest wait in milliseconds."},
};

static const struct cua_param windows_params[] = {
	{.name = "all",
		.kind = CUA_PARAM_BOOL,
		HAS(all),
		.fallback = "false",
		.help = "Panels (type dock) and the background (type desktop), too."},
};

static const struct cua_param window_params[] = {WINDOW_ID};

static const struct cua_param window_move_params[] = {
	WINDOW_ID,
	{.name = "x",
		.kind = CUA_PARAM_INT,
		HAS(x),
		.required = true,
		.min = -COORD_MAX,
		.max = COORD_MAX,
		.help = "Column of the left edge without the frame; may be outside the screen."},
	{.name = "y",
		.kind = CUA_PARAM_INT,
		HAS(y),
		.required = true,
		.min = -COORD_MAX,
		.max = COORD_MAX,
		.help = "Row of the top edge without the frame; may be outside the screen."},
};

static const struct cua_param window_resize_params[] = {
	WINDOW_ID,
	SIZE(width, 1, CUA_SCREEN_MAX_W, "Width in pixels without the frame."),
	SIZE(height, 1, CUA_SCREEN_MAX_H, "Height in pixels without the frame."),
};

static const struct cua_param window_close_params[] = {
	WINDOW_ID,
	{.name = "force",
		.kind = CUA_PARAM_BOOL,
		HAS(force),
		.fallback = "false",
		.help = "Without asking the program: all of its windows go."},
};

static const struct cua_param window_screenshot_params[] = {
	WINDOW_ID, FORMAT, QUALITY, SCALE, MAX_SIZE};

static const struct cua_param set_screen_params[] = {
	SIZE(width, CUA_SCREEN_MIN_W, CUA_SCREEN_MAX_W, "Width, at most that of screen_max."),
	SIZE(height, CUA_SCREEN_MIN_H, CUA_SCREEN_MAX_H, "Height, at most that of screen_max."),
};

static const struct cua_param wait_for_params[] = {
	{.name = "window",
		.kind = CUA_PARAM_STRING,
		STRING_OF(window),
		.help = "A part of a window's title or program's name, whatever its case."},
	{.name = "text",
		.kind = CUA_PARAM_TEXT,
		HAS(text),
		.max = CUA_TITLE_SIZE,
		.help = "A text that an accessible program shows."},
	{.name = "region_changed",
		.kind = CUA_PARAM_INTS,
		MANY(region_changed),
		.max = 4,
		.min = 0,
		.help = "[x,y,width,height]: any change in this part of the screen."},
	{.name = "timeout",
		.kind = CUA_PARAM_UINT,
		HAS(timeout),
		.max = CUA_WAIT_MAX_MS,
		.fallback = "10000",
		.help = "Milliseconds after which it is an error."},
};

#define UI_SCOPE(standard)                                                                         \
	{                                                                                          \
		.name = "scope", .kind = CUA_PARAM_ENUM, HAS(ui_scope), .names = ui_scopes,        \
		.fallback = (standard),                                                            \
		.help = "The node that has the focus, the active window, or all programs."         \
	}
#define UI_DEPTH                                                                                   \
	{                                                                                          \
		.name = "max_depth", .kind = CUA_PARAM_UINT, HAS(max_depth), .min = 1,             \
		.max = CUA_UI_DEPTH_MAX, .fallback = "100",                                        \
		.help = "Levels of nodes; what lies below is left out."                            \
	}
#define UI_NODES(standard)                                                                         \
	{                                                                                          \
		.name = "max_nodes", .kind = CUA_PARAM_UINT, HAS(max_nodes), .min = 1,             \
		.max = CUA_UI_NODES_MAX, .fallback = (standard), .help = "Nodes in the answer."    \
	}
#define UI_HIDDEN(standard)                                                                        \
	{                                                                                          \
		.name = "hidden", .kind = CUA_PARAM_BOOL, HAS(hidden), .fallback = (standard),     \
		.help = "Nodes too that do not show: in closed menus, scrolled out, covered tabs." \
	}
#define UI_TIMEOUT                                                                                 \
	{                                                                                          \
		.name = "timeout", .kind = CUA_PARAM_UINT, HAS(timeout), .min = 10,                \
		.max = CUA_UI_TIMEOUT_MAX_MS, .fallback = "2000",                                  \
		.help = "Milliseconds for the programs to answer; then without the rest."          \
	}
#define UI_QUERY                                                                                   \
	{.name = "role",                                                                           \
		.kind = CUA_PARAM_STRING,                                                          \
		STRING_OF(role),                                                                   \
		.help = "A role, for example \"push button\"."},                                   \
		{.name = "name",                                                                   \
			.kind = CUA_PARAM_STRING,                                                  \
			STRING_OF(node_name),                                                      \
			.help = "What the node is called, compared as `match` says."},             \
		{.name = "match",                                                                  \
			.kind = CUA_PARAM_ENUM,                                                    \
			HAS(match),                                                                \
			.names = ui_matches,                                                       \
			.fallback = "\"substring\"",                                               \
			.help = "substring (without regard to case), exact, or regex (as in "      \
				"Perl)."},                                                         \
	{                                                                                          \
		.name = "states", .kind = CUA_PARAM_STRINGS, STRINGS_OF(states), .max = 8,         \
		.help = "States that the node must have, for example [\"showing\"]."               \
	}
#define UI_NODE                                                                                    \
	{                                                                                          \
		.name = "id", .kind = CUA_PARAM_STRING, STRING_OF(node),                           \
		.help = "The node's id as ui_tree and ui_find tell it, instead of a query."        \
	}

static const struct cua_param ui_tree_params[] = {
	UI_SCOPE("\"window\""), UI_DEPTH, UI_NODES("1000"), UI_HIDDEN("false"), UI_TIMEOUT};

static const struct cua_param ui_find_params[] = {
	UI_QUERY, UI_SCOPE("\"all\""), UI_NODES("100"), UI_HIDDEN("true"), UI_TIMEOUT};

static const struct cua_param ui_invoke_params[] = {
	UI_NODE,
	UI_QUERY,
	{.name = "verb",
		.kind = CUA_PARAM_STRING,
		STRING_OF(verb),
		.help = "Which of the node's actions; the one that clicks it without."},
	UI_SCOPE("\"all\""),
	UI_HIDDEN("true"),
	UI_TIMEOUT,
};

static const struct cua_param ui_set_value_params[] = {
	UI_NODE,
	UI_QUERY,
	{.name = "value",
		.kind = CUA_PARAM_TEXT,
		HAS(text),
		.required = true,
		.max = CUA_TEXT_MAX,
		.help = "The text, or for sliders and the like the number."},
	UI_SCOPE("\"all\""),
	UI_HIDDEN("true"),
	UI_TIMEOUT,
};

static const struct cua_param ui_focus_params[] = {
	UI_NODE, UI_QUERY, UI_SCOPE("\"all\""), UI_HIDDEN("true"), UI_TIMEOUT};

static const struct cua_param launch_params[] = {
	{.name = "command",
		.kind = CUA_PARAM_COMMAND,
		HAS(command),
		.required = true,
		.max = CUA_ARGV_BYTES,
		.help = "Program with its arguments, or a shell command."},
	CWD,
	ENVIRONMENT,
};

static const struct cua_param exec_params[] = {
	{.name = "command",
		.kind = CUA_PARAM_COMMAND,
		HAS(command),
		.required = true,
		.max = CUA_ARGV_BYTES,
		.help = "A shell command (string), or a program with arguments."},
	CWD,
	ENVIRONMENT,
	{.name = "user",
		.kind = CUA_PARAM_STRING,
		STRING_OF(user),
		.fallback = "\"agent\"",
		.help = "User of the session to run as."},
	{.name = "stdin",
		.kind = CUA_PARAM_TEXT,
		HAS(stdin_data),
		.max = CUA_BODY_MAX,
		.help = "Text for the command's standard input; empty without it."},
	{.name = "timeout",
		.kind = CUA_PARAM_UINT,
		HAS(timeout),
		.min = 1,
		.max = CUA_EXEC_TIMEOUT_MAX_MS,
		.fallback = "120000",
		.help = "Milliseconds after which the command and its children are killed."},
	{.name = "max_output",
		.kind = CUA_PARAM_UINT,
		HAS(max_output),
		.max = CUA_OUTPUT_MAX,
		.fallback = "1048576",
		.help = "Bytes kept of stdout and of stderr; the middle is cut."},
};

static const struct cua_param file_read_params[] = {
	PATH,
	{.name = "offset",
		.kind = CUA_PARAM_UINT64,
		HAS(offset),
		.max = 9007199254740991.0,
		.fallback = "0",
		.help = "First byte."},
	{.name = "length",
		.kind = CUA_PARAM_UINT64,
		HAS(length),
		.max = 9007199254740991.0,
		.help = "Bytes at most; up to the end without it."},
	{.name = "encoding",
		.kind = CUA_PARAM_ENUM,
		HAS(encoding),
		.names = encodings,
		.fallback = "\"auto\"",
		.help = "auto: text where it is UTF-8, else base64."},
};

static const struct cua_param file_write_params[] = {
	PATH,
	{.name = "text",
		.kind = CUA_PARAM_TEXT,
		HAS(text),
		.max = CUA_BODY_MAX,
		.help = "The content as text."},
	{.name = "data_b64",
		.kind = CUA_PARAM_DATA,
		HAS(data),
		.max = CUA_BODY_MAX,
		.help = "The content in base64, instead of text."},
	{.name = "mode",
		.kind = CUA_PARAM_STRING,
		STRING_OF(mode),
		.help = "Permissions in octal, for example \"0644\"."},
	{.name = "mkdirs",
		.kind = CUA_PARAM_BOOL,
		HAS(mkdirs),
		.fallback = "false",
		.help = "Create missing directories."},
};

static const struct cua_param path_params[] = {PATH};

static const struct cua_param file_remove_params[] = {
	PATH,
	{.name = "recursive",
		.kind = CUA_PARAM_BOOL,
		HAS(recursive),
		.fallback = "false",
		.help = "A directory with all that is in it."},
};

static const struct cua_param file_mkdir_params[] = {
	PATH,
	{.name = "mkdirs",
		.kind = CUA_PARAM_BOOL,
		HAS(mkdirs),
		.fallback = "false",
		.help = "Create missing parents too; an existing directory is fine then."},
	{.name = "mode",
		.kind = CUA_PARAM_STRING,
		STRING_OF(mode),
		.help = "Permissions in octal, for example \"0755\"."},
};

static const struct cua_param file_move_params[] = {
	PATH,
	{.name = "destination",
		.kind = CUA_PARAM_STRING,
		STRING_OF(destination),
		.required = true,
		.help = "The new path; an existing file is replaced."},
};

static const struct cua_param batch_params[] = {
	{.name = "actions",
		.kind = CUA_PARAM_ACTIONS,
		.required = true,
		.min = 1,
		.max = CUA_BATCH_MAX,
		.help = "Actions [{\"action\":NAME, …},…] in order."},
};

#define PARAMS(p) .params = (p), .param_count = CUA_COUNT(p)
#define INPUT                                                                                      \
	.role = CUA_ROLE_AGENT, .by = CUA_BY_DESKTOP, .result = CUA_RESULT_EFFECT,                 \
	.ordered = true, .input = true
#define ON_WINDOW                                                                                  \
	.role = CUA_ROLE_AGENT, .by = CUA_BY_DESKTOP, .result = CUA_RESULT_WINDOW,                 \
	.ordered = true, .input = true
#define SEEING .role = CUA_ROLE_VIEWER, .by = CUA_BY_DESKTOP, .ordered = true
#define GUEST .role = CUA_ROLE_AGENT, .by = CUA_BY_GUEST

static const struct cua_action actions[CUA_ACTION_MAX_] = {
	[CUA_ACTION_SCREENSHOT] = {"screenshot", "Take a picture of the screen.", SEEING,
		.result = CUA_RESULT_PICTURE, PARAMS(screenshot_params)},
	[CUA_ACTION_SCREEN_SIZE] = {"screen_size", "Tell the size of the screen.", SEEING,
		.result = CUA_RESULT_SCREEN},
	[CUA_ACTION_CURSOR_POSITION] = {"cursor_position",
		"Tell where the pointer is and what its cursor is called.", SEEING,
		.result = CUA_RESULT_CURSOR},
	[CUA_ACTION_MOVE] = {"move", "Move the pointer.", INPUT, PARAMS(move_params)},
	[CUA_ACTION_CLICK] = {"click", "Click a mouse button.", INPUT, PARAMS(click_params)},
	[CUA_ACTION_MOUSE_DOWN] = {"mouse_down", "Press a mouse button and hold it.", INPUT,
		PARAMS(mouse_button_params)},
	[CUA_ACTION_MOUSE_UP] = {"mouse_up", "Release a mouse button.", INPUT,
		PARAMS(mouse_button_params)},
	[CUA_ACTION_DRAG] = {"drag", "Drag along a path: one press, real motion, one release.",
		INPUT, PARAMS(drag_params)},
	[CUA_ACTION_SCROLL] = {"scroll", "Turn the mouse wheel.", INPUT, PARAMS(scroll_params)},
	[CUA_ACTION_KEY] = {"key", "Press keys or key combinations.", INPUT, PARAMS(key_params)},
	[CUA_ACTION_KEY_DOWN] = {"key_down", "Press a key and hold it.", INPUT,
		PARAMS(one_key_params)},
	[CUA_ACTION_KEY_UP] = {"key_up", "Release a held key.", INPUT, PARAMS(one_key_params)},
	[CUA_ACTION_TYPE] = {"type", "Type text exactly as given.", INPUT, PARAMS(type_params)},
	[CUA_ACTION_PASTE] = {"paste",
		"Paste text through the clipboard, whose content is put back afterwards.", INPUT,
		PARAMS(paste_params)},
	[CUA_ACTION_RELEASE_ALL] = {"release_all", "Release every held key and button.", INPUT},
	[CUA_ACTION_WAIT] = {"wait", "Wait a fixed time.", SEEING, .result = CUA_RESULT_EFFECT,
		PARAMS(wait_params)},
	[CUA_ACTION_WAIT_SETTLED] = {"wait_settled", "Wait until the screen stops changing.",
		SEEING, .result = CUA_RESULT_EFFECT, PARAMS(wait_settled_params)},
	[CUA_ACTION_WAIT_FOR] = {"wait_for",
		"Wait until a window is there, a text can be read or a part of the screen changes, "
		"whichever comes first.",
		SEEING, .result = CUA_RESULT_WAITED, PARAMS(wait_for_params)},
	[CUA_ACTION_WINDOWS] = {"windows", "List the windows, front to back.", SEEING,
		.result = CUA_RESULT_WINDOWS, PARAMS(windows_params)},
	[CUA_ACTION_WINDOW_FOCUS] = {"window_focus",
		"Bring a window to the front and give it the keyboard.", ON_WINDOW,
		PARAMS(window_params)},
	[CUA_ACTION_WINDOW_MOVE] = {"window_move", "Move a window.", ON_WINDOW,
		PARAMS(window_move_params)},
	[CUA_ACTION_WINDOW_RESIZE] = {"window_resize",
		"Resize a window; its program may take the nearest size that it can have.",
		ON_WINDOW, PARAMS(window_resize_params)},
	[CUA_ACTION_WINDOW_MINIMIZE] = {"window_minimize", "Take a window off the screen.",
		ON_WINDOW, PARAMS(window_params)},
	[CUA_ACTION_WINDOW_MAXIMIZE] = {"window_maximize", "Make a window fill the screen.",
		ON_WINDOW, PARAMS(window_params)},
	[CUA_ACTION_WINDOW_RESTORE] = {"window_restore",
		"Bring a minimized window back, or make a maximized one its normal size.",
		ON_WINDOW, PARAMS(window_params)},
	[CUA_ACTION_WINDOW_CLOSE] = {"window_close",
		"Ask a window to close; `closed` tells whether it did, for it may ask back.",
		ON_WINDOW, PARAMS(window_close_params)},
	[CUA_ACTION_WINDOW_SCREENSHOT] = {"window_screenshot",
		"Take a picture of one window without its frame, covered or not.", SEEING,
		.result = CUA_RESULT_PICTURE, PARAMS(window_screenshot_params)},
	[CUA_ACTION_SET_SCREEN] = {"set_screen", "Change the size of the screen.",
		.role = CUA_ROLE_AGENT, .by = CUA_BY_DESKTOP, .result = CUA_RESULT_SCREEN,
		.ordered = true, PARAMS(set_screen_params)},
	[CUA_ACTION_CLIPBOARD_GET] = {"clipboard_get", "Read the text of the clipboard.",
		.role = CUA_ROLE_AGENT, .by = CUA_BY_DESKTOP, .result = CUA_RESULT_CLIPBOARD,
		.ordered = true, PARAMS(clipboard_get_params)},
	[CUA_ACTION_CLIPBOARD_SET] = {"clipboard_set", "Put text into the clipboard.",
		.role = CUA_ROLE_AGENT, .by = CUA_BY_DESKTOP, .result = CUA_RESULT_DONE,
		.ordered = true, PARAMS(clipboard_set_params)},
	[CUA_ACTION_UI_TREE] = {"ui_tree", "Tell the accessible nodes of programs as a tree.",
		SEEING, .result = CUA_RESULT_UI_TREE, PARAMS(ui_tree_params)},
	[CUA_ACTION_UI_FIND] = {"ui_find", "Find accessible nodes by role, name and states.",
		SEEING, .result = CUA_RESULT_UI_NODES, PARAMS(ui_find_params)},
	[CUA_ACTION_UI_INVOKE] = {"ui_invoke", "Perform an action of an accessible node.", INPUT,
		PARAMS(ui_invoke_params)},
	[CUA_ACTION_UI_SET_VALUE] = {"ui_set_value", "Set an accessible node's text or number.",
		INPUT, PARAMS(ui_set_value_params)},
	[CUA_ACTION_UI_FOCUS] = {"ui_focus", "Give an accessible node the focus.", INPUT,
		PARAMS(ui_focus_params)},
	[CUA_ACTION_LAUNCH] = {"launch", "Start a program on the desktop and let it run.", GUEST,
		.result = CUA_RESULT_PID, PARAMS(launch_params)},
	[CUA_ACTION_EXEC] = {"exec", "Run a command and return its output and exit status.", GUEST,
		.result = CUA_RESULT_EXEC, PARAMS(exec_params)},
	[CUA_ACTION_FILE_READ] = {"file_read", "Read a file.", GUEST,
		.result = CUA_RESULT_FILE_TEXT, PARAMS(file_read_params)},
	[CUA_ACTION_FILE_WRITE] = {"file_write", "Write a file, whole or not at all.", GUEST,
		.result = CUA_RESULT_FILE_SIZE, PARAMS(file_write_params)},
	[CUA_ACTION_FILE_APPEND] = {"file_append", "Append to a file.", GUEST,
		.result = CUA_RESULT_FILE_SIZE, PARAMS(file_write_params)},
	[CUA_ACTION_FILE_LIST] = {"file_list", "List a directory.", GUEST,
		.result = CUA_RESULT_FILE_LIST, PARAMS(path_params)},
	[CUA_ACTION_FILE_STAT] = {"file_stat", "Tell a file's type, size, mode and time.", GUEST,
		.result = CUA_RESULT_FILE_STAT, PARAMS(path_params)},
	[CUA_ACTION_FILE_REMOVE] = {"file_remove", "Remove a file or directory.", GUEST,
		.result = CUA_RESULT_DONE, PARAMS(file_remove_params)},
	[CUA_ACTION_FILE_MKDIR] = {"file_mkdir", "Create a directory.", GUEST,
		.result = CUA_RESULT_DONE, PARAMS(file_mkdir_params)},
	[CUA_ACTION_FILE_MOVE] = {"file_move", "Rename or move a file.", GUEST,
		.result = CUA_RESULT_DONE, PARAMS(file_move_params)},
	[CUA_ACTION_BATCH] = {"batch",
		"Perform several actions in order; stops at the first error.",
		.role = CUA_ROLE_VIEWER, .by = CUA_BY_FRONT, .result = CUA_RESULT_BATCH,
		.ordered = true, PARAMS(batch_params)},
};

const struct cua_action *cua_action_get(unsigned id) {
	return id < CUA_ACTION_MAX_ ? &actions[id] : NULL;
}

int cua_action_find(const char *name) {
	for (size_t i = 0; i < CUA_COUNT(actions); i++) {
		if (strcmp(actions[i].name, name) == 0) {
			return (int)i;
		}
	}
	return -1;
}

const struct cua_param *cua_input_params(size_t *ret_count) {
	*ret_count = CUA_COUNT(input_params);
	return input_params;
}

static const struct cua_param *find_param(
	const struct cua_param *params, size_t count, const char *name) {
	for (size_t i = 0; i < count; i++) {
		if (strcmp(params[i].name, name) == 0) {
			return &params[i];
		}
	}
	return NULL;
}

const struct cua_param *cua_action_param(const struct cua_action *action, const char *name) {
	const struct cua_param *found = find_param(action->params, action->param_count, name);
	if (!found && action->input) {
		found = find_param(input_params, CUA_COUNT(input_params), name);
	}
	return found;
}

static const char *const roles[CUA_ROLE_MAX_] = {
	[CUA_ROLE_NONE] = "none",
	[CUA_ROLE_VIEWER] = "viewer",
	[CUA_ROLE_AGENT] = "agent",
	[CUA_ROLE_OPERATOR] = "operator",
	[CUA_ROLE_ADMIN] = "admin",
};

const char *cua_role_name(enum cua_role role) {
	return role < CUA_ROLE_MAX_ ? roles[role] : "none";
}

int cua_role_find(const char *name) {
	for (int i = CUA_ROLE_VIEWER; i < CUA_ROLE_MAX_; i++) {
		if (strcmp(roles[i], name) == 0) {
			return i;
		}
	}
	return -1;
}

struct cua_span cua_call_blob(const struct cua_call *call, bool has, uint32_t number) {
	return has && number < call->blob_count ? call->blob[number] : (struct cua_span){0};
}
