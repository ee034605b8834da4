/* cuad: options, the rights that it must not have, then the loop. It is started by the supervisor,
 * with the configuration file as its standard input and the edge E1 as descriptor 3. */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "cua/log.h"
#include "server/front/config.h"
#include "server/front/front.h"
#include "server/front/harden.h"

#define EDGE 3

static int serve(const char *state_dir, struct cua_err *err) {
	struct front *front = front_new(STDIN_FILENO, EDGE, state_dir, err);
	if (!front) {
		return -(int)err->code;
	}
	loop_run(front->loop);
	(void)front_free(front);
	return 0;
}

int main(int argc, char **argv) {
	static const struct option options[] = {{"print-config", no_argument, NULL, 'p'},
		{"state", required_argument, NULL, 's'}, {"version", no_argument, NULL, 'v'}, {0}};
	const char *state_dir = "/var/lib/cuad";
	bool print = false;
	for (int c = 0; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 's':
			state_dir = optarg;
			break;
		case 'p':
			print = true;
			break;
		case 'v':
			return puts(CUAD_VERSION) < 0;
		default:
			return 2;
		}
	}
	cua_log_open("cuad", CUA_LOG_INFO);
	struct cua_err err = {0};
	int r = harden(&err);
	if (r == 0) {
		r = print ? config_print(STDIN_FILENO, EDGE, &err) : serve(state_dir, &err);
	}
	if (r < 0) {
		cua_log(CUA_LOG_ERROR, "%s", err.message);
	}
	return r < 0 ? 1 : 0;
}
