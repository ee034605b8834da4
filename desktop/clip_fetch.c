/* Programs that we ask for what they own: first what they offer, then the best text of it, in one
 * piece or in many (INCR). Each fetch has a window of its own, so that whatever a program sends too
 * late or too often goes nowhere. */
#include <string.h>

#include "cua/ident.h"
#include "desktop/clip_priv.h"

#define WANTED_MAX 8
#define NAMES_MAX 8 /* of targets in a message */

enum stage { STAGE_TARGETS, STAGE_TEXT, STAGE_PIECES };

struct clip_fetch {
	struct clip_sel *sel;
	Window window;
	Time time;
	enum stage stage;
	unsigned long offered[CLIP_OFFERED_MAX];
	size_t offered_count;
	Atom wanted[WANTED_MAX]; /* texts, the best first */
	size_t wanted_count;
	size_t at; /* the one that is asked for */
	Atom type; /* of the pieces */
	struct clip_text *text;
	uint64_t begun_us;
	struct loop_timer *timer;
};

/* What XGetWindowProperty returned; the data is Xlib's. */
struct property {
	Atom type;
	int format;
	unsigned long count;
	unsigned long left;
	unsigned char *data;
};

static void property_done(struct property *p) {
	if (p->data) {
		(void)XFree(p->data);
	}
}

/* ---------------------------------------------------------------- the end */

struct clip_fetch *clip_fetch_free(struct clip_fetch *f) {
	if (f) {
		struct x11 *x = f->sel->c->x;
		if (!x->lost && f->window) {
			(void)XDestroyWindow(x->display, f->window);
		}
		loop_timer_free(f->timer);
		(void)clip_text_unref(f->text);
		free(f);
	}
	return NULL;
}

/* Ends with a text, which is taken, or an error. */
static void finish(struct clip_fetch *f, struct clip_text *text, const struct cua_err *err) {
	struct clip_sel *sel = f->sel;
	Atom hint = sel->c->atom[A_SECRET];
	bool secret = false;
	for (size_t i = 0; i < f->offered_count; i++) {
		secret |= f->offered[i] == hint;
	}
	sel->fetch_ms = (unsigned)((loop_now_us() - f->begun_us) / 1000);
	sel->fetch = clip_fetch_free(f);
	clip_sel_fetched(sel, text, secret, err);
}

static void finish_text(struct clip_fetch *f) {
	struct cua_err err;
	struct clip_text *text = take_ptr(f->text);
	const Atom *a = f->sel->c->atom;
	bool plain = f->type == a[A_TEXT_PLAIN] && text && !cua_utf8_ok(text->data, text->len);
	if (f->type == XA_STRING || plain) {
		struct cua_span narrow = {text ? text->data : "", text ? text->len : 0};
		struct clip_text *wide = clip_text_from_latin1(narrow, &err);
		(void)clip_text_unref(text);
		text = wide;
	} else if (!text) {
		text = clip_text_new((struct cua_span){0}, &err);
	}
	finish(f, text, text ? NULL : &err);
}

static void on_deadline(void *ctx) {
	struct clip_fetch *f = ctx;
	struct cua_err err;
	(void)cua_err_about(&err, CUA_TIMEOUT, "selection",
		"the program that has the selection does not hand it over");
	finish(f, NULL, &err);
}

static void progress(struct clip_fetch *f) {
	uint64_t spent_ms = (loop_now_us() - f->begun_us) / 1000;
	uint64_t left = spent_ms < CUA_CLIP_TOTAL_MS ? CUA_CLIP_TOTAL_MS - spent_ms : 0;
	loop_timer_start(f->timer, left < CUA_CLIP_STALL_MS ? left : CUA_CLIP_STALL_MS);
}

/* ---------------------------------------------------------------- no text */

/* The name of an atom as a person may read it; what it holds is the guest's. */
static void copy_name(struct clip_fetch *f, Atom atom, char *ret, size_t size) {
	struct x11 *x = f->sel->c->x;
	char *name = x->lost ? NULL : XGetAtomName(x->display, atom);
	size_t used = 0;
	for (const char *p = name; p && *p && used + 1 < size; p++) {
		ret[used++] = (char)(*p < 0x20 || *p > 0x7e ? '?' : *p);
	}
	ret[used] = '\0';
	if (name) {
		(void)XFree(name);
	}
}

