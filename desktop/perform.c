/* Jobs: from a request to its answer. What an action does is in the files act_*.c. */
#include "desktop/perform.h"

#include <limits.h>
#include <string.h>

#include "cua/limits.h"
#include "desktop/args.h"
#include "desktop/perform_priv.h"

struct perform {
	struct perform_config config;
	struct job *jobs; /* oldest first */
	size_t count;
	size_t text_bytes; /* of all jobs */
	struct job *active; /* the input action that has mouse and keyboard */
	struct picture_cache *cache;
	struct loop_timer *tidy; /* runs while there is something in the cache */
	cua_ActionResult result; /* the answer being made: it is large */
};

static act_fn *const acts[CUA_ACTION_MAX_] = {
	[CUA_ACTION_SCREENSHOT] = act_screenshot,
	[CUA_ACTION_SCREEN_SIZE] = act_screen_size,
	[CUA_ACTION_CURSOR_POSITION] = act_cursor_position,
	[CUA_ACTION_MOVE] = act_move,
	[CUA_ACTION_CLICK] = act_click,
	[CUA_ACTION_MOUSE_DOWN] = act_mouse_down,
	[CUA_ACTION_MOUSE_UP] = act_mouse_up,
	[CUA_ACTION_DRAG] = act_drag,
	[CUA_ACTION_SCROLL] = act_scroll,
	[CUA_ACTION_KEY] = act_key,
	[CUA_ACTION_KEY_DOWN] = act_key_down,
	[CUA_ACTION_KEY_UP] = act_key_up,
	[CUA_ACTION_TYPE] = act_type,
	[CUA_ACTION_PASTE] = act_paste,
	[CUA_ACTION_RELEASE_ALL] = act_release_all,
	[CUA_ACTION_WAIT] = act_wait,
	[CUA_ACTION_WAIT_SETTLED] = act_wait_settled,
	[CUA_ACTION_WAIT_FOR] = act_wait_for,
	[CUA_ACTION_WINDOWS] = act_windows,
	[CUA_ACTION_WINDOW_FOCUS] = act_window_focus,
	[CUA_ACTION_WINDOW_MOVE] = act_window_move,
	[CUA_ACTION_WINDOW_RESIZE] = act_window_resize,
	[CUA_ACTION_WINDOW_MINIMIZE] = act_window_minimize,
	[CUA_ACTION_WINDOW_MAXIMIZE] = act_window_maximize,
	[CUA_ACTION_WINDOW_RESTORE] = act_window_restore,
	[CUA_ACTION_WINDOW_CLOSE] = act_window_close,
	[CUA_ACTION_WINDOW_SCREENSHOT] = act_window_screenshot,
	[CUA_ACTION_SET_SCREEN] = act_set_screen,
	[CUA_ACTION_CLIPBOARD_GET] = act_clipboard_get,
	[CUA_ACTION_CLIPBOARD_SET] = act_clipboard_set,
	[CUA_ACTION_UI_TREE] = act_ui_tree,
	[CUA_ACTION_UI_FIND] = act_ui_find,
	[CUA_ACTION_UI_INVOKE] = act_ui_invoke,
	[CUA_ACTION_UI_SET_VALUE] = act_ui_set_value,
	[CUA_ACTION_UI_FOCUS] = act_ui_focus,
};

/* ---------------------------------------------------------------- for the actions */

static void job_run(struct job *job);
static void start_next(struct perform *p);

static void on_settled(struct settle_wait *wait, bool settled) {
	struct job *job = (struct job *)((char *)wait - offsetof(struct job, wait));
	struct perform *p = job->perform;
	job->settled = settled;
	job_run(job);
	start_next(p);
}

int job_watch(struct job *job, uint64_t max_ms) {
	job->watching = true;
	job->changes = job->scene->changes;
	loop_timer_start(job->timer, max_ms);
	return JOB_WATCHES;
}

void job_picture(struct job *job, const struct picture *picture) {
	cua_ActionResult *result = job->result;
	result->has_frame = true;
	result->frame = picture->frame;
	result->has_unchanged = picture->unchanged;
	result->unchanged = picture->unchanged;
	result->has_format = true;
	result->format = picture->format;
	result->has_width = true;
	result->width = (uint32_t)picture->width;
	result->has_height = true;
	result->height = (uint32_t)picture->height;
	job->picture = picture->bytes;
	job->picture_memfd = picture->memfd;
}

