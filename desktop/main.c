/* cuad-desktop: started by cuad-supervisor with E2 as descriptor 3; all else comes by message. */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "cua/log.h"
#include "desktop/desktop.h"

#define SUPERVISOR_FD 3
#define LARGE (256 << 10) /* bytes of a block that is mapped */
#define BANDS (4 << 20) /* bytes that stay */

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

/* Pictures are made of few large blocks, which live for a moment. By its own rules the C library keeps
 * what is freed for the next one, in a heap for each thread, and the process grows to several times
 * what it uses. Large blocks are to be mapped, and gone when they are freed. The small ones of a whole
 * picture, a band each, stay for the next picture: taking their pages anew is a tenth of its time. */
static void keep_memory_small(void) {
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
	(void)mallopt(M_TRIM_THRESHOLD, BANDS);
	(void)mallopt(M_TOP_PAD, BANDS / 4);
	(void)mallopt(M_ARENA_MAX, 1);
}

int main(void) {
	cua_log_open("cuad-desktop", CUA_LOG_INFO);
	if (!is_edge(SUPERVISOR_FD)) {
		(void)fprintf(stderr, "cuad-desktop is started by cuad-supervisor, not by hand\n");
		return 2;
	}
	(void)syscall(SYS_close_range, SUPERVISOR_FD + 1, ~0u, 0);
	keep_memory_small();
	return desktop_run(SUPERVISOR_FD);
}
