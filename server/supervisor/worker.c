/* One worker and its restarts; see the header. What it says is checked here: it talks to an X
 * server that the container's root may have replaced. */
#include "server/supervisor/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/ident.h"

/* A worker tells ready once and errors now and then: more in one life is no honest worker. */
#define STATES_PER_LIFE 64
/* It pauses between two sizes of the screen, too. */
#define SIZES_SECS 10
#define SIZES_MAX (2 * SIZES_SECS * 1000 / CUA_SIZE_PAUSE_MS)

struct worker {
	struct worker_spec spec;
	struct edge *edge;
	struct loop_timer *restart;
	struct loop_backoff backoff;
	int e3; /* cuad's end, until the worker is ready */
	bool ready;
	unsigned states;
	unsigned sizes; /* told since sizes_us */
	uint64_t sizes_us;
	uint32_t generation;
};

static void worker_start(struct worker *worker);

static void on_restart(void *data) {
	struct worker *worker = data;
	worker->restart = NULL;
	worker_start(worker);
}

static void drop_e3(struct worker *worker) {
	if (worker->e3 >= 0) {
		(void)close(worker->e3);
	}
	worker->e3 = -1;
}

static void worker_failed(struct worker *worker, const struct cua_err *why) {
	worker->edge = edge_free(worker->edge);
	worker->ready = false;
	drop_e3(worker);
	worker->restart = loop_timer_add(
		worker->spec.loop, loop_backoff_next(&worker->backoff), on_restart, worker);
	worker->spec.on_trouble(worker->spec.data, why);
}

static void on_down(void *data, const struct cua_err *why) {
	worker_failed(data, why);
}

static void on_up(void *data) {
	(void)data;
}

/* ---------------------------------------------------------------- what it says */

/* A lying worker gains nothing but a wrong word about its own session: text is bounded UTF-8, names
 * of phases are plain words. */
static size_t phases_check(const cua_WorkerState *state, cua_Phase *ret) {
	size_t count = 0;
	for (size_t i = 0; i < state->phases_count; i++) {
		if (cua_name_ok(state->phases[i].name)) {
			ret[count++] = state->phases[i];
		}
	}
	return count;
}

static void error_check(const cua_Error *wire, struct cua_err *ret) {
	(void)cua_error_from_wire(wire, ret);
	if (!cua_utf8_ok(ret->message, strlen(ret->message)) ||
		!cua_utf8_ok(ret->subject, strlen(ret->subject))) {
		(void)cua_err_set(ret, CUA_INTERNAL, "the desktop worker failed");
	}
}

static void take_ready(struct worker *worker, const cua_WorkerState *state) {
	worker->ready = true;
	cua_Phase phases[CUA_COUNT(state->phases)];
	worker->spec.on_ready(worker->spec.data, phases, phases_check(state, phases));
	if (worker->e3 >= 0) {
		worker->spec.on_link(worker->spec.data, take_fd(worker->e3));
	}
}

static int take_size(struct worker *worker, const cua_WorkerState *state, struct cua_err *err) {
	const cua_Screen *screen = &worker->spec.plan->record.screen;
	uint64_t now_us = loop_now_us();
	if (now_us - worker->sizes_us > SIZES_SECS * UINT64_C(1000000)) {
		worker->sizes_us = now_us;
		worker->sizes = 0;
	}
	if (++worker->sizes > SIZES_MAX || state->width < CUA_SCREEN_MIN_W ||
		state->width > screen->max_width || state->height < CUA_SCREEN_MIN_H ||
		state->height > screen->max_height) {
		return cua_err_set(err, CUA_BAD_REQUEST, "a screen of %ux%u is out of place",
			state->width, state->height);
	}
	if (state->width != screen->width || state->height != screen->height) {
		worker->spec.on_size(worker->spec.data, state->width, state->height);
	}
	return 0;
}

