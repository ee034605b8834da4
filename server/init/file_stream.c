/* Reading, writing and appending: the requests whose bytes flow over a socket. A write becomes
 * visible as a whole by a rename; an append is collected first and then added in one go. */
#include "server/init/file_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/ident.h"

#define CHUNK 262144

/* ---------------------------------------------------------------- read */

static int refuse_kind(const char *path, mode_t mode, struct cua_err *err) {
	if (S_ISREG(mode)) {
		return 0;
	}
	return cua_err_about(
		err, CUA_INVALID, "path", "%.256s is %s, not a file", path, file_ops_kind(mode));
}

/* Opens a regular file and nothing else: even opening a device or a FIFO has effects, so the path is
 * first resolved without opening. */
static int open_regular(const char *path, int flags, struct stat *ret_st, struct cua_err *err) {
	_cleanup_fd_ int at = open(path, O_PATH | O_CLOEXEC);
	if (at < 0 || fstat(at, ret_st) < 0) {
		return cua_err_errno(err, errno, "cannot open %.256s", path);
	}
	int r = refuse_kind(path, ret_st->st_mode, err);
	if (r < 0) {
		return r;
	}
	char name[32];
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", at);
	int fd = open(name, flags | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		return cua_err_errno(err, errno, "cannot open %.256s", path);
	}
	return fd;
}

/* Waits until the data socket is ready; negative when nobody waits for the request any more. */
static int wait_data(const struct file_job *job, short events, struct cua_err *err) {
	struct pollfd wait[2] = {
		{.fd = job->data, .events = events}, {.fd = job->control, .events = POLLIN}};
	while (poll(wait, 2, -1) < 0) {
		if (errno != EINTR) {
			return cua_err_errno(err, errno, "cannot wait for a stream");
		}
	}
	if (wait[1].revents) {
		return cua_err_set(err, CUA_TIMEOUT, "the request was given up");
	}
	return 0;
}

