/* cp: one file over the files route, a directory as a tar stream made and read by tar on each side.
 *
 * An archive from a session is hostile: it is unpacked by GNU tar as the calling user, which refuses
 * "..", strips leading "/" and never writes through a symlink of the archive. */
#include "server/ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/fdio.h"

extern char **environ;

/* One side of the copy. */
struct place {
	char session[128]; /* "" for a local path */
	const char *path;
};

static struct place parse_place(const char *word) {
	struct place place = {.path = word};
	const char *colon = strchr(word, ':');
	size_t len = colon ? (size_t)(colon - word) : 0;
	if (len > 0 && len < sizeof(place.session) && !memchr(word, '/', len)) {
		memcpy(place.session, word, len);
		place.path = strncmp(colon + 1, "~/", 2) == 0 ? colon + 3 : colon + 1;
	}
	return place;
}

static char *files_path(const struct place *place, const char *query) {
	_cleanup_free_ char *id = url_escape(place->session, false);
	_cleanup_free_ char *path = url_escape(place->path, true);
	bool absolute = path && path[0] == '/';
	char *full = NULL;
	/* a relative path starts at the agent's home */
	if (!id || !path ||
		asprintf(&full, "/v1/sessions/%s/files/%s%s%s", id, absolute ? "" : "~/",
			absolute ? path + 1 : path, query) < 0) {
		return NULL;
	}
	return full;
}

struct transfer {
	struct ctl *ctl;
	int fd;
	int status;
};

static ssize_t source_fd(void *data, void *ret_bytes, size_t max) {
	const struct transfer *t = data;
	return fd_read_all(t->fd, ret_bytes, max);
}

static int sink_fd(void *data, struct cua_span bytes) {
	const struct transfer *t = data;
	return fd_write_all(t->fd, bytes.data, bytes.len);
}

static void on_done(void *data, const struct client_reply *reply) {
	struct transfer *t = data;
	t->status = reply->err.code == CUA_OK ? EXIT_DONE : ctl_fail(t->ctl, &reply->err);
}

static int transfer_run(struct transfer *t, struct client_request *request) {
	struct client *client = ctl_client(t->ctl, &t->status);
	struct cua_err err;
	request->done = on_done;
	request->data = t;
	if (!client) {
		return t->status;
	}
	if (client_start(client, request, &err) < 0) {
		t->status = ctl_fail(t->ctl, &err);
	} else {
		client_run(client);
	}
	(void)client_free(client);
	return t->status;
}

static int fail_errno(struct ctl *ctl, int errnum, const char *what, const char *path) {
	struct cua_err err;
	(void)cua_err_errno(&err, errnum, "cannot %s %s", what, path);
	return ctl_fail(ctl, &err);
}

/* ---------------------------------------------------------------- single files */

/* Standard input has no length beforehand: it is kept in an unnamed file first. */
static int spool_stdin(struct ctl *ctl) {
	_cleanup_fd_ int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char buf[65536];
	ssize_t n = fd < 0 ? -errno : 1;
	while (n > 0) {
		n = fd_read_all(STDIN_FILENO, buf, sizeof(buf));
		int r = n > 0 ? fd_write_all(fd, buf, (size_t)n) : 0;
		n = r < 0 ? r : n;
	}
	if (n < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		(void)fail_errno(ctl, (int)n, "read", "standard input");
		return -1;
	}
	return take_fd(fd);
}

static int upload(struct ctl *ctl, int fd, const struct stat *st, const struct place *to) {
	char query[32];
	(void)snprintf(query, sizeof(query), "?mkdirs=1&mode=%04o", (unsigned)st->st_mode & 0777);
	_cleanup_free_ char *path = files_path(to, query);
	struct transfer t = {.ctl = ctl, .fd = fd, .status = EXIT_FAILED};
	struct client_request request = {.method = "PUT",
		.path = path ? path : "",
		.mime = "application/octet-stream",
		.source = source_fd,
		.source_len = st->st_size};
	return transfer_run(&t, &request);
}

static int download(struct ctl *ctl, const struct place *from, const char *to) {
	_cleanup_free_ char *path = files_path(from, "");
	_cleanup_free_ char *tmp = NULL;
	_cleanup_fd_ int fd = -1;
	struct transfer t = {.ctl = ctl, .fd = STDOUT_FILENO, .status = EXIT_FAILED};
	if (strcmp(to, "-") != 0) {
		if (asprintf(&tmp, "%s.part-XXXXXX", to) < 0) {
			return EXIT_FAILED;
		}
		t.fd = fd = mkostemp(tmp, O_CLOEXEC);
		if (fd < 0 || fchmod(fd, 0644) < 0) {
			return fail_errno(ctl, errno, "write", to);
		}
	}
	struct client_request request = {
		.method = "GET", .path = path ? path : "", .sink = sink_fd};
	int status = transfer_run(&t, &request);
	if (fd >= 0 && (status != 0 || rename(tmp, to) < 0)) {
		status = status != 0 ? status : fail_errno(ctl, errno, "write", to);
		(void)unlink(tmp);
	}
	return status;
}

/* ---------------------------------------------------------------- directories */

static char self[] = "/proc/self/exe";

