/* A hand-made container; see the header. It is not what liblxc makes: no user namespace's ids are
 * shifted and no limits are set. */
#include "tests/lib/guest.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/fdio.h"

#define DEADLINE_MS 60000

unsigned long guest_now_ms(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long)now.tv_sec * 1000 + (unsigned long)now.tv_nsec / 1000000;
}

/* ---------------------------------------------------------------- the root, in the child */

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if ((x) < 0) {                                                                     \
			perror(#x);                                                                \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void put_file(const char *path, const char *text) {
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	MUST(fd);
	MUST(fd_write_all(fd, text, strlen(text)));
}

static void bind_file(const char *from, const char *to) {
	_cleanup_fd_ int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	MUST(fd);
	MUST(mount(from, to, NULL, MS_BIND, NULL));
}

static void bind_dir(const char *from, const char *to, bool read_only) {
	MUST(mkdir(to, 0755));
	MUST(mount(from, to, NULL, MS_BIND, NULL));
	if (read_only) {
		MUST(mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
	}
}

static void make_root(const char *dir, const char *services) {
	static const char *const dirs[] = {"etc", "etc/cuad", "home", "home/agent", "root", "tmp",
		"run", "run/cuad", "var", "var/tmp", "var/log", "dev", "dev/pts", "proc", "sys"};
	static const char *const nodes[] = {"null", "zero", "full", "random", "urandom", "tty"};
	static const char *const links[] = {"bin", "sbin", "lib", "lib64"};
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/root", dir);
	MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	MUST(mount("tmpfs", path, "tmpfs", 0, "mode=0755"));
	MUST(chdir(path));
	for (size_t i = 0; i < CUA_COUNT(dirs); i++) {
		MUST(mkdir(dirs[i], 0755));
	}
	for (size_t i = 0; i < CUA_COUNT(nodes); i++) {
		char from[64];
		(void)snprintf(from, sizeof(from), "/dev/%s", nodes[i]);
		bind_file(from, from + 1);
	}
	for (size_t i = 0; i < CUA_COUNT(links); i++) {
		(void)snprintf(path, sizeof(path), "usr/%s", links[i]);
		MUST(symlink(path, links[i]));
	}
	bind_dir("/usr", "usr", true);
	(void)snprintf(path, sizeof(path), "%s/link", dir);
	bind_dir(path, "run/cuad/link", true);
	put_file("etc/passwd", "root:x:0:0:root:/root:/bin/bash\n"
			       "agent:x:1000:1000::/home/agent:/bin/bash\n"
			       "broken:x:abc:1:::\nhalf:x\n");
	put_file("etc/group", "root:x:0:\nagent:x:1000:\nvideo:x:44:agent,other\n"
			      "users:x:100:other,agent\nnone:x:101:agents\n");
	put_file("etc/cuad/services", services);
	MUST(chown("home/agent", 1000, 1000));
	MUST(chmod("tmp", 01777));
	MUST(chmod("var/tmp", 01777));
	MUST(mount("proc", "proc", "proc", 0, NULL));
}

static _Noreturn void become_init(const struct guest *guest, const char *services) {
	char path[256];
	umask(022);
	/* A test that dies takes its container along. */
	MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
	make_root(guest->dir, services);
	bind_file(guest->init, "run/cuad/init");
	MUST(sethostname("guest-7", 7));
	(void)snprintf(path, sizeof(path), "%s/log", guest->dir);
	int log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	MUST(log);
	MUST(dup2(log, 1));
	MUST(dup2(log, 2));
	MUST(syscall(SYS_pivot_root, ".", "."));
	MUST(umount2(".", MNT_DETACH));
	MUST(chdir("/"));
	char *const argv[] = {"init", "--screen", "800x600", "--max", "1024x768", "--dpi", "96",
		"--link", "/run/cuad/link/sock", NULL};
	/* Of use to a build with sanitizers only: a leak check cannot trace PID 1. */
	char *const env[] = {"CUAD_LOG=debug", "ASAN_OPTIONS=detect_leaks=0", NULL};
	(void)execve("/run/cuad/init", argv, env);
	perror("execve");
	_exit(1);
}

/* ---------------------------------------------------------------- E5 */

static void wait_for(int fd, short events, const char *what) {
	struct pollfd wait = {.fd = fd, .events = events};
	ck_assert_msg(poll(&wait, 1, DEADLINE_MS) == 1, "nothing came: %s", what);
}

void guest_listen(struct guest *guest) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char final[128];
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/link/.sock", guest->dir);
	(void)snprintf(final, sizeof(final), "%s/link/sock", guest->dir);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd, 16), 0);
	ck_assert_int_eq(rename(address.sun_path, final), 0);
	if (guest->listener >= 0) {
		(void)close(guest->listener);
	}
	guest->listener = fd;
}

