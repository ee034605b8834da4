/* Spare keycodes: which of them carry what, and which may be given another keysym. */
#include "desktop/input_priv.h"
#include "desktop/mapwatch.h"
#include "desktop/windows.h"

#define REST_MS 20 /* between the last use of a keycode and its next meaning */
#define REST_BLIND_MS 400 /* the same where nothing tells that its user is done */
#define FOREIGN_REST_MS 100
#define ANSWER_MS 3000 /* for a program to begin to re-read the map, or to answer at all */
#define POLL_MS 2
#define VOID_SYMBOL 0xffffffu

uint8_t spare_find(const struct input *in, uint32_t keysym) {
	for (unsigned k = 8; k < 256; k++) {
		if (in->layout.spare[k] && in->layout.borrowed[k] == keysym) {
			return (uint8_t)k;
		}
	}
	return 0;
}

void spare_struck(struct input *in, uint8_t keycode) {
	in->spares.strikes++;
	if (in->layout.spare[keycode]) {
		in->spares.used_ms[keycode] = input_now();
		in->spares.used[keycode] = in->spares.strikes;
	}
}

static bool may_take(const struct input *in, const struct spare_plan *plan, unsigned k) {
	return in->layout.spare[k] && k != in->spares.probe && !plan->reserved[k] &&
	       !hold_any(in, (uint8_t)k, false);
}

/* The spare keycode that has rested longest of those that may be taken. */
static uint8_t oldest(const struct input *in, const struct spare_plan *plan) {
	unsigned found = 0;
	for (unsigned k = 8; k < 256; k++) {
		if (may_take(in, plan, k) &&
			(!found || in->spares.used[k] < in->spares.used[found])) {
			found = k;
		}
	}
	return (uint8_t)found;
}

/* Changes the map; whoever gets the keys from now on will read it anew. */
static void lend(struct input *in, const struct layout_loan *loan, size_t count) {
	struct spares *s = &in->spares;
	if (!layout_borrow(in->x, &in->layout, loan, count)) {
		return;
	}
	s->changed = true;
	if (!in->watch) {
		return;
	}
	mapwatch_changed(in->watch);
	s->waiting = false;
	if (mapwatch_useful(in->watch) && !mapwatch_pings(in->watch)) {
		s->waiting = true;
		s->strikes_before = s->strikes;
		s->deadline_ms = input_now() + ANSWER_MS + in->lag_ms;
	}
}

/* Notes the answer to the last change, if it has come or will not come. */
static void look(struct input *in) {
	struct spares *s = &in->spares;
	if (!s->waiting) {
		return;
	}
	if (mapwatch_seen(in->watch, in->lag_ms)) {
		s->waiting = false;
		s->resolved = s->strikes_before;
	} else if (mapwatch_moved(in->watch)) {
		s->waiting = false;
	} else if (input_now() >= s->deadline_ms && !mapwatch_reads(in->watch)) {
		s->waiting = false;
		mapwatch_give_up(in->watch);
	}
}

void spare_begin(struct input *in) {
	in->spares.since_ms = 0;
	if (in->watch) {
		in->spares.deadline_ms = input_now() + ANSWER_MS + in->lag_ms;
		mapwatch_begin(in->watch);
	}
}

/* Changes the map of one keycode that writes nothing, and strikes it: programs look at the map when
 * they come to a key. */
static void probe(struct input *in) {
	struct spares *s = &in->spares;
	const struct layout_loan loan = {s->probe, VOID_SYMBOL};
	lend(in, &loan, 1);
	input_send_key(in, s->probe, true);
	input_send_key(in, s->probe, false);
	(void)x11_flush(in->x);
}

/* Milliseconds until a program that answers no pings is done with this keycode; 0: it is. */
static unsigned wait_blindly(struct input *in, const struct spare_plan *plan, uint8_t k) {
	struct spares *s = &in->spares;
	uint64_t now = input_now();
	bool known = s->used[k] <= s->resolved;
	bool blind = !known && (!in->watch || !s->probe || !mapwatch_useful(in->watch));
	uint64_t ready = s->used_ms[k] + in->lag_ms + (blind ? REST_BLIND_MS : REST_MS);
	if (!known && !blind) {
		/* One change at a time: what is planned goes first. */
		if (!plan->any) {
			probe(in);
		}
		return POLL_MS;
	}
	return now < ready ? (unsigned)(ready - now) : 0;
}

/* Milliseconds until this keycode may be given another keysym; 0: now. */
static unsigned wait_for(struct input *in, const struct spare_plan *plan, uint8_t k) {
	uint64_t used = in->spares.used[k];
	if (used == 0) {
		return 0;
	}
	if (in->watch && mapwatch_lags(in->watch, used, in->lag_ms)) {
		return POLL_MS;
	}
	return in->watch && mapwatch_pings(in->watch) ? 0 : wait_blindly(in, plan, k);
}

bool spare_add_latin(struct input *in) {
	struct cua_err ignored = {0};
	if (!layout_add_latin(in->x, &in->layout)) {
		return false;
	}
	if (in->watch) {
		mapwatch_changed(in->watch);
	}
	return input_reload(in, &ignored) == 0;
}

