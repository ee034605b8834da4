/* What every command of cuactl gets, and the table of commands. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "server/ctl/args.h"
#include "server/ctl/client.h"

/* Exit statuses of the contract that are not made from an error code. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNREACHABLE = 5 };

struct ctl {
	struct client_options where;
	bool json;
	const struct command *command; /* the one that runs, for usage errors */
};

struct command {
	const char *name;
	const char *sub; /* second word, or NULL */
	const char *operands; /* for help, for example "ID…" */
	const char *help; /* one sentence */
	const char *detail; /* more for the manual; may be NULL */
	const struct option_def *options;
	size_t option_count;
	size_t min_operands;
	size_t max_operands;
	bool rest; /* takes "-- CMD…" */
	int (*run)(struct ctl *ctl, const struct args *args);
};

/* The table, in the order of the help. */
const struct command *ctl_commands(size_t *ret_count);
/* The options that every command takes. */
const struct option_def *ctl_global_options(size_t *ret_count);
/* Parses the whole command line, runs the command; the exit status. */
int ctl_main(int argc, char **argv);

/* The row for the words at the start of a line; *ret_words is how many name it. NULL: none. */
const struct command *ctl_find(int argc, char *const *argv, int *ret_words);

/* ---- help and the manual, from the tables (help.c) ---- */
void help_overview(FILE *out);
void help_command(FILE *out, const struct command *command);
/* Every command of this first word, or with `sub` (not NULL) the one; false if there is none. */
bool help_words(FILE *out, const char *word, const char *sub);
/* One action of `do`; false if there is none. */
bool help_action(FILE *out, const char *name);
/* The manual page in roff. */
void help_manual(FILE *out);

/* ---- completion (complete.c) ---- */
/* A script for bash, zsh or fish; false for another shell. */
bool completion_script(FILE *out, const char *shell);

/* ---- one call at a time (call.c) ---- */
struct answer {
	int status;
	char *body; /* NUL-terminated */
	size_t len;
	json_t *json; /* parsed body, or NULL */
	struct cua_err err;
};
void answer_done(struct answer *answer);
/* Does one request; 0, or the exit status after having printed the error. body may be NULL and is
 * taken. */
int ctl_call(struct ctl *ctl, const char *method, const char *path, json_t *body,
	struct answer *ret) CUA_CHECK;
/* Prints "cuactl: …" with the remedy and returns the exit status for the error. */
int ctl_fail(const struct ctl *ctl, const struct cua_err *err);
/* Prints a usage error with the command's synopsis; EXIT_USAGE. */
int ctl_usage(const struct ctl *ctl, const char *fmt, ...) CUA_PRINTF(2, 3);
/* A new client for this command, or NULL after having printed why. */
struct client *ctl_client(struct ctl *ctl, int *ret_status);

/* ---- printing (print.c) ---- */
/* Prints JSON in one line with a newline. */
void print_json(const json_t *json);
/* A table: a head and rows of `columns` strings each, padded; nothing for zero rows but the head. */
void print_table(const char *const *head, size_t columns, char *const *cells, size_t rows);
/* "3 s", "4 m", "2 h", "5 d" since an ISO 8601 time. */
void print_age(const char *iso, char *ret, size_t size);
/* "12.3 MB" */
void print_size(double bytes, char *ret, size_t size);
/* Percent-encodes a path or a query value; '/' stays when keep_slash. The caller frees. */
char *url_escape(const char *text, bool keep_slash);
/* A string member, or "" */
const char *json_text(const json_t *object, const char *key);

/* ---- YAML (yaml.c) ---- */
/* One document to JSON; NULL and err with the line. */
json_t *yaml_to_json(const char *text, size_t len, struct cua_err *err);

/* ---- commands, one function per row ---- */
int cmd_doctor(struct ctl *ctl, const struct args *args);
int cmd_launch(struct ctl *ctl, const struct args *args);
int cmd_list(struct ctl *ctl, const struct args *args);
int cmd_show(struct ctl *ctl, const struct args *args);
int cmd_set(struct ctl *ctl, const struct args *args);
int cmd_rm(struct ctl *ctl, const struct args *args);
int cmd_exec(struct ctl *ctl, const struct args *args);
int cmd_shell(struct ctl *ctl, const struct args *args);
int cmd_cp(struct ctl *ctl, const struct args *args);
int cmd_screenshot(struct ctl *ctl, const struct args *args);
int cmd_do(struct ctl *ctl, const struct args *args);
int cmd_run(struct ctl *ctl, const struct args *args);
int cmd_open(struct ctl *ctl, const struct args *args);
int cmd_template_list(struct ctl *ctl, const struct args *args);
int cmd_template_show(struct ctl *ctl, const struct args *args);
int cmd_template_build(struct ctl *ctl, const struct args *args);
int cmd_template_rm(struct ctl *ctl, const struct args *args);
int cmd_token_create(struct ctl *ctl, const struct args *args);
int cmd_token_list(struct ctl *ctl, const struct args *args);
int cmd_token_revoke(struct ctl *ctl, const struct args *args);
int cmd_complete(struct ctl *ctl, const struct args *args);
int cmd_completion(struct ctl *ctl, const struct args *args);
int cmd_version(struct ctl *ctl, const struct args *args);
int cmd_help(struct ctl *ctl, const struct args *args);