static void finish_no_text(struct clip_fetch *f) {
	const Atom *a = f->sel->c->atom;
	const Atom dull[] = {a[A_TARGETS], a[A_TIMESTAMP], a[A_MULTIPLE], a[A_SAVE_TARGETS]};
	struct cua_err err;
	char names[256] = "";
	size_t used = 0;
	size_t told = 0;
	for (size_t i = 0; i < f->offered_count && told < NAMES_MAX; i++) {
		char name[48];
		bool skip = false;
		for (size_t k = 0; k < CUA_COUNT(dull); k++) {
			skip |= f->offered[i] == dull[k];
		}
		copy_name(f, f->offered[i], name, sizeof(name));
		if (skip || !name[0] || used + strlen(name) + 3 > sizeof(names)) {
			continue;
		}
		used += (size_t)snprintf(
			names + used, sizeof(names) - used, "%s%s", told ? ", " : "", name);
		told++;
	}
	(void)cua_err_about(&err, CUA_CONFLICT, "selection",
		told ? "the selection holds no text; it is offered as %s"
		     : "the selection holds no text%s",
		names);
	finish(f, NULL, &err);
}

/* ---------------------------------------------------------------- asking */

static void ask(struct clip_fetch *f, Atom target) {
	struct clipboard *c = f->sel->c;
	if (!c->x->lost) {
		(void)XConvertSelection(c->x->display, f->sel->name, target, c->atom[A_TRANSFER],
			f->window, f->time);
		x11_flush(c->x);
	}
	progress(f);
}

static void ask_next(struct clip_fetch *f) {
	f->stage = STAGE_TEXT;
	f->text = clip_text_unref(f->text);
	if (f->at < f->wanted_count) {
		ask(f, f->wanted[f->at]);
	} else {
		finish_no_text(f);
	}
}

static bool is_offered(const struct clip_fetch *f, Atom target) {
	for (size_t i = 0; i < f->offered_count; i++) {
		if (f->offered[i] == target) {
			return true;
		}
	}
	return false;
}

/* An owner that does not tell what it offers is tried. */
static void choose(struct clip_fetch *f) {
	const Atom *a = f->sel->c->atom;
	const Atom texts[] = {a[A_UTF8_STRING], a[A_TEXT_UTF8], a[A_TEXT_UTF8_CAPITAL],
		a[A_TEXT_PLAIN], XA_STRING, a[A_TEXT]};
	_Static_assert(CUA_COUNT(texts) <= WANTED_MAX, "room for every text");
	for (size_t i = 0; i < CUA_COUNT(texts); i++) {
		bool blind = f->offered_count == 0 &&
			     (texts[i] == a[A_UTF8_STRING] || texts[i] == XA_STRING);
		if (blind || is_offered(f, texts[i])) {
			f->wanted[f->wanted_count++] = texts[i];
		}
	}
	ask_next(f);
}

/* ---------------------------------------------------------------- answers */

/* Reads what lies there and deletes it. False when there is nothing; *ret_large: too much. */
static bool read_transfer(struct clip_fetch *f, struct property *ret, bool *ret_large) {
	struct clipboard *c = f->sel->c;
	const long units = CUA_CLIPBOARD_MAX / 4 + 2;
	if (c->x->lost || XGetWindowProperty(c->x->display, f->window, c->atom[A_TRANSFER], 0,
				  units, True, AnyPropertyType, &ret->type, &ret->format,
				  &ret->count, &ret->left, &ret->data) != Success) {
		return false;
	}
	*ret_large = ret->left > 0 || (ret->format == 8 && ret->count > CUA_CLIPBOARD_MAX);
	return !c->x->lost && ret->type != None && ret->data != NULL;
}

static void finish_large(struct clip_fetch *f) {
	struct cua_err err;
	(void)cua_err_about(&err, CUA_TOO_LARGE, "selection",
		"the selection holds more than %u bytes, the limit", CUA_CLIPBOARD_MAX);
	finish(f, NULL, &err);
}

static void on_targets(struct clip_fetch *f, const struct property *p) {
	if (p && p->format == 32) {
		f->offered_count = p->count < CLIP_OFFERED_MAX ? p->count : CLIP_OFFERED_MAX;
		memcpy(f->offered, p->data, f->offered_count * sizeof(f->offered[0]));
	}
	choose(f);
}

static bool is_text(const struct clip_fetch *f, const struct property *p) {
	const Atom *a = f->sel->c->atom;
	bool known = p->type == a[A_UTF8_STRING] || p->type == XA_STRING ||
		     p->type == a[A_TEXT_PLAIN] || p->type == a[A_TEXT_UTF8] ||
		     p->type == a[A_TEXT_UTF8_CAPITAL];
	return known && p->format == 8;
}

