/* Finds the window with the focus, what it understands, and by the X-Resource extension which clients
 * are the same process. What is concluded from answers is mapwatch.c's matter. The only user of
 * xcb-res. */
#include "desktop/reader.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xcb/res.h>

#include "cua/ident.h"
#include "desktop/windows.h"
#include "desktop/x11_priv.h"

#define DEPTH_MAX 32

/* The innermost window under the pointer: it gets the keys when nothing has the focus. */
static Window under_pointer(struct x11 *x) {
	Window window = x->root;
	for (int i = 0; i < DEPTH_MAX && !x->lost; i++) {
		Window root = None;
		Window child = None;
		int ignored = 0;
		unsigned mask = 0;
		if (!XQueryPointer(x->display, window, &root, &child, &ignored, &ignored, &ignored,
			    &ignored, &mask) ||
			child == None) {
			break;
		}
		window = child;
	}
	return window;
}

unsigned long reader_focus(struct x11 *x) {
	Window focus = None;
	int revert = 0;
	if (!x->lost) {
		(void)XGetInputFocus(x->display, &focus, &revert);
	}
	return focus == PointerRoot ? under_pointer(x) : focus;
}

unsigned long reader_mask(struct x11 *x) {
	return 0x1fffffff & ~(unsigned long)xcb_get_setup(x->xcb)->resource_id_mask;
}

/* The window or one above it, of the same client. */
static Window find_ping_window(struct x11 *x, Window window) {
	const unsigned long mask = reader_mask(x);
	const unsigned long client = window & mask;
	for (int i = 0; i < DEPTH_MAX && window != None && (window & mask) == client; i++) {
		if (windows_speaks(x, window, x->atom._NET_WM_PING)) {
			return window;
		}
		window = windows_parent(x, window);
	}
	return None;
}

CUA_DEFINE_CLEANUP(xcb_res_query_client_ids_reply_t *, free)

/* A row of the answer: the client's ids, what is told, its length, and the process. */
struct row {
	uint32_t client;
	uint32_t mask;
	uint32_t length;
	uint32_t pid;
};

/* Copies the row at *pos and steps behind it. False at the end, and where the answer breaks off. */
static bool next_row(const xcb_res_query_client_ids_reply_t *reply, size_t *pos, struct row *ret) {
	const size_t head = offsetof(struct row, pid);
	const size_t len = (size_t)reply->length * 4;
	if (len - *pos < head) {
		return false;
	}
	const char *p = (const char *)(reply + 1) + *pos;
	*ret = (struct row){0};
	memcpy(ret, p, head);
	if (ret->length > len - *pos - head) {
		return false;
	}
	if (ret->length == sizeof(ret->pid)) {
		memcpy(&ret->pid, p + head, sizeof(ret->pid));
	}
	*pos += head + ret->length;
	return true;
}

static uint32_t find_pid(const xcb_res_query_client_ids_reply_t *reply, uint32_t client) {
	struct row row;
	for (size_t pos = 0; next_row(reply, &pos, &row);) {
		if (row.client == client) {
			return row.pid;
		}
	}
	return 0;
}

/* One round trip for all clients. */
static void find_sisters(struct x11 *x, struct reader *r) {
	const xcb_res_client_id_spec_t all = {
		.client = 0, .mask = XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID};
	const xcb_query_extension_reply_t *res =
		x->lost ? NULL : xcb_get_extension_data(x->xcb, &xcb_res_id);
	if (!res || !res->present) {
		return;
	}
	_cleanup_(free_p) xcb_res_query_client_ids_reply_t *reply = xcb_res_query_client_ids_reply(
		x->xcb, xcb_res_query_client_ids(x->xcb, 1, &all), NULL);
	uint32_t pid = reply ? find_pid(reply, (uint32_t)r->client) : 0;
	struct row row;
	for (size_t pos = 0; pid && next_row(reply, &pos, &row);) {
		if (row.pid == pid && row.client != r->client && r->sister_count < READER_SISTERS) {
			r->sister[r->sister_count++] = row.client;
		}
	}
}

void reader_find(struct x11 *x, struct reader *ret) {
	Window focus = reader_focus(x);
	*ret = (struct reader){.focus = focus, .client = focus & reader_mask(x)};
	if (ret->client != 0) {
		ret->ping = find_ping_window(x, focus);
		find_sisters(x, ret);
	}
}

void reader_ping(struct x11 *x, unsigned long window, unsigned long token) {
	XEvent event = {.xclient = {.type = ClientMessage,
				.window = window,
				.message_type = x->atom.WM_PROTOCOLS,
				.format = 32,
				.data.l = {(long)x->atom._NET_WM_PING, (long)token, (long)window}}};
	if (!x->lost) {
		(void)XSendEvent(x->display, window, False, NoEventMask, &event);
		(void)XFlush(x->display);
	}
}
