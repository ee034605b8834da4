/* The inner loops; see the header. One text serves every kind: the compiler makes vector code of it
 * for the processor that the function around it names. On aarch64 the plain kind is NEON already.
 * The build forbids to contract a * b + c for this file, so that all kinds round alike. */
#include "desktop/pixels.h"

#define COLOUR 0x00ffffffu
#define BODY static inline __attribute__((always_inline))

/* ---------------------------------------------------------------- in plain C */

/* A pixel's bytes in memory are blue, green, red on every machine that is supported. */
BODY void pack_body(uint8_t *restrict to, const uint32_t *restrict from, size_t count) {
	const uint8_t *bytes = (const uint8_t *)from;
	for (size_t i = 0; i < count; i++) {
		to[3 * i] = bytes[4 * i + 2];
		to[3 * i + 1] = bytes[4 * i + 1];
		to[3 * i + 2] = bytes[4 * i];
	}
}

BODY uint8_t distance(uint8_t a, uint8_t b) {
	return (uint8_t)(a > b ? a - b : b - a);
}

/* The distances of a + b - c from a, b and c fit into bytes when the third is cut off at 255: where
 * the first two point the same way it is their sum, and never the smallest. */
BODY uint8_t predict(uint8_t a, uint8_t b, uint8_t c) {
	uint8_t pa = distance(b, c);
	uint8_t pb = distance(a, c);
	uint8_t sum = (uint8_t)(pa + pb);
	sum = (uint8_t)(sum < pa ? 255 : sum);
	uint8_t apart = distance(pa, pb);
	uint8_t low = b < c ? 1 : 0;
	uint8_t left = a < c ? 1 : 0;
	uint8_t pc = low == left ? sum : apart;
	uint8_t other = pb <= pc ? b : c;
	uint8_t least = pb < pc ? pb : pc;
	return pa <= least ? a : other;
}

BODY void paeth_body(uint8_t *restrict to, const uint8_t *restrict row,
	const uint8_t *restrict above, size_t len) {
	for (size_t i = 0; i < len; i++) {
		const uint8_t *at = row + i;
		const uint8_t *up = above + i;
		to[i] = (uint8_t)(*at - predict(at[-3], *up, up[-3]));
	}
}

/* Rows are summed by threes, so that most sums never leave the registers. */
BODY void mix_body(float *restrict to, const struct pixels_rows *rows, size_t count, bool add) {
	for (size_t k = 0; k < rows->count; k += 3) {
		size_t left = rows->count - k;
		const uint8_t *restrict a = (const uint8_t *)rows->row[k];
		const uint8_t *restrict b = (const uint8_t *)rows->row[left > 1 ? k + 1 : k];
		const uint8_t *restrict c = (const uint8_t *)rows->row[left > 2 ? k + 2 : k];
		float wa = rows->weight[k];
		float wb = left > 1 ? rows->weight[k + 1] : 0;
		float wc = left > 2 ? rows->weight[k + 2] : 0;
		if (k > 0 || add) {
			for (size_t i = 0; i < 4 * count; i++) {
				to[i] += wa * (float)a[i] + wb * (float)b[i] + wc * (float)c[i];
			}
		} else if (left > 2) {
			for (size_t i = 0; i < 4 * count; i++) {
				to[i] = wa * (float)a[i] + wb * (float)b[i] + wc * (float)c[i];
			}
		} else {
			for (size_t i = 0; i < 4 * count; i++) {
				to[i] = wa * (float)a[i] + wb * (float)b[i];
			}
		}
	}
}

BODY void round_body(uint32_t *restrict to, const float *restrict from, size_t count) {
	uint8_t *bytes = (uint8_t *)to;
	for (size_t i = 0; i < 4 * count; i++) {
		bytes[i] = (uint8_t)(int)(from[i] + 0.5f);
	}
	for (size_t i = 0; i < count; i++) {
		to[i] &= COLOUR;
	}
}

/* ---------------------------------------------------------------- kinds */

#define KIND(kind, attributes)                                                                     \
	attributes static void pack_##kind(uint8_t *to, const uint32_t *from, size_t count) {      \
		pack_body(to, from, count);                                                        \
	}                                                                                          \
	attributes static void paeth_##kind(                                                       \
		uint8_t *to, const uint8_t *row, const uint8_t *above, size_t len) {               \
		paeth_body(to, row, above, len);                                                   \
	}                                                                                          \
	attributes static void mix_##kind(                                                         \
		float *to, const struct pixels_rows *rows, size_t count, bool add) {               \
		mix_body(to, rows, count, add);                                                    \
	}                                                                                          \
	attributes static void round_##kind(uint32_t *to, const float *from, size_t count) {       \
		round_body(to, from, count);                                                       \
	}                                                                                          \
	static const struct pixels kind = {                                                        \
		#kind, pack_##kind, paeth_##kind, mix_##kind, round_##kind};

KIND(plain, )
#if defined(__x86_64__)
KIND(ssse3, __attribute__((target("ssse3"))))
KIND(avx2, __attribute__((target("avx2"))))
#endif

const struct pixels *pixels_kind(size_t i) {
	const struct pixels *kinds[4] = {&plain};
#if defined(__x86_64__)
	size_t count = 1;
	if (__builtin_cpu_supports("ssse3")) {
		kinds[count++] = &ssse3;
	}
	if (__builtin_cpu_supports("avx2")) {
		kinds[count++] = &avx2;
	}
#endif
	return i < sizeof(kinds) / sizeof(*kinds) ? kinds[i] : NULL;
}

const struct pixels *pixels_best(void) {
	const struct pixels *best = pixels_kind(0);
	for (size_t i = 1; pixels_kind(i); i++) {
		best = pixels_kind(i);
	}
	return best;
}
