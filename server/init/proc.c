/* The process tree from /proc. A pid that is reused between scan and kill belongs to another
 * process of the same container; pids are handed out in a circle, so that takes tens of thousands
 * of forks within microseconds. */
#include "server/init/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "cua/cleanup.h"
#include "server/init/loop.h"

/* So often it is tried to kill without stopping first: nearly always enough. */
#define PLAIN_ROUNDS 3
#define STOP_ROUNDS 20

struct process {
	pid_t pid;
	pid_t parent;
	char state;
	bool below;
};

struct table {
	struct process *item;
	size_t count;
	size_t size;
};

static void table_done(struct table *table) {
	free(table->item);
}

CUA_DEFINE_CLEANUP(DIR *, closedir)

/* "PID (NAME) STATE PARENT …", where NAME may hold anything, also parentheses. */
static bool read_process(int proc, const char *name, struct process *ret) {
	char path[32];
	(void)snprintf(path, sizeof(path), "%.16s/stat", name);
	_cleanup_fd_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0) {
		return false;
	}
	text[n] = '\0';
	const char *after = strrchr(text, ')');
	if (!after || strlen(after) < 4) {
		return false;
	}
	ret->pid = (pid_t)strtol(name, NULL, 10);
	ret->state = after[2];
	ret->parent = (pid_t)strtol(after + 4, NULL, 10);
	ret->below = false;
	return true;
}

static int table_add(struct table *table, const struct process *process) {
	if (table->count == table->size) {
		size_t size = table->size ? table->size * 2 : 128;
		struct process *item = reallocarray(table->item, size, sizeof(*item));
		if (!item) {
			return -ENOMEM;
		}
		table->item = item;
		table->size = size;
	}
	table->item[table->count++] = *process;
	return 0;
}

static int compare_pids(const void *a, const void *b) {
	pid_t x = ((const struct process *)a)->pid;
	pid_t y = ((const struct process *)b)->pid;
	return (x > y) - (x < y);
}

static int table_read(struct table *table) {
	_cleanup_(closedir_p) DIR *dir = opendir("/proc");
	if (!dir) {
		return -errno;
	}
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		struct process process;
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
			!read_process(dirfd(dir), entry->d_name, &process)) {
			continue;
		}
		int r = table_add(table, &process);
		if (r < 0) {
			return r;
		}
	}
	if (table->count > 0) {
		qsort(table->item, table->count, sizeof(table->item[0]), compare_pids);
	}
	return 0;
}

static bool is_below(const struct table *table, pid_t parent, pid_t root) {
	if (parent == root) {
		return true;
	}
	struct process key = {.pid = parent};
	const struct process *found =
		bsearch(&key, table->item, table->count, sizeof(table->item[0]), compare_pids);
	return found && found->below;
}

static void table_mark(struct table *table, pid_t root) {
	bool changed = true;
	while (changed) {
		changed = false;
		for (size_t i = 0; i < table->count; i++) {
			struct process *process = &table->item[i];
			if (!process->below && is_below(table, process->parent, root)) {
				process->below = true;
				changed = true;
			}
		}
	}
}

/* Scans and leaves only the living descendants in the table, ordered by pid. */
static int table_scan(struct table *table, pid_t root) {
	table->count = 0;
	int r = table_read(table);
	if (r < 0) {
		return r;
	}
	if (table->count > 0) {
		table_mark(table, root);
	}
	size_t n = 0;
	for (size_t i = 0; i < table->count; i++) {
		const struct process *process = &table->item[i];
		if (process->below && process->state != 'Z' && process->state != 'X') {
			table->item[n++] = *process;
		}
	}
	table->count = n;
	return (int)n;
}

static bool table_has(const struct table *table, pid_t pid) {
	struct process key = {.pid = pid};
	return table->count > 0 && bsearch(&key, table->item, table->count, sizeof(table->item[0]),
					   compare_pids) != NULL;
}

static void signal_all(const struct table *table, int signal) {
	for (size_t i = 0; i < table->count; i++) {
		(void)kill(table->item[i].pid, signal);
	}
}

/* True if `now` holds a process that was not in `before`. */
static bool has_news(const struct table *now, const struct table *before) {
	for (size_t i = 0; i < now->count; i++) {
		if (!table_has(before, now->item[i].pid)) {
			return true;
		}
	}
	return false;
}

static void stop_descendants(pid_t root) {
	_cleanup_(table_done) struct table before = {0};
	_cleanup_(table_done) struct table now = {0};
	for (int round = 0; round < STOP_ROUNDS; round++) {
		if (table_scan(&now, root) <= 0 || !has_news(&now, &before)) {
			return;
		}
		signal_all(&now, SIGSTOP);
		struct table swap = before;
		before = now;
		now = swap;
	}
}

int proc_kill_descendants(unsigned ms, void (*reap)(void *self), void *self) {
	sigset_t child;
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	uint64_t until = loop_now_us() + (uint64_t)ms * 1000;
	for (int round = 0;; round++) {
		if (round >= PLAIN_ROUNDS) {
			stop_descendants(getpid());
		}
		_cleanup_(table_done) struct table table = {0};
		int n = table_scan(&table, getpid());
		if (n <= 0) {
			return n;
		}
		signal_all(&table, SIGKILL);
		if (loop_now_us() >= until) {
			return n;
		}
		(void)sigtimedwait(&child, NULL, &(struct timespec){.tv_nsec = 10000000});
		reap(self);
	}
}
