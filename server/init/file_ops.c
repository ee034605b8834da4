/* The child of a file request: who it is, which function performs it, and the small requests. */
#include "server/init/file_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "server/init/spawn.h"

typedef int perform_fn(const struct file_job *job, struct cua_err *err);

int file_ops_send(const struct file_job *job, cua_FileResult *result, const struct cua_span *blob,
	struct cua_err *err) {
	result->serial = job->request->serial;
	return cua_msg_send(job->control,
		&(struct cua_out){.type = CUA_MSG_FILE_RESULT,
			.body = result,
			.blob = blob,
			.blob_count = blob ? 1 : 0},
		err);
}

static const struct {
	mode_t type;
	const char *name;
	const char *kind;
} kinds[] = {
	{S_IFREG, "file", "a file"},
	{S_IFDIR, "dir", "a directory"},
	{S_IFLNK, "link", "a symbolic link"},
	{S_IFIFO, "fifo", "a FIFO"},
	{S_IFSOCK, "socket", "a socket"},
	{S_IFBLK, "block", "a block device"},
	{S_IFCHR, "char", "a character device"},
};

static size_t kind_of(mode_t mode) {
	for (size_t i = 0; i < CUA_COUNT(kinds); i++) {
		if ((mode & S_IFMT) == kinds[i].type) {
			return i;
		}
	}
	return 0;
}

const char *file_ops_kind(mode_t mode) {
	return kinds[kind_of(mode)].kind;
}

int file_ops_entry(int dirfd, const char *name, cua_FileEntry *ret, struct cua_err *err) {
	struct stat st;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		return cua_err_errno(err, errno, "cannot look at %.300s", name);
	}
	cua_FileEntry entry = {
		.size = (uint64_t)st.st_size,
		.mode = st.st_mode & 07777,
		.mtime_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000,
		.has_uid = true,
		.uid = st.st_uid,
		.has_gid = true,
		.gid = st.st_gid,
	};
	const char *slash = strrchr(name, '/');
	const char *base = slash && slash[1] != '\0' ? slash + 1 : name;
	(void)snprintf(entry.name, sizeof(entry.name), "%s", base);
	(void)snprintf(entry.type, sizeof(entry.type), "%s", kinds[kind_of(st.st_mode)].name);
	*ret = entry;
	return 0;
}

static int make_dir_if_missing(const char *path, struct cua_err *err) {
	struct stat st;
	if (mkdir(path, 0755) == 0 || (stat(path, &st) == 0 && S_ISDIR(st.st_mode))) {
		return 0;
	}
	return cua_err_errno(
		err, errno == EEXIST ? ENOTDIR : errno, "cannot make the directory %.256s", path);
}

int file_ops_make_parents(const char *path, struct cua_err *err) {
	char part[CUA_PATH_SIZE];
	(void)snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int r = make_dir_if_missing(part, err);
		if (r < 0) {
			return r;
		}
		*slash = '/';
	}
	return 0;
}

static int perform_stat(const struct file_job *job, struct cua_err *err) {
	cua_FileResult result = {.has_entry = true};
	int r = file_ops_entry(AT_FDCWD, job->path, &result.entry, err);
	return r < 0 ? r : file_ops_send(job, &result, NULL, err);
}

static int make_dir(const struct file_job *job, struct cua_err *err) {
	const cua_FileRequest *request = job->request;
	mode_t mode = request->has_mode ? request->mode & 07777 : 0755;
	if (mkdir(job->path, mode) == 0) {
		/* The umask shall not change a mode that was asked for. */
		return request->has_mode && chmod(job->path, mode) < 0
			       ? cua_err_errno(
					 err, errno, "cannot set the mode of %.256s", job->path)
			       : 0;
	}
	int saved = errno;
	struct stat st;
	bool parents = request->has_mkdirs && request->mkdirs;
	if (saved == EEXIST && parents && stat(job->path, &st) == 0 && S_ISDIR(st.st_mode)) {
		return 0;
	}
	return cua_err_errno(err, saved, "cannot make the directory %.256s", job->path);
}

static int perform_mkdir(const struct file_job *job, struct cua_err *err) {
	int r = 0;
	if (job->request->has_mkdirs && job->request->mkdirs) {
		r = file_ops_make_parents(job->path, err);
	}
	if (r == 0) {
		r = make_dir(job, err);
	}
	cua_FileResult result = {0};
	return r < 0 ? r : file_ops_send(job, &result, NULL, err);
}

/* Who connects is who the other side sees, in the container's own numbers: that is why PID 1 does
 * it for the host. */
