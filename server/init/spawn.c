/* From a fork to an execve. Everything that may block on a file system or believe a file of the
 * container happens here, in a child, and never in PID 1 itself. */
#include "server/init/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/ident.h"

#define BASE_PATH                                                                                  \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/games:/usr/games"

#define BASE_MAX 16
#define KEEP_MAX 8

/* ---------------------------------------------------------------- fork */

static int compare_ints(const void *a, const void *b) {
	int x = *(const int *)a;
	int y = *(const int *)b;
	return (x > y) - (x < y);
}

static void close_others(const int *keep, size_t keep_count) {
	int sorted[KEEP_MAX];
	size_t n = 0;
	for (size_t i = 0; i < keep_count && n < KEEP_MAX; i++) {
		if (keep[i] > STDERR_FILENO) {
			sorted[n++] = keep[i];
		}
	}
	qsort(sorted, n, sizeof(sorted[0]), compare_ints);
	unsigned from = STDERR_FILENO + 1;
	for (size_t i = 0; i < n; i++) {
		if ((unsigned)sorted[i] > from) {
			(void)close_range(from, (unsigned)sorted[i] - 1, 0);
		}
		from = (unsigned)sorted[i] + 1;
	}
	(void)close_range(from, ~0U, 0);
}

pid_t spawn_fork(const int *keep, size_t keep_count, struct cua_err *err) {
	sigset_t all;
	sigset_t before;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	pid_t pid = fork();
	if (pid == 0) {
		close_others(keep, keep_count);
		return 0;
	}
	int saved = errno;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		return cua_err_set(
			err, CUA_EXHAUSTED, "no process can be started: %s", strerror(saved));
	}
	return pid;
}

void spawn_await_close(int sock) {
	char rest[64];
	ssize_t n = 1;
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
		struct pollfd wait = {.fd = sock, .events = POLLIN};
		(void)poll(&wait, 1, -1);
		n = recv(sock, rest, sizeof(rest), MSG_DONTWAIT);
	}
}

/* ---------------------------------------------------------------- environment */

struct env_base {
	char *item[BASE_MAX];
	size_t count;
};

static void base_add(struct env_base *base, const char *fmt, ...) CUA_PRINTF(2, 3);
static void base_add(struct env_base *base, const char *fmt, ...) {
	va_list ap;
	va_start(ap, fmt);
	char *item = NULL;
	if (vasprintf(&item, fmt, ap) >= 0 && base->count < BASE_MAX) {
		base->item[base->count++] = item;
	}
	va_end(ap);
}

static void base_fill(struct env_base *base, const struct account *account, bool terminal) {
	char host[65] = "";
	(void)gethostname(host, sizeof(host) - 1);
	base_add(base, "PATH=%s", BASE_PATH);
	base_add(base, "HOME=%s", account->home);
	base_add(base, "USER=%s", account->name);
	base_add(base, "LOGNAME=%s", account->name);
	base_add(base, "SHELL=%s", account->shell);
	base_add(base, "LANG=C.UTF-8");
	base_add(base, "HOSTNAME=%s", host);
	base_add(base, "DISPLAY=:0");
	base_add(base, "XDG_RUNTIME_DIR=/run/user/%u", (unsigned)account->uid);
	base_add(base, "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus");
	if (terminal) {
		base_add(base, "TERM=xterm-256color");
	}
}

static bool same_key(const char *a, const char *b) {
	size_t len = strcspn(a, "=");
	return strncmp(a, b, len) == 0 && b[len] == '=';
}

static bool is_overridden(const char *item, char *const *env) {
	for (; env && *env; env++) {
		if (same_key(item, *env)) {
			return true;
		}
	}
	return false;
}

static int env_check(char *const *env, size_t *ret_count, struct cua_err *err) {
	size_t count = 0;
	for (; env && env[count]; count++) {
		const char *equals = strchr(env[count], '=');
		if (!equals || !cua_env_key_ok(env[count], (size_t)(equals - env[count]))) {
			return cua_err_about(err, CUA_INVALID, "env",
				"entry %zu of the environment has no valid name", count);
		}
	}
	*ret_count = count;
	return 0;
}

char **spawn_environment(
	const struct account *account, char *const *env, bool terminal, struct cua_err *err) {
	size_t given = 0;
	if (env_check(env, &given, err) < 0) {
		return NULL;
	}
	struct env_base base = {0};
	base_fill(&base, account, terminal);
	char **all = calloc(base.count + given + 1, sizeof(*all));
	if (!all) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for an environment");
		return NULL;
	}
	size_t n = 0;
	for (size_t i = 0; i < base.count; i++) {
		if (!is_overridden(base.item[i], env)) {
			all[n++] = base.item[i];
		}
	}
	for (size_t i = 0; i < given; i++) {
		all[n++] = env[i];
	}
	return all;
}

