/* Directories by inotify. Events carry no meaning here beyond "look again": names are not read, so
 * a flood of them costs one look for each read. */
#include "server/init/watch.h"

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cua/limits.h"

static void on_inotify(void *self, uint32_t events) {
	(void)events;
	struct watch *watch = self;
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	while (read(watch->source.fd, buf, sizeof(buf)) > 0) {
	}
	watch->on_change(watch->self);
}

void watch_init(struct watch *watch, struct loop *loop, void (*on_change)(void *self), void *self) {
	*watch = (struct watch){.loop = loop, .on_change = on_change, .self = self};
	watch->source = (struct loop_source){.fd = -1, .fn = on_inotify, .self = watch};
}

static void parent_of(const char *path, char ret_dir[CUA_PATH_SIZE]) {
	(void)snprintf(ret_dir, CUA_PATH_SIZE, "%s", path);
	char *slash = strrchr(ret_dir, '/');
	if (slash == ret_dir) {
		slash[1] = '\0';
	} else if (slash) {
		*slash = '\0';
	} else {
		(void)snprintf(ret_dir, CUA_PATH_SIZE, ".");
	}
}

int watch_parent(struct watch *watch, const char *path, struct cua_err *err) {
	watch_stop(watch);
	char dir[CUA_PATH_SIZE];
	parent_of(path, dir);
	_cleanup_fd_ int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0 || inotify_add_watch(fd, dir, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
		return cua_err_errno(err, errno, "cannot watch %s", dir);
	}
	int r = loop_add(watch->loop, &watch->source, fd, EPOLLIN, err);
	if (r < 0) {
		return r;
	}
	(void)take_fd(fd);
	return 0;
}

void watch_stop(struct watch *watch) {
	int fd = watch->source.fd;
	if (fd >= 0) {
		loop_remove(watch->loop, &watch->source);
		(void)close(fd);
	}
}
