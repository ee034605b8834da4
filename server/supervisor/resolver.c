/* dnsmasq as a child; see the header. Never root: it starts as its user with one capability, for
 * port 53, and therefore dies with us, which a program that changes its ids by itself would not. */
#include "server/supervisor/resolver.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cua/log.h"
#include "server/supervisor/spawn.h"

#define DNSMASQ "/usr/sbin/dnsmasq"
#define ARGS_MAX 24

struct resolver {
	struct loop *loop;
	struct loop_child *child;
	struct loop_timer *restart;
	struct loop_backoff backoff;
	char listen[64];
	char server[4][64];
	char *argv[ARGS_MAX];
};

static void resolver_start(struct resolver *resolver);

static void on_restart(void *data) {
	struct resolver *resolver = data;
	resolver->restart = NULL;
	resolver_start(resolver);
}

static void schedule(struct resolver *resolver) {
	resolver->restart = loop_timer_add(
		resolver->loop, loop_backoff_next(&resolver->backoff), on_restart, resolver);
}

static void on_exit_status(void *data, int status) {
	struct resolver *resolver = data;
	resolver->child = NULL;
	cua_log(CUA_LOG_WARN, "dnsmasq %s %d, sessions have no name server until it is back",
		WIFSIGNALED(status) ? "was killed by signal" : "ended with status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	schedule(resolver);
}

static int launch(struct resolver *resolver, struct cua_err *err) {
	struct spawn spawn = {.path = DNSMASQ,
		.argv = resolver->argv,
		.input = -1,
		.output = -1,
		.edge = -1,
		.drop = true,
		.keep_port = true,
		.parent_death = SIGKILL};
	int r = spawn_user("dnsmasq", &spawn.uid, &spawn.gid, err);
	if (r < 0) {
		r = spawn_user("nobody", &spawn.uid, &spawn.gid, err);
	}
	if (r < 0) {
		return r;
	}
	loop_backoff_started(&resolver->backoff);
	int pidfd = -1;
	pid_t pid = spawn_program(&spawn, &pidfd, err);
	if (pid < 0) {
		return (int)pid;
	}
	resolver->child = loop_child_add(resolver->loop, pid, pidfd, on_exit_status, resolver, err);
	return resolver->child ? 0 : -(int)CUA_INTERNAL;
}

static void resolver_start(struct resolver *resolver) {
	struct cua_err err = {0};
	if (launch(resolver, &err) < 0) {
		cua_log(CUA_LOG_WARN, "cannot start the sessions' name server: %s", err.message);
		schedule(resolver);
	}
}

static void make_args(struct resolver *resolver, const cua_Config *config) {
	static const char *const fixed[] = {
		"dnsmasq",
		"--keep-in-foreground",
		"--conf-file=/dev/null",
		"--pid-file=",
		"--bind-interfaces",
		"--no-hosts",
		"--domain-needed",
		"--bogus-priv",
		"--filter-AAAA",
		"--cache-size=2000",
		"--dns-forward-max=10000",
		"--log-facility=-",
		"--quiet-dhcp",
	};
	size_t n = 0;
	for (size_t i = 0; i < CUA_COUNT(fixed); i++) {
		resolver->argv[n++] = (char *)(uintptr_t)fixed[i];
	}
	resolver->argv[n++] = resolver->listen;
	for (size_t i = 0; i < config->dns_count; i++) {
		(void)snprintf(resolver->server[i], sizeof(resolver->server[i]), "--server=%s",
			config->dns[i]);
		resolver->argv[n++] = resolver->server[i];
	}
	resolver->argv[n++] =
		(char *)(uintptr_t)(config->dns_count > 0 ? "--no-resolv"
							  : "--resolv-file=/etc/resolv.conf");
	resolver->argv[n] = NULL;
}

struct resolver *resolver_new(struct loop *loop, const cua_Config *config, const char *gateway) {
	struct resolver *resolver = loop_alloc(sizeof(*resolver));
	resolver->loop = loop;
	(void)snprintf(resolver->listen, sizeof(resolver->listen), "--listen-address=%s", gateway);
	make_args(resolver, config);
	resolver_start(resolver);
	return resolver;
}

struct resolver *resolver_free(struct resolver *resolver) {
	if (resolver) {
		resolver->restart = loop_timer_cancel(resolver->restart);
		resolver->child = loop_child_drop(resolver->child);
		free(resolver);
	}
	return NULL;
}
