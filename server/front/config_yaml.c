/* The only user of libcyaml. Every scalar is taken as text: libcyaml 1.3 takes any word for true and
 * cannot tell a wrong number from its default. It names an unknown key in a log line only, with the
 * place of what came before, so the key is looked up in the text. */
#include "server/front/config_yaml.h"

#include <cyaml/cyaml.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cua/limits.h"

#define TEXT_MAX 255
#define OPTIONAL (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define TEXT(key, type, member) CYAML_FIELD_STRING_PTR(key, OPTIONAL, type, member, 0, TEXT_MAX)
#define LIST(key, member, entry, max)                                                              \
	CYAML_FIELD_SEQUENCE(key, OPTIONAL, struct yaml_config, member, &(entry), 0, max)

static const cyaml_schema_value_t text_entry = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 0, TEXT_MAX),
};

static const cyaml_schema_field_t tls_fields[] = {
	TEXT("cert", struct yaml_tls, cert),
	TEXT("key", struct yaml_tls, key),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t listener_fields[] = {
	TEXT("address", struct yaml_listener, address),
	TEXT("port", struct yaml_listener, port),
	CYAML_FIELD_MAPPING_PTR("tls", OPTIONAL, struct yaml_listener, tls, tls_fields),
	TEXT("insecure", struct yaml_listener, insecure),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t listener_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct yaml_listener, listener_fields),
};

static const cyaml_schema_field_t limit_fields[] = {
	TEXT("cpus", struct yaml_limits, cpus),
	TEXT("memory", struct yaml_limits, memory),
	TEXT("pids", struct yaml_limits, pids),
	TEXT("disk", struct yaml_limits, disk),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t config_fields[] = {
	LIST("listen", listen, listener_entry, CUA_LISTENERS_MAX),
	LIST("allow", allow, text_entry, CUA_ALLOW_MAX),
	TEXT("pool", struct yaml_config, pool),
	TEXT("max_sessions", struct yaml_config, max_sessions),
	CYAML_FIELD_MAPPING_PTR("limits", OPTIONAL, struct yaml_config, limits, limit_fields),
	TEXT("memory_reserve", struct yaml_config, memory_reserve),
	LIST("dns", dns, text_entry, CUA_DNS_MAX),
	TEXT("default_template", struct yaml_config, default_template),
	LIST("origins", origins, text_entry, CUA_ORIGINS_MAX),
	TEXT("screen", struct yaml_config, screen),
	TEXT("screen_max", struct yaml_config, screen_max),
	TEXT("insecure", struct yaml_config, insecure),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct yaml_config, config_fields),
};

/* ---------------------------------------------------------------- where something stands */

/* True if this key and a colon stand here. */
static bool key_at(const char *p, const char *end, const char *key) {
	size_t len = strlen(key);
	if ((size_t)(end - p) <= len || strncmp(p, key, len) != 0) {
		return false;
	}
	p += len;
	while (p < end && (*p == ' ' || *p == '"' || *p == '\'')) {
		p++;
	}
	return p < end && *p == ':';
}

unsigned config_yaml_line(const char *text, size_t len, const char *key, unsigned from) {
	unsigned line = 1;
	const char *end = text + len;
	bool start = true; /* a key may begin here */
	for (const char *p = text; p < end; p++) {
		if (start && line >= from && key_at(p, end, key)) {
			return line;
		}
		line += *p == '\n';
		start = *p == '\n' || strchr(" {,-\"'\t", *p) != NULL;
	}
	return 0;
}

/* ---------------------------------------------------------------- what libcyaml says */

struct told {
	char first[256]; /* the first line that it logged */
	unsigned line; /* of the innermost place, 0: not told */
};

CUA_PRINTF(3, 0)
static void on_log(cyaml_log_t level, void *data, const char *fmt, va_list args) {
	(void)level;
	struct told *told = data;
	char text[256];
	(void)vsnprintf(text, sizeof(text), fmt, args);
	text[strcspn(text, "\n")] = '\0';
	if (told->first[0] == '\0') {
		(void)snprintf(told->first, sizeof(told->first), "%s", text);
	}
	const char *line = strstr(text, "(line: ");
	if (line && told->line == 0) {
		told->line = (unsigned)strtoul(line + 7, NULL, 10);
	}
}

static const char *after(const char *text, const char *start) {
	size_t len = strlen(start);
	return strncmp(text, start, len) == 0 ? text + len : NULL;
}

static int explain(const struct told *told, cyaml_err_t code, const char *text, size_t len,
	struct cua_err *err) {
	const char *what = after(told->first, "Load: ");
	what = what ? what : told->first[0] ? told->first : cyaml_strerror(code);
	const char *key = after(what, "Unexpected key: ");
	if (key) {
		unsigned line = config_yaml_line(text, len, key, told->line);
		return cua_err_about(err, CUA_INVALID, key, "unknown key %s in line %u", key,
			line > 0 ? line : told->line);
	}
	key = after(what, "Mapping field already seen: ");
	if (key) {
		unsigned first = config_yaml_line(text, len, key, 1);
		unsigned line = config_yaml_line(text, len, key, first + 1);
		return cua_err_about(err, CUA_INVALID, key, "key %s again in line %u", key,
			line > 0 ? line : told->line);
	}
	return cua_err_set(err, CUA_INVALID, "%s near line %u", what, told->line);
}

int config_yaml_load(const char *text, size_t len, struct yaml_config **ret, struct cua_err *err) {
	*ret = NULL;
	if (len == 0) {
		return 0;
	}
	struct told told = {0};
	const cyaml_config_t config = {.log_fn = on_log,
		.log_ctx = &told,
		.log_level = CYAML_LOG_WARNING,
		.mem_fn = cyaml_mem};
	void *loaded = NULL;
	cyaml_err_t code =
		cyaml_load_data((const uint8_t *)text, len, &config, &schema, &loaded, NULL);
	if (code != CYAML_OK) {
		return explain(&told, code, text, len, err);
	}
	*ret = loaded;
	return 0;
}

void config_yaml_free(struct yaml_config *yaml) {
	const cyaml_config_t config = {.mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR};
	if (yaml) {
		(void)cyaml_free(&config, &schema, yaml, 0);
	}
}
