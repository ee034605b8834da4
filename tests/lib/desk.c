/* See the header. */
#include "tests/lib/desk.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <X11/Xatom.h>
#include <X11/Xlib.h>

#include "cua/fdio.h"

#define X11_DIR "/tmp/.X11-unix"
#define START_MS 20000
#define ANSWER_MS 10000

/* ---------------------------------------------------------------- life */

/* The program may lie below the /tmp that is covered. */
static int open_program(void) {
	char path[512];
	const char *build = getenv("CUAD_BUILD");
	(void)snprintf(path, sizeof(path), "%s/desktop/cuad-desktop", build ? build : ".");
	return open(path, O_PATH | O_CLOEXEC);
}

void desk_init(struct desk *d) {
	*d = (struct desk){.xvfb = -1,
		.worker = -1,
		.supervisor = -1,
		.front = -1,
		.lease = 1,
		.screen = {DESK_WIDTH, DESK_HEIGHT}};
	d->program = open_program();
	ck_assert_msg(d->program >= 0, "cuad-desktop is not in CUAD_BUILD");
	ck_assert_int_eq(unshare(CLONE_NEWNS | CLONE_NEWNET), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("none", "/tmp", "tmpfs", 0, "mode=1777"), 0);
	ck_assert_int_eq(mkdir(X11_DIR, 0777), 0);
	ck_assert_int_eq(chmod(X11_DIR, 01777), 0);
	for (size_t i = 0; i < CUA_MSG_FDS; i++) {
		d->msg.fd[i] = -1;
	}
}

static void end(pid_t *pid) {
	if (*pid > 0) {
		(void)kill(*pid, SIGKILL);
		(void)waitpid(*pid, NULL, 0);
	}
	*pid = -1;
}

void desk_done(struct desk *d) {
	cua_msg_done(&d->msg);
	end(&d->worker);
	end(&d->xvfb);
	(void)close(d->supervisor);
	(void)close(d->front);
	(void)close(d->program);
}

void desk_start_xvfb(struct desk *d) {
	int ready[2];
	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	d->xvfb = fork();
	if (d->xvfb == 0) {
		(void)unlink(X11_DIR "/X0");
		(void)unlink("/tmp/.X0-lock");
		int null = open("/dev/null", O_WRONLY);
		(void)dup2(null, 2);
		(void)dup2(ready[1], 3);
		(void)execlp("Xvfb", "Xvfb", ":0", "-displayfd", "3", "-screen", "0",
			"1920x1200x24", "-nolisten", "tcp", "-noreset", "-extension", "GLX", NULL);
		_exit(104);
	}
	ck_assert_int_gt(d->xvfb, 0);
	(void)close(ready[1]);
	/* The number and a newline; closing earlier would break its pipe. */
	for (char byte = 0; byte != '\n';) {
		struct pollfd p = {.fd = ready[0], .events = POLLIN};
		ck_assert_msg(poll(&p, 1, START_MS) == 1 && read(ready[0], &byte, 1) == 1,
			"Xvfb does not start");
	}
	(void)close(ready[0]);
}

void desk_kill_xvfb(struct desk *d) {
	end(&d->xvfb);
}

static void greet(struct desk *d, int sock, unsigned dirs) {
	ck_assert_msg(cua_hello_send(sock, &d->err) == 0, "%s", d->err.message);
	ck_assert(desk_receive(d, sock, dirs, ANSWER_MS));
	ck_assert_int_eq(d->msg.type, CUA_MSG_HELLO);
	ck_assert_int_eq(cua_hello_check(&d->msg, &d->err), 0);
}

static void exec_worker(int program, int supervisor) {
	char *argv[] = {(char *)(uintptr_t) "cuad-desktop", NULL};
	(void)dup2(supervisor, 3);
	(void)fcntl(3, F_SETFD, 0);
	(void)syscall(SYS_execveat, program, "", argv, environ, AT_EMPTY_PATH);
	_exit(105);
}

static cua_WorkerStart worker_start(const struct desk *d) {
	cua_WorkerStart start = {.uid = DESK_UID,
		.screen = {.width = d->screen[0],
			.height = d->screen[1],
			.dpi = 96,
			.max_width = 1920,
			.max_height = 1200}};
	(void)snprintf(start.id, sizeof(start.id), "%s", DESK_ID);
	return start;
}

