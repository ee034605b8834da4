/* Values as people write them; see the header. */
#include "server/front/units.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cua/limits.h"
#include "cua/parse.h"

#define EXACT_MAX 9007199254740992.0 /* 2^53 */

struct unit {
	const char *name;
	double factor;
};

/* Digits with an optional fraction, nothing that strtod() takes besides. */
static const char *number_end(const char *text) {
	size_t digits = strspn(text, "0123456789");
	if (digits == 0) {
		return NULL;
	}
	text += digits;
	if (*text == '.') {
		size_t more = strspn(text + 1, "0123456789");
		return more > 0 ? text + 1 + more : NULL;
	}
	return text;
}

static bool with_unit(const char *text, const struct unit *units, double *ret) {
	const char *end = number_end(text);
	if (!end || end - text > 20) {
		return false;
	}
	for (; units->name; units++) {
		if (strcasecmp(end, units->name) == 0) {
			*ret = strtod(text, NULL) * units->factor;
			return *ret <= EXACT_MAX;
		}
	}
	return false;
}

bool units_size(const char *text, uint64_t *ret) {
	static const struct unit units[] = {{"", 1}, {"b", 1}, {"k", 0x1p10}, {"m", 0x1p20},
		{"g", 0x1p30}, {"t", 0x1p40}, {"kib", 0x1p10}, {"mib", 0x1p20}, {"gib", 0x1p30},
		{"tib", 0x1p40}, {0}};
	double value = 0;
	if (!with_unit(text, units, &value)) {
		return false;
	}
	*ret = (uint64_t)value;
	return true;
}

bool units_duration(const char *text, uint64_t *ret_ms) {
	static const struct unit units[] = {
		{"", 1000}, {"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}, {"d", 86400e3}, {0}};
	double value = 0;
	if (!with_unit(text, units, &value)) {
		return false;
	}
	*ret_ms = (uint64_t)value;
	return true;
}

bool units_milli(const char *text, uint32_t *ret) {
	static const struct unit units[] = {{"", 1000}, {0}};
	double value = 0;
	if (!with_unit(text, units, &value) || value > UINT32_MAX) {
		return false;
	}
	*ret = (uint32_t)lround(value);
	return true;
}

bool units_screen(const char *text, uint32_t ret[2]) {
	uint32_t size[2];
	if (!parse_pair(text, size) || size[0] < CUA_SCREEN_MIN_W || size[0] > CUA_SCREEN_MAX_W ||
		size[1] < CUA_SCREEN_MIN_H || size[1] > CUA_SCREEN_MAX_H) {
		return false;
	}
	memcpy(ret, size, sizeof(size));
	return true;
}

bool units_network(const char *text) {
	struct ipv4_network network;
	return strchr(text, '/') && parse_network(text, &network) &&
	       (network.address & ~ipv4_mask(&network)) == 0;
}

bool units_address(const char *text, bool *ret_loopback) {
	struct in_addr v4;
	struct in6_addr v6;
	if (inet_pton(AF_INET, text, &v4) == 1) {
		*ret_loopback = ntohl(v4.s_addr) >> 24 == 127;
		return true;
	}
	if (inet_pton(AF_INET6, text, &v6) == 1) {
		*ret_loopback = IN6_IS_ADDR_LOOPBACK(&v6);
		return true;
	}
	return false;
}
