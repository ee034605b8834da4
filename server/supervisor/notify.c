/* One datagram to the service manager; see the header. */
#include "server/supervisor/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cua/cleanup.h"

void notify_ready(void) {
	static const char text[] = "READY=1";
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = path ? strlen(path) : 0;
	if (len < 2 || len >= sizeof(address.sun_path)) {
		return;
	}
	memcpy(address.sun_path, path, len);
	if (path[0] == '@') {
		address.sun_path[0] = '\0'; /* the manager's way to write an abstract name */
	}
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		(void)sendto(fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT,
			(const struct sockaddr *)&address,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	}
}
