/* Names of keys, chords and characters. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <X11/XF86keysym.h>
#include <X11/keysym.h>

#include "desktop/keymap.h"

static const struct {
	const char *name;
	uint32_t keysym;
} names[] = {
	/* characters */
	{"a", XK_a},
	{"A", XK_A},
	{"+", XK_plus},
	{"-", XK_minus},
	{"_", XK_underscore},
	{" ", XK_space},
	{"é", XK_eacute},
	{"€", 0x010020ac},
	{"😀", 0x0101f600},
	{"\n", XK_Return},
	{"\t", XK_Tab},
	{"U+20AC", 0x010020ac},
	{"u+e9", XK_eacute},
	{"U1F600", 0x0101f600},
	{"0xff0d", XK_Return},
	/* X's own, and without regard to case, spaces, _ and - */
	{"Return", XK_Return},
	{"return", XK_Return},
	{"Page_Down", XK_Page_Down},
	{"page-down", XK_Page_Down},
	{"PAGE DOWN", XK_Page_Down},
	{"pagedown", XK_Page_Down},
	{"ISO_Left_Tab", XK_ISO_Left_Tab},
	{"Aacute", XK_Aacute},
	{"aacute", XK_aacute},
	{"AACUTE", XK_aacute},
	{"Cyrillic_a", XK_Cyrillic_a},
	{"EuroSign", XK_EuroSign},
	{"semicolon", XK_semicolon},
	{"KP_0", XK_KP_0},
	{"kp_enter", XK_KP_Enter},
	{"F1", XK_F1},
	{"f12", XK_F12},
	{"F24", XK_F24},
	{"XF86AudioMute", XF86XK_AudioMute},
	{"audiomute", XF86XK_AudioMute},
	{"Meta_L", XK_Meta_L},
	/* cua, xdotool, Anthropic, OpenAI, pyautogui */
	{"enter", XK_Return},
	{"ENTER", XK_Return},
	{"esc", XK_Escape},
	{"ctrl", XK_Control_L},
	{"control", XK_Control_L},
	{"CTRL", XK_Control_L},
	{"alt", XK_Alt_L},
	{"option", XK_Alt_L},
	{"shift", XK_Shift_L},
	{"super", XK_Super_L},
	{"cmd", XK_Super_L},
	{"win", XK_Super_L},
	{"command", XK_Super_L},
	{"altright", XK_Alt_R},
	{"shiftleft", XK_Shift_L},
	{"ctrlright", XK_Control_R},
	{"winleft", XK_Super_L},
	{"backspace", XK_BackSpace},
	{"BackSpace", XK_BackSpace},
	{"del", XK_Delete},
	{"delete", XK_Delete},
	{"ins", XK_Insert},
	{"pgup", XK_Page_Up},
	{"pgdn", XK_Page_Down},
	{"left", XK_Left},
	{"ARROWLEFT", XK_Left},
	{"space", XK_space},
	{"capslock", XK_Caps_Lock},
	{"numlock", XK_Num_Lock},
	{"scrolllock", XK_Scroll_Lock},
	{"printscreen", XK_Print},
	{"prtsc", XK_Print},
	{"apps", XK_Menu},
	{"num0", XK_KP_0},
	{"num9", XK_KP_9},
	{"add", XK_KP_Add},
	{"divide", XK_KP_Divide},
	{"volumeup", XF86XK_AudioRaiseVolume},
	{"playpause", XF86XK_AudioPlay},
	{"browserback", XF86XK_Back},
	{"hanguel", XK_Hangul},
	{"nonconvert", XK_Muhenkan},
	/* DOM key and code */
	{"KeyA", XK_a},
	{"KeyZ", XK_z},
	{"Digit1", XK_1},
	{"Numpad5", XK_KP_5},
	{"NumpadEnter", XK_KP_Enter},
	{"NumpadAdd", XK_KP_Add},
	{"Backquote", XK_grave},
	{"BracketLeft", XK_bracketleft},
	{"Quote", XK_apostrophe},
	{"Backslash", XK_backslash},
	{"ShiftLeft", XK_Shift_L},
	{"ControlRight", XK_Control_R},
	{"AltGraph", XK_ISO_Level3_Shift},
	{"MetaLeft", XK_Super_L},
	{"Meta", XK_Super_L},
	{"OSRight", XK_Super_R},
	{"ContextMenu", XK_Menu},
	{"ArrowDown", XK_Down},
	{"Escape", XK_Escape},
	{"AudioVolumeMute", XF86XK_AudioMute},
	{"MediaTrackNext", XF86XK_AudioNext},
	{"Dash", XK_minus},
};

