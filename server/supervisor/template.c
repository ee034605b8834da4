/* Building and removing templates; see the header. What is in one is cuad-build's business. */
#include "server/supervisor/template.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "cua/ident.h"
#include "cua/log.h"
#include "server/supervisor/frontend.h"
#include "server/supervisor/roster.h"
#include "server/supervisor/spawn.h"
#include "server/supervisor/steps.h"

struct builds {
	struct builds *next;
	struct supervisor *sup;
	char name[CUA_NAME_SIZE];
	struct waiter who;
	struct loop_child *child;
	int out;
	struct loop_io *io;
	char line[256]; /* of output, as far as it has come */
	size_t used;
	char last[256];
};

static void template_path(const struct plan_host *host, const char *name, char ret[PLAN_PATH]) {
	(void)snprintf(ret, PLAN_PATH, "%s/templates/%.32s", host->state_dir, name);
}

bool template_exists(const struct plan_host *host, const char *name) {
	char path[PLAN_PATH];
	char layers[PLAN_PATH + 8];
	struct stat st;
	template_path(host, name, path);
	(void)snprintf(layers, sizeof(layers), "%s/layers", path);
	return lstat(layers, &st) == 0 && S_ISREG(st.st_mode);
}

/* ---------------------------------------------------------------- build */

static void build_free(struct builds *b) {
	struct builds **at = &b->sup->builds;
	while (*at != b) {
		at = &(*at)->next;
	}
	*at = b->next;
	b->io = loop_io_remove(b->io);
	b->child = loop_child_drop(b->child);
	(void)close(b->out);
	free(b);
}

static void line_done(struct builds *b) {
	b->line[b->used] = '\0';
	if (b->used > 0 && cua_utf8_ok(b->line, b->used)) {
		frontend_progress(b->sup->frontend, b->who, b->line);
		memcpy(b->last, b->line, b->used + 1);
	}
	b->used = 0;
}

/* Takes what is there. False at the end of the output. */
static bool take_output(struct builds *b) {
	char bytes[4096];
	ssize_t n = read(b->out, bytes, sizeof(bytes));
	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r') {
			line_done(b);
		} else if (b->used < sizeof(b->line) - 1) {
			b->line[b->used++] = bytes[i];
		}
	}
	return n > 0;
}

static void on_output(void *data) {
	struct builds *b = data;
	if (!take_output(b) && errno != EAGAIN) {
		b->io = loop_io_remove(b->io);
	}
}

static void on_built(void *data, int status) {
	struct builds *b = data;
	b->child = NULL;
	while (take_output(b)) {
	}
	line_done(b);
	bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	struct cua_err err = {0};
	if (!good) {
		(void)cua_err_set(&err, CUA_INTERNAL, "the template %s was not built: %s", b->name,
			b->last[0] ? b->last : "the builder said nothing");
	}
	cua_log(good ? CUA_LOG_INFO : CUA_LOG_ERROR, "template=%s %s%s", b->name,
		good ? "is built" : "", err.message);
	frontend_reply(b->sup->frontend, b->who, good ? NULL : &err);
	build_free(b);
}

static int launch(struct builds *b, bool force, struct cua_err *err) {
	const struct plan_host *host = &b->sup->host;
	int pipes[2];
	if (pipe2(pipes, O_CLOEXEC) < 0) {
		return cua_err_errno(err, errno, "cannot create a pipe");
	}
	b->out = pipes[0];
	_cleanup_fd_ int theirs = pipes[1];
	char path[300];
	(void)snprintf(path, sizeof(path), "%s/cuad-build", host->libexec_dir);
	const char *argv[] = {"cuad-build", b->name, "--state", host->state_dir, "--data",
		host->data_dir, force ? "--force" : NULL, NULL};
	const struct spawn spawn = {.path = path,
		.argv = (char *const *)(uintptr_t)argv,
		.input = -1,
		.output = theirs,
		.edge = -1,
		.parent_death = SIGTERM};
	int pidfd = -1;
	pid_t pid = spawn_program(&spawn, &pidfd, err);
	if (pid < 0) {
		return (int)pid;
	}
	b->child = loop_child_add(b->sup->loop, pid, pidfd, on_built, b, err);
	b->io = loop_io_add(b->sup->loop, b->out, on_output, NULL, b, err);
	return b->child && b->io ? 0 : -(int)CUA_INTERNAL;
}

