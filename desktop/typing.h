/* Typing text as a job: every character arrives exactly as it is, whatever the layout.
 *
 * Caps Lock, modifiers and other keys' states are set aside while the job runs and put back when it
 * ends, however it ends; keys whose holders let go meanwhile stay up. */
#pragma once

#include "cua/msg.h"
#include "desktop/input.h"

struct typing;

/* Prepares to type UTF-8 text, which is copied; newline is Return ("\r\n" is one), tab is Tab. A
 * job at a time: -CUA_CONFLICT else. -CUA_INVALID for text that is not UTF-8 or has a control
 * character that no key stands for, -CUA_TOO_LARGE beyond CUA_TEXT_MAX bytes; nothing is typed then.
 * The caller ends the job with typing_free(). NULL on failure. */
struct typing *typing_start(
	struct input *in, struct cua_span text, unsigned delay_ms, struct cua_err *err);
/* Types on. Milliseconds, at least 1, until it is to be called again; 0 when all is typed and the
 * server has processed it; negative when the server is gone or the keyboard cannot type it. */
int typing_step(struct typing *t, struct cua_err *err) CUA_CHECK;
/* Characters typed so far; a "\r\n" counts as one. */
size_t typing_count(const struct typing *t);
/* Ends the job, done or not, and puts everything back. NULL is fine. Returns NULL. */
struct typing *typing_free(struct typing *t);
