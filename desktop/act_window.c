/* Actions on windows and on the screen's size. A window manager, and a program behind it, may do what
 * it is asked for, do something else, or hang: each action asks, then looks again whenever the server
 * tells of a change, and in the end says what came of it. */
#include <stdlib.h>
#include <string.h>

#include "desktop/args.h"
#include "desktop/composite.h"
#include "desktop/perform_priv.h"
#include "desktop/screen.h"
#include "desktop/winact.h"
#include "desktop/windows.h"

/* A window that took another place than it was asked to has rested for so long. */
#define ADJUST_MS 50
#define BORDER_MAX 8
/* The screen has rested for so long after its size changed. */
#define REPAINT_QUIET_MS 100
#define REPAINT_MAX_MS 1500

/* ---------------------------------------------------------------- looking */

int act_windows(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	cua_Window *list = job->result->windows;
	size_t max = CUA_COUNT(job->result->windows);
	size_t count = 0;
	int r = args->has_all && args->all ? windows_list_all(job->scene->x, list, max, &count, err)
					   : windows_list(job->scene->x, list, max, &count, err);
	job->result->windows_count = (pb_size_t)count;
	return r;
}

int act_window_screenshot(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	struct picture picture = {0};
	int r = scene_look(job->scene, err);
	if (r < 0) {
		return r;
	}
	_cleanup_(frame_unref_p) struct frame *frame = composite_take(job->scene->x, args->id, err);
	if (!frame) {
		return -(int)err->code;
	}
	watchdog_sleep(job_dog(job));
	r = picture_encode(frame_view(frame), args, job_cache(job), &picture, err);
	watchdog_wake(job_dog(job));
	if (r == 0) {
		picture.frame = capture_frame(job->scene->capture);
		job_picture(job, &picture);
	}
	return r;
}

/* ---------------------------------------------------------------- acting */

/* What is wanted of a window and whether it has come true. */
struct deed {
	int (*ask)(struct job *job, const cua_Window *now, struct cua_err *err);
	bool (*met)(const struct job *job, const cua_Window *now);
	const char *done; /* for the error when it has not */
};

static int ask_focus(struct job *job, const cua_Window *now, struct cua_err *err) {
	return winact_focus(job->scene->x, now->id, err);
}

static bool is_focused(const struct job *job, const cua_Window *now) {
	(void)job;
	return now->active && !now->minimized;
}

static int ask_minimize(struct job *job, const cua_Window *now, struct cua_err *err) {
	return winact_minimize(job->scene->x, now->id, err);
}

static bool is_minimized(const struct job *job, const cua_Window *now) {
	(void)job;
	return now->minimized;
}

static int ask_maximize(struct job *job, const cua_Window *now, struct cua_err *err) {
	return winact_maximize(job->scene->x, now, err);
}

static bool is_maximized(const struct job *job, const cua_Window *now) {
	(void)job;
	return now->maximized && !now->minimized;
}

static int ask_restore(struct job *job, const cua_Window *now, struct cua_err *err) {
	return winact_restore(job->scene->x, now, err);
}

static bool is_restored(const struct job *job, const cua_Window *now) {
	return !now->minimized && (job->window.before.minimized || !now->maximized);
}

static int ask_close(struct job *job, const cua_Window *now, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	return args->has_force && args->force ? winact_kill(job->scene->x, now->id, err)
					      : winact_close(job->scene->x, now->id, err);
}

static bool is_open_still(const struct job *job, const cua_Window *now) {
	(void)job;
	(void)now;
	return false;
}

static bool is_moved(const struct job *job, const cua_Window *now) {
	return now->geometry.x == job->window.wanted[0] && now->geometry.y == job->window.wanted[1];
}

/* Window managers do not agree on what a place is where a window has had a border: what the first try
 * was off is taken off the second one. */
static int ask_move(struct job *job, const cua_Window *now, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	const int screen[2] = {x11_width(job->scene->x), x11_height(job->scene->x)};
	int *wanted = job->window.wanted;
	args_step(args, screen, (const int32_t[]){args->x, args->y}, wanted);
	int place[2] = {wanted[0], wanted[1]};
	if (job->at > 1) {
		place[0] += wanted[0] - now->geometry.x;
		place[1] += wanted[1] - now->geometry.y;
	}
	/* Where it is right already, a try could only spoil it. */
	return is_moved(job, now) ? 0 : winact_place(job->scene->x, now->id, place, NULL, err);
}

static bool is_resized(const struct job *job, const cua_Window *now) {
	return now->geometry.width == job->window.wanted[0] &&
	       now->geometry.height == job->window.wanted[1];
}

