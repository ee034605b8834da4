/* cuad-desktop: started by cuad-supervisor with E2 as descriptor 3; all else comes by message. */
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "cua/log.h"
#include "desktop/desktop.h"

#define SUPERVISOR_FD 3

#ifdef CUAD_SANITIZE
/* Looking for leaks needs /proc, which the sandbox does not have. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
	return "detect_leaks=0";
}
#endif

static bool is_edge(int fd) {
	int type = 0;
	socklen_t len = sizeof(type);
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

int main(void) {
	cua_log_open("cuad-desktop", CUA_LOG_INFO);
	if (!is_edge(SUPERVISOR_FD)) {
		(void)fprintf(stderr, "cuad-desktop is started by cuad-supervisor, not by hand\n");
		return 2;
	}
	(void)syscall(SYS_close_range, SUPERVISOR_FD + 1, ~0u, 0);
	return desktop_run(SUPERVISOR_FD);
}
