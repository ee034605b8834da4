/* Input actions: what each does, and the steps that all of them have around it. */
#include <limits.h>

#include "desktop/args.h"
#include "desktop/perform_priv.h"

#define SETTLE_MAX_MS 2000
/* A program gets at least so long to show its first reaction, however short the quiet time. */
#define FIRST_MS 200
#define DRAG_MS 300
/* A long list of keys lets the loop turn after so many presses. */
#define PRESSES_PER_STEP 64

enum stage {
	STAGE_BEGIN,
	STAGE_ACT,
	STAGE_OVER, /* the next input action may begin */
	STAGE_END,
};

static void screen_of(const struct job *job, int ret[2]) {
	ret[0] = x11_width(job->scene->x);
	ret[1] = x11_height(job->scene->x);
}

static cua_Button button_of(const struct job *job) {
	return job->call.args.has_button ? job->call.args.button : cua_Button_BUTTON_LEFT;
}

/* ---------------------------------------------------------------- pointer */

/* Moves to x, y if they are given. */
static int go_to(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	if (args->has_x != args->has_y) {
		return cua_err_about(err, CUA_INVALID, args->has_x ? "y" : "x",
			"x and y are given together or not at all");
	}
	if (!args->has_x) {
		return 0;
	}
	int screen[2];
	int point[2];
	screen_of(job, screen);
	int r = args_point(args, screen, (int32_t[]){args->x, args->y}, point, err);
	return r < 0 ? r : input_move(job->scene->input, point[0], point[1], err);
}

int act_move(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	if (!args->has_relative || !args->relative) {
		return go_to(job, err);
	}
	int screen[2];
	int step[2];
	int at[2];
	screen_of(job, screen);
	args_step(args, screen, (int32_t[]){args->x, args->y}, step);
	int r = input_position(job->scene->input, &at[0], &at[1], err);
	return r < 0 ? r : input_move(job->scene->input, at[0] + step[0], at[1] + step[1], err);
}

int act_click(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	int r = go_to(job, err);
	return r < 0 ? r
		     : input_click(job->scene->input, button_of(job),
			       args->has_count ? args->count : 1, err);
}

int act_mouse_down(struct job *job, struct cua_err *err) {
	int r = go_to(job, err);
	return r < 0 ? r : input_button_down(job->scene->input, job->lease, button_of(job), err);
}

int act_mouse_up(struct job *job, struct cua_err *err) {
	int r = go_to(job, err);
	return r < 0 ? r : input_button_up(job->scene->input, job->lease, button_of(job), err);
}

int act_scroll(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	int r = go_to(job, err);
	return r < 0 ? r
		     : input_scroll(job->scene->input, args->has_dx ? args->dx : 0,
			       args->has_dy ? args->dy : 0, err);
}

