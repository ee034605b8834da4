/* Help, shell completion and the manual page, all printed from the table of commands. */
#include "server/ctl/ctl.h"

#include <string.h>

#include "cua/action.h"

static void print_name(FILE *out, const struct command *c) {
	(void)fprintf(out, "%s%s%s", c->name, c->sub ? " " : "", c->sub ? c->sub : "");
}

static void print_synopsis(FILE *out, const struct command *c) {
	print_name(out, c);
	if (c->operands) {
		(void)fprintf(out, " %s", c->operands);
	}
	for (size_t i = 0; i < c->option_count; i++) {
		const struct option_def *o = &c->options[i];
		(void)fprintf(out, " [");
		if (o->letter) {
			(void)fprintf(out, "-%c", o->letter);
		} else {
			(void)fprintf(out, "--%s", o->name);
		}
		(void)fprintf(out, "%s%s]", o->arg ? " " : "", o->arg ? o->arg : "");
	}
	if (c->rest) {
		(void)fprintf(out, " [-- CMD…]");
	}
}

static void print_option(FILE *out, const struct option_def *o) {
	char left[64];
	char letter[8] = "";
	if (o->letter) {
		(void)snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	}
	(void)snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->arg ? " " : "",
		o->arg ? o->arg : "");
	(void)fprintf(out, "  %-26s %s\n", left, o->help);
}

void help_overview(FILE *out) {
	(void)fprintf(out, "Usage: cuactl COMMAND …\n\nDesktops for agents: start, watch, drive, "
			   "remove.\n\nCommands:\n");
	size_t count = 0;
	const struct command *c = ctl_commands(&count);
	for (size_t i = 0; i < count; i++) {
		char name[64];
		(void)snprintf(name, sizeof(name), "%s%s%s", c[i].name, c[i].sub ? " " : "",
			c[i].sub ? c[i].sub : "");
		(void)fprintf(out, "  %-18s %s\n", name, c[i].help);
	}
	(void)fprintf(out, "\nEvery command takes:\n");
	const struct option_def *o = ctl_global_options(&count);
	for (size_t i = 0; i < count; i++) {
		print_option(out, &o[i]);
	}
	(void)fprintf(out, "\nSessions are named by id, by name, or by the beginning of the id.\n");
}

void help_command(FILE *out, const struct command *c) {
	(void)fprintf(out, "Usage: cuactl ");
	print_synopsis(out, c);
	(void)fprintf(out, "\n\n%s\n", c->help);
	if (c->detail) {
		(void)fprintf(out, "%s\n", c->detail);
	}
	if (c->option_count > 0) {
		(void)fprintf(out, "\n");
	}
	for (size_t i = 0; i < c->option_count; i++) {
		print_option(out, &c->options[i]);
	}
}

bool help_word(FILE *out, const char *word) {
	size_t count = 0;
	bool found = false;
	const struct command *c = ctl_commands(&count);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(c[i].name, word) == 0) {
			(void)fprintf(out, "%s", found ? "\n" : "");
			help_command(out, &c[i]);
			found = true;
		}
	}
	return found;
}

/* ---------------------------------------------------------------- completion */

/* All first words, each once, then `each` between them. */
static void complete_words(FILE *out, const char *parent) {
	size_t count = 0;
	const struct command *c = ctl_commands(&count);
	for (size_t i = 0; i < count; i++) {
		if (!parent && (i == 0 || strcmp(c[i].name, c[i - 1].name) != 0)) {
			(void)fprintf(out, " %s", c[i].name);
		} else if (parent && c[i].sub && strcmp(c[i].name, parent) == 0) {
			(void)fprintf(out, " %s", c[i].sub);
		}
	}
}

static void bash_options(FILE *out) {
	size_t count = 0;
	const struct command *c = ctl_commands(&count);
	for (size_t i = 0; i < count; i++) {
		if (c[i].option_count == 0) {
			continue;
		}
		(void)fprintf(out, "\t\t%s%s%s*) words=\"", c[i].name, c[i].sub ? "\\ " : "",
			c[i].sub ? c[i].sub : "");
		for (size_t k = 0; k < c[i].option_count; k++) {
			(void)fprintf(out, " --%s", c[i].options[k].name);
		}
		(void)fprintf(out, " --json --help\" ;;\n");
	}
}

static void completion_bash(FILE *out) {
	(void)fprintf(out, "_cuactl() {\n"
			   "\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=\"--json --help\"\n"
			   "\tif [ \"$COMP_CWORD\" -eq 1 ]; then words=\"");
	complete_words(out, NULL);
	(void)fprintf(out,
		"\"\n\telif [ \"$COMP_CWORD\" -eq 2 ] && [ \"${COMP_WORDS[1]}\" = template ]; "
		"then words=\"");
	complete_words(out, "template");
	(void)fprintf(out,
		"\"\n\telif [ \"$COMP_CWORD\" -eq 2 ] && [ \"${COMP_WORDS[1]}\" = token ]; "
		"then words=\"");
	complete_words(out, "token");
	(void)fprintf(out, "\"\n\telif [ \"${cur#-}\" = \"$cur\" ]; then\n"
			   "\t\twords=$(cuactl list --json 2>/dev/null | "
			   "grep -o '\"name\": *\"[^\"]*\"' | cut -d'\"' -f4)\n"
			   "\telse\n\t\tcase \"${COMP_WORDS[*]:1}\" in\n");
	bash_options(out);
	(void)fprintf(out, "\t\tesac\n\tfi\n"
			   "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
			   "complete -o default -F _cuactl cuactl\n");
}