static int perform_connect(const struct file_job *job, struct cua_err *err) {
	bool abstract = job->request->path[0] == '@';
	const char *path = abstract ? job->request->path : job->path;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	if (len >= sizeof(address.sun_path)) {
		return cua_err_about(err, CUA_INVALID, "path", "the socket's path is too long");
	}
	memcpy(address.sun_path, path, len);
	if (abstract) {
		address.sun_path[0] = '\0';
	}
	len += offsetof(struct sockaddr_un, sun_path) + !abstract;
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, (socklen_t)len) < 0) {
		return cua_err_errno(err, errno, "cannot connect to %.256s", path);
	}
	return cua_msg_send(job->control,
		&(struct cua_out){.type = CUA_MSG_FILE_RESULT,
			.body = &(cua_FileResult){.serial = job->request->serial},
			.fd = &fd,
			.fd_count = 1},
		err);
}

static const struct {
	perform_fn *perform;
	size_t fds;
} ops[] = {
	[cua_FileOp_FILE_READ] = {file_read_perform, 1},
	[cua_FileOp_FILE_WRITE] = {file_write_perform, 1},
	[cua_FileOp_FILE_APPEND] = {file_append_perform, 1},
	[cua_FileOp_FILE_LIST] = {file_list_perform, 0},
	[cua_FileOp_FILE_STAT] = {perform_stat, 0},
	[cua_FileOp_FILE_REMOVE] = {file_remove_perform, 0},
	[cua_FileOp_FILE_MKDIR] = {perform_mkdir, 0},
	[cua_FileOp_FILE_MOVE] = {file_move_perform, 0},
	[cua_FileOp_FILE_CONNECT] = {perform_connect, 0},
};

size_t file_ops_wants_fd(cua_FileOp op) {
	return (size_t)op < CUA_COUNT(ops) ? ops[op].fds : 0;
}

static int check(const cua_FileRequest *request, struct cua_err *err) {
	if ((size_t)request->op >= CUA_COUNT(ops)) {
		return cua_err_set(
			err, CUA_INVALID, "there is no file operation %u", (unsigned)request->op);
	}
	if (request->path[0] == '\0') {
		return cua_err_about(err, CUA_INVALID, "path", "the path is empty");
	}
	bool move = request->op == cua_FileOp_FILE_MOVE;
	if (move && (!request->has_destination || request->destination[0] == '\0')) {
		return cua_err_about(err, CUA_INVALID, "destination", "the destination is empty");
	}
	if (request->has_mode && request->mode > 07777) {
		return cua_err_about(err, CUA_INVALID, "mode", "a mode is at most 07777");
	}
	return 0;
}

/* Becomes the agent, in its home. Signals that end a process are kept away, so that what is half
 * done is always taken back: the control socket tells when to stop. */
static int prepare(struct file_job *job, struct cua_err *err) {
	struct account account;
	int r = account_find("/etc", NULL, &account, err);
	if (r == 0) {
		r = account_path(&account, job->request->path, "path", job->path, err);
	}
	if (r == 0 && job->request->has_destination) {
		r = account_path(
			&account, job->request->destination, "destination", job->destination, err);
	}
	if (r == 0) {
		r = account_become(&account, err);
	}
	if (r < 0) {
		return r;
	}
	(void)umask(022);
	/* The agent's own processes may not trace this one and borrow its sockets. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0) {
		return cua_err_errno(err, errno, "cannot shield a file operation");
	}
	return 0;
}

static int perform(struct file_job *job, struct cua_err *err) {
	int r = check(job->request, err);
	if (r == 0) {
		r = prepare(job, err);
	}
	return r < 0 ? r : ops[job->request->op].perform(job, err);
}

void file_ops_run(const cua_FileRequest *request, int control, int data) {
	(void)prctl(PR_SET_NAME, "cuad-file");
	struct file_job *job = calloc(1, sizeof(*job));
	struct cua_msg *in = calloc(1, sizeof(*in));
	if (!job || !in) {
		_exit(1);
	}
	*job = (struct file_job){.request = request, .control = control, .data = data, .in = in};
	struct cua_err err = {0};
	int r = perform(job, &err);
	if (r < 0) {
		if (err.subject[0] == '\0' && err.code != CUA_INTERNAL) {
			(void)snprintf(err.subject, sizeof(err.subject), "path");
		}
		cua_FileResult result = {.has_error = true, .error = cua_error_to_wire(&err)};
		(void)!file_ops_send(job, &result, NULL, NULL);
	}
	spawn_await_close(control);
	_exit(0);
}
