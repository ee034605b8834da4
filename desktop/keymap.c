/* Key names of all dialects and the characters of keysyms. Which key of the session's keyboard
 * carries a keysym is layout.c's matter. The X names come from the protocol's headers, at build
 * time. */
#include "desktop/keymap.h"

#include <ctype.h>

#include "cua/ident.h"

#define FOLDED_SIZE 64

#define UNICODE_KEYSYM 0x01000000u
#define UNICODE_MAX 0x10ffffu

struct keysym_row {
	uint32_t keysym;
	uint32_t character;
	const char *name;
};

#define K(value, character, name) {value, character, name},
static const struct keysym_row keysyms[] = {
#include "keysyms.inc"
};
#undef K

/* Names that are not X's own, already folded, each with the X name that it stands for. */
static const struct {
	const char *target;
	const char *names;
} aliases[] = {
	{"Shift_L", "shift shiftleft leftshift lshift"},
	{"Shift_R", "shiftright rightshift rshift"},
	{"Control_L", "ctrl control ctl ctrll controlleft ctrlleft leftctrl leftcontrol lctrl"},
	{"Control_R", "ctrlr controlright ctrlright rightctrl rightcontrol rctrl"},
	{"Alt_L", "alt altleft leftalt lalt option opt optionleft leftoption"},
	{"Alt_R", "altright rightalt ralt optionright rightoption"},
	{"ISO_Level3_Shift", "altgr altgraph"},
	{"Super_L", "super meta win windows cmd command os superleft metaleft winleft cmdleft "
		    "commandleft osleft leftsuper leftmeta leftwin leftwindows leftcmd leftcommand "
		    "lwin "
		    "winl cmdl"},
	{"Super_R", "superright metaright winright cmdright commandright osright rightsuper "
		    "rightmeta rightwin rightwindows rightcmd rightcommand rwin winr cmdr"},
	{"Hyper_L", "hyper"},
	{"Return", "enter ret cr newline returnkey enterkey"},
	{"KP_Enter", "numpadenter kpreturn numenter"},
	{"Tab", "tabulator"},
	{"ISO_Left_Tab", "backtab lefttab"},
	{"Escape", "esc"},
	{"BackSpace", "bksp bs numpadbackspace"},
	{"Delete", "del forwarddelete"},
	{"Insert", "ins"},
	{"Page_Up", "pgup"},
	{"Page_Down", "pgdn pgdown"},
	{"Left", "arrowleft leftarrow"},
	{"Right", "arrowright rightarrow"},
	{"Up", "arrowup uparrow"},
	{"Down", "arrowdown downarrow"},
	{"Caps_Lock", "caps capital"},
	{"Num_Lock", "numlk"},
	{"Scroll_Lock", "scroll scrlk scrolllk"},
	{"Print", "printscreen prtsc prtscr prtscn prntscrn snapshot printscr"},
	{"Sys_Req", "systemrequest"},
	{"Pause", "pausebreak"},
	{"Menu", "apps app contextmenu application menukey"},
	{"Multi_key", "compose composekey"},
	{"space", "spacebar spacekey"},
	{"apostrophe", "quote singlequote"},
	{"quotedbl", "doublequote dquote"},
	{"grave", "backquote backtick"},
	{"asciitilde", "tilde"},
	{"asciicircum", "caret circumflex"},
	{"numbersign", "hash pound"},
	{"exclam", "exclamation exclamationmark bang"},
	{"question", "questionmark"},
	{"bar", "pipe verticalbar"},
	{"period", "dot fullstop"},
	{"equal", "equals"},
	{"minus", "dash"},
	{"asterisk", "star"},
	{"percent", "percentsign"},
	{"bracketleft", "leftbracket openbracket lbracket"},
	{"bracketright", "rightbracket closebracket rbracket"},
	{"braceleft", "leftbrace openbrace lbrace"},
	{"braceright", "rightbrace closebrace rbrace"},
	{"parenleft", "leftparen openparen lparen"},
	{"parenright", "rightparen closeparen rparen"},
	{"less", "intlbackslash lessthan"},
	{"greater", "greaterthan"},
	{"yen", "intlyen"},
	{"backslash", "intlro"},
	{"KP_Add", "add numpadadd numadd kpplus numplus"},
	{"KP_Subtract", "subtract numpadsubtract numsub kpminus numminus"},
	{"KP_Multiply", "multiply numpadmultiply nummult kpasterisk numpadstar"},
	{"KP_Divide", "divide numpaddivide numdiv kpslash"},
	{"KP_Decimal", "decimal numpaddecimal numdecimal kpperiod kpdot"},
	{"KP_Separator", "separator numpadcomma kpcomma"},
	{"KP_Equal", "numpadequal kpequals"},
	{"Clear", "numpadclear"},
	{"parenleft", "numpadparenleft"},
	{"parenright", "numpadparenright"},
	{"numbersign", "numpadhash"},
	{"Mode_switch", "modechange"},
	{"Hangul", "hanguel hangulmode lang1"},
	{"Hangul_Hanja", "hanja hanjamode lang2"},
	{"Hangul_Jeonja", "junja junjamode"},
	{"Hangul_End", "final finalmode"},
	{"Katakana", "lang3"},
	{"Hiragana", "lang4"},
	{"Zenkaku_Hankaku", "lang5"},
	{"Eisu_toggle", "eisu alphanumeric"},
	{"Henkan", "convert"},
	{"Muhenkan", "nonconvert"},
	{"Hiragana_Katakana", "kana kanamode"},
	{"Kanji", "kanjimode"},
	{"MultipleCandidate", "allcandidates"},
	{"ISO_First_Group", "groupfirst"},
	{"ISO_Last_Group", "grouplast"},
	{"ISO_Next_Group", "groupnext"},
	{"ISO_Prev_Group", "groupprevious"},
	{"Redo", "again"},
	{"XF86Select", "accept"},
	{"XF86AudioRaiseVolume", "volumeup audiovolumeup"},
	{"XF86AudioLowerVolume", "volumedown audiovolumedown"},
	{"XF86AudioMute", "volumemute audiovolumemute mute"},
	{"XF86AudioMicMute", "microphonevolumemute microphonemutetoggle"},
	{"XF86AudioPlay", "playpause mediaplaypause mediaplay play"},
	{"XF86AudioPause", "mediapause"},
	{"XF86AudioStop", "mediastop stop"},
	{"XF86AudioNext", "nexttrack mediatracknext"},
	{"XF86AudioPrev", "prevtrack mediatrackprevious previoustrack"},
	{"XF86AudioRecord", "mediarecord"},
	{"XF86AudioForward", "mediafastforward"},
	{"XF86AudioRewind", "mediarewind"},
	{"XF86AudioMedia", "launchmediaselect mediaselect launchmediaplayer"},
	{"XF86Back", "browserback"},
	{"XF86Forward", "browserforward"},
	{"XF86HomePage", "browserhome"},
	{"XF86Refresh", "browserrefresh"},
	{"XF86Search", "browsersearch"},
	{"XF86Stop", "browserstop"},
	{"XF86Favorites", "browserfavorites"},
	{"XF86Mail", "launchmail"},
	{"XF86MyComputer", "launchapp1 launchapplication1"},
	{"XF86Calculator", "launchapp2 launchapplication2 launchcalculator"},
	{"XF86MonBrightnessUp", "brightnessup"},
	{"XF86MonBrightnessDown", "brightnessdown"},
	{"XF86PowerOff", "power"},
	{"XF86Suspend", "standby"},
	{"XF86WakeUp", "wakeup"},
};

