/* One logger to stderr, and the only global state of the project.
 *
 * A line is "<N>program: text", N being the syslog priority in the form that journald reads; the
 * prefix is left out on a terminal. Library code returns errors and never logs: the top of a call
 * chain logs once, with context such as `session=…`. */
#pragma once

#include "cua/err.h"

enum cua_log_level {
	CUA_LOG_ERROR = 3,
	CUA_LOG_WARN = 4,
	CUA_LOG_INFO = 6,
	CUA_LOG_DEBUG = 7,
};

/* Names the program (kept, not copied) and the most talkative level that is still printed.
 * CUAD_LOG=debug|info|warn|error in the environment overrides the level. */
void cua_log_open(const char *program, enum cua_log_level level);

/* Prints one line; control bytes of the text are printed as '?', so that nobody forges lines. */
void cua_log(enum cua_log_level level, const char *fmt, ...) CUA_PRINTF(2, 3);
