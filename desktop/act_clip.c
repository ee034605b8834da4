/* Actions on the clipboard. Reading waits for another program, and pasting for two of them; what they
 * do wakes the job. */
#include "desktop/perform_priv.h"

/* To learn what the clipboard holds before a paste; then it cannot be put back. */
#define BEFORE_MS 1000
/* A program may ask several times for one paste. Then it does so soon: within this time, or twice the
 * time that it took for the first. */
#define AGAIN_MS 60
#define AGAIN_MAX_MS 500
/* The same where it is known that it will: of Chromium one process reads, and then another. */
#define MORE_MS 1500

enum paste_stage { PASTE_CHORD, PASTE_READ, PASTE_KNOWN, PASTE_SET, PASTE_PRESS, PASTE_WAIT };

static enum clip_selection selection_of(const struct job *job) {
	const cua_Args *args = &job->call.args;
	return args->has_selection && args->selection == 1 ? CLIP_PRIMARY : CLIP_CLIPBOARD;
}

static struct cua_span text_of(const struct job *job) {
	return job->call.blob[0];
}

static void wake(void *ctx) {
	job_wake(ctx);
}

static void begin_read(struct job *job, enum clip_selection which, struct clip_read *read) {
	*read = (struct clip_read){.done = wake, .ctx = job};
	clipboard_read(job->scene->clipboard, which, read);
}

int act_clipboard_get(struct job *job, struct cua_err *err) {
	struct clip_read *read = &job->read[0];
	if (job->at++ == 0) {
		int r = scene_catch_up(job->scene, err);
		if (r < 0) {
			return r;
		}
		begin_read(job, selection_of(job), read);
		if (!read->over) {
			return CUA_CLIP_TOTAL_MS;
		}
	}
	if (!read->over) {
		return cua_err_about(
			err, CUA_TIMEOUT, "selection", "the selection keeps changing its owner");
	}
	if (read->result < 0) {
		*err = read->err;
		return read->result;
	}
	const struct clip_text *text = read->text;
	job->result->has_empty = true;
	job->result->empty = !text;
	if (text) {
		job->picture = (struct cua_span){.data = text->data, .len = text->len};
	}
	return 0;
}

int act_clipboard_set(struct job *job, struct cua_err *err) {
	return clipboard_set(job->scene->clipboard, selection_of(job), text_of(job), err);
}

/* ---------------------------------------------------------------- pasting */

static int paste_chord(struct job *job, struct cua_err *err) {
	const cua_Args *args = &job->call.args;
	const char *chord = clipboard_chord(job->scene->clipboard, &job->primary);
	return keymap_chord(args->keys_count > 0 ? args->keys[0] : chord, &job->chord, err);
}

static int paste_read(struct job *job, struct cua_err *err) {
	(void)err;
	for (int i = 0; i < (job->primary ? CLIP_MAX_ : 1); i++) {
		begin_read(job, (enum clip_selection)i, &job->read[i]);
	}
	return 0;
}

/* Until both are known, or for so long. */
static int paste_known(struct job *job, struct cua_err *err) {
	(void)err;
	/* Not since it was asked for: it may have waited for other input. */
	uint64_t spent_ms = (loop_now_us() - job->begin_us) / 1000;
	bool known = job->read[0].over && (!job->primary || job->read[1].over);
	return known || spent_ms >= BEFORE_MS ? 0 : (int)(BEFORE_MS - spent_ms);
}

static void end_reads(struct job *job) {
	for (size_t i = 0; i < CLIP_MAX_; i++) {
		clip_read_done(&job->read[i]);
	}
}

static int paste_set(struct job *job, struct cua_err *err) {
	struct clip_text *const before[CLIP_MAX_] = {job->read[0].text, job->read[1].text};
	job->paste =
		clip_paste_begin(job->scene->clipboard, job->primary, text_of(job), before, err);
	end_reads(job);
	if (!job->paste) {
		return -(int)err->code;
	}
	clip_paste_watch(job->paste, wake, job);
	return 0;
}

static int paste_press(struct job *job, struct cua_err *err) {
	clip_paste_pressed(job->paste);
	int r = input_keys_down(job->scene->input, job->lease, &job->chord, err);
	if (r == 0) {
		input_keys_up(job->scene->input, job->lease, &job->chord);
	}
	return r;
}

/* Milliseconds that are left until the program has been quiet for long enough. One that asks for ever,
 * as some do to know whether there is something to paste, is not waited for. */
static unsigned paste_left(const struct clip_paste_state *state) {
	unsigned quiet_ms = CUA_PASTE_MS;
	unsigned most_ms = CUA_CLIP_TOTAL_MS;
	if (state->taken == CLIP_TAKEN) {
		quiet_ms = state->took_ms * 2 < AGAIN_MS ? AGAIN_MS : state->took_ms * 2;
		quiet_ms = quiet_ms > AGAIN_MAX_MS ? AGAIN_MAX_MS : quiet_ms;
		quiet_ms = state->more ? MORE_MS : quiet_ms;
		most_ms = MORE_MS + state->took_ms * 3; /* the second time takes no longer */
	}
	unsigned quiet_left = quiet_ms > state->quiet_ms ? quiet_ms - state->quiet_ms : 0;
	unsigned left = most_ms > state->since_ms ? most_ms - state->since_ms : 0;
	return quiet_left < left ? quiet_left : left;
}

static int paste_wait(struct job *job, struct cua_err *err) {
	struct clip_paste_state state = clip_paste_state(job->paste);
	unsigned left_ms = paste_left(&state);
	if (left_ms > 0) {
		return (int)left_ms;
	}
	if (state.taken >= CLIP_GIVEN) {
		return 0;
	}
	return cua_err_about(err, CUA_TIMEOUT, "text",
		state.taken == CLIP_TAKING
			? "the program that pastes does not read on"
			: "no program took the text: does a text field have the keyboard, and is "
			  "the combination right (keys)?");
}

int act_paste(struct job *job, struct cua_err *err) {
	static act_fn *const steps[] = {
		[PASTE_CHORD] = paste_chord,
		[PASTE_READ] = paste_read,
		[PASTE_KNOWN] = paste_known,
		[PASTE_SET] = paste_set,
		[PASTE_PRESS] = paste_press,
		[PASTE_WAIT] = paste_wait,
	};
	int r = 0;
	if (text_of(job).len == 0) {
		return 0;
	}
	while (r == 0 && job->at <= PASTE_WAIT) {
		r = steps[job->at](job, err);
		job->at += r == 0;
	}
	return r;
}

void act_paste_undo(struct job *job) {
	job->paste = clip_paste_end(job->paste);
}

void act_clip_done(struct job *job) {
	act_paste_undo(job);
	end_reads(job);
}
