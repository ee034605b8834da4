/* cuad, from the supervisor's side: its process, E1, and bringing a new one up to date.
 *
 * A cuad that dies is started again with a pause that doubles; requests of the old one are
 * forgotten, for answers carry the generation of who asked. All functions take NULL (no cuad yet, or
 * stopping) and do nothing then. */
#pragma once

#include "server/supervisor/session.h"

struct frontend;

/* Opens the listeners, retrying while the address is held by a cuad that is dying, and starts
 * cuad. Failure to listen is logged and ends the loop with a status. */
struct frontend *frontend_new(struct supervisor *sup);
/* Kills cuad and closes the listeners. Returns NULL. */
struct frontend *frontend_free(struct frontend *frontend);

/* True while a cuad has said HELLO. */
bool frontend_is_up(const struct frontend *frontend);
/* Number of the present cuad; grows with each. 0 without one. */
uint32_t frontend_generation(const struct frontend *frontend);

/* The session's state, as it is now. */
void frontend_state(struct frontend *frontend, const struct session *session);
/* Hands a descriptor over as E3 or E5; it stays the caller's to close. */
void frontend_link(struct frontend *frontend, const struct session *session, uint32_t edge, int fd);
/* Answers a request: success, or err. Nothing if it was of another cuad. */
void frontend_reply(struct frontend *frontend, struct waiter who, const struct cua_err *err);
/* Answers a question for usage; with err the usage may be NULL. */
void frontend_usage(struct frontend *frontend, struct waiter who, const cua_Usage *usage,
	const struct cua_err *err);
/* A line of a build's output; dropped when cuad is behind. */
void frontend_progress(struct frontend *frontend, struct waiter who, const char *line);
