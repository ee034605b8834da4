/* Command lines by table: options, operands, and what follows "--". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cua/err.h"

struct option_def {
	const char *name; /* long name without dashes */
	char letter; /* short form, or 0 */
	const char *arg; /* name of its value for help; NULL: a flag */
	const char *help;
};

struct arg_value {
	const char *name; /* long name of the option */
	const char *value; /* "" for a flag */
};

/* A parsed command line; strings belong to argv. */
struct args {
	struct arg_value *options;
	size_t option_count;
	const char **operands;
	size_t operand_count;
	char **rest; /* after "--"; NULL-terminated */
	size_t rest_count;
	bool has_rest;
};

/* Parses argv[0 … argc) by a table. Short flags may be joined (-it), values may follow with "=" or
 * as the next word. -CUA_BAD_REQUEST names the option. */
int args_parse(int argc, char **argv, const struct option_def *defs, size_t def_count,
	struct args *ret, struct cua_err *err) CUA_CHECK;
void args_done(struct args *args);

/* Last value of an option, or NULL. */
const char *args_get(const struct args *args, const char *name);
/* True if the option was given. */
bool args_has(const struct args *args, const char *name);
/* A whole number in a range; fallback when the option is absent. */
int args_number(const struct args *args, const char *name, long fallback, long max, long *ret,
	struct cua_err *err) CUA_CHECK;
