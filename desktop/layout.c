/* Reads and changes the X server's keyboard map through XKB. What to type and when is not known
 * here. A keycode that cuad once gave a keysym is recognised by its look, so a worker that starts
 * anew gets back what the one before it borrowed. */
#include "desktop/layout.h"

#include <X11/XKBlib.h>

#include "desktop/keymap.h"
#include "desktop/x11_priv.h"

#define SYM_ISO_LEVEL3_SHIFT 0xfe03u
#define SYM_ISO_LEVEL5_SHIFT 0xfe11u
#define LAST_MAIN_KEYCODE 94 /* letters, digits and signs of real keyboards are not above it */
#define KEYCODE_ALTGR 108

static void free_keyboard(XkbDescPtr *desc) {
	if (*desc) {
		XkbFreeKeyboard(*desc, 0, True);
	}
	*desc = NULL;
}

/* The modifiers of a level: 0 for the first, an active map entry's for others. */
static bool level_mods(const XkbKeyTypeRec *type, int level, uint8_t *ret) {
	bool found = level == 0;
	*ret = 0;
	for (int i = 0; type->map && i < type->map_count; i++) {
		const XkbKTMapEntryRec *e = &type->map[i];
		if (!e->active || e->level != level || (level == 0 && e->mods.mask)) {
			continue;
		}
		if (!found || __builtin_popcount(e->mods.mask) < __builtin_popcount(*ret)) {
			*ret = e->mods.mask;
			found = true;
		}
	}
	return found;
}

static void add_entry(struct layout *l, const struct layout_entry *entry) {
	if (entry->keysym && l->count < LAYOUT_ENTRIES) {
		l->entry[l->count++] = *entry;
	}
}

/* Num Lock turns the levels of the keypad round: (Num Lock) and (Shift) are both its second one. */
static void add_level(
	struct layout *l, const XkbKeyTypeRec *type, int level, struct layout_entry *entry) {
	entry->mask = type->mods.mask;
	if (level_mods(type, level, &entry->stroke.mods)) {
		add_entry(l, entry);
	}
	for (int i = 0; type->map && i < type->map_count; i++) {
		const XkbKTMapEntryRec *e = &type->map[i];
		if (e->active && e->level == level && e->mods.mask != entry->stroke.mods) {
			struct layout_entry other = *entry;
			other.stroke.mods = e->mods.mask;
			add_entry(l, &other);
		}
	}
}

static const XkbKeyTypeRec *key_type(const XkbDescRec *desc, int keycode, int group) {
	unsigned index = desc->map->key_sym_map[keycode].kt_index[group];
	return index < desc->map->num_types ? &desc->map->types[index] : NULL;
}

static uint32_t sym_at(const XkbDescRec *desc, int keycode, int group, int level) {
	const XkbSymMapRec *map = &desc->map->key_sym_map[keycode];
	unsigned place = map->offset + (unsigned)group * map->width + (unsigned)level;
	if (level >= map->width || place >= desc->map->num_syms) {
		return 0;
	}
	KeySym sym = desc->map->syms[place];
	return sym <= 0x1fffffff ? (uint32_t)sym : 0;
}

static void add_key(struct layout *l, const XkbDescRec *desc, int keycode) {
	int groups = XkbKeyNumGroups(desc, keycode);
	for (int g = 0; g < groups && g < XkbNumKbdGroups; g++) {
		const XkbKeyTypeRec *type = key_type(desc, keycode, g);
		for (int level = 0; type && level < type->num_levels; level++) {
			uint32_t sym = sym_at(desc, keycode, g, level);
			struct layout_entry entry = {
				.keysym = sym,
				.character = keymap_char(sym),
				.stroke = {.keycode = (uint8_t)keycode,
					.group = groups == 1 ? LAYOUT_ANY_GROUP : (uint8_t)g},
			};
			add_level(l, type, level, &entry);
		}
	}
}

