/* Everything about a session that follows from its record: ids, names, addresses, paths.
 *
 * Paths of one session (STATE is /var/lib/cuad, RUN is /run/cuad):
 *   STATE/sessions/ID/record      what the supervisor must know again after a restart
 *   STATE/sessions/ID/disk.img    sparse ext4, as large as the disk limit: upper and work directory
 *   RUN/sessions/ID/disk          where disk.img is mounted
 *   RUN/sessions/ID/layer-N       template layers, mounted with the session's id map
 *   RUN/sessions/ID/rootfs        the overlay of both, the container's root
 *   RUN/sessions/ID/x11           a small tmpfs, bound read-write at /tmp/.X11-unix: holds X0
 *   RUN/sessions/ID/link          bound read-only at /run/cuad/link: holds E5's socket "sock"
 *   RUN/sessions/ID/lxc           liblxc's own directory for this container (lxcpath)
 * The directory RUN/sessions/ID is 0110, owned by the container's root (liblxc passes through it with
 * that id) and the worker's group: other users of the host cannot reach the container's setuid
 * files, and a container never sees it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cua/err.h"
#include "cua/limits.h"
#include "cua/msg.h"

/* Where the installation keeps things; filled once at start. */
struct plan_host {
	char state_dir[256]; /* /var/lib/cuad */
	char run_dir[256]; /* /run/cuad */
	char libexec_dir[256]; /* our programs */
	char data_dir[256]; /* /usr/share/cuad: rule file, seccomp list, recipes */
	uint32_t id_base; /* first host id of the range in /etc/subuid */
	uint32_t id_count;
	uint32_t pool; /* first address of the pool, host order (10.213.0.0) */
	uint32_t pool_bits; /* its prefix length (16) */
};

#define PLAN_IDS_PER_SESSION 65536u
#define PLAN_LAYERS_MAX 16
#define PLAN_PATH 512

/* The persistent record. Slot 0 is never a session's: its id range serves the workers. */
struct plan_record {
	char id[CUA_ID_SIZE];
	char name[CUA_NAME_SIZE];
	char template[CUA_NAME_SIZE];
	uint32_t slot; /* 1 … */
	cua_Screen screen;
	cua_Limits limits; /* all four set */
	cua_Network network;
	uint64_t created_ms;
	bool complete; /* false until the first start succeeded: a crash before that rolls back */
};

/* What follows from the record. */
struct plan {
	struct plan_record record;
	uint32_t id_first; /* host id of the container's root */
	uint32_t worker_uid; /* host uid and gid of the worker, in slot 0's range */
	char interface[16]; /* "csN", N the slot */
	char address[16]; /* dotted; "" without a network */
	char gateway[16];
	char hwaddr[18];
	char state[PLAN_PATH]; /* STATE/sessions/ID */
	char run[PLAN_PATH]; /* RUN/sessions/ID */
	char image[PLAN_PATH];
	char disk[PLAN_PATH];
	char rootfs[PLAN_PATH];
	char x11[PLAN_PATH];
	char link[PLAN_PATH];
	char lxcpath[PLAN_PATH];
};

/* Derives a plan. -CUA_INVALID when the id, a name or a limit is not one (about the field);
 * -CUA_EXHAUSTED (about "sessions") when the slot is beyond the host's ranges. */
int plan_make(const struct plan_host *host, const struct plan_record *record, struct plan *ret,
	struct cua_err *err) CUA_CHECK;

/* The gateway address of the host's pool as dotted text: the first of its last 256 addresses
 * (10.213.255.1 for 10.213.0.0/16), or the last but one of a smaller pool. */
void plan_gateway(const struct plan_host *host, char ret_address[16]);

/* How many sessions the host's ids and addresses suffice for: the largest slot. */
uint32_t plan_slots(const struct plan_host *host);

/* Reads "A.B.C.D/N" with N from 8 to 29 into pool and pool_bits. -CUA_INVALID (about "pool") when
 * it is not that or has bits set beyond the prefix. */
int plan_host_pool(struct plan_host *host, const char *text, struct cua_err *err) CUA_CHECK;

/* Reads the range of root in /etc/subuid and checks that /etc/subgid has the same. */
int plan_host_ids(struct plan_host *host, struct cua_err *err) CUA_CHECK;

/* The largest range of root in the text of such a file. False when there is none that serves at
 * least one session and the workers. */
bool plan_ids_parse(const char *text, uint32_t *ret_base, uint32_t *ret_count);
