/* fork and exec; see the header. The sandbox of a program that needs one is its own business. */
#include "server/supervisor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Old programs close, or select() among, everything up to the limit. */
#define USUAL_DESCRIPTORS 1024

int spawn_pidfd(pid_t pid, struct cua_err *err) {
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0) {
		return cua_err_errno(err, errno, "cannot watch process %d", (int)pid);
	}
	return fd; /* close-on-exec by nature */
}

void spawn_reset(void) {
	struct sigaction act = {.sa_handler = SIG_DFL};
	for (int i = 1; i < NSIG; i++) {
		(void)sigaction(i, &act, NULL);
	}
	sigset_t none;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > USUAL_DESCRIPTORS) {
		limit.rlim_cur = USUAL_DESCRIPTORS;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int spawn_user(const char *name, uid_t *ret_uid, gid_t *ret_gid, struct cua_err *err) {
	errno = 0;
	const struct passwd *pw = getpwnam(name);
	if (!pw) {
		return cua_err_about(
			err, CUA_NOT_FOUND, "user", "there is no user %s on this system", name);
	}
	*ret_uid = pw->pw_uid;
	*ret_gid = pw->pw_gid;
	return 0;
}

/* ---------------------------------------------------------------- in the child */

/* Moves the descriptors to 0, 1 and 3. All are lifted first: one may sit where another goes. */
static int place_fds(const struct spawn *spawn) {
	int input = spawn->input >= 0 ? spawn->input : open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int from[3] = {input, spawn->output, spawn->edge};
	static const int to[3] = {0, 1, 3};
	int high[3] = {-1, -1, -1};
	for (int i = 0; i < 3; i++) {
		high[i] = from[i] >= 0 ? fcntl(from[i], F_DUPFD_CLOEXEC, 10) : -1;
		if (from[i] >= 0 && high[i] < 0) {
			return -1;
		}
	}
	for (int i = 0; i < 3; i++) {
		if (high[i] >= 0 && dup2(high[i], to[i]) < 0) {
			return -1;
		}
	}
	return (int)syscall(SYS_close_range, spawn->edge >= 0 ? 4u : 3u, ~0u, 0u);
}

/* The kernel hands an ambient capability on through exec, without any other right. */
static int raise_port_capability(void) {
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const uint32_t bit = 1u << CAP_NET_BIND_SERVICE;
	struct __user_cap_data_struct data[2] = {
		{.effective = bit, .permitted = bit, .inheritable = bit}};
	if (syscall(SYS_capset, &head, data) < 0) {
		return -1;
	}
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_BIND_SERVICE, 0, 0);
}

static int drop_rights(const struct spawn *spawn) {
	if (spawn->keep_port && prctl(PR_SET_KEEPCAPS, 1) < 0) {
		return -1;
	}
	if (setgroups(0, NULL) < 0 || setresgid(spawn->gid, spawn->gid, spawn->gid) < 0 ||
		setresuid(spawn->uid, spawn->uid, spawn->uid) < 0) {
		return -1;
	}
	if (spawn->keep_port && raise_port_capability() < 0) {
		return -1;
	}
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int prepare(const struct spawn *spawn, pid_t parent) {
	spawn_reset();
	(void)setsid();
	(void)umask(022);
	if (place_fds(spawn) < 0 || (spawn->drop && drop_rights(spawn) < 0)) {
		return -1;
	}
	/* Changing ids clears this, so it comes last. */
	if (spawn->parent_death && prctl(PR_SET_PDEATHSIG, spawn->parent_death) < 0) {
		return -1;
	}
	return getppid() == parent ? 0 : -1;
}

static void child_main(const struct spawn *spawn, pid_t parent) {
	char level[32];
	const char *log = getenv("CUAD_LOG");
	(void)snprintf(level, sizeof(level), "CUAD_LOG=%s", log ? log : "");
	char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char lang[] = "LANG=C.UTF-8";
	char *env[] = {path, lang, log ? level : NULL, NULL};
	if (prepare(spawn, parent) == 0) {
		(void)execve(spawn->path, spawn->argv, env);
	}
	(void)dprintf(STDERR_FILENO, "cannot start %s: %s\n", spawn->path, strerror(errno));
	_exit(127);
}

/* ---------------------------------------------------------------- in the supervisor */

pid_t spawn_program(const struct spawn *spawn, int *ret_pidfd, struct cua_err *err) {
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0) {
		child_main(spawn, parent);
	}
	if (pid < 0) {
		return cua_err_errno(err, errno, "cannot fork");
	}
	int pidfd = spawn_pidfd(pid, err);
	if (pidfd < 0) {
		(void)kill(pid, SIGKILL);
		return pidfd;
	}
	*ret_pidfd = pidfd;
	return pid;
}