static bool carries_nothing(const XkbDescRec *desc, int keycode) {
	int groups = XkbKeyNumGroups(desc, keycode);
	for (int g = 0; g < groups && g < XkbNumKbdGroups; g++) {
		for (int level = 0; level < desc->map->key_sym_map[keycode].width; level++) {
			if (sym_at(desc, keycode, g, level)) {
				return false;
			}
		}
	}
	return true;
}

static uint32_t with_shift(uint32_t keysym) {
	return keysym >= 'a' && keysym <= 'z' ? keysym - ('a' - 'A') : keysym;
}

/* One group of two levels as layout_borrow() makes them; no layout has such keys out there. */
static uint32_t borrowed_sym(const XkbDescRec *desc, int keycode) {
	if (keycode <= LAST_MAIN_KEYCODE || XkbKeyNumGroups(desc, keycode) != 1 ||
		desc->map->key_sym_map[keycode].width != 2) {
		return 0;
	}
	uint32_t sym = sym_at(desc, keycode, 0, 0);
	return sym_at(desc, keycode, 0, 1) == with_shift(sym) ? sym : 0;
}

static void classify(struct layout *l, const XkbDescRec *desc, int keycode) {
	uint32_t sym = sym_at(desc, keycode, 0, 0);
	uint8_t mods = desc->map->modmap ? desc->map->modmap[keycode] : 0;
	l->modifier[keycode] = mods || keymap_is_modifier(sym);
	if (!mods && carries_nothing(desc, keycode)) {
		l->spare[keycode] = keycode > LAST_MAIN_KEYCODE;
		return;
	}
	l->borrowed[keycode] = mods ? 0 : borrowed_sym(desc, keycode);
	l->spare[keycode] = l->borrowed[keycode] != 0;
	if (!l->spare[keycode]) {
		add_key(l, desc, keycode);
	}
}

/* Locks and latches change more than the time that they are down. */
static bool holds(uint32_t sym) {
	bool lock = sym == 0xffe5 || sym == 0xffe6 || sym == 0xff7f;
	bool iso = sym >= 0xfe01 && sym <= 0xfe13;
	return keymap_is_modifier(sym) && !lock &&
	       (!iso || sym == SYM_ISO_LEVEL3_SHIFT || sym == SYM_ISO_LEVEL5_SHIFT);
}

static void find_modifier_keys(struct layout *l, const XkbDescRec *desc) {
	uint8_t level3 = 0;
	bool real_altgr = sym_at(desc, KEYCODE_ALTGR, 0, 0) == SYM_ISO_LEVEL3_SHIFT;
	for (int k = desc->min_key_code; k <= desc->max_key_code; k++) {
		uint32_t sym = sym_at(desc, k, 0, 0);
		uint8_t mods = desc->map->modmap ? desc->map->modmap[k] : 0;
		if (!mods || (mods & (mods - 1)) || !holds(sym)) {
			continue;
		}
		int bit = __builtin_ctz(mods);
		level3 |= sym == SYM_ISO_LEVEL3_SHIFT ? mods : 0;
		l->mod_key[bit] = l->mod_key[bit] ? l->mod_key[bit] : (uint8_t)k;
	}
	if (level3 && real_altgr) {
		l->mod_key[__builtin_ctz(level3)] = KEYCODE_ALTGR;
	}
}

static bool is_complete(const XkbDescRec *desc) {
	return desc && desc->map && desc->map->types && desc->map->key_sym_map && desc->map->syms;
}

int layout_load(struct x11 *x, struct layout *ret, struct cua_err *err) {
	_cleanup_(free_keyboard) XkbDescPtr desc = NULL;
	if (!x->lost) {
		desc = XkbGetMap(x->display, XkbKeyTypesMask | XkbKeySymsMask | XkbModifierMapMask,
			XkbUseCoreKbd);
	}
	if (x->lost) {
		return cua_err_set(err, CUA_NOT_FOUND, "the X server is gone");
	}
	if (!is_complete(desc)) {
		return cua_err_set(err, CUA_INTERNAL, "the X server does not tell its keyboard");
	}
	memset(ret, 0, sizeof(*ret));
	for (int k = desc->min_key_code; k <= desc->max_key_code; k++) {
		classify(ret, desc, k);
	}
	find_modifier_keys(ret, desc);
	return 0;
}

