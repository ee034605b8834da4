/* Datagrams of every edge (E1, E2, E3, E5). */
#include <stdint.h>
#include <string.h>

#include "cua/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static struct cua_msg msg;
	if (size < 1 || size - 1 > sizeof(msg.raw_)) {
		return 0;
	}
	/* the first byte chooses the direction */
	unsigned dirs = 1u << (data[0] % 9);
	memcpy(msg.raw_, data + 1, size - 1);
	for (size_t i = 0; i < CUA_MSG_FDS; i++) {
		msg.fd[i] = -1;
	}
	msg.fd_count = 0;
	struct cua_err err;
	if (cua_msg_parse(&msg, size - 1, dirs, &err) == 1) {
		for (size_t i = 0; i < msg.blob_count; i++) {
			(void)!cua_strings_count(msg.blob[i], CUA_ARGV_COUNT, &err);
		}
		cua_msg_done(&msg);
	}
	return 0;
}
