/* The state machine of a session; see the header. Who may ask and how an answer travels is the
 * business of dispatch.c and frontend.c, what an operation does that of steps.c. */
#include "server/supervisor/session.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "cua/log.h"
#include "server/supervisor/frontend.h"
#include "server/supervisor/link.h"
#include "server/supervisor/roster.h"
#include "server/supervisor/spawn.h"
#include "server/supervisor/spec.h"
#include "server/supervisor/steps.h"
#include "server/supervisor/worker.h"

static void advance(struct session *s);

/* ---------------------------------------------------------------- telling */

static const char *state_name(cua_State state) {
	static const char *const names[] = {
		"starting", "running", "paused", "stopping", "stopped", "failed", "gone"};
	return state < (cua_State)CUA_COUNT(names) ? names[state] : "?";
}

void session_describe(const struct session *s, cua_SessionState *ret) {
	const struct plan_record *record = &s->plan.record;
	*ret = (cua_SessionState){.state = s->state,
		.has_reason = s->reason[0] != '\0',
		.screen = record->screen,
		.limits = record->limits,
		.network = record->network,
		.slot = record->slot,
		.has_address = s->plan.address[0] != '\0',
		.created_ms = record->created_ms,
		.phases_count = (pb_size_t)s->phase_count};
	(void)snprintf(ret->id, sizeof(ret->id), "%s", record->id);
	(void)snprintf(ret->name, sizeof(ret->name), "%s", record->name);
	(void)snprintf(ret->template, sizeof(ret->template), "%s", record->template);
	(void)snprintf(ret->reason, sizeof(ret->reason), "%s", s->reason);
	(void)snprintf(ret->address, sizeof(ret->address), "%s", s->plan.address);
	memcpy(ret->phases, s->phases, sizeof(s->phases));
}

static void set_state(struct session *s, cua_State state) {
	s->state = state;
	cua_log(CUA_LOG_INFO, "session=%s name=%s state=%s after_ms=%" PRIu64 "%s%s",
		s->plan.record.id, s->plan.record.name, state_name(state),
		(loop_now_us() - s->asked_us) / 1000, s->reason[0] ? " reason: " : "", s->reason);
	frontend_state(s->sup->frontend, s);
}

static void set_reason(struct session *s, const struct cua_err *err, const char *context) {
	struct cua_err copy = *err;
	if (context) {
		(void)cua_err_prefix(&copy, "%s", context);
	}
	memcpy(s->reason, copy.message, sizeof(s->reason));
}

static void add_phase(struct session *s, const char *name, uint64_t us) {
	if (s->phase_count < CUA_COUNT(s->phases)) {
		cua_Phase *phase = &s->phases[s->phase_count++];
		(void)snprintf(phase->name, sizeof(phase->name), "%s", name);
		phase->us = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
	}
}

static void answer(struct session *s, struct waiters *waiters, const struct cua_err *err) {
	for (size_t i = 0; i < waiters->count; i++) {
		frontend_reply(s->sup->frontend, waiters->list[i], err);
	}
	waiters->count = 0;
}

/* ---------------------------------------------------------------- what it holds */

/* Lets go of everything of ours that belongs to a running container. */
static void disconnect(struct session *s) {
	s->deadline = loop_timer_cancel(s->deadline);
	s->worker = worker_free(s->worker);
	s->link = link_free(s->link);
	s->init_io = loop_io_remove(s->init_io);
	if (s->init_fd >= 0) {
		(void)close(s->init_fd);
	}
	if (s->e5 >= 0) {
		(void)close(s->e5);
	}
	s->init_fd = -1;
	s->e5 = -1;
	s->init = 0;
	s->linked = false;
}

static void session_free(struct session *s) {
	struct cua_err err = {0};
	(void)cua_err_set(&err, CUA_NOT_FOUND, "the session is gone");
	for (size_t i = 0; i < s->asking.count; i++) {
		frontend_usage(s->sup->frontend, s->asking.list[i], NULL, &err);
	}
	disconnect(s);
	roster_remove(s);
}

