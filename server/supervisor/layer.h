/* A template's layers through the session's id map, and the overlay over them. */
#pragma once

#include "server/supervisor/plan.h"

/* A template's layers, topmost first. */
struct layer_list {
	char name[PLAN_LAYERS_MAX][CUA_NAME_SIZE];
	size_t count;
};

/* Reads the list of the session's template and checks that every layer is there. -CUA_NOT_FOUND
 * (about "template") when the template or one of its layers does not exist or is incomplete. */
int layer_read(const struct plan_host *host, const struct plan *plan, struct layer_list *ret,
	struct cua_err *err) CUA_CHECK;

/* Mounts the layers at RUN/sessions/ID/layer-N, read-only and with the session's ids. */
int layer_mount(const struct plan_host *host, const struct plan *plan,
	const struct layer_list *layers, struct cua_err *err) CUA_CHECK;

/* Mounts the overlay of `count` mounted layers at plan->rootfs, its upper directory on the mounted
 * disk. */
int layer_stack(const struct plan *plan, size_t count, struct cua_err *err) CUA_CHECK;

/* Unmounts the overlay and all layers; the directories stay. */
int layer_unmount(const struct plan *plan, struct cua_err *err) CUA_CHECK;