START_TEST(knows_the_names_of_all_dialects) {
	for (size_t i = 0; i < CUA_COUNT(names); i++) {
		struct cua_err err = {0};
		uint32_t keysym = 0;
		int r = keymap_keysym(names[i].name, &keysym, &err);
		ck_assert_msg(r == 0, "%s: %s", names[i].name, err.message);
		ck_assert_msg(keysym == names[i].keysym, "%s is %x, not %x", names[i].name, keysym,
			names[i].keysym);
	}
}
END_TEST

START_TEST(names_the_unknown_and_the_nearest) {
	static const struct {
		const char *name;
		const char *nearest;
	} cases[] = {
		{"Retrun", "\"Return\""},
		{"contrl", "\"control\""},
		{"pgdwn", "\"pgdn\""},
		{"escpe", "\"Escape\""},
		{"spce", "\"space\""},
	};
	for (size_t i = 0; i < CUA_COUNT(cases); i++) {
		struct cua_err err = {0};
		uint32_t keysym = 42;
		ck_assert_int_eq(keymap_keysym(cases[i].name, &keysym, &err), -CUA_INVALID);
		ck_assert_uint_eq(keysym, 42);
		ck_assert_msg(strstr(err.message, cases[i].name) != NULL, "%s", err.message);
		ck_assert_msg(strstr(err.message, cases[i].nearest) != NULL, "%s", err.message);
		ck_assert_str_eq(err.subject, cases[i].name);
	}
}
END_TEST

START_TEST(refuses_nonsense) {
	static const char *const bad[] = {"", "  _", "\x01", "ab", "€€", "U+", "U+D800", "U+110000",
		"0x0", "0xffffffff", "key", "keyaa", "numpad", "\xff", "\xff\xff",
		"éééééééééééééééééééééééééééééééééééé"};
	for (size_t i = 0; i < CUA_COUNT(bad); i++) {
		struct cua_err err = {0};
		uint32_t keysym = 0;
		ck_assert_msg(keymap_keysym(bad[i], &keysym, &err) == -CUA_INVALID, "%s", bad[i]);
		ck_assert_uint_ne(err.message[0], 0);
	}
	char longest[5000];
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	struct keymap_chord chord;
	ck_assert_int_eq(keymap_chord(longest, &chord, NULL), -CUA_INVALID);
	uint32_t keysym = 0;
	ck_assert_int_eq(keymap_keysym(longest, &keysym, NULL), -CUA_INVALID);
}
END_TEST

START_TEST(reads_chords) {
	static const struct {
		const char *text;
		uint32_t keysym[4];
	} cases[] = {
		{"ctrl+shift+t", {XK_Control_L, XK_Shift_L, XK_t}},
		{"Ctrl+C", {XK_Control_L, XK_c}},
		{"ctrl + c", {XK_Control_L, XK_c}},
		{"shift+A", {XK_Shift_L, XK_A}},
		{"A", {XK_A}},
		{"ctrl++", {XK_Control_L, XK_plus}},
		{"+", {XK_plus}},
		{"ctrl+plus", {XK_Control_L, XK_plus}},
		{"ctrl+-", {XK_Control_L, XK_minus}},
		{"alt+Tab", {XK_Alt_L, XK_Tab}},
		{"super+ ", {XK_Super_L, XK_space}},
		{"ctrl+alt+Delete", {XK_Control_L, XK_Alt_L, XK_Delete}},
		{"a+b", {XK_a, XK_b}},
		{"Page_Up", {XK_Page_Up}},
		{"U+20AC", {0x010020ac}},
		{"ctrl+U+00E9", {XK_Control_L, XK_eacute}},
		{"u+f1", {XK_u, XK_F1}},
	};
	for (size_t i = 0; i < CUA_COUNT(cases); i++) {
		struct cua_err err = {0};
		struct keymap_chord chord = {.count = 0};
		int r = keymap_chord(cases[i].text, &chord, &err);
		ck_assert_msg(r == 0, "%s: %s", cases[i].text, err.message);
		for (size_t k = 0; k < 4 && cases[i].keysym[k]; k++) {
			ck_assert_msg(k < chord.count && chord.keysym[k] == cases[i].keysym[k],
				"key %zu of %s", k, cases[i].text);
		}
	}
}
END_TEST

