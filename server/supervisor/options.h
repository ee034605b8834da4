/* The command line of cuad-supervisor. */
#pragma once

#include <stdbool.h>

#include "server/supervisor/plan.h"

struct options {
	struct plan_host host; /* directories only */
	char config[256];
	char user[CUA_USER_SIZE]; /* whom cuad runs as */
	bool halt;
	bool help;
	bool version;
};

/* Fills the defaults of the installation, then what the arguments say. -CUA_INVALID names the
 * argument that is wrong. */
int options_parse(int argc, char *const argv[], struct options *ret, struct cua_err *err) CUA_CHECK;

/* The text for --help, made from the table of options; the caller frees it. */
char *options_help(void);
