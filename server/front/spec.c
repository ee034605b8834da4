/* Session specs; see the header. What is allowed here the supervisor checks again. */
#include "server/front/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cua/ident.h"
#include "cua/parse.h"
#include "server/front/units.h"

#define DEFAULT_DPI 96

struct key {
	const char *name;
	int (*read)(const json_t *value, struct spec *spec, struct cua_err *err);
	const char *schema; /* JSON Schema, for documents */
};

#define TEXT(about) "{\"type\":\"string\",\"description\":\"" about "\"}"
#define ONE_OF(words, about) "{\"enum\":[" words "],\"description\":\"" about "\"}"
#define WITH_UNIT(about) "{\"type\":[\"string\",\"integer\"],\"description\":\"" about "\"}"
#define MAP(about)                                                                                 \
	"{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},"                     \
	"\"description\":\"" about "\"}"

void spec_done(struct spec *spec) {
	json_decref(take_ptr(spec->labels));
	json_decref(take_ptr(spec->env));
	json_decref(take_ptr(spec->command));
}

static int wrong_type(const char *key, const char *wanted, struct cua_err *err) {
	return cua_err_about(err, CUA_BAD_REQUEST, key, "%s must be %s", key, wanted);
}

static int in_range(
	const char *key, uint64_t value, uint64_t min, uint64_t max, struct cua_err *err) {
	if (value < min || value > max) {
		return cua_err_about(err, CUA_INVALID, key,
			"%s is %" PRIu64 ", allowed is %" PRIu64 " to %" PRIu64, key, value, min,
			max);
	}
	return 0;
}

/* ---------------------------------------------------------------- units */

/* "4G", "512M" (powers of 1024) or a number of bytes. */
static int spec_size(const json_t *value, const char *key, uint64_t *ret, struct cua_err *err) {
	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*ret = (uint64_t)json_integer_value(value);
		return 0;
	}
	if (!json_is_string(value)) {
		return wrong_type(key, "a size such as \"4G\"", err);
	}
	if (!units_size(json_string_value(value), ret)) {
		return cua_err_about(
			err, CUA_INVALID, key, "%s must be a size such as \"4G\" or \"512M\"", key);
	}
	return 0;
}

/* Text without a unit could be taken for seconds or for milliseconds. */
static bool has_unit(const char *text) {
	size_t len = strlen(text);
	return len > 0 && !(text[len - 1] >= '0' && text[len - 1] <= '9');
}

/* "8h", "30m", "90s", "1d", or a number of milliseconds; up to ten years. */
static int spec_duration(const json_t *value, const char *key, uint64_t *ret, struct cua_err *err) {
	uint64_t ms = 0;
	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		ms = (uint64_t)json_integer_value(value);
	} else if (!json_is_string(value)) {
		return wrong_type(key, "a duration such as \"8h\"", err);
	} else if (!has_unit(json_string_value(value)) ||
		   !units_duration(json_string_value(value), &ms)) {
		return cua_err_about(err, CUA_INVALID, key,
			"%s must be a duration such as \"8h\", \"30m\" or \"90s\"", key);
	}
	*ret = ms;
	return in_range(key, ms, 1, CUA_LIFE_MAX_MS, err);
}

/* "1280x800" or "1280x800@120" (dpi; *ret_dpi stays as it is without one). Only the form is
 * checked. */
static int spec_screen(
	const char *text, uint32_t ret_size[2], uint32_t *ret_dpi, struct cua_err *err) {
	char size[32];
	const char *at = strchr(text, '@');
	size_t len = at ? (size_t)(at - text) : strlen(text);
	uint64_t dpi = *ret_dpi;
	(void)snprintf(size, sizeof(size), "%.*s", (int)(len < 31 ? len : 31), text);
	if (len >= sizeof(size) || !units_screen(size, ret_size) ||
		(at && !parse_number(at + 1, 1, UINT16_MAX, &dpi))) {
		return cua_err_about(err, CUA_INVALID, "screen",
			"a screen is WIDTHxHEIGHT or WIDTHxHEIGHT@DPI, such as 1280x800");
	}
	*ret_dpi = (uint32_t)dpi;
	return 0;
}

/* ---------------------------------------------------------------- texts and maps */

