/* See the header. Damage is gathered for one tick before anybody looks, so that a program that
 * repaints all the time costs one comparison per tick and not one per event. */
#include "desktop/scene.h"

#include <time.h>

#include "cua/limits.h"

#define TICK_MS 16
/* How long, how often and with which part of its time a scene is attended without need. */
#define ATTEND_US 5000000
#define ATTEND_TICK_MS 60
#define ATTEND_TICK_MAX_MS 500
#define ATTEND_SHARE 100
/* Events that one look drains before it goes on with what it has. */
#define DRAINS 8

/* Numbers go on from the clock's microseconds, so that a worker that was restarted never gives a
 * frame the number of another one; they stay exact as a double. */
static uint64_t first_frame(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void on_event(void *ctx, union _XEvent *event) {
	scene_event(ctx, event);
}

static void look(void *ctx) {
	struct cua_err ignored; /* a lost server is noticed by its link */
	(void)!scene_look(ctx, &ignored);
}

CUA_DEFINE_CLEANUP(struct scene *, scene_free)

struct scene *scene_new(struct loop *loop, struct cua_err *err) {
	_cleanup_(scene_free_p) struct scene *scene = calloc(1, sizeof(*scene));
	if (!scene) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the scene");
		return NULL;
	}
	scene->loop = loop;
	scene->next_frame = first_frame();
	scene->settle = settle_new(loop, look, scene, err);
	scene->tick = loop_timer_new(loop, look, scene, err);
	return scene->settle && scene->tick ? take_ptr(scene) : NULL;
}

struct scene *scene_free(struct scene *scene) {
	if (scene) {
		scene_detach(scene);
		settle_free(scene->settle);
		loop_timer_free(scene->tick);
	}
	free(scene);
	return NULL;
}

int scene_attach(struct scene *scene, struct x11 *x, struct cua_err *err) {
	scene->x = x;
	scene->capture = capture_new(x, scene->next_frame, err);
	scene->input = scene->capture ? input_new(x, err) : NULL;
	scene->clipboard = scene->input ? clipboard_new(scene->loop, x, err) : NULL;
	if (!scene->clipboard) {
		scene_detach(scene);
		return -CUA_INTERNAL;
	}
	return 0;
}

void scene_detach(struct scene *scene) {
	if (scene->capture) {
		scene->next_frame = capture_frame(scene->capture) + 1;
	}
	scene->clipboard = clipboard_free(scene->clipboard);
	scene->input = input_free(scene->input);
	scene->capture = capture_free(scene->capture);
	scene->x = NULL;
}

void scene_event(struct scene *scene, union _XEvent *event) {
	if (scene->on_event) {
		scene->on_event(scene->on_event_ctx, event);
	}
	if (scene->clipboard && clipboard_event(scene->clipboard, event)) {
		return;
	}
	scene->changes += scene->x && x11_is_change(scene->x, event);
	if (scene->capture && !capture_event(scene->capture, event)) {
		input_event(scene->input, event);
	}
}

void scene_attend(struct scene *scene) {
	scene->attend_us = loop_now_us() + ATTEND_US;
}

void scene_input(struct scene *scene, bool going_on) {
	if (scene->capture) {
		capture_input(scene->capture, going_on);
	}
}

void scene_watch(struct scene *scene, struct scene_part *part) {
	part->touched = false;
	part->next_ = scene->parts;
	scene->parts = part;
}

void scene_unwatch(struct scene *scene, struct scene_part *part) {
	struct scene_part **at = &scene->parts;
	while (*at && *at != part) {
		at = &(*at)->next_;
	}
	if (*at) {
		*at = part->next_;
	}
}

/* At each look, for a tile knows where it changed last, and not where before. */
static void note_parts(const struct scene *scene, uint64_t since) {
	for (struct scene_part *p = scene->parts; p; p = p->next_) {
		p->touched =
			p->touched || tiles_touched(capture_tiles(scene->capture), since, p->part);
	}
}

static uint64_t slow_tick_ms(const struct scene *scene) {
	uint64_t ms = scene->look_cost_us * ATTEND_SHARE / 1000;
	ms = ms > ATTEND_TICK_MAX_MS ? ATTEND_TICK_MAX_MS : ms;
	return ms < ATTEND_TICK_MS ? ATTEND_TICK_MS : ms;
}

static void start_tick(struct scene *scene, bool slow) {
	if (!loop_timer_running(scene->tick) || (scene->slow && !slow)) {
		scene->slow = slow;
		loop_timer_start(scene->tick, slow ? slow_tick_ms(scene) : TICK_MS);
	}
}

void scene_pump(struct scene *scene) {
	if (!scene->capture || !capture_dirty(scene->capture)) {
		return;
	}
	if (scene->watched || scene->watchers > 0 || settle_busy(scene->settle)) {
		start_tick(scene, false);
	} else if (loop_now_us() < scene->attend_us) {
		start_tick(scene, true);
	} else {
		capture_rest(scene->capture);
	}
}

int scene_catch_up(struct scene *scene, struct cua_err *err) {
	if (!scene->capture) {
		return cua_err_set(err, CUA_NOT_FOUND, "the X server is gone");
	}
	int r = x11_sync(scene->x, err);
	for (int i = 0; r == 0 && i < DRAINS && x11_dispatch(scene->x, on_event, scene); i++) {
	}
	return r;
}

int scene_look(struct scene *scene, struct cua_err *err) {
	uint64_t start_us = loop_now_us();
	int r = scene_catch_up(scene, err);
	if (r == 0) {
		uint64_t before = capture_frame(scene->capture);
		r = capture_look(scene->capture, err);
		if (r > 0) {
			note_parts(scene, before);
		}
	}
	if (r >= 0) {
		settle_changed(scene->settle, tiles_restless_us(capture_tiles(scene->capture)));
	}
	scene->look_cost_us = loop_now_us() - start_us;
	return r;
}
