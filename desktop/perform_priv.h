/* A job as the files that perform actions see it. */
#pragma once

#include "desktop/clipboard.h"
#include "desktop/drag.h"
#include "desktop/perform.h"
#include "desktop/picture.h"
#include "desktop/typing.h"

/* What a step returns when a settle_wait will call, rather than a timer. */
#define JOB_SETTLES INT_MAX
/* What it returns when the next change of a window will call, or the timer. */
#define JOB_WATCHES (INT_MAX - 1)
/* And when job_resume() will be called. */
#define JOB_WAITS (INT_MAX - 2)

/* What an action on a window wants and has found. */
struct job_window {
	cua_Window before;
	cua_Rect last; /* its place when it was looked at last */
	int wanted[2]; /* place or size */
	uint64_t deadline_us;
	long watched; /* of winact_watch() */
};

struct job {
	struct job *next; /* in the list of all, oldest first */
	struct perform *perform;
	struct scene *scene;
	uint32_t serial;
	uint32_t lease;
	struct cua_call call; /* its blob 0 is `text` */
	char *text; /* with a NUL behind it */
	size_t text_len;
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
	bool watching; /* waits for a change of a window */
	bool timed; /* this step is the timer's */
	unsigned changes; /* of windows that it has seen */
	uint64_t watch_frame; /* waits for a frame after this one, too; 0: does not */
	struct scene_part region; /* that it waits for a change of */
	uint64_t tried_us; /* when it last looked for what it waits for */
	bool window_waits; /* counted by the scene */
	struct settle_wait wait;
	struct loop_timer *timer;
	/* what an action holds between its steps */
	struct typing *typing;
	struct drag *drag;
	int target[2]; /* of the pointer, if it has one */
	bool has_target;
	bool checked; /* an input action: nothing is wrong with it */
	struct act_ui *ui;
	struct text_seek *seek;
	struct keymap_chord modifiers;
	bool modifiers_down;
	struct keymap_chord chord;
	bool chord_down;
	struct job_window window;
	struct clip_read read[CLIP_MAX_]; /* clipboard_get uses the first */
	struct clip_paste *paste;
	bool primary; /* pasted from there, too */
	/* where the answer is made; set before each step */
	cua_ActionResult *result;
	struct cua_span picture;
	const int *picture_memfd; /* NULL, or where the picture lies as well */
};

/* One step of an action: 0 when it is done, milliseconds (at least 1) until the next step,
 * JOB_SETTLES, JOB_WATCHES or JOB_WAITS; negative when it failed. */
typedef int act_fn(struct job *job, struct cua_err *err);

/* Has the next step come when a window or the screen changes in another way than by its pixels, but
 * not later than this. Returns JOB_WATCHES. */
int job_watch(struct job *job, uint64_t max_ms);
/* Puts a picture into the result. */
void job_picture(struct job *job, const struct picture *picture);
/* Begins a wait for quiet. first_ms: if nothing has changed since job_begin(), at least so long.
 * Returns JOB_SETTLES. */
int job_settle(struct job *job, uint32_t quiet_ms, uint32_t max_ms, uint32_t first_ms);
/* Has the next step begin when the loop runs, rather than at its time. Not within a step. */
void job_wake(struct job *job);
/* The next step of an action that returned JOB_WAITS; from the loop. The job may be gone then. */
void job_resume(struct job *job);
/* Looks at the screen and remembers this frame as the one before the action. 0 or negative. */
int job_begin(struct job *job, struct cua_err *err) CUA_CHECK;
/* Looks again and tells what has changed since job_begin(). waited: long enough that no change means
 * that there is none. 0 or negative. */
int job_effect(struct job *job, bool waited, struct cua_err *err) CUA_CHECK;
/* The performer's picture cache and watchdog. */
struct picture_cache *job_cache(struct job *job);
struct watchdog *job_dog(struct job *job);
uint32_t job_dpi(const struct job *job);
/* Width and height that the screen can have at most. */
const uint32_t *job_screen_max(const struct job *job);
struct loop *job_loop(const struct job *job);
struct a11y *job_a11y(const struct job *job);

/* Steps of the actions on what is seen (act_see.c). */
act_fn act_screenshot, act_screen_size, act_cursor_position, act_wait, act_wait_settled;
/* Steps of the actions on windows and on the size of the screen (act_window.c). */
act_fn act_windows, act_window_screenshot, act_window_focus, act_window_move, act_window_resize,
	act_window_minimize, act_window_maximize, act_window_restore, act_window_close,
	act_set_screen;
/* Steps of the input actions themselves (act_pointer.c, act_input.c); what all of them have is in
 * act_input(). */
act_fn act_move, act_click, act_mouse_down, act_mouse_up, act_drag, act_scroll;
/* What can be wrong with an action of the mouse, and where it goes; nothing is done yet. Fine for
 * others. 0 or negative. */
int act_pointer_check(struct job *job, struct cua_err *err) CUA_CHECK;
act_fn act_key, act_key_down, act_key_up, act_type, act_release_all;

/* Steps of the actions on the clipboard (act_clip.c); act_paste is an input action's own. */
act_fn act_clipboard_get, act_clipboard_set, act_paste;
/* Ends a paste: the clipboard is as before. */
void act_paste_undo(struct job *job);
/* Ends all that a job has with the clipboard. */
void act_clip_done(struct job *job);
/* Steps of the actions on accessible nodes (act_ui.c); the last three are input actions. */
act_fn act_ui_tree, act_ui_find, act_ui_invoke, act_ui_set_value, act_ui_focus;
/* What such an action leaves for the answer, valid until act_ui_done(): the nodes. */
struct cua_span act_ui_nodes(const struct job *job);
/* Ends what is under way for it. */
void act_ui_done(struct job *job);

/* All steps of an input action: modifiers, the action itself, settling, effect. */
int act_input(struct job *job, act_fn *act, struct cua_err *err) CUA_CHECK;
/* True once an input action lets the next one begin. */
bool act_input_over(const struct job *job);
/* Lets go of what an unfinished action holds. */
void act_input_undo(struct job *job);

/* Steps of wait_for, and letting go of what it holds (act_wait.c). */
act_fn act_wait_for;
/* 1 when a text can be read, 0 when not or not known yet: then the job is woken up (act_text.c). */
int act_text_there(struct job *job, struct cua_err *err) CUA_CHECK;
/* Ends the looking. */
void act_text_done(struct job *job);
void act_wait_undo(struct job *job);

/* Puts the window of an action on one, as it is now, into the result. */
void act_window_tell(struct job *job);
/* Lets go of what an action on a window holds. */
void act_window_undo(struct job *job);