/* Copies a bounded string. */
static int read_text(
	const json_t *value, const char *key, char *ret, size_t size, struct cua_err *err) {
	if (!json_is_string(value)) {
		return wrong_type(key, "a string", err);
	}
	if (json_string_length(value) >= size) {
		return cua_err_about(
			err, CUA_INVALID, key, "%s is longer than %zu bytes", key, size - 1);
	}
	(void)snprintf(ret, size, "%s", json_string_value(value));
	return 0;
}

static int read_named(
	const json_t *value, const char *key, char ret[CUA_NAME_SIZE], struct cua_err *err) {
	if (!json_is_string(value)) {
		return wrong_type(key, "a string", err);
	}
	if (!cua_name_ok(json_string_value(value))) {
		return cua_err_about(err, CUA_INVALID, key,
			"%s must be a name: a-z, 0-9 and -, at most %d, not beginning with -", key,
			CUA_NAME_MAX);
	}
	(void)snprintf(ret, CUA_NAME_SIZE, "%s", json_string_value(value));
	return 0;
}

static int read_name(const json_t *value, struct spec *spec, struct cua_err *err) {
	return read_named(value, "name", spec->name, err);
}

static int read_template(const json_t *value, struct spec *spec, struct cua_err *err) {
	return read_named(value, "template", spec->template, err);
}

static int read_title(const json_t *value, struct spec *spec, struct cua_err *err) {
	spec->has_title = true;
	return read_text(value, "title", spec->title, sizeof(spec->title), err);
}

static int check_label(
	const char *key, const json_t *value, bool may_be_null, struct cua_err *err) {
	if (!json_is_string(value) && !(may_be_null && json_is_null(value))) {
		return wrong_type("labels", "an object of strings", err);
	}
	if (strlen(key) == 0 || strlen(key) > CUA_LABEL_KEY_MAX ||
		(json_is_string(value) && json_string_length(value) > CUA_LABEL_VALUE_MAX)) {
		return cua_err_about(err, CUA_INVALID, "labels",
			"a label's key has 1 to %d bytes and its value at most %d",
			CUA_LABEL_KEY_MAX, CUA_LABEL_VALUE_MAX);
	}
	return 0;
}

static int read_label_map(
	const json_t *value, bool may_be_null, struct spec *spec, struct cua_err *err) {
	if (!json_is_object(value)) {
		return wrong_type("labels", "an object of strings", err);
	}
	if (json_object_size(value) > CUA_LABELS_MAX) {
		return cua_err_about(
			err, CUA_INVALID, "labels", "at most %d labels", CUA_LABELS_MAX);
	}
	const char *key = NULL;
	json_t *label = NULL;
	json_object_foreach((json_t *)(uintptr_t)value, key, label) {
		int r = check_label(key, label, may_be_null, err);
		if (r < 0) {
			return r;
		}
	}
	spec->labels = json_copy((json_t *)(uintptr_t)value);
	return spec->labels ? 0 : cua_err_set(err, CUA_EXHAUSTED, "no memory");
}

static int read_labels(const json_t *value, struct spec *spec, struct cua_err *err) {
	return read_label_map(value, false, spec, err);
}

static int read_label_change(const json_t *value, struct spec *spec, struct cua_err *err) {
	return read_label_map(value, true, spec, err);
}

static int read_env(const json_t *value, struct spec *spec, struct cua_err *err) {
	if (!json_is_object(value)) {
		return wrong_type("env", "an object of strings", err);
	}
	size_t total = 0;
	const char *key = NULL;
	json_t *one = NULL;
	json_object_foreach((json_t *)(uintptr_t)value, key, one) {
		if (!json_is_string(one)) {
			return wrong_type("env", "an object of strings", err);
		}
		if (!cua_env_key_ok(key, strlen(key))) {
			return cua_err_about(err, CUA_INVALID, "env",
				"that is no name of a variable: %.64s", key);
		}
		total += strlen(key) + json_string_length(one) + 2;
	}
	if (total > CUA_ARG_BYTES) {
		return cua_err_about(
			err, CUA_TOO_LARGE, "env", "env is larger than %u bytes", CUA_ARG_BYTES);
	}
	spec->env = json_copy((json_t *)(uintptr_t)value);
	return spec->env ? 0 : cua_err_set(err, CUA_EXHAUSTED, "no memory");
}

