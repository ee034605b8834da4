/* Starts and stops a session's container. Starting is liblxc's business; stopping is not, for its
 * monitor may be dead or stuck: it goes by the kernel's own facts, processes and cgroups. */
#include "server/supervisor/container.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lxc/lxccontainer.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/parse.h"
#include "server/supervisor/cgroup.h"
#include "server/supervisor/lxcconf.h"
#include "server/supervisor/netlink.h"
#include "server/supervisor/proc.h"
#include "server/supervisor/tree.h"
#include "server/supervisor/verify.h"

#define LOCKS "/run/lxc/lock" /* liblxc leaves a lock file there for each container */
#define ROUNDS 16
#define LOG_SIZE 32768
#define LOG_TAIL 240

CUA_DEFINE_CLEANUP(struct lxc_container *, lxc_container_put)

/* ---- what runs ---- */

/* RUN/sessions/ID/lxc/init: who PID 1 and its monitor were when the container started. */
static void running_path(const struct plan *plan, char ret[PLAN_PATH + 32]) {
	(void)snprintf(ret, PLAN_PATH + 32, "%s/init", plan->lxcpath);
}

static int keep_running(const struct plan *plan, const struct proc_id *init, struct cua_err *err) {
	char path[PLAN_PATH + 32];
	char text[96];
	running_path(plan, path);
	(void)snprintf(text, sizeof(text), "%d %d %" PRIu64 "\n", (int)init->pid, (int)init->parent,
		init->start);
	_cleanup_fd_ int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
	return r < 0 ? cua_err_errno(err, r, "cannot note the container's PID 1") : 0;
}

/* PID 1 as it was noted, whether or not it still runs. */
static bool noted(const struct plan *plan, struct proc_id *ret) {
	char path[PLAN_PATH + 32];
	char text[96] = "";
	running_path(plan, path);
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fd_read_all(fd, text, sizeof(text) - 1) < 0) {
		return false;
	}
	uint64_t row[3]; /* as keep_running() writes them */
	if (!parse_row(text, CUA_COUNT(row), row)) {
		return false;
	}
	*ret = (struct proc_id){.pid = (pid_t)row[0], .parent = (pid_t)row[1], .start = row[2]};
	return true;
}

pid_t container_init_pid(const struct plan_host *host, const struct plan *plan) {
	struct proc_id then;
	struct proc_id now;
	(void)host;
	/* Another parent: the monitor is dead, and PID 1 about to be. */
	if (!noted(plan, &then) || !proc_read(then.pid, &now) || now.start != then.start ||
		now.parent != then.parent) {
		return 0;
	}
	return then.pid;
}

/* ---- start ---- */

/* Appends the first error of liblxc's log, the cause, or the log's end if it holds none. */
static void tell_log(const struct plan *plan, struct cua_err *err) {
	char path[PLAN_PATH + 32];
	char text[LOG_SIZE] = "";
	(void)snprintf(path, sizeof(path), "%s/log", plan->lxcpath);
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, text, sizeof(text) - 1);
	if (n <= 0) {
		return;
	}
	const char *line = strstr(text, " ERROR ");
	/* "lxc TIME ERROR conf - ../src/lxc/conf.c:function:3321 - Text" */
	const char *cause = line ? strstr(line, ".c:") : NULL;
	cause = cause ? cause + strlen(".c:") : n > LOG_TAIL ? text + n - LOG_TAIL : text;
	size_t used = strlen(err->message);
	(void)snprintf(err->message + used, sizeof(err->message) - used, ": %.*s",
		(int)(line ? strcspn(cause, "\n") : strlen(cause)), cause);
}

static int configure(struct lxc_container *c, const struct plan_host *host, const struct plan *plan,
	struct cua_err *err) {
	_cleanup_(lxcconf_done) struct lxcconf conf = {0};
	/* Only reading a file tells liblxc's configuration the container's name. */
	if (!c->load_config(c, "/dev/null")) {
		return cua_err_set(err, CUA_INTERNAL, "liblxc cannot make a configuration");
	}
	int r = lxcconf_make(host, plan, &conf, err);
	for (size_t i = 0; i < conf.count && r == 0; i++) {
		const struct lxcconf_item *item = &conf.items[i];
		if (!c->set_config_item(c, item->key, item->value)) {
			r = cua_err_set(err, CUA_INTERNAL, "liblxc does not take %s = %s",
				item->key, item->value);
		}
	}
	return r;
}

