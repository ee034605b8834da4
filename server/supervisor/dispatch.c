/* The permission table of E1. Requests name things; none carries a path, a mount option, a command
 * line or a firewall line. Above each row: what a cuad in the hands of an attacker could gain. */
#include "server/supervisor/dispatch.h"

#include "cua/ident.h"
#include "server/supervisor/frontend.h"
#include "server/supervisor/template.h"

/* When a request may come; what is in none of its row's phases is refused, not the peer dropped, for
 * an honest cuad cannot know of a stop. */
enum phase {
	PHASE_SERVING = 1 << 0,
	PHASE_STOPPING = 1 << 1,
};

struct request {
	struct supervisor *sup;
	struct waiter who;
	struct cua_msg *msg;
};

struct row {
	enum cua_msg_type type;
	unsigned phases;
	uint32_t (*serial)(const struct cua_msg *msg);
	void (*perform)(const struct request *request);
};

#define SERIAL_OF(member)                                                                          \
	static uint32_t serial_##member(const struct cua_msg *msg) {                               \
		return msg->body.member.serial;                                                    \
	}
SERIAL_OF(session_create)
SERIAL_OF(session_delete)
SERIAL_OF(usage_request)
SERIAL_OF(template_request)

static void refuse(const struct request *q, const struct cua_err *err) {
	if (q->msg->type == CUA_MSG_USAGE_REQUEST) {
		frontend_usage(q->sup->frontend, q->who, NULL, err);
	} else {
		frontend_reply(q->sup->frontend, q->who, err);
	}
}

static void create(const struct request *q) {
	struct cua_err err = {0};
	int r = session_create(q->sup, &q->msg->body.session_create, &err);
	frontend_reply(q->sup->frontend, q->who, r < 0 ? &err : NULL);
}

static void delete (const struct request *q) {
	session_delete(q->sup, q->msg->body.session_delete.id, q->who);
}

static void usage(const struct request *q) {
	session_usage(q->sup, q->msg->body.usage_request.id, q->who);
}

static void template(const struct request *q) {
	const cua_TemplateRequest *wanted = &q->msg->body.template_request;
	struct cua_err err = {0};
	int r = 0;
	if (!cua_name_ok(wanted->name)) {
		r = cua_err_about(&err, CUA_INVALID, "name", "that is no template's name");
	} else if (wanted->verb == 0) {
		r = template_build(q->sup, wanted, q->who, &err);
	} else if (wanted->verb == 1) {
		r = template_remove(q->sup, wanted->name, q->who, &err);
	} else {
		r = cua_err_about(&err, CUA_INVALID, "verb", "templates are built or removed");
	}
	if (r < 0) {
		refuse(q, &err);
	}
}

static const struct row rows[] = {
	/* A session like any that its users may have: unprivileged, with its limits, from a template
	 * that root built. Many of them: max_sessions and memory_reserve bound that. Never a chosen
	 * id range, slot, address or path. */
	{CUA_MSG_SESSION_CREATE, PHASE_SERVING, serial_session_create, create},
	/* The loss of every session's disk. That is what the right to delete is; it reaches only what
	 * has a record, by its id. */
	{CUA_MSG_SESSION_DELETE, PHASE_SERVING, serial_session_delete, delete},
	/* Four numbers of a session that it sees anyway; one child at a time for each session. */
	{CUA_MSG_USAGE_REQUEST, PHASE_SERVING, serial_usage_request, usage},
	/* Hours of this host's CPU and network, for the builder runs recipes that root installed, two
	 * at once at most; and the loss of templates that no session uses. Never a recipe of its
	 * own: the name must be one of root's files. */
	{CUA_MSG_TEMPLATE_REQUEST, PHASE_SERVING, serial_template_request, template},
};

int dispatch(
	struct supervisor *sup, uint32_t generation, struct cua_msg *msg, struct cua_err *err) {
	for (size_t i = 0; i < CUA_COUNT(rows); i++) {
		const struct row *row = &rows[i];
		if (row->type != msg->type) {
			continue;
		}
		const struct request q = {
			.sup = sup, .who = {generation, row->serial(msg)}, .msg = msg};
		if (row->phases & (sup->stopping ? PHASE_STOPPING : PHASE_SERVING)) {
			row->perform(&q);
			return 0;
		}
		struct cua_err why = {0};
		(void)cua_err_set(&why, CUA_CONFLICT, "the service is stopping");
		refuse(&q, &why);
		return 0;
	}
	return cua_err_set(
		err, CUA_BAD_REQUEST, "%s is no request of cuad's", cua_msg_name(msg->type));
}
