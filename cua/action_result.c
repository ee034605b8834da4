/* The shapes of results in words, for documents; their schemas are in action_schema.c. */
#include "cua/action.h"

static const struct {
	const char *name;
	const char *help;
} results[CUA_RESULT_MAX_] = {
	[CUA_RESULT_EFFECT] = {"effect",
		"effect (changed, unchanged, or unknown without settle), changed "
		"[[x,y,width,height],…], frame, settled, elapsed_ms; animated "
		"[[x,y,width,height],…] where something moves by itself (a caret, a spinner, a "
		"video), which is neither waited for nor counted as an effect; screenshot where it "
		"was asked for; released after release_all; node after ui_invoke, ui_set_value "
		"and ui_focus."},
	[CUA_RESULT_PICTURE] = {"picture",
		"mime, width, height, frame, and data (base64; bytes in a binary answer), or "
		"unchanged and frame."},
	[CUA_RESULT_WAITED] = {"waited",
		"matched (window, text or region_changed), window (one of `windows`) or changed "
		"[[x,y,width,height],…], frame, elapsed_ms."},
	[CUA_RESULT_SCREEN] = {"screen", "width, height, dpi."},
	[CUA_RESULT_CURSOR] = {"cursor", "x, y, shape."},
	[CUA_RESULT_WINDOWS] = {"windows",
		"a list of id, title, app, pid, x, y, width, height (without the frame), active, "
		"minimized, maximized, type (normal, dialog, utility, …), frame (widths [left, "
		"top, "
		"right, bottom], where there is one); the last has more, a number, where windows "
		"behind it were left out."},
	[CUA_RESULT_WINDOW] = {"window",
		"an effect's members, and window (one of `windows`, as it is then); closed "
		"after window_close."},
	[CUA_RESULT_CLIPBOARD] = {"clipboard",
		"text (data_b64 where it is not UTF-8), and empty: whether nothing is there."},
	[CUA_RESULT_UI_TREE] = {"ui_tree",
		"nodes (a list of id, role, name, value, states, actions, bounds "
		"[x,y,width,height], children; where it is so unresponsive: true, and "
		"children_left_out), truncated, with it truncated_by (depth, nodes, time, size)."},
	[CUA_RESULT_UI_NODES] = {"ui_nodes", "As ui_tree, the nodes without children."},
	[CUA_RESULT_PID] = {"pid", "pid."},
	[CUA_RESULT_EXEC] = {"exec",
		"exit_code or signal (the other is null), stdout, stderr (stdout_b64, stderr_b64 "
		"where it is not UTF-8), stdout_bytes, stderr_bytes (of the whole output), "
		"truncated, with it stdout_cut_at, stderr_cut_at (where the middle was left "
		"out), timed_out, duration_ms."},
	[CUA_RESULT_FILE_TEXT] = {"file_text", "size, eof, and text where it is UTF-8, else "
					       "data_b64."},
	[CUA_RESULT_FILE_SIZE] = {"file_size", "size."},
	[CUA_RESULT_FILE_LIST] = {"file_list",
		"entries (name or name_b64, type, size, mode, mtime, uid, gid) and truncated."},
	[CUA_RESULT_FILE_STAT] = {"file_stat", "type, size, mode, mtime, uid, gid, name."},
	[CUA_RESULT_DONE] = {"done", "an empty object."},
	[CUA_RESULT_BATCH] = {"batch", "a list of the actions' answers."},
};

const char *cua_result_name(enum cua_result result) {
	return result < CUA_RESULT_MAX_ ? results[result].name : "?";
}

const char *cua_result_help(enum cua_result result) {
	return result < CUA_RESULT_MAX_ ? results[result].help : "?";
}
