/* A session's disk: a sparse ext4 image on a loop device. What its size is, the session can write,
 * and nothing more. */
#pragma once

#include "server/supervisor/plan.h"

/* Makes the image unless there is one: whole or not at all. Sets *ret_made when it made it. */
int image_make(const struct plan *plan, bool *ret_made, struct cua_err *err) CUA_CHECK;

/* Mounts the image at plan->disk. A loop device that still holds the image is used again, so that
 * one image is never the backing of two file systems. */
int image_mount(const struct plan *plan, struct cua_err *err) CUA_CHECK;

/* Unmounts it and waits a moment until its loop device is free. A mount namespace that copied the
 * mount privately while it was there (`unshare --mount` does) keeps it for as long as it lives: that
 * is no failure, the device frees itself then, and until then image_mount() uses it again. */
int image_unmount(const struct plan *plan, struct cua_err *err) CUA_CHECK;

/* Removes the image, giving its blocks back to the host even if a namespace still holds it. */
int image_remove(const struct plan *plan, struct cua_err *err) CUA_CHECK;
