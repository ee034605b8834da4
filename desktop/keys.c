/* Chords: which keycodes they are on the session's keyboard, and the spare keycodes for keysyms
 * that it lacks. The order of presses and releases is that of a hand. */
#include <X11/XKBlib.h>

#include "desktop/input_priv.h"
#include "desktop/mapwatch.h"

/* A keysym that no key of the layout has. Without any spare keycode, the key that carries it on an
 * American keyboard is the next best. */
static int foreign_stroke(
	struct input *in, uint32_t keysym, struct layout_stroke *ret, struct cua_err *err) {
	struct spare_plan plan = {0};
	unsigned wait_ms = 0;
	uint8_t code = spare_plan_get(in, &plan, keysym, &wait_ms);
	if (code) {
		spare_plan_apply(in, &plan);
		wait_ms = spare_wait_visible(in);
	}
	if (wait_ms) {
		return (int)wait_ms;
	}
	bool shift = false;
	if (!code) {
		code = keymap_us_keycode(keymap_char(keysym), &shift);
	}
	if (!code) {
		return cua_err_set(err, CUA_EXHAUSTED,
			"the session's keyboard has no spare keycode for the key");
	}
	*ret = (struct layout_stroke){
		.keycode = code, .group = LAYOUT_ANY_GROUP, .mods = shift ? ShiftMask : 0};
	return 0;
}

struct press {
	struct hold hold;
	struct layout_state state;
};

/* Modifiers that the stroke needs beyond those that are down. */
static int press_mods(struct input *in, struct press *p, uint8_t mods, struct cua_err *err) {
	int r = 0;
	for (int bit = 0; bit < 8 && r == 0; bit++) {
		if ((mods & (1 << bit)) && in->layout.mod_key[bit]) {
			p->hold.code = in->layout.mod_key[bit];
			r = hold_press(in, &p->hold, err);
		}
	}
	return r;
}

static void lock_group(struct input *in, uint8_t group) {
	if (!in->x->lost) {
		(void)XkbLockGroup(in->x->display, XkbUseCoreKbd, group);
	}
}

/* A key of the layout. One that has no Latin letters gets them. */
static bool find_stroke(struct input *in, const struct press *p, struct layout_stroke *ret) {
	uint32_t character = keymap_char(p->hold.keysym);
	bool found = layout_find_keysym(&in->layout, p->hold.keysym, &p->state, ret);
	if (!found && character > 0x20 && character < 0x7f && spare_add_latin(in)) {
		found = layout_find_keysym(&in->layout, p->hold.keysym, &p->state, ret);
	}
	return found;
}

static int press_key(struct input *in, struct press *p, struct cua_err *err) {
	struct layout_stroke stroke = {0};
	if (!find_stroke(in, p, &stroke)) {
		int r = foreign_stroke(in, p->hold.keysym, &stroke, err);
		if (r != 0) {
			return r;
		}
	}
	int r = press_mods(in, p, stroke.mods & (uint8_t)~p->state.base, err);
	if (r < 0) {
		return r;
	}
	bool other = stroke.group != LAYOUT_ANY_GROUP && stroke.group != p->state.group;
	if (other) {
		lock_group(in, stroke.group);
	}
	p->hold.code = stroke.keycode;
	spare_struck(in, stroke.keycode);
	r = hold_press(in, &p->hold, err);
	if (other) {
		lock_group(in, p->state.locked_group);
	}
	return r;
}

int input_reload(struct input *in, struct cua_err *err) {
	bool first = in->layout.count == 0;
	uint64_t known = layout_digest(&in->layout);
	int r = layout_load(in->x, &in->layout, err);
	if (r < 0) {
		return r;
	}
	in->stale = false;
	if (!first && layout_digest(&in->layout) != known) {
		spare_disturbed(in);
	}
	spare_choose_probe(in);
	return 0;
}

/* Window managers take their shortcuts anew after a change of the map: it is made, and they are done
 * with it, before the first key is down. 0, or milliseconds to wait. */
static int ready_shortcut(struct input *in, const struct keymap_chord *chord, struct press *p) {
	for (size_t i = 0; i < chord->count; i++) {
		struct layout_stroke ignored;
		p->hold.keysym = chord->keysym[i];
		(void)find_stroke(in, p, &ignored);
	}
	unsigned calm = spare_wait_calm(in);
	return (int)(calm ? calm : spare_wait_manager(in));
}

int input_keys_down(
	struct input *in, uint32_t lease, const struct keymap_chord *chord, struct cua_err *err) {
	struct press p = {.hold = {.lease = lease}};
	int r = input_reload(in, err);
	if (r == 0) {
		r = layout_state(in->x, &p.state, err);
	}
	if (r == 0 && !in->pressing) {
		spare_begin(in);
	}
	if (r == 0 && chord->count > 1) {
		r = ready_shortcut(in, chord, &p);
	}
	const uint32_t before = in->serial;
	for (size_t i = 0; r == 0 && i < chord->count; i++) {
		p.hold.keysym = chord->keysym[i];
		p.hold.serial = ++in->serial;
		r = press_key(in, &p, err);
	}
	if (r > 0) {
		int late = spare_check_answers(in, err);
		r = late < 0 ? late : r;
	}
	if (r != 0) {
		hold_rollback(in, before);
	}
	if (r >= 0 && in->watch) {
		mapwatch_struck(in->watch, in->spares.strikes);
	}
	in->pressing = r > 0;
	x11_flush(in->x);
	return r;
}

void input_keys_give_up(struct input *in) {
	in->pressing = false;
}

void input_keys_up(struct input *in, uint32_t lease, const struct keymap_chord *chord) {
	for (size_t i = chord->count; i > 0; i--) {
		hold_release(in, lease, chord->keysym[i - 1], 0);
	}
	x11_flush(in->x);
}

int input_key_down(struct input *in, uint32_t lease, uint32_t keysym, struct cua_err *err) {
	for (size_t i = 0; i < in->hold_count; i++) {
		if (in->hold[i].lease == lease && in->hold[i].keysym == keysym) {
			return 0;
		}
	}
	const struct keymap_chord chord = {.keysym = {keysym}, .count = 1};
	return input_keys_down(in, lease, &chord, err);
}

void input_key_up(struct input *in, uint32_t lease, uint32_t keysym) {
	const struct keymap_chord chord = {.keysym = {keysym}, .count = 1};
	input_keys_up(in, lease, &chord);
}
