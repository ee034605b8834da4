/* Lays out files, services and scripts of a recipe chain.
 *
 * The format of /etc/cuad/services is what cuad-init reads: one line a service, fields separated by
 * tabs: name, user, flags, command. */
#include "server/build/stage.h"

#include <errno.h>

#include "server/build/tree.h"

static void close_file(FILE **file) {
	if (*file) {
		(void)fclose(*file);
	}
}

static int write_files(const char *root, const struct recipe *recipe, struct cua_err *err) {
	for (unsigned i = 0; i < recipe->files_count; i++) {
		const struct recipe_file *file = &recipe->files[i];
		mode_t mode = file->mode ? (mode_t)strtoul(file->mode, NULL, 8) : 0644;
		int r = tree_write(root, file->path, file->content, mode, err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static void print_service(FILE *out, const struct recipe_service *service) {
	const char *separator = "";
	fprintf(out, "%s\t%s\t", service->name, service->user ? service->user : "agent");
	if (service->once) {
		fprintf(out, "once");
		separator = ",";
	}
	if (service->screen) {
		fprintf(out, "%sscreen", separator);
		separator = ",";
	}
	if (service->wait) {
		fprintf(out, "%swait=%s", separator, service->wait);
		separator = ",";
	}
	fprintf(out, "%s", separator[0] ? "" : "-");
	for (unsigned i = 0; i < service->command_count; i++) {
		fprintf(out, "\t%s", service->command[i]);
	}
	fprintf(out, "\n");
}

static int write_services(const char *root, const struct recipe_chain *chain, struct cua_err *err) {
	const struct recipe_service *list[RECIPE_SERVICES_MAX];
	_cleanup_free_ char *text = NULL;
	size_t len;
	int count = recipe_chain_services(chain, list, err);
	if (count < 0) {
		return count;
	}
	FILE *out = open_memstream(&text, &len);
	if (!out) {
		return cua_err_errno(err, errno, "cannot lay out the services");
	}
	for (int i = 0; i < count; i++) {
		print_service(out, list[i]);
	}
	if (fclose(out) != 0) {
		return cua_err_errno(err, errno, "cannot lay out the services");
	}
	return tree_write(root, "/etc/cuad/services", text, 0644, err);
}

/* Each recipe's script in its own subshell, so that one `exit 0` does not end the others. */
static int write_script(const char *dir, const struct recipe_chain *chain, struct cua_err *err) {
	char path[1024];
	(void)snprintf(path, sizeof path, "%s/script", dir);
	_cleanup_(close_file) FILE *out = fopen(path, "we");
	if (!out) {
		return cua_err_errno(err, errno, "cannot write %s", path);
	}
	for (size_t i = 0; i < chain->count; i++) {
		if (chain->item[i]->run) {
			fprintf(out, "(\n%s\n)\n", chain->item[i]->run);
		}
	}
	return fflush(out) != 0 ? cua_err_errno(err, errno, "cannot write %s", path) : 0;
}

int stage_write(const char *dir, const struct recipe_chain *chain, struct cua_err *err) {
	char root[1024];
	char name[64];
	int r = 0;
	(void)snprintf(root, sizeof root, "%s/stage", dir);
	for (size_t i = 0; i < chain->count && r == 0; i++) {
		r = write_files(root, chain->item[i], err);
	}
	(void)snprintf(name, sizeof name, "%s\n", recipe_chain_top(chain)->name);
	r = r < 0 ? r : write_services(root, chain, err);
	r = r < 0 ? r : tree_write(root, "/etc/cuad/template", name, 0644, err);
	return r < 0 ? r : write_script(dir, chain, err);
}