void spare_disturbed(struct input *in) {
	in->spares.foreign_ms = input_now();
	in->spares.changed = true;
	if (in->watch) {
		mapwatch_unlearn(in->watch);
	}
}

/* It comes to a question after what happened before that, and answers by a property. */
static void ask_manager(struct input *in) {
	struct spares *s = &in->spares;
	struct x11 *x = in->x;
	const long nothing[5] = {0};
	if (s->question == None) {
		s->question = x11_hidden_window(x, NoEventMask);
	}
	if (!x->lost) {
		(void)XDeleteProperty(x->display, s->question, x->atom._NET_FRAME_EXTENTS);
		windows_ask_manager(x, s->question, x->atom._NET_REQUEST_FRAME_EXTENTS, nothing);
		s->asked_ms = input_now();
	}
}

unsigned spare_wait_manager(struct input *in) {
	struct spares *s = &in->spares;
	struct x11 *x = in->x;
	unsigned long extent = 0;
	if (s->changed) {
		s->changed = false;
		s->asked_ms = 0;
		if (windows_managed(x) && x11_lists_atom(x, x->root, x->atom._NET_SUPPORTED,
						  x->atom._NET_REQUEST_FRAME_EXTENTS)) {
			ask_manager(in);
		}
	}
	if (s->asked_ms == 0) {
		return 0;
	}
	if (x11_get_longs(x, s->question, x->atom._NET_FRAME_EXTENTS, XA_CARDINAL, &extent, 1) ||
		input_now() >= s->asked_ms + ANSWER_MS + in->lag_ms) {
		s->asked_ms = 0;
	}
	return s->asked_ms ? POLL_MS : 0;
}

unsigned spare_wait_calm(const struct input *in) {
	uint64_t calm = in->spares.foreign_ms + FOREIGN_REST_MS + in->lag_ms;
	uint64_t now = input_now();
	return now < calm ? (unsigned)(calm - now) : 0;
}

uint8_t spare_plan_get(
	struct input *in, struct spare_plan *plan, uint32_t keysym, unsigned *ret_wait_ms) {
	*ret_wait_ms = 0;
	uint8_t found = spare_find(in, keysym);
	if (found) {
		plan->reserved[found] = true;
		return found;
	}
	look(in);
	uint8_t k = oldest(in, plan);
	if (!k) {
		return 0;
	}
	unsigned calm = spare_wait_calm(in);
	*ret_wait_ms = in->spares.waiting ? POLL_MS : calm ? calm : wait_for(in, plan, k);
	if (*ret_wait_ms) {
		return 0;
	}
	plan->reserved[k] = true;
	plan->fresh[k] = true;
	plan->any = true;
	in->layout.borrowed[k] = keysym;
	return k;
}

unsigned spare_wait_visible(struct input *in) {
	return in->watch && !mapwatch_visible(in->watch) ? POLL_MS : 0;
}

unsigned spare_wait_ahead(struct input *in) {
	uint64_t strikes = in->spares.strikes;
	bool wait = in->watch && mapwatch_pings(in->watch) && strikes > CUA_KEYS_AHEAD &&
		    mapwatch_lags(in->watch, strikes - CUA_KEYS_AHEAD, in->lag_ms);
	return wait ? POLL_MS : 0;
}

int spare_check_answers(struct input *in, struct cua_err *err) {
	struct spares *s = &in->spares;
	uint64_t now = input_now();
	bool late = s->waiting && now >= s->deadline_ms + CUA_KEYBOARD_MS;
	s->since_ms = s->since_ms ? s->since_ms : now;
	if (in->watch && (late || mapwatch_overdue(in->watch))) {
		return cua_err_set(err, CUA_TIMEOUT,
			"the program with the keyboard has handled no key for %d s",
			CUA_KEYBOARD_MS / 1000);
	}
	if (now >= s->since_ms + ANSWER_MS + in->lag_ms + CUA_KEYBOARD_MS) {
		return cua_err_set(err, CUA_TIMEOUT,
			"the layout of the keyboard has not come to rest for %d s",
			CUA_KEYBOARD_MS / 1000);
	}
	return 0;
}

void spare_plan_apply(struct input *in, struct spare_plan *plan) {
	struct layout_loan loan[256];
	size_t count = 0;
	plan->any = false;
	for (unsigned k = 8; k < 256; k++) {
		if (plan->fresh[k]) {
			loan[count++] = (struct layout_loan){(uint8_t)k, in->layout.borrowed[k]};
		}
	}
	if (count > 0) {
		lend(in, loan, count);
	}
}

void spare_choose_probe(struct input *in) {
	unsigned count = 0;
	in->spares.probe = 0;
	for (unsigned k = 255; k >= 8; k--) {
		if (in->layout.spare[k]) {
			in->spares.probe = in->spares.probe ? in->spares.probe : (uint8_t)k;
			count++;
		}
	}
	/* Two at least must be left to type with. */
	in->spares.probe = count > 2 ? in->spares.probe : 0;
}
