/* PID 1 as a whole: ties loop, services, link, commands and files together. */
#pragma once

#include "cua/err.h"

struct init_options {
	unsigned width; /* of the session's screen at first */
	unsigned height;
	unsigned max_width; /* what the X server is made for */
	unsigned max_height;
	unsigned dpi;
	const char *link; /* path of E5's socket */
	const char *services; /* path of the services file */
};

/* Reads the command line. Negative with a sentence about what is wrong. */
int init_parse_options(
	int argc, char **argv, struct init_options *ret, struct cua_err *err) CUA_CHECK;

/* Runs the container until it is told to stop (SIGTERM, SIGPWR, SIGINT): then every process gets
 * TERM, those that are left after CUA_INIT_STOP_MS get KILL, and the call returns 0. */
int init_run(const struct init_options *options, struct cua_err *err) CUA_CHECK;
