/* The configuration file as text in the form of its schema, before any value is understood. */
#pragma once

#include <stddef.h>

#include "cua/err.h"

struct yaml_tls {
	char *cert;
	char *key;
};

struct yaml_listener {
	char *address;
	char *port;
	struct yaml_tls *tls;
	char *insecure;
};

struct yaml_limits {
	char *cpus;
	char *memory;
	char *pids;
	char *disk;
};

struct yaml_config {
	struct yaml_listener *listen;
	unsigned listen_count;
	char **allow;
	unsigned allow_count;
	char *pool;
	char *max_sessions;
	struct yaml_limits *limits;
	char *memory_reserve;
	char **dns;
	unsigned dns_count;
	char *default_template;
	char **origins;
	unsigned origins_count;
	char *screen;
	char *screen_max;
	char *insecure;
};

/* Loads a document; *ret is NULL for an empty one. What is absent is NULL. -CUA_INVALID names the key
 * and the line. */
int config_yaml_load(
	const char *text, size_t len, struct yaml_config **ret, struct cua_err *err) CUA_CHECK;
/* NULL is fine. */
void config_yaml_free(struct yaml_config *yaml);
/* Number of the first line where this key stands, from 1 on; 0 if nowhere. */
unsigned config_yaml_line(const char *text, size_t len, const char *key, unsigned from);