int job_settle(struct job *job, uint32_t quiet_ms, uint32_t max_ms, uint32_t first_ms) {
	const struct settle_want want = {.quiet_ms = quiet_ms,
		.max_ms = max_ms,
		.first_ms = first_ms,
		.since_us = job->begin_us};
	settle_begin(job->scene->settle, &job->wait, &want, on_settled);
	return JOB_SETTLES;
}

void job_resume(struct job *job) {
	struct perform *p = job->perform;
	job_run(job);
	start_next(p);
}

int job_begin(struct job *job, struct cua_err *err) {
	scene_attend(job->scene);
	int r = scene_look(job->scene, err);
	if (r < 0) {
		return r;
	}
	job->start_frame = capture_frame(job->scene->capture);
	job->begin_us = loop_now_us();
	return 0;
}

static size_t changed_rects(
	const struct job *job, enum tiles_which which, cua_Rect ret[CUA_CHANGED_MAX]) {
	struct rect list[CUA_CHANGED_MAX];
	size_t count = tiles_changed(
		capture_tiles(job->scene->capture), job->start_frame, which, list, CUA_CHANGED_MAX);
	for (size_t i = 0; i < count; i++) {
		ret[i] = (cua_Rect){list[i].x, list[i].y, list[i].width, list[i].height};
	}
	return count;
}

int job_effect(struct job *job, bool waited, struct cua_err *err) {
	scene_attend(job->scene);
	int r = scene_look(job->scene, err);
	if (r < 0) {
		return r;
	}
	cua_ActionResult *result = job->result;
	result->changed_count = (pb_size_t)changed_rects(job, TILES_REAL, result->changed);
	result->animated_count = (pb_size_t)changed_rects(job, TILES_ANIMATED, result->animated);
	result->has_effect = true;
	result->effect = cua_Effect_EFFECT_UNKNOWN;
	if (result->changed_count > 0) {
		result->effect = cua_Effect_EFFECT_CHANGED;
	} else if (waited) {
		result->effect = cua_Effect_EFFECT_UNCHANGED;
	}
	result->has_frame = true;
	result->frame = capture_frame(job->scene->capture);
	return 0;
}

void job_wake(struct job *job) {
	loop_timer_start(job->timer, 0);
}

struct picture_cache *job_cache(struct job *job) {
	struct perform *p = job->perform;
	if (!loop_timer_running(p->tidy)) {
		loop_timer_start(p->tidy, CUA_PICTURES_KEEP_MS);
	}
	return p->cache;
}

struct watchdog *job_dog(struct job *job) {
	return job->perform->config.dog;
}

uint32_t job_dpi(const struct job *job) {
	return job->perform->config.dpi;
}

const uint32_t *job_screen_max(const struct job *job) {
	return job->perform->config.screen_max;
}

struct loop *job_loop(const struct job *job) {
	return job->perform->config.loop;
}

struct a11y *job_a11y(const struct job *job) {
	return job->perform->config.a11y;
}

/* ---------------------------------------------------------------- answers */

static void answer(
	struct perform *p, cua_ActionResult *result, const struct perform_blob *picture) {
	p->config.answer(p->config.ctx, result, picture);
}

static void answer_error(struct perform *p, uint32_t serial, const struct cua_err *err) {
	p->result = (cua_ActionResult){
		.serial = serial, .has_error = true, .error = cua_error_to_wire(err)};
	answer(p, &p->result, &(struct perform_blob){0});
}

/* The remedy is the same, wherever in an action the server was lost. */
static void lost(struct cua_err *ret) {
	(void)cua_err_set(ret, CUA_CONFLICT,
		"the desktop's X server ended meanwhile; ask again when the desktop is back");
}

/* ---------------------------------------------------------------- jobs */

static void let_go(struct scene *scene, uint32_t lease) {
	if (scene->input && input_holds(scene->input)) {
		input_lease_end(scene->input, lease);
		scene_input(scene, input_holds(scene->input));
	}
}

static void job_free(struct job *job) {
	struct perform *p = job->perform;
	struct job **at = &p->jobs;
	while (*at && *at != job) {
		at = &(*at)->next;
	}
	if (*at) {
		*at = job->next;
		p->count--;
	}
	if (p->active == job) {
		p->active = NULL;
	}
	settle_cancel(&job->wait);
	loop_timer_free(job->timer);
	act_ui_done(job);
	act_input_undo(job);
	act_window_undo(job);
	act_wait_undo(job);
	act_clip_done(job);
	p->text_bytes -= job->text_len;
	bool drags = p->active && p->active->lease == job->lease;
	if (job->orphan && !drags) {
		let_go(job->scene, job->lease);
	}
	free(job->text);
	free(job);
}

