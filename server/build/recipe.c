/* Loads recipes with libcyaml, the only file here that knows it; checks names are in recipe_check.c.
 *
 * It reads files and builds nothing: files, services and packages are used by stage.c and build.c. */
#include "server/build/recipe.h"

#include <assert.h>
#include <cyaml/cyaml.h>
#include <stdarg.h>

#include "cua/ident.h"

static const cyaml_schema_value_t text_value = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED),
};

static const cyaml_schema_field_t file_fields[] = {
	CYAML_FIELD_STRING_PTR("path", CYAML_FLAG_POINTER, struct recipe_file, path, 1, 255),
	CYAML_FIELD_STRING_PTR(
		"mode", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct recipe_file, mode, 3, 4),
	CYAML_FIELD_STRING_PTR(
		"content", CYAML_FLAG_POINTER, struct recipe_file, content, 0, CYAML_UNLIMITED),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t file_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct recipe_file, file_fields),
};

static const cyaml_schema_field_t service_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct recipe_service, name, 1, 32),
	CYAML_FIELD_STRING_PTR("user", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
		struct recipe_service, user, 1, 32),
	CYAML_FIELD_BOOL("once", CYAML_FLAG_OPTIONAL, struct recipe_service, once),
	CYAML_FIELD_BOOL("screen", CYAML_FLAG_OPTIONAL, struct recipe_service, screen),
	CYAML_FIELD_STRING_PTR("wait", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
		struct recipe_service, wait, 1, 255),
	CYAML_FIELD_SEQUENCE(
		"command", CYAML_FLAG_POINTER, struct recipe_service, command, &text_value, 1, 64),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t service_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct recipe_service, service_fields),
};

static const cyaml_schema_field_t recipe_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct recipe, name, 1, 32),
	CYAML_FIELD_STRING_PTR(
		"description", CYAML_FLAG_POINTER, struct recipe, description, 1, 255),
	CYAML_FIELD_STRING_PTR(
		"extends", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct recipe, extends, 1, 32),
	CYAML_FIELD_SEQUENCE("packages", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct recipe,
		packages, &text_value, 0, 1024),
	CYAML_FIELD_SEQUENCE("files", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct recipe,
		files, &file_value, 0, 256),
	CYAML_FIELD_SEQUENCE("services", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct recipe,
		services, &service_value, 0, RECIPE_SERVICES_MAX),
	CYAML_FIELD_STRING_PTR("run", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct recipe, run,
		0, CYAML_UNLIMITED),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t recipe_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct recipe, recipe_fields),
};

/* Collects libcyaml's complaints, which come in pieces and end lines themselves. */
struct complaint {
	char text[320];
	size_t len;
};

