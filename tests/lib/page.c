/* The made-up screen; see the header. Photographs are octaves of smooth noise with the grain of a
 * sensor, letters are strokes with soft edges from a small alphabet. */
#include "tests/lib/page.h"

#include <string.h>

#define LETTER_W 8
#define LETTER_H 16
#define LETTERS 64

struct ink {
	uint32_t fore;
	uint32_t back;
};

static uint32_t hash(uint32_t a, uint32_t b, uint32_t c) {
	uint32_t h = a * 0x9e3779b1u ^ b * 0x85ebca6bu ^ c * 0xc2b2ae35u;
	h ^= h >> 15;
	h *= 0x2c1b3c6du;
	h ^= h >> 12;
	h *= 0x297a2d39u;
	return h ^ h >> 15;
}

static uint32_t mix(uint32_t a, uint32_t b, uint32_t part) {
	uint32_t pixel = 0;
	for (int shift = 0; shift < 24; shift += 8) {
		uint32_t low = a >> shift & 255;
		uint32_t high = b >> shift & 255;
		pixel |= (low * (255 - part) + high * part) / 255 << shift;
	}
	return pixel;
}

/* Smooth noise, 0 … 255, whose features are 1 << shift pixels large. */
static int smooth(int x, int y, int shift, uint32_t seed) {
	int size = 1 << shift;
	int fx = x & (size - 1);
	int fy = y & (size - 1);
	uint32_t cx = (uint32_t)(x >> shift);
	uint32_t cy = (uint32_t)(y >> shift);
	int corner[4];
	for (uint32_t i = 0; i < 4; i++) {
		corner[i] = (int)(hash(cx + (i & 1), cy + (i >> 1), seed) & 255);
	}
	int top = corner[0] * (size - fx) + corner[1] * fx;
	int bottom = corner[2] * (size - fx) + corner[3] * fx;
	return (top * (size - fy) + bottom * fy) >> (2 * shift);
}

static uint32_t photograph(int x, int y, uint32_t seed) {
	uint32_t pixel = 0;
	int light = smooth(x, y, 7, seed) / 2 + smooth(x, y, 5, seed + 1) / 4 +
		    smooth(x, y, 3, seed + 2) / 8 + smooth(x, y, 1, seed + 3) / 32;
	for (uint32_t c = 0; c < 3; c++) {
		int grain = (int)(hash((uint32_t)x, (uint32_t)y, seed + 7 + c) & 7) - 4;
		int value = light + smooth(x, y, 6, seed + 11 + c) / 4 + grain;
		value = value < 0 ? 0 : value;
		pixel |= (uint32_t)(value > 255 ? 255 : value) << (8 * c);
	}
	return pixel;
}

static void put(struct frame *frame, int x, int y, uint32_t pixel) {
	if (x >= 0 && y >= 0 && x < frame->width && y < frame->height) {
		frame->pixels[(size_t)y * (size_t)frame->width + (size_t)x] = pixel;
	}
}

static void fill(struct frame *frame, struct rect r, uint32_t pixel) {
	for (int y = r.y; y < r.y + r.height; y++) {
		for (int x = r.x; x < r.x + r.width; x++) {
			put(frame, x, y, pixel);
		}
	}
}

static void draw_photograph(struct frame *frame, struct rect r, uint32_t seed) {
	for (int y = r.y; y < r.y + r.height; y++) {
		for (int x = r.x; x < r.x + r.width; x++) {
			put(frame, x, y, photograph(x - r.x, y - r.y, seed));
		}
	}
}

static void draw_gradient(struct frame *frame, struct rect r, struct ink ink) {
	for (int y = r.y; y < r.y + r.height; y++) {
		uint32_t part = (uint32_t)(255 * (y - r.y) / r.height);
		fill(frame, (struct rect){r.x, y, r.width, 1}, mix(ink.back, ink.fore, part));
	}
}

/* How much of a letter's pixel its strokes cover, 0 … 255. */
static uint32_t coverage(unsigned letter, int x, int y) {
	uint32_t h = hash(letter % LETTERS, 77, 5);
	uint32_t most = 0;
	for (int i = 0; i < 3; i++, h >>= 9) {
		int at = 1 + (int)(h & 3) + (h & 4 ? 0 : 1);
		int across = h & 8 ? x : (y - 3) / 2;
		int along = h & 8 ? y - 3 : x - 1;
		int length = h & 8 ? 10 : 6;
		int from = across - at;
		if (along < 0 || along >= length || from < 0 || from > 1) {
			continue;
		}
		uint32_t soft = from == 0 ? 255 : 40 + 30 * (h >> 4 & 3);
		most = soft > most ? soft : most;
	}
	return most;
}

static void letter_at(struct frame *frame, int x, int y, unsigned letter, struct ink ink) {
	for (int dy = 0; dy < LETTER_H; dy++) {
		for (int dx = 0; dx < LETTER_W; dx++) {
			put(frame, x + dx, y + dy,
				mix(ink.back, ink.fore, coverage(letter, dx, dy)));
		}
	}
}

void page_letter(struct frame *frame, int x, int y, unsigned letter) {
	letter_at(frame, x, y, letter, (struct ink){.fore = 0x202020, .back = 0xffffff});
}

static void draw_text(struct frame *frame, struct rect r, uint32_t seed, struct ink ink) {
	fill(frame, r, ink.back);
	for (int y = r.y + 4; y + LETTER_H <= r.y + r.height; y += LETTER_H + 2) {
		int end = r.x + r.width - LETTER_W;
		end -= (int)(hash((uint32_t)y, 1, seed) %
			     (uint32_t)(1 + (r.width > 0 ? r.width : 0) / 3));
		for (int x = r.x + 8; x < end; x += LETTER_W) {
			uint32_t letter = hash((uint32_t)x, (uint32_t)y, seed);
			if (letter % 6 != 0) {
				letter_at(frame, x, y, letter >> 8, ink);
			}
		}
	}
}

void page_draw(struct frame *frame, unsigned seed) {
	static const struct ink inks[] = {
		{0x202020, 0xffffff}, {0xd0d0d0, 0x101418}, {0x1a4fa0, 0xf4f6f8}};
	int w = frame->width;
	int h = frame->height;
	fill(frame, (struct rect){0, 0, w, h}, 0xf4f6f8);
	draw_gradient(frame, (struct rect){0, 0, w, h / 16},
		(struct ink){.fore = 0x2050a0, .back = 0x4080e0});
	int top = h / 16 + 8;
	int column = w / 4;
	for (int i = 0; i < 4; i++) {
		uint32_t s = hash(seed, (uint32_t)i, 3);
		struct rect picture = {i * column + 8, top, column - 16, h / 3};
		struct rect text = {i * column + 8, top + h / 3 + 8, column - 16, h};
		if (i == 3) {
			draw_text(
				frame, (struct rect){picture.x, top, picture.width, h}, s, inks[1]);
			continue;
		}
		draw_photograph(frame, picture, s);
		draw_text(frame, text, s, inks[i == 1 ? 2 : 0]);
	}
}
