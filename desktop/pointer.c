/* Motion, clicks and the wheel; and what programs will make of the next click after the last. */
#include <X11/extensions/Xfixes.h>

#include "desktop/input_priv.h"

/* The longest time in which a program counts a press with the one before is Chromium's, 500 ms; with
 * the one before that, GTK's, 800 ms. */
#define PAIR_MS 600
#define CHAIN_MS 900
/* Chromium takes a press of the same millisecond for the one before, xterm one of the same as the last
 * release for one of much later. */
#define APART_MS 2
/* Programs count presses together that are some pixels apart, xterm those in one cell. */
#define NEAR_PIXELS 24
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

uint8_t input_button_number(cua_Button button) {
	return (size_t)button < CUA_COUNT(buttons) ? buttons[button].number : 0;
}

void pointer_watch(struct input *in) {
	XFixesSelectSelectionInput(in->x->display, in->x->root, in->x->atom.XdndSelection,
		XFixesSetSelectionOwnerNotifyMask);
}

void pointer_event(struct input *in, const union _XEvent *event) {
	const XFixesSelectionNotifyEvent *notify =
		(const XFixesSelectionNotifyEvent *)(const void *)event;
	if (event->type == in->x->fixes_event + XFixesSelectionNotify &&
		notify->selection == in->x->atom.XdndSelection && notify->owner != None) {
		in->pointing.drags++;
		in->pointing.drag_ms = input_now();
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
	input_send_motion(in, x, y);
	return input_sent(in, err);
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

int input_check_button(cua_Button button, struct cua_err *err) {
	if (input_button_number(button)) {
		return 0;
	}
	return cua_err_about(
		err, CUA_INVALID, "button", "there is no button number %u", (unsigned)button);
}

int pointer_pressed(struct input *in, uint8_t number, unsigned count, struct cua_err *err) {
	struct pointing *p = &in->pointing;
	int r = input_position(in, &p->press.x, &p->press.y, err);
	uint64_t now = input_now();
	bool goes_on = p->number == number && now - p->press.ms < CHAIN_MS;
	p->run = (goes_on ? p->run : 0) + count;
	p->number = number;
	p->count = count;
	p->press.ms = now;
	p->release = p->press;
	return r;
}

int pointer_released(struct input *in, uint8_t number, struct cua_err *err) {
	struct pointing *p = &in->pointing;
	if (p->number != number) {
		return input_sent(in, err);
	}
	int r = input_position(in, &p->release.x, &p->release.y, err);
	p->release.ms = input_now();
	return r;
}

int input_check_free(struct input *in, cua_Button button, struct cua_err *err) {
	int r = input_check_button(button, err);
	if (r == 0 && hold_any(in, input_button_number(button), true)) {
		r = cua_err_about(err, CUA_CONFLICT, "button",
			"the %s button is being held; mouse_up or release_all lets go of it",
			buttons[button].name);
	}
	return r;
}

/* Milliseconds until `need` after an event; 0 when that is over or the place another one. */
static int wait_after(const struct pointing_at *at, uint64_t need, const int now_at[2]) {
	uint64_t passed = input_now() - at->ms;
	bool near = abs(now_at[0] - at->x) < NEAR_PIXELS && abs(now_at[1] - at->y) < NEAR_PIXELS;
	return near && passed < need ? (int)(need - passed) : 0;
}

/* Milliseconds until programs do not count a press with the last one any more: most look where and
 * when that was pressed, xterm where and when it was let go. */
static int chain_wait(struct input *in, uint8_t number, unsigned count, struct cua_err *err) {
	const struct pointing *p = &in->pointing;
	bool alone = count == 1 && p->count == 1; /* that is what two clicks of a hand are */
	if (p->number != number || alone || input_now() - p->release.ms >= CHAIN_MS) {
		return 0;
	}
	int at[2] = {0};
	int r = input_position(in, &at[0], &at[1], err);
	if (r < 0) {
		return r;
	}
	int pressed = wait_after(&p->press, p->run > 1 ? CHAIN_MS : PAIR_MS, at);
	int released = wait_after(&p->release, PAIR_MS, at);
	return pressed > released ? pressed : released;
}

/* Before the first press: 0, milliseconds to wait, or negative. */
static int click_check(struct input *in, cua_Button button, unsigned count, struct cua_err *err) {
	int r = input_check_free(in, button, err);
	if (r < 0) {
		return r;
	}
	if (count < 1 || count > 3) {
		return cua_err_about(
			err, CUA_INVALID, "count", "count is %u; it may be 1 to 3", count);
	}
	return chain_wait(in, input_button_number(button), count, err);
}

int input_click(struct input *in, cua_Button button, unsigned count, struct cua_err *err) {
	int r = click_check(in, button, count, err);
	if (r != 0) {
		return r;
	}
	uint8_t number = input_button_number(button);
	bool apart = input_now() < in->pointing.release.ms + APART_MS;
	/* In one go: a worker that is kept from the processor makes no two clicks of a double one. */
	for (unsigned i = 0; i < count; i++) {
		if (i > 0 || apart) {
			input_send_press_after(in, number, APART_MS);
		} else {
			input_send_button(in, number, true);
		}
		input_send_button(in, number, false);
	}
	return pointer_pressed(in, number, count, err);
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
	return input_sent(in, err);
}
