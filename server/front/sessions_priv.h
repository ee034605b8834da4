/* Shared by sessions.c (the registry) and edge_supervisor.c (E1). */
#pragma once

#include "server/front/front.h"
#include "server/front/guest.h"
#include "server/front/peer.h"
#include "server/front/sessions.h"
#include "server/front/worker.h"

struct sessions {
	struct front *front;
	char state_dir[256];
	int records; /* STATE/front/sessions */
	struct cua_msg *scratch;
	struct peer *supervisor;
	struct session **list; /* in the order in which they were told */
	size_t count;
	size_t room;
	struct watcher *watchers;
	struct watcher *telling_next; /* whom to tell after the one that is told now */
	bool synced; /* the supervisor has told of all that exist */
	uint32_t last_lease;
	struct counters counters;
};

/* Opens E1; the socket is closed on failure. */
int edge_supervisor_open(struct sessions *sessions, int sock, struct cua_err *err) CUA_CHECK;

/* Takes what the supervisor told of a session: a new one, a change, or its end. */
void sessions_take_state(struct sessions *sessions, const cua_SessionState *state);
/* Takes a descriptor of E3 or E5; it is closed if nobody can use it. */
void sessions_take_link(struct sessions *sessions, const cua_SessionLink *link, int sock);
/* Everything has been told: forgets records of sessions that are no more. */
void sessions_take_synced(struct sessions *sessions);
