/* The sockets on which cuad answers. They are made here, as root and once, so that a cuad that is
 * started again refuses no connection. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "cua/msg.h"

/* ListenerHandover.kind */
#define LISTEN_CONTROL 0u
#define LISTEN_TCP 1u

#define LISTEN_MAX 9

struct listener {
	int fd;
	cua_ListenerHandover what;
};

struct listeners {
	struct listener list[LISTEN_MAX];
	size_t count;
};

/* Opens RUN/cuad.sock (0660, root and this group) and every TCP listener of a configuration that
 * spec_config() has checked. On failure nothing stays open; -CUA_CONFLICT when an address is in
 * use, which passes when a dying cuad holds it. */
int listen_open(const cua_Config *config, const char *run_dir, gid_t group, struct listeners *ret,
	struct cua_err *err) CUA_CHECK;

/* Closes them and removes nothing. */
void listen_close(struct listeners *listeners);
