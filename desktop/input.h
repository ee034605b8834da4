/* Mouse and keyboard of the session, by XTEST: pointer, buttons, wheel, keys, and who holds what.
 *
 * Whoever presses names a lease. What is held is let go when the lease ends, and not before all
 * leases that hold it have let go. Actions are to be done one at a time: those that take time (see
 * typing.h, drag.h) must be over before the next begins. Coordinates are pixels of the screen.
 * Functions that return int give 0 or a negative cua_code; they send what they do at once but do
 * not wait for the server (x11_sync() does). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cua/msg.h"
#include "desktop/keymap.h"

struct input;
struct x11;
union _XEvent;

/* Takes over the session's input; lets go of every key and button that is down, for their holders
 * are gone. x must outlive it. NULL on failure. */
struct input *input_new(struct x11 *x, struct cua_err *err);
/* Lets go of what all leases hold. NULL is fine. Returns NULL. */
struct input *input_free(struct input *in);
/* To be told every event of the X connection; looks at changes of the keyboard map and at programs
 * that begin to drag something. */
void input_event(struct input *in, const union _XEvent *event);

/* 0 if the point is on the screen; else -CUA_OUT_OF_SCREEN, which names the coordinate. */
int input_check_point(const struct input *in, int x, int y, struct cua_err *err) CUA_CHECK;
/* Moves the pointer. -CUA_OUT_OF_SCREEN, which names the coordinate, moves nothing. */
int input_move(struct input *in, int x, int y, struct cua_err *err) CUA_CHECK;
/* The pointer's position; one round trip. */
int input_position(struct input *in, int *ret_x, int *ret_y, struct cua_err *err) CUA_CHECK;

/* Presses a button and holds it. When the lease holds it already nothing happens; when another one
 * does, both hold it from now on, and the press stays one. */
int input_button_down(
	struct input *in, uint32_t lease, cua_Button button, struct cua_err *err) CUA_CHECK;
/* Lets go of a button; nothing happens when the lease does not hold it, or not alone. */
int input_button_up(
	struct input *in, uint32_t lease, cua_Button button, struct cua_err *err) CUA_CHECK;
/* 0 if a button can be pressed and let go again: -CUA_CONFLICT while anybody holds it, -CUA_INVALID
 * when there is no such button. */
int input_check_free(struct input *in, cua_Button button, struct cua_err *err) CUA_CHECK;
/* Clicks count times (1 to 3) where the pointer is, fast enough for a double click everywhere; the
 * server has done it on return. 0; or milliseconds, at least 1, after which to call again; or
 * negative, as of input_check_free().
 *
 * Programs count presses of a button that come soon after each other at one place, and moving away
 * between them does not make all of them begin anew. So that two clicks are a double click and not
 * the end of a triple one, a click waits while the last press would count with it, unless both
 * are single clicks: two of these make a double click, as those of a hand do. */
int input_click(struct input *in, cua_Button button, unsigned count, struct cua_err *err) CUA_CHECK;
/* Turns the wheel by so many clicks: dx to the right, dy down. */
int input_scroll(struct input *in, int dx, int dy, struct cua_err *err) CUA_CHECK;

/* Presses the keys of a chord one after the other and holds them; what each needs (Shift for "!")
 * is held as well. Keysyms that the layout lacks get a spare keycode. 0; or milliseconds after
 * which to call again, for no spare keycode is free yet; or a negative cua_code, -CUA_TIMEOUT when
 * none will be. Unless it is 0, nothing that was not down before stays down. */
int input_keys_down(struct input *in, uint32_t lease, const struct keymap_chord *chord,
	struct cua_err *err) CUA_CHECK;
/* One that is to be called again will not be. */
void input_keys_give_up(struct input *in);
/* Lets go of what one input_keys_down() with the same chord and lease pressed. What is not held
 * any more is left alone. */
void input_keys_up(struct input *in, uint32_t lease, const struct keymap_chord *chord);

/* One key, pressed until input_key_up(): again, while the lease holds it, does nothing. Results as
 * of input_keys_down(). */
int input_key_down(
	struct input *in, uint32_t lease, uint32_t keysym, struct cua_err *err) CUA_CHECK;
/* Nothing happens when the lease does not hold it. */
void input_key_up(struct input *in, uint32_t lease, uint32_t keysym);

/* Lets go of what this lease holds and no other does. */
void input_lease_end(struct input *in, uint32_t lease);
/* True while a key or button is held. */
bool input_holds(const struct input *in);
/* Lets go of every key and button, whoever pressed it. Returns how many were down. */
unsigned input_release_all(struct input *in);
