/* The two selections: what is owned, who reads, and where events go. */
#include "desktop/clipboard.h"

#include <string.h>

#include "desktop/clip_priv.h"

/* Requests of X are at least this long everywhere; larger pieces gain nothing. */
#define CHUNK_MIN 4096
#define CHUNK_MAX (256u << 10)
#define REQUEST_HEAD 256 /* bytes of a request that are not data, amply */

static const char *const atom_names[A_MAX_] = {
	[A_CLIPBOARD] = "CLIPBOARD",
	[A_CLIPBOARD_MANAGER] = "CLIPBOARD_MANAGER",
	[A_MANAGER] = "MANAGER",
	[A_TARGETS] = "TARGETS",
	[A_TIMESTAMP] = "TIMESTAMP",
	[A_MULTIPLE] = "MULTIPLE",
	[A_ATOM_PAIR] = "ATOM_PAIR",
	[A_SAVE_TARGETS] = "SAVE_TARGETS",
	[A_NULL] = "NULL",
	[A_INCR] = "INCR",
	[A_UTF8_STRING] = "UTF8_STRING",
	[A_TEXT] = "TEXT",
	[A_TEXT_PLAIN] = "text/plain",
	[A_TEXT_UTF8] = "text/plain;charset=utf-8",
	[A_TEXT_UTF8_CAPITAL] = "text/plain;charset=UTF-8",
	[A_SECRET] = "x-kde-passwordManagerHint",
	[A_TRANSFER] = "_CUAD_TRANSFER",
};

/* ---------------------------------------------------------------- owning */

/* The serial is that of the request that changed the owner. */
static Time own(struct clipboard *c, Atom selection, Window owner, unsigned long *ret_serial) {
	Time now = x11_time(c->x);
	if (now == 0 || c->x->lost) {
		return 0;
	}
	*ret_serial = NextRequest(c->x->display);
	(void)XSetSelectionOwner(c->x->display, selection, owner, now);
	Window is = XGetSelectionOwner(c->x->display, selection);
	return !c->x->lost && is == owner ? now : 0;
}

Time clip_own(struct clipboard *c, Atom selection, Window owner) {
	unsigned long ignored = 0;
	return own(c, selection, owner, &ignored);
}

bool clip_sel_ours(const struct clip_sel *sel) {
	return sel->text && sel->owner == sel->c->window;
}

int clip_sel_take(struct clip_sel *sel, struct clip_text *text, struct cua_err *err) {
	struct clipboard *c = sel->c;
	unsigned long serial = 0;
	Time now = own(c, sel->name, c->window, &serial);
	if (now == 0) {
		(void)clip_text_unref(text);
		return c->x->lost ? cua_err_set(err, CUA_NOT_FOUND, "the X server is gone")
				  : cua_err_set(err, CUA_CONFLICT,
					    "the X server does not hand the selection over");
	}
	/* Of what was owned before, only transfers of the last content go on: memory is bounded. */
	clip_serve_end(c, sel->text ? sel->text : text);
	(void)clip_text_unref(sel->text);
	sel->kept = clip_text_unref(sel->kept);
	sel->fetch = clip_fetch_free(sel->fetch);
	sel->text = text;
	sel->owner = c->window;
	sel->set_serial = serial;
	sel->time = now;
	sel->handed_over = false;
	clip_sel_answer(sel, text, NULL);
	return 0;
}

int clipboard_set(
	struct clipboard *c, enum clip_selection which, struct cua_span text, struct cua_err *err) {
	struct clip_text *copy = clip_text_new(text, err);
	if (!copy) {
		return text.len > CUA_CLIPBOARD_MAX ? -CUA_TOO_LARGE : -CUA_EXHAUSTED;
	}
	return clip_sel_take(&c->sel[which], copy, err);
}

struct clip_sel *clip_sel_of(struct clipboard *c, Atom name) {
	for (size_t i = 0; i < CLIP_MAX_; i++) {
		if (c->sel[i].name == name) {
			return &c->sel[i];
		}
	}
	return NULL;
}

/* ---------------------------------------------------------------- reading */

static void unlink_read(struct clip_read *read) {
	struct clip_read **at = read->list_;
	while (at && *at && *at != read) {
		at = &(*at)->next_;
	}
	if (at && *at) {
		*at = read->next_;
	}
	read->list_ = NULL;
}

static void read_over(struct clip_read *read, struct clip_text *text, const struct cua_err *err) {
	read->over = true;
	read->text = clip_text_ref(text);
	if (err) {
		read->err = *err;
		read->result = -(int)err->code;
	}
}