static int send_all(const struct file_job *job, const char *data, size_t len, struct cua_err *err) {
	while (len > 0) {
		ssize_t n = send(job->data, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			return cua_err_errno(err, errno, "the reader is gone");
		}
		if (n > 0) {
			data += n;
			len -= (size_t)n;
			continue;
		}
		int r = wait_data(job, POLLOUT, err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* Sends at most `length` bytes; *ret_eof tells whether the file ended. */
static int stream_out(
	const struct file_job *job, int fd, uint64_t length, bool *ret_eof, struct cua_err *err) {
	_cleanup_free_ char *chunk = malloc(CHUNK);
	if (!chunk) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory to read a file");
	}
	*ret_eof = false;
	while (length > 0) {
		ssize_t n = read(fd, chunk, length < CHUNK ? (size_t)length : CHUNK);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return cua_err_errno(err, errno, "cannot read %.256s", job->path);
		}
		if (n == 0) {
			*ret_eof = true;
			return 0;
		}
		int r = send_all(job, chunk, (size_t)n, err);
		if (r < 0) {
			return r;
		}
		length -= (uint64_t)n;
	}
	return 0;
}

int file_read_perform(const struct file_job *job, struct cua_err *err) {
	const cua_FileRequest *request = job->request;
	struct stat st = {0};
	int opened = open_regular(job->path, O_RDONLY, &st, err);
	if (opened < 0) {
		return opened;
	}
	_cleanup_fd_ int fd = opened;
	uint64_t offset = request->has_offset ? request->offset : 0;
	if (offset > INT64_MAX || lseek(fd, (off_t)offset, SEEK_SET) < 0) {
		return cua_err_about(err, CUA_INVALID, "offset", "the offset is out of range");
	}
	cua_FileResult result = {.has_size = true, .size = (uint64_t)st.st_size};
	int r = file_ops_send(job, &result, NULL, err);
	if (r < 0) {
		return r;
	}
	bool eof = false;
	r = stream_out(job, fd, request->has_length ? request->length : UINT64_MAX, &eof, err);
	if (r < 0) {
		return r;
	}
	off_t end = lseek(fd, 0, SEEK_CUR);
	(void)shutdown(job->data, SHUT_WR);
	result.has_done = true;
	result.done = true;
	result.has_eof = true;
	result.eof = eof || end >= st.st_size;
	return file_ops_send(job, &result, NULL, err);
}

/* ---------------------------------------------------------------- taking a stream */

struct intake {
	uint64_t got;
	uint64_t expected;
	bool told; /* FILE_END has come */
	bool closed; /* the stream has ended */
};

static int take_end(const struct file_job *job, struct intake *intake, struct cua_err *err) {
	int r = cua_msg_recv(job->control, CUA_DIR_CUAD_TO_INIT, job->in, err);
	if (r <= 0) {
		return r;
	}
	bool end = job->in->type == CUA_MSG_FILE_END;
	const cua_FileEnd *body = &job->in->body.file_end;
	bool abort = end && body->has_abort && body->abort;
	intake->told = end;
	intake->expected = end ? body->size : 0;
	cua_msg_done(job->in);
	if (!end || abort) {
		return cua_err_set(err, CUA_CONFLICT, "the transfer was aborted");
	}
	return 0;
}

static int take_bytes(const struct file_job *job, struct intake *intake, int fd, char *chunk,
	struct cua_err *err) {
	ssize_t n = recv(job->data, chunk, CHUNK, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return 0;
	}
	if (n <= 0) {
		intake->closed = true;
		return 0;
	}
	int r = fd_write_all(fd, chunk, (size_t)n);
	if (r < 0) {
		return cua_err_errno(err, r, "cannot write %.256s", job->path);
	}
	intake->got += (uint64_t)n;
	return 0;
}

static int intake_check(const struct intake *intake, struct cua_err *err) {
	bool short_of = intake->closed && intake->told && intake->got < intake->expected;
	if (short_of || (intake->told && intake->got > intake->expected)) {
		return cua_err_set(err, CUA_INVALID, "%llu bytes arrived where %llu were announced",
			(unsigned long long)intake->got, (unsigned long long)intake->expected);
	}
	return 0;
}

static int take_step(const struct file_job *job, struct intake *intake, int fd, char *chunk,
	struct cua_err *err) {
	struct pollfd wait[2] = {{.fd = intake->closed ? -1 : job->data, .events = POLLIN},
		{.fd = job->control, .events = POLLIN}};
	if (poll(wait, 2, -1) < 0) {
		return errno == EINTR ? 0 : cua_err_errno(err, errno, "cannot wait for a stream");
	}
	int r = 0;
	if (wait[0].revents) {
		r = take_bytes(job, intake, fd, chunk, err);
	}
	if (r == 0 && wait[1].revents) {
		r = take_end(job, intake, err);
	}
	return r < 0 ? r : intake_check(intake, err);
}

/* Writes the stream into fd until FILE_END's size has arrived. */
static int take_stream(
	const struct file_job *job, int fd, uint64_t *ret_size, struct cua_err *err) {
	_cleanup_free_ char *chunk = malloc(CHUNK);
	if (!chunk) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory to write a file");
	}
	struct intake intake = {0};
	while (!intake.told || intake.got < intake.expected) {
		int r = take_step(job, &intake, fd, chunk, err);
		if (r < 0) {
			return r;
		}
	}
	*ret_size = intake.got;
	return 0;
}

/* ---------------------------------------------------------------- write */

/* Where the bytes go in the end: an existing file behind symlinks, or the path itself. */
static int resolve_target(const struct file_job *job, char ret_path[CUA_PATH_SIZE],
	mode_t *ret_mode, struct cua_err *err) {
	const cua_FileRequest *request = job->request;
	mode_t mode = 0644;
	_cleanup_free_ char *real = realpath(job->path, NULL);
	struct stat st;
	if (real && stat(real, &st) == 0) {
		int r = refuse_kind(job->path, st.st_mode, err);
		if (r < 0) {
			return r;
		}
		mode = st.st_mode & 07777;
	} else if (lstat(job->path, &st) == 0) {
		return cua_err_about(err, CUA_NOT_FOUND, "path",
			"%.256s is a symbolic link to something that does not exist", job->path);
	}
	(void)snprintf(ret_path, CUA_PATH_SIZE, "%s", real ? real : job->path);
	*ret_mode = request->has_mode ? request->mode : mode;
	return 0;
}

/* "DIR/.cuad-RANDOM" beside a path. */
static int name_beside(const char *path, char ret_name[CUA_PATH_SIZE], struct cua_err *err) {
	char id[CUA_ID_SIZE];
	cua_id_new(id);
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) : 0;
	int n = snprintf(ret_name, CUA_PATH_SIZE, "%.*s/.cuad-%s", dir, path, id);
	if (n < 0 || n >= CUA_PATH_SIZE) {
		return cua_err_about(err, CUA_INVALID, "path", "the path is too long");
	}
	return 0;
}

