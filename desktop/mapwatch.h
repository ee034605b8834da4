/* Learns when a program has re-read the keyboard map after it was changed.
 *
 * Programs look up a key's character when they come to the key's event, in the map of that moment:
 * a keycode that is given another character too early turns what was typed before into that. Every
 * program re-reads the map once it gets to an event behind a change, so that this request of its,
 * which the RECORD extension shows, tells that it is done with all keys from before the change. */
#pragma once

#include <stdbool.h>

struct x11;
struct mapwatch;

/* Begins to watch. NULL where the server lacks RECORD or does not take another connection: nothing
 * can be learned then. x must outlive it. */
struct mapwatch *mapwatch_new(struct x11 *x);
/* NULL is fine. Returns NULL. */
struct mapwatch *mapwatch_free(struct mapwatch *w);

/* To be called after each request of ours that changes the map: the program that has the keyboard
 * now is expected to re-read it. One round trip or a few. */
void mapwatch_changed(struct mapwatch *w);
/* True once that program has re-read the map since the last mapwatch_changed(). Waits for nothing.
 *
 * One change makes some programs send a whole series of requests, always of the same length, which
 * the first change for a program teaches: that takes a while without any, and slack_ms more for a
 * busy machine. From then on the length tells at once, and requests that are late by one change do
 * not deceive. */
bool mapwatch_seen(struct mapwatch *w, unsigned slack_ms);
/* True if it has begun to. */
bool mapwatch_reading(const struct mapwatch *w);
/* Somebody else changed the map: what follows will not be of the usual length. */
void mapwatch_unlearn(struct mapwatch *w);
/* True if a program gets the keys at all, and it is not the one that mapwatch_give_up() was for. */
bool mapwatch_useful(const struct mapwatch *w);
/* The program of the last mapwatch_changed() does not seem to read the map. */
void mapwatch_give_up(struct mapwatch *w);
/* A new action: give everybody another chance. */
void mapwatch_forgive(struct mapwatch *w);