static int on_message(void *data, struct cua_msg *msg, struct cua_err *err) {
	struct worker *worker = data;
	const cua_WorkerState *state = &msg->body.worker_state;
	bool right = msg->type == CUA_MSG_WORKER_STATE;
	if (right && worker->ready && state->ready && state->has_width && state->has_height) {
		return take_size(worker, state, err);
	}
	if (!right || ++worker->states > STATES_PER_LIFE) {
		return cua_err_set(
			err, CUA_BAD_REQUEST, "a %s is out of place", cua_msg_name(msg->type));
	}
	if (state->has_error) {
		struct cua_err why = {0};
		error_check(&state->error, &why);
		return cua_err_about(err, why.code, why.subject, "%s", why.message);
	}
	if (state->ready && !worker->ready) {
		take_ready(worker, state);
	}
	return 0;
}

/* ---------------------------------------------------------------- starting it */

static int send_start(struct worker *worker, struct cua_err *err) {
	const struct plan *plan = worker->spec.plan;
	_cleanup_fd_ int x11 = open(plan->x11, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (x11 < 0) {
		return cua_err_errno(err, errno, "cannot open %s", plan->x11);
	}
	int pair[2];
	int r = fd_seqpacket_pair(pair, err);
	if (r < 0) {
		return r;
	}
	_cleanup_fd_ int theirs = pair[0];
	drop_e3(worker);
	worker->e3 = pair[1];
	cua_WorkerStart start = {.uid = plan->worker_uid, .screen = plan->record.screen};
	(void)snprintf(start.id, sizeof(start.id), "%s", plan->record.id);
	edge_send(worker->edge, &(struct cua_out){.type = CUA_MSG_WORKER_START,
					.body = &start,
					.fd = (const int[]){x11, theirs},
					.fd_count = 2});
	return 0;
}

static int start(struct worker *worker, struct cua_err *err) {
	char path[PLAN_PATH];
	(void)snprintf(path, sizeof(path), "%s/cuad-desktop", worker->spec.host->libexec_dir);
	char name[] = "cuad-desktop";
	char id[CUA_ID_SIZE];
	(void)snprintf(id, sizeof(id), "%s", worker->spec.plan->record.id);
	char *argv[] = {name, id, NULL};
	struct edge_spec spec = {
		.loop = worker->spec.loop,
		.scratch = worker->spec.scratch,
		/* As root: the worker needs that to shut itself in, then it becomes its own uid. */
		.spawn = {.path = path,
			.argv = argv,
			.input = -1,
			.output = -1,
			.parent_death = SIGKILL},
		.dirs = CUA_DIR_WORKER_TO_SUPERVISOR,
		.on_up = on_up,
		.on_message = on_message,
		.on_down = on_down,
		.data = worker,
	};
	worker->states = 0;
	loop_backoff_started(&worker->backoff);
	worker->edge = edge_start(&spec, err);
	return worker->edge ? send_start(worker, err) : -(int)err->code;
}

static void worker_start(struct worker *worker) {
	struct cua_err err = {0};
	if (start(worker, &err) < 0) {
		worker_failed(worker, &err);
	}
}

struct worker *worker_new(const struct worker_spec *spec) {
	struct worker *worker = loop_alloc(sizeof(*worker));
	*worker = (struct worker){.spec = *spec, .e3 = -1};
	/* From the loop, so that on_trouble never comes from inside this call. */
	worker->restart = loop_timer_add(spec->loop, 0, on_restart, worker);
	return worker;
}

void worker_relink(struct worker *worker) {
	if (!worker->ready) {
		return; /* on_link follows when it is */
	}
	int pair[2];
	struct cua_err err = {0};
	if (fd_seqpacket_pair(pair, &err) < 0) {
		return;
	}
	_cleanup_fd_ int theirs = pair[0];
	const cua_WorkerLink link = {.generation = ++worker->generation};
	edge_send(worker->edge,
		&(struct cua_out){
			.type = CUA_MSG_WORKER_LINK, .body = &link, .fd = &theirs, .fd_count = 1});
	worker->spec.on_link(worker->spec.data, pair[1]);
}

bool worker_is_ready(const struct worker *worker) {
	return worker && worker->ready;
}

struct worker *worker_free(struct worker *worker) {
	if (worker) {
		worker->restart = loop_timer_cancel(worker->restart);
		worker->edge = edge_free(worker->edge);
		drop_e3(worker);
		free(worker);
	}
	return NULL;
}
