/* The keyboard as the X server has it now: which key, with which modifiers, in which group carries
 * a keysym or a character, and which keycodes carry nothing and can be borrowed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/err.h"

struct x11;

#define LAYOUT_ENTRIES 4096
#define LAYOUT_ANY_GROUP 0xff

/* How a keysym is struck: the group must be in force and these modifiers down, no others that the
 * key knows. */
struct layout_stroke {
	uint8_t keycode;
	uint8_t group; /* or LAYOUT_ANY_GROUP */
	uint8_t mods; /* real modifiers as in an event's state */
};

struct layout_entry {
	uint32_t keysym;
	uint32_t character; /* 0 when it writes none */
	struct layout_stroke stroke;
	uint8_t mask; /* all modifiers that the key looks at */
};

struct layout {
	struct layout_entry entry[LAYOUT_ENTRIES];
	size_t count;
	bool spare[256]; /* carries nothing, or what cuad put there */
	uint32_t borrowed[256]; /* keysym that a spare keycode carries; 0: none */
	bool modifier[256]; /* key is a modifier's */
	uint8_t mod_key[8]; /* key that sets a real modifier while it is down; 0: none */
};

/* A keysym for a spare keycode. */
struct layout_loan {
	uint8_t keycode;
	uint32_t keysym;
};

/* Modifiers and groups as they are in force. */
struct layout_state {
	uint8_t base; /* by keys that are down */
	uint8_t latched;
	uint8_t locked; /* Caps Lock, Num Lock and so on */
	uint8_t group; /* effective */
	uint8_t locked_group;
};

/* Reads the keyboard anew; one round trip, about 0.1 ms. Whatever does not make sense in the answer
 * is left out. On failure *ret is unchanged. */
int layout_load(struct x11 *x, struct layout *ret, struct cua_err *err) CUA_CHECK;
/* A number that differs when the keyboard does. */
uint64_t layout_digest(const struct layout *layout);
/* Reads the state; one round trip. */
int layout_state(struct x11 *x, struct layout_state *ret, struct cua_err *err) CUA_CHECK;

/* The best stroke for a character while no modifier is locked: in this group, else in any; with few
 * modifiers. False when no key writes it; borrowed keycodes are not looked at. */
bool layout_find_char(
	const struct layout *layout, uint32_t character, uint8_t group, struct layout_stroke *ret);
/* The same for a keysym (or another keysym of the same character) while these modifiers are locked;
 * Caps Lock does not count. */
bool layout_find_keysym(const struct layout *layout, uint32_t keysym,
	const struct layout_state *state, struct layout_stroke *ret);

/* Gives the keys that write ASCII on an American keyboard these characters in one more group, as a
 * layout "ru,us" has them: programs and window managers know shortcuts by them. Nothing changes in the
 * groups that there are. False when nothing was sent: the layout has Latin letters, or four groups. */
bool layout_add_latin(struct x11 *x, const struct layout *layout);

/* Puts a keysym on each of these spare keycodes, all with one request; small letters get their
 * capital on Shift, other keysyms are the same with and without. One round trip. False when
 * nothing was sent. */
bool layout_borrow(
	struct x11 *x, struct layout *layout, const struct layout_loan *loan, size_t count);
