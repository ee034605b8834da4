/* Names of AT-SPI's roles and states in the order of their numbers; see the header. */
#include "cua/ui.h"

#include <ctype.h>
#include <string.h>

#include "cua/cleanup.h"

static const char *const roles[] = {
	"invalid",
	"accelerator label",
	"alert",
	"animation",
	"arrow",
	"calendar",
	"canvas",
	"check box",
	"check menu item",
	"color chooser",
	"column header",
	"combo box",
	"date editor",
	"desktop icon",
	"desktop frame",
	"dial",
	"dialog",
	"directory pane",
	"drawing area",
	"file chooser",
	"filler",
	"focus traversable",
	"font chooser",
	"frame",
	"glass pane",
	"html container",
	"icon",
	"image",
	"internal frame",
	"label",
	"layered pane",
	"list",
	"list item",
	"menu",
	"menu bar",
	"menu item",
	"option pane",
	"page tab",
	"page tab list",
	"panel",
	"password text",
	"popup menu",
	"progress bar",
	"push button",
	"radio button",
	"radio menu item",
	"root pane",
	"row header",
	"scroll bar",
	"scroll pane",
	"separator",
	"slider",
	"spin button",
	"split pane",
	"status bar",
	"table",
	"table cell",
	"table column header",
	"table row header",
	"tearoff menu item",
	"terminal",
	"text",
	"toggle button",
	"tool bar",
	"tool tip",
	"tree",
	"tree table",
	"unknown",
	"viewport",
	"window",
	"extended",
	"header",
	"footer",
	"paragraph",
	"ruler",
	"application",
	"autocomplete",
	"editbar",
	"embedded",
	"entry",
	"chart",
	"caption",
	"document frame",
	"heading",
	"page",
	"section",
	"redundant object",
	"form",
	"link",
	"input method window",
	"table row",
	"tree item",
	"document spreadsheet",
	"document presentation",
	"document text",
	"document web",
	"document email",
	"comment",
	"list box",
	"grouping",
	"image map",
	"notification",
	"info bar",
	"level bar",
	"title bar",
	"block quote",
	"audio",
	"video",
	"definition",
	"article",
	"landmark",
	"log",
	"marquee",
	"math",
	"rating",
	"timer",
	"static",
	"math fraction",
	"math root",
	"subscript",
	"superscript",
	"description list",
	"description term",
	"description value",
	"footnote",
	"content deletion",
	"content insertion",
	"mark",
	"suggestion",
	"push button menu",
};

static const char *const states[] = {
	"invalid",
	"active",
	"armed",
	"busy",
	"checked",
	"collapsed",
	"defunct",
	"editable",
	"enabled",
	"expandable",
	"expanded",
	"focusable",
	"focused",
	"has_tooltip",
	"horizontal",
	"iconified",
	"modal",
	"multi_line",
	"multiselectable",
	"opaque",
	"pressed",
	"resizable",
	"selectable",
	"selected",
	"sensitive",
	"showing",
	"single_line",
	"stale",
	"transient",
	"vertical",
	"visible",
	"manages_descendants",
	"indeterminate",
	"required",
	"truncated",
	"animated",
	"invalid_entry",
	"supports_autocompletion",
	"selectable_text",
	"is_default",
	"visited",
	"checkable",
	"has_popup",
	"read_only",
};

const char *cua_ui_role_name(uint32_t role) {
	return role < CUA_COUNT(roles) ? roles[role] : "unknown";
}

const char *cua_ui_state_name(unsigned state) {
	return state < CUA_COUNT(states) ? states[state] : NULL;
}

static char next_letter(const char **text) {
	while (**text == ' ' || **text == '_' || **text == '-') {
		(*text)++;
	}
	return (char)tolower((unsigned char)**text);
}

bool cua_ui_names_equal(const char *a, const char *b) {
	for (;; a++, b++) {
		char letter = next_letter(&a);
		if (letter != next_letter(&b)) {
			return false;
		}
		if (letter == '\0') {
			return true;
		}
	}
}

static int find(const char *const *names, size_t count, const char *name) {
	for (size_t i = 0; i < count; i++) {
		if (cua_ui_names_equal(names[i], name)) {
			return (int)i;
		}
	}
	return -1;
}

int cua_ui_role_find(const char *name) {
	return find(roles, CUA_COUNT(roles), name);
}

int cua_ui_state_find(const char *name) {
	return find(states, CUA_COUNT(states), name);
}
