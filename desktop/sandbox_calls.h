/* Which system calls the sandboxed worker may make. */
#pragma once

#include "cua/err.h"

/* Puts the allow-list in force for good, in every thread; every other call fails with EPERM, and
 * creating a process or executing a program kills. Needs no_new_privs. */
int sandbox_calls_filter(struct cua_err *err) CUA_CHECK;
