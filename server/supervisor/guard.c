/* The firewall's watch; see the header. The rules themselves are in firewall.c. */
#include "server/supervisor/guard.h"

#include <unistd.h>

#include "cua/log.h"
#include "server/supervisor/firewall.h"
#include "server/supervisor/reclaim.h"
#include "server/supervisor/roster.h"

struct guard {
	struct supervisor *sup;
	int fd;
	struct loop_io *io;
	struct op *op;
	struct loop_timer *retry;
	struct loop_backoff backoff;
};

static void mend(struct guard *guard);

static void on_retry(void *data) {
	struct guard *guard = data;
	guard->retry = NULL;
	mend(guard);
}

static void on_mended(void *data, int code, const struct cua_err *err) {
	struct guard *guard = data;
	guard->op = NULL;
	if (code < 0) {
		cua_log(CUA_LOG_ERROR, "the firewall cannot be put back: %s", err->message);
		guard->retry = loop_timer_add(
			guard->sup->loop, loop_backoff_next(&guard->backoff), on_retry, guard);
		return;
	}
	cua_log(CUA_LOG_WARN, "the firewall was removed by somebody and is back");
	loop_io_pause(guard->io, false); /* what came meanwhile is still in the socket */
}

static void mend(struct guard *guard) {
	size_t size = 0;
	_cleanup_free_ struct reclaim_args *args = roster_plans(guard->sup, &size);
	loop_io_pause(guard->io, true);
	loop_backoff_started(&guard->backoff);
	guard->op = op_start(guard->sup->ops, &(struct op_spec){
						      .work = reclaim_firewall,
						      .args = args,
						      .args_size = size,
						      .deadline_ms = CUA_OP_MS,
						      .on_done = on_mended,
						      .data = guard,
					      });
}

static void on_change(void *data) {
	struct guard *guard = data;
	if (firewall_watch_read(guard->fd) > 0 && !guard->op && !guard->sup->stopping) {
		mend(guard);
	}
}

struct guard *guard_new(struct supervisor *sup, struct cua_err *err) {
	int fd = firewall_watch_open(err);
	if (fd < 0) {
		return NULL;
	}
	struct guard *guard = loop_alloc(sizeof(*guard));
	*guard = (struct guard){.sup = sup, .fd = fd};
	guard->io = loop_io_add(sup->loop, fd, on_change, NULL, guard, err);
	return guard->io ? guard : guard_free(guard);
}

struct guard *guard_free(struct guard *guard) {
	if (guard) {
		guard->io = loop_io_remove(guard->io);
		guard->retry = loop_timer_cancel(guard->retry);
		(void)close(guard->fd);
		free(guard);
	}
	return NULL;
}
