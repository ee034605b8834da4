/* /etc/cuad/cuad.yaml, checked, with defaults for all that it does not say. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cua/err.h"
#include "cua/limits.h"
#include "cua/msg.h"

struct config_listener {
	char address[46];
	uint16_t port;
	char tls_cert[256]; /* "" without TLS */
	char tls_key[256];
	bool insecure;
};

struct config {
	struct config_listener listen[CUA_LISTENERS_MAX];
	size_t listen_count;
	char allow[CUA_ALLOW_MAX]
		  [20]; /* networks that sessions may reach although they are private */
	size_t allow_count;
	char pool[20]; /* addresses of sessions */
	uint32_t max_sessions;
	cua_Limits limits; /* of a session that names none; all four set */
	uint64_t memory_reserve;
	char dns[CUA_DNS_MAX][46];
	size_t dns_count;
	char default_template[CUA_NAME_SIZE];
	char *origins[CUA_ORIGINS_MAX + 1]; /* NULL-terminated; pages that may use the server */
	size_t origin_count;
	uint32_t screen[2]; /* width and height of a session that names none */
	uint32_t screen_max[2]; /* what its X server can grow to */
};

#define CONFIG_URL_SIZE 128

/* Parses the text of a file; an empty one gives the defaults. NULL: err names the key and the line.
 * Free with config_free(). */
struct config *config_parse(const char *text, size_t len, struct cua_err *err);
/* The same for a descriptor that is read to its end. */
struct config *config_read(int fd, struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct config *config_free(struct config *config);

/* The origins that pages of other hosts may have; NULL-terminated. */
const char *const *config_origins(const struct config *config);
/* The URL of the first listener without a path, "http://127.0.0.1:7880". NULL config: the default. */
void config_base_url(const struct config *config, char ret_url[CONFIG_URL_SIZE]);
/* The supervisor's half. */
void config_to_wire(const struct config *config, cua_Config *ret);

/* `cuad --print-config`: reads the file on `in` and sends one CUA_MSG_CONFIG on `sock`, which carries
 * the error if the file is wrong. Negative only when it could not be sent. */
int config_print(int in, int sock, struct cua_err *err) CUA_CHECK;
