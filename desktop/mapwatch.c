/* A second connection on which the server's RECORD extension reports all clients' requests for the
 * keyboard map, changes of it, answers to pings, and who has the server to itself: the stream has them
 * in the order of the server. */
#include "desktop/mapwatch.h"

#include <sys/socket.h>
#include <X11/Xlibint.h>
#include <X11/extensions/record.h>
#include <X11/extensions/XKBproto.h>

/* Xlib's inside defines these as macros. */
#undef min
#undef max

#include "desktop/input_priv.h"
#include "desktop/reader.h"

/* Time without a request, after which no more are expected: the first time, and when there were
 * fewer than usual. It outlasts any pause that a busy machine makes a program take. */
#define LEARN_MS 300
#define DOUBT_MS 1500
#define TARGETS_MAX 4
#define LEFT_MS 400 /* for a program that cannot be asked to handle its last keys */
#define SISTER_MS                                                                                  \
	200 /* for another connection of a program to read the map, if it does that at all */
#define SEEN_MAX 64

/* Xlib itself reads the map by XKB as soon as it has received the notice, which may be before the
 * program has come to keys that it received earlier; a program that asks by the core protocol does so
 * when it comes to the notice. So the latter kind is worth more. */
struct reads {
	unsigned core;
	unsigned xkb;
};

/* A client that has read the map. */
struct seen {
	XID client;
	unsigned version;
};

struct ping {
	uint32_t token; /* 0: none is under way */
	uint64_t sent_ms;
	uint64_t answered_ms; /* 0: not yet */
};

/* A program that was sent keys which it may not have handled yet. */
struct target {
	unsigned long client;
	unsigned long window; /* that answers pings; 0: none */
	uint64_t struck; /* the last key that may have gone to it */
	uint64_t asked; /* keys before the ping that is under way */
	uint64_t seen; /* keys that it has handled */
	uint64_t left_ms; /* when it lost the keyboard; 0: it has it */
	struct ping ping;
};

struct mapwatch {
	struct x11 *x;
	Display *data;
	XRecordContext context;
	bool lost;
	XID client_mask; /* the part of an id that tells the client */
	XID own;
	XID grabber; /* other client that has the server to itself; 0: none */
	struct reader reader; /* has the keyboard */
	struct target target[TARGETS_MAX]; /* the last one has the keyboard */
	size_t target_count;
	uint64_t strikes; /* at the last mapwatch_struck() */
	uint32_t token; /* the last one given */
	unsigned version; /* changes of the map by anybody */
	uint64_t changed_ms; /* the last one */
	struct ping notice; /* sent since then */
	struct seen seen[SEEN_MAX]; /* what clients have read, the oldest overwritten */
	size_t seen_next;
	XID silent; /* client whose sisters do not read the map */
	XID changed_for; /* client that had the keyboard when we changed the map */
	XID given_up; /* client that does not read the map */
	unsigned changes; /* of the map by us */
	unsigned changes_seen; /* that the stream has told */
	struct reads reads; /* requests of that client since then */
	uint64_t read_ms; /* time of the last one */
	struct reads expected; /* that one change makes it send; none: not known yet */
	bool confirmed; /* by a second change: the first one after another layout makes it send more */
};

static void on_io_exit(Display *display, void *ctx) {
	(void)display;
	((struct mapwatch *)ctx)->lost = true;
}

static unsigned larger(unsigned a, unsigned b) {
	return a > b ? a : b;
}

static bool is_known(const struct reads *r) {
	return r->core + r->xkb > 0;
}

static void map_has_changed(struct mapwatch *w) {
	w->changed_ms = input_now();
	w->version++;
	w->notice = (struct ping){0};
}

/* Requests that were late are waited for the next time. */
static void on_change(struct mapwatch *w) {
	if (is_known(&w->expected)) {
		w->expected.core = larger(w->expected.core, w->reads.core);
		w->expected.xkb = larger(w->expected.xkb, w->reads.xkb);
	}
	w->reads = (struct reads){0};
	w->changes_seen++;
	map_has_changed(w);
}

static struct seen *find_seen(struct mapwatch *w, XID client) {
	for (size_t i = 0; i < SEEN_MAX; i++) {
		if (w->seen[i].client == client) {
			return &w->seen[i];
		}
	}
	return NULL;
}

