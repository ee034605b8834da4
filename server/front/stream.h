/* A pipe or stream socket on the loop: bytes in as they come, bytes out through a queue. Carries the
 * input and output of commands and the content of files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cua/msg.h"
#include "server/front/loop.h"

struct stream;

struct stream_ops {
	/* Bytes came; valid during the call. May free the stream. */
	void (*bytes)(void *data, struct cua_span bytes);
	/* The queue is below its low-water mark again after it was above. May be NULL. */
	void (*drained)(void *data);
	/* End of file, or the other side does not take bytes any more. Called once. May be NULL. */
	void (*closed)(void *data);
};

/* The queue length from which a source should be paused, and below which `drained` is called. */
#define STREAM_HIGH_WATER (256u << 10)
#define STREAM_LOW_WATER (64u << 10)

/* Takes the descriptor (closed on failure too). NULL on failure. */
struct stream *stream_new(
	struct loop *loop, int fd, const struct stream_ops *ops, void *data, struct cua_err *err);
/* Fine inside its own callbacks; NULL is fine. Returns NULL. */
struct stream *stream_free(struct stream *stream);

/* Writes or queues a copy; bytes for a side that takes no more are dropped. 0 or -CUA_EXHAUSTED. */
int stream_write(struct stream *stream, struct cua_span bytes, struct cua_err *err) CUA_CHECK;
/* Bytes in the queue. */
size_t stream_queued(const struct stream *stream);
/* No more will be written: tells the other side when the queue is empty. */
void stream_finish(struct stream *stream);
/* Stops and starts reading. */
void stream_pause(struct stream *stream, bool paused);
/* Hands over now what is there to be read, at most `limit` bytes. */
void stream_drain(struct stream *stream, size_t limit);