static int ask_resize(struct job *job, const cua_Window *now, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	const int screen[2] = {x11_width(job->scene->x), x11_height(job->scene->x)};
	const int32_t told[2] = {(int32_t)args->width, (int32_t)args->height};
	int size[2];
	args_step(args, screen, told, size);
	for (int i = 0; i < 2; i++) {
		size[i] = size[i] < 1 ? 1 : size[i];
	}
	if (windows_managed(job->scene->x)) {
		winact_size(job->scene->x, now->id, size, job->window.wanted);
	} else {
		memcpy(job->window.wanted, size, sizeof(size));
	}
	return is_resized(job, now) ? 0 : winact_place(job->scene->x, now->id, NULL, size, err);
}

static const struct deed focus = {ask_focus, is_focused, "focused"};
static const struct deed move = {ask_move, is_moved, NULL};
static const struct deed resize = {ask_resize, is_resized, NULL};
static const struct deed minimize = {ask_minimize, is_minimized, "minimized"};
static const struct deed maximize = {ask_maximize, is_maximized, "maximized"};
static const struct deed restore = {ask_restore, is_restored, "restored"};
static const struct deed closing = {ask_close, is_open_still, NULL};

static bool same_place(const cua_Rect *a, const cua_Rect *b) {
	return a->x == b->x && a->y == b->y && a->width == b->width && a->height == b->height;
}

static int begin(
	struct job *job, const struct deed *deed, const cua_Window *now, struct cua_err *err) {
	job->window.before = *now;
	job->window.deadline_us = loop_now_us() + CUA_WINDOW_MS * UINT64_C(1000);
	job->window.watched = winact_watch(job->scene->x, now->id);
	job->at = 1;
	return deed->ask(job, now, err);
}

/* A dialog keeps the focus from the window that it belongs to. */
static int tell_unfocused(const struct job *job, uint32_t id, struct cua_err *err) {
	cua_Window active;
	if (windows_active(job->scene->x, &active, NULL) < 0 || active.id == id) {
		return cua_err_set(err, CUA_TIMEOUT,
			"window %u is not focused after %d ms: the window manager refuses, or "
			"hangs",
			id, CUA_WINDOW_MS);
	}
	return cua_err_about(err, CUA_CONFLICT, "id",
		"window %u does not get the focus, window %u keeps it (%s \"%.100s\")", id,
		active.id, active.type, active.title);
}

/* The time is over. A close may be refused, and a place be corrected by the window manager: both are
 * told by the result. */
static int fall_short(const struct job *job, const struct deed *deed, const cua_Window *now,
	struct cua_err *err) {
	const cua_Rect *g = &now->geometry;
	if (deed == &focus) {
		return tell_unfocused(job, now->id, err);
	}
	if (deed->done) {
		return cua_err_set(err, CUA_TIMEOUT,
			"window %u is not %s after %d ms: the window manager refuses, or hangs",
			now->id, deed->done, CUA_WINDOW_MS);
	}
	if (deed == &closing || !same_place(g, &job->window.before.geometry)) {
		return 0;
	}
	return cua_err_about(err, CUA_CONFLICT, "id",
		"window %u stays at %d,%d with %dx%d: the window manager does not let it%s",
		now->id, g->x, g->y, g->width, g->height,
		now->maximized ? ", for it is maximized" : "");
}

static int watch_for(struct job *job, uint64_t left_ms, uint64_t ms) {
	return job_watch(job, ms < left_ms ? ms : left_ms);
}

/* The state is told first. The place follows, perhaps by an animation that no event tells of, or the
 * order of the windows, where others may stay above this one. */
static bool has_followers(const struct job *job, const struct deed *deed, const cua_Window *now) {
	return now->maximized != job->window.before.maximized ||
	       (job->window.before.minimized && !now->minimized) ||
	       (deed == &focus && windows_front(job->scene->x) != now->id);
}

/* Worth another try; what is further away is where the window manager wants it. */
static bool is_off_by_border(
	const struct job *job, const struct deed *deed, const cua_Window *now) {
	return deed == &move && abs(now->geometry.x - job->window.wanted[0]) <= BORDER_MAX &&
	       abs(now->geometry.y - job->window.wanted[1]) <= BORDER_MAX;
}