static int fill_and_rename(const struct file_job *job, const char *temporary, const char *target,
	mode_t mode, struct cua_err *err) {
	_cleanup_fd_ int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		return cua_err_errno(err, errno, "cannot write %.256s", job->path);
	}
	cua_FileResult result = {.has_size = true};
	int r = take_stream(job, fd, &result.size, err);
	if (r == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0 || rename(temporary, target) < 0)) {
		r = cua_err_errno(err, errno, "cannot write %.256s", job->path);
	}
	if (r < 0) {
		(void)unlink(temporary);
		return r;
	}
	return file_ops_send(job, &result, NULL, err);
}

static int prepare_parents(const struct file_job *job, struct cua_err *err) {
	size_t len = strlen(job->path);
	if (job->path[len - 1] == '/') {
		return cua_err_about(
			err, CUA_INVALID, "path", "%.256s names a directory", job->path);
	}
	bool wanted = job->request->has_mkdirs && job->request->mkdirs;
	return wanted ? file_ops_make_parents(job->path, err) : 0;
}

int file_write_perform(const struct file_job *job, struct cua_err *err) {
	char target[CUA_PATH_SIZE];
	char temporary[CUA_PATH_SIZE];
	mode_t mode = 0;
	int r = prepare_parents(job, err);
	if (r == 0) {
		r = resolve_target(job, target, &mode, err);
	}
	if (r == 0) {
		r = name_beside(target, temporary, err);
	}
	return r < 0 ? r : fill_and_rename(job, temporary, target, mode, err);
}

/* ---------------------------------------------------------------- append */

/* A file without a name that holds the bytes until all have come. Beside the target if possible,
 * since that is where there must be room for them anyway. */
static int open_spool(const char *target, struct cua_err *err) {
	const char *const beside[] = {target, "/var/tmp/x", "/tmp/x"};
	int fd = -1;
	for (size_t i = 0; i < CUA_COUNT(beside) && fd < 0; i++) {
		char name[CUA_PATH_SIZE];
		int r = name_beside(beside[i], name, err);
		if (r < 0) {
			return r;
		}
		fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0) {
			(void)unlink(name);
		}
	}
	return fd >= 0 ? fd : cua_err_errno(err, errno, "no place to collect what is appended");
}

static int copy_over(int from, int to) {
	_cleanup_free_ char *chunk = malloc(CHUNK);
	if (!chunk || lseek(from, 0, SEEK_SET) < 0) {
		return -ENOMEM;
	}
	for (;;) {
		ssize_t n = fd_read_all(from, chunk, CHUNK);
		if (n <= 0) {
			return (int)n;
		}
		int r = fd_write_all(to, chunk, (size_t)n);
		if (r < 0) {
			return r;
		}
	}
}

static int append_spool(const struct file_job *job, int spool, int fd, struct cua_err *err) {
	struct stat before;
	if (fstat(fd, &before) < 0) {
		return cua_err_errno(err, errno, "cannot append to %.256s", job->path);
	}
	int r = copy_over(spool, fd);
	if (r == 0 && fsync(fd) < 0) {
		r = -errno;
	}
	if (r < 0) {
		(void)!ftruncate(fd, before.st_size);
		return cua_err_errno(err, r, "cannot append to %.256s", job->path);
	}
	return 0;
}

static int open_for_append(const char *target, mode_t mode, struct cua_err *err) {
	struct stat st;
	if (lstat(target, &st) == 0) {
		return open_regular(target, O_WRONLY | O_APPEND, &st, err);
	}
	int fd = open(target, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0 || fchmod(fd, mode) < 0) {
		return cua_err_errno(err, errno, "cannot append to %.256s", target);
	}
	return fd;
}

/* The size of the file afterwards is the result. */
static int append_to(const struct file_job *job, int spool, const char *target, mode_t mode,
	struct cua_err *err) {
	int opened = open_for_append(target, mode, err);
	if (opened < 0) {
		return opened;
	}
	_cleanup_fd_ int fd = opened;
	int r = append_spool(job, spool, fd, err);
	if (r < 0) {
		return r;
	}
	off_t end = lseek(fd, 0, SEEK_END);
	cua_FileResult result = {.has_size = true, .size = end < 0 ? 0 : (uint64_t)end};
	return file_ops_send(job, &result, NULL, err);
}

int file_append_perform(const struct file_job *job, struct cua_err *err) {
	char target[CUA_PATH_SIZE];
	mode_t mode = 0;
	int r = prepare_parents(job, err);
	if (r == 0) {
		r = resolve_target(job, target, &mode, err);
	}
	if (r < 0) {
		return r;
	}
	int opened = open_spool(target, err);
	if (opened < 0) {
		return opened;
	}
	_cleanup_fd_ int spool = opened;
	uint64_t size = 0;
	r = take_stream(job, spool, &size, err);
	return r < 0 ? r : append_to(job, spool, target, mode, err);
}
