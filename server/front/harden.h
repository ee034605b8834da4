/* What cuad gives up before it does anything. */
#pragma once

#include "cua/err.h"

/* Refuses root, forbids new rights and core dumps, closes the world
 * off from files that are made, and raises the number of descriptors to what the limits need. */
int harden(struct cua_err *err) CUA_CHECK;
