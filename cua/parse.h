/* Numbers and networks in text, read strictly: no signs, no blanks but where told, no overflow. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads decimal digits and moves *at behind them. False, with *at where it was, if there is none or
 * the number is beyond max. */
bool parse_digits(const char **at, uint64_t max, uint64_t *ret);
/* The whole text is a decimal number from min to max. */
bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret);
/* The first count numbers of a row, with blanks before and between them; the rest is not looked at.
 * False if there are fewer. */
bool parse_row(const char *text, size_t count, uint64_t *ret);
/* "WxH", each a number of at most five digits. */
bool parse_pair(const char *text, uint32_t ret[2]);

/* An IPv4 network, in host order. */
struct ipv4_network {
	uint32_t address;
	uint32_t bits;
};
/* "A.B.C.D/N", or "A.B.C.D" for "A.B.C.D/32"; host bits may be set. */
bool parse_network(const char *text, struct ipv4_network *ret);
/* The bits of an address that are the network's. */
uint32_t ipv4_mask(const struct ipv4_network *network);
