/* Hashes and comparison of secrets, on libcrypto. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_SHA256 32
#define DIGEST_SECRET 32
#define DIGEST_WS_ACCEPT 29

/* SHA-256 of the bytes. */
void digest_sha256(const void *data, size_t len, uint8_t ret[DIGEST_SHA256]);
/* Compares without telling by the time where they differ. */
bool digest_equal(const void *a, const void *b, size_t len);
/* A fresh secret: prefix and 32 random bytes in base64url, 43 characters. size is that of ret. Aborts
 * without randomness. */
void digest_secret_new(const char *prefix, char *ret, size_t size);
/* The answer to a WebSocket key (RFC 6455, section 4.2.2) as text. */
void digest_ws_accept(const char *key, char ret[DIGEST_WS_ACCEPT]);
/* Overwrites a secret. */
void digest_wipe(void *data, size_t len);