void session_free_all(struct supervisor *sup) {
	while (sup->sessions) {
		session_free(sup->sessions);
	}
}

/* What is wanted has changed: drop the edges first, so that nothing speaks of a session that ends. */
static void aim(struct session *s, enum session_goal goal) {
	s->goal = goal;
	disconnect(s);
}

/* A start that does not succeed: cuad learns why at once, then everything is cleared away. */
static void fail_start(struct session *s, const struct cua_err *why) {
	set_reason(s, why, NULL);
	aim(s, SESSION_ERASE);
	set_state(s, cua_State_STATE_FAILED);
	advance(s);
}

/* ---------------------------------------------------------------- events of a running session */

static void on_init_gone(void *data) {
	struct session *s = data;
	struct cua_err why = {0};
	if (s->state == cua_State_STATE_STARTING) {
		(void)cua_err_set(&why, CUA_INTERNAL, "the container ended while it started");
		fail_start(s, &why);
		return;
	}
	(void)cua_err_set(&why, CUA_INTERNAL, "the container ended by itself");
	set_reason(s, &why, NULL);
	aim(s, SESSION_STOP);
	set_state(s, cua_State_STATE_STOPPING);
	advance(s);
}

static void on_ready(void *data, const cua_Phase *phases, size_t count) {
	struct session *s = data;
	for (size_t i = 0; i < count && s->state == cua_State_STATE_STARTING; i++) {
		add_phase(s, phases[i].name, phases[i].us);
	}
	if (s->reason[0] != '\0') {
		s->reason[0] = '\0'; /* the trouble is over */
		frontend_state(s->sup->frontend, s);
	}
	advance(s);
}

static void on_size(void *data, uint32_t width, uint32_t height) {
	struct session *s = data;
	s->plan.record.screen.width = width;
	s->plan.record.screen.height = height;
	s->unsaved = true;
	frontend_state(s->sup->frontend, s);
	advance(s);
}

static void on_trouble(void *data, const struct cua_err *why) {
	struct session *s = data;
	cua_log(CUA_LOG_WARN, "session=%s worker: %s", s->plan.record.id, why->message);
	if (s->state == cua_State_STATE_STARTING || s->state == cua_State_STATE_RUNNING) {
		set_reason(s, why, "the desktop worker");
	}
	if (s->state == cua_State_STATE_RUNNING) {
		frontend_state(s->sup->frontend, s);
	}
}

static bool is_told(const struct session *s) {
	return frontend_is_up(s->sup->frontend) && s->told == frontend_generation(s->sup->frontend);
}

static void on_e3(void *data, int fd) {
	struct session *s = data;
	_cleanup_fd_ int edge = fd;
	/* A cuad that comes later gets a fresh one. */
	if (is_told(s)) {
		frontend_link(s->sup->frontend, s, 3, edge);
	}
}

static void on_e5(void *data, int fd) {
	struct session *s = data;
	if (s->e5 >= 0) {
		(void)close(s->e5);
	}
	s->e5 = fd;
	if (!s->linked) {
		s->linked = true;
		add_phase(s, "init", loop_now_us() - s->up_us);
	}
	if (is_told(s)) {
		frontend_link(s->sup->frontend, s, 5, s->e5);
		(void)close(s->e5);
		s->e5 = -1;
	}
	advance(s);
}

void session_tell(struct session *s) {
	s->told = frontend_generation(s->sup->frontend);
	frontend_state(s->sup->frontend, s);
	if (s->worker) {
		worker_relink(s->worker);
	}
	if (s->e5 >= 0) {
		frontend_link(s->sup->frontend, s, 5, s->e5);
		(void)close(s->e5);
		s->e5 = -1;
	}
}

/* ---------------------------------------------------------------- connecting to a container */