static int check_builds(const struct supervisor *sup, const char *name, struct cua_err *err) {
	size_t count = 0;
	for (const struct builds *b = sup->builds; b; b = b->next) {
		if (strcmp(b->name, name) == 0) {
			return cua_err_about(err, CUA_CONFLICT, "template",
				"the template %s is being built", name);
		}
		count++;
	}
	if (count >= CUA_BUILDS_MAX) {
		return cua_err_about(err, CUA_EXHAUSTED, "builds",
			"%zu templates are being built, more wait their turn", count);
	}
	return 0;
}

int template_build(struct supervisor *sup, const cua_TemplateRequest *wanted, struct waiter who,
	struct cua_err *err) {
	int r = check_builds(sup, wanted->name, err);
	if (r < 0) {
		return r;
	}
	struct builds *b = loop_alloc(sizeof(*b));
	*b = (struct builds){.next = sup->builds, .sup = sup, .who = who, .out = -1};
	(void)snprintf(b->name, sizeof(b->name), "%s", wanted->name);
	sup->builds = b;
	r = launch(b, wanted->has_force && wanted->force, err);
	if (r < 0) {
		build_free(b);
	}
	return r;
}

void template_stop_builds(struct supervisor *sup) {
	while (sup->builds) {
		build_free(sup->builds);
	}
}

/* ---------------------------------------------------------------- remove */

/* True if the template's layers, one name a line, contain this one. */
static bool stands_on(const struct plan_host *host, const char *template, const char *layer) {
	char path[PLAN_PATH];
	char file[PLAN_PATH + 8];
	char text[PLAN_LAYERS_MAX * CUA_NAME_SIZE + 1];
	template_path(host, template, path);
	(void)snprintf(file, sizeof(file), "%s/layers", path);
	_cleanup_fd_ int fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, text, sizeof(text) - 1);
	if (n < 0) {
		return false;
	}
	text[n] = '\0';
	char *save = NULL;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		if (strcmp(l, layer) == 0) {
			return true;
		}
	}
	return false;
}

static int check_layers(const struct plan_host *host, const char *name, struct cua_err *err) {
	char path[PLAN_PATH];
	(void)snprintf(path, sizeof(path), "%s/templates", host->state_dir);
	DIR *dir = opendir(path);
	int r = 0;
	struct dirent *entry = NULL;
	while (dir && r == 0 && (entry = readdir(dir))) {
		if (cua_name_ok(entry->d_name) && strcmp(entry->d_name, name) != 0 &&
			stands_on(host, entry->d_name, name)) {
			r = cua_err_about(err, CUA_CONFLICT, "template",
				"the template %s stands on %s", entry->d_name, name);
		}
	}
	if (dir) {
		(void)closedir(dir);
	}
	return r;
}

static int check_unused(const struct supervisor *sup, const char *name, struct cua_err *err) {
	char users[200];
	roster_users(sup, name, users, sizeof(users));
	if (users[0]) {
		return cua_err_about(
			err, CUA_CONFLICT, "template", "%s is used by: %s", name, users);
	}
	for (const struct builds *b = sup->builds; b; b = b->next) {
		if (strcmp(b->name, name) == 0) {
			return cua_err_about(
				err, CUA_CONFLICT, "template", "%s is being built", name);
		}
	}
	return check_layers(&sup->host, name, err);
}

struct removal {
	struct supervisor *sup;
	struct waiter who;
};

static void on_removed(void *data, int code, const struct cua_err *err) {
	_cleanup_free_ struct removal *removal = data;
	frontend_reply(removal->sup->frontend, removal->who, code < 0 ? err : NULL);
}

int template_remove(
	struct supervisor *sup, const char *name, struct waiter who, struct cua_err *err) {
	int r = check_unused(sup, name, err);
	if (r < 0) {
		return r;
	}
	char from[PLAN_PATH];
	char to[PLAN_PATH];
	char id[CUA_ID_SIZE];
	cua_id_new(id);
	template_path(&sup->host, name, from);
	(void)snprintf(
		to, sizeof(to), "%s/templates/%s%s", sup->host.state_dir, TEMPLATE_REMOVED, id);
	if (rename(from, to) < 0) {
		return errno == ENOENT ? cua_err_about(err, CUA_NOT_FOUND, "template",
						 "there is no template %s", name)
				       : cua_err_errno(err, errno, "cannot remove %s", name);
	}
	struct removal *removal = loop_alloc(sizeof(*removal));
	*removal = (struct removal){.sup = sup, .who = who};
	(void)op_start(sup->ops, &(struct op_spec){
					 .work = steps_remove_tree,
					 .args = to,
					 .args_size = sizeof(to),
					 .deadline_ms = 10 * CUA_OP_MS,
					 .on_done = on_removed,
					 .data = removal,
				 });
	return 0;
}
