/* A child process with its output on a pipe.
 *
 * Blocking and one at a time: this program does one thing after another. */
#include "server/build/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void child_exec(const struct proc *proc, int out, pid_t parent) {
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 ||
		(proc->errors_too && dup2(out, 2) < 0)) {
		_exit(127);
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) {
		_exit(127);
	}
	for (const char *const *env = proc->env; env && *env; env++) {
		char *copy = strdup(*env);
		if (!copy || putenv(copy) != 0) {
			_exit(127);
		}
	}
	execvp(proc->argv[0], (char *const *)proc->argv);
	_exit(errno == ENOENT ? 127 : 126);
}

/* Cuts the stream into lines; a progress bar's carriage returns end lines too. */
static void read_lines(const struct proc *proc, int fd) {
	char line[2048];
	char chunk[4096];
	size_t len = 0;
	ssize_t n;
	while ((n = read(fd, chunk, sizeof chunk)) != 0) {
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			break;
		}
		for (ssize_t i = 0; i < n; i++) {
			bool end = chunk[i] == '\n' || chunk[i] == '\r';
			if (!end) {
				line[len++] = chunk[i];
			}
			if (len > 0 && (end || len == sizeof line - 1)) {
				line[len] = '\0';
				len = 0;
				if (proc->on_line) {
					proc->on_line(proc->ctx, line);
				}
			}
		}
	}
	line[len] = '\0';
	if (len > 0 && proc->on_line) {
		proc->on_line(proc->ctx, line);
	}
}

static int proc_wait(pid_t pid, const char *name, struct cua_err *err) {
	int status;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			return cua_err_errno(err, errno, "cannot wait for %s", name);
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int proc_run(const struct proc *proc, struct cua_err *err) {
	const char *name = proc->argv[0];
	int pair[2];
	if (pipe2(pair, O_CLOEXEC) < 0) {
		return cua_err_errno(err, errno, "cannot make a pipe for %s", name);
	}
	_cleanup_fd_ int in = pair[0];
	_cleanup_fd_ int out = pair[1];
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0) {
		return cua_err_errno(err, errno, "cannot start %s", name);
	}
	if (pid == 0) {
		child_exec(proc, out, parent);
	}
	(void)close(take_fd(out));
	read_lines(proc, in);
	return proc_wait(pid, name, err);
}
