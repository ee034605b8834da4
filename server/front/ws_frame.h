/* RFC 6455 frames as bytes: what clients send, what a server sends, the handshake's key. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ws_opcode {
	WS_CONTINUATION = 0,
	WS_TEXT = 1,
	WS_BINARY = 2,
	WS_CLOSE = 8,
	WS_PING = 9,
	WS_PONG = 10,
};

/* Close codes that we send. */
enum ws_code {
	WS_CODE_NORMAL = 1000,
	WS_CODE_GOING = 1001,
	WS_CODE_PROTOCOL = 1002,
	WS_CODE_NONE = 1005, /* never on the wire: the close frame had no code */
	WS_CODE_NOT_UTF8 = 1007,
	WS_CODE_POLICY = 1008,
	WS_CODE_TOO_BIG = 1009,
	WS_CODE_SLOW = 1013,
};

#define WS_HEAD_MAX 14
#define WS_CONTROL_MAX 125

struct ws_head {
	bool fin;
	enum ws_opcode opcode;
	uint64_t len;
	uint8_t mask[4];
	size_t size; /* of the head itself */
};

/* The head of a client's frame. 1: *ret is filled. 0: more bytes are needed. Negative: minus the
 * close code for what is wrong (not masked, reserved bits, unknown opcode, …). */
int ws_head_parse(const uint8_t *data, size_t len, struct ws_head *ret);
/* Unmasks in place; offset: where in the payload these bytes are. */
void ws_unmask(uint8_t *data, size_t len, const uint8_t mask[4], uint64_t offset);
/* Writes the head of an unmasked, final frame; its size. */
size_t ws_head_make(uint8_t ret[WS_HEAD_MAX], enum ws_opcode opcode, uint64_t len);
/* The code of a close frame's payload: WS_CODE_NONE for an empty one, negative (minus the code to
 * answer with) when it is malformed. */
int ws_close_parse(const uint8_t *payload, size_t len);
