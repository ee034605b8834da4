/* Records of sessions on disk; see the header. A file that cannot be understood costs the labels of
 * its session, never the session. */
#include "server/front/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/ident.h"

#define VERSION 1
#define FILE_MAX (4u << 20)

struct record *record_new(void) {
	struct record *record = calloc(1, sizeof(*record));
	if (!record) {
		abort();
	}
	record->labels = json_object();
	record->env = json_object();
	if (!record->labels || !record->env) {
		abort();
	}
	return record;
}

struct record *record_free(struct record *record) {
	if (record) {
		json_decref(record->labels);
		json_decref(record->env);
		json_decref(record->command);
		free(record);
	}
	return NULL;
}

int record_dir_open(const char *state_dir, struct cua_err *err) {
	_cleanup_fd_ int state = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (state < 0) {
		return cua_err_errno(err, errno, "cannot open %s", state_dir);
	}
	/* both may exist: what matters is the opening below */
	(void)mkdirat(state, "front", 0700);
	(void)mkdirat(state, "front/sessions", 0700);
	int dir = openat(state, "front/sessions", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		return cua_err_errno(err, errno, "cannot open %s/front/sessions", state_dir);
	}
	return dir;
}

static void file_name(char ret_name[32], const char *id) {
	(void)snprintf(ret_name, 32, "%s.json", id);
}

static json_t *to_json(const struct record *record) {
	return json_pack("{s:i, s:O, s:O, s:O?, s:s, s:s, s:I, s:I}", "version", VERSION, "labels",
		record->labels, "env", record->env, "command", record->command, "title",
		record->title, "owner", record->owner, "expires", (json_int_t)record->expires_ms,
		"idle", (json_int_t)record->idle_ms);
}

int record_save(int dir, const char *id, const struct record *record, struct cua_err *err) {
	json_t *json = to_json(record);
	_cleanup_free_ char *text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
	json_decref(json);
	if (!text) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a session's record");
	}
	char name[32];
	file_name(name, id);
	return fd_replace_file(dir, name, text, strlen(text), 0600, err);
}

/* Takes over an object of strings; anything else leaves *to as it is. */
static void take_strings(json_t **to, json_t *value) {
	if (json_is_object(value)) {
		json_decref(*to);
		*to = json_incref(value);
	}
}

static void take_text(char *to, size_t size, const json_t *value) {
	if (json_is_string(value)) {
		(void)snprintf(to, size, "%s", json_string_value(value));
	}
}

static void from_json(struct record *record, json_t *json) {
	take_strings(&record->labels, json_object_get(json, "labels"));
	take_strings(&record->env, json_object_get(json, "env"));
	json_t *command = json_object_get(json, "command");
	if (json_is_array(command)) {
		record->command = json_incref(command);
	}
	take_text(record->title, sizeof(record->title), json_object_get(json, "title"));
	take_text(record->owner, sizeof(record->owner), json_object_get(json, "owner"));
	record->expires_ms = (uint64_t)json_integer_value(json_object_get(json, "expires"));
	record->idle_ms = (uint64_t)json_integer_value(json_object_get(json, "idle"));
}

static json_t *read_json(int dir, const char *name, struct cua_err *err) {
	_cleanup_fd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		return NULL;
	}
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > FILE_MAX) {
		(void)cua_err_errno(err, errno, "cannot read %s", name);
		return NULL;
	}
	json_error_t why;
	json_t *json = json_loadfd(fd, JSON_REJECT_DUPLICATES, &why);
	if (!json) {
		(void)cua_err_set(err, CUA_INTERNAL, "%s: %s", name, why.text);
	} else if (json_integer_value(json_object_get(json, "version")) > VERSION) {
		(void)cua_err_set(err, CUA_INTERNAL, "%s was written by a newer cuad", name);
		json_decref(take_ptr(json));
	}
	return json;
}

struct record *record_load(int dir, const char *id, struct cua_err *err) {
	struct record *record = record_new();
	err->code = CUA_OK;
	char name[32];
	file_name(name, id);
	json_t *json = read_json(dir, name, err);
	if (json) {
		from_json(record, json);
		json_decref(json);
	}
	return record;
}

void record_remove(int dir, const char *id) {
	char name[32];
	file_name(name, id);
	(void)unlinkat(dir, name, 0);
}

static void sweep_one(
	int dir, const char *name, bool (*keep)(void *data, const char *id), void *data) {
	char id[CUA_ID_SIZE];
	(void)snprintf(id, sizeof(id), "%.*s", CUA_ID_LEN, name);
	if (strlen(name) == CUA_ID_LEN + strlen(".json") && cua_id_ok(id) && !keep(data, id)) {
		(void)unlinkat(dir, name, 0);
	}
}

void record_sweep(int dir, bool (*keep)(void *data, const char *id), void *data) {
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
	if (!stream) {
		if (copy >= 0) {
			(void)close(copy);
		}
		return;
	}
	for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
		sweep_one(dir, entry->d_name, keep, data);
	}
	(void)closedir(stream);
}
