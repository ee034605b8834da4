/* Recipes of templates: what a template is built from, as YAML, with inheritance.
 *
 * A recipe that says `extends: base` is built from all of base's parts and its own: packages add up,
 * a file or service of the same path or name replaces the parent's, `run` scripts follow each other.
 * Unknown keys are errors that name the key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cua/err.h"

#define RECIPE_DEPTH 8
#define RECIPE_SERVICES_MAX 64

struct recipe_file {
	char *path; /* absolute, in the template */
	char *mode; /* octal text, or NULL for 0644 */
	char *content;
};

struct recipe_service {
	char *name;
	char *user; /* NULL for agent */
	bool once;
	bool screen;
	char *wait; /* path to wait for, or NULL */
	char **command;
	unsigned command_count;
};

struct recipe {
	char *name;
	char *description;
	char *extends; /* NULL at the root of a chain */
	char **packages;
	unsigned packages_count;
	struct recipe_file *files;
	unsigned files_count;
	struct recipe_service *services;
	unsigned services_count;
	char *run; /* shell script, run as root inside at the end; or NULL */
};

/* A recipe with its ancestors, the oldest first. */
struct recipe_chain {
	struct recipe *item[RECIPE_DEPTH];
	char path[RECIPE_DEPTH][512];
	size_t count;
};

/* Loads DIR/NAME.yaml from the first of the directories (a NULL-terminated list) that has it, and
 * what it extends. -CUA_NOT_FOUND, or -CUA_INVALID with the place in the file. On success the caller
 * calls recipe_chain_done(). */
int recipe_chain_load(const char *const *dirs, const char *name, struct recipe_chain *ret,
	struct cua_err *err) CUA_CHECK;
/* Frees the recipes; fine on a zeroed struct. */
void recipe_chain_done(struct recipe_chain *chain);

/* The recipe that was asked for. */
const struct recipe *recipe_chain_top(const struct recipe_chain *chain);

/* The services in order after replacement; pointers into the chain. Number of them, or negative. */
int recipe_chain_services(const struct recipe_chain *chain,
	const struct recipe_service *ret[RECIPE_SERVICES_MAX], struct cua_err *err) CUA_CHECK;

/* Checks what the YAML schema cannot say: names, paths, modes. */
int recipe_check(const struct recipe *recipe, struct cua_err *err) CUA_CHECK;