void desk_start_worker(struct desk *d) {
	int edge[2];
	ck_assert_int_eq(fd_seqpacket_pair(edge, &d->err), 0);
	d->worker = fork();
	if (d->worker == 0) {
		exec_worker(d->program, edge[1]);
	}
	(void)close(edge[1]);
	d->supervisor = edge[0];
	greet(d, d->supervisor, CUA_DIR_WORKER_TO_SUPERVISOR);
	int front[2];
	ck_assert_int_eq(fd_seqpacket_pair(front, &d->err), 0);
	int dir = open(X11_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
	cua_WorkerStart start = worker_start(d);
	ck_assert_msg(cua_msg_send(d->supervisor,
			      &(struct cua_out){.type = CUA_MSG_WORKER_START,
				      .body = &start,
				      .fd = (int[]){dir, front[1]},
				      .fd_count = 2},
			      &d->err) == 0,
		"%s", d->err.message);
	(void)close(dir);
	(void)close(front[1]);
	d->front = front[0];
	greet(d, d->front, CUA_DIR_WORKER_TO_CUAD);
}

void desk_link(struct desk *d) {
	int front[2];
	cua_WorkerLink link = {.generation = 2};
	(void)close(d->front);
	ck_assert_int_eq(fd_seqpacket_pair(front, &d->err), 0);
	ck_assert_int_eq(cua_msg_send(d->supervisor,
				 &(struct cua_out){.type = CUA_MSG_WORKER_LINK,
					 .body = &link,
					 .fd = &front[1],
					 .fd_count = 1},
				 &d->err),
		0);
	(void)close(front[1]);
	d->front = front[0];
	greet(d, d->front, CUA_DIR_WORKER_TO_CUAD);
}

void *desk_paint(void) {
	Display *display = XOpenDisplay(":0");
	ck_assert_ptr_nonnull(display);
	Window root = DefaultRootWindow(display);
	Window window = XCreateSimpleWindow(display, root, -10, -10, 1, 1, 0, 0, 0);
	Atom atom = XInternAtom(display, "_NET_SUPPORTING_WM_CHECK", False);
	XChangeProperty(
		display, window, atom, XA_WINDOW, 32, PropModeReplace, (unsigned char *)&window, 1);
	XChangeProperty(
		display, root, atom, XA_WINDOW, 32, PropModeReplace, (unsigned char *)&window, 1);
	/* The background survives a change of the screen's size, what is drawn does not. */
	Pixmap tile = XCreatePixmap(display, root, 640, 400, 24);
	GC gc = XCreateGC(display, tile, 0, NULL);
	XSetForeground(display, gc, 0x336699);
	XFillRectangle(display, tile, gc, 0, 0, 640, 400);
	XSetForeground(display, gc, 0x99cc33);
	XFillRectangle(display, tile, gc, 20, 30, 100, 60);
	XSetWindowBackgroundPixmap(display, root, tile);
	XClearWindow(display, root);
	XFreeGC(display, gc);
	XSync(display, False);
	return display;
}

/* ---------------------------------------------------------------- messages */

static bool readable(int sock, int ms) {
	struct pollfd p = {.fd = sock, .events = POLLIN};
	int r = 0;
	do {
		r = poll(&p, 1, ms);
	} while (r < 0 && errno == EINTR);
	return r == 1;
}

bool desk_receive(struct desk *d, int sock, unsigned dirs, int ms) {
	cua_msg_done(&d->msg);
	return readable(sock, ms) && cua_msg_recv(sock, dirs, &d->msg, &d->err) == 1;
}

bool desk_wait_ready(struct desk *d, bool ready, int ms) {
	while (desk_receive(d, d->supervisor, CUA_DIR_WORKER_TO_SUPERVISOR, ms)) {
		if (d->msg.type == CUA_MSG_WORKER_STATE &&
			d->msg.body.worker_state.ready == ready) {
			return true;
		}
	}
	return false;
}

uint32_t desk_send(struct desk *d, int action, const cua_Args *args, const char *text) {
	static cua_ActionRequest request; /* large */
	request = (cua_ActionRequest){.serial = ++d->serial,
		.action = (uint32_t)action,
		.lease = d->lease,
		.args = *args};
	struct cua_span blob = {.data = text, .len = text ? strlen(text) : 0};
	ck_assert_msg(cua_msg_send(d->front,
			      &(struct cua_out){.type = CUA_MSG_ACTION_REQUEST,
				      .body = &request,
				      .blob = &blob,
				      .blob_count = text != NULL},
			      &d->err) == 0,
		"%s", d->err.message);
	return d->serial;
}

/* As cuad and the container's init do together. */
static void answer_socket(struct desk *d, const cua_SocketRequest *wanted) {
	cua_SocketResult result = {.serial = wanted->serial};
	int fd = d->connect ? d->connect(wanted->path) : -1;
	if (fd < 0) {
		(void)cua_err_set(&d->err, CUA_NOT_FOUND, "no socket %s", wanted->path);
		result.has_error = true;
		result.error = cua_error_to_wire(&d->err);
	}
	ck_assert_int_eq(cua_msg_send(d->front,
				 &(struct cua_out){.type = CUA_MSG_SOCKET_RESULT,
					 .body = &result,
					 .fd = &fd,
					 .fd_count = fd >= 0},
				 &d->err),
		0);
	(void)close(fd);
}

const cua_ActionResult *desk_answer(struct desk *d, int ms) {
	for (;;) {
		ck_assert_msg(desk_receive(d, d->front, CUA_DIR_WORKER_TO_CUAD, ms), "no answer");
		if (d->msg.type != CUA_MSG_SOCKET_REQUEST) {
			break;
		}
		answer_socket(d, &d->msg.body.socket_request);
	}
	ck_assert_int_eq(d->msg.type, CUA_MSG_ACTION_RESULT);
	return &d->msg.body.action_result;
}

const cua_ActionResult *desk_do(struct desk *d, int action, const cua_Args *args) {
	uint32_t serial = desk_send(d, action, args, NULL);
	const cua_ActionResult *result = desk_answer(d, ANSWER_MS);
	ck_assert_uint_eq(result->serial, serial);
	return result;
}

bool desk_worker_ended(struct desk *d, int ms, int *ret_status) {
	int fd = (int)syscall(SYS_pidfd_open, d->worker, 0);
	ck_assert_int_ge(fd, 0);
	bool ended = readable(fd, ms);
	(void)close(fd);
	if (ended) {
		ck_assert_int_eq(waitpid(d->worker, ret_status, 0), d->worker);
		d->worker = -1;
	}
	return ended;
}