/* Families of names that end in a digit or letter: DOM codes and pyautogui. */
static const struct {
	const char *prefix;
	const char *target;
	const char *ends;
} families[] = {
	{"key", "", "abcdefghijklmnopqrstuvwxyz"},
	{"digit", "", "0123456789"},
	{"numpad", "KP_", "0123456789"},
	{"num", "KP_", "0123456789"},
};

static const struct keysym_row *row_by_name(const char *name) {
	for (size_t i = 0; i < CUA_COUNT(keysyms); i++) {
		if (strcmp(keysyms[i].name, name) == 0) {
			return &keysyms[i];
		}
	}
	return NULL;
}

/* Lower case without what does not count; false when it does not fit or nothing is left. */
static bool fold(const char *name, char ret[FOLDED_SIZE]) {
	size_t used = 0;
	for (; *name; name++) {
		if (*name == ' ' || *name == '_' || *name == '-') {
			continue;
		}
		if (used + 1 >= FOLDED_SIZE) {
			return false;
		}
		ret[used++] = (char)tolower((unsigned char)*name);
	}
	ret[used] = '\0';
	return used > 0;
}

/* Takes the next of the names parted by spaces; false at the end of the list. */
static bool next_alias(const char **list, char ret[FOLDED_SIZE]) {
	const char *start = *list + strspn(*list, " ");
	size_t len = strcspn(start, " ");
	if (len == 0 || len >= FOLDED_SIZE) {
		return false;
	}
	memcpy(ret, start, len);
	ret[len] = '\0';
	*list = start + len;
	return true;
}