/* ---------------------------------------------------------------- stdio */

static int open_log(const char *name) {
	char path[128];
	(void)snprintf(path, sizeof(path), "/var/log/cuad/%s.log", name);
	_cleanup_fd_ int fd = open(path,
		O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		0644);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		return -1;
	}
	if (st.st_size > (off_t)CUA_LOG_BYTES) {
		(void)!ftruncate(fd, 0);
	}
	return take_fd(fd);
}

static int stdio_default(const struct spawn *spawn, struct cua_err *err) {
	_cleanup_fd_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0) {
		return cua_err_errno(err, errno, "cannot open /dev/null");
	}
	_cleanup_fd_ int log = spawn->log ? open_log(spawn->log) : -1;
	int out = log >= 0 ? log : null;
	if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) {
		return cua_err_errno(err, errno, "cannot set up stdio");
	}
	return 0;
}

static int stdio_terminal(
	const struct spawn *spawn, const struct account *account, struct cua_err *err) {
	int fd = spawn->terminal;
	if (fchown(fd, account->uid, (gid_t)-1) < 0 || fchmod(fd, 0620) < 0 ||
		ioctl(fd, TIOCSCTTY, 0) < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 ||
		dup2(fd, 2) < 0) {
		return cua_err_errno(err, errno, "cannot hand over the terminal");
	}
	return 0;
}

static int stdio_given(const struct spawn *spawn, struct cua_err *err) {
	for (int i = 0; i < 3; i++) {
		if (dup2(spawn->fd[i], i) < 0) {
			return cua_err_errno(err, errno, "cannot set up stdio");
		}
	}
	return 0;
}

static int stdio_set(
	const struct spawn *spawn, const struct account *account, struct cua_err *err) {
	if (spawn->keep_fd >= 0 && fcntl(spawn->keep_fd, F_SETFD, 0) < 0) {
		return cua_err_errno(err, errno, "cannot keep a descriptor");
	}
	if (spawn->terminal >= 0) {
		return stdio_terminal(spawn, account, err);
	}
	return spawn->fd[0] < 0 ? stdio_default(spawn, err) : stdio_given(spawn, err);
}

/* ---------------------------------------------------------------- the rest */

static int about(struct cua_err *err, const char *subject) {
	(void)snprintf(err->subject, sizeof(err->subject), "%s", subject);
	return -(int)err->code;
}

static int change_dir(
	const struct spawn *spawn, const struct account *account, struct cua_err *err) {
	if (!spawn->cwd || spawn->cwd[0] == '\0') {
		if (chdir(account->home) < 0 && chdir("/") < 0) {
			return cua_err_errno(err, errno, "cannot enter /");
		}
		return 0;
	}
	char path[CUA_PATH_SIZE];
	int r = account_path(account, spawn->cwd, "cwd", path, err);
	if (r < 0) {
		return r;
	}
	if (chdir(path) < 0) {
		(void)cua_err_errno(err, errno, "cannot enter the directory %.256s", path);
		return about(err, "cwd");
	}
	return 0;
}

/* PID 1 ignores SIGPIPE, and what is ignored or blocked survives an execve. */
static void reset_signals(void) {
	struct sigaction fallback = {.sa_handler = SIG_DFL};
	for (int i = 1; i < NSIG; i++) {
		(void)sigaction(i, &fallback, NULL);
	}
	sigset_t none;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int run(const struct spawn *spawn, struct cua_err *err) {
	(void)execvp(spawn->argv[0], spawn->argv);
	(void)cua_err_errno(err, errno, "cannot execute %.256s", spawn->argv[0]);
	return about(err, "command");
}

int spawn_exec(const struct spawn *spawn, struct cua_err *err) {
	if (!spawn->argv || !spawn->argv[0] || spawn->argv[0][0] == '\0') {
		return cua_err_about(err, CUA_INVALID, "command", "the command is empty");
	}
	struct account account;
	int r = account_find("/etc", spawn->user, &account, err);
	if (r < 0) {
		return r;
	}
	char **env = spawn_environment(&account, spawn->env, spawn->terminal >= 0, err);
	if (!env) {
		return -(int)err->code;
	}
	(void)setsid();
	(void)umask(022);
	r = stdio_set(spawn, &account, err);
	if (r == 0) {
		r = account_become(&account, err);
	}
	if (r == 0) {
		r = change_dir(spawn, &account, err);
	}
	if (r < 0) {
		return r;
	}
	reset_signals();
	environ = env;
	return run(spawn, err);
}
