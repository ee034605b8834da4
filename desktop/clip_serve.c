/* Programs that ask for what we own, as ICCCM 2 has it: small texts at once, large ones in pieces as
 * they are taken (INCR). A program that vanishes or stops taking costs one record for some seconds. */
#include <string.h>

#include "desktop/clip_priv.h"

#define TARGETS_MAX 16
#define PAIRS_MAX 16

/* A text on its way. */
struct clip_out {
	struct clip_out *next;
	struct clipboard *c;
	Window requestor;
	long mask_before; /* the events of its window that we wanted anyway */
	Atom property;
	Atom type;
	struct clip_text *text;
	size_t pos;
	bool latin1;
	bool ended; /* the last piece lies there */
	struct loop_timer *timer;
};

/* One conversion, of a request or of a pair in MULTIPLE. */
struct conversion {
	const XSelectionRequestEvent *request;
	struct clip_sel *sel; /* NULL for the manager's selection */
	Atom target;
	Atom property;
};

static bool put(struct clip_out *to, Atom type, int format, struct cua_span items) {
	struct x11 *x = to->c->x;
	if (x->lost) {
		return false;
	}
	unsigned mark = x11_trap(x);
	(void)XChangeProperty(x->display, to->requestor, to->property, type, format,
		PropModeReplace, items.len > 0 ? items.data : (const void *)"", (int)items.len);
	return x11_trap_end(x, mark) == 0;
}

/* ---------------------------------------------------------------- texts on their way */

static struct clip_out *sibling_of(const struct clip_out *out) {
	for (struct clip_out *o = out->c->outs; o; o = o->next) {
		if (o != out && o->requestor == out->requestor) {
			return o;
		}
	}
	return NULL;
}

static bool watch(struct clip_out *out) {
	struct x11 *x = out->c->x;
	const struct clip_out *sibling = sibling_of(out);
	XWindowAttributes attributes = {0};
	if (sibling) {
		out->mask_before = sibling->mask_before;
		return true;
	}
	if (x->lost || !XGetWindowAttributes(x->display, out->requestor, &attributes)) {
		return false;
	}
	out->mask_before = attributes.your_event_mask;
	unsigned mark = x11_trap(x);
	(void)XSelectInput(x->display, out->requestor,
		out->mask_before | PropertyChangeMask | StructureNotifyMask);
	return x11_trap_end(x, mark) == 0;
}

static void unwatch(const struct clip_out *out) {
	struct x11 *x = out->c->x;
	if (!x->lost && !sibling_of(out)) {
		unsigned mark = x11_trap(x);
		(void)XSelectInput(x->display, out->requestor, out->mask_before);
		(void)x11_trap_end(x, mark);
	}
}

/* Ends a transfer; alive: its window is still there. */
static void out_free(struct clip_out *out, bool alive) {
	struct clip_out **at = &out->c->outs;
	while (*at && *at != out) {
		at = &(*at)->next;
	}
	if (*at) {
		*at = out->next;
		out->c->out_count--;
		if (alive) {
			unwatch(out);
		}
	}
	loop_timer_free(out->timer);
	(void)clip_text_unref(out->text);
	free(out);
}

static void on_stalled(void *ctx) {
	out_free(ctx, true);
}

static struct clip_out *out_find(struct clipboard *c, Window requestor, Atom property) {
	struct clip_out *out = c->outs;
	while (out && (out->requestor != requestor || out->property != property)) {
		out = out->next;
	}
	return out;
}

/* Remembers a transfer, so that its end is noticed. NULL when that is not possible. */
static struct clip_out *out_new(const struct clip_out *from) {
	struct clipboard *c = from->c;
	struct clip_out *old = out_find(c, from->requestor, from->property);
	if (old) {
		out_free(old, true);
	}
	struct clip_out *out = c->out_count < CUA_CLIP_TRANSFERS ? malloc(sizeof(*out)) : NULL;
	if (!out) {
		return NULL;
	}
	*out = *from;
	(void)clip_text_ref(out->text);
	out->timer = loop_timer_new(c->loop, on_stalled, out, NULL);
	if (!out->timer || !watch(out)) {
		out_free(out, false);
		return NULL;
	}
	out->next = c->outs;
	c->outs = out;
	c->out_count++;
	loop_timer_start(out->timer, CUA_CLIP_STALL_MS);
	return out;
}

