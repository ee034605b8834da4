/* Memory that is ready for the next file; see the header. */
#include "desktop/memfile.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cua/fdio.h"

/* Shorter files gain nothing. */
#define READY_MIN (128u << 10)

struct memfiles {
	int ready; /* a memfd that is empty and has this memory; -1: none */
	size_t room;
	size_t wanted; /* how long the last file was, when memory has not been made ready since */
	struct memfile old; /* to be freed */
};

static void free_file(struct memfile *file) {
	if (file->fd >= 0) {
		(void)munmap((void *)(uintptr_t)file->bytes.data, file->bytes.len);
		(void)close(file->fd);
	}
	*file = MEMFILE_NONE;
}

static void free_ready(struct memfiles *files) {
	if (files->ready >= 0) {
		(void)close(files->ready);
	}
	files->ready = -1;
	files->room = 0;
}

struct memfiles *memfiles_new(struct cua_err *err) {
	struct memfiles *files = calloc(1, sizeof(*files));
	if (!files) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for pictures");
		return NULL;
	}
	files->ready = -1;
	files->old = MEMFILE_NONE;
	return files;
}

struct memfiles *memfiles_free(struct memfiles *files) {
	if (files) {
		memfiles_rest(files);
	}
	free(files);
	return NULL;
}

void memfiles_rest(struct memfiles *files) {
	free_file(&files->old);
	free_ready(files);
	files->wanted = 0;
}

/* A little more than the last file needed. Without memory, the next file finds its own or fails. */
void memfiles_prepare(struct memfiles *files) {
	size_t room = files->wanted + files->wanted / 4;
	free_file(&files->old);
	if (files->wanted < READY_MIN || files->room >= files->wanted) {
		return;
	}
	free_ready(files);
	files->wanted = 0;
	files->ready = fd_memfd_room(room, NULL);
	files->room = files->ready >= 0 ? room : 0;
}

/* Pages beyond the file's end would be freed while somebody waits. */
static bool suits(const struct memfiles *files, size_t len) {
	return files && files->room >= len && files->room / 2 <= len;
}

int memfile_make(struct memfiles *files, const struct iovec *parts, size_t count,
	struct memfile *ret, struct cua_err *err) {
	size_t len = 0;
	for (size_t i = 0; i < count; i++) {
		len += parts[i].iov_len;
	}
	_cleanup_fd_ int fd = -1;
	if (suits(files, len)) {
		fd = files->ready;
		files->ready = -1;
		files->room = 0;
	} else {
		fd = fd_memfd_room(0, err);
	}
	if (files) {
		files->wanted = len;
	}
	const void *map = NULL;
	int r = fd < 0 ? fd : fd_memfd_fill(fd, parts, count, err);
	if (r == 0) {
		r = fd_map_sealed(fd, len, &map, err);
	}
	if (r < 0) {
		return r;
	}
	*ret = (struct memfile){.fd = take_fd(fd), .bytes = {.data = map, .len = len}};
	return 0;
}

void memfile_drop(struct memfiles *files, struct memfile *file) {
	if (files && files->old.fd < 0) {
		files->old = *file;
		*file = MEMFILE_NONE;
	} else {
		free_file(file);
	}
}
