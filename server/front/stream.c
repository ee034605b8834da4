/* Bytes through a descriptor; see the header. It knows nothing of what the bytes are. A pipe has one
 * direction and a socket two: writing ends by shutdown() of a socket and by close() of a pipe. */
#include "server/front/stream.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cua/fdio.h"

#define CHUNK 65536

struct stream {
	struct loop *loop;
	const struct stream_ops *ops;
	void *data;
	int fd;
	struct loop_io *io;
	char *queue;
	size_t start; /* first byte in the queue not written yet */
	size_t end;
	size_t room;
	bool above; /* was above the high-water mark */
	bool finishing; /* nothing comes any more */
	bool deaf; /* the other side takes no bytes */
	bool closed; /* `closed` was told */
	bool busy;
	bool doomed;
};

static void destroy(struct stream *stream) {
	stream->io = loop_io_remove(stream->io);
	if (stream->fd >= 0) {
		(void)close(stream->fd);
	}
	free(stream->queue);
	free(stream);
}

/* Callbacks may free the stream: run between enter and leave; false when it is gone. */
static bool leave(struct stream *stream, bool nested) {
	stream->busy = nested;
	if (stream->doomed && !nested) {
		destroy(stream);
		return false;
	}
	return !stream->doomed;
}

static void queue_clear(struct stream *stream) {
	free(take_ptr(stream->queue));
	stream->start = stream->end = stream->room = 0;
}

static void tell_closed(struct stream *stream) {
	stream->io = loop_io_remove(stream->io);
	stream->deaf = true;
	queue_clear(stream);
	if (stream->fd >= 0) {
		(void)close(take_fd(stream->fd));
	}
	if (!stream->closed && stream->ops->closed) {
		stream->closed = true;
		stream->ops->closed(stream->data);
	}
}

/* Reads once. Bytes read; 0 when there is nothing now; -1 at the end. */
static ssize_t read_some(struct stream *stream, size_t limit) {
	char buf[CHUNK];
	ssize_t n = 0;
	do {
		n = read(stream->fd, buf, limit < sizeof(buf) ? limit : sizeof(buf));
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN) {
		return 0;
	}
	if (n <= 0) {
		return -1;
	}
	stream->ops->bytes(stream->data, (struct cua_span){.data = buf, .len = (size_t)n});
	return n;
}

static void on_read(void *data) {
	struct stream *stream = data;
	bool nested = stream->busy;
	stream->busy = true;
	if (read_some(stream, CHUNK) < 0 && !stream->doomed) {
		tell_closed(stream);
	}
	(void)leave(stream, nested);
}

/* Ends the writing direction after the last byte. */
static void end_writing(struct stream *stream) {
	stream->deaf = true;
	if (shutdown(stream->fd, SHUT_WR) < 0 && errno == ENOTSOCK) {
		stream->io = loop_io_remove(stream->io);
		(void)close(take_fd(stream->fd));
	}
}

/* Writes what fits. Negative when the other side is gone. */
static int flush(struct stream *stream) {
	while (stream->start < stream->end) {
		ssize_t n = write(
			stream->fd, stream->queue + stream->start, stream->end - stream->start);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0 && errno == EAGAIN) {
			loop_io_want_write(stream->io);
			return 0;
		}
		if (n < 0) {
			return -errno;
		}
		stream->start += (size_t)n;
	}
	queue_clear(stream);
	if (stream->finishing) {
		end_writing(stream);
	}
	return 0;
}

static void on_write(void *data) {
	struct stream *stream = data;
	if (stream->deaf) {
		return;
	}
	bool nested = stream->busy;
	stream->busy = true;
	if (flush(stream) < 0) {
		/* what the other side still has to say can be read all the same */
		stream->deaf = true;
		queue_clear(stream);
	}
	if (stream->above && stream_queued(stream) <= STREAM_LOW_WATER) {
		stream->above = false;
		if (stream->ops->drained) {
			stream->ops->drained(stream->data);
		}
	}
	(void)leave(stream, nested);
}

struct stream *stream_new(
	struct loop *loop, int fd, const struct stream_ops *ops, void *data, struct cua_err *err) {
	struct stream *stream = calloc(1, sizeof(*stream));
	if (!stream) {
		(void)close(fd);
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for a stream");
		return NULL;
	}
	*stream = (struct stream){.loop = loop, .ops = ops, .data = data, .fd = fd};
	int r = fd_set_nonblock(fd, 1);
	if (r < 0) {
		(void)cua_err_errno(err, r, "cannot use a pipe");
		destroy(stream);
		return NULL;
	}
	stream->io = loop_io_add(loop, fd, on_read, on_write, stream, err);
	if (!stream->io) {
		destroy(stream);
		return NULL;
	}
	return stream;
}

struct stream *stream_free(struct stream *stream) {
	if (stream && stream->busy) {
		stream->doomed = true;
		stream->io = loop_io_remove(stream->io);
	} else if (stream) {
		destroy(stream);
	}
	return NULL;
}

/* Makes room for len more bytes at the end of the queue. */
static int reserve(struct stream *stream, size_t len, struct cua_err *err) {
	if (stream->start > 0) {
		memmove(stream->queue, stream->queue + stream->start, stream->end - stream->start);
		stream->end -= stream->start;
		stream->start = 0;
	}
	if (stream->end + len <= stream->room) {
		return 0;
	}
	size_t room = stream->end + len + CHUNK;
	char *queue = realloc(stream->queue, room);
	if (!queue) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for %zu bytes", room);
	}
	stream->queue = queue;
	stream->room = room;
	return 0;
}

int stream_write(struct stream *stream, struct cua_span bytes, struct cua_err *err) {
	if (stream->deaf || stream->finishing || bytes.len == 0) {
		return 0;
	}
	int r = reserve(stream, bytes.len, err);
	if (r < 0) {
		return r;
	}
	memcpy(stream->queue + stream->end, bytes.data, bytes.len);
	stream->end += bytes.len;
	if (flush(stream) < 0) {
		stream->deaf = true;
		queue_clear(stream);
	}
	stream->above |= stream_queued(stream) > STREAM_HIGH_WATER;
	return 0;
}

size_t stream_queued(const struct stream *stream) {
	return stream->end - stream->start;
}

void stream_finish(struct stream *stream) {
	if (!stream->finishing) {
		stream->finishing = true;
		if (!stream->deaf && stream_queued(stream) == 0) {
			end_writing(stream);
		}
	}
}

void stream_pause(struct stream *stream, bool paused) {
	if (stream->io) {
		loop_io_pause(stream->io, paused);
	}
}

void stream_drain(struct stream *stream, size_t limit) {
	bool nested = stream->busy;
	stream->busy = true;
	while (limit > 0 && stream->fd >= 0 && !stream->doomed) {
		ssize_t n = read_some(stream, limit);
		if (n <= 0) {
			break;
		}
		limit -= (size_t)n;
	}
	(void)leave(stream, nested);
}
