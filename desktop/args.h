/* Checks an action's parameters against its row once more: cuad has done it, but cuad is the process
 * that faces the network. Pure. */
#pragma once

#include "cua/action.h"

/* 0 when everything that the row asks for is there and within its range; else -CUA_INVALID, or
 * -CUA_TOO_LARGE for a text, about the parameter. What the row does not name is not looked at. */
int args_check(const struct cua_call *call, struct cua_err *err) CUA_CHECK;

/* A point given in the pixels of a picture of the size args->space, or of the screen without one, as
 * a point of a screen of this size. -CUA_OUT_OF_SCREEN when it lies outside. */
int args_point(const cua_Args *args, const int screen[2], const int32_t point[2], int ret[2],
	struct cua_err *err) CUA_CHECK;
/* A distance in the same units. */
void args_step(const cua_Args *args, const int screen[2], const int32_t step[2], int ret[2]);
