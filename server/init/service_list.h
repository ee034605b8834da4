/* The services file of a template, parsed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cua/err.h"
#include "cua/limits.h"

/* One line. The strings lie in the list's text. */
struct service_def {
	const char *name; /* as cua_name_ok() */
	const char *user;
	bool once; /* runs to its end before the next starts */
	bool screen; /* needs the display */
	const char *wait; /* go on when this path exists, or NULL */
	char *argv[CUA_SERVICE_ARGS + 1];
};

struct service_list {
	struct service_def def[CUA_SERVICES_MAX];
	size_t count;
	/* private */
	char *text_;
};

/* Parses text of the form "NAME TAB USER TAB FLAGS TAB ARG TAB ARG…", one service a line; empty
 * lines and those that start with '#' are skipped. FLAGS is "-" or a comma list of once, screen and
 * wait=PATH. Lines that are wrong are left out: their number is returned and *err tells about the
 * first. Takes over the text, which is heap memory. Give the list to service_list_done(). */
int service_list_parse(char *text, struct service_list *ret, struct cua_err *err) CUA_CHECK;
/* Frees what the list holds. */
void service_list_done(struct service_list *list);
