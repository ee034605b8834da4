/* Who holds what, from the first press of a key or button to the release by its last holder. Which
 * keys a chord or a text needs is worked out in keys.c and typing.c; clicks and motion are in
 * pointer.c. */
#include "desktop/input.h"

#include <X11/XKBlib.h>
#include <X11/extensions/XTest.h>

#include "desktop/input_priv.h"
#include "desktop/mapwatch.h"

/* The highest button; beyond 5 the core protocol does not tell which are down. */
#define LAST_BUTTON 9

uint64_t input_now(void) {
	struct timespec t = {0};
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void input_send_key(struct input *in, uint8_t keycode, bool down) {
	if (!in->x->lost) {
		(void)XTestFakeKeyEvent(in->x->display, keycode, down, CurrentTime);
	}
}

void input_send_button(struct input *in, uint8_t number, bool down) {
	if (!in->x->lost) {
		(void)XTestFakeButtonEvent(in->x->display, number, down, CurrentTime);
	}
}

void input_send_press_after(struct input *in, uint8_t number, unsigned ms) {
	if (!in->x->lost) {
		/* It counts from when it last looked at the clock, which this makes it do; there is
		 * no grab of ours. */
		(void)XUngrabPointer(in->x->display, CurrentTime);
		(void)XTestFakeButtonEvent(in->x->display, number, True, ms);
	}
}

void input_send_motion(struct input *in, int x, int y) {
	if (!in->x->lost) {
		(void)XTestFakeMotionEvent(in->x->display, in->x->screen, x, y, CurrentTime);
	}
}

static void send(struct input *in, uint8_t code, bool button, bool down) {
	if (button) {
		input_send_button(in, code, down);
	} else {
		input_send_key(in, code, down);
	}
}

int input_sent(struct input *in, struct cua_err *err) {
	x11_flush(in->x);
	return x11_alive(in->x) ? 0 : cua_err_set(err, CUA_NOT_FOUND, "the X server is gone");
}

CUA_DEFINE_CLEANUP(struct input *, input_free)

struct input *input_new(struct x11 *x, struct cua_err *err) {
	_cleanup_(input_free_p) struct input *in = calloc(1, sizeof(*in));
	if (!in) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the input");
		return NULL;
	}
	in->x = x;
	int ignored = 0;
	int major = XkbMajorVersion;
	int minor = XkbMinorVersion;
	if (!XkbQueryExtension(x->display, &ignored, &ignored, &ignored, &major, &minor)) {
		(void)cua_err_set(err, CUA_INTERNAL, "the X server lacks XKEYBOARD");
		return NULL;
	}
	/* Works on while another program has grabbed the server. */
	(void)XTestGrabControl(x->display, True);
	pointer_watch(in);
	const unsigned events = XkbMapNotifyMask | XkbNewKeyboardNotifyMask;
	(void)XkbSelectEvents(x->display, XkbUseCoreKbd, events, events);
	if (input_reload(in, err) < 0) {
		return NULL;
	}
	in->watch = mapwatch_new(x);
	(void)input_release_all(in);
	return take_ptr(in);
}

struct input *input_free(struct input *in) {
	while (in && in->hold_count > 0) {
		const struct hold *last = &in->hold[in->hold_count - 1];
		hold_break(in, last->code, last->button);
	}
	if (in) {
		in->watch = mapwatch_free(in->watch);
		x11_flush(in->x);
	}
	free(in);
	return NULL;
}

void input_event(struct input *in, const union _XEvent *event) {
	if (event->type == MappingNotify) {
		in->stale = true;
	} else if (event->type == in->x->xkb_event) {
		int type = ((const XkbAnyEvent *)(const void *)event)->xkb_type;
		in->stale |= type == XkbMapNotify || type == XkbNewKeyboardNotify;
	} else {
		pointer_event(in, event);
	}
}

static bool lease_has(const struct input *in, const struct hold *h) {
	for (size_t i = 0; i < in->hold_count; i++) {
		const struct hold *o = &in->hold[i];
		if (o->lease == h->lease && o->keysym == h->keysym && o->button == h->button &&
			(!h->button || o->code == h->code)) {
			return true;
		}
	}
	return false;
}

int input_button_down(struct input *in, uint32_t lease, cua_Button button, struct cua_err *err) {
	int r = input_check_button(button, err);
	if (r < 0) {
		return r;
	}
	const struct hold hold = {.lease = lease,
		.code = input_button_number(button),
		.button = true,
		.serial = ++in->serial};
	bool pressed = !hold_any(in, hold.code, true);
	if (!lease_has(in, &hold)) {
		r = hold_press(in, &hold, err);
	}
	if (r < 0) {
		return r;
	}
	return pressed ? pointer_pressed(in, hold.code, 1, err) : input_sent(in, err);
}

