/* SOCKET_REQUEST on E3 becomes FILE_CONNECT on E5; see the header. */
#include "server/front/socket_relay.h"

#include <stdlib.h>
#include <string.h>

#include "cua/fdio.h"
#include "server/front/guest.h"
#include "server/front/sessions.h"
#include "server/front/worker.h"

/* The session may be gone when the answer comes, so it is looked up again. */
struct relay {
	struct sessions *all;
	char session[CUA_ID_SIZE];
	uint32_t serial;
};

static void answer(const struct relay *relay, int fd, const struct cua_err *err) {
	struct session *session = sessions_get(relay->all, relay->session);
	if (!session) {
		return;
	}
	session->sockets--;
	if (session->worker) {
		worker_socket(session->worker, relay->serial, fd, err);
	}
}

static bool on_connected(void *data, struct cua_msg *msg, const struct cua_err *err) {
	_cleanup_free_ struct relay *relay = data;
	struct cua_err own;
	if (!msg) {
		answer(relay, -1, err);
	} else if (msg->body.file_result.has_error) {
		(void)cua_error_from_wire(&msg->body.file_result.error, &own);
		answer(relay, -1, &own);
	} else if (msg->fd_count != 1 || !fd_is_stream_socket(msg->fd[0])) {
		(void)cua_err_set(&own, CUA_INTERNAL, "the container gave no socket");
		answer(relay, -1, &own);
	} else {
		answer(relay, msg->fd[0], NULL);
	}
	return false;
}

static int begin(struct session *session, const cua_SocketRequest *wanted, struct cua_err *err) {
	if (!session->guest) {
		return cua_err_set(err, CUA_CONFLICT, "the session's init is not connected");
	}
	if (session->sockets >= CUA_WORKER_SOCKETS) {
		return cua_err_about(err, CUA_EXHAUSTED, "sockets", "%u connections are under way",
			session->sockets);
	}
	if (wanted->path[0] != '/' && wanted->path[0] != '@') {
		return cua_err_set(err, CUA_INVALID, "%s is no address of a socket", wanted->path);
	}
	_cleanup_free_ struct relay *relay = calloc(1, sizeof(*relay));
	if (!relay) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a connection");
	}
	*relay = (struct relay){.all = session->all, .serial = wanted->serial};
	memcpy(relay->session, session->told.id, sizeof(relay->session));
	int r = guest_connect(session->guest, wanted->path, on_connected, relay, err);
	if (r == 0) {
		session->sockets++;
		(void)take_ptr(relay);
	}
	return r;
}

void session_socket(void *data, const cua_SocketRequest *wanted) {
	struct session *session = data;
	struct cua_err err;
	if (begin(session, wanted, &err) < 0) {
		worker_socket(session->worker, wanted->serial, -1, &err);
	}
}
