/* The process cuad and its edge; see the header. What a request may do is in dispatch.c. */
#include "server/supervisor/frontend.h"

#include <signal.h>
#include <unistd.h>

#include "cua/log.h"
#include "server/supervisor/configload.h"
#include "server/supervisor/dispatch.h"
#include "server/supervisor/edge.h"
#include "server/supervisor/listen.h"
#include "server/supervisor/notify.h"

#define BIND_RETRY_MS 100
#define BIND_TRIES 100
/* Beyond this many unread messages only what cannot be told later is queued. */
#define BACKLOG_HIGH (CUA_CHAN_BACKLOG / 4)

struct frontend {
	struct supervisor *sup;
	struct listeners listeners;
	struct edge *edge;
	struct loop_timer *timer; /* for the next start of cuad, or the next try to bind */
	struct loop_backoff backoff;
	uint32_t generation;
	unsigned tries;
	bool synced;
};

static void frontend_start(struct frontend *f);

/* ---------------------------------------------------------------- bringing it up to date */

static void send_listeners(struct frontend *f) {
	for (size_t i = 0; i < f->listeners.count; i++) {
		const struct listener *l = &f->listeners.list[i];
		edge_send(f->edge, &(struct cua_out){.type = CUA_MSG_LISTENER,
					   .body = &l->what,
					   .fd = &l->fd,
					   .fd_count = 1});
	}
}

/* Tells of sessions until there are no more or cuad is behind; goes on when it has caught up. */
static void sync_some(struct frontend *f) {
	struct session *s = f->sup->sessions;
	while (s && edge_is_up(f->edge) && edge_backlog(f->edge) < BACKLOG_HIGH) {
		if (s->told != f->generation) {
			session_tell(s);
		}
		s = s->next;
	}
	if (!s && !f->synced && edge_is_up(f->edge)) {
		f->synced = true;
		const cua_Synced synced = {.sessions = (uint32_t)f->sup->session_count};
		edge_send(f->edge, &(struct cua_out){.type = CUA_MSG_SYNCED, .body = &synced});
		notify_ready();
	}
}

static void on_up(void *data) {
	struct frontend *f = data;
	send_listeners(f);
	sync_some(f);
}

static void on_drained(void *data) {
	struct frontend *f = data;
	if (!f->synced) {
		sync_some(f);
	}
}

static int on_message(void *data, struct cua_msg *msg, struct cua_err *err) {
	struct frontend *f = data;
	return dispatch(f->sup, f->generation, msg, err);
}

/* ---------------------------------------------------------------- the process */

static void on_timer(void *data) {
	struct frontend *f = data;
	f->timer = NULL;
	frontend_start(f);
}

static void restart_later(struct frontend *f, const char *why) {
	unsigned ms = loop_backoff_next(&f->backoff);
	cua_log(CUA_LOG_ERROR, "cuad: %s; started again in %u ms", why, ms);
	f->timer = loop_timer_add(f->sup->loop, ms, on_timer, f);
}

static void on_down(void *data, const struct cua_err *why) {
	struct frontend *f = data;
	f->edge = edge_free(f->edge);
	restart_later(f, why->message);
}

static int launch(struct frontend *f, struct cua_err *err) {
	const struct options *o = &f->sup->options;
	_cleanup_fd_ int config = configload_open(o, err);
	if (config < 0) {
		return config;
	}
	char path[300];
	(void)snprintf(path, sizeof(path), "%s/cuad", o->host.libexec_dir);
	const char *argv[] = {"cuad", "--state", o->host.state_dir, NULL};
	struct edge_spec spec = {
		.loop = f->sup->loop,
		.scratch = f->sup->scratch,
		.spawn = {.path = path,
			.argv = (char *const *)(uintptr_t)argv,
			.input = config,
			.output = -1,
			.uid = f->sup->uid,
			.gid = f->sup->gid,
			.drop = true,
			.parent_death = SIGKILL},
		.dirs = CUA_DIR_CUAD_TO_SUPERVISOR,
		.on_up = on_up,
		.on_message = on_message,
		.on_drained = on_drained,
		.on_down = on_down,
		.data = f,
	};
	loop_backoff_started(&f->backoff);
	f->synced = false;
	f->generation++;
	f->edge = edge_start(&spec, err);
	return f->edge ? 0 : -(int)err->code;
}

