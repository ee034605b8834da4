/* The inside of the session's input, for the files that press keys: input.c, keys.c, spare.c,
 * typing.c, pointer.c, drag.c. Nobody else includes it. */
#pragma once

#include "cua/limits.h"
#include "desktop/input.h"
#include "desktop/layout.h"
#include "desktop/x11_priv.h"

/* One key or button that a lease holds. Several records of one code are one press. */
struct hold {
	uint32_t lease;
	uint32_t keysym; /* that was asked for; 0 for a button */
	uint32_t serial; /* records of one press have the same */
	uint8_t code;
	bool button;
};

/* The use that is made of spare keycodes. */
struct spares {
	uint64_t strikes; /* of keys so far, spare or not */
	uint64_t used[256]; /* number of a keycode's last strike; 0: none */
	uint64_t used_ms[256]; /* its time */
	uint64_t resolved; /* strikes up to here have been read by whom they were for */
	uint8_t probe; /* keycode that serves to ask; 0: none */
	bool waiting; /* for the program with the keyboard to re-read the map */
	uint64_t strikes_before; /* the last change of ours */
	uint64_t foreign_ms; /* when somebody else's change was noticed */
	uint64_t deadline_ms;
	bool changed; /* the map, since the window manager was asked */
	Window question; /* on which the window manager answers; None until it is asked */
	uint64_t asked_ms; /* when it was asked; 0: it has answered */
	uint64_t since_ms; /* when the present wait to strike a key began; 0: there is none */
};

/* A press or release of a button: where, and when the server had done it. */
struct pointing_at {
	uint64_t ms;
	int x;
	int y;
};

/* The last press of a button, and what became of drag-and-drop, as far as a next action needs it. */
struct pointing {
	uint8_t number; /* of the button; 0: none was pressed yet */
	unsigned count; /* of clicks in that action */
	unsigned run; /* of presses that came soon after each other */
	struct pointing_at press;
	struct pointing_at release; /* as press while it is held */
	uint32_t drags; /* times that a program began to drag something */
	uint64_t drag_ms; /* the last time */
};

struct input {
	struct x11 *x;
	struct layout layout;
	bool stale; /* the server's map changed since the layout was read */
	struct spares spares;
	struct mapwatch *watch; /* NULL where there is no such thing */
	unsigned lag_ms; /* how slow the session is just now */
	struct hold hold[CUA_HOLDS_MAX];
	size_t hold_count;
	uint32_t serial;
	struct pointing pointing;
	bool busy; /* a job of typing.h or drag.h is under way */
	bool pressing; /* an input_keys_down() is to be called again */
};

/* Monotonic milliseconds. */
uint64_t input_now(void);
/* Reads the keyboard anew. 0 or negative. */
int input_reload(struct input *in, struct cua_err *err) CUA_CHECK;
/* Key or button down or up, or a motion, for the server only; flushes nothing. */
void input_send_key(struct input *in, uint8_t keycode, bool down);
void input_send_button(struct input *in, uint8_t number, bool down);
/* A press that the server does so long after what it was sent before. */
void input_send_press_after(struct input *in, uint8_t number, unsigned ms);
void input_send_motion(struct input *in, int x, int y);
/* Flushes. 0; negative when the server is gone. */
int input_sent(struct input *in, struct cua_err *err) CUA_CHECK;
/* The number that X gives a button. */
uint8_t input_button_number(cua_Button button);

/* 0 if there is such a button; else -CUA_INVALID. */
int input_check_button(cua_Button button, struct cua_err *err) CUA_CHECK;
/* True if any lease holds it. */
bool hold_any(const struct input *in, uint8_t code, bool button);
/* Presses, unless it is down, and records. -CUA_EXHAUSTED when too much is held. */
int hold_press(struct input *in, const struct hold *hold, struct cua_err *err) CUA_CHECK;
/* Drops the records of a code, whoever holds it, and lets go. */
void hold_break(struct input *in, uint8_t code, bool button);
/* Drops the lease's records of its newest press for a keysym (or of a button's code, keysym 0), and
 * lets go of what nobody holds any more. */
void hold_release(struct input *in, uint32_t lease, uint32_t keysym, uint8_t button);

/* Takes back what was pressed after this serial. */
void hold_rollback(struct input *in, uint32_t serial);

/* Asks to be told of programs that begin to drag: who does takes a selection, for what is dragged is
 * asked of its owner. pointer_event() gets the events. */
void pointer_watch(struct input *in);
void pointer_event(struct input *in, const union _XEvent *event);
/* Wait until the server has done the presses (that many) or the release that were sent, and remember
 * it, for programs look at the server's time. 0 or negative. */
int pointer_pressed(
	struct input *in, uint8_t number, unsigned count, struct cua_err *err) CUA_CHECK;
int pointer_released(struct input *in, uint8_t number, struct cua_err *err) CUA_CHECK;

/* Keysyms that are to be put on spare keycodes in one go. */
struct spare_plan {
	bool reserved[256]; /* keycodes that must stay as they are or will be */
	bool fresh[256]; /* those that will get another keysym */
	bool any; /* there are such */
};

/* Chooses the keycode that serves to ask, after the layout was read. */
void spare_choose_probe(struct input *in);
/* Before an action that strikes keys: sees who has the keyboard, and begins to wait for it anew. */
void spare_begin(struct input *in);
/* To be called when a key is struck, spare or not. */
void spare_struck(struct input *in, uint8_t keycode);
/* The spare keycode that carries a keysym now, or 0. */
uint8_t spare_find(const struct input *in, uint32_t keysym);
/* The spare keycode that carries a keysym or, by the plan, will. 0: none is free; *ret_wait_ms is
 * then the time until one is, or 0 when the server has no spare keycodes at all. */
uint8_t spare_plan_get(
	struct input *in, struct spare_plan *plan, uint32_t keysym, unsigned *ret_wait_ms);
/* Gives the keyboard Latin letters where it has none, and reads it anew. False when it has. */
bool spare_add_latin(struct input *in);
/* Milliseconds until programs are done with a change of the map by somebody else; 0: they are. */
unsigned spare_wait_calm(const struct input *in);
/* Notes that somebody else changed the map. */
void spare_disturbed(struct input *in);
/* Milliseconds after which to ask again whether the window manager has taken its shortcuts by the map as
 * it is now; 0: it has, or does not answer. */
unsigned spare_wait_manager(struct input *in);
/* Milliseconds after which to ask again whether the program with the keyboard knows the map as it is
 * now; 0: it does, or will when it comes to the next key. */
unsigned spare_wait_visible(struct input *in);
/* Milliseconds after which to ask again whether the program has come near enough to the last key that
 * it makes sense to send more; 0: it has, or cannot be asked. */
unsigned spare_wait_ahead(struct input *in);
/* To be called when an action waits to strike a key. 0, or -CUA_TIMEOUT when what it waits for will not
 * come. */
int spare_check_answers(struct input *in, struct cua_err *err) CUA_CHECK;
/* Carries the plan out; every plan must be. */
void spare_plan_apply(struct input *in, struct spare_plan *plan);
