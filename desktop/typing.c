/* Types text: characters of the layout by their own keys, others through spare keycodes that get a
 * whole stretch of text's characters at once. A keycode is not given another character before every
 * program has had the time to read it. */
#include "desktop/typing.h"

#include <X11/XKBlib.h>

#include "cua/ident.h"
#include "desktop/input_priv.h"
#include "desktop/mapwatch.h"

#define CHARS_PER_STEP 128
#define CHARS_PER_PLAN 4096
#define STEP_MS 1
#define LIFTED_MAX 32
#define MAX_LAG_MS 1000

struct lifted {
	uint8_t keycode;
	bool held; /* by a lease; pressed by somebody else otherwise */
};

struct typing {
	struct input *in;
	char *text;
	size_t len;
	size_t pos;
	size_t planned; /* up to here every character has its key */
	size_t count;
	unsigned delay_ms;
	bool prepared;
	struct layout_state before;
	struct lifted lifted[LIFTED_MAX];
	size_t lifted_count;
	uint8_t mods; /* that are down for the character */
	uint8_t group; /* that is in force now */
};

/* The next character with its keysym; the bytes it takes. */
static size_t next_char(const struct typing *t, size_t pos, uint32_t *ret) {
	size_t n = keymap_decode(t->text + pos, t->len - pos, ret);
	if (*ret == '\r' && pos + n < t->len && t->text[pos + n] == '\n') {
		n++;
	}
	return n;
}

static int check_text(const struct typing *t, struct cua_err *err) {
	if (!cua_utf8_ok(t->text, t->len)) {
		return cua_err_about(err, CUA_INVALID, "text", "the text is not UTF-8");
	}
	uint32_t c = 0;
	for (size_t pos = 0; pos < t->len; pos += next_char(t, pos, &c)) {
		(void)next_char(t, pos, &c);
		if (!keymap_keysym_of_char(c)) {
			return cua_err_about(err, CUA_INVALID, "text",
				"the text has the control character U+%04X, which no key types",
				(unsigned)c);
		}
	}
	return 0;
}

CUA_DEFINE_CLEANUP(struct typing *, typing_free)

struct typing *typing_start(
	struct input *in, struct cua_span text, unsigned delay_ms, struct cua_err *err) {
	if (in->busy) {
		(void)cua_err_set(err, CUA_CONFLICT, "another input action is under way");
		return NULL;
	}
	if (text.len > CUA_TEXT_MAX) {
		(void)cua_err_about(err, CUA_TOO_LARGE, "text", "the text is larger than %u bytes",
			CUA_TEXT_MAX);
		return NULL;
	}
	_cleanup_(typing_free_p) struct typing *t = calloc(1, sizeof(*t));
	if (t) {
		t->text = malloc(text.len + 1);
	}
	if (!t || !t->text) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the text");
		return NULL;
	}
	if (text.len > 0) {
		memcpy(t->text, text.data, text.len);
	}
	t->len = text.len;
	t->delay_ms = delay_ms;
	if (check_text(t, err) < 0) {
		return NULL;
	}
	t->in = in;
	in->busy = true;
	return take_ptr(t);
}

static void lift_modifiers(struct typing *t) {
	char keys[32] = {0};
	if (!t->in->x->lost) {
		(void)XQueryKeymap(t->in->x->display, keys);
	}
	for (unsigned k = 8; k < 256 && t->lifted_count < LIFTED_MAX; k++) {
		bool down = (unsigned char)keys[k / 8] & (1u << (k % 8));
		if (down && t->in->layout.modifier[k]) {
			t->lifted[t->lifted_count++] = (struct lifted){
				.keycode = (uint8_t)k, .held = hold_any(t->in, (uint8_t)k, false)};
			input_send_key(t->in, (uint8_t)k, false);
		}
	}
}

static void put_back_modifiers(struct typing *t) {
	for (size_t i = 0; i < t->lifted_count; i++) {
		const struct lifted *l = &t->lifted[i];
		if (!l->held || hold_any(t->in, l->keycode, false)) {
			input_send_key(t->in, l->keycode, true);
		}
	}
	t->lifted_count = 0;
}