static int check_command(const json_t *list, struct cua_err *err) {
	size_t total = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *word = json_array_get(list, i);
		if (!json_is_string(word)) {
			return wrong_type("command", "a string or a list of strings", err);
		}
		total += json_string_length(word) + 1;
	}
	if (json_array_size(list) == 0 || json_string_length(json_array_get(list, 0)) == 0) {
		return cua_err_about(err, CUA_INVALID, "command", "the command is empty");
	}
	if (total > CUA_ARG_BYTES || json_array_size(list) > CUA_ARGV_COUNT) {
		return cua_err_about(err, CUA_TOO_LARGE, "command",
			"the command is longer than %u bytes", CUA_ARG_BYTES);
	}
	return 0;
}

static int read_command(const json_t *value, struct spec *spec, struct cua_err *err) {
	if (json_is_string(value) && json_string_length(value) > 0) {
		spec->command = json_pack("[s, s, s]", "/bin/sh", "-c", json_string_value(value));
	} else if (json_is_array(value)) {
		spec->command = json_copy((json_t *)(uintptr_t)value);
	} else {
		return wrong_type("command", "a string or a list of strings", err);
	}
	if (!spec->command) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory");
	}
	return check_command(spec->command, err);
}

/* ---------------------------------------------------------------- screen and limits */

static int read_screen(const json_t *value, struct spec *spec, struct cua_err *err) {
	if (!json_is_string(value)) {
		return wrong_type("screen", "a string such as \"1280x800\"", err);
	}
	uint32_t size[2] = {0};
	int r = spec_screen(json_string_value(value), size, &spec->screen.dpi, err);
	if (r < 0) {
		return r;
	}
	spec->screen.width = size[0];
	spec->screen.height = size[1];
	return 0;
}

static int read_screen_max(const json_t *value, struct spec *spec, struct cua_err *err) {
	uint32_t size[2] = {0};
	uint32_t dpi = 0;
	if (!json_is_string(value)) {
		return wrong_type("screen_max", "a string such as \"1920x1200\"", err);
	}
	if (spec_screen(json_string_value(value), size, &dpi, err) < 0 || dpi != 0) {
		return cua_err_about(err, CUA_INVALID, "screen_max",
			"screen_max is WIDTHxHEIGHT, such as 1920x1200");
	}
	spec->screen.max_width = size[0];
	spec->screen.max_height = size[1];
	return 0;
}

static int read_cpus(const json_t *value, struct spec *spec, struct cua_err *err) {
	if (!json_is_number(value)) {
		return wrong_type("limits.cpus", "a number such as 2 or 0.5", err);
	}
	double cpus = json_number_value(value);
	if (!(cpus * 1000 >= CUA_CPU_MILLI_MIN && cpus * 1000 <= CUA_CPU_MILLI_MAX)) {
		return cua_err_about(err, CUA_INVALID, "limits.cpus",
			"limits.cpus is %g, allowed is %g to %g", cpus, CUA_CPU_MILLI_MIN / 1000.0,
			CUA_CPU_MILLI_MAX / 1000.0);
	}
	spec->limits.has_cpu_milli = true;
	spec->limits.cpu_milli = (uint32_t)(cpus * 1000 + 0.5);
	return 0;
}

static int read_memory(const json_t *value, struct spec *spec, struct cua_err *err) {
	spec->limits.has_memory = true;
	int r = spec_size(value, "limits.memory", &spec->limits.memory, err);
	return r < 0 ? r
		     : in_range("limits.memory", spec->limits.memory, CUA_MEMORY_MIN,
			       CUA_MEMORY_MAX, err);
}

static int read_disk(const json_t *value, struct spec *spec, struct cua_err *err) {
	spec->limits.has_disk = true;
	int r = spec_size(value, "limits.disk", &spec->limits.disk, err);
	return r < 0 ? r
		     : in_range("limits.disk", spec->limits.disk, CUA_DISK_MIN, CUA_DISK_MAX, err);
}

static int read_pids(const json_t *value, struct spec *spec, struct cua_err *err) {
	if (!json_is_integer(value)) {
		return wrong_type("limits.pids", "an integer", err);
	}
	json_int_t pids = json_integer_value(value);
	int r = in_range(
		"limits.pids", pids < 0 ? 0 : (uint64_t)pids, CUA_PIDS_MIN, CUA_PIDS_MAX, err);
	spec->limits.has_pids = r == 0;
	spec->limits.pids = r == 0 ? (uint32_t)pids : 0;
	return r;
}

