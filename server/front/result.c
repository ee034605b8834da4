/* Shapes of results; see the header. */
#include "server/front/result.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cua/ident.h"
#include "server/front/base64.h"
#include "server/front/http.h"

static const char *const effects[] = {
	[cua_Effect_EFFECT_UNKNOWN] = "unknown",
	[cua_Effect_EFFECT_CHANGED] = "changed",
	[cua_Effect_EFFECT_UNCHANGED] = "unchanged",
};

static const char *const mimes[] = {
	[cua_Format_FORMAT_PNG] = "image/png",
	[cua_Format_FORMAT_JPEG] = "image/jpeg",
	[cua_Format_FORMAT_WEBP] = "image/webp",
};

/* MIME type of a picture. */
static const char *result_mime(const cua_ActionResult *told) {
	return (unsigned)told->format < CUA_COUNT(mimes) ? mimes[told->format]
							 : "application/octet-stream";
}

static const char *effect_name(const cua_ActionResult *told) {
	bool known = told->has_effect && (unsigned)told->effect < CUA_COUNT(effects);
	return known ? effects[told->effect] : "unknown";
}

/* Text from a session may be anything; what is not UTF-8 must not spoil the answer. */
static json_t *text_or_empty(const char *text) {
	json_t *json = json_string(text);
	return json ? json : json_string("");
}

static json_t *rects_json(const cua_Rect *rects, size_t count) {
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++) {
		const cua_Rect *r = &rects[i];
		(void)json_array_append_new(
			list, json_pack("[i, i, i, i]", r->x, r->y, r->width, r->height));
	}
	return list;
}

static json_t *effect_json(const cua_ActionResult *told) {
	json_t *json = json_pack("{s:s, s:o, s:I, s:b, s:f}", "effect", effect_name(told),
		"changed", rects_json(told->changed, told->changed_count), "frame",
		(json_int_t)told->frame, "settled", (int)told->settled, "elapsed_ms",
		told->elapsed_us / 1000.0);
	if (json && told->animated_count > 0) {
		(void)json_object_set_new(
			json, "animated", rects_json(told->animated, told->animated_count));
	}
	if (json && told->has_released) {
		(void)json_object_set_new(json, "released", json_integer(told->released));
	}
	return json;
}

static json_t *picture_json(const cua_ActionResult *told, json_t **ret_picture) {
	if (told->has_unchanged && told->unchanged) {
		return json_pack("{s:b, s:I}", "unchanged", 1, "frame", (json_int_t)told->frame);
	}
	*ret_picture = json_pack("{s:s, s:I, s:I, s:I}", "mime", result_mime(told), "width",
		(json_int_t)told->width, "height", (json_int_t)told->height, "frame",
		(json_int_t)told->frame);
	return *ret_picture;
}

static json_t *window_json(const cua_Window *w) {
	json_t *json = json_pack("{s:I, s:o, s:o, s:I, s:i, s:i, s:i, s:i, s:b, s:b, s:b, s:o}",
		"id", (json_int_t)w->id, "title", text_or_empty(w->title), "app",
		text_or_empty(w->app), "pid", (json_int_t)w->pid, "x", w->geometry.x, "y",
		w->geometry.y, "width", w->geometry.width, "height", w->geometry.height, "active",
		(int)w->active, "minimized", (int)w->minimized, "maximized", (int)w->maximized,
		"type", text_or_empty(w->type));
	if (json && w->frame_count == 4) {
		(void)json_object_set_new(json, "frame",
			json_pack("[i, i, i, i]", w->frame[0], w->frame[1], w->frame[2],
				w->frame[3]));
	}
	if (json && w->has_more) {
		(void)json_object_set_new(json, "more", json_integer((json_int_t)w->more));
	}
	return json;
}

static json_t *windows_json(const cua_ActionResult *told) {
	json_t *list = json_array();
	for (size_t i = 0; i < told->windows_count; i++) {
		(void)json_array_append_new(list, window_json(&told->windows[i]));
	}
	return list;
}

/* The effect, and the window that it was on unless it is closed. */
static json_t *acted_json(const cua_ActionResult *told) {
	json_t *json = effect_json(told);
	if (json && told->windows_count > 0) {
		(void)json_object_set_new(json, "window", window_json(&told->windows[0]));
	}
	if (json && told->has_closed) {
		(void)json_object_set_new(json, "closed", json_boolean(told->closed));
	}
	return json;
}

static json_t *clipboard_json(const cua_ActionResult *told, struct cua_span bytes) {
	bool text = cua_utf8_ok(bytes.data, bytes.len);
	json_t *content =
		text ? json_stringn(bytes.len ? bytes.data : "", bytes.len) : base64_json(bytes);
	return json_pack("{s:o, s:b}", text ? "text" : "data_b64", content, "empty",
		(int)(told->has_empty && told->empty));
}

static const char *const matches[] = {
	[cua_Matched_MATCHED_WINDOW] = "window",
	[cua_Matched_MATCHED_TEXT] = "text",
	[cua_Matched_MATCHED_REGION_CHANGED] = "region_changed",
};

static json_t *waited_json(const cua_ActionResult *told) {
	bool known = told->has_matched && (unsigned)told->matched < CUA_COUNT(matches);
	json_t *json =
		json_pack("{s:s, s:I, s:f}", "matched", known ? matches[told->matched] : "unknown",
			"frame", (json_int_t)told->frame, "elapsed_ms", told->elapsed_us / 1000.0);
	if (json && told->windows_count > 0) {
		(void)json_object_set_new(json, "window", window_json(&told->windows[0]));
	}
	if (json && told->changed_count > 0) {
		(void)json_object_set_new(
			json, "changed", rects_json(told->changed, told->changed_count));
	}
	return json;
}