static void lock(struct typing *t, uint8_t mods) {
	if (!t->in->x->lost) {
		(void)XkbLockModifiers(t->in->x->display, XkbUseCoreKbd, 0xff, mods);
	}
}

static void set_group(struct typing *t, uint8_t group, uint8_t locked) {
	if (!t->in->x->lost && group != t->group) {
		(void)XkbLockGroup(t->in->x->display, XkbUseCoreKbd, locked);
		t->group = group;
	}
}

static int prepare(struct typing *t, struct cua_err *err) {
	int r = input_reload(t->in, err);
	if (r == 0) {
		r = layout_state(t->in->x, &t->before, err);
	}
	if (r < 0) {
		return r;
	}
	t->prepared = true;
	spare_begin(t->in);
	t->group = t->before.group;
	lift_modifiers(t);
	if (t->before.latched) {
		(void)XkbLatchModifiers(t->in->x->display, XkbUseCoreKbd, 0xff, 0);
	}
	if (t->before.locked) {
		lock(t, 0);
	}
	return 0;
}

static void set_mods(struct typing *t, uint8_t mods) {
	for (int bit = 0; bit < 8; bit++) {
		uint8_t mask = (uint8_t)(1 << bit);
		if ((t->mods ^ mods) & mask) {
			input_send_key(t->in, t->in->layout.mod_key[bit], mods & mask);
		}
	}
	t->mods = mods;
}

/* Lets go of the job's own keys, so that the state is as after prepare(). */
static void rest(struct typing *t) {
	set_mods(t, 0);
	set_group(t, t->before.group, t->before.locked_group);
}

static bool find_key(const struct typing *t, uint32_t c, struct layout_stroke *ret) {
	uint32_t keysym = keymap_keysym_of_char(c);
	const struct layout_state plain = {.group = t->before.group};
	return keymap_char(keysym) ? layout_find_char(&t->in->layout, c, t->before.group, ret)
				   : layout_find_keysym(&t->in->layout, keysym, &plain, ret);
}

/* Gives keys to as much of the text as there are spare keycodes for. 0, or milliseconds to wait
 * when there is none even for the first character, or negative. */
static int plan(struct typing *t, struct cua_err *err) {
	struct spare_plan plan = {0};
	struct layout_stroke stroke;
	unsigned wait_ms = 0;
	uint32_t c = 0;
	size_t n = 0;
	t->planned = t->pos;
	for (size_t chars = 0; t->planned < t->len && chars < CHARS_PER_PLAN; chars++) {
		n = next_char(t, t->planned, &c);
		if (!find_key(t, c, &stroke) &&
			!spare_plan_get(t->in, &plan, keymap_keysym_of_char(c), &wait_ms)) {
			break;
		}
		t->planned += n;
	}
	spare_plan_apply(t->in, &plan);
	if (t->planned > t->pos || wait_ms > 0) {
		return t->planned > t->pos ? 0 : (int)wait_ms;
	}
	return cua_err_about(err, CUA_EXHAUSTED, "text",
		"the session's keyboard has no spare keycode to type U+%04X", (unsigned)c);
}

static void strike(struct typing *t, uint32_t c) {
	struct layout_stroke stroke;
	if (!find_key(t, c, &stroke)) {
		stroke = (struct layout_stroke){
			.keycode = spare_find(t->in, keymap_keysym_of_char(c)),
			.group = LAYOUT_ANY_GROUP};
	}
	spare_struck(t->in, stroke.keycode);
	if (hold_any(t->in, stroke.keycode, false)) {
		hold_break(t->in, stroke.keycode, false);
	}
	if (stroke.group != LAYOUT_ANY_GROUP) {
		set_group(t, stroke.group, stroke.group);
	}
	set_mods(t, stroke.mods);
	input_send_key(t->in, stroke.keycode, true);
	input_send_key(t->in, stroke.keycode, false);
}

