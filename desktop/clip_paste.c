/* Pasting: a text in the clipboard for as long as a program takes it. Which program that is is told by
 * the window that has the keyboard: its client's requests count, those of a clipboard manager do
 * not. */
#include <string.h>
#include <strings.h>

#include "desktop/clip_priv.h"
#include "desktop/reader.h"
#include "desktop/windows.h"

#define PARENTS_MAX 32

/* Programs that do not paste by Ctrl+V: the beginning of their class, which some continue. */
static const struct {
	const char *class;
	const char *chord;
	bool primary;
} chords[] = {
	{"XTerm", "shift+Insert", true},
	{"UXTerm", "shift+Insert", true},
	{"KOI8RXTerm", "shift+Insert", true},
	{"URxvt", "shift+Insert", true},
	{"Rxvt", "shift+Insert", true},
	{"st-", "shift+Insert", true},
	{"mlterm", "shift+Insert", true},
	{"Eterm", "shift+Insert", true},
	{"Gvim", "shift+Insert", true},
	{"Emacs", "shift+Insert", false},
	{"Gnome-terminal", "ctrl+shift+v", false},
	{"Xfce4-terminal", "ctrl+shift+v", false},
	{"Mate-terminal", "ctrl+shift+v", false},
	{"Lxterminal", "ctrl+shift+v", false},
	{"Terminator", "ctrl+shift+v", false},
	{"Tilix", "ctrl+shift+v", false},
	{"Terminology", "ctrl+shift+v", false},
	{"Sakura", "ctrl+shift+v", false},
	{"konsole", "ctrl+shift+v", false},
	{"qterminal", "ctrl+shift+v", false},
	{"kitty", "ctrl+shift+v", false},
	{"Alacritty", "ctrl+shift+v", false},
	{"org.wezfurlong.wezterm", "ctrl+shift+v", false},
};

struct clip_paste {
	struct clipboard *c;
	struct clip_text *text;
	struct clip_text *before[CLIP_MAX_];
	XID target; /* client that has the keyboard; 0: none, and all requests count */
	bool begun; /* its request has come */
	unsigned times; /* that it has read the text to the end */
	bool asks_on; /* it has asked for something since */
	uint64_t pressed_us; /* 0: not yet */
	uint64_t taken_us; /* 0: not yet */
	uint64_t last_us;
	loop_fn *changed;
	void *ctx;
};

/* ---------------------------------------------------------------- who has the keyboard */

/* Of the window or one that it is in. "" when there is none. */
static void class_of(struct x11 *x, Window w, char *ret, size_t size) {
	ret[0] = '\0';
	for (int i = 0; i < PARENTS_MAX && !ret[0] && w > PointerRoot && w != x->root; i++) {
		windows_class(x, w, ret, size);
		w = ret[0] ? w : windows_parent(x, w);
	}
}

const char *clipboard_chord(struct clipboard *c, bool *ret_primary) {
	char class[128];
	class_of(c->x, reader_focus(c->x), class, sizeof(class));
	*ret_primary = false;
	for (size_t i = 0; i < CUA_COUNT(chords); i++) {
		if (strncasecmp(class, chords[i].class, strlen(chords[i].class)) == 0) {
			*ret_primary = chords[i].primary;
			return chords[i].chord;
		}
	}
	return "ctrl+v";
}

/* ---------------------------------------------------------------- a paste */

/* Nobody owns it, as before. */
static void give_up(struct clip_sel *sel) {
	struct clipboard *c = sel->c;
	(void)clip_own(c, sel->name, None);
	sel->text = clip_text_unref(sel->text);
	sel->owner = None;
}

static void restore(struct clip_sel *sel, struct clip_text *text, struct clip_text *before) {
	struct cua_err ignored;
	if (sel->text != text || !clip_sel_ours(sel)) {
		return;
	}
	if (!before || clip_sel_take(sel, clip_text_ref(before), &ignored) < 0) {
		give_up(sel);
	}
}

struct clip_paste *clip_paste_end(struct clip_paste *p) {
	if (!p) {
		return NULL;
	}
	p->c->paste = NULL;
	for (size_t i = 0; i < CLIP_MAX_; i++) {
		restore(&p->c->sel[i], p->text, p->before[i]);
		(void)clip_text_unref(p->before[i]);
	}
	(void)clip_text_unref(p->text);
	free(p);
	return NULL;
}

CUA_DEFINE_CLEANUP(struct clip_paste *, clip_paste_end)

struct clip_paste *clip_paste_begin(struct clipboard *c, bool primary, struct cua_span text,
	struct clip_text *const before[CLIP_MAX_], struct cua_err *err) {
	if (c->paste) {
		(void)cua_err_set(err, CUA_CONFLICT, "another paste is under way");
		return NULL;
	}
	_cleanup_(clip_paste_end_p) struct clip_paste *p = calloc(1, sizeof(*p));
	if (!p) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to paste");
		return NULL;
	}
	p->c = c;
	p->text = clip_text_new(text, err);
	for (size_t i = 0; i < (primary ? CLIP_MAX_ : 1) && p->text; i++) {
		struct clip_sel *sel = &c->sel[i];
		p->before[i] = clip_text_ref(clip_sel_ours(sel) ? sel->text : before[i]);
		if (clip_sel_take(sel, clip_text_ref(p->text), err) < 0) {
			return NULL;
		}
	}
	if (!p->text) {
		return NULL;
	}
	c->paste = p;
	return take_ptr(p);
}

void clip_paste_watch(struct clip_paste *p, loop_fn *changed, void *ctx) {
	p->changed = changed;
	p->ctx = ctx;
}

void clip_paste_pressed(struct clip_paste *p) {
	struct clipboard *c = p->c;
	p->target = reader_focus(c->x) & reader_mask(c->x);
	p->pressed_us = p->last_us = loop_now_us();
}

void clip_paste_request(struct clipboard *c, Window requestor) {
	struct clip_paste *p = c->paste;
	if (p && p->pressed_us && (requestor & reader_mask(c->x)) == p->target) {
		p->asks_on = true;
		p->last_us = loop_now_us();
	}
}

void clip_paste_note(
	struct clipboard *c, const struct clip_text *text, Window requestor, bool begun) {
	struct clip_paste *p = c->paste;
	if (!p || p->text != text || !p->pressed_us ||
		(p->target != 0 && (requestor & reader_mask(c->x)) != p->target)) {
		return;
	}
	p->last_us = loop_now_us();
	p->begun = true;
	if (!begun) {
		p->taken_us = p->taken_us ? p->taken_us : p->last_us;
		p->times++;
		p->asks_on = false;
	}
	if (p->changed) {
		p->changed(p->ctx);
	}
}

struct clip_paste_state clip_paste_state(const struct clip_paste *p) {
	uint64_t now_us = loop_now_us();
	struct clip_paste_state state = {.quiet_ms = (unsigned)((now_us - p->last_us) / 1000),
		.since_ms = (unsigned)((now_us - p->pressed_us) / 1000)};
	if (p->taken_us) {
		state.taken = CLIP_TAKEN;
		state.more = p->times == 1 && p->asks_on;
		state.took_ms = (unsigned)((p->taken_us - p->pressed_us) / 1000);
	} else if (p->begun) {
		state.taken = p->text->len > p->c->chunk ? CLIP_TAKING : CLIP_GIVEN;
	}
	return state;
}
