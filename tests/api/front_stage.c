/* Runs a command against a real cuad: `front_stage COMMAND…` plays the supervisor and the desktop worker
 * around it and has a real cuad-init in a container made by hand. The command finds the control
 * socket in CUAD_SOCKET, a TCP port in CUAD_PORT and the id of the session that runs in CUAD_SESSION; its exit status becomes
 * ours. It is no test of supervisor or worker: what they answer here is made up. Needs root. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/action.h"
#include "cua/fdio.h"
#include "tests/api/standin_worker.h"
#include "tests/lib/guest.h"

#define SESSION "aaaabbbbcccc"
#define NOBODY 65534

struct stage {
	char dir[64];
	char socket[108];
	int e1;
	pid_t cuad;
	pid_t command;
	struct guest guest;
	struct cua_msg in;
};

static void die(const char *what) {
	perror(what);
	exit(125);
}

static void send_to_cuad(struct stage *stage, enum cua_msg_type type, const void *body, int fd) {
	struct cua_err err;
	const struct cua_out out = {
		.type = type, .body = body, .fd = &fd, .fd_count = fd >= 0 ? 1 : 0};
	if (cua_msg_send(stage->e1, &out, &err) < 0) {
		(void)fprintf(stderr, "stage: %s: %s\n", cua_msg_name(type), err.message);
		exit(125);
	}
}

/* ---------------------------------------------------------------- telling of sessions */

static void tell_state(
	struct stage *stage, const cua_SessionCreate *of, cua_State state, const char *reason) {
	static cua_SessionState told;
	told = (cua_SessionState){.state = state,
		.screen = of->screen,
		.limits = of->limits,
		.network = of->network,
		.slot = 1,
		.created_ms = 1769860800000,
		.has_reason = reason != NULL};
	(void)snprintf(told.id, sizeof(told.id), "%s", of->id);
	(void)snprintf(told.name, sizeof(told.name), "%s", of->name);
	(void)snprintf(told.template, sizeof(told.template), "%s", of->template);
	(void)snprintf(told.reason, sizeof(told.reason), "%s", reason ? reason : "");
	send_to_cuad(stage, CUA_MSG_SESSION_STATE, &told, -1);
}

static void tell_link(struct stage *stage, const char *id, uint32_t edge, int fd) {
	cua_SessionLink link = {.edge = edge};
	(void)snprintf(link.id, sizeof(link.id), "%s", id);
	send_to_cuad(stage, CUA_MSG_SESSION_LINK, &link, fd);
	(void)close(fd);
}

/* The init connects again when it loses its connection; the new one goes to cuad unread. */
static int fresh_e5(struct stage *stage) {
	(void)close(stage->guest.sock);
	stage->guest.sock = -1;
	int fd = accept4(stage->guest.listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0) {
		die("accept");
	}
	return fd;
}

/* Any session but the first has an init of nobody's: a socket whose other end only greets. */
static int mute_e5(void) {
	int pair[2];
	struct cua_err err;
	if (fd_seqpacket_pair(pair, &err) < 0 || cua_hello_send(pair[1], &err) < 0) {
		die("E5");
	}
	return pair[0]; /* the other end stays open until we end */
}

static cua_SessionCreate first_session(void) {
	cua_SessionCreate first = {.screen = {800, 600, 96, 1024, 768},
		.limits = {true, 2000, true, 1u << 30, true, 1024, true, 1u << 30}};
	(void)snprintf(first.id, sizeof(first.id), "%s", SESSION);
	(void)snprintf(first.name, sizeof(first.name), "first");
	(void)snprintf(first.template, sizeof(first.template), "base");
	return first;
}

/* ---------------------------------------------------------------- what cuad asks */

static void reply(struct stage *stage, uint32_t serial, enum cua_code code, const char *message) {
	cua_Reply body = {.serial = serial, .has_error = code != CUA_OK};
	body.error.code = code;
	body.error.has_message = true;
	(void)snprintf(body.error.message, sizeof(body.error.message), "%s", message);
	send_to_cuad(stage, CUA_MSG_REPLY, &body, -1);
}

