/* Values as people write them: sizes, durations, counts, addresses. Text in, numbers out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* "4G", "512M", "1.5G", "4096": bytes, units of 1024. False if it is none or beyond 2^53. */
bool units_size(const char *text, uint64_t *ret);
/* "8h", "30m", "90s", "1.5d", "3600" (seconds): milliseconds. */
bool units_duration(const char *text, uint64_t *ret_ms);
/* "2", "0.5": thousandths. */
bool units_milli(const char *text, uint32_t *ret);
/* "1280x800". */
bool units_screen(const char *text, uint32_t ret[2]);
/* An IPv4 network in CIDR form without host bits set. */
bool units_network(const char *text);
/* An IPv4 or IPv6 address; *ret_loopback tells whether only this machine can reach it. */
bool units_address(const char *text, bool *ret_loopback);