static int job_step(struct job *job, struct cua_err *err) {
	act_fn *act = acts[job->call.id];
	job->perform->result = (cua_ActionResult){.serial = job->serial};
	job->result = &job->perform->result;
	job->picture = (struct cua_span){0};
	job->picture_memfd = NULL;
	if (!job->scene->x) {
		return cua_err_set(err, CUA_CONFLICT, "the desktop's X server is gone");
	}
	return job->call.action->input ? act_input(job, act, err) : act(job, err);
}

/* Steps; frees the job when it is done. */
static void job_run(struct job *job) {
	struct perform *p = job->perform;
	struct cua_err err = {0};
	job->watching = false;
	int r = job_step(job, &err);
	job->timed = false;
	if (r > 0) {
		if (r < JOB_WAITS) {
			loop_timer_start(job->timer, (uint64_t)r);
		}
		if (p->active == job && act_input_over(job)) {
			p->active = NULL;
		}
		return;
	}
	if (r < 0 && job->scene->x && !x11_alive(job->scene->x)) {
		lost(&err);
	}
	if (r < 0) {
		answer_error(p, job->serial, &err);
	} else {
		p->result.has_elapsed_us = true;
		p->result.elapsed_us = (uint32_t)(loop_now_us() - job->start_us);
		struct perform_blob blob = {job->picture, job->picture_memfd};
		if (job->ui) {
			blob = (struct perform_blob){act_ui_nodes(job), NULL};
		}
		answer(p, &p->result, &blob);
		picture_cache_prepare(p->cache);
	}
	job_free(job);
}

static void on_timer(void *ctx) {
	struct job *job = ctx;
	job->timed = true;
	job_resume(job);
}

/* Gives mouse and keyboard to the input actions that wait, one after the other. */
static void start_next(struct perform *p) {
	struct job *job = p->jobs;
	while (!p->active && job) {
		if (!job->queued) {
			job = job->next;
			continue;
		}
		job->queued = false;
		p->active = job;
		job_run(job);
		job = p->jobs; /* the list has changed */
	}
}

static void job_add(struct perform *p, struct job *job) {
	struct job **at = &p->jobs;
	while (*at) {
		at = &(*at)->next;
	}
	*at = job;
	p->count++;
}

/* ---------------------------------------------------------------- requests */

static const struct cua_action *row_of(uint32_t id) {
	const struct cua_action *action = cua_action_get(id);
	return action && action->by == CUA_BY_DESKTOP && acts[id] ? action : NULL;
}

/* The text outlives its message. */
static int copy_text(struct job *job, struct cua_span text, struct cua_err *err) {
	struct perform *p = job->perform;
	bool fits = p->text_bytes + text.len <= CUA_JOBS_TEXT_MAX;
	job->text = fits ? malloc(text.len + 1) : NULL;
	if (!job->text) {
		return cua_err_about(
			err, CUA_EXHAUSTED, "memory", "no memory for the texts under way");
	}
	job->text_len = text.len;
	p->text_bytes += text.len;
	if (text.len > 0) {
		memcpy(job->text, text.data, text.len);
	}
	job->text[text.len] = '\0';
	job->call.blob[0] = (struct cua_span){.data = job->text, .len = text.len};
	job->call.blob_count = 1;
	return 0;
}

static int check(struct perform *p, const struct cua_call *call, struct cua_err *err) {
	if (!call->action) {
		return cua_err_set(err, CUA_BAD_REQUEST, "no action %u for the desktop", call->id);
	}
	if (p->count >= CUA_JOBS_MAX) {
		return cua_err_about(
			err, CUA_EXHAUSTED, "actions", "%d actions are under way", CUA_JOBS_MAX);
	}
	if (!p->config.scene->x) {
		return cua_err_set(err, CUA_CONFLICT, "the desktop has no X server now");
	}
	return args_check(call, err);
}

