/* Strict reading of numbers; strtoul() and sscanf() take signs, blanks and overflow for fine. */
#include "cua/parse.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

bool parse_digits(const char **at, uint64_t max, uint64_t *ret) {
	const char *p = *at;
	uint64_t value = 0;
	for (; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');
		if (digit > max || value > (max - digit) / 10) {
			return false;
		}
		value = value * 10 + digit;
	}
	if (p == *at) {
		return false;
	}
	*at = p;
	*ret = value;
	return true;
}

bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret) {
	uint64_t value = 0;
	if (!parse_digits(&text, max, &value) || *text != '\0' || value < min) {
		return false;
	}
	*ret = value;
	return true;
}

bool parse_row(const char *text, size_t count, uint64_t *ret) {
	for (size_t i = 0; i < count; i++) {
		text += strspn(text, " \t");
		if (!parse_digits(&text, UINT64_MAX, &ret[i])) {
			return false;
		}
	}
	return true;
}

bool parse_pair(const char *text, uint32_t ret[2]) {
	uint64_t width = 0;
	uint64_t height = 0;
	if (!parse_digits(&text, 99999, &width) || *text != 'x' ||
		!parse_number(text + 1, 0, 99999, &height)) {
		return false;
	}
	ret[0] = (uint32_t)width;
	ret[1] = (uint32_t)height;
	return true;
}

bool parse_network(const char *text, struct ipv4_network *ret) {
	char address[INET_ADDRSTRLEN];
	size_t len = strcspn(text, "/");
	uint64_t bits = 32;
	struct in_addr in;
	if (len >= sizeof(address) || (text[len] && !parse_number(text + len + 1, 0, 32, &bits))) {
		return false;
	}
	(void)snprintf(address, sizeof(address), "%.*s", (int)len, text);
	if (inet_pton(AF_INET, address, &in) != 1) {
		return false;
	}
	*ret = (struct ipv4_network){.address = ntohl(in.s_addr), .bits = (uint32_t)bits};
	return true;
}

uint32_t ipv4_mask(const struct ipv4_network *network) {
	return network->bits == 0 ? 0 : UINT32_MAX << (32 - network->bits);
}
