/* Input actions: what those of the keyboard do, and the steps that all have around them. What those of
 * the mouse do is in act_pointer.c. */
#include <limits.h>

#include "desktop/perform_priv.h"

#define SETTLE_MAX_MS 2000
/* A program gets at least so long to show its first reaction, however short the quiet time. */
#define FIRST_MS 200
/* A long list of keys lets the loop turn after so many presses. */
#define PRESSES_PER_STEP 64

enum stage {
	STAGE_BEGIN,
	STAGE_ACT,
	STAGE_OVER, /* the next input action may begin */
	STAGE_END,
};

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
	int r = 0;
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
	if (job->acting && !on) {
		input_keys_give_up(job->scene->input);
	}
	if (on || job->acting) {
		scene_input(job->scene, on || input_holds(job->scene->input));
	}
	job->acting = on;
}

/* All that can be wrong is found before the first modifier goes down: programs react to some. */
static int check_all(struct job *job, struct cua_err *err) {
	if (job->checked) {
		return 0;
	}
	int r = read_modifiers(job, err);
	if (r == 0) {
		r = job->call.id == CUA_ACTION_KEY ? check_keys(&job->call.args, err)
						   : act_pointer_check(job, err);
	}
	job->checked = r == 0;
	return r;
}

static int stage_begin(struct job *job, struct cua_err *err) {
	int r = check_all(job, err);
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
	act_paste_undo(job);
}

static int stage_over(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	act_input_undo(job);
	act_window_undo(job); /* the next action may watch the same window already */
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
