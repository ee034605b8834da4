/* The inside of the clipboard, for clipboard.c, clip_keep.c, clip_serve.c, clip_fetch.c and
 * clip_paste.c. Nobody else includes it. */
#pragma once

#include "cua/limits.h"
#include "desktop/clipboard.h"
#include "desktop/x11_priv.h"

#define CLIP_OFFERED_MAX 64 /* targets of an owner that are looked at */
#define CLIP_SAVES_MAX 4 /* programs that hand over at the same time */

/* Atoms by their place in clip_atom_names. */
enum clip_atom {
	A_CLIPBOARD,
	A_CLIPBOARD_MANAGER,
	A_MANAGER,
	A_TARGETS,
	A_TIMESTAMP,
	A_MULTIPLE,
	A_ATOM_PAIR,
	A_SAVE_TARGETS,
	A_NULL,
	A_INCR,
	A_UTF8_STRING,
	A_TEXT,
	A_TEXT_PLAIN,
	A_TEXT_UTF8,
	A_TEXT_UTF8_CAPITAL,
	A_SECRET,
	A_TRANSFER,
	A_MAX_,
};

struct clip_sel {
	struct clipboard *c;
	Atom name;
	Window owner; /* as last told */
	unsigned long set_serial; /* the X request that made us the owner */
	Time time; /* since when we are */
	struct clip_text *text; /* what we own */
	struct clip_text *kept; /* a copy of what the owner of now has */
	bool handed_over; /* by SAVE_TARGETS: the owner is about to go */
	struct clip_fetch *fetch; /* under way */
	struct clip_read *reads; /* that wait for it */
	struct loop_timer *keep; /* begins the copy; NULL for PRIMARY */
	unsigned fetch_ms; /* the last one took */
};

/* A program that hands its content over and waits for our word. */
struct clip_save {
	struct clip_read read;
	struct clipboard *c;
	XSelectionRequestEvent request;
	bool busy;
};

struct clipboard {
	struct loop *loop;
	struct x11 *x;
	Window window; /* the owner */
	size_t chunk; /* bytes of one property */
	Atom atom[A_MAX_];
	struct clip_sel sel[CLIP_MAX_];
	Time manager_time;
	bool manager;
	struct clip_save save[CLIP_SAVES_MAX];
	struct clip_out *outs; /* transfers to programs */
	size_t out_count;
	struct clip_paste *paste;
};

/* Makes a window of ours the owner of a selection, or nobody (None). The time of it; 0 when it did
 * not happen. */
Time clip_own(struct clipboard *c, Atom selection, Window owner);
/* Becomes the owner with a text, whose reference is taken. 0 or negative. */
int clip_sel_take(struct clip_sel *sel, struct clip_text *text, struct cua_err *err) CUA_CHECK;
/* True while it is ours. */
bool clip_sel_ours(const struct clip_sel *sel);
/* The one with this name; NULL if it is none of the two. */
struct clip_sel *clip_sel_of(struct clipboard *c, Atom name);
/* Ends all reads that wait, with the text (not taken) or the error. */
void clip_sel_answer(struct clip_sel *sel, struct clip_text *text, const struct cua_err *err);
/* A fetch has ended and is gone; takes the text. secret: the owner asks not to be copied. */
void clip_sel_fetched(
	struct clip_sel *sel, struct clip_text *text, bool secret, const struct cua_err *err);

/* clip_keep.c: the clipboard manager. */
int clip_keep_begin(struct clipboard *c, struct cua_err *err) CUA_CHECK;
void clip_keep_end(struct clipboard *c);
/* Events of XFixes: an owner has changed; true when it was one, and the server's own. */
bool clip_keep_event(struct clipboard *c, const XEvent *event);
/* SAVE_TARGETS: the answer follows later; false when it is refused. */
bool clip_keep_save(struct clipboard *c, const XSelectionRequestEvent *request);

/* clip_serve.c: programs that ask us. */
void clip_serve(struct clipboard *c, const XSelectionRequestEvent *request);
/* Tells a requestor: its property is filled or, when done is false, refused. */
void clip_serve_notify(struct clipboard *c, const XSelectionRequestEvent *request, bool done);
/* Events of requestors' windows; others may need them, too. */
void clip_serve_event(struct clipboard *c, const XEvent *event);
/* Ends transfers: all, or with a text those of others. */
void clip_serve_end(struct clipboard *c, const struct clip_text *but);

/* clip_fetch.c: programs that we ask. 0 or negative; it ends in clip_sel_fetched(), never before this
 * has returned. */
int clip_fetch_begin(struct clip_sel *sel, struct cua_err *err) CUA_CHECK;
/* Ends it without a call. NULL is fine. Returns NULL. */
struct clip_fetch *clip_fetch_free(struct clip_fetch *f);
/* Events of the fetches' windows; true when it was one. */
bool clip_fetch_event(struct clipboard *c, const XEvent *event);

/* clip_paste.c: a program asks for anything of ours. */
void clip_paste_request(struct clipboard *c, Window requestor);
/* A program takes a text of ours (begun), or has read it to the end (not). */
void clip_paste_note(
	struct clipboard *c, const struct clip_text *text, Window requestor, bool begun);
