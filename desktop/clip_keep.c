/* Keeps the clipboard's text beyond the life of the program that owns it. Most programs die without
 * handing over, so a copy is taken a moment after the owner has changed; it is worth nothing as soon
 * as another program owns the clipboard. Texts only: what has no text is not kept. */
#include <X11/extensions/Xfixes.h>

#include "desktop/clip_priv.h"

/* Programs often set several times in a row. A copy never takes more than this share of the time. */
#define KEEP_MS 20
#define KEEP_SHARE 4

/* ---------------------------------------------------------------- owners */

static void begin_copy(void *ctx) {
	struct clip_sel *sel = ctx;
	struct cua_err ignored;
	if (!sel->fetch && !sel->kept && sel->owner != None && !clip_sel_ours(sel)) {
		(void)!clip_fetch_begin(sel, &ignored);
	}
}

static void copy_soon(struct clip_sel *sel) {
	if (sel->keep) {
		loop_timer_start(sel->keep, KEEP_MS + (uint64_t)sel->fetch_ms * KEEP_SHARE);
	}
}

/* Somebody else owns it now: those who read want what is there now. */
static void read_again(struct clip_sel *sel) {
	struct cua_err err;
	if (sel->reads && clip_fetch_begin(sel, &err) < 0) {
		clip_sel_answer(sel, NULL, &err);
	}
}

static void owner_changed(struct clip_sel *sel, const XFixesSelectionNotifyEvent *event) {
	_cleanup_(clip_text_unref_p) struct clip_text *kept = NULL;
	struct cua_err ignored;
	/* What happened before we became the owner. */
	if ((long)(event->serial - sel->set_serial) < 0) {
		return;
	}
	sel->owner = event->owner;
	if (clip_sel_ours(sel)) {
		return;
	}
	bool died = event->subtype != XFixesSetSelectionOwnerNotify || sel->handed_over;
	kept = take_ptr(sel->kept);
	sel->handed_over = false;
	sel->text = clip_text_unref(sel->text);
	sel->fetch = clip_fetch_free(sel->fetch);
	if (sel->owner != None) {
		read_again(sel);
		copy_soon(sel);
		return;
	}
	if (!died || !kept || clip_sel_take(sel, take_ptr(kept), &ignored) < 0) {
		clip_sel_answer(sel, NULL, NULL);
	}
}

/* ---------------------------------------------------------------- the manager's selection */

static void announce(struct clipboard *c) {
	XEvent event = {.xclient = {.type = ClientMessage,
				.window = c->x->root,
				.message_type = c->atom[A_MANAGER],
				.format = 32,
				.data.l = {(long)c->manager_time,
					(long)c->atom[A_CLIPBOARD_MANAGER], (long)c->window}}};
	(void)XSendEvent(c->x->display, c->x->root, False, StructureNotifyMask, &event);
}

/* Unless the session has a manager. */
static void become_manager(struct clipboard *c) {
	Atom name = c->atom[A_CLIPBOARD_MANAGER];
	if (c->x->lost || XGetSelectionOwner(c->x->display, name) != None) {
		return;
	}
	c->manager_time = clip_own(c, name, c->window);
	c->manager = c->manager_time != 0;
	if (c->manager) {
		announce(c);
	}
}

bool clip_keep_event(struct clipboard *c, const XEvent *event) {
	const XFixesSelectionNotifyEvent *notify = (const void *)event;
	if (event->type != c->x->fixes_event + XFixesSelectionNotify ||
		notify->window != c->window || notify->send_event) {
		return false;
	}
	struct clip_sel *sel = clip_sel_of(c, notify->selection);
	if (sel) {
		owner_changed(sel, notify);
	} else if (notify->selection == c->atom[A_CLIPBOARD_MANAGER]) {
		c->manager = notify->owner == c->window;
		if (notify->owner == None) {
			become_manager(c);
		}
	}
	return true;
}

/* ---------------------------------------------------------------- handing over */

static void save_over(void *ctx) {
	struct clip_save *save = ctx;
	struct clipboard *c = save->c;
	const XSelectionRequestEvent *r = &save->request;
	bool done = save->read.result == 0 && save->read.text;
	if (done && !c->x->lost) {
		unsigned mark = x11_trap(c->x);
		(void)XChangeProperty(c->x->display, r->requestor, r->property, c->atom[A_NULL], 32,
			PropModeReplace, (const unsigned char *)"", 0);
		done = x11_trap_end(c->x, mark) == 0;
		c->sel[CLIP_CLIPBOARD].handed_over = true;
	}
	clip_read_done(&save->read);
	save->busy = false;
	clip_serve_notify(c, r, done);
}

bool clip_keep_save(struct clipboard *c, const XSelectionRequestEvent *request) {
	struct clip_sel *sel = &c->sel[CLIP_CLIPBOARD];
	struct clip_save *save = c->save;
	while (save < c->save + CLIP_SAVES_MAX && save->busy) {
		save++;
	}
	if (save == c->save + CLIP_SAVES_MAX || request->property == None) {
		return false;
	}
	*save = (struct clip_save){.read = {.done = save_over, .ctx = save},
		.c = c,
		.request = *request,
		.busy = true};
	if (sel->kept) {
		save->read.text = clip_text_ref(sel->kept);
		save_over(save);
		return true;
	}
	clipboard_read(c, CLIP_CLIPBOARD, &save->read);
	if (save->read.over) {
		save_over(save);
	}
	return true;
}

/* ---------------------------------------------------------------- life */

int clip_keep_begin(struct clipboard *c, struct cua_err *err) {
	struct x11 *x = c->x;
	struct clip_sel *sel = &c->sel[CLIP_CLIPBOARD];
	const Atom watched[] = {c->atom[A_CLIPBOARD], XA_PRIMARY, c->atom[A_CLIPBOARD_MANAGER]};
	sel->keep = loop_timer_new(c->loop, begin_copy, sel, err);
	if (!sel->keep) {
		return -CUA_EXHAUSTED;
	}
	for (size_t i = 0; i < CUA_COUNT(watched); i++) {
		XFixesSelectSelectionInput(x->display, c->window, watched[i],
			XFixesSetSelectionOwnerNotifyMask | XFixesSelectionWindowDestroyNotifyMask |
				XFixesSelectionClientCloseNotifyMask);
	}
	for (size_t i = 0; i < CLIP_MAX_ && !x->lost; i++) {
		c->sel[i].owner = XGetSelectionOwner(x->display, c->sel[i].name);
	}
	if (sel->owner != None) {
		copy_soon(sel);
	}
	become_manager(c);
	return x->lost ? cua_err_set(err, CUA_NOT_FOUND, "the X server is gone") : 0;
}

void clip_keep_end(struct clipboard *c) {
	for (size_t i = 0; i < CLIP_SAVES_MAX; i++) {
		clip_read_done(&c->save[i].read);
	}
	for (size_t i = 0; i < CLIP_MAX_; i++) {
		c->sel[i].keep = loop_timer_free(c->sel[i].keep);
	}
}
