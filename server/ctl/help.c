/* Help and the manual page, printed from the tables of commands and actions. */
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

/* Where `do` is explained: what can be done. */
static void print_actions(FILE *out) {
	(void)fprintf(out, "\nActions (cuactl help do ACTION explains one):\n");
	for (unsigned i = 0; cua_action_get(i); i++) {
		(void)fprintf(
			out, "  %-18s %s\n", cua_action_get(i)->name, cua_action_get(i)->help);
	}
}

void help_command(FILE *out, const struct command *c) {
	(void)fprintf(out, "Usage: cuactl ");
	print_synopsis(out, c);
	(void)fprintf(out, "\n\n%s\n", c->help);
	if (c->detail) {
		(void)fprintf(out, "%s\n", c->detail);
	}
	(void)fprintf(out, "\n");
	for (size_t i = 0; i < c->option_count; i++) {
		print_option(out, &c->options[i]);
	}
	size_t count = 0;
	const struct option_def *global = ctl_global_options(&count);
	(void)fprintf(out, "As every command:");
	for (size_t i = 0; i < count; i++) {
		(void)fprintf(out, " [--%s%s%s]", global[i].name, global[i].arg ? " " : "",
			global[i].arg ? global[i].arg : "");
	}
	(void)fprintf(out, "\n");
	if (strcmp(c->name, "do") == 0) {
		print_actions(out);
	}
}

bool help_words(FILE *out, const char *word, const char *sub) {
	size_t count = 0;
	bool found = false;
	const struct command *c = ctl_commands(&count);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(c[i].name, word) == 0 &&
			(!sub || (c[i].sub && strcmp(c[i].sub, sub) == 0))) {
			(void)fprintf(out, "%s", found ? "\n" : "");
			help_command(out, &c[i]);
			found = true;
		}
	}
	return found;
}

static void print_param(FILE *out, const struct cua_param *p) {
	(void)fprintf(out, "  %-18s %s", p->name, p->help);
	for (size_t i = 0; p->names && p->names[i]; i++) {
		(void)fprintf(out, "%s%s", i == 0 ? " One of " : ", ", p->names[i]);
	}
	(void)fprintf(out, "%s%s", p->names ? "." : "", p->required ? " Required." : "");
	if (p->fallback) {
		(void)fprintf(out, " Default %s.", p->fallback);
	}
	(void)fprintf(out, "\n");
}

bool help_action(FILE *out, const char *name) {
	int id = cua_action_find(name);
	if (id < 0) {
		return false;
	}
	const struct cua_action *a = cua_action_get((unsigned)id);
	(void)fprintf(out, "Usage: cuactl do ID %s%s\n\n%s\n\n", a->name,
		a->param_count > 0 || a->input ? " [K=V]…" : "", a->help);
	for (size_t i = 0; i < a->param_count; i++) {
		print_param(out, &a->params[i]);
	}
	size_t common = 0;
	const struct cua_param *input = cua_input_params(&common);
	for (size_t i = 0; a->input && i < common; i++) {
		print_param(out, &input[i]);
	}
	(void)fprintf(out, "Answers with %s\nNeeds the role %s.\n", cua_result_help(a->result),
		cua_role_name(a->role));
	return true;
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

static void roff_params(FILE *out, const struct cua_param *params, size_t count) {
	for (size_t i = 0; i < count; i++) {
		const struct cua_param *p = &params[i];
		(void)fprintf(
			out, ".TP\n\\fI%s\\fR%s\n", p->name, p->required ? " (required)" : "");
		roff(out, p->help);
		for (size_t k = 0; p->names && p->names[k]; k++) {
			(void)fprintf(out, "%s%s", k == 0 ? " One of " : ", ", p->names[k]);
		}
		(void)fprintf(out, "%s", p->names ? "." : "");
		if (p->fallback) {
			(void)fprintf(out, " Default %s.", p->fallback);
		}
		(void)fputc('\n', out);
	}
}

static void roff_actions(FILE *out) {
	size_t common = 0;
	const struct cua_param *input = cua_input_params(&common);
	roff_params(out, input, common);
	for (unsigned i = 0; cua_action_get(i); i++) {
		const struct cua_action *a = cua_action_get(i);
		(void)fprintf(out, ".SS ");
		roff(out, a->name);
		(void)fputc('\n', out);
		roff(out, a->help);
		(void)fprintf(out, " Role: %s.%s\n", cua_role_name(a->role),
			a->input ? " An input action." : "");
		roff_params(out, a->params, a->param_count);
		(void)fprintf(out, ".PP\nAnswers with ");
		roff(out, cua_result_help(a->result));
		(void)fputc('\n', out);
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
		"actions take besides their own parameters:\n");
	roff_actions(out);
	(void)fprintf(out,
		".SH EXIT STATUS\n0 done, 1 failed, 2 usage, 3 no such session or template, 4 "
		"refused, 5 cannot reach the server; for exec the command's own.\n"
		".SH ENVIRONMENT\n.TP\n.B CUAD_HOST\nAs \\-\\-host.\n.TP\n.B CUAD_TOKEN\nAs "
		"\\-\\-token.\n.TP\n.B CUAD_SOCKET\nThe control socket, where it is not "
		"/run/cuad/cuad.sock.\n.SH SEE ALSO\n"
		".BR cuad.yaml (5), .BR cuad\\-supervisor (8), .BR cuad (8)\n");
}
