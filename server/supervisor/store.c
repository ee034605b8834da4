/* Records on disk; see the header. Not where anybody decides what a record means for a session. */
#include "server/supervisor/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <sys/stat.h>

#include "cua/fdio.h"
#include "cua/ident.h"
#include "cua/parse.h"

#define STORE_HEAD "cuad-session 1"

enum field_kind { FIELD_TEXT, FIELD_U32, FIELD_U64, FIELD_BOOL, FIELD_NETWORK };

struct field {
	const char *key;
	enum field_kind kind;
	size_t offset;
	size_t size;
};

#define AT(member) offsetof(struct plan_record, member)
#define TEXT(key, member)                                                                          \
	{ key, FIELD_TEXT, AT(member), sizeof(((struct plan_record *)0)->member) }

static const struct field fields[] = {
	TEXT("id", id),
	TEXT("name", name),
	TEXT("template", template),
	{"slot", FIELD_U32, AT(slot), 0},
	{"width", FIELD_U32, AT(screen.width), 0},
	{"height", FIELD_U32, AT(screen.height), 0},
	{"dpi", FIELD_U32, AT(screen.dpi), 0},
	{"max_width", FIELD_U32, AT(screen.max_width), 0},
	{"max_height", FIELD_U32, AT(screen.max_height), 0},
	{"cpu_milli", FIELD_U32, AT(limits.cpu_milli), 0},
	{"memory", FIELD_U64, AT(limits.memory), 0},
	{"pids", FIELD_U32, AT(limits.pids), 0},
	{"disk", FIELD_U64, AT(limits.disk), 0},
	{"network", FIELD_NETWORK, AT(network), 0},
	{"created_ms", FIELD_U64, AT(created_ms), 0},
	{"complete", FIELD_BOOL, AT(complete), 0},
};

/* ---------------------------------------------------------------- text */

static uint64_t field_number(const struct field *field, const struct plan_record *record) {
	const char *at = (const char *)record + field->offset;
	switch (field->kind) {
	case FIELD_U32:
		return *(const uint32_t *)at;
	case FIELD_U64:
		return *(const uint64_t *)at;
	case FIELD_BOOL:
		return *(const bool *)at;
	default:
		return (uint64_t) * (const cua_Network *)at;
	}
}

size_t store_format(const struct plan_record *record, char *ret_text, size_t size) {
	int used = snprintf(ret_text, size, "%s\n", STORE_HEAD);
	for (size_t i = 0; i < CUA_COUNT(fields) && used > 0 && (size_t)used < size; i++) {
		const struct field *f = &fields[i];
		char *end = ret_text + used;
		size_t room = size - (size_t)used;
		used += f->kind == FIELD_TEXT ? snprintf(end, room, "%s=%s\n", f->key,
							(const char *)record + f->offset)
					      : snprintf(end, room, "%s=%" PRIu64 "\n", f->key,
							field_number(f, record));
	}
	return (size_t)used;
}

static int field_read(const struct field *field, const char *text, struct plan_record *record) {
	char *at = (char *)record + field->offset;
	if (field->kind == FIELD_TEXT) {
		int n = snprintf(at, field->size, "%s", text);
		return n >= 0 && (size_t)n < field->size ? 0 : -CUA_INVALID;
	}
	static const uint64_t max[] = {[FIELD_U32] = UINT32_MAX,
		[FIELD_U64] = UINT64_MAX,
		[FIELD_BOOL] = 1,
		[FIELD_NETWORK] = _cua_Network_MAX};
	uint64_t value = 0;
	if (!parse_number(text, 0, max[field->kind], &value)) {
		return -CUA_INVALID;
	}
	if (field->kind == FIELD_U32) {
		*(uint32_t *)at = (uint32_t)value;
	} else if (field->kind == FIELD_U64) {
		*(uint64_t *)at = value;
	} else if (field->kind == FIELD_BOOL) {
		*(bool *)at = value != 0;
	} else {
		*(cua_Network *)at = (cua_Network)value;
	}
	return 0;
}

/* One KEY=VALUE line. Returns the field's bit, or negative. An unknown key is damage: a newer
 * program that adds one raises the version. */
static int line_read(char *line, struct plan_record *record) {
	char *value = strchr(line, '=');
	if (!value) {
		return -CUA_INVALID;
	}
	*value++ = '\0';
	for (size_t i = 0; i < CUA_COUNT(fields); i++) {
		if (strcmp(fields[i].key, line) == 0) {
			int r = field_read(&fields[i], value, record);
			return r < 0 ? r : 1 << i;
		}
	}
	return -CUA_INVALID;
}

static bool record_plausible(const struct plan_record *record) {
	return cua_id_ok(record->id) && cua_name_ok(record->name) &&
	       cua_name_ok(record->template) && record->slot > 0 &&
	       record->slot <= CUA_SESSIONS_MAX;
}

static int lines_read(char *text, struct plan_record *record) {
	char *save = NULL;
	char *line = strtok_r(text, "\n", &save);
	if (!line || strcmp(line, STORE_HEAD) != 0) {
		return -CUA_INVALID;
	}
	int seen = 0;
	while ((line = strtok_r(NULL, "\n", &save))) {
		int bit = line_read(line, record);
		if (bit < 0 || (seen & bit)) {
			return -CUA_INVALID;
		}
		seen |= bit;
	}
	return seen == (1 << CUA_COUNT(fields)) - 1 ? 0 : -CUA_INVALID;
}

