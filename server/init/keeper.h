/* The keeper: a small process between PID 1 and one command.
 *
 * It is the command's parent and subreaper, pumps its terminal, kills all of it, and tells PID 1
 * how it ended. PID 1 itself therefore never waits for a file system, a terminal or a scan. When the
 * control socket closes the keeper kills the command with all its descendants and goes. When the
 * command ends by itself the keeper goes too, and what the command left in the background becomes
 * PID 1's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cua/err.h"
#include "cua/msg.h"

enum keeper_order_kind {
	KEEPER_SIGNAL = 1,
	KEEPER_RESIZE,
};

/* PID 1 to keeper, one datagram each. */
struct keeper_order {
	enum keeper_order_kind kind;
	int32_t signal;
	uint32_t columns;
	uint32_t rows;
};

enum keeper_report_kind {
	KEEPER_STARTED = 1, /* pid */
	KEEPER_ENDED, /* status, duration_us; the last one */
	KEEPER_FAILED, /* err; the last one */
};

/* Keeper to PID 1, one datagram each. */
struct keeper_report {
	enum keeper_report_kind kind;
	int32_t pid;
	int32_t status; /* as of waitpid */
	uint32_t duration_us;
	struct cua_err err;
};

/* What to run; everything stays the caller's. */
struct keeper_job {
	const cua_ExecStart *start;
	struct cua_span argv; /* lists of strings */
	struct cua_span env;
	int control; /* SOCK_SEQPACKET to PID 1 */
	const int *fd; /* stdio, or one stream socket with tty, or none with detach */
	uint64_t begun_us;
};

/* The life of a keeper, in a child made by spawn_fork(). */
_Noreturn void keeper_run(const struct keeper_job *job);
