/* Configuration by way of cuad; see the header. */
#include "server/supervisor/configload.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "server/supervisor/spawn.h"

#define DEADLINE_MS 10000

int configload_open(const struct options *options, struct cua_err *err) {
	int fd = open(options->config, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	return fd >= 0 ? fd : cua_err_errno(err, errno, "cannot open %s", options->config);
}

static int receive(int sock, struct cua_msg *scratch, cua_Config *ret, struct cua_err *err) {
	struct pollfd p = {.fd = sock, .events = POLLIN};
	int n = 0;
	do {
		n = poll(&p, 1, DEADLINE_MS);
	} while (n < 0 && errno == EINTR);
	if (n <= 0) {
		return cua_err_set(err, CUA_TIMEOUT, "cuad --print-config does not answer");
	}
	int r = cua_msg_recv(sock, CUA_DIR_CONFIG, scratch, err);
	if (r == -CUA_NOT_FOUND) {
		return cua_err_set(err, CUA_INTERNAL, "cuad --print-config said nothing");
	}
	if (r <= 0) {
		return r < 0 ? r
			     : cua_err_set(err, CUA_INTERNAL, "cuad --print-config said nothing");
	}
	*ret = scratch->body.config;
	cua_msg_done(scratch);
	return ret->has_error ? cua_error_from_wire(&ret->error, err) : 0;
}

int configload(const struct options *options, uid_t uid, gid_t gid, struct cua_msg *scratch,
	cua_Config *ret, struct cua_err *err) {
	_cleanup_fd_ int file = configload_open(options, err);
	int pair[2];
	int r = file < 0 ? file : fd_seqpacket_pair(pair, err);
	if (r < 0) {
		return r;
	}
	_cleanup_fd_ int ours = pair[0];
	int theirs = pair[1];
	char path[300];
	(void)snprintf(path, sizeof(path), "%s/cuad", options->host.libexec_dir);
	char name[] = "cuad";
	char verb[] = "--print-config";
	char *argv[] = {name, verb, NULL};
	const struct spawn spawn = {.path = path,
		.argv = argv,
		.input = file,
		.output = -1,
		.edge = theirs,
		.uid = uid,
		.gid = gid,
		.drop = true,
		.parent_death = SIGKILL};
	_cleanup_fd_ int pidfd = -1;
	pid_t pid = spawn_program(&spawn, &pidfd, err);
	(void)close(theirs);
	if (pid < 0) {
		return (int)pid;
	}
	r = receive(ours, scratch, ret, err);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return r < 0 ? cua_err_prefix(err, "%s", options->config) : 0;
}
