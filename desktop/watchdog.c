/* POSIX timers whose signal carries what to do, so that the handler needs nothing global. A signal,
 * because the loop is not running when it is needed. */
#include "desktop/watchdog.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#define CUT_SECS 5
#define END_SECS 15
#define END_STATUS 70

static void on_alarm(int number, siginfo_t *info, void *context) {
	(void)number;
	(void)context;
	int saved = errno;
	if (info->si_code != SI_TIMER) {
		return;
	}
	if (info->si_value.sival_int < 0) {
		_exit(END_STATUS);
	}
	(void)shutdown(info->si_value.sival_int, SHUT_RDWR);
	errno = saved;
}

static int make_timer(int value, timer_t *ret, struct cua_err *err) {
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGALRM,
		.sigev_value = {.sival_int = value}};
	if (timer_create(CLOCK_MONOTONIC, &event, ret) < 0) {
		return cua_err_errno(err, errno, "cannot create a timer");
	}
	return 0;
}

static void set_timer(timer_t timer, time_t secs) {
	struct itimerspec when = {.it_value = {.tv_sec = secs}};
	(void)timer_settime(timer, 0, &when, NULL);
}

int watchdog_init(struct watchdog *dog, struct cua_err *err) {
	*dog = (struct watchdog){0};
	struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};
	if (sigaction(SIGALRM, &action, NULL) < 0) {
		return cua_err_errno(err, errno, "cannot handle SIGALRM");
	}
	int r = make_timer(-1, &dog->end, err);
	dog->has_end = r == 0;
	return r;
}

static void drop_cut(struct watchdog *dog) {
	if (dog->has_cut) {
		(void)timer_delete(dog->cut);
	}
	dog->has_cut = false;
}

void watchdog_done(struct watchdog *dog) {
	drop_cut(dog);
	if (dog->has_end) {
		(void)timer_delete(dog->end);
	}
	dog->has_end = false;
}

int watchdog_guard(struct watchdog *dog, int fd, struct cua_err *err) {
	drop_cut(dog);
	if (fd < 0) {
		return 0;
	}
	int r = make_timer(fd, &dog->cut, err);
	dog->has_cut = r == 0;
	return r;
}

void watchdog_wake(struct watchdog *dog) {
	if (dog->has_cut) {
		set_timer(dog->cut, CUT_SECS);
	}
	if (dog->has_end) {
		set_timer(dog->end, END_SECS);
	}
}

void watchdog_sleep(struct watchdog *dog) {
	if (dog->has_cut) {
		set_timer(dog->cut, 0);
	}
	if (dog->has_end) {
		set_timer(dog->end, 0);
	}
}