static uint64_t digest(uint64_t hash, const void *data, size_t len) {
	const uint8_t *p = data;
	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ p[i]) * 0x100000001b3u;
	}
	return hash;
}

uint64_t layout_digest(const struct layout *layout) {
	_Static_assert(sizeof(struct layout_entry) == 12, "padding would be part of the digest");
	uint64_t hash = digest(0xcbf29ce484222325u, layout->borrowed, sizeof(layout->borrowed));
	return digest(hash, layout->entry, layout->count * sizeof(layout->entry[0]));
}

int layout_state(struct x11 *x, struct layout_state *ret, struct cua_err *err) {
	XkbStateRec state = {0};
	int r = x->lost ? -1 : XkbGetState(x->display, XkbUseCoreKbd, &state);
	if (r != Success || x->lost) {
		return cua_err_set(err, CUA_NOT_FOUND, "the X server is gone");
	}
	*ret = (struct layout_state){
		.base = state.base_mods,
		.latched = state.latched_mods,
		.locked = state.locked_mods,
		.group = state.group,
		.locked_group = state.locked_group,
	};
	return 0;
}

/* Modifiers still to be pressed for an entry while some are locked; false when none can help. */
static bool to_press(
	const struct layout *l, const struct layout_entry *e, uint8_t locked, uint8_t *ret) {
	uint8_t seen = locked & e->mask;
	if ((seen & e->stroke.mods) != seen) {
		return false;
	}
	*ret = e->stroke.mods & (uint8_t)~seen;
	for (int bit = 0; bit < 8; bit++) {
		if ((*ret & (1 << bit)) && !l->mod_key[bit]) {
			return false;
		}
	}
	return true;
}

static unsigned cost_of(const struct layout_stroke *stroke, uint8_t group) {
	unsigned other_group = stroke->group != LAYOUT_ANY_GROUP && stroke->group != group;
	return other_group * 16 + (unsigned)__builtin_popcount(stroke->mods);
}

struct wanted {
	uint32_t keysym; /* 0: only by character */
	uint32_t character;
	uint8_t group;
	uint8_t locked;
};

static bool find(const struct layout *l, const struct wanted *w, struct layout_stroke *ret) {
	unsigned best = UINT32_MAX;
	for (size_t i = 0; i < l->count; i++) {
		const struct layout_entry *e = &l->entry[i];
		struct layout_stroke stroke = e->stroke;
		if (!(w->keysym && e->keysym == w->keysym) &&
			!(w->character && e->character == w->character)) {
			continue;
		}
		if (to_press(l, e, w->locked, &stroke.mods) && cost_of(&stroke, w->group) < best) {
			best = cost_of(&stroke, w->group);
			*ret = stroke;
		}
	}
	return best != UINT32_MAX;
}

bool layout_find_char(
	const struct layout *layout, uint32_t character, uint8_t group, struct layout_stroke *ret) {
	const struct wanted wanted = {.character = character, .group = group};
	return character && find(layout, &wanted, ret);
}

bool layout_find_keysym(const struct layout *layout, uint32_t keysym,
	const struct layout_state *state, struct layout_stroke *ret) {
	const struct wanted wanted = {
		.keysym = keysym,
		.character = keymap_char(keysym),
		.group = state->group,
		.locked = state->locked & (uint8_t)~LockMask,
	};
	return find(layout, &wanted, ret);
}

/* What Xlib needs to change types and symbols: it looks at the actions without checking that they are
 * there. NULL when it is not all there. */
static XkbDescPtr load_changeable(struct x11 *x) {
	XkbDescPtr desc = NULL;
	if (!x->lost) {
		desc = XkbGetMap(x->display, XkbKeyTypesMask | XkbKeySymsMask | XkbKeyActionsMask,
			XkbUseCoreKbd);
	}
	if (x->lost || !is_complete(desc) || !desc->server || !desc->server->key_acts ||
		desc->map->num_types <= XkbAlphabeticIndex) {
		free_keyboard(&desc);
	}
	return desc;
}

