/* A job as the files that perform actions see it. */
#pragma once

#include "desktop/drag.h"
#include "desktop/perform.h"
#include "desktop/picture.h"
#include "desktop/typing.h"

/* What a step returns when a settle_wait will call, rather than a timer. */
#define JOB_SETTLES INT_MAX

struct job {
	struct job *next; /* in the list of all, oldest first */
	struct perform *perform;
	struct scene *scene;
	uint32_t serial;
	uint32_t lease;
	struct cua_call call; /* its blob 0 is `text` */
	char *text;
	uint64_t start_us;
	uint64_t start_frame;
	uint64_t begin_us; /* when job_begin() looked */
	int stage; /* of the steps that all input actions have */
	int at; /* the action's own progress */
	unsigned released; /* by release_all */
	bool orphan; /* the lease has ended: hold nothing for it */
	bool queued; /* an input action that waits for its turn */
	bool acting; /* the scene was told that input goes on */
	bool settled; /* what the settle_wait said */
	struct settle_wait wait;
	struct loop_timer *timer;
	/* what an action holds between its steps */
	struct typing *typing;
	struct drag *drag;
	struct keymap_chord modifiers;
	bool modifiers_down;
	struct keymap_chord chord;
	bool chord_down;
	/* where the answer is made; set before each step */
	cua_ActionResult *result;
	struct cua_span picture;
};

/* One step of an action: 0 when it is done, milliseconds (at least 1) until the next step, or
 * JOB_SETTLES; negative when it failed. */
typedef int act_fn(struct job *job, struct cua_err *err);

/* Begins a wait for quiet. first_ms: if nothing has changed since job_begin(), at least so long.
 * Returns JOB_SETTLES. */
int job_settle(struct job *job, uint32_t quiet_ms, uint32_t max_ms, uint32_t first_ms);
/* Looks at the screen and remembers this frame as the one before the action. 0 or negative. */
int job_begin(struct job *job, struct cua_err *err) CUA_CHECK;
/* Looks again and tells what has changed since job_begin(). waited: long enough that no change means
 * that there is none. 0 or negative. */
int job_effect(struct job *job, bool waited, struct cua_err *err) CUA_CHECK;
/* The performer's picture cache and watchdog. */
struct picture_cache *job_cache(struct job *job);
struct watchdog *job_dog(struct job *job);
uint32_t job_dpi(const struct job *job);

/* Steps of the actions on what is seen (act_see.c). */
act_fn act_screenshot, act_screen_size, act_cursor_position, act_wait, act_wait_settled,
	act_windows;
/* Steps of the input actions themselves (act_input.c); what all of them have is in act_input(). */
act_fn act_move, act_click, act_mouse_down, act_mouse_up, act_drag, act_scroll;
act_fn act_key, act_key_down, act_key_up, act_type, act_release_all;

/* All steps of an input action: modifiers, the action itself, settling, effect. */
int act_input(struct job *job, act_fn *act, struct cua_err *err) CUA_CHECK;
/* True once an input action lets the next one begin. */
bool act_input_over(const struct job *job);
/* Lets go of what an unfinished action holds. */
void act_input_undo(struct job *job);
