/* The only user of libcrypto. */
#include "server/front/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void digest_sha256(const void *data, size_t len, uint8_t ret[DIGEST_SHA256]) {
	(void)SHA256(data, len, ret);
}

bool digest_equal(const void *a, const void *b, size_t len) {
	return CRYPTO_memcmp(a, b, len) == 0;
}

void digest_secret_new(const char *prefix, char *ret, size_t size) {
	uint8_t bytes[DIGEST_SECRET + 1] = {0};
	if (getrandom(bytes, DIGEST_SECRET, 0) != DIGEST_SECRET) {
		abort();
	}
	unsigned char text[48];
	(void)EVP_EncodeBlock(text, bytes, DIGEST_SECRET);
	text[43] = '\0'; /* without the padding */
	for (size_t i = 0; i < 43; i++) {
		text[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
	}
	(void)snprintf(ret, size, "%s%s", prefix, (const char *)text);
	OPENSSL_cleanse(bytes, sizeof(bytes));
	OPENSSL_cleanse(text, sizeof(text));
}

void digest_ws_accept(const char *key, char ret[DIGEST_WS_ACCEPT]) {
	char joined[128];
	unsigned char sha1[SHA_DIGEST_LENGTH];
	int len =
		snprintf(joined, sizeof(joined), "%.64s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
	(void)SHA1((const unsigned char *)joined, (size_t)len, sha1);
	(void)EVP_EncodeBlock((unsigned char *)ret, sha1, sizeof(sha1));
}

void digest_wipe(void *data, size_t len) {
	OPENSSL_cleanse(data, len);
}
