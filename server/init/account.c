/* passwd and group files by hand. Both belong to whoever is root in the container, so every field
 * is bounded and a line that does not parse is no line. */
#include "server/init/account.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/ident.h"
#include "cua/parse.h"

enum {
	PASSWD_NAME,
	PASSWD_SECRET,
	PASSWD_UID,
	PASSWD_GID,
	PASSWD_TITLE,
	PASSWD_HOME,
	PASSWD_SHELL
};
enum { GROUP_NAME, GROUP_SECRET, GROUP_GID, GROUP_MEMBERS };
#define FIELDS_MAX 7

char *account_read_file(const char *path, struct cua_err *err) {
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)cua_err_errno(err, errno, "cannot read %s", path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > (off_t)CUA_ACCOUNT_BYTES) {
		(void)cua_err_set(err, CUA_INVALID, "%s is no file of a sensible size", path);
		return NULL;
	}
	_cleanup_free_ char *text = calloc(1, (size_t)st.st_size + 1);
	if (!text) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to read %s", path);
		return NULL;
	}
	ssize_t n = fd_read_all(fd, text, (size_t)st.st_size);
	if (n < 0) {
		(void)cua_err_errno(err, (int)n, "cannot read %s", path);
		return NULL;
	}
	return take_ptr(text);
}

/* Splits at ':' in place; the number of fields, at most FIELDS_MAX. */
static size_t split_fields(char *line, char *fields[FIELDS_MAX]) {
	size_t count = 0;
	char *next = line;
	while (next && count < FIELDS_MAX) {
		fields[count++] = strsep(&next, ":");
	}
	return count;
}

static bool parse_id(const char *text, uint32_t *ret) {
	uint64_t value = 0;
	if (!parse_number(text, 0, UINT32_MAX - 1, &value)) {
		return false;
	}
	*ret = (uint32_t)value;
	return true;
}

static bool take_passwd_line(char *line, const char *name, struct account *ret) {
	char *f[FIELDS_MAX];
	if (split_fields(line, f) != FIELDS_MAX || strcmp(f[PASSWD_NAME], name) != 0 ||
		!parse_id(f[PASSWD_UID], &ret->uid) || !parse_id(f[PASSWD_GID], &ret->gid)) {
		return false;
	}
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	(void)snprintf(ret->home, sizeof(ret->home), "%s",
		f[PASSWD_HOME][0] == '/' ? f[PASSWD_HOME] : "/");
	(void)snprintf(ret->shell, sizeof(ret->shell), "%s",
		f[PASSWD_SHELL][0] == '/' ? f[PASSWD_SHELL] : "/bin/sh");
	return true;
}

static void add_group(struct account *account, gid_t gid) {
	for (size_t i = 0; i < account->group_count; i++) {
		if (account->groups[i] == gid) {
			return;
		}
	}
	if (account->group_count < CUA_GROUPS_MAX) {
		account->groups[account->group_count++] = gid;
	}
}

static void take_group_line(char *line, struct account *account) {
	char *f[FIELDS_MAX];
	gid_t gid = 0;
	if (split_fields(line, f) <= GROUP_MEMBERS || !parse_id(f[GROUP_GID], &gid)) {
		return;
	}
	char *next = f[GROUP_MEMBERS];
	while (next) {
		if (strcmp(strsep(&next, ","), account->name) == 0) {
			add_group(account, gid);
		}
	}
}

static int find_user(const char *etc, const char *name, struct account *ret, struct cua_err *err) {
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/passwd", etc);
	_cleanup_free_ char *text = account_read_file(path, err);
	if (!text) {
		return cua_err_prefix(err, "looking for user %s", name);
	}
	char *next = text;
	while (next) {
		if (take_passwd_line(strsep(&next, "\n"), name, ret)) {
			return 0;
		}
	}
	return cua_err_about(err, CUA_NOT_FOUND, "user", "there is no user %s", name);
}

int account_find(const char *etc, const char *name, struct account *ret, struct cua_err *err) {
	if (!name || name[0] == '\0') {
		name = "agent";
	}
	if (!cua_user_ok(name)) {
		return cua_err_about(err, CUA_NOT_FOUND, "user", "that is no name of a user");
	}
	struct account found = {0};
	int r = find_user(etc, name, &found, err);
	if (r < 0) {
		return r;
	}
	add_group(&found, found.gid);
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/group", etc);
	/* Without a group file a user still has the main group. */
	_cleanup_free_ char *text = account_read_file(path, NULL);
	char *next = text;
	while (next) {
		take_group_line(strsep(&next, "\n"), &found);
	}
	*ret = found;
	return 0;
}

int account_become(const struct account *account, struct cua_err *err) {
	if (setgroups(account->group_count, account->groups) < 0 ||
		setresgid(account->gid, account->gid, account->gid) < 0 ||
		setresuid(account->uid, account->uid, account->uid) < 0) {
		return cua_err_errno(err, errno, "cannot become user %s", account->name);
	}
	return 0;
}

int account_path(const struct account *account, const char *path, const char *subject,
	char ret_path[CUA_PATH_SIZE], struct cua_err *err) {
	const char *rest = path;
	if (path[0] == '~' && (path[1] == '/' || path[1] == '\0')) {
		rest = path[1] == '/' ? path + 2 : path + 1;
	} else if (path[0] == '/') {
		(void)snprintf(ret_path, CUA_PATH_SIZE, "%s", path);
		return 0;
	}
	int n = rest[0] == '\0' ? snprintf(ret_path, CUA_PATH_SIZE, "%s", account->home)
				: snprintf(ret_path, CUA_PATH_SIZE, "%s/%s", account->home, rest);
	if (n < 0 || n >= CUA_PATH_SIZE) {
		return cua_err_about(err, CUA_INVALID, subject, "the path is too long");
	}
	return 0;
}
