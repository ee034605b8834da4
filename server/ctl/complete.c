/* What may follow on a command line that is not finished, one a line: `cuactl complete -- WORDS`. The
 * shells' scripts only ask this. Names of sessions, templates and tokens come from the server. */
#include <stdlib.h>
#include <string.h>

#include "cua/action.h"
#include "server/ctl/ctl.h"

struct completion {
	struct ctl *ctl;
	const struct command *command;
	const char *action; /* the second operand, or NULL */
	const char *prefix; /* of the word that is being typed */
};

static void offer(const struct completion *c, const char *word, const char *suffix) {
	if (strncmp(word, c->prefix, strlen(c->prefix)) == 0) {
		(void)printf("%s%s\n", word, suffix);
	}
}

/* ---------------------------------------------------------------- kinds of words */

static void offer_from(const struct completion *c, const char *path, const char *list,
	const char *key, const char *suffix) {
	struct answer answer;
	if (ctl_call(c->ctl, "GET", path, NULL, &answer) == 0) {
		size_t i = 0;
		json_t *item = NULL;
		json_array_foreach(json_object_get(answer.json, list), i, item) {
			offer(c, json_text(item, key), suffix);
		}
	}
	answer_done(&answer);
}

static void offer_sessions(const struct completion *c) {
	offer_from(c, "/v1/sessions", "sessions", "name", "");
}

static void offer_places(const struct completion *c) {
	offer_from(c, "/v1/sessions", "sessions", "name", ":");
}

static void offer_templates(const struct completion *c) {
	offer_from(c, "/v1/templates", "templates", "name", "");
}

static void offer_tokens(const struct completion *c) {
	offer_from(c, "/v1/tokens", "tokens", "id", "");
}

static void offer_roles(const struct completion *c) {
	for (int role = CUA_ROLE_VIEWER; role < CUA_ROLE_MAX_; role++) {
		offer(c, cua_role_name((enum cua_role)role), "");
	}
}

static void offer_actions(const struct completion *c) {
	for (unsigned i = 0; cua_action_get(i); i++) {
		offer(c, cua_action_get(i)->name, "");
	}
}

static void offer_params(const struct completion *c, const struct cua_param *params, size_t count) {
	for (size_t i = 0; i < count; i++) {
		offer(c, params[i].name, "=");
	}
}

/* K=V means parameters of an action for `do`, what can be changed for `set`. */
static void offer_assignments(const struct completion *c) {
	static const char *const changes[] = {"title=", "ttl=", "idle=", "labels."};
	int id = c->action ? cua_action_find(c->action) : -1;
	if (strcmp(c->command->name, "do") == 0 && id >= 0) {
		const struct cua_action *action = cua_action_get((unsigned)id);
		size_t common = 0;
		const struct cua_param *input = cua_input_params(&common);
		offer_params(c, action->params, action->param_count);
		offer_params(c, input, action->input ? common : 0);
	}
	for (size_t i = 0; strcmp(c->command->name, "set") == 0 && i < CUA_COUNT(changes); i++) {
		offer(c, changes[i], "");
	}
}

static void offer_commands(const struct completion *c) {
	size_t count = 0;
	const struct command *all = ctl_commands(&count);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || strcmp(all[i].name, all[i - 1].name) != 0) {
			offer(c, all[i].name, "");
		}
	}
}

static void offer_subcommands(const struct completion *c, const char *name) {
	size_t count = 0;
	const struct command *all = ctl_commands(&count);
	for (size_t i = 0; i < count; i++) {
		if (all[i].sub && strcmp(all[i].name, name) == 0) {
			offer(c, all[i].sub, "");
		}
	}
}

static void offer_options(
	const struct completion *c, const struct option_def *options, size_t count) {
	char word[64];
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(word, sizeof(word), "--%s", options[i].name);
		offer(c, word, "");
	}
}

/* A word of the help such as ID, ROLE or png|jpeg|webp. */
static void offer_kind(const struct completion *c, const char *kind) {
	static const struct {
		const char *kind;
		void (*offer)(const struct completion *c);
	} kinds[] = {{"ID", offer_sessions}, {"SRC", offer_places}, {"DST", offer_places},
		{"TEMPLATE", offer_templates}, {"RECIPE", offer_templates},
		{"TOKEN-ID", offer_tokens}, {"ROLE", offer_roles}, {"ACTION", offer_actions},
		{"K=V", offer_assignments}, {"COMMAND", offer_commands}};
	for (size_t i = 0; i < CUA_COUNT(kinds); i++) {
		if (strcmp(kinds[i].kind, kind) == 0) {
			kinds[i].offer(c);
			return;
		}
	}
	_cleanup_free_ char *copy = strchr(kind, '|') ? strdup(kind) : NULL;
	char *rest = copy;
	for (char *word; (word = strsep(&rest, "|"));) {
		offer(c, word, "");
	}
}

/* ---------------------------------------------------------------- where we are */