static const char *alias_target(const char *folded) {
	for (size_t i = 0; i < CUA_COUNT(aliases); i++) {
		const char *list = aliases[i].names;
		char alias[FOLDED_SIZE];
		while (next_alias(&list, alias)) {
			if (strcmp(alias, folded) == 0) {
				return aliases[i].target;
			}
		}
	}
	return NULL;
}

static bool family_keysym(const char *folded, uint32_t *ret) {
	for (size_t i = 0; i < CUA_COUNT(families); i++) {
		size_t len = strlen(families[i].prefix);
		if (strncmp(folded, families[i].prefix, len) != 0 || strlen(folded) != len + 1 ||
			!strchr(families[i].ends, folded[len])) {
			continue;
		}
		char name[8];
		(void)snprintf(name, sizeof(name), "%s%c", families[i].target, folded[len]);
		const struct keysym_row *row = row_by_name(name);
		if (row) {
			*ret = row->keysym;
			return true;
		}
	}
	return false;
}

static size_t lower_letters(const char *name) {
	size_t n = 0;
	for (; *name; name++) {
		n += islower((unsigned char)*name) != 0;
	}
	return n;
}

/* Some names differ by case only (Aacute, aacute): the small letter is what no Shift gives. */
static const struct keysym_row *row_by_folded(const char *folded) {
	const struct keysym_row *best = NULL;
	for (size_t i = 0; i < CUA_COUNT(keysyms); i++) {
		char name[FOLDED_SIZE];
		if (fold(keysyms[i].name, name) && strcmp(name, folded) == 0 &&
			(!best || lower_letters(keysyms[i].name) > lower_letters(best->name))) {
			best = &keysyms[i];
		}
	}
	return best;
}

static bool is_typable(uint32_t c) {
	return c >= 0x20 && c != 0x7f && c <= UNICODE_MAX && (c < 0xd800 || c > 0xdfff);
}

static bool is_hex(const char *text) {
	size_t len = strlen(text);
	return len >= 2 && len <= 8 && strspn(text, "0123456789abcdefABCDEF") == len;
}

/* "U+20AC", "u20ac" and X's hexadecimal "0x20ac" for a keysym. */
static bool numeric_keysym(const char *name, uint32_t *ret) {
	bool unicode = toupper((unsigned char)name[0]) == 'U';
	if (!unicode && strncasecmp(name, "0x", 2) != 0) {
		return false;
	}
	const char *digits = unicode ? name + 1 + (name[1] == '+') : name + 2;
	if (!is_hex(digits)) {
		return false;
	}
	uint32_t value = (uint32_t)strtoul(digits, NULL, 16);
	*ret = unicode ? keymap_keysym_of_char(value) : value;
	return unicode ? is_typable(value) : value > 0 && value < 0x20000000;
}