static const struct key limit_keys[] = {
	{"cpus", read_cpus, "{\"type\":\"number\",\"description\":\"CPUs, also parts of one.\"}"},
	{"memory", read_memory, WITH_UNIT("Bytes, or a size such as 4G.")},
	{"pids", read_pids, "{\"type\":\"integer\",\"description\":\"Processes and threads.\"}"},
	{"disk", read_disk, WITH_UNIT("Bytes, or a size such as 10G.")},
};

static int read_keys(const json_t *json, const char *prefix, const struct key *keys, size_t count,
	struct spec *spec, struct cua_err *err);

static int read_limits(const json_t *value, struct spec *spec, struct cua_err *err) {
	if (!json_is_object(value)) {
		return wrong_type("limits", "an object", err);
	}
	return read_keys(value, "limits.", limit_keys, CUA_COUNT(limit_keys), spec, err);
}

/* ---------------------------------------------------------------- life, network, devices */

static int read_ttl(const json_t *value, struct spec *spec, struct cua_err *err) {
	spec->has_ttl = true;
	return json_is_null(value) ? 0 : spec_duration(value, "ttl", &spec->ttl_ms, err);
}

static int read_idle(const json_t *value, struct spec *spec, struct cua_err *err) {
	spec->has_idle = true;
	return json_is_null(value) ? 0 : spec_duration(value, "idle", &spec->idle_ms, err);
}

/* A key of which this server knows one value only. */
static int only(const json_t *value, const char *key, const char *word, struct cua_err *err) {
	if (json_is_string(value) && strcmp(json_string_value(value), word) == 0) {
		return 0;
	}
	return cua_err_about(
		err, CUA_INVALID, key, "this server can do only \"%s\" for %s", word, key);
}

static int read_on_end(const json_t *value, struct spec *spec, struct cua_err *err) {
	(void)spec;
	return only(value, "on_end", "remove", err);
}

static int read_gpu(const json_t *value, struct spec *spec, struct cua_err *err) {
	(void)spec;
	return only(value, "gpu", "none", err);
}

static int read_mounts(const json_t *value, struct spec *spec, struct cua_err *err) {
	(void)spec;
	if (json_is_array(value) && json_array_size(value) == 0) {
		return 0;
	}
	return cua_err_about(
		err, CUA_INVALID, "mounts", "this server does not mount directories of the host");
}

static int read_network(const json_t *value, struct spec *spec, struct cua_err *err) {
	const char *word = json_is_string(value) ? json_string_value(value) : "";
	if (strcmp(word, "none") == 0) {
		spec->network = cua_Network_NETWORK_NONE;
		return 0;
	}
	if (strcmp(word, "open") == 0) {
		spec->network = cua_Network_NETWORK_OPEN;
		return 0;
	}
	if (json_is_object(value)) {
		return cua_err_about(err, CUA_INVALID, "network",
			"this server cannot enforce an allow list: network is none or open");
	}
	return cua_err_about(err, CUA_INVALID, "network", "network is \"none\" or \"open\"");
}

#define LIFE WITH_UNIT("Milliseconds, or a duration such as 8h: removed after so long.")
#define IDLE                                                                                       \
	WITH_UNIT("Milliseconds, or a duration such as 30m: removed after so long without an "     \
		  "action, a command or a viewer.")

static const struct key keys[] = {
	{"name", read_name, TEXT("a-z, 0-9 and -, at most 32; made up without it.")},
	{"title", read_title, TEXT("Any text.")},
	{"template", read_template, TEXT("What to start from; the server's default without it.")},
	{"screen", read_screen, TEXT("WIDTHxHEIGHT or WIDTHxHEIGHT@DPI.")},
	{"screen_max", read_screen_max, TEXT("WIDTHxHEIGHT that the X server can grow to.")},
	{"labels", read_labels, MAP("Words to find the session by.")},
	{"command", read_command,
		"{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
		"\"description\":\"Started on the desktop as the agent.\"}"},
	{"env", read_env, MAP("Variables for everything that runs as the agent.")},
	{"limits", read_limits, ""}, /* limit_keys */
	{"ttl", read_ttl, LIFE},
	{"idle", read_idle, IDLE},
	{"on_end", read_on_end, ONE_OF("\"remove\"", "At the end of its life.")},
	{"gpu", read_gpu, ONE_OF("\"none\"", "GPUs for the session.")},
	{"network", read_network,
		ONE_OF("\"none\",\"open\"",
			"open reaches the internet, not this host's networks.")},
	{"mounts", read_mounts,
		"{\"type\":\"array\",\"maxItems\":0,\"description\":\"Directories of the host.\"}"},
};