/* Once the directories exist: a socket for init, a worker for the screen. */
static int connect_edges(struct session *s, struct cua_err *err) {
	struct supervisor *sup = s->sup;
	s->link = link_open(sup->loop, s->plan.link, s->plan.id_first, on_e5, s, err);
	if (!s->link) {
		return -(int)err->code;
	}
	s->worker = worker_new(&(struct worker_spec){
		.loop = sup->loop,
		.scratch = sup->scratch,
		.host = &sup->host,
		.plan = &s->plan,
		.on_ready = on_ready,
		.on_size = on_size,
		.on_trouble = on_trouble,
		.on_link = on_e3,
		.data = s,
	});
	return 0;
}

/* Once the container runs: notice its end, and let its PID 1 connect. */
static int watch_init(struct session *s, pid_t init, struct cua_err *err) {
	s->init = init;
	s->up_us = loop_now_us();
	s->init_fd = spawn_pidfd(init, err);
	if (s->init_fd < 0) {
		return s->init_fd;
	}
	s->init_io = loop_io_add(s->sup->loop, s->init_fd, on_init_gone, NULL, s, err);
	if (!s->init_io) {
		return -(int)err->code;
	}
	return link_admit(s->link, init, err);
}

/* ---------------------------------------------------------------- operations */

typedef void done_fn(void *data, int code, const struct cua_err *err);

static void run_op(struct session *s, op_work *work, done_fn *done,
	void (*on_note)(void *data, const struct op_note *note)) {
	struct steps_args args = {.host = s->sup->host, .plan = s->plan};
	s->op = op_start(s->sup->ops, &(struct op_spec){
					      .work = work,
					      .args = &args,
					      .args_size = sizeof(args),
					      .deadline_ms = on_note ? CUA_START_MS : CUA_OP_MS,
					      .on_note = on_note,
					      .on_done = done,
					      .data = s,
				      });
}

static void on_start_deadline(void *data) {
	struct session *s = data;
	s->deadline = NULL;
	if (s->op) {
		op_kill(s->op); /* its end fails the start */
		return;
	}
	struct cua_err why = {0};
	(void)cua_err_set(&why, CUA_TIMEOUT, "not running after %d s: %s", CUA_START_MS / 1000,
		s->reason[0] ? s->reason
		: !s->linked ? "the container's init has not connected"
			     : "the desktop is not ready");
	fail_start(s, &why);
}

static void on_create_note(void *data, const struct op_note *note) {
	struct session *s = data;
	if (strcmp(note->name, "init") == 0) {
		s->init = (pid_t)note->value[0];
		return;
	}
	add_phase(s, note->name, note->value[0]);
	if (s->goal != SESSION_RUN) {
		return;
	}
	struct cua_err err = {0};
	if (strcmp(note->name, "record") == 0) {
		/* Counted from here: the wait for a free child before may be long. */
		s->deadline = loop_timer_add(s->sup->loop, CUA_START_MS, on_start_deadline, s);
	} else if (strcmp(note->name, "mounts") == 0 && connect_edges(s, &err) < 0) {
		fail_start(s, &err);
	}
}

static void on_created(void *data, int code, const struct cua_err *err) {
	struct session *s = data;
	s->op = NULL;
	struct cua_err why = *err;
	if (s->goal == SESSION_RUN && code == 0) {
		code = watch_init(s, s->init, &why);
	}
	if (s->goal == SESSION_RUN && code < 0) {
		fail_start(s, &why);
		return;
	}
	advance(s);
}

static void on_committed(void *data, int code, const struct cua_err *err) {
	struct session *s = data;
	s->op = NULL;
	if (s->goal == SESSION_RUN && code < 0) {
		fail_start(s, err);
		return;
	}
	if (code == 0) {
		s->plan.record.complete = true;
	}
	if (s->goal == SESSION_RUN) {
		s->deadline = loop_timer_cancel(s->deadline);
		s->reason[0] = '\0';
		add_phase(s, "total", loop_now_us() - s->asked_us);
		set_state(s, cua_State_STATE_RUNNING);
	}
	advance(s);
}

static void on_saved(void *data, int code, const struct cua_err *err) {
	struct session *s = data;
	s->op = NULL;
	if (code < 0) {
		/* Only a restart of everything would bring back the old size. */
		cua_log(CUA_LOG_WARN, "session=%s record: %s", s->plan.record.id, err->message);
	}
	advance(s);
}

