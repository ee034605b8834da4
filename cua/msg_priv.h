/* Shared by msg.c and chan.c: a message in the form in which the kernel takes it. */
#pragma once

#include "cua/msg.h"

struct cua_packet {
	uint8_t *data; /* the datagram, in the buffer given to cua_packet_make() */
	size_t len;
	int fd[CUA_MSG_FDS + 1]; /* memfd first, if there is one, then the caller's */
	size_t fd_count;
	int memfd; /* owned by whoever made the packet; -1 without one */
};

/* Checks a message against its row and lays it out in buf. 0 or negative cua_code. */
int cua_packet_make(const struct cua_out *out, uint8_t buf[CUA_MSG_MAX], struct cua_packet *ret,
	struct cua_err *err) CUA_CHECK;
/* One sendmsg; results as cua_msg_send(). */
int cua_packet_send(int sock, const struct cua_packet *packet, struct cua_err *err) CUA_CHECK;
