/* Stands in for cuad where the test itself is the supervisor's cuad: passes E1 on to the test and
 * lives as long as the test keeps the connection. With --print-config it reads "KEY VALUE" lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cua/msg.h"

static void set_key(cua_Config *config, const char *key, const char *value) {
	cua_Listener *l = &config->listen[config->listen_count];
	if (strcmp(key, "max_sessions") == 0) {
		config->max_sessions = (uint32_t)strtoul(value, NULL, 10);
	} else if (strcmp(key, "reserve") == 0) {
		config->memory_reserve = strtoull(value, NULL, 10);
	} else if (strcmp(key, "listen") == 0) {
		*l = (cua_Listener){0};
		if (sscanf(value, "%45[^:]:%u", l->address, &l->port) == 2) {
			config->listen_count++;
		}
	} else if (strcmp(key, "error") == 0) {
		config->has_error = true;
		config->error = (cua_Error){.code = CUA_INVALID, .has_message = true};
		(void)snprintf(config->error.message, sizeof(config->error.message), "%s", value);
	}
}

static int print_config(void) {
	cua_Config config = {.max_sessions = 20,
		.pool = "10.213.0.0/16",
		.default_template = "tiny",
		.defaults = {.has_cpu_milli = true,
			.cpu_milli = 1000,
			.has_memory = true,
			.memory = 256u << 20,
			.has_pids = true,
			.pids = 256,
			.has_disk = true,
			.disk = 64u << 20}};
	char line[512];
	while (fgets(line, sizeof(line), stdin)) {
		char key[64];
		char value[300];
		if (sscanf(line, "%63s %299[^\n]", key, value) == 2) {
			set_key(&config, key, value);
		}
	}
	return cua_msg_send(3, &(struct cua_out){.type = CUA_MSG_CONFIG, .body = &config}, NULL);
}

static int pass_on(int sock, int fd) {
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte = 'e';
	struct iovec iov = {&byte, 1};
	struct msghdr mh = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space)};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&mh);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	return sendmsg(sock, &mh, 0) == 1 ? 0 : -1;
}

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "--print-config") == 0) {
		return print_config() < 0;
	}
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char self[80];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0) {
		return 1;
	}
	self[n] = '\0';
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%.*s/e1.sock",
		(int)(strrchr(self, '/') - self), self);
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		pass_on(sock, 3) < 0) {
		return 2;
	}
	(void)close(3);
	char byte = 0;
	return read(sock, &byte, 1) == 0 ? 0 : 3;
}