static bool single_keysym(const char *name, uint32_t *ret) {
	size_t len = strlen(name);
	uint32_t character = 0;
	if (len == 0 || len > 4 || !cua_utf8_ok(name, len) ||
		keymap_decode(name, len, &character) != len) {
		return false;
	}
	*ret = keymap_keysym_of_char(character);
	return *ret != 0;
}

static bool named_keysym(const char *name, uint32_t *ret) {
	const struct keysym_row *row = row_by_name(name);
	char folded[FOLDED_SIZE];
	char vendor[FOLDED_SIZE + 4];
	if (!row && fold(name, folded)) {
		const char *target = alias_target(folded);
		if (!target && family_keysym(folded, ret)) {
			return true;
		}
		(void)snprintf(vendor, sizeof(vendor), "xf86%s", folded);
		row = target ? row_by_name(target) : row_by_folded(folded);
		row = row || target ? row : row_by_folded(vendor);
	}
	if (row) {
		*ret = row->keysym;
	}
	return row != NULL;
}

/* Levenshtein's distance of two short strings. */
static size_t distance(const char *a, const char *b) {
	size_t row[FOLDED_SIZE + 1];
	size_t len = strlen(b);
	for (size_t j = 0; j <= len; j++) {
		row[j] = j;
	}
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			size_t change = diagonal + (a[i - 1] != b[j - 1]);
			size_t shift = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
			diagonal = row[j];
			row[j] = change < shift ? change : shift;
		}
	}
	return row[len];
}

struct nearest {
	char folded[FOLDED_SIZE]; /* what is looked for */
	size_t distance;
	char name[FOLDED_SIZE];
};

static void consider(struct nearest *n, const char *folded, const char *name) {
	size_t d = distance(n->folded, folded);
	if (d < n->distance) {
		n->distance = d;
		(void)snprintf(n->name, sizeof(n->name), "%s", name);
	}
}

static void find_nearest(struct nearest *n) {
	char folded[FOLDED_SIZE];
	for (size_t i = 0; i < CUA_COUNT(aliases); i++) {
		const char *list = aliases[i].names;
		while (next_alias(&list, folded)) {
			consider(n, folded, folded);
		}
	}
	for (size_t i = 0; i < CUA_COUNT(keysyms); i++) {
		if (fold(keysyms[i].name, folded)) {
			consider(n, folded, keysyms[i].name);
		}
	}
}

/* A copy cut to fit an error message, at the start of a character. */
static void shorten(const char *text, char *ret, size_t size) {
	size_t len = strnlen(text, size - 1);
	while (len > 0 && text[len] && ((unsigned char)text[len] & 0xc0) == 0x80) {
		len--;
	}
	memcpy(ret, text, len);
	ret[len] = '\0';
}

static int unknown(const char *name, struct cua_err *err) {
	char shown[48];
	shorten(name, shown, sizeof(shown));
	struct nearest nearest = {.distance = SIZE_MAX, .name = ""};
	if (!fold(shown, nearest.folded)) {
		return cua_err_about(err, CUA_INVALID, "key", "the name of a key is empty");
	}
	find_nearest(&nearest);
	return cua_err_about(err, CUA_INVALID, shown,
		"unknown key \"%s\"; the nearest known one is \"%s\"", shown, nearest.name);
}

int keymap_keysym(const char *name, uint32_t *ret_keysym, struct cua_err *err) {
	uint32_t keysym = 0;
	if (single_keysym(name, &keysym) || named_keysym(name, &keysym) ||
		numeric_keysym(name, &keysym)) {
		*ret_keysym = keysym;
		return 0;
	}
	return unknown(name, err);
}

