/* The words of accessible nodes: AT-SPI numbers its roles and states, clients get and give names. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Why nodes are missing in an answer (ActionResult.ui_cut). */
#define CUA_UI_CUT_DEPTH 1u
#define CUA_UI_CUT_NODES 2u
#define CUA_UI_CUT_TIME 4u
#define CUA_UI_CUT_SIZE 8u

/* The states that mean something to us; a state is a bit of UiNode.states. */
enum cua_ui_state {
	CUA_UI_STATE_ACTIVE = 1,
	CUA_UI_STATE_EDITABLE = 7,
	CUA_UI_STATE_EXPANDABLE = 9,
	CUA_UI_STATE_FOCUSABLE = 11,
	CUA_UI_STATE_FOCUSED = 12,
	CUA_UI_STATE_SELECTABLE = 22,
	CUA_UI_STATE_SHOWING = 25,
	CUA_UI_STATE_SINGLE_LINE = 26,
	CUA_UI_STATE_CHECKABLE = 41,
	CUA_UI_STATE_HAS_POPUP = 42,
};

#define CUA_UI_BIT(state) (1ull << (unsigned)(state))

enum cua_ui_role {
	CUA_UI_ROLE_PASSWORD_TEXT = 40,
	CUA_UI_ROLE_TERMINAL = 60,
	CUA_UI_ROLE_TEXT = 61,
	CUA_UI_ROLE_APPLICATION = 75,
	CUA_UI_ROLE_ENTRY = 79,
};

/* "push button" and so on; "unknown" for a number without a name. */
const char *cua_ui_role_name(uint32_t role);
/* "focused" and so on; NULL from the first number without a name. */
const char *cua_ui_state_name(unsigned state);
/* The number of a name, or -1. Case, spaces, '_' and '-' do not matter. */
int cua_ui_role_find(const char *name);
int cua_ui_state_find(const char *name);
/* True when two names are the same in that sense. */
bool cua_ui_names_equal(const char *a, const char *b);