static void on_settled(void *data, int code, const struct cua_err *err) {
	struct session *s = data;
	s->op = NULL;
	if (s->goal == SESSION_STOP) {
		s->goal = SESSION_REST;
		if (code < 0) {
			set_reason(s, err, "cannot be stopped");
		}
		set_state(s,
			code < 0 || s->damaged ? cua_State_STATE_FAILED : cua_State_STATE_STOPPED);
	}
	advance(s);
}

/* A failed start leaves a husk, which tells of it until somebody deletes it. */
static void become_husk(struct session *s) {
	s->husk = true;
	s->goal = SESSION_REST;
	struct session *oldest = roster_surplus(s->sup);
	if (oldest) {
		set_state(oldest, cua_State_STATE_GONE);
		session_free(oldest);
	}
}

static void become_gone(struct session *s) {
	s->reason[0] = '\0';
	set_state(s, cua_State_STATE_GONE);
	answer(s, &s->deleting, NULL);
	session_free(s);
}

static void on_destroyed(void *data, int code, const struct cua_err *err) {
	struct session *s = data;
	s->op = NULL;
	if (code < 0) {
		s->goal = SESSION_REST;
		set_reason(s, err, "cannot be removed");
		set_state(s, cua_State_STATE_FAILED);
		answer(s, &s->deleting, err);
	} else if (s->state == cua_State_STATE_FAILED && s->deleting.count == 0) {
		become_husk(s);
	} else {
		become_gone(s);
	}
}

/* Looks at what is wanted and what is true, and starts what is missing. */
static void advance(struct session *s) {
	if (s->op) {
		return;
	}
	bool ready = s->init_fd >= 0 && s->linked && worker_is_ready(s->worker);
	if (s->goal == SESSION_RUN && s->state == cua_State_STATE_STARTING && ready) {
		run_op(s, steps_commit, on_committed, NULL);
	} else if (s->goal == SESSION_RUN && s->state == cua_State_STATE_RUNNING && s->unsaved) {
		s->unsaved = false;
		run_op(s, steps_commit, on_saved, NULL);
	} else if (s->goal == SESSION_STOP) {
		run_op(s, steps_settle, on_settled, NULL);
	} else if (s->goal == SESSION_ERASE) {
		run_op(s, steps_destroy, on_destroyed, NULL);
	}
}

/* ---------------------------------------------------------------- requests */

