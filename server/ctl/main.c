/* cuactl: what people type. */
#include <signal.h>

#include "server/ctl/ctl.h"

int main(int argc, char **argv) {
	(void)signal(SIGPIPE, SIG_IGN);
	return ctl_main(argc, argv);
}