static int start(const struct plan_host *host, const struct plan *plan, pid_t *ret_init,
	struct cua_err *err) {
	char log[PLAN_PATH + 32];
	(void)snprintf(log, sizeof(log), "%s/log", plan->lxcpath);
	(void)unlink(log);
	_cleanup_(lxc_container_put_p) struct lxc_container *c =
		lxc_container_new(plan->record.id, plan->lxcpath);
	if (!c) {
		return cua_err_set(err, CUA_INTERNAL, "liblxc cannot make a container");
	}
	int r = configure(c, host, plan, err);
	if (r < 0) {
		return r;
	}
	(void)c->want_daemonize(c, true);
	(void)c->want_close_all_fds(c, true);
	if (!c->start(c, 0, NULL)) {
		r = cua_err_set(err, CUA_INTERNAL, "the container did not start");
		tell_log(plan, err);
		return r;
	}
	*ret_init = c->init_pid(c);
	return *ret_init > 0 ? 0 : cua_err_set(err, CUA_INTERNAL, "the container ended at once");
}

/* What the child that starts a container tells. */
struct outcome {
	int result;
	pid_t init;
	struct cua_err err;
};

/* The child: waits until it is in its group, and does nothing when its parent died before. */
static void start_and_tell(const struct plan_host *host, const struct plan *plan, int link) {
	struct outcome out = {.init = 0};
	char byte = 0;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd_read_all(link, &byte, 1) != 1) {
		_exit(1);
	}
	/* The monitor keeps this name: who kills the supervisor by name must not end every session. */
	(void)prctl(PR_SET_NAME, "cuad-monitor");
	out.result = start(host, plan, &out.init, &out.err);
	_exit(fd_write_all(link, &out, sizeof(out)) < 0);
}

static int hear_outcome(int fd, pid_t *ret_init, struct cua_err *err) {
	struct outcome out = {.init = 0};
	if (fd_read_all(fd, &out, sizeof(out)) != (ssize_t)sizeof(out)) {
		return cua_err_set(err, CUA_INTERNAL, "the process that starts the container died");
	}
	if (out.result < 0 && err) {
		*err = out.err;
	}
	*ret_init = out.init;
	return out.result;
}

/* liblxc moves the process that calls it into the monitor's cgroup: that is to be a process that
 * ends here. */
static int start_apart(const struct plan_host *host, const struct plan *plan, pid_t *ret_init,
	struct cua_err *err) {
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		return cua_err_errno(err, errno, "cannot make a socket pair");
	}
	_cleanup_fd_ int ours = pair[0];
	_cleanup_fd_ int theirs = pair[1];
	pid_t pid = fork();
	if (pid < 0) {
		return cua_err_errno(err, errno, "cannot fork");
	}
	if (pid == 0) {
		(void)close(take_fd(ours));
		start_and_tell(host, plan, theirs);
	}
	(void)close(take_fd(theirs));
	int r = cgroup_put_start(plan->record.id, pid, err);
	if (r == 0 && send(ours, "", 1, MSG_NOSIGNAL) != 1) {
		r = cua_err_errno(err, errno, "cannot start the container");
	}
	r = r < 0 ? r : hear_outcome(ours, ret_init, err);
	(void)close(take_fd(ours)); /* lets a child end that was never told to go */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
	}
	cgroup_remove_start(plan->record.id);
	return r;
}

static int start_verified(const struct plan_host *host, const struct plan *plan, pid_t *ret_init,
	struct cua_err *err) {
	struct proc_id init;
	pid_t pid = 0;
	int r = start_apart(host, plan, &pid, err);
	if (r < 0) {
		return r;
	}
	if (!proc_read(pid, &init)) {
		return cua_err_set(err, CUA_INTERNAL, "the container ended at once");
	}
	cgroup_forbid_swap(plan->record.id);
	r = cgroup_confine(plan->record.id, err);
	r = r < 0 ? r : verify_container(plan, pid, err);
	r = r < 0 ? r : keep_running(plan, &init, err);
	if (r == 0) {
		*ret_init = pid;
	}
	return r;
}

int container_start(const struct plan_host *host, const struct plan *plan, pid_t *ret_init,
	struct cua_err *err) {
	if (container_init_pid(host, plan) > 0) {
		return cua_err_set(err, CUA_CONFLICT, "the container runs already");
	}
	/* Stale groups would make liblxc choose other names. */
	int r = container_stop(host, plan, 0, err);
	r = r < 0 ? r : start_verified(host, plan, ret_init, err);
	if (r < 0 && container_stop(host, plan, 0, NULL) < 0) {
		(void)cua_err_prefix(err, "something of the container is left");
	}
	return r;
}

/* ---- stop ---- */

