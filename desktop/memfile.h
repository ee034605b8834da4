/* Files in memory, for pictures. The kernel needs longer to find a picture's pages, and to free them, than
 * the bytes to be copied there; so both are done after a picture, while nobody waits, for the next one
 * is most likely as large. */
#pragma once

#include <sys/uio.h>

#include "cua/msg.h"

/* What a file needs beside itself: memory that is ready, and files that are not needed any more. */
struct memfiles;

/* The caller frees it. NULL without memory. */
struct memfiles *memfiles_new(struct cua_err *err);
/* NULL is fine. Returns NULL. */
struct memfiles *memfiles_free(struct memfiles *files);
/* Does what was put off, and gets memory ready for a file as long as the last one that was made. To
 * be called when a picture is on its way. */
void memfiles_prepare(struct memfiles *files);
/* Gives back what is ready and what was put off. */
void memfiles_rest(struct memfiles *files);

/* A sealed memfd, mapped for reading. */
struct memfile {
	int fd; /* -1: there is none */
	struct cua_span bytes;
};

#define MEMFILE_NONE ((struct memfile){.fd = -1})

/* Makes one of these parts. The caller drops it. `files` NULL: nothing is ready. */
int memfile_make(struct memfiles *files, const struct iovec *parts, size_t count,
	struct memfile *ret, struct cua_err *err) CUA_CHECK;
/* Frees it, by the next memfiles_prepare() at the latest; with `files` NULL, or when another one
 * already waits, at once. There is none afterwards; none is fine. */
void memfile_drop(struct memfiles *files, struct memfile *file);
