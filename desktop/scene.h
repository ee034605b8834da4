/* What is on the screen now, and who waits for it to change or to rest: the parts that live as long
 * as one X connection, and the waits that outlive it. */
#pragma once

#include "desktop/capture.h"
#include "desktop/clipboard.h"
#include "desktop/input.h"
#include "desktop/settle.h"

/* A part of the screen that somebody watches; embedded in its owner. */
struct scene_part {
	struct scene_part *next_;
	struct rect part;
	bool touched; /* by a change since scene_watch(); see tiles_touched() */
};

struct scene {
	struct loop *loop;
	struct settle *settle;
	struct loop_timer *tick; /* runs while damage is being gathered */
	bool slow; /* it runs for no hurry */
	uint64_t attend_us; /* until then, changes are looked at now and then */
	uint64_t look_cost_us; /* of the last look */
	uint64_t next_frame; /* first number for the next connection */
	unsigned changes; /* of windows and of the screen's size, as events told them */
	unsigned watchers; /* so many wait for a new frame */
	unsigned window_waits; /* so many wait for a window, and watch all of them */
	struct scene_part *parts; /* that are watched */
	bool watched; /* somebody else than a settle_wait wants changes to be looked at */
	x11_event_fn *on_event; /* is told of every event, whoever dispatches it; NULL: nobody */
	void *on_event_ctx;
	/* NULL while there is no X server */
	struct x11 *x;
	struct capture *capture;
	struct input *input;
	struct clipboard *clipboard;
};

/* A scene without a server. NULL on failure. */
struct scene *scene_new(struct loop *loop, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct scene *scene_free(struct scene *scene);

/* Begins with a connection, which must outlive scene_detach(). On failure nothing is attached. */
int scene_attach(struct scene *scene, struct x11 *x, struct cua_err *err) CUA_CHECK;
/* The connection is about to go. */
void scene_detach(struct scene *scene);
/* Takes an event of the connection. */
void scene_event(struct scene *scene, union _XEvent *event);
/* Somebody acts on this screen: for some seconds, what moves by itself is learned, so that it is known
 * when it matters. It costs little, and nothing afterwards. */
void scene_attend(struct scene *scene);
/* Input begins or goes on (true), or has ended just now. */
void scene_input(struct scene *scene, bool going_on);
/* From now on every look, whoever looks, notes whether the part was touched. */
void scene_watch(struct scene *scene, struct scene_part *part);
/* Ends that; fine on one that is not watched. */
void scene_unwatch(struct scene *scene, struct scene_part *part);
/* To be called each time that the loop is about to wait: arranges a look if there is damage and
 * somebody cares. */
void scene_pump(struct scene *scene);
/* Handles all events of what has happened on the server so far. 0, or negative: there is none. */
int scene_catch_up(struct scene *scene, struct cua_err *err) CUA_CHECK;
/* Looks at the screen as the server has it now, all that was sent before included; waits are told of
 * a change. 1 changed, 0 not, negative: there is no server. */
int scene_look(struct scene *scene, struct cua_err *err) CUA_CHECK;
