/* The table of commands: parsing, help, completion and the manual all read it. */
#include "server/ctl/ctl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SOCKET "/run/cuad/cuad.sock"

static const struct option_def global_options[] = {
	{"host", 0, "URL",
		"Server to talk to, for example https://box:7880 (or CUAD_HOST); the control "
		"socket without it."},
	{"token", 0, "TOKEN",
		"Token for --host (better: CUAD_TOKEN, which no process list shows)."},
	{"json", 0, NULL, "Print JSON."},
	{"help", 'h', NULL, "Explain the command."},
};

static const struct option_def launch_options[] = {
	{"number", 'n', "N", "How many, in parallel; default 1."},
	{"template", 't', "TEMPLATE", "What to start from; the server's default without it."},
	{"name", 0, "NAME", "Name; with -n it becomes NAME-1, NAME-2, …"},
	{"screen", 0, "WxH[@DPI]", "Size of the screen, for example 1280x800."},
	{"file", 'f', "SPEC.yaml", "Session spec as a file; - is standard input."},
	{"set", 0, "K=V", "A key of the spec; dots go deeper: limits.memory=2G. Repeatable."},
	{"label", 0, "K=V", "A label. Repeatable."},
	{"no-wait", 0, NULL, "Do not wait until the desktop is ready."},
};
static const struct option_def list_options[] = {
	{"label", 0, "K=V", "Only sessions with this label. Repeatable."},
	{"state", 0, "starting|running|stopping|stopped|failed", "Only sessions in this state."},
};
static const struct option_def rm_options[] = {
	{"all", 0, NULL, "All sessions."},
	{"label", 0, "K=V", "With --all: only those with this label. Repeatable."},
};
static const struct option_def exec_options[] = {
	{"interactive", 'i', NULL, "Pass standard input on."},
	{"tty", 't', NULL, "Give the command a terminal that follows the size of ours."},
	{"user", 0, "USER", "User in the session; default agent."},
	{"cwd", 0, "DIR", "Working directory; the home without it."},
	{"env", 0, "K=V", "A variable. Repeatable."},
	{"timeout", 0, "SECONDS", "Kill the command and its children after this."},
};
static const struct option_def shell_options[] = {
	{"user", 0, "USER", "User in the session; default agent."},
};
static const struct option_def screenshot_options[] = {
	{"output", 'o', "FILE",
		"Where to; - is standard output. Default ID.FORMAT, or standard output "
		"when that is not a terminal."},
	{"format", 0, "png|jpeg|webp", "Encoding; by the file's ending without it, else png."},
	{"quality", 0, "Q", "1 to 100, for jpeg and webp."},
	{"region", 0, "X,Y,W,H", "Only this part."},
	{"scale", 0, "F|WxH", "Factor from 0.05 to 1, or a size to fit into."},
	{"cursor", 0, NULL, "With the mouse cursor."},
	{"settle", 0, "MS", "Wait until nothing changed for so long."},
};
static const struct option_def build_options[] = {
	{"force", 0, NULL, "Build even if the recipe has not changed."},
};
static const struct option_def token_options[] = {
	{"role", 0, "ROLE", "viewer, agent, operator or admin."},
	{"session", 0, "ID", "Valid for this session only."},
	{"ttl", 0, "SECONDS", "Valid for so long; for ever without it."},
	{"label", 0, "TEXT", "What it is for."},
};

#define OPTIONS(o) .options = (o), .option_count = CUA_COUNT(o)
#define OPERANDS(text, least, most)                                                                \
	.operands = (text), .min_operands = (least), .max_operands = (most)
#define MANY 4096

