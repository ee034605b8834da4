/* A session's file system on the host: image, idmapped template layers, overlay. Blocking; called
 * in op children only. Every function is idempotent in the direction it works. */
#pragma once

#include "server/supervisor/plan.h"

/* Makes STATE/sessions and RUN/sessions and turns the latter into a mount with its own propagation
 * group: nothing mounted there appears in mount namespaces that exist already (they would hold a
 * session's disk after its end), and what later ones copy, goes from there with ours. Called by
 * mount_up(); cheap when done already. -CUA_INVALID when a path holds bytes that mount options or
 * liblxc would misread. */
int mount_prepare(const struct plan_host *host, struct cua_err *err) CUA_CHECK;

/* Makes the directories, creates (once) and mounts the disk image, mounts the template's layers
 * through the session's id map and the overlay over them, and, unless the record is complete,
 * writes the session's own files into /etc (hostname, hosts, resolv.conf, machine-id). On failure
 * everything made by the call is undone. -CUA_NOT_FOUND (about "template") when the template does
 * not exist or is incomplete. */
int mount_up(const struct plan_host *host, const struct plan *plan, struct cua_err *err) CUA_CHECK;

/* Takes all mounts of the session away (lazily if they are busy) and the run directory with them;
 * the disk image stays. Nothing there is success. Frees the loop device, unless another mount
 * namespace holds a private copy of the mount: then it is freed when that ends. */
int mount_down(
	const struct plan_host *host, const struct plan *plan, struct cua_err *err) CUA_CHECK;

/* Removes the image and the state directory, after mount_down(). Never follows a symlink. */
int mount_erase(
	const struct plan_host *host, const struct plan *plan, struct cua_err *err) CUA_CHECK;

/* Bytes used on the session's disk, from statfs of the mounted image. */
int mount_usage(const struct plan *plan, uint64_t *ret_used, struct cua_err *err) CUA_CHECK;