/* Ends PID 1, and with it everything in its pid namespace. */
static int end_init(const struct proc_id *init, unsigned grace_ms, struct cua_err *err) {
	_cleanup_fd_ int fd = proc_open(init);
	if (fd < 0) {
		return 0;
	}
	proc_signal(fd, SIGTERM);
	if (grace_ms > 0 && proc_wait(fd, (int)grace_ms)) {
		return 0;
	}
	proc_signal(fd, SIGKILL);
	if (!proc_wait(fd, CUA_KILL_WAIT_MS)) {
		return cua_err_set(err, CUA_TIMEOUT, "the session's PID 1 cannot be killed");
	}
	return 0;
}

/* Gives the monitor time to remove what it made. */
static void await_monitor(const char *id) {
	struct proc_id monitor;
	_cleanup_fd_ int fd = cgroup_any(id, true, &monitor) ? proc_open(&monitor) : -1;
	if (fd >= 0) {
		(void)proc_wait(fd, CUA_MONITOR_WAIT_MS);
	}
}

static int end_processes(const struct plan *plan, unsigned grace_ms, struct cua_err *err) {
	const char *id = plan->record.id;
	struct proc_id one;
	int r = 0;
	cgroup_thaw(id);
	if (noted(plan, &one)) {
		r = end_init(&one, grace_ms, err);
		await_monitor(id);
	}
	/* What is left by a start that was cut off can still make more, of the other kind, too. */
	for (int i = 0; i < ROUNDS && r == 0; i++) {
		r = cgroup_kill(id, true, err);
		r = r < 0 ? r : cgroup_kill(id, false, err);
		if (!cgroup_any(id, true, &one) && !cgroup_any(id, false, &one)) {
			break;
		}
	}
	return r;
}

static int remove_traces(const struct plan *plan, struct cua_err *err) {
	char path[PLAN_PATH + 32];
	int r = netlink_link_delete(plan->interface);
	if (r < 0) {
		return cua_err_errno(err, r, "cannot delete the interface %s", plan->interface);
	}
	r = cgroup_remove(plan->record.id, err);
	if (r < 0) {
		return r;
	}
	(void)snprintf(path, sizeof(path), LOCKS "%s", plan->run);
	r = tree_remove(path, err);
	running_path(plan, path);
	(void)unlink(path);
	return r;
}

int container_stop(const struct plan_host *host, const struct plan *plan, unsigned grace_ms,
	struct cua_err *err) {
	(void)host;
	int r = end_processes(plan, grace_ms, err);
	return r < 0 ? r : remove_traces(plan, err);
}

/* ---- usage ---- */

static uint64_t field_of(const char *text, const char *key) {
	const char *p = strstr(text, key);
	return p ? strtoull(p + strlen(key), NULL, 10) : 0;
}

static uint64_t cpu_ms(const char *id) {
	static const struct cgroup_file cpu = {"cpuacct", "cpuacct.usage", "cpu.stat"};
	char text[1024];
	if (!cgroup_read(id, &cpu, text, sizeof(text))) {
		return 0;
	}
	/* v1 has nanoseconds and nothing else, v2 a table in microseconds. */
	const char *usec = strstr(text, "usage_usec ");
	return usec ? field_of(usec, "usage_usec ") / 1000 : strtoull(text, NULL, 10) / 1000000;
}

/* Without the page cache that the kernel would drop first. */
static uint64_t memory_used(const char *id) {
	static const struct cgroup_file now = {"memory", "memory.usage_in_bytes", "memory.current"};
	static const struct cgroup_file stat = {"memory", "memory.stat", "memory.stat"};
	char text[8192];
	uint64_t used = 0;
	if (!cgroup_read_u64(id, &now, &used) || !cgroup_read(id, &stat, text, sizeof(text))) {
		return used;
	}
	uint64_t cache = field_of(text, "\ntotal_inactive_file ");
	cache = cache ? cache : field_of(text, "\ninactive_file ");
	return used > cache ? used - cache : 0;
}

int container_usage(const struct plan_host *host, const struct plan *plan, cua_Usage *ret,
	struct cua_err *err) {
	static const struct cgroup_file pids = {"pids", "pids.current", "pids.current"};
	const char *id = plan->record.id;
	uint64_t count = 0;
	(void)host;
	if (!cgroup_read_u64(id, &pids, &count)) {
		return cua_err_set(err, CUA_NOT_FOUND, "the container does not run");
	}
	ret->has_cpu_ms = true;
	ret->cpu_ms = cpu_ms(id);
	ret->has_memory = true;
	ret->memory = memory_used(id);
	ret->has_pids = true;
	ret->pids = (uint32_t)count;
	return 0;
}
