/* Start and end of the supervisor: takes the lock, reads what there is, reclaims, then serves. The
 * work of every day is elsewhere: session.c, frontend.c, guard.c. */
#include "server/supervisor/supervisor.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/log.h"
#include "server/supervisor/configload.h"
#include "server/supervisor/frontend.h"
#include "server/supervisor/guard.h"
#include "server/supervisor/mount.h"
#include "server/supervisor/reclaim.h"
#include "server/supervisor/resolver.h"
#include "server/supervisor/roster.h"
#include "server/supervisor/session.h"
#include "server/supervisor/spawn.h"
#include "server/supervisor/spec.h"
#include "server/supervisor/store.h"
#include "server/supervisor/template.h"

#define LOCK_MS 15000
#define STOP_MS 20000
#define RECLAIM_MS 300000
#define DESCRIPTORS 65536

/* What the first operation works on, until it is done. */
struct boot {
	struct supervisor *sup;
	struct reclaim_args *args;
	size_t size;
	char (*reasons)[384]; /* of each plan; "" for a good record */
	pid_t *init;
	uint64_t removed[4];
};

/* ---------------------------------------------------------------- records */

/* A record that says nothing gets a name and a slot, so that its container can be stopped and its
 * directories removed: all that leads there is the id. */
static int stand_in(const struct plan_host *host, const char *id, uint32_t slot, struct plan *ret) {
	struct plan_record record = {.slot = slot,
		.template = "unknown",
		.complete = true,
		.screen = {.width = CUA_SCREEN_MIN_W,
			.height = CUA_SCREEN_MIN_H,
			.dpi = 96,
			.max_width = CUA_SCREEN_MIN_W,
			.max_height = CUA_SCREEN_MIN_H},
		.limits = {.has_cpu_milli = true,
			.has_memory = true,
			.has_pids = true,
			.has_disk = true}};
	(void)snprintf(record.id, sizeof(record.id), "%s", id);
	(void)snprintf(record.name, sizeof(record.name), "damaged-%s", id);
	return plan_make(host, &record, ret, NULL);
}

static bool has_slot(const struct reclaim_args *args, uint32_t slot) {
	for (size_t i = 0; i < args->count; i++) {
		if (args->plans[i].record.slot == slot) {
			return true;
		}
	}
	return false;
}

static uint32_t free_slot(const struct reclaim_args *args) {
	uint32_t slot = 1;
	while (has_slot(args, slot)) {
		slot++;
	}
	return slot;
}

/* Reads a good record into the next plan. */
static int load_good(struct boot *boot, const char *id, struct cua_err *err) {
	struct reclaim_args *args = boot->args;
	struct plan_record record;
	int r = store_read(&args->host, id, &record, err);
	if (r == 0 && has_slot(args, record.slot)) {
		r = cua_err_set(err, CUA_INVALID, "the record claims a place that is taken");
	}
	if (r == 0) {
		r = plan_make(&args->host, &record, &args->plans[args->count], err);
	}
	if (r == 0) {
		args->count++;
	}
	return r;
}

/* Good records first: what stands in for damaged ones must not take their slots. A directory without
 * a record was never finished, or is being erased: no session, the reclaim pass removes it. */
static void load_all(struct boot *boot, char (*ids)[CUA_ID_SIZE], int count) {
	struct reclaim_args *args = boot->args;
	struct cua_err *errors = loop_alloc(sizeof(*errors) * ((size_t)count + 1));
	for (int i = 0; i < count; i++) {
		if (load_good(boot, ids[i], &errors[i]) == 0) {
			errors[i].code = CUA_OK;
		}
	}
	for (int i = 0; i < count; i++) {
		bool damaged = errors[i].code != CUA_OK && errors[i].code != CUA_NOT_FOUND;
		if (damaged && stand_in(&args->host, ids[i], free_slot(args),
				       &args->plans[args->count]) == 0) {
			(void)snprintf(boot->reasons[args->count], sizeof(boot->reasons[0]), "%s",
				errors[i].message);
			args->count++;
		}
	}
	free(errors);
	args->free_slot = free_slot(args);
}

static struct boot *boot_new(struct supervisor *sup, struct cua_err *err) {
	_cleanup_free_ char(*ids)[CUA_ID_SIZE] = NULL;
	int count = store_list(&sup->host, &ids, err);
	if (count < 0) {
		return NULL;
	}
	struct boot *boot = loop_alloc(sizeof(*boot));
	boot->sup = sup;
	boot->size = sizeof(*boot->args) + (size_t)count * sizeof(struct plan);
	boot->args = loop_alloc(boot->size);
	boot->reasons = loop_alloc(sizeof(boot->reasons[0]) * ((size_t)count + 1));
	boot->init = loop_alloc(sizeof(boot->init[0]) * ((size_t)count + 1));
	boot->args->host = sup->host;
	boot->args->allow_count = sup->config.allow_count;
	memcpy(boot->args->allow, sup->config.allow, sizeof(boot->args->allow));
	load_all(boot, ids, count);
	return boot;
}

