/* A window that records what it receives, as a program of the session would. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define RECORDER_MAX 4096

enum record_type { RECORD_PRESS, RECORD_RELEASE, RECORD_MOTION, RECORD_KEY_DOWN, RECORD_KEY_UP };

struct record {
	enum record_type type;
	unsigned code; /* button or keycode */
	unsigned state; /* modifiers and buttons before it */
	int x; /* on the screen */
	int y;
	unsigned long time; /* the server's, in ms */
	unsigned long keysym; /* as Xlib looks it up */
};

struct recorder {
	void *display;
	unsigned long window;
	struct record record[RECORDER_MAX];
	size_t count;
};

/* Opens the window, 400x300 at 100,100, and waits until it is on the screen. False on failure. */
bool recorder_open(struct recorder *ret);
void recorder_close(struct recorder *r);
/* Receives all that the server has sent so far, after what is there already. */
void recorder_read(struct recorder *r);
/* Forgets what was recorded, and what is under way. */
void recorder_clear(struct recorder *r);
/* Number of records of a type with this code; code 0 is any. */
size_t recorder_count(const struct recorder *r, enum record_type type, unsigned code);