static void note_seen(struct mapwatch *w, XID client) {
	struct seen *seen = find_seen(w, client);
	if (!seen) {
		seen = &w->seen[w->seen_next++ % SEEN_MAX];
	}
	*seen = (struct seen){client, w->version};
}

static void on_read(struct mapwatch *w, XID client, bool core) {
	note_seen(w, client);
	if (client == w->changed_for && client != w->own) {
		w->reads.core += core;
		w->reads.xkb += !core;
		w->read_ms = input_now();
	}
}

static bool answers(const struct ping *ping, uint32_t token) {
	return ping->token != 0 && ping->token == token && !ping->answered_ms;
}

/* An answer is an event that is sent to the root window. */
static void on_sent(struct mapwatch *w, XID client, const XRecordInterceptData *data) {
	xSendEventReq request;
	if (data->data_len * 4 < sizeof(request) || data->client_swapped) {
		return;
	}
	memcpy(&request, data->data, sizeof(request));
	const xEvent *e = &request.event;
	if ((e->u.u.type & 0x7f) != ClientMessage ||
		e->u.clientMessage.u.l.type != w->x->atom.WM_PROTOCOLS ||
		(CARD32)e->u.clientMessage.u.l.longs0 != w->x->atom._NET_WM_PING) {
		return;
	}
	uint32_t token = (CARD32)e->u.clientMessage.u.l.longs1;
	for (size_t i = 0; i < w->target_count; i++) {
		struct target *t = &w->target[i];
		if (client == t->client && answers(&t->ping, token)) {
			t->seen = t->asked;
			t->ping = (struct ping){0};
		}
	}
	if (client == w->reader.client && answers(&w->notice, token)) {
		w->notice.answered_ms = input_now();
	}
}

static void on_xkb(struct mapwatch *w, XID client, unsigned minor) {
	if (minor == X_kbGetMap) {
		on_read(w, client, false);
	} else if (minor == X_kbSetMap && client == w->own) {
		on_change(w);
	} else if (minor == X_kbSetMap || minor == X_kbGetKbdByName) {
		map_has_changed(w);
	}
}

/* The request of a client that has to wait for it is told again when it is its turn. */
static void on_grab(struct mapwatch *w, XID client) {
	if (!w->grabber && client != w->own) {
		w->grabber = client;
	}
}

static void on_ungrab(struct mapwatch *w, XID client) {
	if (client == w->grabber) {
		w->grabber = 0;
	}
}

static void on_request(struct mapwatch *w, XID client, const XRecordInterceptData *data) {
	if (data->data[0] == w->x->xkb_opcode) {
		on_xkb(w, client, data->data[1]);
	} else if (data->data[0] == X_GetKeyboardMapping) {
		on_read(w, client, true);
	} else if (data->data[0] == X_ChangeKeyboardMapping) {
		map_has_changed(w);
	} else if (data->data[0] == X_SendEvent) {
		on_sent(w, client, data);
	} else if (data->data[0] == X_GrabServer) {
		on_grab(w, client);
	} else if (data->data[0] == X_UngrabServer) {
		on_ungrab(w, client);
	}
}

static void on_record(XPointer closure, XRecordInterceptData *data) {
	struct mapwatch *w = (struct mapwatch *)(void *)closure;
	XID client = data->id_base & w->client_mask;
	if (data->category == XRecordFromClient && data->data && data->data_len > 0) {
		on_request(w, client, data);
	} else if (data->category == XRecordClientDied) {
		on_ungrab(w, client);
	}
	XRecordFreeData(data);
}

static XRecordRange *new_range(
	const struct mapwatch *w, CARD8 first_core, CARD8 last_core, CARD16 minor) {
	XRecordRange *range = XRecordAllocRange();
	if (range) {
		range->core_requests.first = first_core;
		range->core_requests.last = last_core;
		range->ext_requests.ext_major.first = (CARD8)w->x->xkb_opcode;
		range->ext_requests.ext_major.last = (CARD8)w->x->xkb_opcode;
		range->ext_requests.ext_minor.first = minor;
		range->ext_requests.ext_minor.last = minor;
		range->client_died = True;
	}
	return range;
}