int input_button_up(struct input *in, uint32_t lease, cua_Button button, struct cua_err *err) {
	int r = input_check_button(button, err);
	if (r < 0) {
		return r;
	}
	hold_release(in, lease, 0, input_button_number(button));
	return pointer_released(in, input_button_number(button), err);
}

bool hold_any(const struct input *in, uint8_t code, bool button) {
	for (size_t i = 0; i < in->hold_count; i++) {
		if (in->hold[i].code == code && in->hold[i].button == button) {
			return true;
		}
	}
	return false;
}

int hold_press(struct input *in, const struct hold *hold, struct cua_err *err) {
	if (in->hold_count == CUA_HOLDS_MAX) {
		return cua_err_set(err, CUA_EXHAUSTED, "more than %d keys and buttons are held",
			CUA_HOLDS_MAX);
	}
	if (!hold_any(in, hold->code, hold->button)) {
		send(in, hold->code, hold->button, true);
	}
	in->hold[in->hold_count++] = *hold;
	return 0;
}

/* Forgets one record, and lets go if it was the code's last. */
static void drop(struct input *in, size_t i) {
	const struct hold gone = in->hold[i];
	in->hold_count--;
	memmove(&in->hold[i], &in->hold[i + 1], (in->hold_count - i) * sizeof(in->hold[0]));
	if (!hold_any(in, gone.code, gone.button)) {
		send(in, gone.code, gone.button, false);
	}
}

void hold_break(struct input *in, uint8_t code, bool button) {
	for (size_t i = in->hold_count; i > 0; i--) {
		if (in->hold[i - 1].code == code && in->hold[i - 1].button == button) {
			drop(in, i - 1);
		}
	}
}

void hold_release(struct input *in, uint32_t lease, uint32_t keysym, uint8_t button) {
	uint32_t serial = 0;
	bool found = false;
	for (size_t i = in->hold_count; i > 0; i--) {
		const struct hold *h = &in->hold[i - 1];
		bool fits = h->lease == lease && h->keysym == keysym &&
			    h->button == (button != 0) && (!button || h->code == button);
		if (!found && fits) {
			serial = h->serial;
			found = true;
		}
		if (found && fits && h->serial == serial) {
			drop(in, i - 1);
		}
	}
}

void hold_rollback(struct input *in, uint32_t serial) {
	while (in->hold_count > 0 && in->hold[in->hold_count - 1].serial > serial) {
		drop(in, in->hold_count - 1);
	}
}

void input_lease_end(struct input *in, uint32_t lease) {
	for (size_t i = in->hold_count; i > 0; i--) {
		if (in->hold[i - 1].lease == lease) {
			drop(in, i - 1);
		}
	}
	x11_flush(in->x);
}

bool input_holds(const struct input *in) {
	return in->hold_count > 0;
}

/* Lets go of what the server says is down. */
static unsigned release_foreign(struct input *in) {
	char keys[32] = {0};
	Window window = None;
	int ignored = 0;
	unsigned mask = 0;
	unsigned count = 0;
	if (!in->x->lost) {
		(void)XQueryKeymap(in->x->display, keys);
		(void)XQueryPointer(in->x->display, in->x->root, &window, &window, &ignored,
			&ignored, &ignored, &ignored, &mask);
	}
	for (unsigned k = 8; k < 256 && !in->x->lost; k++) {
		if ((unsigned char)keys[k / 8] & (1u << (k % 8))) {
			input_send_key(in, (uint8_t)k, false);
			count++;
		}
	}
	for (uint8_t b = 1; b <= 5; b++) {
		if (mask & ((unsigned)Button1Mask << (b - 1))) {
			input_send_button(in, b, false);
			count++;
		}
	}
	/* One that is not down stays as it is, without an event. */
	for (uint8_t b = 6; b <= LAST_BUTTON; b++) {
		input_send_button(in, b, false);
	}
	return count;
}

unsigned input_release_all(struct input *in) {
	unsigned count = 0;
	while (in->hold_count > 0) {
		const struct hold *last = &in->hold[in->hold_count - 1];
		hold_break(in, last->code, last->button);
		count++;
	}
	count += release_foreign(in);
	x11_flush(in->x);
	return count;
}