int store_parse(const char *text, size_t len, struct plan_record *ret, struct cua_err *err) {
	char copy[STORE_TEXT_MAX];
	struct plan_record record = {0};
	if (len >= sizeof(copy) || memchr(text, '\0', len)) {
		return cua_err_set(err, CUA_INVALID, "the record is damaged");
	}
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (lines_read(copy, &record) < 0 || !record_plausible(&record)) {
		return cua_err_set(err, CUA_INVALID, "the record is damaged or of another version");
	}
	record.limits.has_cpu_milli = record.limits.has_memory = true;
	record.limits.has_pids = record.limits.has_disk = true;
	*ret = record;
	return 0;
}

/* ---------------------------------------------------------------- files */

static int make_dir(const char *path, mode_t mode, struct cua_err *err) {
	if (mkdir(path, mode) < 0 && errno != EEXIST) {
		return cua_err_errno(err, errno, "cannot create %s", path);
	}
	if (chmod(path, mode) < 0) {
		return cua_err_errno(err, errno, "cannot set the mode of %s", path);
	}
	return 0;
}

int store_open(const struct plan_host *host, struct cua_err *err) {
	char path[PLAN_PATH];
	int r = make_dir(host->state_dir, 0711, err);
	if (r == 0) {
		(void)snprintf(path, sizeof(path), "%s/sessions", host->state_dir);
		r = make_dir(path, 0700, err);
	}
	if (r == 0) {
		(void)snprintf(path, sizeof(path), "%s/templates", host->state_dir);
		r = make_dir(path, 0755, err);
	}
	return r;
}

static int open_dir(const struct plan_host *host, const char *id, struct cua_err *err) {
	char path[PLAN_PATH];
	(void)snprintf(path, sizeof(path), "%s/sessions/%s", host->state_dir, id);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : cua_err_errno(err, errno, "cannot open %s", path);
}

int store_write(
	const struct plan_host *host, const struct plan_record *record, struct cua_err *err) {
	char path[PLAN_PATH];
	(void)snprintf(path, sizeof(path), "%s/sessions/%s", host->state_dir, record->id);
	int r = make_dir(path, 0700, err);
	if (r < 0) {
		return r;
	}
	_cleanup_fd_ int dir = open_dir(host, record->id, err);
	if (dir < 0) {
		return dir;
	}
	char text[STORE_TEXT_MAX];
	size_t len = store_format(record, text, sizeof(text));
	r = fd_replace_file(dir, "record", text, len, 0600, err);
	if (r < 0) {
		return r;
	}
	if (fsync(dir) < 0) {
		return cua_err_errno(err, errno, "cannot save the record of %s", record->id);
	}
	return 0;
}

int store_read(const struct plan_host *host, const char *id, struct plan_record *ret,
	struct cua_err *err) {
	_cleanup_fd_ int dir = open_dir(host, id, err);
	if (dir < 0) {
		return dir;
	}
	_cleanup_fd_ int fd = openat(dir, "record", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		return cua_err_errno(err, errno, "cannot open the record of %s", id);
	}
	char text[STORE_TEXT_MAX];
	ssize_t len = fd_read_all(fd, text, sizeof(text));
	if (len < 0) {
		return cua_err_set(err, CUA_INVALID, "cannot read the record of %s", id);
	}
	struct plan_record record;
	int r = store_parse(text, (size_t)len, &record, err);
	if (r < 0) {
		return r;
	}
	if (strcmp(record.id, id) != 0) {
		return cua_err_set(err, CUA_INVALID, "the record of %s is another session's", id);
	}
	*ret = record;
	return 0;
}

static int list_ids(const char *path, char (**ret_ids)[CUA_ID_SIZE], struct cua_err *err) {
	_cleanup_free_ char(*ids)[CUA_ID_SIZE] = calloc(CUA_SESSIONS_MAX, sizeof(*ids));
	if (!ids) {
		return cua_err_set(err, CUA_EXHAUSTED, "no memory for a list of sessions");
	}
	DIR *dir = opendir(path);
	if (!dir && errno != ENOENT) {
		return cua_err_errno(err, errno, "cannot list %s", path);
	}
	int count = 0;
	struct dirent *entry = NULL;
	while (dir && count < CUA_SESSIONS_MAX && (entry = readdir(dir))) {
		if (cua_id_ok(entry->d_name)) {
			(void)snprintf(ids[count++], CUA_ID_SIZE, "%.12s", entry->d_name);
		}
	}
	if (dir) {
		(void)closedir(dir);
	}
	*ret_ids = take_ptr(ids);
	return count;
}

int store_list(const struct plan_host *host, char (**ret_ids)[CUA_ID_SIZE], struct cua_err *err) {
	char path[PLAN_PATH];
	(void)snprintf(path, sizeof(path), "%s/sessions", host->state_dir);
	return list_ids(path, ret_ids, err);
}

int store_list_run(
	const struct plan_host *host, char (**ret_ids)[CUA_ID_SIZE], struct cua_err *err) {
	char path[PLAN_PATH];
	(void)snprintf(path, sizeof(path), "%s/sessions", host->run_dir);
	return list_ids(path, ret_ids, err);
}
