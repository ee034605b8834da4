/* What a look at the screen costs beside one memcpy of the frame, measured in turn: on a real Xvfb, for
 * several sizes. Prints a table; nothing is judged here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "desktop/capture.h"
#include "desktop/loop.h"
#include "desktop/screen.h"
#include "desktop/shm.h"
#include "desktop/x11_priv.h"
#include "tests/lib/xvfb.h"

#define ROUNDS 100

struct bench {
	struct x11 *x;
	struct capture *capture;
	struct shm shm;
	Display *painter;
	GC gc;
	Pixmap noise[2];
	int width;
	int height;
	char *from; /* a frame's bytes */
	char *to;
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

/* Sorts and tells least, median and 95th of ROUNDS times, and the first two beside memcpy's. */
static void tell(const char *name, double *ms, double *copy) {
	qsort(ms, ROUNDS, sizeof(*ms), by_value);
	qsort(copy, ROUNDS, sizeof(*copy), by_value);
	printf("  %-26s %8.3f %8.3f %8.3f %8.2f %8.2f\n", name, ms[0], ms[ROUNDS / 2],
		ms[ROUNDS * 95 / 100], ms[0] / copy[0], ms[ROUNDS / 2] / copy[ROUNDS / 2]);
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

static double copy_ms(const struct bench *b) {
	uint64_t start = loop_now_us();
	memcpy(b->to, b->from, (size_t)b->width * (size_t)b->height * 4);
	__asm__ volatile("" : : "r"(b->to) : "memory");
	return since_ms(start);
}

static double look_ms(struct bench *b) {
	struct cua_err err;
	uint64_t start = loop_now_us();
	if (x11_sync(b->x, &err) < 0) {
		die("sync", &err);
	}
	(void)x11_dispatch(b->x, take_event, b);
	if (capture_look(b->capture, &err) < 0) {
		die("look", &err);
	}
	return since_ms(start);
}

/* The pixels alone, without comparing them to the last ones. */
static double fetch_ms(struct bench *b) {
	const struct shm_part part = {
		.drawable = b->x->root, .width = b->width, .height = b->height};
	uint64_t start = loop_now_us();
	if (shm_get(&b->shm, b->x, &part, 0) != 0) {
		fprintf(stderr, "the X server refuses\n");
		exit(1);
	}
	return since_ms(start);
}

typedef double took_fn(struct bench *b);

static void rounds(struct bench *b, const char *name, change_fn *change, took_fn *took_ms) {
	double ms[ROUNDS];
	double copy[ROUNDS];
	for (int i = -3; i < ROUNDS; i++) {
		change(b, i + 3);
		XSync(b->painter, False);
		double took = took_ms(b);
		double copied = copy_ms(b);
		if (i >= 0) {
			ms[i] = took;
			copy[i] = copied;
		}
	}
	tell(name, ms, copy);
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
	if (shm_make(&b.shm, b.x, (size_t)width * (size_t)height * 4, &err) < 0) {
		die("shared memory", &err);
	}
	b.painter = XOpenDisplay(display);
	b.gc = XCreateGC(b.painter, DefaultRootWindow(b.painter), 0, NULL);
	paint(&b);
	b.from = calloc(1, (size_t)width * (size_t)height * 4);
	b.to = calloc(1, (size_t)width * (size_t)height * 4);
	printf("%4dx%-23d %8s %8s %8s %17s\n", width, height, "least ms", "median", "p95",
		"beside memcpy");
	rounds(&b, "all changed, pixels alone", all, fetch_ms);
	rounds(&b, "all changed", all, look_ms);
	rounds(&b, "one letter changed", one, look_ms);
	rounds(&b, "drawn but unchanged", again, look_ms);
	rounds(&b, "nothing drawn", nothing, look_ms);
	free(b.from);
	free(b.to);
	(void)XCloseDisplay(b.painter);
	b.capture = capture_free(b.capture);
	shm_done(&b.shm, b.x);
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
