/* What a look at the screen costs beside one memcpy of the frame: on a real Xvfb, medians and the 95th
 * of a hundred, for several sizes. Prints a table; nothing is judged here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "desktop/capture.h"
#include "desktop/loop.h"
#include "desktop/screen.h"
#include "desktop/x11_priv.h"
#include "tests/lib/xvfb.h"

#define ROUNDS 60

struct bench {
	struct x11 *x;
	struct capture *capture;
	Display *painter;
	GC gc;
	Pixmap noise[2];
	int width;
	int height;
};

typedef void change_fn(struct bench *b, int round);

static void die(const char *what, const struct cua_err *err) {
	fprintf(stderr, "%s: %s\n", what, err->message);
	exit(1);
}

static int by_value(const void *a, const void *b) {
	double x = *(const double *)a;
	double y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sorts and tells median and 95th of ROUNDS times. */
static void tell(const char *name, double *ms, double frame_ms) {
	qsort(ms, ROUNDS, sizeof(*ms), by_value);
	printf("  %-28s %8.3f %8.3f %8.2f\n", name, ms[ROUNDS / 2], ms[ROUNDS * 95 / 100],
		ms[ROUNDS / 2] / frame_ms);
}

static double since_ms(uint64_t us) {
	return (double)(loop_now_us() - us) / 1000;
}

static void all(struct bench *b, int round) {
	XCopyArea(b->painter, b->noise[round & 1], DefaultRootWindow(b->painter), b->gc, 0, 0,
		(unsigned)b->width, (unsigned)b->height, 0, 0);
}

static void one(struct bench *b, int round) {
	XSetForeground(b->painter, b->gc, (unsigned long)round * 77777);
	XFillRectangle(b->painter, DefaultRootWindow(b->painter), b->gc, b->width / 2,
		b->height / 2, 8, 16);
}

/* Damage without a change. */
static void again(struct bench *b, int round) {
	(void)round;
	XCopyArea(b->painter, b->noise[0], DefaultRootWindow(b->painter), b->gc, 0, 0,
		(unsigned)b->width, (unsigned)b->height, 0, 0);
}

static void nothing(struct bench *b, int round) {
	(void)b;
	(void)round;
}

static void take_event(void *ctx, XEvent *event) {
	struct bench *b = ctx;
	(void)capture_event(b->capture, event);
}

static void looks(struct bench *b, const char *name, change_fn *change, double frame_ms) {
	double ms[ROUNDS];
	struct cua_err err;
	for (int i = -3; i < ROUNDS; i++) {
		change(b, i + 3);
		XSync(b->painter, False);
		uint64_t start = loop_now_us();
		if (x11_sync(b->x, &err) < 0) {
			die("sync", &err);
		}
		(void)x11_dispatch(b->x, take_event, b);
		if (capture_look(b->capture, &err) < 0) {
			die("look", &err);
		}
		if (i >= 0) {
			ms[i] = since_ms(start);
		}
	}
	tell(name, ms, frame_ms);
}

static double copies(const struct bench *b) {
	double ms[ROUNDS];
	size_t len = (size_t)b->width * (size_t)b->height * 4;
	char *from = malloc(len);
	char *to = malloc(len);
	memset(from, 1, len);
	memset(to, 2, len);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = loop_now_us();
		memcpy(to, from, len);
		__asm__ volatile("" : : "r"(to) : "memory");
		ms[i] = since_ms(start);
	}
	free(from);
	free(to);
	double sorted[ROUNDS];
	memcpy(sorted, ms, sizeof(ms));
	qsort(sorted, ROUNDS, sizeof(*sorted), by_value);
	tell("memcpy", ms, sorted[ROUNDS / 2]);
	return sorted[ROUNDS / 2];
}

static void paint(struct bench *b) {
	Window root = DefaultRootWindow(b->painter);
	for (int i = 0; i < 2; i++) {
		b->noise[i] = XCreatePixmap(
			b->painter, root, (unsigned)b->width, (unsigned)b->height, 24);
		for (int k = 0; k < 20000; k++) {
			XSetForeground(b->painter, b->gc, (unsigned long)rand() & 0xffffff);
			XFillRectangle(b->painter, b->noise[i], b->gc, rand() % b->width,
				rand() % b->height, 40, 30);
		}
	}
	XSync(b->painter, False);
}

static void measure(const char *display, int width, int height) {
	struct cua_err err;
	struct bench b = {.width = width, .height = height};
	b.x = x11_open(display, &err);
	if (!b.x || screen_set(b.x, width, height, 96, &err) < 0) {
		die("screen", &err);
	}
	b.capture = capture_new(b.x, 1, &err);
	if (!b.capture) {
		die("capture", &err);
	}
	b.painter = XOpenDisplay(display);
	b.gc = XCreateGC(b.painter, DefaultRootWindow(b.painter), 0, NULL);
	paint(&b);
	printf("%dx%d %23s %8s %8s\n", width, height, "median", "p95", "/memcpy");
	double frame_ms = copies(&b);
	looks(&b, "look, all changed", all, frame_ms);
	looks(&b, "look, one letter changed", one, frame_ms);
	looks(&b, "look, drawn but unchanged", again, frame_ms);
	looks(&b, "look, nothing drawn", nothing, frame_ms);
	(void)XCloseDisplay(b.painter);
	b.capture = capture_free(b.capture);
	b.x = x11_close(b.x);
}

int main(void) {
	static const int sizes[][2] = {{640, 480}, {1280, 800}, {1920, 1080}, {3840, 2160}};
	struct xvfb xvfb;
	if (!xvfb_start(&xvfb, "3840x2160x24")) {
		fprintf(stderr, "Xvfb does not start\n");
		return 1;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		measure(xvfb.display, sizes[i][0], sizes[i][1]);
	}
	xvfb_stop(&xvfb);
	return 0;
}
