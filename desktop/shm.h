/* Memory shared with the X server, for pictures of it. The server gets a descriptor, for nothing else
 * crosses the container's IPC namespace; the memory is sealed, so the server cannot cut it off. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "desktop/x11.h"

struct shm {
	uint32_t segment; /* 0: there is none */
	uint32_t *pixels;
	size_t len; /* bytes */
};

/* Replaces what is in *shm (a zero struct at first) by len bytes. 0; on failure there is none:
 * -CUA_INTERNAL when the server refuses, -CUA_NOT_FOUND when it is gone, -CUA_EXHAUSTED. */
int shm_make(struct shm *shm, struct x11 *x, size_t len, struct cua_err *err) CUA_CHECK;
/* Lets go of it; fine on a zero struct and after the server is gone. */
void shm_done(struct shm *shm, struct x11 *x);

/* A part of a drawable. */
struct shm_part {
	unsigned long drawable;
	int x;
	int y;
	int width;
	int height;
};
/* Has the server write these pixels, rows without gaps, at this byte of the memory. One request, so
 * all of them are of one moment. 0; 1 when the server refuses, as it does for a part that is not
 * inside, or when it is gone. The part must fit into the memory. */
int shm_get(const struct shm *shm, struct x11 *x, const struct shm_part *part,
	uint32_t offset) CUA_CHECK;