static void on_create(struct stage *stage, const cua_SessionCreate *wanted) {
	if (strcmp(wanted->template, "missing") == 0) {
		reply(stage, wanted->serial, CUA_NOT_FOUND, "there is no template missing");
		return;
	}
	tell_state(stage, wanted, cua_State_STATE_STARTING, NULL);
	reply(stage, wanted->serial, CUA_OK, "");
	if (strcmp(wanted->template, "broken") == 0) {
		tell_state(stage, wanted, cua_State_STATE_FAILED, "it is broken");
	} else if (strcmp(wanted->template, "slow") != 0) {
		tell_link(stage, wanted->id, 3, standin_worker_start());
		tell_link(stage, wanted->id, 5, mute_e5());
		tell_state(stage, wanted, cua_State_STATE_RUNNING, NULL);
	}
}

static void on_delete(struct stage *stage, const cua_SessionDelete *wanted) {
	cua_SessionCreate session = first_session();
	(void)snprintf(session.id, sizeof(session.id), "%s", wanted->id);
	tell_state(stage, &session, cua_State_STATE_STOPPING, NULL);
	tell_state(stage, &session, cua_State_STATE_GONE, NULL);
	reply(stage, wanted->serial, CUA_OK, "");
}

static void on_usage(struct stage *stage, const cua_UsageRequest *wanted) {
	cua_Usage usage = {.serial = wanted->serial,
		.has_cpu_ms = true,
		.cpu_ms = 12,
		.has_memory = true,
		.memory = 34,
		.has_disk = true,
		.disk = 56,
		.has_pids = true,
		.pids = 78};
	send_to_cuad(stage, CUA_MSG_USAGE, &usage, -1);
}

static void on_template(struct stage *stage, const cua_TemplateRequest *wanted) {
	if (strcmp(wanted->name, "missing") == 0) {
		reply(stage, wanted->serial, CUA_NOT_FOUND, "there is no recipe missing");
		return;
	}
	for (int i = 1; i <= 3 && wanted->verb == 0; i++) {
		cua_BuildProgress progress = {.serial = wanted->serial};
		(void)snprintf(progress.line, sizeof(progress.line), "step %d%s", i,
			wanted->has_force && wanted->force ? " again" : "");
		send_to_cuad(stage, CUA_MSG_BUILD_PROGRESS, &progress, -1);
	}
	bool good = strcmp(wanted->name, "broken") != 0;
	reply(stage, wanted->serial, good ? CUA_OK : CUA_INTERNAL, good ? "" : "it broke");
}

static void on_message(struct stage *stage) {
	struct cua_msg *msg = &stage->in;
	struct cua_err err;
	int r = cua_msg_recv(stage->e1, CUA_DIR_CUAD_TO_SUPERVISOR, msg, &err);
	if (r < 0) {
		(void)fprintf(stderr, "stage: cuad: %s\n", err.message);
		exit(125);
	}
	if (r == 0) {
		return;
	}
	if (msg->type == CUA_MSG_SESSION_CREATE) {
		on_create(stage, &msg->body.session_create);
	} else if (msg->type == CUA_MSG_SESSION_DELETE) {
		on_delete(stage, &msg->body.session_delete);
	} else if (msg->type == CUA_MSG_USAGE_REQUEST) {
		on_usage(stage, &msg->body.usage_request);
	} else if (msg->type == CUA_MSG_TEMPLATE_REQUEST) {
		on_template(stage, &msg->body.template_request);
	}
	cua_msg_done(msg);
}

/* ---------------------------------------------------------------- starting */

static void start_cuad(struct stage *stage) {
	const char *build = getenv("CUAD_BUILD");
	char program[256];
	char state[96];
	int pair[2];
	struct cua_err err;
	(void)snprintf(program, sizeof(program), "%s/server/front/cuad", build ? build : ".");
	(void)snprintf(state, sizeof(state), "%s/state", stage->dir);
	if (fd_seqpacket_pair(pair, &err) < 0 || mkdir(state, 0755) < 0 ||
		chown(state, NOBODY, NOBODY) < 0) {
		die("cuad's place");
	}
	stage->cuad = fork();
	if (stage->cuad == 0) {
		int null = open("/dev/null", O_RDWR);
		(void)dup2(null, STDIN_FILENO);
		if (dup2(pair[1], 3) < 0 || setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 ||
			setuid(NOBODY) < 0) {
			_exit(126);
		}
		(void)execl(program, "cuad", "--state", state, NULL);
		_exit(127);
	}
	(void)close(pair[1]);
	stage->e1 = pair[0];
}