void clip_sel_answer(struct clip_sel *sel, struct clip_text *text, const struct cua_err *err) {
	while (sel->reads) {
		struct clip_read *read = sel->reads;
		unlink_read(read);
		read_over(read, text, err);
		read->done(read->ctx);
	}
}

void clip_sel_fetched(
	struct clip_sel *sel, struct clip_text *text, bool secret, const struct cua_err *err) {
	if (sel->keep && !err && !secret) {
		(void)clip_text_unref(sel->kept);
		sel->kept = clip_text_ref(text);
	}
	clip_sel_answer(sel, text, err);
	(void)clip_text_unref(text);
}

void clipboard_read(struct clipboard *c, enum clip_selection which, struct clip_read *read) {
	struct clip_sel *sel = &c->sel[which];
	struct cua_err err;
	read->over = false;
	read->result = 0;
	read->text = NULL;
	if (clip_sel_ours(sel) || sel->owner == None) {
		read_over(read, sel->owner == None ? NULL : sel->text, NULL);
		return;
	}
	if (!sel->fetch && clip_fetch_begin(sel, &err) < 0) {
		read_over(read, NULL, &err);
		return;
	}
	read->list_ = &sel->reads;
	read->next_ = sel->reads;
	sel->reads = read;
}

void clip_read_done(struct clip_read *read) {
	unlink_read(read);
	read->text = clip_text_unref(read->text);
	read->over = false;
}

/* ---------------------------------------------------------------- events */

bool clipboard_event(struct clipboard *c, XEvent *event) {
	if (clip_keep_event(c, event)) {
		return true;
	}
	switch (event->type) {
	case SelectionRequest:
		if (event->xselectionrequest.owner == c->window && !event->xany.send_event) {
			clip_serve(c, &event->xselectionrequest);
		}
		return true;
	case SelectionNotify:
	case SelectionClear: /* XFixes tells it too */
	case PropertyNotify:
	case DestroyNotify:
		if (clip_fetch_event(c, event)) {
			return true;
		}
		clip_serve_event(c, event);
		return event->type == SelectionClear;
	default:
		return false;
	}
}

/* ---------------------------------------------------------------- life */

static size_t chunk_of(struct x11 *x) {
	long units = XExtendedMaxRequestSize(x->display);
	if (units <= 0) {
		units = XMaxRequestSize(x->display);
	}
	size_t bytes = units > 0 ? (size_t)units * 4 : 0;
	bytes = bytes > CHUNK_MAX + REQUEST_HEAD ? CHUNK_MAX : bytes - REQUEST_HEAD;
	return bytes < CHUNK_MIN || bytes > CHUNK_MAX ? CHUNK_MIN : bytes;
}

static int begin(struct clipboard *c, struct cua_err *err) {
	struct x11 *x = c->x;
	char *names[A_MAX_];
	for (size_t i = 0; i < A_MAX_; i++) {
		names[i] = (char *)(uintptr_t)atom_names[i];
	}
	if (x->lost || !XInternAtoms(x->display, names, A_MAX_, False, c->atom)) {
		return cua_err_set(err, CUA_NOT_FOUND, "the X server is gone");
	}
	c->window = x11_hidden_window(x, NoEventMask);
	c->chunk = chunk_of(x);
	for (size_t i = 0; i < CLIP_MAX_; i++) {
		c->sel[i].c = c;
	}
	c->sel[CLIP_CLIPBOARD].name = c->atom[A_CLIPBOARD];
	c->sel[CLIP_PRIMARY].name = XA_PRIMARY;
	return clip_keep_begin(c, err);
}

CUA_DEFINE_CLEANUP(struct clipboard *, clipboard_free)

struct clipboard *clipboard_new(struct loop *loop, struct x11 *x, struct cua_err *err) {
	_cleanup_(clipboard_free_p) struct clipboard *c = calloc(1, sizeof(*c));
	if (!c) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the clipboard");
		return NULL;
	}
	c->loop = loop;
	c->x = x;
	return begin(c, err) < 0 ? NULL : take_ptr(c);
}

static void sel_done(struct clip_sel *sel) {
	sel->fetch = clip_fetch_free(sel->fetch);
	while (sel->reads) {
		unlink_read(sel->reads);
	}
	sel->text = clip_text_unref(sel->text);
	sel->kept = clip_text_unref(sel->kept);
}

struct clipboard *clipboard_free(struct clipboard *c) {
	if (!c) {
		return NULL;
	}
	clip_keep_end(c);
	clip_serve_end(c, NULL);
	for (size_t i = 0; i < CLIP_MAX_; i++) {
		sel_done(&c->sel[i]);
	}
	if (!c->x->lost && c->window) {
		(void)XDestroyWindow(c->x->display, c->window);
		x11_flush(c->x);
	}
	free(c);
	return NULL;
}