START_TEST(refuses_bad_chords) {
	static const char *const bad[] = {
		"", "ctrl+", "+ctrl", "ctrl+nokey", "a++b+", "a+b+c+d+e+f+g+h+i", "ctrl+\x01"};
	for (size_t i = 0; i < CUA_COUNT(bad); i++) {
		struct keymap_chord chord = {.count = 77};
		ck_assert_msg(keymap_chord(bad[i], &chord, NULL) == -CUA_INVALID, "%s", bad[i]);
		ck_assert_uint_eq(chord.count, 77);
	}
}
END_TEST

START_TEST(turns_keysyms_and_characters_into_each_other) {
	ck_assert_uint_eq(keymap_char(XK_a), 'a');
	ck_assert_uint_eq(keymap_char(XK_Cyrillic_a), 0x430);
	ck_assert_uint_eq(keymap_char(XK_EuroSign), 0x20ac);
	ck_assert_uint_eq(keymap_char(0x0101f600), 0x1f600);
	ck_assert_uint_eq(keymap_char(XK_Return), 0);
	ck_assert_uint_eq(keymap_char(XK_KP_1), 0);
	ck_assert_uint_eq(keymap_char(XK_dead_acute), 0);
	ck_assert_uint_eq(keymap_char(0), 0);
	ck_assert_uint_eq(keymap_char(0xffffffff), 0);
	for (uint32_t c = 1; c <= 0x10ffff; c++) {
		uint32_t keysym = keymap_keysym_of_char(c);
		bool writes = c >= 0x20 && c != 0x7f && (c < 0xd800 || c > 0xdfff);
		if (keymap_char(keysym) != (writes ? c : 0)) { /* each ck_assert costs a write */
			ck_abort_msg("U+%04X comes back as U+%04X", c, keymap_char(keysym));
		}
	}
	ck_assert_uint_eq(keymap_keysym_of_char(0x110000), 0);
}
END_TEST

START_TEST(knows_an_american_keyboard) {
	static const struct {
		char c;
		uint8_t keycode;
		bool shift;
	} cases[] = {{'a', 38, false}, {'A', 38, true}, {'c', 54, false}, {'1', 10, false},
		{'!', 10, true}, {'=', 21, false}, {'`', 49, false}, {'~', 49, true},
		{'\\', 51, false}, {'/', 61, false}, {' ', 65, false}, {'q', 24, false}};
	for (size_t i = 0; i < CUA_COUNT(cases); i++) {
		bool shift = false;
		ck_assert_uint_eq(
			keymap_us_keycode((uint32_t)cases[i].c, &shift), cases[i].keycode);
		ck_assert_int_eq(shift, cases[i].shift);
	}
	bool shift = false;
	ck_assert_uint_eq(keymap_us_keycode(0xe9, &shift), 0);
	ck_assert_uint_eq(keymap_us_keycode('\n', &shift), 0);
}
END_TEST

int main(void) {
	Suite *suite = suite_create("keymap");
	TCase *tcase = tcase_create("names");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, knows_the_names_of_all_dialects);
	tcase_add_test(tcase, names_the_unknown_and_the_nearest);
	tcase_add_test(tcase, refuses_nonsense);
	tcase_add_test(tcase, reads_chords);
	tcase_add_test(tcase, refuses_bad_chords);
	tcase_add_test(tcase, turns_keysyms_and_characters_into_each_other);
	tcase_add_test(tcase, knows_an_american_keyboard);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
