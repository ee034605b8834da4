/* The session's clipboard, by the worker itself: it owns selections, serves the programs that ask,
 * asks the programs that own, and keeps the clipboard's text when its owner goes. It announces itself
 * as the session's clipboard manager unless there is another.
 *
 * Nothing here waits for a program: every transfer is a state machine on the events of the X
 * connection, with a deadline of its own. What belongs to one connection goes with it; what a worker
 * owns is gone when the worker dies, for its windows are. */
#pragma once

#include "desktop/clip_text.h"
#include "desktop/loop.h"
#include "desktop/x11.h"

struct clipboard;
struct clip_paste;

enum clip_selection { CLIP_CLIPBOARD, CLIP_PRIMARY, CLIP_MAX_ };

/* Begins; x must outlive it. NULL on failure. */
struct clipboard *clipboard_new(struct loop *loop, struct x11 *x, struct cua_err *err);
/* Gives up what is owned; reads that are under way end without a call. NULL is fine. Returns NULL. */
struct clipboard *clipboard_free(struct clipboard *c);
/* Takes an event if it is about selections; true when nobody else needs it. */
bool clipboard_event(struct clipboard *c, union _XEvent *event);

/* Becomes the owner of a selection with this text. 0; -CUA_TOO_LARGE, -CUA_NOT_FOUND when the server
 * is gone, -CUA_CONFLICT when it does not make us the owner; the old content stays then. */
int clipboard_set(struct clipboard *c, enum clip_selection which, struct cua_span text,
	struct cua_err *err) CUA_CHECK;

/* A read of a selection; embedded in its owner. Only `done` and `ctx` are the owner's to set. */
struct clip_read {
	loop_fn *done; /* called once when it is over, not before clipboard_read() returns; from the
			* inside of other X calls, so it only takes note */
	void *ctx;
	bool over; /* what follows is valid */
	int result; /* 0 or a negative cua_code */
	struct cua_err err;
	struct clip_text *text; /* a reference; NULL: the selection has no owner */
	struct clip_read *next_;
	struct clip_read **list_;
};

/* Begins to read. It may be over at once, without a call. Errors: -CUA_CONFLICT when the content is
 * no text (names what is offered), -CUA_TIMEOUT when its owner hangs, -CUA_TOO_LARGE. */
void clipboard_read(struct clipboard *c, enum clip_selection which, struct clip_read *read);
/* Ends a read, over or not, and gives the text back; fine on a zero struct. */
void clip_read_done(struct clip_read *read);

/* The chord that makes the program paste that has the keyboard, by the program's class. *ret_primary:
 * it may be the primary selection that it pastes then, rather than the clipboard. */
const char *clipboard_chord(struct clipboard *c, bool *ret_primary);

/* What of a paste has happened so far. */
enum clip_taken {
	CLIP_NOT_TAKEN,
	CLIP_TAKING, /* a program reads it piece by piece */
	CLIP_GIVEN, /* it was answered whole, and has not said that it is done */
	CLIP_TAKEN, /* read to the end */
};

struct clip_paste_state {
	enum clip_taken taken;
	unsigned quiet_ms; /* since the last sign of the program or, without one, the chord */
	unsigned since_ms; /* the chord */
	unsigned took_ms; /* from the chord to the first CLIP_TAKEN */
	bool more; /* it asks on after that, so it will read the text once more */
};

/* Puts a text into the clipboard, and with primary into that selection too, for a while. The contents
 * before it are remembered and put back by clip_paste_end(): what another program owns must have been
 * read just before (`before`, for each selection a text or NULL for none or unknown); our own are
 * known. One at a time. NULL as clipboard_set(), and nothing has changed then. */
struct clip_paste *clip_paste_begin(struct clipboard *c, bool primary, struct cua_span text,
	struct clip_text *const before[CLIP_MAX_], struct cua_err *err);
/* Calls changed(ctx) when its state has changed; from the inside of other X calls. */
void clip_paste_watch(struct clip_paste *p, loop_fn *changed, void *ctx);
/* The chord is pressed now: from here on, requests of the program with the keyboard count. */
void clip_paste_pressed(struct clip_paste *p);
/* How far it is. */
struct clip_paste_state clip_paste_state(const struct clip_paste *p);
/* Restores the selections, unless a program has taken them meanwhile. NULL is fine. Returns NULL. */
struct clip_paste *clip_paste_end(struct clip_paste *p);