static void boot_free(struct boot *boot) {
	free(boot->args);
	free(boot->reasons);
	free(boot->init);
	free(boot);
}

/* ---------------------------------------------------------------- the end */

static void give_up(struct supervisor *sup, const struct cua_err *err) {
	cua_log(CUA_LOG_ERROR, "%s", err->message);
	sup->status = 1;
	loop_stop(sup->loop);
}

static void on_idle(void *data) {
	struct supervisor *sup = data;
	loop_stop(sup->loop);
}

static void on_stop_deadline(void *data) {
	struct supervisor *sup = data;
	sup->deadline = NULL;
	cua_log(CUA_LOG_WARN, "operations are cut off; the next start clears up after them");
	loop_stop(sup->loop);
}

/* Sessions live on. Operations that run are let finish, for half a session is of no use. */
static void on_stop(void *data) {
	struct supervisor *sup = data;
	if (sup->stopping) {
		return;
	}
	sup->stopping = true;
	cua_log(CUA_LOG_INFO, "stopping; sessions run on");
	sup->frontend = frontend_free(sup->frontend);
	sup->resolver = resolver_free(sup->resolver);
	template_stop_builds(sup);
	ops_cancel_waiting(sup->ops);
	sup->deadline = loop_timer_add(sup->loop, STOP_MS, on_stop_deadline, sup);
	ops_on_idle(sup->ops, on_idle, sup);
}

static void on_cleared(void *data, int code, const struct cua_err *err) {
	struct supervisor *sup = data;
	if (code < 0) {
		give_up(sup, err);
		return;
	}
	cua_log(CUA_LOG_INFO, "all sessions are stopped");
	loop_stop(sup->loop);
}

/* With --halt, after the last session has stopped. */
static void on_halted(void *data) {
	struct supervisor *sup = data;
	for (const struct session *s = sup->sessions; s; s = s->next) {
		if (s->state == cua_State_STATE_FAILED && !s->damaged) {
			sup->status = 1;
		}
	}
	size_t size = 0;
	_cleanup_free_ struct reclaim_args *args = roster_plans(sup, &size);
	(void)op_start(sup->ops, &(struct op_spec){.work = reclaim_clear,
					 .args = args,
					 .args_size = size,
					 .deadline_ms = CUA_OP_MS,
					 .on_done = on_cleared,
					 .data = sup});
}

/* ---------------------------------------------------------------- the start */

static void on_boot_note(void *data, const struct op_note *note) {
	struct boot *boot = data;
	if (strcmp(note->name, "init") == 0 && note->value[0] < boot->args->count) {
		boot->init[note->value[0]] = (pid_t)note->value[1];
	} else if (strcmp(note->name, "reclaimed") == 0) {
		memcpy(boot->removed, note->value, sizeof(boot->removed));
	}
}

static void report(const struct boot *boot) {
	size_t running = 0;
	size_t unfinished = 0;
	for (size_t i = 0; i < boot->args->count; i++) {
		running += boot->init[i] > 0;
		unfinished += !boot->args->plans[i].record.complete;
	}
	const uint64_t *n = boot->removed;
	cua_log(CUA_LOG_INFO,
		"reclaimed: %" PRIu64 " containers, %" PRIu64 " mounts, %" PRIu64 " disks, %" PRIu64
		" templates; sessions: %zu, of which %zu run and %zu were "
		"never finished and go",
		n[RECLAIM_CONTAINERS], n[RECLAIM_MOUNTS], n[RECLAIM_DISKS], n[RECLAIM_TEMPLATES],
		boot->args->count, running, unfinished);
}

static void serve(struct supervisor *sup) {
	struct cua_err err = {0};
	sup->guard = guard_new(sup, &err);
	if (!sup->guard) {
		give_up(sup, &err);
		return;
	}
	char gateway[16];
	plan_gateway(&sup->host, gateway);
	sup->resolver = resolver_new(sup->loop, &sup->config, gateway);
	sup->frontend = frontend_new(sup);
}

static void on_booted(void *data, int code, const struct cua_err *err) {
	struct boot *boot = data;
	struct supervisor *sup = boot->sup;
	if (code < 0) {
		give_up(sup, err);
	} else if (!sup->stopping) {
		report(boot);
		for (size_t i = 0; i < boot->args->count; i++) {
			session_adopt(sup, &boot->args->plans[i], boot->init[i],
				boot->reasons[i][0] ? boot->reasons[i] : NULL);
		}
		if (sup->options.halt) {
			ops_on_idle(sup->ops, on_halted, sup);
		} else {
			serve(sup);
		}
	}
	boot_free(boot);
}

