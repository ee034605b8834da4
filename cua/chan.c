/* The outgoing queue of a non-blocking edge; declared in msg.h. A queued message is a finished
 * datagram with duplicates of its descriptors. */
#include "cua/msg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cua/msg_priv.h"

struct cua_chan_item {
	struct cua_chan_item *next;
	struct cua_packet packet;
	uint8_t bytes[];
};

void cua_chan_init(struct cua_chan *chan, int sock) {
	*chan = (struct cua_chan){.sock = sock};
}

static void item_free(struct cua_chan_item *item) {
	for (size_t i = 0; i < item->packet.fd_count; i++) {
		if (item->packet.fd[i] >= 0) {
			(void)close(item->packet.fd[i]);
		}
	}
	free(item);
}

void cua_chan_done(struct cua_chan *chan) {
	while (chan->head) {
		struct cua_chan_item *item = chan->head;
		chan->head = item->next;
		item_free(item);
	}
	if (chan->sock >= 0) {
		(void)close(chan->sock);
	}
	*chan = (struct cua_chan){.sock = -1};
}

static struct cua_chan_item *item_new(const struct cua_packet *packet, struct cua_err *err) {
	struct cua_chan_item *item = calloc(1, sizeof(*item) + packet->len);
	if (!item) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to queue a message");
		return NULL;
	}
	memcpy(item->bytes, packet->data, packet->len);
	item->packet = (struct cua_packet){.data = item->bytes, .len = packet->len, .memfd = -1};
	for (size_t i = 0; i < packet->fd_count; i++) {
		int fd = fcntl(packet->fd[i], F_DUPFD_CLOEXEC, 0);
		if (fd < 0) {
			(void)cua_err_errno(err, errno, "cannot keep a descriptor for later");
			item_free(item);
			return NULL;
		}
		item->packet.fd[item->packet.fd_count++] = fd;
	}
	return item;
}

static int enqueue(struct cua_chan *chan, const struct cua_packet *packet, struct cua_err *err) {
	if (chan->count >= CUA_CHAN_BACKLOG) {
		return cua_err_set(err, CUA_EXHAUSTED, "the peer does not read");
	}
	struct cua_chan_item *item = item_new(packet, err);
	if (!item) {
		return -CUA_EXHAUSTED;
	}
	if (chan->tail) {
		chan->tail->next = item;
	} else {
		chan->head = item;
	}
	chan->tail = item;
	chan->count++;
	return 0;
}

int cua_chan_send(struct cua_chan *chan, const struct cua_out *out, struct cua_err *err) {
	if (chan->sock < 0) {
		return cua_err_set(err, CUA_NOT_FOUND, "the peer is gone");
	}
	uint8_t buf[CUA_MSG_MAX];
	struct cua_packet packet;
	int r = cua_packet_make(out, buf, &packet, err);
	if (r < 0) {
		return r;
	}
	_cleanup_fd_ int memfd = packet.memfd;
	if (!chan->head) {
		r = cua_packet_send(chan->sock, &packet, err);
		if (r != -CUA_EXHAUSTED) {
			return r;
		}
	}
	return enqueue(chan, &packet, err);
}

bool cua_chan_pending(const struct cua_chan *chan) {
	return chan->head != NULL;
}

int cua_chan_flush(struct cua_chan *chan, struct cua_err *err) {
	while (chan->head) {
		struct cua_chan_item *item = chan->head;
		int r = cua_packet_send(chan->sock, &item->packet, err);
		if (r == -CUA_EXHAUSTED) {
			return 0;
		}
		if (r < 0) {
			return r;
		}
		chan->head = item->next;
		if (!chan->head) {
			chan->tail = NULL;
		}
		chan->count--;
		item_free(item);
	}
	return 0;
}