/* The n-th word of "ID K=V…", without its brackets; the last one again where it is repeated. */
static void operand_kind(const char *operands, size_t n, char ret[64]) {
	char copy[64];
	ret[0] = '\0';
	(void)snprintf(copy, sizeof(copy), "%s", operands ? operands : "");
	char *rest = copy;
	for (char *word; (word = strsep(&rest, " "));) {
		char *many = strstr(word, "…");
		if (many) {
			*many = '\0';
		}
		if (n == 0 || many) {
			word += strspn(word, "[");
			(void)snprintf(ret, 64, "%.*s", (int)strcspn(word, "]"), word);
			return;
		}
		n--;
	}
}

static const struct option_def *find_option(
	const struct option_def *options, size_t count, const char *word) {
	for (size_t i = 0; i < count; i++) {
		const char letter[] = {'-', options[i].letter, '\0'};
		bool is_long =
			strncmp(word, "--", 2) == 0 && strcmp(word + 2, options[i].name) == 0;
		if (is_long || (options[i].letter && strcmp(word, letter) == 0)) {
			return &options[i];
		}
	}
	return NULL;
}

/* The option, if this word is one that waits for its value. */
static const struct option_def *waits_for_value(const struct completion *c, const char *word) {
	size_t count = 0;
	const struct option_def *global = ctl_global_options(&count);
	const struct option_def *o =
		c->command ? find_option(c->command->options, c->command->option_count, word)
			   : NULL;
	o = o ? o : find_option(global, count, word);
	return o && o->arg ? o : NULL;
}

static void complete_command(struct completion *c, char *const *words, size_t count) {
	const struct option_def *pending = NULL;
	size_t operands = 0;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(words[i], "--") == 0) {
			return; /* a command line of the session */
		}
		bool operand = !pending && words[i][0] != '-';
		c->action = operand && operands == 1 ? words[i] : c->action;
		operands += operand;
		pending = pending ? NULL : waits_for_value(c, words[i]);
	}
	if (pending) {
		offer_kind(c, pending->arg);
	} else if (c->prefix[0] == '-') {
		size_t globals = 0;
		const struct option_def *global = ctl_global_options(&globals);
		offer_options(c, c->command->options, c->command->option_count);
		offer_options(c, global, globals);
	} else {
		char kind[64];
		operand_kind(c->command->operands, operands, kind);
		offer_kind(c, kind);
	}
}

static void complete_first(const struct completion *c) {
	size_t count = 0;
	const struct option_def *global = ctl_global_options(&count);
	if (c->prefix[0] == '-') {
		offer_options(c, global, count);
	} else {
		offer_commands(c);
	}
}

int cmd_complete(struct ctl *ctl, const struct args *args) {
	if (args->rest_count == 0) {
		return ctl_usage(ctl, "give the words of the command line after --");
	}
	size_t count = args->rest_count - 1;
	char *const *words = args->rest;
	struct completion c = {.ctl = ctl, .prefix = words[count]};
	size_t at = 0;
	while (at < count && words[at][0] == '-') {
		at += waits_for_value(&c, words[at]) ? 2 : 1;
	}
	int used = 0;
	c.command = at < count ? ctl_find((int)(count - at), words + at, &used) : NULL;
	if (c.command) {
		complete_command(&c, words + at + used, count - at - (size_t)used);
	} else if (at == count) {
		complete_first(&c);
	} else if (at + 1 == count) {
		offer_subcommands(&c, words[at]);
	}
	return EXIT_DONE;
}

/* ---------------------------------------------------------------- the shells' scripts */

static const char bash[] =
	"_cuactl() {\n"
	"\tlocal IFS=$'\\n'\n"
	"\tCOMPREPLY=($(cuactl complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null))\n"
	"\tcase ${COMPREPLY[0]-} in *[=:.]) compopt -o nospace ;; esac\n"
	"}\n"
	"complete -o default -F _cuactl cuactl\n";

static const char zsh[] =
	"#compdef cuactl\n"
	"_cuactl() {\n"
	"\tlocal -a found\n"
	"\tfound=(\"${(@f)$(cuactl complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
	"\tif [[ -z ${found[1]} ]]; then\n"
	"\t\t_files\n"
	"\telse\n"
	"\t\tcompadd -- ${found:#*[=:.]}\n"
	"\t\tcompadd -S '' -- ${(M)found:#*[=:.]}\n"
	"\tfi\n"
	"}\n"
	"if [[ ${funcstack[1]} == _cuactl ]]; then _cuactl; else compdef _cuactl cuactl; fi\n";

static const char fish[] =
	"complete -c cuactl -a "
	"'(cuactl complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'\n";

bool completion_script(FILE *out, const char *shell) {
	static const struct {
		const char *shell;
		const char *script;
	} scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
	for (size_t i = 0; i < CUA_COUNT(scripts); i++) {
		if (strcmp(scripts[i].shell, shell) == 0) {
			(void)fputs(scripts[i].script, out);
			return true;
		}
	}
	return false;
}