/* Opens what is not open yet. 1: an address is in use, try again. */
static int open_listeners(struct frontend *f, struct cua_err *err) {
	if (f->listeners.count > 0) {
		return 0;
	}
	const struct supervisor *sup = f->sup;
	int r = listen_open(&sup->config, sup->host.run_dir, sup->gid, &f->listeners, err);
	return r == -CUA_CONFLICT && ++f->tries < BIND_TRIES ? 1 : r;
}

static void frontend_start(struct frontend *f) {
	struct cua_err err = {0};
	int r = open_listeners(f, &err);
	if (r > 0) {
		f->timer = loop_timer_add(f->sup->loop, BIND_RETRY_MS, on_timer, f);
		return;
	}
	if (r < 0) {
		cua_log(CUA_LOG_ERROR, "%s", err.message);
		f->sup->status = 1;
		loop_stop(f->sup->loop);
		return;
	}
	if (launch(f, &err) < 0) {
		restart_later(f, err.message);
	}
}

struct frontend *frontend_new(struct supervisor *sup) {
	struct frontend *f = loop_alloc(sizeof(*f));
	f->sup = sup;
	f->timer = loop_timer_add(sup->loop, 0, on_timer, f);
	return f;
}

struct frontend *frontend_free(struct frontend *f) {
	if (f) {
		f->timer = loop_timer_cancel(f->timer);
		f->edge = edge_free(f->edge);
		listen_close(&f->listeners);
		free(f);
	}
	return NULL;
}

bool frontend_is_up(const struct frontend *f) {
	return f && edge_is_up(f->edge);
}

uint32_t frontend_generation(const struct frontend *f) {
	return f ? f->generation : 0;
}

/* ---------------------------------------------------------------- messages */

static bool is_asker(const struct frontend *f, struct waiter who) {
	return frontend_is_up(f) && who.generation == f->generation;
}

void frontend_state(struct frontend *f, const struct session *s) {
	if (!frontend_is_up(f) || s->told != f->generation) {
		return; /* it will be told when its turn comes */
	}
	cua_SessionState state;
	session_describe(s, &state);
	edge_send(f->edge, &(struct cua_out){.type = CUA_MSG_SESSION_STATE, .body = &state});
}

void frontend_link(struct frontend *f, const struct session *s, uint32_t edge, int fd) {
	if (!frontend_is_up(f)) {
		return;
	}
	cua_SessionLink link = {.edge = edge};
	(void)snprintf(link.id, sizeof(link.id), "%s", s->plan.record.id);
	edge_send(f->edge,
		&(struct cua_out){
			.type = CUA_MSG_SESSION_LINK, .body = &link, .fd = &fd, .fd_count = 1});
}

void frontend_reply(struct frontend *f, struct waiter who, const struct cua_err *err) {
	if (!is_asker(f, who)) {
		return;
	}
	cua_Reply reply = {.serial = who.serial, .has_error = err != NULL};
	if (err) {
		reply.error = cua_error_to_wire(err);
	}
	edge_send(f->edge, &(struct cua_out){.type = CUA_MSG_REPLY, .body = &reply});
}

void frontend_usage(
	struct frontend *f, struct waiter who, const cua_Usage *usage, const struct cua_err *err) {
	if (!is_asker(f, who)) {
		return;
	}
	cua_Usage answer = usage ? *usage : (cua_Usage){0};
	answer.serial = who.serial;
	answer.has_error = err != NULL;
	if (err) {
		answer.error = cua_error_to_wire(err);
	}
	edge_send(f->edge, &(struct cua_out){.type = CUA_MSG_USAGE, .body = &answer});
}

void frontend_progress(struct frontend *f, struct waiter who, const char *line) {
	if (!is_asker(f, who) || edge_backlog(f->edge) > BACKLOG_HIGH) {
		return;
	}
	cua_BuildProgress progress = {.serial = who.serial};
	(void)snprintf(progress.line, sizeof(progress.line), "%s", line);
	edge_send(f->edge, &(struct cua_out){.type = CUA_MSG_BUILD_PROGRESS, .body = &progress});
}
