/* wait_for: until a window is there, a text can be read, or a part of the screen changes. Driven by what
 * the server tells; nothing is asked again and again. */
#include <string.h>

#include "desktop/perform_priv.h"
#include "desktop/windows.h"
#include "desktop/winact.h"

/* A program that changes its title all the time is looked at so often. */
#define PAUSE_US 30000

static struct rect region_of(const cua_Args *args) {
	const int32_t *r = args->region_changed;
	return (struct rect){r[0], r[1], r[2], r[3]};
}

static int check(const struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	if (!args->has_window && !args->has_text && args->region_changed_count == 0) {
		return cua_err_set(
			err, CUA_INVALID, "wait_for needs window, text or region_changed");
	}
	if (args->has_text && job->text[0] == '\0') {
		return cua_err_about(err, CUA_INVALID, "text", "text must not be empty");
	}
	if (args->has_window && args->window[0] == '\0') {
		return cua_err_about(err, CUA_INVALID, "window", "window must not be empty");
	}
	if (args->region_changed_count == 0) {
		return 0;
	}
	struct view screen = capture_view(job->scene->capture);
	struct rect r = region_of(args);
	/* Compared so that nothing can overflow. */
	if (r.x < 0 || r.y < 0 || r.width < 1 || r.height < 1 || r.x >= screen.width ||
		r.y >= screen.height || r.width > screen.width - r.x ||
		r.height > screen.height - r.y) {
		return cua_err_about(err, CUA_OUT_OF_SCREEN, "region_changed",
			"the region [%d,%d,%d,%d] is not inside the screen of %dx%d", r.x, r.y,
			r.width, r.height, screen.width, screen.height);
	}
	return 0;
}

/* ---------------------------------------------------------------- windows */

static void watch_windows(struct scene *scene, const cua_Window *list, size_t count, bool on) {
	for (size_t i = 0; i < count; i++) {
		if (on) {
			(void)winact_watch(scene->x, list[i].id);
		} else {
			winact_unwatch(scene->x, list[i].id, WINACT_ALL);
		}
	}
}

/* The window that is waited for, in the result's list. 1 when it is there. Windows that come later are
 * watched when they come: the list changes then. */
static int window_there(struct job *job, struct cua_err *err) {
	const char *wanted = job->call.args.window;
	cua_ActionResult *result = job->result;
	size_t count = 0;
	if (!job->window_waits) {
		job->window_waits = true;
		job->scene->window_waits++;
		x11_watch_children(job->scene->x, true);
	}
	int r = windows_list(
		job->scene->x, result->windows, CUA_COUNT(result->windows), &count, err);
	if (r < 0) {
		return r;
	}
	watch_windows(job->scene, result->windows, count, true);
	result->windows_count = 0;
	for (size_t i = 0; i < count; i++) {
		cua_Window *w = &result->windows[i];
		if (strcasestr(w->title, wanted) || strcasestr(w->app, wanted)) {
			result->windows[0] = *w;
			result->windows_count = 1;
			return 1;
		}
	}
	return 0;
}

/* The last one that waits for a window takes the watches back, or their events would go on. */
static void window_end(struct job *job) {
	struct scene *scene = job->scene;
	if (!job->window_waits) {
		return;
	}
	job->window_waits = false;
	scene->window_waits--;
	if (!scene->x || scene->window_waits > 0) {
		return;
	}
	struct cua_err ignored;
	size_t count = 0;
	cua_Window *list = calloc(CUA_WINDOWS_MAX, sizeof(*list));
	if (list && windows_list(scene->x, list, CUA_WINDOWS_MAX, &count, &ignored) == 0) {
		watch_windows(scene, list, count, false);
	}
	free(list);
	x11_watch_children(scene->x, false);
}

/* ---------------------------------------------------------------- the rest */

static void tell_region(struct job *job, struct rect part) {
	struct rect list[CUA_CHANGED_MAX];
	cua_ActionResult *result = job->result;
	size_t count = tiles_changed(capture_tiles(job->scene->capture), job->start_frame,
		TILES_ANY, list, CUA_CHANGED_MAX);
	for (size_t i = 0; i < count; i++) {
		struct rect r = rect_intersect(list[i], part);
		if (!rect_empty(r)) {
			result->changed[result->changed_count++] =
				(cua_Rect){r.x, r.y, r.width, r.height};
		}
	}
}

/* 1 when something in the region is another than it was. */
static int region_changed(struct job *job, struct cua_err *err) {
	int r = scene_look(job->scene, err);
	if (r < 0) {
		return r;
	}
	job->watch_frame = capture_frame(job->scene->capture);
	if (!job->region.touched) {
		return 0;
	}
	tell_region(job, job->region.part);
	return 1;
}

/* Tries what is waited for, one after the other. 1 and the result when one is met. */
static int met(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	static const struct {
		cua_Matched matched;
		int (*met)(struct job *job, struct cua_err *err);
	} conditions[] = {
		{cua_Matched_MATCHED_TEXT, act_text_there},
		{cua_Matched_MATCHED_WINDOW, window_there},
		{cua_Matched_MATCHED_REGION_CHANGED, region_changed},
	};
	const bool wanted[] = {args->has_text, args->has_window, args->region_changed_count > 0};
	int r = 0;
	for (size_t i = 0; r == 0 && i < CUA_COUNT(conditions); i++) {
		r = wanted[i] ? conditions[i].met(job, err) : 0;
		if (r > 0) {
			job->result->has_matched = true;
			job->result->matched = conditions[i].matched;
		}
	}
	return r;
}

static int begin(struct job *job, struct cua_err *err) {
	int r = job_begin(job, err);
	if (r == 0) {
		r = check(job, err);
	}
	bool frames = job->call.args.region_changed_count > 0 || job->call.args.has_text;
	job->watch_frame = frames ? job->start_frame : 0;
	job->scene->watchers += job->watch_frame != 0;
	if (r == 0 && job->call.args.region_changed_count > 0) {
		job->region.part = region_of(&job->call.args);
		scene_watch(job->scene, &job->region);
	}
	return r;
}

static uint32_t timeout_ms(const struct job *job) {
	return job->call.args.has_timeout ? job->call.args.timeout : CUA_WAIT_FOR_MS;
}

int act_wait_for(struct job *job, struct cua_err *err) {
	uint64_t now = loop_now_us();
	uint64_t end = job->start_us + timeout_ms(job) * UINT64_C(1000);
	int r = 0;
	if (job->at++ == 0) {
		r = begin(job, err);
	} else if (now < end && now < job->tried_us + PAUSE_US) {
		return (int)((job->tried_us + PAUSE_US - now + 999) / 1000);
	}
	r = r == 0 ? met(job, err) : r;
	job->tried_us = loop_now_us();
	if (r == 0 && now >= end) {
		return cua_err_set(err, CUA_TIMEOUT, "what was waited for did not come in %u ms",
			timeout_ms(job));
	}
	if (r == 0) {
		return job_watch(job, (end - now + 999) / 1000);
	}
	job->result->has_frame = r > 0;
	job->result->frame = r > 0 ? capture_frame(job->scene->capture) : 0;
	return r > 0 ? 0 : r;
}

void act_wait_undo(struct job *job) {
	act_text_done(job);
	window_end(job);
	scene_unwatch(job->scene, &job->region);
	job->scene->watchers -= job->watch_frame != 0;
	job->watch_frame = 0;
}
