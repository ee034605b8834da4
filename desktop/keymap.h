/* Names of keys and characters of text as X keysyms. Pure: knows no server and no layout. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/err.h"

#define KEYMAP_CHORD_MAX 8

/* Keys pressed together, in the order named; the last one is struck, those before it are held. */
struct keymap_chord {
	uint32_t keysym[KEYMAP_CHORD_MAX];
	size_t count;
};

/* The keysym of a key's name: one character, `U+20AC`, an X keysym's name, or a name of cua,
 * xdotool, Anthropic, OpenAI, pyautogui, DOM `key` or DOM `code`. An X name in its own spelling
 * goes first; then case, spaces, `_` and `-` do not count. 0, or -CUA_INVALID whose message names
 * the unknown name and the nearest known one. */
int keymap_keysym(const char *name, uint32_t *ret_keysym, struct cua_err *err) CUA_CHECK;

/* Tells every known name but single characters and numbers: those of X, then the others in small
 * letters. */
void keymap_each_name(void (*tell)(void *ctx, const char *name), void *ctx);

/* Reads "ctrl+shift+t"; "+" itself is named "+" or "plus", as in "ctrl++". With a modifier other
 * than Shift the case of a letter does not count: "Ctrl+C" is Ctrl+C. 0, or -CUA_INVALID. */
int keymap_chord(const char *text, struct keymap_chord *ret, struct cua_err *err) CUA_CHECK;

/* True for Shift, Control, Alt, Super, AltGr and the like, locks included. */
bool keymap_is_modifier(uint32_t keysym);

/* The character that a keysym writes, exactly; 0 when it writes none. Keys of the keypad write none
 * here, for what they write depends on Num Lock. */
uint32_t keymap_char(uint32_t keysym);

/* The keysym that writes a character in every program: Latin-1 as itself, others as Unicode. */
uint32_t keymap_keysym_of_char(uint32_t character);

/* Reads one character of well-formed UTF-8; len is not 0. Returns the bytes read, at least 1. */
size_t keymap_decode(const char *text, size_t len, uint32_t *ret_character);

/* The key of an American keyboard that writes an ASCII character, as a keycode of X on Linux; 0 if
 * there is none. *ret_shift tells whether Shift is needed. */
uint8_t keymap_us_keycode(uint32_t character, bool *ret_shift);

/* The other way round: what the key of an American keyboard writes, without and with Shift; 0 where
 * the key writes no ASCII. */
void keymap_us_characters(uint8_t keycode, uint32_t ret[2]);
