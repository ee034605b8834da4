/* Waiting for a text that an accessible program shows: looked for at first, and again after each
 * change of the screen. Programs tell their nodes later than they paint, so it is looked for some more
 * times then, and rested between two looks for as long as one took. */
#include "desktop/perform_priv.h"
#include "desktop/uifind.h"

/* Time for all programs to answer one look. */
#define LOOK_MS 2000
/* Looks after a change, each later than the one before. */
#define LATER_LOOKS 4
#define LATER_MS(look) (UINT64_C(60) << 2 * (look))

struct text_seek {
	struct job *job;
	struct ui_find *find; /* NULL between two looks */
	uint64_t frame; /* the one before the last look */
	bool ended; /* the look, which has not been judged yet */
	bool due; /* another look */
	unsigned looks; /* since the last change */
	uint64_t begun_us; /* the last look */
	uint64_t rest_us; /* no other one before: programs have more to do than to answer */
	struct loop_timer *later;
};

static void on_found(void *ctx) {
	struct text_seek *seek = ctx;
	seek->ended = true;
	job_wake(seek->job);
}

static void on_later(void *ctx) {
	struct text_seek *seek = ctx;
	seek->due = true;
	job_wake(seek->job);
}

static int look(struct text_seek *seek, uint64_t frame, struct cua_err *err) {
	struct job *job = seek->job;
	struct ui_query *query = ui_query_text(job->text, err);
	if (!query) {
		return -(int)err->code;
	}
	seek->looks = frame == seek->frame ? seek->looks + 1 : 0;
	seek->frame = frame;
	seek->ended = seek->due = false;
	seek->begun_us = loop_now_us();
	seek->find = ui_find_new(&(struct ui_find_config){.loop = job_loop(job),
					 .a11y = job_a11y(job),
					 .query = query,
					 .scope = UI_SCOPE_ALL,
					 .depth = CUA_UI_DEPTH_MAX,
					 .max = 1,
					 .ms = LOOK_MS,
					 .done = on_found,
					 .ctx = seek},
		err);
	return seek->find ? 0 : -CUA_EXHAUSTED;
}

/* 1 when the look that has ended found it. */
static int judge(struct text_seek *seek, struct cua_err *err) {
	const uint32_t *list = NULL;
	int r = ui_find_result(seek->find, err);
	uint32_t count = r == 0 ? ui_find_list(seek->find, &list) : 0;
	seek->find = ui_find_free(seek->find);
	seek->rest_us = 2 * loop_now_us() - seek->begun_us;
	if (r == 0 && count == 0 && seek->looks < LATER_LOOKS) {
		loop_timer_start(seek->later, LATER_MS(seek->looks));
	}
	return r < 0 ? r : count > 0;
}

static int begin(struct job *job, struct cua_err *err) {
	job->seek = calloc(1, sizeof(*job->seek));
	if (!job->seek) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory to look for a text");
	}
	job->seek->job = job;
	job->seek->due = true;
	job->seek->later = loop_timer_new(job_loop(job), on_later, job->seek, err);
	return job->seek->later ? 0 : -CUA_EXHAUSTED;
}

int act_text_there(struct job *job, struct cua_err *err) {
	int r = job->seek ? 0 : begin(job, err);
	if (r == 0) {
		r = scene_look(job->scene, err);
	}
	if (r < 0) {
		return r;
	}
	struct text_seek *seek = job->seek;
	if (seek->find && seek->ended) {
		r = judge(seek, err);
		if (r != 0) {
			return r;
		}
	}
	uint64_t frame = capture_frame(job->scene->capture);
	job->watch_frame = frame;
	if (seek->find || (!seek->due && frame == seek->frame)) {
		return 0;
	}
	uint64_t now_us = loop_now_us();
	if (!seek->due && now_us < seek->rest_us) {
		loop_timer_start(seek->later, (seek->rest_us - now_us) / 1000 + 1);
		return 0;
	}
	return look(seek, frame, err);
}

void act_text_done(struct job *job) {
	if (job->seek) {
		job->seek->find = ui_find_free(job->seek->find);
		job->seek->later = loop_timer_free(job->seek->later);
	}
	free(job->seek);
	job->seek = NULL;
}