static uint64_t wall_ms(void) {
	struct timespec ts;
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

int session_create(struct supervisor *sup, const cua_SessionCreate *wanted, struct cua_err *err) {
	struct plan_record record;
	int r = spec_session(&sup->config, wanted, &record, err);
	if (r == 0) {
		r = roster_admit(sup, &record, err);
	}
	if (r < 0) {
		return r;
	}
	record.slot = roster_free_slot(sup);
	record.created_ms = wall_ms();
	struct plan plan;
	r = plan_make(&sup->host, &record, &plan, err);
	if (r < 0) {
		return r;
	}
	struct session *s = roster_add(sup);
	s->plan = plan;
	s->goal = SESSION_RUN;
	s->asked_us = loop_now_us();
	s->told = frontend_generation(sup->frontend);
	set_state(s, cua_State_STATE_STARTING);
	run_op(s, steps_create, on_created, on_create_note);
	return 0;
}

void session_delete(struct supervisor *sup, const char *id, struct waiter who) {
	struct session *s = roster_find(sup, id);
	if (!s) {
		frontend_reply(sup->frontend, who, NULL);
		return;
	}
	if (s->deleting.count == CUA_WAITERS_MAX) {
		struct cua_err err = {0};
		(void)cua_err_set(&err, CUA_CONFLICT, "the session is being removed");
		frontend_reply(sup->frontend, who, &err);
		return;
	}
	s->deleting.list[s->deleting.count++] = who;
	if (s->husk) {
		become_gone(s);
		return;
	}
	if (s->goal != SESSION_ERASE || s->state != cua_State_STATE_STOPPING) {
		s->asked_us = loop_now_us();
		aim(s, SESSION_ERASE);
		set_state(s, cua_State_STATE_STOPPING);
		if (s->op) {
			op_cancel(s->op);
		}
	}
	advance(s);
}

/* ---------------------------------------------------------------- found at start */

static int adopt_running(struct session *s, pid_t init, struct cua_err *err) {
	int r = connect_edges(s, err);
	return r == 0 ? watch_init(s, init, err) : r;
}

void session_adopt(
	struct supervisor *sup, const struct plan *plan, pid_t init, const char *reason) {
	struct session *s = roster_add(sup);
	struct cua_err err = {0};
	s->plan = *plan;
	s->damaged = reason != NULL;
	s->asked_us = loop_now_us();
	s->state = cua_State_STATE_STOPPING;
	s->goal = SESSION_STOP;
	if (reason) {
		(void)snprintf(s->reason, sizeof(s->reason), "%s", reason);
	} else if (!plan->record.complete) {
		s->goal = SESSION_ERASE;
	} else if (init > 0 && !sup->options.halt && adopt_running(s, init, &err) == 0) {
		s->goal = SESSION_RUN;
		s->state = cua_State_STATE_RUNNING;
	} else if (init > 0 && !sup->options.halt) {
		disconnect(s);
		set_reason(s, &err, "cannot be taken over");
	} else if (init == 0) {
		(void)snprintf(s->reason, sizeof(s->reason),
			"its container was not running when the service started");
	}
	advance(s);
}

/* ---------------------------------------------------------------- usage */

struct usage_query {
	struct supervisor *sup;
	char id[CUA_ID_SIZE];
	cua_Usage usage;
};

static void on_usage_note(void *data, const struct op_note *note) {
	struct usage_query *query = data;
	query->usage = (cua_Usage){.has_cpu_ms = true,
		.has_memory = true,
		.has_disk = true,
		.has_pids = true,
		.cpu_ms = note->value[0],
		.memory = note->value[1],
		.disk = note->value[2],
		.pids = (uint32_t)note->value[3]};
}

static void on_usage(void *data, int code, const struct cua_err *err) {
	_cleanup_free_ struct usage_query *query = data;
	struct session *s = roster_find(query->sup, query->id);
	if (!s) {
		return;
	}
	struct waiters waiters = s->asking;
	s->asking.count = 0;
	for (size_t i = 0; i < waiters.count; i++) {
		frontend_usage(query->sup->frontend, waiters.list[i], &query->usage,
			code < 0 ? err : NULL);
	}
}

static void start_usage(struct session *s) {
	struct usage_query *query = loop_alloc(sizeof(*query));
	query->sup = s->sup;
	(void)snprintf(query->id, sizeof(query->id), "%s", s->plan.record.id);
	struct steps_args args = {.host = s->sup->host, .plan = s->plan};
	(void)op_start(s->sup->ops, &(struct op_spec){
					    .work = steps_usage,
					    .args = &args,
					    .args_size = sizeof(args),
					    .deadline_ms = CUA_OP_MS,
					    .on_note = on_usage_note,
					    .on_done = on_usage,
					    .data = query,
				    });
}

void session_usage(struct supervisor *sup, const char *id, struct waiter who) {
	struct session *s = roster_find(sup, id);
	struct cua_err err;
	if (!s) {
		(void)cua_err_set(&err, CUA_NOT_FOUND, "there is no session %s", id);
		frontend_usage(sup->frontend, who, NULL, &err);
	} else if (s->asking.count == CUA_WAITERS_MAX) {
		(void)cua_err_about(&err, CUA_EXHAUSTED, "usage", "too many ask for this");
		frontend_usage(sup->frontend, who, NULL, &err);
	} else if (s->state != cua_State_STATE_RUNNING) {
		frontend_usage(sup->frontend, who, &(cua_Usage){0}, NULL);
	} else {
		s->asking.list[s->asking.count++] = who;
		if (s->asking.count == 1) {
			start_usage(s);
		}
	}
}