static const struct command commands[] = {
	{.name = "doctor",
		.help = "Check this host, with a remedy for what is wrong.",
		.run = cmd_doctor},
	{.name = "launch",
		.help = "Start sessions.",
		OPTIONS(launch_options),
		.rest = true,
		.detail = "Prints id, name, state and URL of each session as it becomes ready. One "
			  "that "
			  "fails does not stop the others; the exit status is 1 then. What follows "
			  "-- is "
			  "started on the desktop.",
		.run = cmd_launch},
	{.name = "list", .help = "List the sessions.", OPTIONS(list_options), .run = cmd_list},
	{.name = "show", OPERANDS("ID", 1, 1), .help = "Show one session.", .run = cmd_show},
	{.name = "set",
		OPERANDS("ID K=V…", 2, MANY),
		.help = "Change title, labels or life time of a session.",
		.detail = "title=TEXT, labels.KEY=VALUE (null takes it away), ttl=DURATION and "
			  "idle=DURATION such as 8h, 30m, 90s.",
		.run = cmd_set},
	{.name = "rm",
		OPERANDS("ID…", 0, MANY),
		.help = "Remove sessions with their disks.",
		OPTIONS(rm_options),
		.run = cmd_rm},
	{.name = "exec",
		OPERANDS("ID", 1, 1),
		.help = "Run a command in a session.",
		OPTIONS(exec_options),
		.rest = true,
		.detail = "Standard output and error are the command's. The exit status is its "
			  "own; 124 "
			  "timed out, 125 our failure, 126 not executable, 127 not found, 128+N "
			  "killed by "
			  "signal N.",
		.run = cmd_exec},
	{.name = "shell",
		OPERANDS("ID", 1, 1),
		.help = "Open a shell in a session.",
		OPTIONS(shell_options),
		.run = cmd_shell},
	{.name = "cp",
		OPERANDS("SRC DST", 2, 2),
		.help = "Copy files and directories in or out.",
		.detail = "One side is ID:PATH; a relative one starts at the agent's home. "
			  "The other is a local path, or - for standard input or output.",
		.run = cmd_cp},
	{.name = "screenshot",
		OPERANDS("ID", 1, 1),
		.help = "Take a picture of the screen.",
		OPTIONS(screenshot_options),
		.run = cmd_screenshot},
	{.name = "do",
		OPERANDS("ID ACTION [K=V]…", 2, MANY),
		.help = "Perform one action.",
		.detail = "Values are JSON where they parse as JSON: cuactl do 4f click x=10 y=20 "
			  "settle=300.",
		.run = cmd_do},
	{.name = "run",
		OPERANDS("ID FILE.jsonl", 2, 2),
		.help = "Perform a script of actions; stops at the first error.",
		.run = cmd_run},
	{.name = "open",
		OPERANDS("[ID]", 0, 1),
		.help = "Print a URL with a one-time ticket.",
		.run = cmd_open},
	{.name = "template",
		.sub = "list",
		.help = "List the templates.",
		.run = cmd_template_list},
	{.name = "template",
		.sub = "show",
		OPERANDS("TEMPLATE", 1, 1),
		.help = "Show one template.",
		.run = cmd_template_show},
	{.name = "template",
		.sub = "build",
		OPERANDS("RECIPE", 1, 1),
		.help = "Build a template from its recipe.",
		OPTIONS(build_options),
		.run = cmd_template_build},
	{.name = "template",
		.sub = "rm",
		OPERANDS("TEMPLATE", 1, 1),
		.help = "Remove a template that no session uses.",
		.run = cmd_template_rm},
	{.name = "token",
		.sub = "create",
		.help = "Create a token; it is shown once.",
		OPTIONS(token_options),
		.run = cmd_token_create},
	{.name = "token", .sub = "list", .help = "List the tokens.", .run = cmd_token_list},
	{.name = "token",
		.sub = "revoke",
		OPERANDS("TOKEN-ID", 1, 1),
		.help = "Revoke a token.",
		.run = cmd_token_revoke},
	{.name = "completion",
		OPERANDS("bash|zsh|fish", 1, 1),
		.help = "Print a completion script for a shell.",
		.run = cmd_completion},
	{.name = "complete",
		.help = "Print what may come next, for the completion scripts.",
		.rest = true,
		.detail = "The words of the command line follow --, the unfinished one last.",
		.run = cmd_complete},
	{.name = "version", .help = "Print the version.", .run = cmd_version},
	{.name = "help",
		OPERANDS("[COMMAND]", 0, 2),
		.help = "Explain a command, or with do ACTION an action.",
		.run = cmd_help},
};