/* Writes the next piece, empty at the end. */
static bool put_piece(struct clip_out *out) {
	struct clipboard *c = out->c;
	_cleanup_free_ char *narrow = out->latin1 ? malloc(c->chunk) : NULL;
	struct cua_span piece = {.data = out->text->data + out->pos};
	if (narrow) {
		piece.data = narrow;
		piece.len = clip_text_to_latin1(out->text, &out->pos, narrow, c->chunk);
	} else if (!out->latin1) {
		size_t left = out->text->len - out->pos;
		piece.len = left < c->chunk ? left : c->chunk;
		out->pos += piece.len;
	}
	return (narrow || !out->latin1) && put(out, out->type, 8, piece);
}

/* The program has taken the last piece. */
static void out_next(struct clip_out *out) {
	if (out->ended) {
		clip_paste_note(out->c, out->text, out->requestor, false);
		out_free(out, true);
		return;
	}
	out->ended = out->pos == out->text->len;
	clip_paste_note(out->c, out->text, out->requestor, true);
	if (!put_piece(out)) {
		out_free(out, false);
		return;
	}
	loop_timer_start(out->timer, CUA_CLIP_STALL_MS);
}

static bool send_text(struct clip_out *out) {
	clip_paste_note(out->c, out->text, out->requestor, true);
	if (out->text->len <= out->c->chunk) {
		/* Only a paste wants to know when it has been read. */
		struct clip_out *kept = out->c->paste ? out_new(out) : NULL;
		if (!kept) {
			return put_piece(out);
		}
		kept->ended = true;
		bool done = put_piece(kept);
		if (!done) {
			out_free(kept, false);
		}
		return done;
	}
	struct clip_out *kept = out_new(out);
	/* A lower bound of the size. */
	long size = (long)(out->latin1 ? out->text->len / 2 : out->text->len);
	bool done = kept && put(kept, out->c->atom[A_INCR], 32, (struct cua_span){&size, 1});
	if (kept && !done) {
		out_free(kept, false);
	}
	return done;
}

void clip_serve_event(struct clipboard *c, const XEvent *event) {
	if (event->type == PropertyNotify && event->xproperty.state == PropertyDelete) {
		struct clip_out *out = out_find(c, event->xproperty.window, event->xproperty.atom);
		if (out) {
			out_next(out);
		}
	}
	struct clip_out *next = NULL;
	for (struct clip_out *out = c->outs; event->type == DestroyNotify && out; out = next) {
		next = out->next;
		if (out->requestor == event->xdestroywindow.window) {
			out_free(out, false);
		}
	}
}

void clip_serve_end(struct clipboard *c, const struct clip_text *but) {
	struct clip_out *next = NULL;
	for (struct clip_out *out = c->outs; out; out = next) {
		next = out->next;
		if (!but || (out->text != but && out->text != c->sel[CLIP_CLIPBOARD].text &&
				    out->text != c->sel[CLIP_PRIMARY].text)) {
			out_free(out, true);
		}
	}
}

/* ---------------------------------------------------------------- targets */

/* What we offer; the number of them. */
static size_t list_targets(const struct conversion *v, struct clipboard *c, long *ret) {
	static const enum clip_atom common[] = {A_TARGETS, A_TIMESTAMP, A_MULTIPLE, A_SAVE_TARGETS};
	static const enum clip_atom texts[] = {
		A_UTF8_STRING, A_TEXT_UTF8, A_TEXT_UTF8_CAPITAL, A_TEXT_PLAIN, A_TEXT};
	size_t count = 0;
	for (size_t i = 0; i < CUA_COUNT(common); i++) {
		ret[count++] = (long)c->atom[common[i]];
	}
	for (size_t i = 0; v->sel && i < CUA_COUNT(texts); i++) {
		ret[count++] = (long)c->atom[texts[i]];
	}
	if (v->sel && clip_text_is_latin1(v->sel->text)) {
		ret[count++] = XA_STRING;
	}
	return count;
}

/* How a text is sent for a target: its type, or None when it is not. STRING is Latin-1: a text that
 * is not is refused rather than spoilt. */
static Atom type_of(const struct conversion *v, const struct clipboard *c) {
	const Atom *a = c->atom;
	if (v->target == a[A_TEXT]) {
		return a[A_UTF8_STRING];
	}
	if (v->target == XA_STRING) {
		return clip_text_is_latin1(v->sel->text) ? XA_STRING : None;
	}
	bool known = v->target == a[A_UTF8_STRING] || v->target == a[A_TEXT_PLAIN] ||
		     v->target == a[A_TEXT_UTF8] || v->target == a[A_TEXT_UTF8_CAPITAL];
	return known ? v->target : None;
}