static bool start_record(struct mapwatch *w) {
	int major = 0;
	int minor = 0;
	if (!XRecordQueryVersion(w->x->display, &major, &minor)) {
		return false;
	}
	XRecordRange *range[] = {
		new_range(w, X_ChangeKeyboardMapping, X_GetKeyboardMapping, X_kbGetMap),
		new_range(w, X_SendEvent, X_SendEvent, X_kbSetMap),
		new_range(w, X_GrabServer, X_UngrabServer, X_kbGetKbdByName),
	};
	XRecordClientSpec everybody = XRecordAllClients;
	if (range[0] && range[1] && range[2]) {
		w->context = XRecordCreateContext(
			w->x->display, 0, &everybody, 1, range, CUA_COUNT(range));
	}
	for (size_t i = 0; i < CUA_COUNT(range); i++) {
		free(range[i]);
	}
	return w->context && x11_sync(w->x, NULL) == 0 &&
	       XRecordEnableContextAsync(w->data, w->context, on_record, (XPointer)w);
}

CUA_DEFINE_CLEANUP(struct mapwatch *, mapwatch_free)

struct mapwatch *mapwatch_new(struct x11 *x) {
	_cleanup_(mapwatch_free_p) struct mapwatch *w = calloc(1, sizeof(*w));
	if (!w || x->lost) {
		return NULL;
	}
	w->x = x;
	w->client_mask = reader_mask(x);
	w->own = xcb_get_setup(x->xcb)->resource_id_base & w->client_mask;
	w->data = XOpenDisplay(DisplayString(x->display));
	if (!w->data) {
		return NULL;
	}
	XSetIOErrorExitHandler(w->data, on_io_exit, w);
	return start_record(w) ? take_ptr(w) : NULL;
}

struct mapwatch *mapwatch_free(struct mapwatch *w) {
	if (w && w->context && !w->x->lost) {
		(void)XRecordDisableContext(w->x->display, w->context);
		(void)XRecordFreeContext(w->x->display, w->context);
		x11_flush(w->x);
	}
	if (w && w->data) {
		if (w->x->lost) {
			/* Closing asks the server once more: one that hangs would not answer. */
			(void)shutdown(ConnectionNumber(w->data), SHUT_RDWR);
		}
		(void)XCloseDisplay(w->data);
	}
	free(w);
	return NULL;
}

static void process(struct mapwatch *w) {
	if (!w->lost) {
		XRecordProcessReplies(w->data);
	}
}

bool mapwatch_grabbed(struct mapwatch *w) {
	process(w);
	return !w->lost && w->grabber;
}

static void send_ping(struct mapwatch *w, unsigned long window, struct ping *ret) {
	w->token = w->token % INT32_MAX + 1;
	*ret = (struct ping){.token = w->token, .sent_ms = input_now()};
	reader_ping(w->x, window, w->token);
}

/* ---------------------------------------------------------------- who was sent keys */

static struct target *current(struct mapwatch *w) {
	return w->target_count > 0 ? &w->target[w->target_count - 1] : NULL;
}

static void remove_target(struct mapwatch *w, size_t i) {
	w->target_count--;
	memmove(&w->target[i], &w->target[i + 1], (w->target_count - i) * sizeof(w->target[0]));
}

/* Another window, or the same again: keys from now on are for it. */
static void add_target(struct mapwatch *w) {
	if (current(w)) {
		current(w)->left_ms = input_now();
	}
	for (size_t i = 0; i < w->target_count; i++) {
		if (w->target[i].struck <= w->target[i].seen) {
			remove_target(w, i--);
		}
	}
	if (w->target_count == TARGETS_MAX) {
		remove_target(w, 0);
	}
	w->target[w->target_count++] = (struct target){.client = w->reader.client,
		.window = w->reader.ping,
		.struck = w->strikes,
		.seen = w->strikes};
}

static void look(struct mapwatch *w) {
	if (current(w) && reader_focus(w->x) == w->reader.focus) {
		return;
	}
	reader_find(w->x, &w->reader);
	w->notice = (struct ping){0};
	add_target(w);
}

void mapwatch_begin(struct mapwatch *w) {
	w->given_up = 0;
	w->notice.sent_ms = input_now();
	for (size_t i = 0; i < w->target_count; i++) {
		w->target[i].ping.sent_ms = input_now();
	}
	process(w);
	look(w);
}

void mapwatch_struck(struct mapwatch *w, uint64_t strikes) {
	if (current(w)) {
		current(w)->struck = strikes;
	}
	look(w);
	current(w)->struck = strikes;
	w->strikes = strikes;
}

/* A window that is gone will not answer, and nobody will see what it did with its keys. */
static bool is_gone(struct mapwatch *w, unsigned long window) {
	XWindowAttributes attributes;
	return !w->x->lost && !XGetWindowAttributes(w->x->display, window, &attributes);
}