const struct command *ctl_commands(size_t *ret_count) {
	*ret_count = CUA_COUNT(commands);
	return commands;
}

const struct option_def *ctl_global_options(size_t *ret_count) {
	*ret_count = CUA_COUNT(global_options);
	return global_options;
}

const struct command *ctl_find(int argc, char *const *argv, int *ret_words) {
	for (size_t i = 0; i < CUA_COUNT(commands); i++) {
		const struct command *c = &commands[i];
		if (strcmp(c->name, argv[0]) != 0) {
			continue;
		}
		if (!c->sub || (argc > 1 && strcmp(c->sub, argv[1]) == 0)) {
			*ret_words = c->sub ? 2 : 1;
			return c;
		}
	}
	return NULL;
}

static int run_parsed(struct ctl *ctl, const struct args *args) {
	const struct command *c = ctl->command;
	if (args_has(args, "help")) {
		help_command(stdout, c);
		return EXIT_DONE;
	}
	if (args->operand_count < c->min_operands || args->operand_count > c->max_operands) {
		return ctl_usage(ctl, args->operand_count < c->min_operands ? "something is missing"
									    : "too many words");
	}
	if (args->has_rest && !c->rest) {
		return ctl_usage(ctl, "takes no command after --");
	}
	const char *host = args_get(args, "host");
	const char *token = args_get(args, "token");
	ctl->where.host = host ? host : getenv("CUAD_HOST");
	ctl->where.token = token ? token : getenv("CUAD_TOKEN");
	ctl->json = args_has(args, "json");
	return c->run(ctl, args);
}

static int run_command(struct ctl *ctl, int argc, char **argv) {
	struct option_def defs[32];
	size_t count = 0;
	for (size_t i = 0; i < ctl->command->option_count; i++) {
		defs[count++] = ctl->command->options[i];
	}
	for (size_t i = 0; i < CUA_COUNT(global_options); i++) {
		defs[count++] = global_options[i];
	}
	struct args args;
	struct cua_err err;
	if (args_parse(argc, argv, defs, count, &args, &err) < 0) {
		return ctl_usage(ctl, "%s", err.message);
	}
	int status = run_parsed(ctl, &args);
	args_done(&args);
	return status;
}

/* Options may also stand before the command: they are moved behind it. */
static int skip_globals(int argc, char **argv) {
	int at = 1;
	while (at < argc && argv[at][0] == '-') {
		bool takes_value =
			(strcmp(argv[at], "--host") == 0 || strcmp(argv[at], "--token") == 0);
		at += takes_value && at + 1 < argc ? 2 : 1;
	}
	return at;
}

int ctl_main(int argc, char **argv) {
	const char *socket = getenv("CUAD_SOCKET");
	struct ctl ctl = {.where.socket = socket ? socket : DEFAULT_SOCKET};
	int at = skip_globals(argc, argv);
	if (at >= argc) {
		bool asked = argc > 1;
		help_overview(asked ? stdout : stderr);
		return asked ? EXIT_DONE : EXIT_USAGE;
	}
	int words = 0;
	ctl.command = ctl_find(argc - at, argv + at, &words);
	if (!ctl.command) {
		if (!help_words(stderr, argv[at], NULL)) {
			(void)fprintf(stderr,
				"cuactl: there is no command \"%s\"; see: cuactl help\n", argv[at]);
		}
		return EXIT_USAGE;
	}
	/* global options first, then what follows the command's words */
	char **line = calloc((size_t)argc + 1, sizeof(*line));
	if (!line) {
		return EXIT_FAILED;
	}
	int count = 0;
	for (int i = 1; i < at; i++) {
		line[count++] = argv[i];
	}
	for (int i = at + words; i < argc; i++) {
		line[count++] = argv[i];
	}
	int status = run_command(&ctl, count, line);
	free(line);
	return status;
}
