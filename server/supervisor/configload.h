/* Reads the configuration without parsing it: `cuad --print-config`, as the user cuad, gets the file
 * on its standard input and answers with one message on descriptor 3. */
#pragma once

#include "cua/msg.h"
#include "server/supervisor/options.h"

/* Blocks for at most 10 s; for the start only. A file that does not exist counts as an empty one.
 * The values are not checked beyond their form: that is spec_config(). What cuad says is wrong with
 * the file comes back as the error. */
int configload(const struct options *options, uid_t uid, gid_t gid, struct cua_msg *scratch,
	cua_Config *ret, struct cua_err *err) CUA_CHECK;

/* Opens the configuration for a child to read; /dev/null when the file does not exist. */
int configload_open(const struct options *options, struct cua_err *err) CUA_CHECK;