/* How long the server took says how busy the machine is: programs are no faster. */
static int sync_and_measure(struct typing *t, struct cua_err *err) {
	uint64_t start = input_now();
	int r = x11_sync(t->in->x, err);
	uint64_t lag = (input_now() - start) * 8;
	unsigned fresh = lag > MAX_LAG_MS ? MAX_LAG_MS : (unsigned)lag;
	unsigned fading = t->in->lag_ms * 7 / 8;
	t->in->lag_ms = fresh > fading ? fresh : fading;
	return r;
}

static int replan(struct typing *t, struct cua_err *err) {
	if (t->in->stale) {
		int r = input_reload(t->in, err);
		if (r < 0) {
			return r;
		}
		t->planned = t->pos;
	}
	return t->planned == t->pos ? plan(t, err) : 0;
}

/* Gets all ready for the next characters. Results as of a step. */
static int make_ready(struct typing *t, struct cua_err *err) {
	int r = t->prepared ? 0 : prepare(t, err);
	if (r == 0 && t->pos < t->len) {
		r = replan(t, err);
	}
	if (r == 0 && t->pos < t->len) {
		r = (int)spare_wait_visible(t->in);
	}
	if (r == 0) {
		r = (int)spare_wait_ahead(t->in);
	}
	return r;
}

static void strike_some(struct typing *t) {
	size_t max = t->delay_ms > 0 ? 1 : CHARS_PER_STEP;
	for (size_t i = 0; i < max && t->pos < t->planned; i++) {
		uint32_t c = 0;
		size_t n = next_char(t, t->pos, &c);
		strike(t, c);
		t->pos += n;
		t->count++;
	}
	rest(t);
}

/* Nobody else can change the keyboard until ungrab(); nor can anybody but a client that has the server
 * to itself already, for whose end we would wait. */
static bool grab(const struct typing *t) {
	bool mine = !t->in->x->lost && !(t->in->watch && mapwatch_grabbed(t->in->watch));
	if (mine) {
		(void)XGrabServer(t->in->x->display);
	}
	return mine;
}

static void ungrab(const struct typing *t) {
	if (!t->in->x->lost) {
		(void)XUngrabServer(t->in->x->display);
		x11_flush(t->in->x);
	}
}

/* Strikes while nobody else can change the keyboard. Programs read keys and changes in the order of
 * the server, so that what is struck before a change is what it was then. 0; 1 when the keyboard is
 * not what was planned for; or negative. */
static int strike_alone(struct typing *t, struct cua_err *err) {
	uint64_t planned = layout_digest(&t->in->layout);
	bool grabbed = grab(t);
	int r = input_reload(t->in, err);
	bool same = r == 0 && layout_digest(&t->in->layout) == planned;
	if (same) {
		strike_some(t);
		t->in->spares.since_ms = 0;
		r = sync_and_measure(t, err);
	} else {
		t->planned = t->pos;
	}
	if (grabbed) {
		ungrab(t);
	}
	return r < 0 ? r : !same;
}

int typing_step(struct typing *t, struct cua_err *err) {
	int r = make_ready(t, err);
	if (r == 0 && t->pos < t->len) {
		r = strike_alone(t, err);
	}
	if (r == 0 && t->in->watch) {
		mapwatch_struck(t->in->watch, t->in->spares.strikes);
	}
	if (r > 0) {
		int late = spare_check_answers(t->in, err);
		r = late < 0 ? late : r;
	}
	if (r != 0 || t->pos == t->len) {
		x11_flush(t->in->x);
		return r;
	}
	return t->delay_ms > 0 ? (int)t->delay_ms : STEP_MS;
}

size_t typing_count(const struct typing *t) {
	return t->count;
}

struct typing *typing_free(struct typing *t) {
	if (t && t->in) {
		if (t->prepared) {
			rest(t);
			if (t->before.locked) {
				lock(t, t->before.locked);
			}
			put_back_modifiers(t);
		}
		t->in->busy = false;
		x11_flush(t->in->x);
	}
	if (t) {
		free(t->text);
	}
	free(t);
	return NULL;
}
