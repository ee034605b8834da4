/* RandR on Xvfb: one output, one CRTC. A CRTC must always fit into the screen and Xvfb lets neither
 * exceed its first size, so growing sets the screen first and shrinking the mode. */
#include "desktop/screen.h"

#include <X11/extensions/Xrandr.h>

#include "desktop/x11_priv.h"

#define MODE_PREFIX "cua-"
#define MM_PER_INCH_10 254

struct target {
	struct x11 *x;
	XRRScreenResources *resources;
	RROutput output;
	RRCrtc crtc;
	int width;
	int height;
	int dpi;
};

static void target_done(struct target *t) {
	if (t->resources) {
		XRRFreeScreenResources(t->resources);
	}
}

static int read_resources(struct target *t, struct cua_err *err) {
	t->resources = XRRGetScreenResourcesCurrent(t->x->display, t->x->root);
	if (!t->resources || t->resources->noutput < 1 || t->resources->ncrtc < 1) {
		(void)cua_err_set(err, CUA_INTERNAL, "the X server has no output");
		return -CUA_INTERNAL;
	}
	int min_w = 0;
	int min_h = 0;
	int max_w = 0;
	int max_h = 0;
	if (!XRRGetScreenSizeRange(t->x->display, t->x->root, &min_w, &min_h, &max_w, &max_h)) {
		return cua_err_set(err, CUA_INTERNAL, "the X server does not tell its sizes");
	}
	if (t->width > max_w || t->height > max_h || t->width < min_w || t->height < min_h) {
		return cua_err_set(err, CUA_INVALID, "the screen cannot be %dx%d, only up to %dx%d",
			t->width, t->height, max_w, max_h);
	}
	t->output = t->resources->outputs[0];
	t->crtc = t->resources->crtcs[0];
	return 0;
}

static RRMode find_mode(const struct target *t) {
	for (int i = 0; i < t->resources->nmode; i++) {
		const XRRModeInfo *mode = &t->resources->modes[i];
		if ((int)mode->width == t->width && (int)mode->height == t->height) {
			return mode->id;
		}
	}
	return None;
}

static RRMode create_mode(const struct target *t) {
	char name[32];
	int len = snprintf(name, sizeof(name), MODE_PREFIX "%dx%d", t->width, t->height);
	XRRModeInfo mode = {.width = (unsigned)t->width,
		.height = (unsigned)t->height,
		.hTotal = (unsigned)t->width,
		.vTotal = (unsigned)t->height,
		.dotClock = (unsigned long)t->width * (unsigned long)t->height * 60,
		.name = name,
		.nameLength = (unsigned)len};
	return XRRCreateMode(t->x->display, t->x->root, &mode);
}

static void set_screen_size(const struct target *t, int width, int height) {
	XRRSetScreenSize(t->x->display, t->x->root, width, height,
		width * MM_PER_INCH_10 / (10 * t->dpi), height * MM_PER_INCH_10 / (10 * t->dpi));
}

/* Removes the modes of earlier sizes. */
static void forget_modes(const struct target *t, RRMode kept) {
	for (int i = 0; i < t->resources->nmode; i++) {
		const XRRModeInfo *mode = &t->resources->modes[i];
		if (mode->id != kept && mode->name &&
			strncmp(mode->name, MODE_PREFIX, strlen(MODE_PREFIX)) == 0) {
			XRRDeleteOutputMode(t->x->display, t->output, mode->id);
			XRRDestroyMode(t->x->display, mode->id);
		}
	}
}

static int apply(const struct target *t, struct cua_err *err) {
	RRMode mode = find_mode(t);
	if (mode == None) {
		mode = create_mode(t);
	}
	XRRAddOutputMode(t->x->display, t->output, mode);
	int wide = t->width > t->x->width ? t->width : t->x->width;
	int high = t->height > t->x->height ? t->height : t->x->height;
	if (wide != t->x->width || high != t->x->height) {
		set_screen_size(t, wide, high);
	}
	RROutput output = t->output;
	unsigned mark = x11_trap(t->x);
	Status status = XRRSetCrtcConfig(t->x->display, t->resources, t->crtc, CurrentTime, 0, 0,
		mode, RR_Rotate_0, &output, 1);
	set_screen_size(t, t->width, t->height);
	int r = x11_trap_end(t->x, mark);
	if (r < 0) {
		return cua_err_set(err, CUA_NOT_FOUND, "the X server is gone");
	}
	if (r > 0 || status != RRSetConfigSuccess) {
		return cua_err_set(err, CUA_INTERNAL,
			"the X server refuses %dx%d (error %d, status %d)", t->width, t->height, r,
			status);
	}
	forget_modes(t, mode);
	return 0;
}

int screen_set(struct x11 *x, int width, int height, int dpi, struct cua_err *err) {
	if (x11_sync(x, err) < 0) {
		return -CUA_NOT_FOUND;
	}
	if (width == x->width && height == x->height) {
		return 0;
	}
	_cleanup_(target_done) struct target t = {
		.x = x, .width = width, .height = height, .dpi = dpi > 0 ? dpi : 96};
	int r = read_resources(&t, err);
	if (r == 0) {
		r = apply(&t, err);
	}
	if (r < 0) {
		return x->lost ? cua_err_set(err, CUA_NOT_FOUND, "the X server is gone") : r;
	}
	x->width = width;
	x->height = height;
	return 0;
}