static void completion_zsh(FILE *out) {
	(void)fprintf(out, "#compdef cuactl\nautoload -U +X bashcompinit && bashcompinit\n");
	completion_bash(out);
}

static void completion_fish(FILE *out) {
	size_t count = 0;
	const struct command *c = ctl_commands(&count);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || strcmp(c[i].name, c[i - 1].name) != 0) {
			(void)fprintf(out,
				"complete -c cuactl -n __fish_use_subcommand -f -a %s -d '%s'\n",
				c[i].name, c[i].help);
		}
		if (c[i].sub) {
			(void)fprintf(out,
				"complete -c cuactl -n '__fish_seen_subcommand_from %s' -f -a %s "
				"-d '%s'\n",
				c[i].name, c[i].sub, c[i].help);
		}
		for (size_t k = 0; k < c[i].option_count; k++) {
			(void)fprintf(out,
				"complete -c cuactl -n '__fish_seen_subcommand_from %s' -l %s%s\n",
				c[i].name, c[i].options[k].name, c[i].options[k].arg ? " -r" : "");
		}
	}
}

bool help_completion(FILE *out, const char *shell) {
	static const struct {
		const char *shell;
		void (*print)(FILE *out);
	} shells[] = {
		{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
	for (size_t i = 0; i < CUA_COUNT(shells); i++) {
		if (strcmp(shells[i].shell, shell) == 0) {
			shells[i].print(out);
			return true;
		}
	}
	return false;
}

/* ---------------------------------------------------------------- manual */

/* Prints text for roff: a dash is a minus sign, a backslash is one. */
static void roff(FILE *out, const char *text) {
	for (; *text; text++) {
		if (*text == '-') {
			(void)fputs("\\-", out);
		} else if (*text == '\\') {
			(void)fputs("\\e", out);
		} else {
			(void)fputc(*text, out);
		}
	}
}

static void roff_options(FILE *out, const struct option_def *o, size_t count) {
	for (size_t i = 0; i < count; i++) {
		(void)fprintf(out, ".TP\n\\fB");
		if (o[i].letter) {
			(void)fprintf(out, "\\-%c\\fR, \\fB", o[i].letter);
		}
		(void)fprintf(out, "\\-\\-");
		roff(out, o[i].name);
		(void)fprintf(out, "\\fR \\fI");
		roff(out, o[i].arg ? o[i].arg : "");
		(void)fprintf(out, "\\fR\n");
		roff(out, o[i].help);
		(void)fputc('\n', out);
	}
}

static void roff_command(FILE *out, const struct command *c) {
	(void)fprintf(out, ".SS cuactl ");
	print_name(out, c);
	if (c->operands) {
		(void)fprintf(out, " %s", c->operands);
	}
	(void)fprintf(out, "%s\n", c->rest ? " [\\-\\- CMD…]" : "");
	roff(out, c->help);
	(void)fputc('\n', out);
	if (c->detail) {
		roff(out, c->detail);
		(void)fputc('\n', out);
	}
	roff_options(out, c->options, c->option_count);
}

static void roff_actions(FILE *out) {
	for (unsigned i = 0; cua_action_get(i); i++) {
		const struct cua_action *a = cua_action_get(i);
		(void)fprintf(out, ".SS ");
		roff(out, a->name);
		(void)fputc('\n', out);
		roff(out, a->help);
		(void)fprintf(out, " Role: %s.\n", cua_role_name(a->role));
		for (size_t k = 0; k < a->param_count; k++) {
			const struct cua_param *p = &a->params[k];
			(void)fprintf(out, ".TP\n\\fI%s\\fR%s%s\n", p->name,
				p->required ? " (required)" : "", p->fallback ? "" : "");
			roff(out, p->help);
			if (p->fallback) {
				(void)fprintf(out, " Default %s.", p->fallback);
			}
			(void)fputc('\n', out);
		}
	}
}

void help_manual(FILE *out) {
	(void)fprintf(out,
		".TH CUACTL 1\n.SH NAME\ncuactl \\- start, watch and drive desktops for "
		"agents\n.SH SYNOPSIS\n.B cuactl\n.I COMMAND\n…\n.SH DESCRIPTION\n"
		"Sessions are named by id, by name, or by the beginning of the id. Without "
		"\\-\\-host the control socket /run/cuad/cuad.sock is used.\n.SH COMMANDS\n");
	size_t count = 0;
	const struct command *c = ctl_commands(&count);
	for (size_t i = 0; i < count; i++) {
		roff_command(out, &c[i]);
	}
	(void)fprintf(out, ".SH OPTIONS OF EVERY COMMAND\n");
	const struct option_def *o = ctl_global_options(&count);
	roff_options(out, o, count);
	(void)fprintf(out,
		".SH ACTIONS\nFor \\fBcuactl do\\fR, the JSON\\-RPC socket and HTTP. Input "
		"actions also take modifiers, settle, settle_max, screenshot and space.\n");
	roff_actions(out);
	(void)fprintf(out,
		".SH EXIT STATUS\n0 done, 1 failed, 2 usage, 3 no such session or template, 4 "
		"refused, 5 cannot reach the server; for exec the command's own.\n"
		".SH ENVIRONMENT\nCUAD_HOST, CUAD_TOKEN, CUAD_SOCKET.\n");
}