/* Runs `left | right`; the first status that is not 0. */
static int pipeline(char *const left[], char *const right[]) {
	int pipe_fds[2];
	pid_t pids[2] = {-1, -1};
	if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
		return EXIT_FAILED;
	}
	posix_spawn_file_actions_t out;
	posix_spawn_file_actions_t in;
	(void)posix_spawn_file_actions_init(&out);
	(void)posix_spawn_file_actions_init(&in);
	(void)posix_spawn_file_actions_adddup2(&out, pipe_fds[1], STDOUT_FILENO);
	(void)posix_spawn_file_actions_adddup2(&in, pipe_fds[0], STDIN_FILENO);
	bool started = posix_spawnp(&pids[0], left[0], &out, NULL, left, environ) == 0 &&
		       posix_spawnp(&pids[1], right[0], &in, NULL, right, environ) == 0;
	(void)posix_spawn_file_actions_destroy(&out);
	(void)posix_spawn_file_actions_destroy(&in);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	int status = started ? EXIT_DONE : EXIT_FAILED;
	for (size_t i = 0; i < CUA_COUNT(pids); i++) {
		int wait_status = 0;
		if (pids[i] > 0 && waitpid(pids[i], &wait_status, 0) > 0 && wait_status != 0 &&
			status == 0) {
			status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : EXIT_FAILED;
		}
	}
	return status;
}

static void export_where(const struct ctl *ctl) {
	if (ctl->where.host) {
		(void)setenv("CUAD_HOST", ctl->where.host, 1);
	}
	if (ctl->where.token) {
		(void)setenv("CUAD_TOKEN", ctl->where.token, 1); /* not in argv */
	}
}

/* As cp -r: into an existing directory, else under the new name. */
static int copy_dir_in(struct ctl *ctl, const char *from, struct place *to) {
	char script[] = "mkdir -p -- \"$1\" && exec tar -x -C \"$1\" -f -";
	char *left[] = {"tar", "-C", (char *)(uintptr_t)from, "-c", "-f", "-", ".", NULL};
	char *right[] = {self, "exec", to->session, "-i", "--", "sh", "-c", script, "sh",
		(char *)(uintptr_t)(to->path[0] ? to->path : "."), NULL};
	export_where(ctl);
	return pipeline(left, right);
}

static int copy_dir_out(struct ctl *ctl, struct place *from, const char *to) {
	if (mkdir(to, 0777) < 0 && errno != EEXIST) {
		return fail_errno(ctl, errno, "create", to);
	}
	char *left[] = {self, "exec", from->session, "--", "tar", "-C",
		(char *)(uintptr_t)(from->path[0] ? from->path : "."), "-c", "-f", "-", ".", NULL};
	char *right[] = {
		"tar", "-x", "--no-same-owner", "-C", (char *)(uintptr_t)to, "-f", "-", NULL};
	export_where(ctl);
	return pipeline(left, right);
}

/* Asks whether the far path is a directory. 1, 0, or negative after an error was printed. */
static int far_is_dir(struct ctl *ctl, const struct place *place, int *ret_status) {
	_cleanup_free_ char *path = files_path(place, "?stat");
	struct answer answer;
	*ret_status = ctl_call(ctl, "GET", path ? path : "", NULL, &answer);
	int is_dir = *ret_status == 0 ? strcmp(json_text(answer.json, "type"), "dir") == 0 : -1;
	answer_done(&answer);
	return is_dir;
}

static const char *last_part(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static int copy_in(struct ctl *ctl, const char *from, struct place *to) {
	_cleanup_fd_ int fd =
		strcmp(from, "-") == 0 ? spool_stdin(ctl) : open(from, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0) {
		return fail_errno(ctl, errno, "read", from);
	}
	if (S_ISDIR(st.st_mode)) {
		return copy_dir_in(ctl, from, to);
	}
	_cleanup_free_ char *into = NULL;
	size_t len = strlen(to->path);
	if (len == 0 || to->path[len - 1] == '/') {
		if (asprintf(&into, "%s%s", to->path, last_part(from)) < 0) {
			return EXIT_FAILED;
		}
		to->path = into;
	}
	return upload(ctl, fd, &st, to);
}

static int copy_out(struct ctl *ctl, struct place *from, const char *to) {
	int status = 0;
	int is_dir = far_is_dir(ctl, from, &status);
	if (is_dir < 0) {
		return status;
	}
	if (is_dir) {
		return copy_dir_out(ctl, from, to);
	}
	struct stat st;
	_cleanup_free_ char *into = NULL;
	if (strcmp(to, "-") != 0 && stat(to, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (asprintf(&into, "%s/%s", to, last_part(from->path)) < 0) {
			return EXIT_FAILED;
		}
		to = into;
	}
	return download(ctl, from, to);
}

int cmd_cp(struct ctl *ctl, const struct args *args) {
	struct place from = parse_place(args->operands[0]);
	struct place to = parse_place(args->operands[1]);
	if ((from.session[0] == '\0') == (to.session[0] == '\0')) {
		return ctl_usage(ctl, "exactly one side must be ID:/path");
	}
	return to.session[0] ? copy_in(ctl, from.path, &to) : copy_out(ctl, &from, to.path);
}