static void each_of_family(size_t i, void (*tell)(void *ctx, const char *name), void *ctx) {
	for (const char *end = families[i].ends; *end; end++) {
		char name[FOLDED_SIZE];
		(void)snprintf(name, sizeof(name), "%s%c", families[i].prefix, *end);
		tell(ctx, name);
	}
}

void keymap_each_name(void (*tell)(void *ctx, const char *name), void *ctx) {
	char alias[FOLDED_SIZE];
	for (size_t i = 0; i < CUA_COUNT(keysyms); i++) {
		tell(ctx, keysyms[i].name);
	}
	for (size_t i = 0; i < CUA_COUNT(aliases); i++) {
		const char *list = aliases[i].names;
		while (next_alias(&list, alias)) {
			tell(ctx, alias);
		}
	}
	for (size_t i = 0; i < CUA_COUNT(families); i++) {
		each_of_family(i, tell, ctx);
	}
}

/* Length of "U+20AC" at the start of a text, or 0. With less than four digits it could be two keys,
 * like "u+f1". */
static size_t unicode_name(const char *text) {
	if (toupper((unsigned char)text[0]) != 'U' || text[1] != '+') {
		return 0;
	}
	size_t digits = strspn(text + 2, "0123456789abcdefABCDEF");
	return digits >= 4 ? 2 + digits : 0;
}

/* Cuts the first name off a chord: up to the next "+", which may itself be the name. Spaces around
 * a name do not count, unless they are all of it. */
static const char *cut_name(const char **text, size_t *ret_len) {
	const char *start = *text + strspn(*text, " ");
	if (*start == '\0' && start > *text) {
		start--;
	}
	size_t len = unicode_name(start);
	if (len == 0) {
		len = *start == '+' ? 1 : strcspn(start, "+");
	}
	*text = start + len + strspn(start + len, " ");
	while (len > 1 && start[len - 1] == ' ') {
		len--;
	}
	*ret_len = len;
	return start;
}

static int add_key(struct keymap_chord *chord, const char *name, size_t len, struct cua_err *err) {
	char copy[CUA_KEYS_SIZE];
	if (len >= sizeof(copy)) {
		return cua_err_about(err, CUA_INVALID, "keys", "the name of a key is too long");
	}
	if (chord->count == KEYMAP_CHORD_MAX) {
		return cua_err_about(
			err, CUA_INVALID, "keys", "more than %d keys at once", KEYMAP_CHORD_MAX);
	}
	memcpy(copy, name, len);
	copy[len] = '\0';
	int r = keymap_keysym(copy, &chord->keysym[chord->count], err);
	if (r == 0) {
		chord->count++;
	}
	return r;
}

static bool is_shift(uint32_t keysym) {
	return keysym == 0xffe1 || keysym == 0xffe2;
}

static void lower_letter(struct keymap_chord *chord) {
	uint32_t *key = &chord->keysym[chord->count - 1];
	for (size_t i = 0; i + 1 < chord->count; i++) {
		if (keymap_is_modifier(chord->keysym[i]) && !is_shift(chord->keysym[i]) &&
			*key >= 'A' && *key <= 'Z') {
			*key += 'a' - 'A';
		}
	}
}

int keymap_chord(const char *text, struct keymap_chord *ret, struct cua_err *err) {
	struct keymap_chord chord = {.count = 0};
	for (bool more = true; more;) {
		size_t len = 0;
		const char *name = cut_name(&text, &len);
		int r = add_key(&chord, name, len, err);
		if (r < 0) {
			return r;
		}
		if (*text && *text != '+') {
			return unknown(name, err);
		}
		more = *text == '+';
		text += more;
	}
	lower_letter(&chord);
	*ret = chord;
	return 0;
}

bool keymap_is_modifier(uint32_t keysym) {
	return (keysym >= 0xffe1 && keysym <= 0xffee) || (keysym >= 0xfe01 && keysym <= 0xfe13) ||
	       keysym == 0xff7e || keysym == 0xff7f;
}

