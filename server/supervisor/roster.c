/* Who is here, and is there room; see the header. */
#include "server/supervisor/roster.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/parse.h"
#include "server/supervisor/reclaim.h"
#include "server/supervisor/template.h"

struct session *roster_find(const struct supervisor *sup, const char *id) {
	for (struct session *s = sup->sessions; s; s = s->next) {
		if (strcmp(s->plan.record.id, id) == 0) {
			return s;
		}
	}
	return NULL;
}

struct session *roster_add(struct supervisor *sup) {
	struct session *session = loop_alloc(sizeof(*session));
	session->sup = sup;
	session->init_fd = -1;
	session->e5 = -1;
	struct session **at = &sup->sessions;
	while (*at) {
		at = &(*at)->next;
	}
	*at = session;
	sup->session_count++;
	return session;
}

void roster_remove(struct session *session) {
	struct session **at = &session->sup->sessions;
	while (*at != session) {
		at = &(*at)->next;
	}
	*at = session->next;
	session->sup->session_count--;
	free(session);
}

/* Sessions other than husks. */
static size_t roster_count(const struct supervisor *sup) {
	size_t count = 0;
	for (const struct session *s = sup->sessions; s; s = s->next) {
		count += !s->husk;
	}
	return count;
}

struct session *roster_surplus(const struct supervisor *sup) {
	if (sup->session_count - roster_count(sup) <= CUA_FAILED_KEPT) {
		return NULL;
	}
	struct session *s = sup->sessions;
	while (s && !s->husk) {
		s = s->next;
	}
	return s;
}

static bool slot_is_taken(const struct supervisor *sup, uint32_t slot) {
	for (const struct session *s = sup->sessions; s; s = s->next) {
		if (!s->husk && s->plan.record.slot == slot) {
			return true;
		}
	}
	return false;
}

uint32_t roster_free_slot(const struct supervisor *sup) {
	uint32_t slot = 1;
	while (slot_is_taken(sup, slot)) {
		slot++;
	}
	return slot;
}

/* ---------------------------------------------------------------- room */

static uint64_t memory_available(void) {
	char text[4096];
	_cleanup_fd_ int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, text, sizeof(text) - 1);
	if (n < 0) {
		return UINT64_MAX;
	}
	text[n] = '\0';
	static const char key[] = "MemAvailable:";
	const char *line = strstr(text, key);
	uint64_t kib = 0;
	return line && parse_row(line + strlen(key), 1, &kib) ? kib << 10 : UINT64_MAX;
}

/* Limits are caps and may add up to more than there is; what counts is what is free now, less what
 * those that are starting will take in a moment. */
static int check_memory(const struct supervisor *sup, struct cua_err *err) {
	uint64_t soon = CUA_START_MEMORY;
	for (const struct session *s = sup->sessions; s; s = s->next) {
		soon += s->state == cua_State_STATE_STARTING ? CUA_START_MEMORY : 0;
	}
	uint64_t available = memory_available();
	if (available < sup->config.memory_reserve + soon) {
		return cua_err_about(err, CUA_EXHAUSTED, "memory",
			"%" PRIu64 " MiB are available and %" PRIu64 " MiB are kept in reserve",
			available >> 20, sup->config.memory_reserve >> 20);
	}
	return 0;
}

static int check_unique(
	const struct supervisor *sup, const struct plan_record *record, struct cua_err *err) {
	for (const struct session *s = sup->sessions; s; s = s->next) {
		if (strcmp(s->plan.record.id, record->id) == 0) {
			return cua_err_about(
				err, CUA_CONFLICT, "id", "there is a session %s", record->id);
		}
		bool failing = s->state == cua_State_STATE_FAILED && s->goal == SESSION_ERASE;
		if (!s->husk && !failing && strcmp(s->plan.record.name, record->name) == 0) {
			return cua_err_about(err, CUA_CONFLICT, "name",
				"there is a session with the name %s", record->name);
		}
	}
	return 0;
}

int roster_admit(
	const struct supervisor *sup, const struct plan_record *record, struct cua_err *err) {
	int r = check_unique(sup, record, err);
	if (r < 0) {
		return r;
	}
	if (!template_exists(&sup->host, record->template)) {
		return cua_err_about(err, CUA_NOT_FOUND, "template", "there is no template %s",
			record->template);
	}
	if (roster_count(sup) >= sup->config.max_sessions) {
		return cua_err_about(err, CUA_EXHAUSTED, "sessions",
			"there are %zu sessions, which is the configured limit", roster_count(sup));
	}
	return check_memory(sup, err);
}

void roster_users(const struct supervisor *sup, const char *template, char *ret, size_t size) {
	size_t used = 0;
	ret[0] = '\0';
	for (const struct session *s = sup->sessions; s && used < size; s = s->next) {
		if (!s->husk && strcmp(s->plan.record.template, template) == 0) {
			int n = snprintf(ret + used, size - used, "%s%s", used ? ", " : "",
				s->plan.record.name);
			used += n > 0 ? (size_t)n : 0;
		}
	}
}

static bool may_have_container(const struct session *s) {
	return !s->husk && s->goal != SESSION_REST && s->state != cua_State_STATE_STOPPED;
}

struct reclaim_args *roster_plans(const struct supervisor *sup, size_t *ret_size) {
	*ret_size = sizeof(struct reclaim_args) + sup->session_count * sizeof(struct plan);
	struct reclaim_args *args = loop_alloc(*ret_size);
	args->host = sup->host;
	args->free_slot = roster_free_slot(sup);
	args->allow_count = sup->config.allow_count;
	memcpy(args->allow, sup->config.allow, sizeof(args->allow));
	for (const struct session *s = sup->sessions; s; s = s->next) {
		if (may_have_container(s)) {
			args->plans[args->count++] = s->plan;
		}
	}
	return args;
}
