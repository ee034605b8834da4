/* cuad-init: PID 1 of a session's container. It makes a desktop out of a root file system and does
 * what cuad asks over E5. It is static, since no library of the container is to be trusted, and it
 * refuses to be anything but PID 1. */
#include <fcntl.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/log.h"
#include "server/init/boot.h"
#include "server/init/init.h"

/* Nothing but stdio is ours, whatever the caller left open; and a console that nobody reads must
 * not stop PID 1 when it logs. */
static void prepare_descriptors(void) {
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	for (int fd = open("/dev/null", O_RDWR); fd >= 0 && fd <= STDERR_FILENO;
		fd = open("/dev/null", O_RDWR)) {
	}
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	(void)!fd_set_nonblock(STDERR_FILENO, 1);
}

int main(int argc, char **argv) {
	struct cua_err err;
	struct init_options options;
	cua_log_open("cuad-init", CUA_LOG_INFO);
	if (getpid() != 1) {
		cua_log(CUA_LOG_ERROR, "this program is PID 1 of a container and nothing else");
		return 2;
	}
	if (init_parse_options(argc, argv, &options, &err) < 0) {
		cua_log(CUA_LOG_ERROR, "%s", err.message);
		return 2;
	}
	prepare_descriptors();
	if (chdir("/") < 0) {
		return 1;
	}
	boot_prepare();
	if (init_run(&options, &err) < 0) {
		cua_log(CUA_LOG_ERROR, "%s", err.message);
		return 1;
	}
	return 0;
}
