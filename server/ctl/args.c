/* Command lines by table; see the header. */
#include "server/ctl/args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const struct option_def *defs;
	size_t def_count;
	int argc;
	char **argv;
	int at;
	struct args *out;
	struct cua_err *err;
};

static const struct option_def *find_long(const struct parser *p, const char *name, size_t len) {
	for (size_t i = 0; i < p->def_count; i++) {
		if (strlen(p->defs[i].name) == len && strncmp(p->defs[i].name, name, len) == 0) {
			return &p->defs[i];
		}
	}
	return NULL;
}

static const struct option_def *find_short(const struct parser *p, char letter) {
	for (size_t i = 0; i < p->def_count; i++) {
		if (p->defs[i].letter == letter) {
			return &p->defs[i];
		}
	}
	return NULL;
}

static void add(struct parser *p, const struct option_def *def, const char *value) {
	p->out->options[p->out->option_count++] =
		(struct arg_value){.name = def->name, .value = value};
}

static int take_value(struct parser *p, const struct option_def *def, const char *attached) {
	if (attached) {
		add(p, def, attached);
		return 0;
	}
	if (p->at + 1 >= p->argc) {
		return cua_err_set(
			p->err, CUA_BAD_REQUEST, "--%s needs a value (%s)", def->name, def->arg);
	}
	add(p, def, p->argv[++p->at]);
	return 0;
}

static int parse_long(struct parser *p, const char *word) {
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	const struct option_def *def = find_long(p, word, len);
	if (!def) {
		return cua_err_set(
			p->err, CUA_BAD_REQUEST, "unknown option --%.*s", (int)len, word);
	}
	if (def->arg) {
		return take_value(p, def, equals ? equals + 1 : NULL);
	}
	if (equals) {
		return cua_err_set(p->err, CUA_BAD_REQUEST, "--%s takes no value", def->name);
	}
	add(p, def, "");
	return 0;
}

static int parse_short(struct parser *p, const char *letters) {
	for (; *letters; letters++) {
		const struct option_def *def = find_short(p, *letters);
		if (!def) {
			return cua_err_set(p->err, CUA_BAD_REQUEST, "unknown option -%c", *letters);
		}
		if (def->arg) {
			return take_value(p, def, letters[1] ? letters + 1 : NULL);
		}
		add(p, def, "");
	}
	return 0;
}

static int parse_word(struct parser *p) {
	char *word = p->argv[p->at];
	if (word[0] == '-' && word[1] == '-') {
		return parse_long(p, word + 2);
	}
	if (word[0] == '-' && word[1] != '\0') {
		return parse_short(p, word + 1);
	}
	p->out->operands[p->out->operand_count++] = word;
	return 0;
}

int args_parse(int argc, char **argv, const struct option_def *defs, size_t def_count,
	struct args *ret, struct cua_err *err) {
	/* a joined group such as -it can hold more options than words */
	size_t letters = 0;
	for (int i = 0; i < argc; i++) {
		letters += strlen(argv[i]) + 1;
	}
	*ret = (struct args){.options = calloc(letters + 1, sizeof(*ret->options)),
		.operands = calloc((size_t)argc + 1, sizeof(*ret->operands))};
	struct parser p = {.defs = defs,
		.def_count = def_count,
		.argc = argc,
		.argv = argv,
		.out = ret,
		.err = err};
	if (!ret->options || !ret->operands) {
		args_done(ret);
		return cua_err_set(err, CUA_EXHAUSTED, "out of memory");
	}
	for (; p.at < argc; p.at++) {
		if (strcmp(argv[p.at], "--") == 0) {
			ret->has_rest = true;
			ret->rest = argv + p.at + 1;
			ret->rest_count = (size_t)(argc - p.at - 1);
			return 0;
		}
		int r = parse_word(&p);
		if (r < 0) {
			args_done(ret);
			return r;
		}
	}
	return 0;
}

void args_done(struct args *args) {
	free(args->options);
	free((void *)args->operands);
	*args = (struct args){0};
}

const char *args_get(const struct args *args, const char *name) {
	for (size_t i = args->option_count; i-- > 0;) {
		if (strcmp(args->options[i].name, name) == 0) {
			return args->options[i].value;
		}
	}
	return NULL;
}

bool args_has(const struct args *args, const char *name) {
	return args_get(args, name) != NULL;
}

int args_number(const struct args *args, const char *name, long fallback, long max, long *ret,
	struct cua_err *err) {
	const char *text = args_get(args, name);
	if (!text) {
		*ret = fallback;
		return 0;
	}
	char *end = NULL;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < 0 || value > max) {
		return cua_err_set(err, CUA_BAD_REQUEST,
			"--%s must be a number from 0 to %ld, not \"%s\"", name, max, text);
	}
	*ret = value;
	return 0;
}
