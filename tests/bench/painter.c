/* Changes every pixel of a screen at each line that it reads, and answers with a line when the X
 * server has drawn it. Its pictures come from a file of raw BGRX pixels, one after the other.
 *
 * usage: painter WIDTH HEIGHT FILE */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <X11/Xlib.h>
#include <X11/Xutil.h>

#include "cua/cleanup.h"

#define PICTURES_MAX 8
#define STRIP 64 /* rows in one request: a whole 4K screen is more than the server takes */

struct painter {
	Display *display;
	Window window;
	GC gc;
	int width;
	int height;
	Pixmap pictures[PICTURES_MAX];
	int count;
};

/* One strip of a picture from the file; false at its end. */
static bool load_strip(struct painter *p, FILE *file, char *pixels, int y) {
	int rows = p->height - y < STRIP ? p->height - y : STRIP;
	size_t size = (size_t)p->width * 4 * (size_t)rows;
	if (fread(pixels, 1, size, file) != size) {
		return false;
	}
	XImage image = {.width = p->width,
		.height = rows,
		.format = ZPixmap,
		.data = pixels,
		.byte_order = LSBFirst,
		.bitmap_unit = 32,
		.bitmap_pad = 32,
		.depth = 24,
		.bytes_per_line = p->width * 4,
		.bits_per_pixel = 32};
	if (!XInitImage(&image)) {
		return false;
	}
	(void)XPutImage(p->display, p->pictures[p->count], p->gc, &image, 0, 0, 0, y,
		(unsigned)p->width, (unsigned)rows);
	return true;
}

static bool load_picture(struct painter *p, FILE *file, char *pixels) {
	p->pictures[p->count] =
		XCreatePixmap(p->display, p->window, (unsigned)p->width, (unsigned)p->height, 24);
	for (int y = 0; y < p->height; y += STRIP) {
		if (!load_strip(p, file, pixels, y)) {
			return false;
		}
	}
	p->count++;
	return true;
}

static bool load(struct painter *p, const char *path) {
	FILE *file = fopen(path, "re");
	_cleanup_free_ char *pixels = malloc((size_t)p->width * 4 * STRIP);
	while (file && pixels && p->count < PICTURES_MAX && load_picture(p, file, pixels)) {
	}
	if (file) {
		(void)fclose(file);
	}
	return p->count > 0;
}

static void show(struct painter *p, int at) {
	(void)XCopyArea(p->display, p->pictures[at % p->count], p->window, p->gc, 0, 0,
		(unsigned)p->width, (unsigned)p->height, 0, 0);
	(void)XSync(p->display, False);
	(void)puts("");
	(void)fflush(stdout);
}

static bool open_window(struct painter *p) {
	p->display = XOpenDisplay(NULL);
	if (!p->display) {
		return false;
	}
	XSetWindowAttributes attributes = {.override_redirect = True};
	p->window = XCreateWindow(p->display, DefaultRootWindow(p->display), 0, 0,
		(unsigned)p->width, (unsigned)p->height, 0, 24, InputOutput, CopyFromParent,
		CWOverrideRedirect, &attributes);
	p->gc = XCreateGC(p->display, p->window, 0, NULL);
	(void)XSetGraphicsExposures(p->display, p->gc, False);
	(void)XMapRaised(p->display, p->window);
	return true;
}

int main(int argc, char *argv[]) {
	struct painter p = {0};
	if (argc != 4) {
		return 2;
	}
	p.width = (int)strtol(argv[1], NULL, 10);
	p.height = (int)strtol(argv[2], NULL, 10);
	if (p.width < 1 || p.height < 1 || !open_window(&p) || !load(&p, argv[3])) {
		(void)fputs("painter: no display or no picture\n", stderr);
		return 1;
	}
	int at = 0;
	do {
		show(&p, at++);
	} while (getchar() != EOF);
	return 0;
}