static int start_boot(struct supervisor *sup, struct cua_err *err) {
	struct boot *boot = boot_new(sup, err);
	if (!boot) {
		return -(int)err->code;
	}
	(void)op_start(sup->ops, &(struct op_spec){.work = reclaim_run,
					 .args = boot->args,
					 .args_size = boot->size,
					 .deadline_ms = RECLAIM_MS,
					 .on_note = on_boot_note,
					 .on_done = on_booted,
					 .data = boot});
	return 0;
}

/* A thousand sessions need some thousand descriptors. */
static void raise_descriptors(void) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int load_config(struct supervisor *sup, struct cua_err *err) {
	int r = configload(&sup->options, sup->uid, sup->gid, sup->scratch, &sup->config, err);
	if (r == 0) {
		r = spec_config(&sup->config, &sup->host, err);
	}
	if (r < 0 && sup->options.halt) {
		/* A broken file must not keep anybody from stopping everything. */
		cua_log(CUA_LOG_WARN, "%s", err->message);
		sup->config = (cua_Config)cua_Config_init_zero;
		r = plan_host_pool(&sup->host, "10.213.0.0/16", err);
	}
	return r;
}

static int make_run_dir(const struct plan_host *host, struct cua_err *err) {
	if (mkdir(host->run_dir, 0755) < 0 && errno != EEXIST) {
		return cua_err_errno(err, errno, "cannot create %s", host->run_dir);
	}
	return 0;
}

/* cuad's own files; the rest of the state is root's. */
static int make_front_dir(const struct supervisor *sup, struct cua_err *err) {
	char path[PLAN_PATH];
	(void)snprintf(path, sizeof(path), "%s/front", sup->host.state_dir);
	if ((mkdir(path, 0700) < 0 && errno != EEXIST) || lchown(path, sup->uid, sup->gid) < 0) {
		return cua_err_errno(err, errno, "cannot create %s", path);
	}
	return 0;
}

static int prepare(struct supervisor *sup, struct cua_err *err) {
	int r = make_run_dir(&sup->host, err);
	if (r == 0) {
		r = sup->lock = op_lock(sup->host.run_dir, LOCK_MS, err);
	}
	if (r >= 0) {
		r = spawn_user(sup->options.user, &sup->uid, &sup->gid, err);
	}
	if (r == 0) {
		r = load_config(sup, err);
	}
	if (r == 0) {
		r = plan_host_ids(&sup->host, err);
	}
	if (r == 0) {
		r = store_open(&sup->host, err);
	}
	if (r == 0) {
		/* With another run directory there are two of us all the same. */
		r = sup->state_lock = op_lock(sup->host.state_dir, LOCK_MS, err);
	}
	if (r >= 0) {
		r = make_front_dir(sup, err);
	}
	return r == 0 ? mount_prepare(&sup->host, err) : r;
}

static int watch_signals(struct supervisor *sup, struct cua_err *err) {
	int r = loop_signal_add(sup->loop, SIGTERM, on_stop, sup, err);
	return r == 0 ? loop_signal_add(sup->loop, SIGINT, on_stop, sup, err) : r;
}

static void supervisor_done(struct supervisor *sup) {
	sup->frontend = frontend_free(sup->frontend);
	sup->resolver = resolver_free(sup->resolver);
	sup->guard = guard_free(sup->guard);
	template_stop_builds(sup);
	session_free_all(sup);
	sup->ops = ops_free(sup->ops);
	sup->deadline = loop_timer_cancel(sup->deadline);
	sup->loop = loop_free(sup->loop);
	free(sup->scratch);
	if (sup->lock >= 0) {
		(void)close(sup->lock);
	}
	if (sup->state_lock >= 0) {
		(void)close(sup->state_lock);
	}
}

int supervisor_run(const struct options *options) {
	struct supervisor sup = {
		.options = *options, .host = options->host, .lock = -1, .state_lock = -1};
	struct cua_err err = {0};
	raise_descriptors();
	sup.scratch = loop_alloc(sizeof(*sup.scratch));
	int r = prepare(&sup, &err);
	sup.loop = r == 0 ? loop_new(&err) : NULL;
	sup.ops = sup.loop ? ops_new(sup.loop, sup.lock) : NULL;
	if (sup.ops && watch_signals(&sup, &err) == 0 && start_boot(&sup, &err) == 0) {
		loop_run(sup.loop);
	} else {
		cua_log(CUA_LOG_ERROR, "%s", err.message);
		sup.status = 1;
	}
	supervisor_done(&sup);
	return sup.status;
}
