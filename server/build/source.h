/* Where packages come from: the host's own entries for its distribution, and how apt reaches them.
 *
 * Third-party archives of the host are left out: a template holds the distribution and nothing else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cua/err.h"

#define SOURCE_MAX 32

struct source_list {
	char codename[64]; /* bookworm */
	char origin[64]; /* Debian, Ubuntu */
	char arch[32];
	char line[SOURCE_MAX][768]; /* "deb [signed-by=…] URI SUITE COMPONENT…" */
	size_t count;
	char option[SOURCE_MAX][512]; /* apt options: proxies, certificates, relaxed dates */
	size_t option_count;
};

/* Asks the host's apt. -CUA_NOT_FOUND when the host knows no archive of its own distribution, as on
 * a machine where `apt-get update` never ran. */
int source_read(struct source_list *ret, struct cua_err *err) CUA_CHECK;

/* True for an apt option that must not stay in a template, because it belongs to the host: proxies
 * may carry a password, certificates and helper programs are files of the host. */
bool source_option_private(const char *option);

/* The keyring that entry number N of an apt source file names, or "" if it names none. */
void source_keyring(const char *file, unsigned entry, char *ret, size_t size);
