/* Head and tail of a command's output; see the header. The first half of the buffer is written once,
 * the second half is a ring as soon as the buffer is full. */
#include "server/front/exec_output.h"

#include <string.h>

#define FIRST_ROOM 4096

void exec_output_init(struct exec_output *output, size_t max) {
	*output = (struct exec_output){.max = max};
}

void exec_output_done(struct exec_output *output) {
	free(output->bytes);
	output->bytes = NULL;
	output->room = 0;
}

bool exec_output_cut(const struct exec_output *output) {
	return output->total > output->max;
}

static size_t head_size(const struct exec_output *output) {
	return output->max / 2;
}

static int grow(struct exec_output *output, uint64_t needed, struct cua_err *err) {
	size_t room = output->room ? output->room : FIRST_ROOM;
	while (room < needed && room < output->max) {
		room *= 2;
	}
	room = room < output->max ? room : output->max;
	if (room <= output->room) {
		return 0;
	}
	char *bytes = realloc(output->bytes, room);
	if (!bytes) {
		exec_output_done(output);
		output->max = 0; /* from here on bytes are only counted */
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for %zu bytes of output", room);
	}
	output->bytes = bytes;
	output->room = room;
	return 0;
}

/* Where the byte of this number goes, once the buffer is or was full. */
static size_t ring_place(const struct exec_output *output, uint64_t number) {
	size_t head = head_size(output);
	size_t ring = output->max - head;
	return head + (size_t)((number - head) % ring);
}

/* Copies into the ring; only the last bytes of a long piece matter. */
static void ring_add(struct exec_output *output, const char *data, size_t len) {
	size_t ring = output->max - head_size(output);
	if (len > ring) {
		output->total += len - ring;
		data += len - ring;
		len = ring;
	}
	while (len > 0) {
		size_t at = ring_place(output, output->total);
		size_t part = output->max - at < len ? output->max - at : len;
		memcpy(output->bytes + at, data, part);
		output->total += part;
		data += part;
		len -= part;
	}
}

int exec_output_add(struct exec_output *output, struct cua_span bytes, struct cua_err *err) {
	int r = output->max > 0 ? grow(output, output->total + bytes.len, err) : 0;
	if (r < 0 || output->max == 0) {
		output->total += bytes.len;
		return r;
	}
	const char *data = bytes.data;
	size_t len = bytes.len;
	if (output->total < output->max) {
		size_t space = output->max - (size_t)output->total;
		size_t part = len < space ? len : space;
		memcpy(output->bytes + output->total, data, part);
		output->total += part;
		data += part;
		len -= part;
	}
	ring_add(output, data, len);
	return 0;
}

static void reverse(char *bytes, size_t len) {
	for (size_t i = 0; i < len / 2; i++) {
		char c = bytes[i];
		bytes[i] = bytes[len - 1 - i];
		bytes[len - 1 - i] = c;
	}
}

/* Turns the ring in its place, so that its oldest byte comes first. */
static void straighten(struct exec_output *output) {
	size_t head = head_size(output);
	size_t ring = output->max - head;
	size_t oldest = ring_place(output, output->total) - head;
	char *start = output->bytes + head;
	reverse(start, oldest);
	reverse(start + oldest, ring - oldest);
	reverse(start, ring);
}

static bool is_continuation(char c) {
	return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t sequence_length(char first) {
	unsigned char c = (unsigned char)first;
	return c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
}

/* Length of the head without a character that was cut at its end. */
static size_t whole_head(const char *bytes, size_t len) {
	size_t back = 0;
	while (back < 3 && back < len && is_continuation(bytes[len - 1 - back])) {
		back++;
	}
	if (back < len && sequence_length(bytes[len - 1 - back]) > back + 1) {
		return len - 1 - back;
	}
	return len;
}

struct cua_span exec_output_take(struct exec_output *output, size_t *ret_head) {
	*ret_head = 0;
	if (output->max == 0 || !exec_output_cut(output)) {
		size_t len = output->max == 0 || !output->bytes ? 0 : (size_t)output->total;
		return (struct cua_span){.data = output->bytes, .len = len};
	}
	straighten(output);
	size_t head = head_size(output);
	size_t skip = 0;
	while (skip < 3 && head + skip < output->max &&
		is_continuation(output->bytes[head + skip])) {
		skip++;
	}
	size_t kept = whole_head(output->bytes, head);
	size_t tail = output->max - head - skip;
	memmove(output->bytes + kept, output->bytes + head + skip, tail);
	*ret_head = kept;
	return (struct cua_span){.data = output->bytes, .len = kept + tail};
}
