/* Pointer, buttons, wheel, and the record of who holds what. Which keys a chord or a text needs is
 * worked out in keys.c and typing.c. */
#include "desktop/input.h"

#include <X11/XKBlib.h>
#include <X11/extensions/XTest.h>

#include "desktop/input_priv.h"
#include "desktop/mapwatch.h"

enum { WHEEL_UP = 4, WHEEL_DOWN, WHEEL_LEFT, WHEEL_RIGHT };

static const struct {
	const char *name;
	uint8_t number;
} buttons[] = {
	[cua_Button_BUTTON_LEFT] = {"left", 1},
	[cua_Button_BUTTON_MIDDLE] = {"middle", 2},
	[cua_Button_BUTTON_RIGHT] = {"right", 3},
	[cua_Button_BUTTON_BACK] = {"back", 8},
	[cua_Button_BUTTON_FORWARD] = {"forward", 9},
};

uint64_t input_now(void) {
	struct timespec t = {0};
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint8_t input_button_number(cua_Button button) {
	return (size_t)button < CUA_COUNT(buttons) ? buttons[button].number : 0;
}

void input_send_key(struct input *in, uint8_t keycode, bool down) {
	if (!in->x->lost) {
		(void)XTestFakeKeyEvent(in->x->display, keycode, down, CurrentTime);
	}
}

static void input_send_button(struct input *in, uint8_t number, bool down) {
	if (!in->x->lost) {
		(void)XTestFakeButtonEvent(in->x->display, number, down, CurrentTime);
	}
}

static void send(struct input *in, uint8_t code, bool button, bool down) {
	if (button) {
		input_send_button(in, code, down);
	} else {
		input_send_key(in, code, down);
	}
}

static int sent(struct input *in, struct cua_err *err) {
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
	}
}

static int check_range(const char *name, int value, int size, struct cua_err *err) {
	if (value >= 0 && value < size) {
		return 0;
	}
	return cua_err_about(err, CUA_OUT_OF_SCREEN, name, "%s is %d; the screen's are 0 to %d",
		name, value, size - 1);
}

int input_check_point(const struct input *in, int x, int y, struct cua_err *err) {
	int r = check_range("x", x, x11_width(in->x), err);
	return r < 0 ? r : check_range("y", y, x11_height(in->x), err);
}

int input_move(struct input *in, int x, int y, struct cua_err *err) {
	int r = input_check_point(in, x, y, err);
	if (r < 0) {
		return r;
	}
	if (!in->x->lost) {
		(void)XTestFakeMotionEvent(in->x->display, in->x->screen, x, y, CurrentTime);
	}
	return sent(in, err);
}

int input_position(struct input *in, int *ret_x, int *ret_y, struct cua_err *err) {
	Window root = None;
	Window child = None;
	int x = 0;
	int y = 0;
	int ignored = 0;
	unsigned mask = 0;
	if (!in->x->lost) {
		(void)XQueryPointer(in->x->display, in->x->root, &root, &child, &x, &y, &ignored,
			&ignored, &mask);
	}
	if (in->x->lost) {
		return cua_err_set(err, CUA_NOT_FOUND, "the X server is gone");
	}
	*ret_x = x;
	*ret_y = y;
	return 0;
}

static int check_button(cua_Button button, struct cua_err *err) {
	if (input_button_number(button)) {
		return 0;
	}
	return cua_err_about(
		err, CUA_INVALID, "button", "there is no button number %u", (unsigned)button);
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
	int r = check_button(button, err);
	if (r < 0) {
		return r;
	}
	const struct hold hold = {.lease = lease,
		.code = input_button_number(button),
		.button = true,
		.serial = ++in->serial};
	if (!lease_has(in, &hold)) {
		r = hold_press(in, &hold, err);
	}
	return r < 0 ? r : sent(in, err);
}

int input_button_up(struct input *in, uint32_t lease, cua_Button button, struct cua_err *err) {
	int r = check_button(button, err);
	if (r < 0) {
		return r;
	}
	hold_release(in, lease, 0, input_button_number(button));
	return sent(in, err);
}

int input_click(struct input *in, cua_Button button, unsigned count, struct cua_err *err) {
	int r = check_button(button, err);
	if (r < 0) {
		return r;
	}
	if (count < 1 || count > 3) {
		return cua_err_about(
			err, CUA_INVALID, "count", "count is %u; it may be 1 to 3", count);
	}
	if (hold_any(in, input_button_number(button), true)) {
		return cua_err_about(err, CUA_CONFLICT, "button", "the %s button is being held",
			buttons[button].name);
	}
	for (unsigned i = 0; i < count; i++) {
		input_send_button(in, input_button_number(button), true);
		input_send_button(in, input_button_number(button), false);
	}
	return sent(in, err);
}

static void turn(struct input *in, uint8_t wheel, int clicks) {
	for (int i = 0; i < clicks; i++) {
		input_send_button(in, wheel, true);
		input_send_button(in, wheel, false);
	}
}

int input_scroll(struct input *in, int dx, int dy, struct cua_err *err) {
	if (abs(dx) > CUA_SCROLL_MAX || abs(dy) > CUA_SCROLL_MAX) {
		return cua_err_about(err, CUA_INVALID, abs(dx) > CUA_SCROLL_MAX ? "dx" : "dy",
			"more than %d clicks of the wheel", CUA_SCROLL_MAX);
	}
	turn(in, dy < 0 ? WHEEL_UP : WHEEL_DOWN, abs(dy));
	turn(in, dx < 0 ? WHEEL_LEFT : WHEEL_RIGHT, abs(dx));
	return sent(in, err);
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