static void set_key(XkbDescPtr desc, uint8_t keycode, uint32_t keysym) {
	int types[XkbNumKbdGroups] = {0};
	types[0] = with_shift(keysym) == keysym ? XkbTwoLevelIndex : XkbAlphabeticIndex;
	if (XkbChangeTypesOfKey(desc, keycode, 1, XkbGroup1Mask, types, NULL) == Success) {
		KeySym *syms = XkbKeySymsPtr(desc, keycode);
		syms[0] = keysym;
		syms[1] = with_shift(keysym);
	}
}

/* The key's own groups stay; the new one goes behind all that any key has. */
static bool add_latin_group(XkbDescPtr desc, uint8_t keycode, int groups) {
	uint32_t character[2];
	int types[XkbNumKbdGroups] = {0};
	keymap_us_characters(keycode, character);
	int own = XkbKeyNumGroups(desc, keycode);
	if (!character[0] || own == 0 || keycode > desc->max_key_code) {
		return false;
	}
	for (int g = 0; g < groups; g++) {
		types[g] = desc->map->key_sym_map[keycode].kt_index[g < own ? g : 0];
	}
	bool letter = with_shift(character[0]) != character[0];
	types[groups] = letter ? XkbAlphabeticIndex : XkbTwoLevelIndex;
	unsigned all = (2u << groups) - 1;
	if (XkbChangeTypesOfKey(desc, keycode, groups + 1, all, types, NULL) != Success) {
		return false;
	}
	KeySym *syms = XkbKeySymsPtr(desc, keycode);
	size_t width = (size_t)XkbKeyGroupsWidth(desc, keycode);
	for (int g = own; g < groups; g++) {
		memcpy(&syms[(size_t)g * width], syms, width * sizeof(*syms));
	}
	syms[(size_t)groups * width] = character[0];
	syms[(size_t)groups * width + 1] = character[1];
	return true;
}

static int count_groups(const XkbDescRec *desc) {
	int most = 0;
	for (int k = desc->min_key_code; k <= desc->max_key_code; k++) {
		most = XkbKeyNumGroups(desc, k) > most ? XkbKeyNumGroups(desc, k) : most;
	}
	return most;
}

bool layout_add_latin(struct x11 *x, const struct layout *layout) {
	struct layout_stroke stroke;
	_cleanup_(free_keyboard) XkbDescPtr desc =
		layout_find_char(layout, 'a', 0, &stroke) ? NULL : load_changeable(x);
	if (!desc) {
		return false;
	}
	int groups = count_groups(desc);
	bool any = false;
	for (unsigned k = desc->min_key_code; k <= LAST_MAIN_KEYCODE && groups < XkbNumKbdGroups;
		k++) {
		any = add_latin_group(desc, (uint8_t)k, groups) || any;
	}
	XkbMapChangesRec changes = {.changed = XkbKeySymsMask,
		.first_key_sym = desc->min_key_code,
		.num_key_syms = (unsigned char)(LAST_MAIN_KEYCODE - desc->min_key_code + 1)};
	return any && XkbChangeMap(x->display, desc, &changes);
}

/* One request for all, with the keys between them as they are: each request makes every program
 * read the map several times. */
bool layout_borrow(
	struct x11 *x, struct layout *layout, const struct layout_loan *loan, size_t count) {
	_cleanup_(free_keyboard) XkbDescPtr desc = count > 0 ? load_changeable(x) : NULL;
	if (!desc) {
		return false;
	}
	uint8_t first = UINT8_MAX;
	uint8_t last = 0;
	for (size_t i = 0; i < count; i++) {
		uint8_t k = loan[i].keycode;
		if (k < desc->min_key_code || k > desc->max_key_code) {
			continue;
		}
		set_key(desc, k, loan[i].keysym);
		layout->borrowed[k] = loan[i].keysym;
		first = k < first ? k : first;
		last = k > last ? k : last;
	}
	XkbMapChangesRec changes = {.changed = XkbKeySymsMask,
		.first_key_sym = first,
		.num_key_syms = (unsigned char)(last - first + 1)};
	return first <= last && XkbChangeMap(x->display, desc, &changes);
}