json_t *result_screen(enum cua_result result, const cua_ActionResult *told, struct cua_span bytes,
	json_t **ret_picture) {
	*ret_picture = NULL;
	switch (result) {
	case CUA_RESULT_PICTURE:
		return picture_json(told, ret_picture);
	case CUA_RESULT_SCREEN:
		return json_pack("{s:I, s:I, s:I}", "width", (json_int_t)told->width, "height",
			(json_int_t)told->height, "dpi", (json_int_t)told->dpi);
	case CUA_RESULT_CURSOR:
		return json_pack("{s:i, s:i, s:o}", "x", told->x, "y", told->y, "shape",
			text_or_empty(told->shape));
	case CUA_RESULT_WAITED:
		return waited_json(told);
	case CUA_RESULT_WINDOWS:
		return windows_json(told);
	case CUA_RESULT_WINDOW:
		return acted_json(told);
	case CUA_RESULT_CLIPBOARD:
		return clipboard_json(told, bytes);
	case CUA_RESULT_DONE:
		return json_object();
	default:
		return effect_json(told);
	}
}

/* ---------------------------------------------------------------- commands */

/* Sets `name`, or `name`_b64 for bytes that are no text, and where a cut output was cut. */
static void set_output(json_t *json, const char *name, const struct exec_kept *kept) {
	char key[32];
	if (cua_utf8_ok(kept->bytes.data, kept->bytes.len)) {
		(void)json_object_set_new(json, name,
			json_stringn(kept->bytes.len ? kept->bytes.data : "", kept->bytes.len));
	} else {
		(void)snprintf(key, sizeof(key), "%s_b64", name);
		(void)json_object_set_new(json, key, base64_json(kept->bytes));
	}
	(void)snprintf(key, sizeof(key), "%s_bytes", name);
	(void)json_object_set_new(json, key, json_integer((json_int_t)kept->total));
	if (kept->cut) {
		(void)snprintf(key, sizeof(key), "%s_cut_at", name);
		(void)json_object_set_new(json, key, json_integer((json_int_t)kept->head));
	}
}

json_t *result_exec(const struct exec_result *told) {
	const cua_ExecExit *exit = &told->exit;
	json_t *json = json_pack("{s:o, s:o, s:b, s:b, s:f}", "exit_code",
		exit->has_exit_code ? json_integer(exit->exit_code) : json_null(), "signal",
		exit->has_signal ? json_integer(exit->signal) : json_null(), "truncated",
		(int)(told->out.cut || told->err.cut), "timed_out", (int)told->timed_out,
		"duration_ms", exit->duration_us / 1000.0);
	if (json) {
		set_output(json, "stdout", &told->out);
		set_output(json, "stderr", &told->err);
	}
	return json;
}

/* ---------------------------------------------------------------- files */

static json_t *mtime_json(int64_t ms) {
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char text[32];
	if (ms < 0 || !gmtime_r(&seconds, &tm) ||
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
		return json_null();
	}
	return json_sprintf("%s.%03uZ", text, (unsigned)(ms % 1000));
}

json_t *result_entry(const cua_FileEntry *entry) {
	json_t *json = json_pack("{s:s, s:I, s:o, s:o}", "type", entry->type, "size",
		(json_int_t)entry->size, "mode", json_sprintf("%04o", entry->mode & 07777u),
		"mtime", mtime_json(entry->mtime_ms));
	if (!json) {
		return NULL;
	}
	if (cua_utf8_ok(entry->name, strlen(entry->name))) {
		(void)json_object_set_new(json, "name", json_string(entry->name));
	} else {
		struct cua_span name = {.data = entry->name, .len = strlen(entry->name)};
		(void)json_object_set_new(json, "name_b64", base64_json(name));
	}
	if (entry->has_uid && entry->has_gid) {
		(void)json_object_set_new(json, "uid", json_integer(entry->uid));
		(void)json_object_set_new(json, "gid", json_integer(entry->gid));
	}
	return json;
}

json_t *result_list(struct cua_span blob, bool truncated, struct cua_err *err) {
	json_t *list = json_array();
	cua_FileEntry entry;
	int r = 0;
	while ((r = cua_entry_next(&blob, &entry, err)) > 0) {
		(void)json_array_append_new(list, result_entry(&entry));
	}
	if (r < 0) {
		json_decref(list);
		return NULL;
	}
	return json_pack("{s:o, s:b}", "entries", list, "truncated", (int)truncated);
}

json_t *result_file(
	struct cua_span bytes, uint64_t size, bool eof, uint32_t encoding, struct cua_err *err) {
	bool text = encoding != 2 && cua_utf8_ok(bytes.data, bytes.len);
	if (encoding == 1 && !text) {
		(void)cua_err_about(err, CUA_INVALID, "encoding", "the file is not UTF-8 text");
		return NULL;
	}
	json_t *content =
		text ? json_stringn(bytes.len ? bytes.data : "", bytes.len) : base64_json(bytes);
	json_t *json = json_pack("{s:I, s:b, s:o}", "size", (json_int_t)size, "eof", (int)eof,
		text ? "text" : "data_b64", content);
	if (!json) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for the answer");
	}
	return json;
}

/* ---------------------------------------------------------------- errors */

json_t *result_error(const struct cua_err *err, json_t *detail) {
	json_t *json = error_to_json(err);
	if (json && detail) {
		(void)json_object_update(json_object_get(json, "detail"), detail);
	}
	return json;
}