static struct job *job_new(struct perform *p, const struct cua_msg *msg, struct cua_err *err) {
	const cua_ActionRequest *request = &msg->body.action_request;
	struct job *job = calloc(1, sizeof(*job));
	if (!job) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for an action");
		return NULL;
	}
	job->perform = p;
	job->scene = p->config.scene;
	job->serial = request->serial;
	job->lease = request->lease;
	job->start_us = loop_now_us();
	job->call.id = request->action;
	job->call.action = row_of(request->action);
	job->call.args = request->args;
	job->call.blob_count = msg->blob_count;
	memcpy(job->call.blob, msg->blob, sizeof(job->call.blob));
	int r = check(p, &job->call, err);
	if (r == 0) {
		r = copy_text(job,
			cua_call_blob(&job->call, request->args.has_text, request->args.text), err);
	}
	job->timer = r == 0 ? loop_timer_new(p->config.loop, on_timer, job, err) : NULL;
	if (!job->timer) {
		job_free(job);
		return NULL;
	}
	return job;
}

void perform_request(struct perform *p, const struct cua_msg *msg) {
	struct cua_err err = {0};
	struct job *job = job_new(p, msg, &err);
	if (!job) {
		answer_error(p, msg->body.action_request.serial, &err);
		return;
	}
	job_add(p, job);
	if (job->call.action->input) {
		job->queued = true;
		start_next(p);
	} else {
		job_run(job);
	}
}

/* Something that it waits for may have come. */
static bool behind(const struct job *job) {
	const struct scene *scene = job->scene;
	bool frame = job->watch_frame != 0 && scene->capture &&
		     capture_frame(scene->capture) != job->watch_frame;
	return job->watching && (frame || job->changes != scene->changes);
}

static struct job *find_behind(struct perform *p) {
	struct job *job = p->jobs;
	while (job && !behind(job)) {
		job = job->next;
	}
	return job;
}

void perform_pump(struct perform *p) {
	/* Each steps once: a program that changes its window all the time must not keep the loop. */
	for (int i = 0; i < CUA_JOBS_MAX; i++) {
		struct job *job = find_behind(p);
		if (!job) {
			return;
		}
		loop_timer_stop(job->timer);
		job_run(job);
		start_next(p);
	}
}

/* Ends what is being done for somebody who is gone; a drag goes to its end at once, for letting go
 * half-way would drop what is dragged somewhere. */
static void give_up(struct perform *p, struct job *job) {
	if (job->drag && job->stage > 0 && !job->queued) {
		drag_hurry(job->drag);
		loop_timer_start(job->timer, 1);
		return;
	}
	struct cua_err err = {0};
	uint32_t serial = job->serial;
	(void)cua_err_set(&err, CUA_CONFLICT, "the connection that asked for it has ended");
	job_free(job);
	answer_error(p, serial, &err);
}

void perform_lease_end(struct perform *p, uint32_t lease) {
	bool drags = false;
	struct job *next = NULL;
	for (struct job *job = p->jobs; job; job = next) {
		next = job->next;
		if (job->lease == lease) {
			job->orphan = true;
			if (job->queued || p->active == job) {
				give_up(p, job);
				drags = drags || p->active == job;
			}
		}
	}
	/* What is held with a drag is let go at its end. */
	if (!drags) {
		let_go(p->config.scene, lease);
	}
	start_next(p);
}

void perform_cancel(struct perform *p) {
	while (p->jobs) {
		job_free(p->jobs);
	}
	if (p->config.scene->input) {
		(void)input_release_all(p->config.scene->input);
	}
}

void perform_fail(struct perform *p) {
	struct cua_err why;
	lost(&why);
	while (p->jobs) {
		uint32_t serial = p->jobs->serial;
		job_free(p->jobs);
		answer_error(p, serial, &why);
	}
}

static void on_tidy(void *ctx) {
	struct perform *p = ctx;
	if (picture_cache_tidy(p->cache, CUA_PICTURES_KEEP_MS)) {
		loop_timer_start(p->tidy, CUA_PICTURES_KEEP_MS);
	}
}

struct perform *perform_new(const struct perform_config *config, struct cua_err *err) {
	struct perform *p = calloc(1, sizeof(*p));
	if (!p) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to perform actions");
		return NULL;
	}
	p->config = *config;
	p->cache = picture_cache_new(config->pool, err);
	p->tidy = p->cache ? loop_timer_new(config->loop, on_tidy, p, err) : NULL;
	return p->tidy ? p : perform_free(p);
}

struct perform *perform_free(struct perform *p) {
	if (p) {
		perform_cancel(p);
		loop_timer_free(p->tidy);
		picture_cache_free(p->cache);
	}
	free(p);
	return NULL;
}