static void on_yaml_log(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
	CUA_PRINTF(3, 0);
static void on_yaml_log(cyaml_log_t level, void *ctx, const char *fmt, va_list args) {
	struct complaint *complaint = ctx;
	char line[160];
	if (level < CYAML_LOG_ERROR) {
		return;
	}
	(void)vsnprintf(line, sizeof line, fmt, args);
	for (const char *p = line; *p && complaint->len + 1 < sizeof complaint->text; p++) {
		complaint->text[complaint->len++] = *p == '\n' ? ' ' : *p;
	}
	complaint->text[complaint->len] = '\0';
}

static cyaml_config_t yaml_config(struct complaint *complaint) {
	return (cyaml_config_t){
		.log_fn = on_yaml_log,
		.log_ctx = complaint,
		.mem_fn = cyaml_mem,
		.log_level = CYAML_LOG_ERROR,
		.flags = CYAML_CFG_DEFAULT,
	};
}

static void recipe_free(struct recipe *recipe) {
	struct complaint unused = {.len = 0};
	cyaml_config_t config = yaml_config(&unused);
	(void)cyaml_free(&config, &recipe_value, recipe, 0);
}

static int recipe_load(const char *path, struct recipe **ret, struct cua_err *err) {
	struct complaint complaint = {.len = 0};
	cyaml_config_t config = yaml_config(&complaint);
	cyaml_data_t *data = NULL;
	cyaml_err_t r = cyaml_load_file(path, &config, &recipe_value, &data, NULL);
	if (r != CYAML_OK) {
		return cua_err_set(err, CUA_INVALID, "recipe %s: %s", path,
			complaint.len ? complaint.text : cyaml_strerror(r));
	}
	if (!data) {
		return cua_err_set(err, CUA_INVALID, "recipe %s: is empty", path);
	}
	*ret = data;
	return 0;
}

/* Finds NAME.yaml in the first directory that has it. */
static int recipe_find(const char *const *dirs, const char *name, char *ret_path, size_t size,
	struct cua_err *err) {
	for (; *dirs; dirs++) {
		int n = snprintf(ret_path, size, "%s/%s.yaml", *dirs, name);
		if (n > 0 && (size_t)n < size && access(ret_path, R_OK) == 0) {
			return 0;
		}
	}
	return cua_err_about(err, CUA_NOT_FOUND, "template",
		"there is no recipe %s.yaml; put one into /etc/cuad/templates or name another",
		name);
}

/* Appends one recipe; the chain is still in the order child to parent. */
static int chain_append(struct recipe_chain *chain, const char *const *dirs, const char *name,
	struct cua_err *err) {
	if (chain->count == RECIPE_DEPTH) {
		return cua_err_set(err, CUA_INVALID,
			"recipes extend each other more than %d deep, or in a circle",
			RECIPE_DEPTH);
	}
	char *path = chain->path[chain->count];
	int r = recipe_find(dirs, name, path, sizeof chain->path[0], err);
	if (r < 0) {
		return r;
	}
	r = recipe_load(path, &chain->item[chain->count], err);
	if (r < 0) {
		return r;
	}
	const struct recipe *recipe = chain->item[chain->count++];
	r = recipe_check(recipe, err);
	if (r < 0) {
		return cua_err_prefix(err, "recipe %s", path);
	}
	if (strcmp(recipe->name, name) != 0) {
		return cua_err_set(err, CUA_INVALID,
			"recipe %s: its name is \"%s\", not the file's", path, recipe->name);
	}
	return 0;
}

static void chain_reverse(struct recipe_chain *chain) {
	for (size_t i = 0, j = chain->count - 1; i < j; i++, j--) {
		struct recipe *item = chain->item[i];
		char path[sizeof chain->path[0]];
		chain->item[i] = chain->item[j];
		chain->item[j] = item;
		memcpy(path, chain->path[i], sizeof path);
		memcpy(chain->path[i], chain->path[j], sizeof path);
		memcpy(chain->path[j], path, sizeof path);
	}
}

int recipe_chain_load(
	const char *const *dirs, const char *name, struct recipe_chain *ret, struct cua_err *err) {
	_cleanup_(recipe_chain_done) struct recipe_chain chain = {.count = 0};
	while (name) {
		if (!cua_name_ok(name)) {
			return cua_err_about(err, CUA_INVALID, "template",
				"\"%.64s\" is not a name of a template", name);
		}
		int r = chain_append(&chain, dirs, name, err);
		if (r < 0) {
			return r;
		}
		name = chain.item[chain.count - 1]->extends;
	}
	chain_reverse(&chain);
	*ret = chain;
	chain.count = 0;
	return 0;
}

void recipe_chain_done(struct recipe_chain *chain) {
	for (size_t i = 0; i < chain->count; i++) {
		recipe_free(chain->item[i]);
	}
	chain->count = 0;
}

const struct recipe *recipe_chain_top(const struct recipe_chain *chain) {
	assert(chain->count > 0);
	return chain->item[chain->count - 1];
}

static size_t service_slot(
	const struct recipe_service *const *list, size_t count, const char *name) {
	size_t i = 0;
	while (i < count && strcmp(list[i]->name, name) != 0) {
		i++;
	}
	return i;
}

int recipe_chain_services(const struct recipe_chain *chain,
	const struct recipe_service *ret[RECIPE_SERVICES_MAX], struct cua_err *err) {
	size_t count = 0;
	for (size_t i = 0; i < chain->count; i++) {
		const struct recipe *recipe = chain->item[i];
		for (unsigned k = 0; k < recipe->services_count; k++) {
			size_t slot = service_slot(ret, count, recipe->services[k].name);
			if (slot == RECIPE_SERVICES_MAX) {
				return cua_err_set(err, CUA_INVALID, "more than %d services",
					RECIPE_SERVICES_MAX);
			}
			ret[slot] = &recipe->services[k];
			count = slot == count ? count + 1 : count;
		}
	}
	return (int)count;
}
