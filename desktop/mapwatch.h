/* How far the program with the keyboard has come: whether it has handled the keys that it was sent, and
 * whether it knows the keyboard map as it is now.
 *
 * Programs look up a key's character when they come to the key's event, in the map that they have read
 * last: a keycode that is given another character too early turns what was typed before into that.
 * Three things tell, all of them shown by the RECORD extension in the order of the server:
 *
 *  - GTK, Qt, Chromium and most others answer _NET_WM_PING when they come to it, behind the keys that
 *    were sent before it. What can be asked that way is asked that way.
 *  - Programs without it (xterm) re-read the map once they get to an event behind a change.
 *  - A browser receives keys on one connection and reads the map on another one: it knows a change once
 *    that other one has re-read the map. Others get the change in the order of their keys. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct x11;
struct mapwatch;

/* Begins to watch. NULL where the server lacks RECORD or does not take another connection: nothing
 * can be learned then. x must outlive it. */
struct mapwatch *mapwatch_new(struct x11 *x);
/* NULL is fine. Returns NULL. */
struct mapwatch *mapwatch_free(struct mapwatch *w);

/* True while another client has the server to itself: who asks for that as well waits for its end. */
bool mapwatch_grabbed(struct mapwatch *w);

/* A new action: give everybody another chance and the full time, and see who has the keyboard. */
void mapwatch_begin(struct mapwatch *w);
/* So many keys were struck since mapwatch_new(); the server has them all. Each key went to a program
 * that had the keyboard at this or at the last call. One round trip, more when the keyboard has gone to
 * another window. */
void mapwatch_struck(struct mapwatch *w, uint64_t strikes);
/* True while a program that answers pings, or one that has lost the keyboard, may not have handled the
 * key of this number; asks them. slack_ms: more for a busy machine, where only time can tell. The
 * program that has the keyboard and answers no pings is not meant: see mapwatch_seen(). */
bool mapwatch_lags(struct mapwatch *w, uint64_t strike, unsigned slack_ms);
/* True if the program with the keyboard answers pings. */
bool mapwatch_pings(const struct mapwatch *w);
/* True when it has not answered one for CUA_KEYBOARD_MS: it hangs or is stopped. */
bool mapwatch_overdue(const struct mapwatch *w);
/* True when the program with the keyboard knows, or will know when it comes to the next key, the last
 * change of the map, whoever made it. */
bool mapwatch_visible(struct mapwatch *w);

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
/* True if that program is known to read the map at all. */
bool mapwatch_reads(struct mapwatch *w);
/* True if the keyboard has gone to another program since. */
bool mapwatch_moved(const struct mapwatch *w);
/* Somebody else changed the map: what follows will not be of the usual length. */
void mapwatch_unlearn(struct mapwatch *w);
/* True if a program gets the keys at all, and it is not the one that mapwatch_give_up() was for. */
bool mapwatch_useful(const struct mapwatch *w);
/* The program of the last mapwatch_changed() does not seem to read the map. */
void mapwatch_give_up(struct mapwatch *w);