static const struct key change_keys[] = {
	{"title", read_title, TEXT("Any text.")},
	{"labels", read_label_change,
		"{\"type\":\"object\",\"additionalProperties\":{\"type\":[\"string\",\"null\"]},"
		"\"description\":\"Labels to set; null takes one away.\"}"},
	{"ttl", read_ttl, LIFE},
	{"idle", read_idle, IDLE},
};

/* ---------------------------------------------------------------- as JSON Schema */

static json_t *schema_of(const struct key *list, size_t count) {
	json_t *properties = json_object();
	for (size_t i = 0; i < count; i++) {
		json_t *schema = list[i].schema[0] ? json_loads(list[i].schema, 0, NULL)
						   : schema_of(limit_keys, CUA_COUNT(limit_keys));
		(void)json_object_set_new(properties, list[i].name, schema);
	}
	return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
		"additionalProperties", 0);
}

json_t *spec_schema(void) {
	return schema_of(keys, CUA_COUNT(keys));
}

json_t *spec_change_schema(void) {
	return schema_of(change_keys, CUA_COUNT(change_keys));
}

/* ---------------------------------------------------------------- the whole */

static const struct key *key_find(const struct key *list, size_t count, const char *name) {
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].name, name) == 0) {
			return &list[i];
		}
	}
	return NULL;
}

static int read_keys(const json_t *json, const char *prefix, const struct key *list, size_t count,
	struct spec *spec, struct cua_err *err) {
	const char *name = NULL;
	json_t *value = NULL;
	json_object_foreach((json_t *)(uintptr_t)json, name, value) {
		const struct key *key = key_find(list, count, name);
		if (!key) {
			char full[64];
			(void)snprintf(full, sizeof(full), "%s%.48s", prefix, name);
			return cua_err_about(
				err, CUA_BAD_REQUEST, full, "unknown key %s%.200s", prefix, name);
		}
		int r = key->read(value, spec, err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* The largest screen follows the wanted one unless it was given. */
static int finish_screen(cua_Screen *s, const uint32_t max[2], struct cua_err *err) {
	if (s->max_width == 0) {
		s->max_width = s->width > max[0] ? s->width : max[0];
		s->max_height = s->height > max[1] ? s->height : max[1];
	}
	int r = in_range("screen_max", s->max_width, CUA_SCREEN_MIN_W, CUA_SCREEN_MAX_W, err);
	if (r == 0) {
		r = in_range("screen_max", s->max_height, CUA_SCREEN_MIN_H, CUA_SCREEN_MAX_H, err);
	}
	if (r == 0) {
		r = in_range("screen", s->width, CUA_SCREEN_MIN_W, s->max_width, err);
	}
	if (r == 0) {
		r = in_range("screen", s->height, CUA_SCREEN_MIN_H, s->max_height, err);
	}
	return r < 0 ? r : in_range("screen", s->dpi, CUA_DPI_MIN, CUA_DPI_MAX, err);
}

int spec_read(const json_t *json, const struct spec_screens *defaults, struct spec *ret,
	struct cua_err *err) {
	if (!json_is_object(json)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a session spec is an object");
	}
	*ret = (struct spec){.screen = {.width = defaults->usual[0],
				     .height = defaults->usual[1],
				     .dpi = DEFAULT_DPI},
		.network = cua_Network_NETWORK_OPEN};
	int r = read_keys(json, "", keys, CUA_COUNT(keys), ret, err);
	if (r == 0) {
		r = finish_screen(&ret->screen, defaults->max, err);
	}
	if (r < 0) {
		spec_done(ret);
	}
	return r;
}

int spec_read_change(const json_t *json, struct spec *ret, struct cua_err *err) {
	if (!json_is_object(json)) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a change is an object");
	}
	*ret = (struct spec){0};
	const char *name = NULL;
	json_t *value = NULL;
	json_object_foreach((json_t *)(uintptr_t)json, name, value) {
		if (key_find(keys, CUA_COUNT(keys), name) &&
			!key_find(change_keys, CUA_COUNT(change_keys), name)) {
			return cua_err_about(
				err, CUA_INVALID, name, "%s of a session cannot be changed", name);
		}
	}
	int r = read_keys(json, "", change_keys, CUA_COUNT(change_keys), ret, err);
	if (r < 0) {
		spec_done(ret);
	}
	return r;
}
