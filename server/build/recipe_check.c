/* What the schema of recipes cannot say: which names, paths and modes are sound.
 *
 * Package names reach a command line and services a tab-separated file, so nothing odd passes. */
#include "server/build/recipe.h"

#include <ctype.h>

#include "cua/ident.h"

static int refuse(struct cua_err *err, const char *what, const char *text) {
	return cua_err_about(err, CUA_INVALID, what, "\"%.100s\" is not good as %s", text, what);
}

static bool package_ok(const char *name) {
	if (!islower((unsigned char)name[0]) && !isdigit((unsigned char)name[0])) {
		return false;
	}
	return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789+.-")] == '\0';
}

static bool path_ok(const char *path) {
	size_t len = strlen(path);
	return path[0] == '/' && len > 1 && path[len - 1] != '/' && !strstr(path, "/../") &&
	       !strstr(path, "//") && (len < 3 || strcmp(path + len - 3, "/..") != 0);
}

static bool line_ok(const char *text) {
	return !strpbrk(text, "\t\n\r");
}

static bool mode_ok(const char *mode) {
	return mode[strspn(mode, "01234567")] == '\0';
}

static int file_check(const struct recipe_file *file, struct cua_err *err) {
	if (!path_ok(file->path)) {
		return refuse(err, "path", file->path);
	}
	if (file->mode && !mode_ok(file->mode)) {
		return refuse(err, "mode", file->mode);
	}
	return 0;
}

static int service_check(const struct recipe_service *service, struct cua_err *err) {
	if (!cua_name_ok(service->name)) {
		return refuse(err, "service", service->name);
	}
	if (service->user && !cua_user_ok(service->user)) {
		return refuse(err, "user", service->user);
	}
	if (service->wait && (!path_ok(service->wait) || strpbrk(service->wait, ", \t\n"))) {
		return refuse(err, "wait", service->wait);
	}
	for (unsigned i = 0; i < service->command_count; i++) {
		if (!line_ok(service->command[i])) {
			return refuse(err, "command", service->command[i]);
		}
	}
	return 0;
}

int recipe_check(const struct recipe *recipe, struct cua_err *err) {
	int r = 0;
	if (!cua_name_ok(recipe->name)) {
		return refuse(err, "name", recipe->name);
	}
	for (unsigned i = 0; i < recipe->packages_count; i++) {
		if (!package_ok(recipe->packages[i])) {
			return refuse(err, "package", recipe->packages[i]);
		}
	}
	for (unsigned i = 0; i < recipe->files_count && r == 0; i++) {
		r = file_check(&recipe->files[i], err);
	}
	for (unsigned i = 0; i < recipe->services_count && r == 0; i++) {
		r = service_check(&recipe->services[i], err);
	}
	return r;
}