void guest_accept_mute(struct guest *guest) {
	if (guest->sock >= 0) {
		(void)close(guest->sock);
	}
	wait_for(guest->listener, POLLIN, "a connection");
	guest->sock = accept4(guest->listener, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(guest->sock, 0);
	struct ucred peer;
	socklen_t len = sizeof(peer);
	ck_assert_int_eq(getsockopt(guest->sock, SOL_SOCKET, SO_PEERCRED, &peer, &len), 0);
	ck_assert_int_eq(peer.pid, guest->pid);
	guest_expect(guest, CUA_MSG_HELLO);
}

void guest_accept(struct guest *guest) {
	guest_accept_mute(guest);
	struct cua_err err;
	ck_assert_int_eq(cua_hello_check(&guest->in, &err), 0);
	ck_assert_int_eq(cua_hello_send(guest->sock, &err), 0);
}

void guest_send(struct guest *guest, const struct cua_out *out) {
	struct cua_err err;
	int r = cua_msg_send(guest->sock, out, &err);
	ck_assert_msg(r == 0, "%s", r == 0 ? "" : err.message);
}

void guest_next(struct guest *guest, const char *what) {
	struct cua_err err;
	do {
		wait_for(guest->sock, POLLIN, what);
		int r = cua_msg_recv(guest->sock, CUA_DIR_INIT_TO_CUAD, &guest->in, &err);
		ck_assert_msg(r == 1, "%s", r == 1 ? "" : err.message);
	} while (guest->in.type == CUA_MSG_SERVICE_EVENT && !guest->wants_events);
}

void guest_expect(struct guest *guest, enum cua_msg_type type) {
	guest_next(guest, cua_msg_name(type));
	ck_assert_msg(guest->in.type == type, "%s came instead of %s", cua_msg_name(guest->in.type),
		cua_msg_name(type));
}

void guest_expect_closed(struct guest *guest) {
	struct cua_err err;
	int r = 0;
	while (r >= 0) {
		wait_for(guest->sock, POLLIN, "the end of the connection");
		r = cua_msg_recv(guest->sock, CUA_DIR_INIT_TO_CUAD, &guest->in, &err);
	}
	ck_assert_int_eq(r, -CUA_NOT_FOUND);
}

/* ---------------------------------------------------------------- life */

static void write_map(pid_t pid, const char *name) {
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	ck_assert_int_eq(fd_write_all(fd, "0 0 65536", 9), 0);
}

void guest_start(struct guest *guest, const char *services) {
	ck_assert_msg(geteuid() == 0, "this test needs root");
	*guest = (struct guest){.listener = -1, .sock = -1};
	const char *build = getenv("CUAD_BUILD");
	ck_assert_msg(build != NULL, "CUAD_BUILD does not name the build's directory");
	(void)snprintf(
		guest->init, sizeof(guest->init), "%s/server/init/cuad-init-sanitized", build);
	if (access(guest->init, X_OK) < 0) {
		(void)snprintf(guest->init, sizeof(guest->init), "%s/server/init/cuad-init", build);
	}
	(void)snprintf(guest->dir, sizeof(guest->dir), "/tmp/cuad-guest-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(guest->dir));
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/root", guest->dir);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/link", guest->dir);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(chmod(guest->dir, 0755), 0);
	guest_listen(guest);
	int go[2];
	ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
	long pid = syscall(SYS_clone,
		CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC |
			CLONE_NEWNET | SIGCHLD,
		0, 0, 0, 0);
	if (pid == 0) {
		char byte;
		MUST(read(go[0], &byte, 1));
		become_init(guest, services);
	}
	ck_assert_msg(pid > 0, "clone: %s", strerror(errno));
	guest->pid = (pid_t)pid;
	write_map(guest->pid, "uid_map");
	write_map(guest->pid, "gid_map");
	ck_assert_int_eq(write(go[1], "x", 1), 1);
	(void)close(go[0]);
	(void)close(go[1]);
	guest_accept(guest);
}

unsigned guest_stop(struct guest *guest) {
	unsigned long begun = guest_now_ms();
	int pidfd = (int)syscall(SYS_pidfd_open, guest->pid, 0);
	ck_assert_int_ge(pidfd, 0);
	ck_assert_int_eq(kill(guest->pid, SIGTERM), 0);
	wait_for(pidfd, POLLIN, "the end of cuad-init");
	int status = 0;
	ck_assert_int_eq(waitpid(guest->pid, &status, 0), guest->pid);
	unsigned took = (unsigned)(guest_now_ms() - begun);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", status);
	(void)close(pidfd);
	(void)close(guest->listener);
	(void)close(guest->sock);
	static const char *const parts[] = {"link/sock", "link", "root", "log", ""};
	for (size_t i = 0; i < CUA_COUNT(parts); i++) {
		char path[128];
		(void)snprintf(path, sizeof(path), "%s/%s", guest->dir, parts[i]);
		(void)remove(path);
	}
	return took;
}

/* ---------------------------------------------------------------- commands */

static struct cua_span join(const char *const *list, char **ret_buf) {
	size_t len = 0;
	for (size_t i = 0; list && list[i]; i++) {
		len += strlen(list[i]) + 1;
	}
	char *buf = malloc(len + 1);
	ck_assert_ptr_nonnull(buf);
	size_t used = 0;
	for (size_t i = 0; list && list[i]; i++) {
		size_t n = strlen(list[i]) + 1;
		memcpy(buf + used, list[i], n);
		used += n;
	}
	*ret_buf = buf;
	return (struct cua_span){.data = buf, .len = len};
}

static void make_stdio(
	const struct guest_command *command, struct guest_exec *exec, int theirs[3]) {
	int pair[2];
	if (command->detach) {
		return;
	}
	if (command->tty) {
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		exec->in = pair[0];
		theirs[0] = pair[1];
		return;
	}
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	theirs[0] = pair[0];
	exec->in = pair[1];
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	exec->out = pair[0];
	theirs[1] = pair[1];
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	exec->err = pair[0];
	theirs[2] = pair[1];
}

struct guest_exec guest_exec_start(struct guest *guest, const struct guest_command *command) {
	struct guest_exec exec = {.serial = ++guest->serial, .in = -1, .out = -1, .err = -1};
	int theirs[3] = {-1, -1, -1};
	make_stdio(command, &exec, theirs);
	cua_ExecStart body = {.serial = exec.serial,
		.has_tty = true,
		.tty = command->tty,
		.has_detach = true,
		.detach = command->detach,
		.has_user = command->user != NULL,
		.has_cwd = command->cwd != NULL};
	(void)snprintf(body.user, sizeof(body.user), "%s", command->user ? command->user : "");
	(void)snprintf(body.cwd, sizeof(body.cwd), "%s", command->cwd ? command->cwd : "");
	_cleanup_free_ char *argv = NULL;
	_cleanup_free_ char *env = NULL;
	struct cua_span blob[2] = {join(command->argv, &argv), join(command->env, &env)};
	guest_send(guest, &(struct cua_out){.type = CUA_MSG_EXEC_START,
				  .body = &body,
				  .blob = blob,
				  .blob_count = 2,
				  .fd = theirs,
				  .fd_count = command->detach ? 0 : (command->tty ? 1 : 3)});
	for (int i = 0; i < 3; i++) {
		if (theirs[i] >= 0) {
			(void)close(theirs[i]);
		}
	}
	return exec;
}

void guest_exec_close(struct guest_exec *exec) {
	int *fds[] = {&exec->in, &exec->out, &exec->err};
	for (size_t i = 0; i < CUA_COUNT(fds); i++) {
		if (*fds[i] >= 0) {
			(void)close(*fds[i]);
		}
		*fds[i] = -1;
	}
}

/* Takes what a pipe holds right now, or all until its end when nobody else can write any more. */
static void collect(int fd, char *to, size_t size) {
	size_t used = 0;
	(void)!fd_set_nonblock(fd, 1);
	while (used < size - 1) {
		ssize_t n = read(fd, to + used, size - 1 - used);
		if (n <= 0) {
			break;
		}
		used += (size_t)n;
	}
	to[used] = '\0';
}

void guest_run(struct guest *guest, const struct guest_command *command, struct guest_output *ret) {
	struct guest_exec exec = guest_exec_start(guest, command);
	(void)close(exec.in);
	exec.in = -1;
	(void)fcntl(exec.out, F_SETPIPE_SZ, sizeof(ret->out) * 2);
	ret->pid = 0;
	guest_next(guest, "the start of a command");
	if (guest->in.type == CUA_MSG_EXEC_STARTED) {
		ck_assert_uint_eq(guest->in.body.exec_started.serial, exec.serial);
		ret->pid = guest->in.body.exec_started.pid;
		guest_next(guest, "the end of a command");
	}
	ck_assert_int_eq(guest->in.type, CUA_MSG_EXEC_EXIT);
	ret->exit = guest->in.body.exec_exit;
	ck_assert_uint_eq(ret->exit.serial, exec.serial);
	collect(exec.out, ret->out, sizeof(ret->out));
	collect(exec.err, ret->err, sizeof(ret->err));
	guest_exec_close(&exec);
}

static void run_sh(struct guest *guest, const char *script, struct guest_output *ret) {
	const char *const argv[] = {"sh", "-c", script, NULL};
	guest_run(guest, &(struct guest_command){.argv = argv}, ret);
}

void guest_sh(struct guest *guest, const char *script, struct guest_output *ret) {
	run_sh(guest, script, ret);
	ck_assert_msg(ret->exit.has_exit_code && ret->exit.exit_code == 0, "%s: %d %s%s%s", script,
		ret->exit.exit_code, ret->out, ret->err, ret->exit.error.message);
}

void guest_until(struct guest *guest, const char *script) {
	static struct guest_output output;
	unsigned long until = guest_now_ms() + DEADLINE_MS;
	int wait_ms = 0; /* longer each time, or the waiting would be what keeps it from coming */
	do {
		(void)poll(NULL, 0, wait_ms);
		wait_ms = wait_ms < 50 ? wait_ms + 10 : wait_ms;
		run_sh(guest, script, &output);
		ck_assert_msg(guest_now_ms() < until, "never true: %s: %s%s", script, output.out,
			output.err);
	} while (output.exit.exit_code != 0);
}