/* True when the property is filled or will be by pieces. */
static bool convert(struct clipboard *c, const struct conversion *v) {
	struct clip_out out = {.c = c, .requestor = v->request->requestor, .property = v->property};
	if (v->property == None) {
		return false;
	}
	if (v->target == c->atom[A_TARGETS]) {
		long list[TARGETS_MAX];
		size_t count = list_targets(v, c, list);
		return put(&out, XA_ATOM, 32, (struct cua_span){list, count});
	}
	if (v->target == c->atom[A_TIMESTAMP]) {
		long time = (long)(v->sel ? v->sel->time : c->manager_time);
		return put(&out, XA_INTEGER, 32, (struct cua_span){&time, 1});
	}
	if (v->target == c->atom[A_SAVE_TARGETS]) {
		/* To the clipboard's owner it says that its content will be kept. */
		return put(&out, c->atom[A_NULL], 32, (struct cua_span){0});
	}
	out.type = v->sel ? type_of(v, c) : None;
	if (out.type == None) {
		return false;
	}
	out.text = v->sel->text;
	out.latin1 = out.type == XA_STRING;
	return send_text(&out);
}

/* Each pair of target and property by itself; the property of one that fails becomes None. More of
 * them than anybody needs are refused as a whole. */
static bool convert_many(struct clipboard *c, const struct conversion *v) {
	unsigned long pairs[2 * PAIRS_MAX + 1];
	struct clip_out out = {.c = c, .requestor = v->request->requestor, .property = v->property};
	size_t count = x11_get_longs(
		c->x, out.requestor, out.property, c->atom[A_ATOM_PAIR], pairs, CUA_COUNT(pairs));
	if (count == CUA_COUNT(pairs)) {
		return false;
	}
	bool failed = false;
	for (size_t i = 0; i + 1 < count; i += 2) {
		struct conversion one = *v;
		one.target = pairs[i];
		one.property = pairs[i + 1];
		bool done = one.target != c->atom[A_MULTIPLE] && convert(c, &one);
		pairs[i + 1] = done ? pairs[i + 1] : None;
		failed |= !done;
	}
	struct cua_span all = {pairs, count};
	return count > 0 && (!failed || put(&out, c->atom[A_ATOM_PAIR], 32, all));
}

/* ---------------------------------------------------------------- requests */

void clip_serve_notify(struct clipboard *c, const XSelectionRequestEvent *request, bool done) {
	XEvent event = {.xselection = {.type = SelectionNotify,
				.requestor = request->requestor,
				.selection = request->selection,
				.target = request->target,
				.property = done ? request->property : None,
				.time = request->time}};
	if (!c->x->lost) {
		unsigned mark = x11_trap(c->x);
		(void)XSendEvent(c->x->display, request->requestor, False, NoEventMask, &event);
		(void)x11_trap_end(c->x, mark);
	}
}

/* Whether it is ours, and was when the program asked. */
static bool may_serve(const struct clipboard *c, const struct clip_sel *sel,
	const XSelectionRequestEvent *request) {
	Time since = sel ? sel->time : c->manager_time;
	bool ours = sel ? clip_sel_ours(sel)
			: c->manager && request->selection == c->atom[A_CLIPBOARD_MANAGER];
	bool before = request->time != CurrentTime && (int32_t)(request->time - since) < 0;
	return ours && !before;
}

void clip_serve(struct clipboard *c, const XSelectionRequestEvent *request) {
	XSelectionRequestEvent r = *request;
	struct clip_sel *sel = clip_sel_of(c, r.selection);
	if (r.property == None) {
		r.property = r.target; /* as old programs want it */
	}
	const struct conversion v = {
		.request = &r, .sel = sel, .target = r.target, .property = r.property};
	clip_paste_request(c, r.requestor);
	if (!may_serve(c, sel, &r)) {
		clip_serve_notify(c, &r, false);
		return;
	}
	if (!sel && r.target == c->atom[A_SAVE_TARGETS]) {
		if (!clip_keep_save(c, &r)) {
			clip_serve_notify(c, &r, false);
		}
		return;
	}
	bool many = r.target == c->atom[A_MULTIPLE];
	clip_serve_notify(c, &r, many ? convert_many(c, &v) : convert(c, &v));
}
