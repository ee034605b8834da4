/* Input actions of the mouse. What each asks for is checked, and its places worked out, before any of
 * it is done. */
#include "desktop/args.h"
#include "desktop/perform_priv.h"

#define DRAG_MS 300

static void screen_of(const struct job *job, int ret[2]) {
	ret[0] = x11_width(job->scene->x);
	ret[1] = x11_height(job->scene->x);
}

static cua_Button button_of(const struct job *job) {
	return job->call.args.has_button ? job->call.args.button : cua_Button_BUTTON_LEFT;
}

/* ---------------------------------------------------------------- before */

/* A step from where the pointer is. */
static int step_target(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	int screen[2];
	int step[2];
	int at[2];
	screen_of(job, screen);
	args_step(args, screen, (int32_t[]){args->x, args->y}, step);
	int r = input_position(job->scene->input, &at[0], &at[1], err);
	job->target[0] = at[0] + step[0];
	job->target[1] = at[1] + step[1];
	return r < 0 ? r
		     : input_check_point(job->scene->input, job->target[0], job->target[1], err);
}

/* x, y if they are given. */
static int target(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	if (args->has_x != args->has_y) {
		return cua_err_about(err, CUA_INVALID, args->has_x ? "y" : "x",
			"x and y are given together or not at all");
	}
	job->has_target = args->has_x;
	if (!args->has_x) {
		return 0;
	}
	if (job->call.id == CUA_ACTION_MOVE && args->has_relative && args->relative) {
		return step_target(job, err);
	}
	int screen[2];
	screen_of(job, screen);
	return args_point(args, screen, (int32_t[]){args->x, args->y}, job->target, err);
}

static int check_drag(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	int32_t points[2 * CUA_PATH_POINTS];
	size_t count = args->path_points_count / 2;
	int screen[2];
	screen_of(job, screen);
	for (size_t i = 0; i < count; i++) {
		int point[2];
		int r = args_point(args, screen, args->path_points + 2 * i, point, err);
		if (r < 0) {
			return r;
		}
		points[2 * i] = point[0];
		points[2 * i + 1] = point[1];
	}
	job->drag = drag_start(job->scene->input, job->lease, button_of(job),
		&(struct drag_path){.points = points, .count = count},
		args->has_duration ? args->duration : DRAG_MS, err);
	return job->drag ? 0 : -(int)err->code;
}

int act_pointer_check(struct job *job, struct cua_err *err) {
	switch (job->call.id) {
	case CUA_ACTION_CLICK: {
		int r = input_check_free(job->scene->input, button_of(job), err);
		return r < 0 ? r : target(job, err);
	}
	case CUA_ACTION_MOVE:
	case CUA_ACTION_MOUSE_DOWN:
	case CUA_ACTION_MOUSE_UP:
	case CUA_ACTION_SCROLL:
		return target(job, err);
	case CUA_ACTION_DRAG:
		return check_drag(job, err);
	default:
		return 0;
	}
}

/* ---------------------------------------------------------------- the actions */

int act_move(struct job *job, struct cua_err *err) {
	return job->has_target ? input_move(job->scene->input, job->target[0], job->target[1], err)
			       : 0;
}

int act_click(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	int r = act_move(job, err);
	return r < 0 ? r
		     : input_click(job->scene->input, button_of(job),
			       args->has_count ? args->count : 1, err);
}

int act_mouse_down(struct job *job, struct cua_err *err) {
	int r = act_move(job, err);
	return r < 0 ? r : input_button_down(job->scene->input, job->lease, button_of(job), err);
}

int act_mouse_up(struct job *job, struct cua_err *err) {
	int r = act_move(job, err);
	return r < 0 ? r : input_button_up(job->scene->input, job->lease, button_of(job), err);
}

int act_scroll(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	int r = act_move(job, err);
	return r < 0 ? r
		     : input_scroll(job->scene->input, args->has_dx ? args->dx : 0,
			       args->has_dy ? args->dy : 0, err);
}

int act_drag(struct job *job, struct cua_err *err) {
	return drag_step(job->drag, err);
}
