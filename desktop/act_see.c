/* Actions that look: screenshot, sizes, waiting. None of them touches mouse or keyboard. */
#include <limits.h>

#include "desktop/perform_priv.h"

#define SETTLE_MAX_MS 2000
#define QUIET_MS 200
#define WAIT_SETTLED_MAX_MS 5000

static int take_picture(struct job *job, struct cua_err *err) {
	struct picture picture;
	int r = picture_look(job->scene->capture, &job->call.args, job_cache(job), err);
	if (r < 0) {
		return r;
	}
	watchdog_sleep(job_dog(job));
	r = picture_take(job->scene->capture, &job->call.args, job_cache(job), &picture, err);
	watchdog_wake(job_dog(job));
	if (r < 0) {
		return r;
	}
	job_picture(job, &picture);
	return 0;
}

int act_screenshot(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	scene_attend(job->scene);
	if (job->at++ == 0 && args->has_settle && args->settle > 0) {
		return job_settle(job, args->settle,
			args->has_settle_max ? args->settle_max : SETTLE_MAX_MS, 0);
	}
	int r = scene_look(job->scene, err);
	if (r < 0) {
		return r;
	}
	job->result->has_settled = args->has_settle && args->settle > 0;
	job->result->settled = job->settled;
	return take_picture(job, err);
}

int act_screen_size(struct job *job, struct cua_err *err) {
	int r = x11_sync(job->scene->x, err);
	if (r < 0) {
		return r;
	}
	cua_ActionResult *result = job->result;
	result->has_width = true;
	result->width = (uint32_t)x11_width(job->scene->x);
	result->has_height = true;
	result->height = (uint32_t)x11_height(job->scene->x);
	result->has_dpi = true;
	result->dpi = job_dpi(job);
	return 0;
}

int act_cursor_position(struct job *job, struct cua_err *err) {
	struct capture_cursor cursor = {0};
	int r = capture_cursor(job->scene->capture, false, &cursor, err);
	if (r < 0) {
		return r;
	}
	cua_ActionResult *result = job->result;
	result->has_x = true;
	result->x = cursor.x;
	result->has_y = true;
	result->y = cursor.y;
	result->has_shape = true;
	(void)snprintf(result->shape, sizeof(result->shape), "%s", cursor.shape);
	return 0;
}

int act_wait(struct job *job, struct cua_err *err) {
	if (job->at++ == 0) {
		int r = job_begin(job, err);
		if (r < 0 || job->call.args.ms > 0) {
			return r < 0 ? r : (int)job->call.args.ms;
		}
	}
	return job_effect(job, true, err);
}

int act_wait_settled(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	if (job->at++ == 0) {
		int r = job_begin(job, err);
		if (r < 0) {
			return r;
		}
		return job_settle(job, args->has_quiet ? args->quiet : QUIET_MS,
			args->has_settle_max ? args->settle_max : WAIT_SETTLED_MAX_MS, 0);
	}
	job->result->has_settled = true;
	job->result->settled = job->settled;
	return job_effect(job, true, err);
}
