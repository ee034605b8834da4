/* What cuad gives up; see the header. The supervisor drops rights before it starts us: this checks
 * that it did, and does what only the process itself can. */
#include "server/front/harden.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DESCRIPTORS 16384

static int check_rights(struct cua_err *err) {
	if (getuid() == 0 || geteuid() == 0 || getgid() == 0 || getegid() == 0) {
		return cua_err_set(
			err, CUA_FORBIDDEN, "cuad does not run as root; the supervisor starts it");
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		return cua_err_errno(err, errno, "cannot give up new privileges");
	}
	return 0;
}

static int set_limits(struct cua_err *err) {
	const struct rlimit none = {0};
	struct rlimit files;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0) {
		return cua_err_errno(err, errno, "cannot forbid core dumps");
	}
	if (getrlimit(RLIMIT_NOFILE, &files) < 0) {
		return cua_err_errno(err, errno, "cannot read the limit of descriptors");
	}
	files.rlim_cur = files.rlim_max < DESCRIPTORS ? files.rlim_max : DESCRIPTORS;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0) {
		return cua_err_errno(err, errno, "cannot set the limit of descriptors");
	}
	return 0;
}

int harden(struct cua_err *err) {
	(void)umask(077);
	(void)signal(SIGPIPE, SIG_IGN);
	int r = check_rights(err);
	return r < 0 ? r : set_limits(err);
}
