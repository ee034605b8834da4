/* The allow-list of system calls, by libseccomp: names that a machine lacks are left out. The
 * sanitizers' run time needs a few more, in a build that has them. */
#include "desktop/sandbox_calls.h"

#include <errno.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static const char *const allowed[] = {
	/* descriptors */
	"read",
	"write",
	"readv",
	"writev",
	"pread64",
	"close",
	"lseek",
	"fcntl",
	"dup",
	"dup2",
	"dup3",
	"poll",
	"ppoll",
	"select",
	"pselect6",
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"eventfd2",
	"pipe2",
	"fstat",
	"newfstatat",
	"statx",
	"stat",
	"lstat",
	"memfd_create",
	"ftruncate",
	"fallocate",
	"inotify_init1",
	"inotify_add_watch",
	"inotify_rm_watch",
	/* names: there are none but the X socket's */
	"openat",
	"open",
	"access",
	"faccessat",
	"faccessat2",
	"readlink",
	"readlinkat",
	"getcwd",
	/* sockets; socket() itself is below */
	"connect",
	"sendto",
	"recvfrom",
	"sendmsg",
	"recvmsg",
	"shutdown",
	"getsockopt",
	"setsockopt",
	"getsockname",
	"getpeername",
	/* memory; mapping code is below */
	"munmap",
	"mremap",
	"madvise",
	"brk",
	/* time */
	"clock_gettime",
	"clock_getres",
	"clock_nanosleep",
	"nanosleep",
	"gettimeofday",
	"time",
	"timer_create",
	"timer_settime",
	"timer_gettime",
	"timer_delete",
	/* itself */
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"sigaltstack",
	"restart_syscall",
	"futex",
	"getpid",
	"gettid",
	"getppid",
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"uname",
	"getrandom",
	"sched_yield",
	"sched_getaffinity",
	"getcpu",
	"sysinfo",
	"exit",
	"exit_group",
#ifdef CUAD_SANITIZE
	"prlimit64",
	"getrlimit",
	"set_robust_list",
	"rseq",
	"sched_setaffinity",
#endif
};

static const char *const deadly[] = {"execve", "execveat", "fork", "vfork", "clone", "clone3"};

/* A call that the kernel of this machine does not have is nothing to allow. */
static int add(scmp_filter_ctx ctx, uint32_t action, const char *name) {
	int number = seccomp_syscall_resolve_name(name);
	return number == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(ctx, action, number, 0);
}

static int add_plain(scmp_filter_ctx ctx) {
	int r = 0;
	for (size_t i = 0; r == 0 && i < CUA_COUNT(allowed); i++) {
		r = add(ctx, SCMP_ACT_ALLOW, allowed[i]);
	}
	for (size_t i = 0; r == 0 && i < CUA_COUNT(deadly); i++) {
		r = add(ctx, SCMP_ACT_KILL_PROCESS, deadly[i]);
	}
	return r;
}

/* Calls that are fine with some arguments: memory that is never code, the name of a mapping, Unix
 * sockets, libuv's way to make a descriptor non-blocking, signals to itself (abort). */
static int add_narrow(scmp_filter_ctx ctx) {
	const struct {
		int call;
		unsigned argument;
		enum scmp_compare compare;
		scmp_datum_t value; /* of SCMP_CMP_MASKED_EQ: the mask, whose bits must be 0 */
	} narrow[] = {
		{SCMP_SYS(mmap), 2, SCMP_CMP_MASKED_EQ, PROT_EXEC},
		{SCMP_SYS(mprotect), 2, SCMP_CMP_MASKED_EQ, PROT_EXEC},
		{SCMP_SYS(prctl), 0, SCMP_CMP_EQ, PR_SET_VMA},
		{SCMP_SYS(socket), 0, SCMP_CMP_EQ, AF_UNIX},
		{SCMP_SYS(ioctl), 1, SCMP_CMP_EQ, FIONBIO},
		{SCMP_SYS(ioctl), 1, SCMP_CMP_EQ, FIOCLEX},
		{SCMP_SYS(ioctl), 1, SCMP_CMP_EQ, FIONREAD},
		{SCMP_SYS(tgkill), 0, SCMP_CMP_EQ, (scmp_datum_t)getpid()},
	};
	int r = 0;
	for (size_t i = 0; r == 0 && i < CUA_COUNT(narrow); i++) {
		struct scmp_arg_cmp test = {.arg = narrow[i].argument,
			.op = narrow[i].compare,
			.datum_a = narrow[i].value,
			.datum_b = 0};
		r = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, narrow[i].call, 1, &test);
	}
	return r;
}

static void context_free(scmp_filter_ctx *ctx) {
	if (*ctx) {
		seccomp_release(*ctx);
	}
}

int sandbox_calls_filter(struct cua_err *err) {
	_cleanup_(context_free) scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!ctx) {
		return cua_err_set(err, CUA_EXHAUSTED, "sandbox: no memory for a filter");
	}
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	if (r == 0) {
		r = add_plain(ctx);
	}
	if (r == 0) {
		r = add_narrow(ctx);
	}
	if (r == 0) {
		r = seccomp_load(ctx);
	}
	return r == 0 ? 0 : cua_err_errno(err, r, "sandbox: cannot filter system calls");
}
