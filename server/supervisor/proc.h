/* Processes of the host that are not our children: identity, waiting and killing by pidfd. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What tells a process from a later one with the same number. */
struct proc_id {
	pid_t pid;
	pid_t parent;
	uint64_t start; /* clock ticks since boot */
};

/* Reads it from /proc. False when there is no such process, or only its zombie. */
bool proc_read(pid_t pid, struct proc_id *ret);

/* A pidfd of exactly this process, closed by the caller; -1 when it is gone. */
int proc_open(const struct proc_id *id);

/* Waits at most timeout_ms until the process has ended. True when it has. */
bool proc_wait(int pidfd, int timeout_ms);

/* Sends a signal; a process that is gone is no error. */
void proc_signal(int pidfd, int signal);

/* First line of /proc/PID/FILE that starts with prefix, its rest without blanks in front. */
bool proc_field(pid_t pid, const char *file, const char *prefix, char *ret, size_t size);

/* True if /proc/PID/FILE holds the text. */
bool proc_mentions(pid_t pid, const char *file, const char *text);
