/* YAML to JSON for spec files and --set; the only file that includes libyaml. */
#include "server/ctl/ctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { DEPTH_MAX = 16 };

static json_t *plain_scalar(const char *text) {
	if (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0) {
		return json_null();
	}
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
		return json_boolean(text[0] == 't');
	}
	/* numbers exactly as JSON writes them; "007" and "4G" stay texts */
	json_t *number = json_loads(text, JSON_DECODE_ANY, NULL);
	if (json_is_number(number)) {
		return number;
	}
	json_decref(number);
	return json_string(text);
}

static json_t *convert(yaml_document_t *doc, const yaml_node_t *node, int depth);

static json_t *convert_sequence(yaml_document_t *doc, const yaml_node_t *node, int depth) {
	json_t *list = json_array();
	for (yaml_node_item_t *i = node->data.sequence.items.start;
		i < node->data.sequence.items.top; i++) {
		json_t *item = convert(doc, yaml_document_get_node(doc, *i), depth);
		if (!item || json_array_append_new(list, item) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *convert_mapping(yaml_document_t *doc, const yaml_node_t *node, int depth) {
	json_t *object = json_object();
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
		p++) {
		const yaml_node_t *key = yaml_document_get_node(doc, p->key);
		json_t *value = key && key->type == YAML_SCALAR_NODE
					? convert(doc, yaml_document_get_node(doc, p->value), depth)
					: NULL;
		if (!value || json_object_set_new(
				      object, (const char *)key->data.scalar.value, value) < 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static json_t *convert(yaml_document_t *doc, const yaml_node_t *node, int depth) {
	if (!node || depth > DEPTH_MAX) {
		return NULL;
	}
	switch (node->type) {
	case YAML_SCALAR_NODE:
		return node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
			       ? plain_scalar((const char *)node->data.scalar.value)
			       : json_string((const char *)node->data.scalar.value);
	case YAML_SEQUENCE_NODE:
		return convert_sequence(doc, node, depth + 1);
	case YAML_MAPPING_NODE:
		return convert_mapping(doc, node, depth + 1);
	default:
		return NULL;
	}
}

json_t *yaml_to_json(const char *text, size_t len, struct cua_err *err) {
	yaml_parser_t parser;
	yaml_document_t doc;
	if (!yaml_parser_initialize(&parser)) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "out of memory");
		return NULL;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	json_t *json = NULL;
	if (!yaml_parser_load(&parser, &doc)) {
		(void)cua_err_set(err, CUA_BAD_REQUEST, "line %zu: %s",
			parser.problem_mark.line + 1, parser.problem ? parser.problem : "not YAML");
	} else {
		yaml_node_t *root = yaml_document_get_root_node(&doc);
		json = root ? convert(&doc, root, 0) : json_object();
		if (!json) {
			(void)cua_err_set(err, CUA_BAD_REQUEST,
				"the text is nested too deep or uses keys that are not plain");
		}
		yaml_document_delete(&doc);
	}
	yaml_parser_delete(&parser);
	return json;
}