/* True while this one may not have handled the key. */
static bool target_lags(struct mapwatch *w, struct target *t, uint64_t strike, unsigned slack_ms) {
	uint64_t now = input_now();
	uint64_t last = strike < t->struck ? strike : t->struck;
	if (last <= t->seen || (!t->window && !t->left_ms)) {
		return false;
	}
	if (!t->window) {
		return now < t->left_ms + LEFT_MS + slack_ms;
	}
	if (!t->ping.token) {
		t->asked = t->struck;
		send_ping(w, t->window, &t->ping);
	} else if (t->left_ms &&
		   (is_gone(w, t->window) || now >= t->ping.sent_ms + CUA_KEYBOARD_MS)) {
		t->seen = t->struck;
	}
	return last > t->seen;
}

bool mapwatch_lags(struct mapwatch *w, uint64_t strike, unsigned slack_ms) {
	bool lags = false;
	process(w);
	for (size_t i = 0; i < w->target_count && !w->lost; i++) {
		lags = target_lags(w, &w->target[i], strike, slack_ms) || lags;
	}
	return lags;
}

bool mapwatch_pings(const struct mapwatch *w) {
	return !w->lost && w->reader.ping != 0;
}

static bool is_overdue(const struct ping *ping) {
	return ping->token && !ping->answered_ms && input_now() >= ping->sent_ms + CUA_KEYBOARD_MS;
}

bool mapwatch_overdue(const struct mapwatch *w) {
	return is_overdue(&w->notice) ||
	       (w->target_count > 0 && is_overdue(&w->target[w->target_count - 1].ping));
}

/* ---------------------------------------------------------------- who knows the map */

/* The map as it is now. */
static bool a_sister_has_read(struct mapwatch *w) {
	for (size_t i = 0; i < w->reader.sister_count; i++) {
		const struct seen *seen = find_seen(w, w->reader.sister[i]);
		if (seen && seen->version == w->version) {
			return true;
		}
	}
	return w->version == 0;
}

bool mapwatch_visible(struct mapwatch *w) {
	process(w);
	if (w->lost || w->reader.sister_count == 0 || w->silent == w->reader.client) {
		return true;
	}
	if (w->changes_seen != w->changes) {
		return false;
	}
	if (a_sister_has_read(w)) {
		return true;
	}
	if (w->reader.ping && !w->notice.token) {
		send_ping(w, w->reader.ping, &w->notice);
	}
	uint64_t from = w->reader.ping ? w->notice.answered_ms : w->changed_ms;
	if (from == 0 || input_now() < from + SISTER_MS) {
		return false;
	}
	w->silent = w->reader.client;
	return true;
}

void mapwatch_changed(struct mapwatch *w) {
	reader_find(w->x, &w->reader);
	if (!current(w) || current(w)->client != w->reader.client) {
		add_target(w);
	}
	if (w->reader.client != w->changed_for) {
		mapwatch_unlearn(w);
	}
	w->changed_for = w->reader.client;
	w->changes++;
}

bool mapwatch_seen(struct mapwatch *w, unsigned slack_ms) {
	process(w);
	if (w->lost || w->changes_seen != w->changes || !is_known(&w->reads)) {
		return false;
	}
	const struct reads *e = &w->expected;
	/* The whole series: what is left of it would be taken for part of the next. */
	if (e->core ? w->reads.core >= e->core : e->xkb && w->reads.xkb >= e->xkb) {
		w->confirmed = true;
		return true;
	}
	if (input_now() < w->read_ms + (w->confirmed ? DOUBT_MS : LEARN_MS) + slack_ms) {
		return false;
	}
	w->expected = w->reads;
	w->confirmed = false;
	return true;
}

bool mapwatch_reads(struct mapwatch *w) {
	return !w->lost && find_seen(w, w->changed_for);
}

bool mapwatch_moved(const struct mapwatch *w) {
	return w->reader.client != w->changed_for;
}

void mapwatch_unlearn(struct mapwatch *w) {
	w->expected = (struct reads){0};
	w->confirmed = false;
}

bool mapwatch_useful(const struct mapwatch *w) {
	XID client = w->reader.client;
	return !w->lost && client != 0 && client != w->given_up && client != w->own;
}

void mapwatch_give_up(struct mapwatch *w) {
	w->given_up = w->changed_for;
}
