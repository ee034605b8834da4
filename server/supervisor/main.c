/* cuad-supervisor: the root process that owns the desktops of a host. See supervisor.h. */
#include <signal.h>

#include "cua/log.h"
#include "cua/msg.h"
#include "server/supervisor/supervisor.h"

static int print_help(void) {
	_cleanup_free_ char *text = options_help();
	return text && fputs(text, stdout) >= 0 ? 0 : 1;
}

int main(int argc, char *argv[]) {
	struct options options;
	struct cua_err err;
	cua_log_open("cuad-supervisor", CUA_LOG_INFO);
	if (options_parse(argc, argv, &options, &err) < 0) {
		cua_log(CUA_LOG_ERROR, "%s", err.message);
		return 2;
	}
	if (options.help) {
		return print_help();
	}
	if (options.version) {
		return printf("cuad-supervisor %s\n", cua_build_id()) > 0 ? 0 : 1;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	return supervisor_run(&options);
}