/* All points on the screen, or nothing is done. */
static int drag_begin(struct job *job, struct cua_err *err) {
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

int act_drag(struct job *job, struct cua_err *err) {
	if (!job->drag) {
		int r = drag_begin(job, err);
		if (r < 0) {
			return r;
		}
	}
	return drag_step(job->drag, err);
}

/* ---------------------------------------------------------------- keyboard */

static void chord_up(struct job *job) {
	if (job->chord_down) {
		input_keys_up(job->scene->input, job->lease, &job->chord);
	}
	job->chord_down = false;
}

/* Every chord is read before the first is pressed. */
static int check_keys(const cua_Args *args, struct cua_err *err) {
	int r = 0;
	for (size_t i = 0; r == 0 && i < args->keys_count; i++) {
		struct keymap_chord chord;
		r = keymap_chord(args->keys[i], &chord, err);
	}
	return r;
}

/* Presses the chord whose turn it is. Results as of a step. */
static int chord_press(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	int r = keymap_chord(args->keys[job->at % args->keys_count], &job->chord, err);
	if (r == 0) {
		r = input_keys_down(job->scene->input, job->lease, &job->chord, err);
	}
	job->chord_down = r == 0;
	return r;
}

int act_key(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	int total = (int)args->keys_count * (args->has_repeat ? (int)args->repeat : 1);
	int hold = args->has_hold ? (int)args->hold : 0;
	int r = job->at == 0 && !job->chord_down ? check_keys(args, err) : 0;
	for (int i = 0; r == 0 && job->at < total; i++) {
		if (i == PRESSES_PER_STEP) {
			return 1;
		}
		if (!job->chord_down) {
			r = chord_press(job, err);
			if (r != 0 || hold > 0) {
				return r != 0 ? r : hold;
			}
		}
		chord_up(job);
		job->at++;
	}
	return r;
}

int act_key_down(struct job *job, struct cua_err *err) {
	uint32_t keysym = 0;
	int r = keymap_keysym(job->call.args.keys[0], &keysym, err);
	return r < 0 ? r : input_key_down(job->scene->input, job->lease, keysym, err);
}

int act_key_up(struct job *job, struct cua_err *err) {
	uint32_t keysym = 0;
	int r = keymap_keysym(job->call.args.keys[0], &keysym, err);
	if (r == 0) {
		input_key_up(job->scene->input, job->lease, keysym);
	}
	return r;
}

int act_type(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	if (!job->typing) {
		job->typing = typing_start(job->scene->input, job->call.blob[0],
			args->has_delay ? args->delay : 0, err);
		if (!job->typing) {
			return -(int)err->code;
		}
	}
	return typing_step(job->typing, err);
}

int act_release_all(struct job *job, struct cua_err *err) {
	(void)err;
	job->released = input_release_all(job->scene->input);
	return 0;
}

/* ---------------------------------------------------------------- what all have */

static int read_modifiers(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	if (args->modifiers_count > KEYMAP_CHORD_MAX) {
		return cua_err_about(
			err, CUA_INVALID, "modifiers", "more than %d modifiers", KEYMAP_CHORD_MAX);
	}
	job->modifiers.count = args->modifiers_count;
	int r = 0;
	for (size_t i = 0; r == 0 && i < args->modifiers_count; i++) {
		r = keymap_keysym(args->modifiers[i], &job->modifiers.keysym[i], err);
	}
	return r;
}

static void modifiers_up(struct job *job) {
	if (job->modifiers_down) {
		input_keys_up(job->scene->input, job->lease, &job->modifiers);
	}
	job->modifiers_down = false;
}

/* Keys and buttons that stay held go on acting: they repeat, they select. */
static void acting(struct job *job, bool on) {
	if (on || job->acting) {
		scene_input(job->scene, on || input_holds(job->scene->input));
	}
	job->acting = on;
}

static int stage_begin(struct job *job, struct cua_err *err) {
	int r = read_modifiers(job, err);
	if (r == 0) {
		r = job_begin(job, err);
	}
	if (r == 0) {
		acting(job, true);
	}
	if (r == 0 && job->modifiers.count > 0) {
		r = input_keys_down(job->scene->input, job->lease, &job->modifiers, err);
		job->modifiers_down = r == 0;
	}
	return r;
}

void act_input_undo(struct job *job) {
	job->typing = typing_free(job->typing);
	job->drag = drag_free(job->drag);
	if (job->scene->input) {
		chord_up(job);
		modifiers_up(job);
		acting(job, false);
	}
}

static int stage_over(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	act_input_undo(job);
	int r = x11_sync(job->scene->x, err);
	scene_input(job->scene, input_holds(job->scene->input));
	if (r == 0 && args->has_settle && args->settle > 0) {
		return job_settle(job, args->settle,
			args->has_settle_max ? args->settle_max : SETTLE_MAX_MS, FIRST_MS);
	}
	return r;
}

static int stage_end(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	bool waited = args->has_settle && args->settle > 0;
	job->result->has_settled = true;
	job->result->settled = waited && job->settled;
	job->result->has_released = job->call.id == CUA_ACTION_RELEASE_ALL;
	job->result->released = job->released;
	act_window_tell(job);
	return job_effect(job, waited, err);
}

bool act_input_over(const struct job *job) {
	return job->stage > STAGE_OVER;
}

int act_input(struct job *job, act_fn *act, struct cua_err *err) {
	int r = 0;
	while (r == 0 && job->stage <= STAGE_END) {
		switch ((enum stage)job->stage) {
		case STAGE_BEGIN:
			r = stage_begin(job, err);
			break;
		case STAGE_ACT:
			r = act(job, err);
			break;
		case STAGE_OVER:
			r = stage_over(job, err);
			break;
		case STAGE_END:
			r = stage_end(job, err);
			break;
		}
		/* A step that is to be called again stays in its stage, but for the wait for quiet. */
		job->stage += r == 0 || r == JOB_SETTLES;
	}
	return r;
}