static const struct keysym_row *first_row(uint32_t keysym) {
	size_t low = 0;
	size_t high = CUA_COUNT(keysyms);
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (keysyms[middle].keysym < keysym) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return &keysyms[low];
}

uint32_t keymap_char(uint32_t keysym) {
	if ((keysym >= 0x20 && keysym <= 0x7e) || (keysym >= 0xa0 && keysym <= 0xff)) {
		return keysym;
	}
	if (keysym > UNICODE_KEYSYM && keysym <= UNICODE_KEYSYM + UNICODE_MAX) {
		return keysym - UNICODE_KEYSYM;
	}
	const struct keysym_row *end = keysyms + CUA_COUNT(keysyms);
	for (const struct keysym_row *r = first_row(keysym); r < end && r->keysym == keysym; r++) {
		if (r->character) {
			return r->character;
		}
	}
	return 0;
}

uint32_t keymap_keysym_of_char(uint32_t c) {
	switch (c) {
	case '\n':
	case '\r':
		return 0xff0d; /* Return */
	case '\t':
		return 0xff09; /* Tab */
	case '\b':
		return 0xff08; /* BackSpace */
	case 0x1b:
		return 0xff1b; /* Escape */
	case 0x7f:
		return 0xffff; /* Delete */
	default:
		break;
	}
	if (!is_typable(c)) {
		return 0;
	}
	return c < 0x7f || (c >= 0xa0 && c <= 0xff) ? c : UNICODE_KEYSYM + c;
}

size_t keymap_decode(const char *text, size_t len, uint32_t *ret_character) {
	const uint8_t *p = (const uint8_t *)text;
	size_t more = p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : p[0] >= 0xc0 ? 1 : 0;
	if (more >= len) {
		more = 0;
	}
	uint32_t c = more ? p[0] & (0x3fu >> more) : p[0];
	for (size_t i = 1; i <= more; i++) {
		c = c << 6 | (p[i] & 0x3fu);
	}
	*ret_character = c;
	return more + 1;
}

/* The rows of an American keyboard from the keycode of their first key on. */
static const struct {
	uint8_t keycode;
	const char *plain;
	const char *shifted;
} us_rows[] = {
	{10, "1234567890-=", "!@#$%^&*()_+"},
	{24, "qwertyuiop[]", "QWERTYUIOP{}"},
	{38, "asdfghjkl;'`", "ASDFGHJKL:\"~"},
	{51, "\\zxcvbnm,./", "|ZXCVBNM<>?"},
	{65, " ", ""},
};

uint8_t keymap_us_keycode(uint32_t character, bool *ret_shift) {
	if (character < 0x20 || character > 0x7e) {
		return 0;
	}
	for (size_t i = 0; i < CUA_COUNT(us_rows); i++) {
		const char *plain = strchr(us_rows[i].plain, (int)character);
		const char *shifted = strchr(us_rows[i].shifted, (int)character);
		if (plain || shifted) {
			size_t place = plain ? (size_t)(plain - us_rows[i].plain)
					     : (size_t)(shifted - us_rows[i].shifted);
			*ret_shift = !plain;
			return (uint8_t)(us_rows[i].keycode + place);
		}
	}
	return 0;
}

void keymap_us_characters(uint8_t keycode, uint32_t ret[2]) {
	ret[0] = ret[1] = 0;
	for (size_t i = 0; i < CUA_COUNT(us_rows); i++) {
		size_t place = (size_t)keycode - us_rows[i].keycode;
		if (keycode >= us_rows[i].keycode && place < strlen(us_rows[i].plain)) {
			ret[0] = (unsigned char)us_rows[i].plain[place];
			ret[1] = place < strlen(us_rows[i].shifted)
					 ? (unsigned char)us_rows[i].shifted[place]
					 : ret[0];
		}
	}
}