/* Adds a piece; false when the fetch has ended with an error. */
static bool add(struct clip_fetch *f, const struct property *p) {
	struct cua_err err;
	struct cua_span piece = {.data = p->data, .len = p->count};
	int r = clip_text_add(&f->text, piece, &err);
	if (r == -CUA_TOO_LARGE) {
		finish_large(f);
	} else if (r < 0) {
		finish(f, NULL, &err);
	}
	return r == 0;
}

static void begin_pieces(struct clip_fetch *f, const struct property *p) {
	unsigned long size = 0;
	if (p->format == 32 && p->count > 0) {
		memcpy(&size, p->data, sizeof(size));
	}
	if ((uint32_t)size > CUA_CLIPBOARD_MAX) {
		finish_large(f);
		return;
	}
	f->stage = STAGE_PIECES; /* the property is deleted: the owner goes on */
	f->type = None;
	progress(f);
}

static void on_text(struct clip_fetch *f, const struct property *p) {
	if (p && p->type == f->sel->c->atom[A_INCR]) {
		begin_pieces(f, p);
	} else if (!p || !is_text(f, p)) {
		f->at++;
		ask_next(f);
	} else {
		f->type = p->type;
		if (add(f, p)) {
			finish_text(f);
		}
	}
}

static void on_piece(struct clip_fetch *f, const struct property *p) {
	if (f->type == None) {
		f->type = p->type;
	}
	if (p->count == 0) {
		finish_text(f);
	} else if (!is_text(f, p) || p->type != f->type) {
		f->at++;
		ask_next(f);
	} else if (add(f, p)) {
		progress(f);
	}
}

static void on_notify(struct clip_fetch *f, const XSelectionEvent *event) {
	_cleanup_(property_done) struct property p = {0};
	const Atom *a = f->sel->c->atom;
	bool large = false;
	bool targets = f->stage == STAGE_TARGETS && event->target == a[A_TARGETS];
	bool text = f->stage == STAGE_TEXT && event->target == f->wanted[f->at];
	if (event->selection != f->sel->name || (!targets && !text)) {
		return;
	}
	bool there = event->property == a[A_TRANSFER] && read_transfer(f, &p, &large);
	if (there && large && text) {
		finish_large(f);
	} else if (targets) {
		on_targets(f, there ? &p : NULL);
	} else {
		on_text(f, there ? &p : NULL);
	}
}

static void on_property(struct clip_fetch *f, const XPropertyEvent *event) {
	_cleanup_(property_done) struct property p = {0};
	bool large = false;
	if (f->stage != STAGE_PIECES || event->atom != f->sel->c->atom[A_TRANSFER] ||
		event->state != PropertyNewValue || !read_transfer(f, &p, &large)) {
		return;
	}
	if (large) {
		finish_large(f);
	} else {
		on_piece(f, &p);
	}
}

bool clip_fetch_event(struct clipboard *c, const XEvent *event) {
	for (size_t i = 0; i < CLIP_MAX_; i++) {
		struct clip_fetch *f = c->sel[i].fetch;
		if (f && f->window == event->xany.window) {
			if (event->type == SelectionNotify) {
				on_notify(f, &event->xselection);
			} else if (event->type == PropertyNotify) {
				on_property(f, &event->xproperty);
			}
			return true;
		}
	}
	return event->type == SelectionNotify;
}

/* ---------------------------------------------------------------- the beginning */

CUA_DEFINE_CLEANUP(struct clip_fetch *, clip_fetch_free)

int clip_fetch_begin(struct clip_sel *sel, struct cua_err *err) {
	struct clipboard *c = sel->c;
	_cleanup_(clip_fetch_free_p) struct clip_fetch *f = calloc(1, sizeof(*f));
	if (!f) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory to read the selection");
	}
	f->sel = sel;
	f->begun_us = loop_now_us();
	f->timer = loop_timer_new(c->loop, on_deadline, f, err);
	if (!f->timer) {
		return -CUA_EXHAUSTED;
	}
	f->time = x11_time(c->x);
	if (f->time == 0) {
		return cua_err_set(err, CUA_NOT_FOUND, "the X server is gone");
	}
	f->window = x11_hidden_window(c->x, PropertyChangeMask);
	sel->fetch = take_ptr(f);
	ask(sel->fetch, c->atom[A_TARGETS]);
	return 0;
}