static int look_again(
	struct job *job, const struct deed *deed, const cua_Window *now, struct cua_err *err) {
	uint64_t time_us = loop_now_us();
	uint64_t end_us = job->window.deadline_us;
	uint64_t left_ms = end_us > time_us ? (end_us - time_us + 999) / 1000 : 0;
	cua_Rect last = job->window.last;
	job->window.last = now->geometry;
	bool moved = !deed->done && deed != &closing &&
		     !same_place(&now->geometry, &job->window.before.geometry);
	if (deed->met(job, now)) {
		bool rests = job->timed && same_place(&now->geometry, &last);
		return rests || left_ms == 0 || !has_followers(job, deed, now)
			       ? 0
			       : watch_for(job, left_ms, ADJUST_MS);
	}
	if (left_ms > 0 && moved && job->timed && job->at == 1 &&
		is_off_by_border(job, deed, now)) {
		job->at = 2;
		int r = deed->ask(job, now, err);
		return r < 0 ? r : watch_for(job, left_ms, ADJUST_MS);
	}
	if (left_ms == 0 || (moved && job->timed)) {
		return fall_short(job, deed, now, err);
	}
	return watch_for(job, left_ms, moved ? ADJUST_MS : left_ms);
}

/* Steps of all of them. */
static int act(struct job *job, const struct deed *deed, struct cua_err *err) {
	cua_Window now;
	int r = windows_find(job->scene->x, job->call.args.id, &now, err);
	if (r == 0 && job->at == 0) {
		r = begin(job, deed, &now, err);
		if (r == 0) {
			r = windows_find(job->scene->x, job->call.args.id, &now, err);
		}
	}
	if (r == -CUA_NOT_FOUND && job->at > 0 && deed == &closing && x11_alive(job->scene->x)) {
		return 0;
	}
	return r < 0 ? r : look_again(job, deed, &now, err);
}

int act_window_focus(struct job *job, struct cua_err *err) {
	return act(job, &focus, err);
}

int act_window_move(struct job *job, struct cua_err *err) {
	return act(job, &move, err);
}

int act_window_resize(struct job *job, struct cua_err *err) {
	return act(job, &resize, err);
}

int act_window_minimize(struct job *job, struct cua_err *err) {
	return act(job, &minimize, err);
}

int act_window_maximize(struct job *job, struct cua_err *err) {
	return act(job, &maximize, err);
}

int act_window_restore(struct job *job, struct cua_err *err) {
	return act(job, &restore, err);
}

int act_window_close(struct job *job, struct cua_err *err) {
	return act(job, &closing, err);
}

void act_window_undo(struct job *job) {
	/* The last one that waits for a window takes all of them back. */
	if (job->scene->x && job->scene->window_waits == 0) {
		winact_unwatch(job->scene->x, job->call.args.id, job->window.watched);
	}
	job->window.watched = 0;
}

void act_window_tell(struct job *job) {
	cua_ActionResult *result = job->result;
	if (job->call.action->result != CUA_RESULT_WINDOW) {
		return;
	}
	bool there = windows_find(job->scene->x, job->call.args.id, &result->windows[0], NULL) == 0;
	result->windows_count = there;
	result->has_closed = job->call.id == CUA_ACTION_WINDOW_CLOSE;
	result->closed = !there;
}

/* ---------------------------------------------------------------- the screen's size */

static int resize_screen(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	const uint32_t *max = job_screen_max(job);
	if (args->width > max[0] || args->height > max[1]) {
		return cua_err_about(err, CUA_INVALID, args->width > max[0] ? "width" : "height",
			"the screen cannot be %ux%u: the session's screen_max is %ux%u",
			args->width, args->height, max[0], max[1]);
	}
	job->window.deadline_us = loop_now_us() + CUA_SCREEN_FOLLOW_MS * UINT64_C(1000);
	int r = job_begin(job, err);
	return r < 0 ? r
		     : screen_set(job->scene->x, (int)args->width, (int)args->height,
			       (int)job_dpi(job), err);
}

/* The window manager and the background come after the server. */
static int await_followers(struct job *job) {
	uint64_t time_us = loop_now_us();
	if (time_us >= job->window.deadline_us ||
		windows_fill(job->scene->x, x11_width(job->scene->x), x11_height(job->scene->x))) {
		return 0;
	}
	return job_watch(job, (job->window.deadline_us - time_us + 999) / 1000);
}

int act_set_screen(struct job *job, struct cua_err *err) {
	int r = 0;
	if (job->at == 0) {
		r = resize_screen(job, err);
		job->at = 1;
	}
	if (r == 0 && job->at == 1) {
		r = await_followers(job);
		if (r == 0) {
			job->at = 2;
			return job_settle(job, REPAINT_QUIET_MS, REPAINT_MAX_MS, REPAINT_QUIET_MS);
		}
	}
	return r != 0 ? r : act_screen_size(job, err);
}
