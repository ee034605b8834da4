/* The inner loops over pixels, each for several kinds of processor. They only compute on the memory
 * they are given and read every pixel once. Which kind suits the machine is asked when it runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What mix adds up: pixels 0x??RRGGBB and how much each row counts. */
struct pixels_rows {
	const uint32_t *const *row;
	const float *weight;
	size_t count; /* at least 1 */
};

/* One kind. All kinds give the same bytes. */
struct pixels {
	const char *name;
	/* count pixels 0x??RRGGBB become 3 * count bytes R, G, B. */
	void (*pack)(uint8_t *to, const uint32_t *from, size_t count);
	/* PNG's Paeth filter over len bytes of a row of RGB; the 3 bytes before row and above are
	 * read, too, and count as the pixel to the left. */
	void (*paeth)(uint8_t *to, const uint8_t *row, const uint8_t *above, size_t len);
	/* The weighted sum of rows of count pixels, as four floats each: blue, green, red, and one
	 * without meaning. `add`: on top of what is there. */
	void (*mix)(float *to, const struct pixels_rows *rows, size_t count, bool add);
	/* Rounds such floats (0 … 255) to pixels 0x00RRGGBB. */
	void (*round)(uint32_t *to, const float *from, size_t count);
};

/* The fastest kind for this machine. */
const struct pixels *pixels_best(void);
/* The kinds that this machine can run, from plain C on; NULL behind the last. */
const struct pixels *pixels_kind(size_t i);