static int listen_control(struct stage *stage) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/cuad.sock", stage->dir);
	memcpy(stage->socket, address.sun_path, sizeof(stage->socket));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(fd, 64) < 0) {
		die("the control socket");
	}
	return fd;
}

/* A TCP listener for tests of roles; its port is left in the environment of the command. */
static int listen_tcp(void) {
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	char port[16];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, 64) < 0 ||
		getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
		die("a TCP port");
	}
	(void)snprintf(port, sizeof(port), "%u", ntohs(address.sin_port));
	(void)setenv("CUAD_PORT", port, 1);
	return fd;
}

static void introduce(struct stage *stage) {
	struct cua_err err;
	if (cua_hello_send(stage->e1, &err) < 0) {
		die("hello");
	}
	int control = listen_control(stage);
	send_to_cuad(stage, CUA_MSG_LISTENER, &(cua_ListenerHandover){.kind = 0}, control);
	(void)close(control);
	static cua_ListenerHandover tcp = {.kind = 1, .has_listener = true};
	(void)snprintf(tcp.listener.address, sizeof(tcp.listener.address), "127.0.0.1");
	int port = listen_tcp();
	send_to_cuad(stage, CUA_MSG_LISTENER, &tcp, port);
	(void)close(port);
	cua_SessionCreate first = first_session();
	tell_state(stage, &first, cua_State_STATE_RUNNING, NULL);
	tell_link(stage, SESSION, 3, standin_worker_start());
	tell_link(stage, SESSION, 5, fresh_e5(stage));
	send_to_cuad(stage, CUA_MSG_SYNCED, &(cua_Synced){.sessions = 1}, -1);
}

static void start_command(struct stage *stage, char **argv) {
	stage->command = fork();
	if (stage->command == 0) {
		(void)setenv("CUAD_SOCKET", stage->socket, 1);
		(void)setenv("CUAD_SESSION", SESSION, 1);
		(void)execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
}

/* Serves until the command ends; its exit status. */
static int serve(struct stage *stage) {
	int pidfd = (int)syscall(SYS_pidfd_open, stage->command, 0);
	struct pollfd wait[2] = {
		{.fd = stage->e1, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	while (poll(wait, 2, -1) >= 0 || errno == EINTR) {
		if (wait[0].revents) {
			on_message(stage);
		}
		if (wait[1].revents) {
			break;
		}
	}
	int status = 0;
	(void)waitpid(stage->command, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int stop(struct stage *stage) {
	(void)close(stage->e1); /* cuad ends without its supervisor */
	int status = 0;
	(void)waitpid(stage->cuad, &status, 0);
	(void)guest_stop(&stage->guest);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		return 0;
	}
	(void)fprintf(stderr, "stage: cuad ended with status %#x\n", (unsigned)status);
	return 124;
}

static void remove_all(const char *dir) {
	pid_t pid = fork();
	if (pid == 0) {
		(void)execlp("rm", "rm", "-rf", dir, NULL);
		_exit(127);
	}
	(void)waitpid(pid, NULL, 0);
}

/* The command; Check passes no arguments to a test. */
static char **command_line;

START_TEST(the_command_succeeds) {
	static struct stage stage;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)snprintf(stage.dir, sizeof(stage.dir), "/tmp/cuad-stage-XXXXXX");
	if (!mkdtemp(stage.dir) || chmod(stage.dir, 0755) < 0) {
		die("a directory");
	}
	guest_start(&stage.guest, "");
	start_cuad(&stage);
	introduce(&stage);
	start_command(&stage, command_line);
	int status = serve(&stage);
	int ended = stop(&stage);
	remove_all(stage.dir);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(ended, 0);
}
END_TEST

int main(int argc, char **argv) {
	if (argc < 2) {
		return 2;
	}
	command_line = argv + 1;
	Suite *suite = suite_create(argv[argc - 1]);
	TCase *tc = tcase_create("stage");
	tcase_set_timeout(tc, 0); /* CTest has one */
	tcase_add_test(tc, the_command_succeeds);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
