/* The test's side of E1 and the processes around it; see the header. */
#include "tests/lxc/super_world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cua/ident.h"

#define DEADLINE_S 20

static unsigned long now_ms(void) {
	struct timespec ts;
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long)ts.tv_sec * 1000u + (unsigned long)ts.tv_nsec / 1000000u;
}

static void path_in(const struct world *w, const char *name, char ret[256]) {
	(void)snprintf(ret, 256, "%s/%s", w->dir, name);
}

int world_exec(const char *const argv[]) {
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDONLY);
		(void)dup2(null, 0);
		(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	int status = 0;
	ck_assert(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---------------------------------------------------------------- the place */

static void make_dir(const struct world *w, const char *name) {
	char path[256];
	path_in(w, name, path);
	ck_assert_msg(mkdir(path, 0755) == 0, "mkdir %s: %s", path, strerror(errno));
}

static void write_file(const struct world *w, const char *name, const char *text) {
	char path[256];
	path_in(w, name, path);
	FILE *f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

/* Where the build and its source are, as CTest tells. */
static const char *from_env(const char *name) {
	const char *value = getenv(name);
	ck_assert_msg(value != NULL, "%s is not set", name);
	return value;
}

static void install(const struct world *w, const char *from, const char *to) {
	char source[300];
	char path[256];
	(void)snprintf(source, sizeof(source), "%s/%s", from_env("CUAD_BUILD"), from);
	path_in(w, to, path);
	const char *const argv[] = {"cp", source, path, NULL};
	ck_assert_int_eq(world_exec(argv), 0);
}

static void make_template(const struct world *w) {
	static const char *const dirs[] = {"state", "state/templates", "state/templates/tiny",
		"state/templates/tiny/rootfs", "state/templates/tiny/rootfs/bin",
		"state/templates/tiny/rootfs/dev", "state/templates/tiny/rootfs/etc",
		"state/templates/tiny/rootfs/home", "state/templates/tiny/rootfs/proc",
		"state/templates/tiny/rootfs/root", "state/templates/tiny/rootfs/run",
		"state/templates/tiny/rootfs/sys", "state/templates/tiny/rootfs/tmp",
		"state/templates/tiny/rootfs/usr", "state/templates/tiny/rootfs/var",
		"state/templates/hollow"};
	for (size_t i = 0; i < CUA_COUNT(dirs); i++) {
		make_dir(w, dirs[i]);
	}
	write_file(w, "state/templates/tiny/manifest.json", "{\"name\":\"tiny\"}\n");
	write_file(w, "state/templates/tiny/layers", "tiny\n");
	/* Looks complete and is not. */
	write_file(w, "state/templates/hollow/layers", "hollow\n");
}

static void make_door(struct world *w) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/libexec/e1.sock", w->dir);
	w->door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(w->door, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(chmod(address.sun_path, 0666), 0);
	ck_assert_int_eq(listen(w->door, 4), 0);
}

void world_open(struct world *w, const char *config) {
	memset(w, 0, sizeof(*w));
	w->door = w->keeper = w->e1 = w->control = -1;
	(void)signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	ck_assert_int_eq(
		world_exec((const char *const[]){"ip", "link", "set", "lo", "up", NULL}), 0);
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/cuad-super-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	ck_assert_int_eq(chmod(w->dir, 0755), 0);
	make_dir(w, "libexec");
	make_template(w);
	install(w, "tests/standin_cuad", "libexec/cuad");
	install(w, "tests/standin_desktop", "libexec/cuad-desktop");
	install(w, "server/init/cuad-init", "libexec/cuad-init");
	write_file(w, "cuad.yaml", config);
	make_door(w);
}

static void forget(struct world *w) {
	for (size_t i = 0; i < CUA_COUNT(w->known); i++) {
		struct known *k = &w->known[i];
		if (k->told.id[0] && k->e3 >= 0) {
			(void)close(k->e3);
		}
		if (k->told.id[0] && k->e5 >= 0) {
			(void)close(k->e5);
		}
		*k = (struct known){.e3 = -1, .e5 = -1};
	}
	if (w->control >= 0) {
		(void)close(w->control);
	}
	w->control = -1;
	w->listeners = 0;
	w->synced = false;
}

static void hang_up(struct world *w) {
	if (w->e1 >= 0) {
		(void)close(w->e1);
	}
	if (w->keeper >= 0) {
		(void)close(w->keeper);
	}
	w->e1 = w->keeper = -1;
}

unsigned world_entries(const struct world *w, const char *name) {
	char path[256];
	path_in(w, name, path);
	DIR *dir = opendir(path);
	unsigned count = 0;
	struct dirent *entry = NULL;
	while (dir && (entry = readdir(dir))) {
		count += entry->d_name[0] != '.';
	}
	if (dir) {
		(void)closedir(dir);
	}
	return count;
}

static void check_nothing_left(const struct world *w) {
	ck_assert_uint_eq(world_entries(w, "run/sessions"), 0);
	ck_assert_uint_eq(world_entries(w, "state/sessions"), 0);
	struct if_nameindex *list = if_nameindex();
	for (struct if_nameindex *i = list; i && i->if_index; i++) {
		ck_assert_msg(strncmp(i->if_name, "cs", 2) != 0, "%s is left", i->if_name);
	}
	if_freenameindex(list);
}

void world_close(struct world *w) {
	if (w->supervisor > 0) {
		(void)world_stop(w, SIGTERM);
	}
	check_nothing_left(w);
	forget(w);
	hang_up(w);
	char path[256];
	path_in(w, "run/sessions", path);
	(void)umount2(path, MNT_DETACH);
	ck_assert_int_eq(
		world_exec((const char *const[]){"rm", "-rf", "--one-file-system", w->dir, NULL}),
		0);
}

/* ---------------------------------------------------------------- processes */

static pid_t run_supervisor(const struct world *w, const char *option) {
	char path[5][256];
	path_in(w, "cuad.yaml", path[0]);
	path_in(w, "state", path[1]);
	path_in(w, "run", path[2]);
	path_in(w, "libexec", path[3]);
	(void)snprintf(path[4], sizeof(path[4]), "%s/server/supervisor", from_env("CUAD_SOURCE"));
	char program[300];
	(void)snprintf(program, sizeof(program), "%s/server/supervisor/cuad-supervisor",
		from_env("CUAD_BUILD"));
	const char *argv[] = {program, "--user", "nobody", "--config", path[0], "--state", path[1],
		"--run", path[2], "--libexec", path[3], "--data", path[4], option, NULL};
	pid_t pid = fork();
	if (pid == 0) {
		(void)execv(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

void world_launch(struct world *w) {
	w->supervisor = run_supervisor(w, NULL);
}

int world_stop(struct world *w, int number) {
	int status = 0;
	hang_up(w);
	ck_assert_int_eq(kill(w->supervisor, number), 0);
	ck_assert_int_eq(waitpid(w->supervisor, &status, 0), w->supervisor);
	w->supervisor = 0;
	return status;
}

int world_run(const struct world *w, const char *option) {
	int status = 0;
	pid_t pid = run_supervisor(w, option);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void world_desktop_mode(const struct world *w, const char *mode) {
	write_file(w, "libexec/desktop.mode", mode);
}

static size_t read_cmdline(pid_t pid, char *ret, size_t size) {
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(ret, 1, size, f) : 0;
	if (f) {
		(void)fclose(f);
	}
	return n;
}

static bool proc_matches(pid_t pid, pid_t parent, const char *comm, const char *word) {
	char path[64];
	char text[1024] = "";
	char name[32] = "";
	int ppid = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	bool ok = f && fscanf(f, "%*d (%31[^)]) %*c %d", name, &ppid) == 2;
	if (f) {
		(void)fclose(f);
	}
	if (!ok || strcmp(name, comm) != 0 || ppid != parent) {
		return false;
	}
	size_t n = read_cmdline(pid, text, sizeof(text));
	return n > 0 && memmem(text, n, word, strlen(word)) != NULL;
}

pid_t world_find(pid_t parent, const char *comm, const char *word) {
	DIR *dir = opendir("/proc");
	pid_t found = 0;
	struct dirent *entry = NULL;
	while (dir && !found && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid > 0 && proc_matches(pid, parent, comm, word)) {
			found = pid;
		}
	}
	if (dir) {
		(void)closedir(dir);
	}
	return found;
}

/* liblxc titles its monitor "[lxc monitor] LXCPATH ID"; PID 1 is its child. */
static pid_t monitor_find(const struct world *w, const char *id) {
	char word[256];
	(void)snprintf(
		word, sizeof(word), "[lxc monitor] %s/run/sessions/%s", w->dir, id ? id : "");
	DIR *dir = opendir("/proc");
	pid_t found = 0;
	struct dirent *entry = NULL;
	while (dir && !found && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		char text[1024];
		size_t n = pid > 0 ? read_cmdline(pid, text, sizeof(text)) : 0;
		if (n > 0 && memmem(text, n, word, strlen(word))) {
			found = pid;
		}
	}
	if (dir) {
		(void)closedir(dir);
	}
	return found;
}

pid_t world_init(const struct world *w, const char *id) {
	pid_t monitor = monitor_find(w, id);
	return monitor > 0 ? world_find(monitor, "init", "/run/cuad/link") : 0;
}

void world_await_gone(pid_t pid) {
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0) {
		return;
	}
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ck_assert_int_eq(poll(&p, 1, DEADLINE_S * 1000), 1);
	(void)close(fd);
}

/* ---------------------------------------------------------------- messages */

static void await_readable(int fd, unsigned long until, const char *what) {
	unsigned long now = now_ms();
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n = now < until ? poll(&p, 1, (int)(until - now)) : 0;
	ck_assert_msg(n == 1, "waited in vain for %s", what);
}

struct known *world_known(struct world *w, const char *id) {
	struct known *empty = NULL;
	for (size_t i = 0; i < CUA_COUNT(w->known); i++) {
		if (strcmp(w->known[i].told.id, id) == 0) {
			return &w->known[i];
		}
		if (!empty && !w->known[i].told.id[0]) {
			empty = &w->known[i];
		}
	}
	ck_assert_ptr_nonnull(empty);
	return empty;
}

static void take_link(struct world *w) {
	struct known *k = world_known(w, w->msg.body.session_link.id);
	ck_assert_msg(k->told.id[0], "a link of a session that was not told");
	bool third = w->msg.body.session_link.edge == 3;
	int *place = third ? &k->e3 : &k->e5;
	if (*place >= 0) {
		(void)close(*place);
	}
	*place = take_fd(w->msg.fd[0]);
	*(third ? &k->e3_count : &k->e5_count) += 1;
}

static void take_state(struct world *w) {
	struct known *k = world_known(w, w->msg.body.session_state.id);
	if (!k->told.id[0]) {
		k->e3 = k->e5 = -1;
	}
	k->told = w->msg.body.session_state;
}

static void take(struct world *w) {
	switch (w->msg.type) {
	case CUA_MSG_SESSION_STATE:
		take_state(w);
		break;
	case CUA_MSG_SESSION_LINK:
		take_link(w);
		break;
	case CUA_MSG_LISTENER:
		w->listeners++;
		if (w->msg.body.listener.kind == 0) {
			w->control = take_fd(w->msg.fd[0]);
		}
		break;
	case CUA_MSG_SYNCED:
		w->synced = true;
		break;
	case CUA_MSG_REPLY:
		w->reply_serial = w->msg.body.reply.serial;
		w->reply = (struct cua_err){0};
		if (w->msg.body.reply.has_error) {
			(void)cua_error_from_wire(&w->msg.body.reply.error, &w->reply);
		}
		break;
	case CUA_MSG_USAGE:
		w->usage = w->msg.body.usage;
		break;
	case CUA_MSG_BUILD_PROGRESS:
		w->progress++;
		break;
	default:
		ck_abort_msg("unexpected %s", cua_msg_name(w->msg.type));
	}
}

void world_until(struct world *w, bool (*fn)(struct world *w, const void *arg), const void *arg,
	unsigned seconds) {
	unsigned long until = now_ms() + seconds * 1000ul;
	while (!fn(w, arg)) {
		await_readable(w->e1, until, "a message");
		struct cua_err err = {0};
		int r = cua_msg_recv(w->e1, CUA_DIR_SUPERVISOR_TO_CUAD, &w->msg, &err);
		ck_assert_msg(r >= 0, "E1: %s", err.message);
		if (r > 0) {
			take(w);
			cua_msg_done(&w->msg);
		}
	}
}

void world_hello(struct world *w, int sock, unsigned dirs) {
	await_readable(sock, now_ms() + DEADLINE_S * 1000ul, "HELLO");
	struct cua_err err = {0};
	ck_assert_msg(cua_msg_recv(sock, dirs, &w->msg, &err) == 1, "%s", err.message);
	ck_assert_int_eq(w->msg.type, CUA_MSG_HELLO);
	ck_assert_int_eq(cua_hello_check(&w->msg, NULL), 0);
	cua_msg_done(&w->msg);
}

static void take_e1(struct world *w) {
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr mh = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space)};
	ck_assert_int_eq(recvmsg(w->keeper, &mh, MSG_CMSG_CLOEXEC), 1);
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&mh);
	ck_assert_ptr_nonnull(cmsg);
	memcpy(&w->e1, CMSG_DATA(cmsg), sizeof(int));
	struct ucred who;
	socklen_t len = sizeof(who);
	ck_assert_int_eq(getsockopt(w->keeper, SOL_SOCKET, SO_PEERCRED, &who, &len), 0);
	ck_assert_msg(who.uid == 65534 && who.gid == 65534, "cuad runs as %d", (int)who.uid);
	w->cuad = who.pid;
}

static bool is_synced(struct world *w, const void *arg) {
	(void)arg;
	return w->synced;
}

void world_connect(struct world *w) {
	forget(w);
	hang_up(w);
	await_readable(w->door, now_ms() + DEADLINE_S * 1000ul, "cuad");
	w->keeper = accept4(w->door, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(w->keeper, 0);
	take_e1(w);
	world_hello(w, w->e1, CUA_DIR_SUPERVISOR_TO_CUAD);
	ck_assert_int_eq(cua_hello_send(w->e1, NULL), 0);
	world_until(w, is_synced, NULL, DEADLINE_S);
}

void world_start(struct world *w) {
	world_launch(w);
	world_connect(w);
}

/* ---------------------------------------------------------------- requests */

void world_send(struct world *w, enum cua_msg_type type, const void *body) {
	struct cua_err err = {0};
	int r = cua_msg_send(w->e1, &(struct cua_out){.type = type, .body = body}, &err);
	ck_assert_msg(r == 0, "%s", err.message);
}

cua_SessionCreate world_session(struct world *w, const char *name) {
	cua_SessionCreate wanted = {.serial = ++w->serial,
		.template = "tiny",
		.screen = {.width = 800,
			.height = 600,
			.dpi = 96,
			.max_width = 1024,
			.max_height = 768},
		.network = cua_Network_NETWORK_OPEN};
	cua_id_new(wanted.id);
	(void)snprintf(wanted.name, sizeof(wanted.name), "%s", name);
	return wanted;
}

static bool is_answered(struct world *w, const void *arg) {
	return w->reply_serial == *(const uint32_t *)arg;
}

enum cua_code world_await_reply(struct world *w, uint32_t serial) {
	world_until(w, is_answered, &serial, DEADLINE_S);
	return w->reply.code;
}

enum cua_code world_create(struct world *w, const cua_SessionCreate *wanted) {
	world_send(w, CUA_MSG_SESSION_CREATE, wanted);
	return world_await_reply(w, wanted->serial);
}

enum cua_code world_delete(struct world *w, const char *id) {
	cua_SessionDelete wanted = {.serial = ++w->serial};
	(void)snprintf(wanted.id, sizeof(wanted.id), "%s", id);
	world_send(w, CUA_MSG_SESSION_DELETE, &wanted);
	return world_await_reply(w, wanted.serial);
}

enum cua_code world_template(struct world *w, uint32_t verb, const char *name) {
	cua_TemplateRequest wanted = {
		.serial = ++w->serial, .verb = verb, .has_force = true, .force = w->force};
	(void)snprintf(wanted.name, sizeof(wanted.name), "%s", name);
	world_send(w, CUA_MSG_TEMPLATE_REQUEST, &wanted);
	return world_await_reply(w, wanted.serial);
}

struct state_wanted {
	const char *id;
	cua_State state;
	unsigned e3;
	unsigned e5;
};

static bool has_state(struct world *w, const void *arg) {
	const struct state_wanted *s = arg;
	const struct known *k = world_known(w, s->id);
	ck_assert_msg(k->told.state != cua_State_STATE_FAILED || s->state == cua_State_STATE_FAILED,
		"%s failed: %s", s->id, k->told.reason);
	return k->told.id[0] && k->told.state == s->state;
}

struct known *world_await(struct world *w, const char *id, cua_State state) {
	const struct state_wanted s = {.id = id, .state = state};
	world_until(w, has_state, &s, 2 * DEADLINE_S);
	return world_known(w, id);
}

static bool has_links(struct world *w, const void *arg) {
	const struct state_wanted *s = arg;
	const struct known *k = world_known(w, s->id);
	return k->e3_count >= s->e3 && k->e5_count >= s->e5;
}

struct known *world_await_links(struct world *w, const char *id, unsigned e3, unsigned e5) {
	const struct state_wanted s = {.id = id, .e3 = e3, .e5 = e5};
	world_until(w, has_links, &s, DEADLINE_S);
	return world_known(w, id);
}
