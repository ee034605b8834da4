/* How long a click takes from the request at the worker's edge until the X server has done it, beside
 * a process of xdotool that clicks; one after the other, in turns, on the same server. Needs root. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <X11/Xlib.h>

#include "tests/lib/desk.h"
#include "tests/lib/suite.h"
#include "tests/lib/xvfb.h"

#define ROUNDS 100
#define READY_MS 20000

static double now_us(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) {
	double x = *(const double *)a;
	double y = *(const double *)b;
	return (x > y) - (x < y);
}

static double ours(struct desk *d, int action, const cua_Args *args) {
	double start = now_us();
	if (desk_do(d, action, args)->has_error) {
		ck_abort_msg("%s", d->msg.body.action_result.error.message);
	}
	return now_us() - start;
}

static double xdotool(const char *delay) {
	double start = now_us();
	if (!xvfb_run((const char *[]){"xdotool", "click", "--delay", delay, "1", NULL})) {
		ck_abort_msg("xdotool fails");
	}
	return now_us() - start;
}

static void row(const char *name, double *times, const double others[2]) {
	qsort(times, ROUNDS, sizeof(*times), compare);
	double median = times[ROUNDS / 2];
	printf("  %-28s %9.3f %9.3f", name, median / 1000, times[ROUNDS * 95 / 100] / 1000);
	for (int i = 0; others && i < 2; i++) {
		printf(" %9.0f", others[i] / median);
	}
	printf("\n");
}

static void measure(struct desk *d) {
	static double click[ROUNDS];
	static double size[ROUNDS];
	static double process[ROUNDS];
	static double hasty[ROUNDS];
	const cua_Args at = {.has_x = true, .x = 300, .has_y = true, .y = 300};
	(void)ours(d, CUA_ACTION_MOVE, &at);
	(void)xdotool("0");
	for (int i = 0; i < ROUNDS; i++) {
		click[i] = ours(d, CUA_ACTION_CLICK, &(cua_Args){0});
		size[i] = ours(d, CUA_ACTION_SCREEN_SIZE, &(cua_Args){0});
		process[i] = xdotool("100"); /* its default */
		hasty[i] = xdotool("0");
	}
	printf("\nClicks at the worker's edge, milliseconds; times faster than each xdotool\n");
	printf("  %-28s %9s %9s %9s %9s\n", "", "median", "p95", "click 1", "--delay 0");
	row("xdotool click 1, a process", process, NULL);
	row("xdotool click --delay 0 1", hasty, NULL);
	const double others[] = {process[ROUNDS / 2], hasty[ROUNDS / 2]};
	row("click, done by the server", click, others);
	row("screen_size, nothing but us", size, others);
}

/* What desk.h starts fails by ck_assert, which is for tests. */
START_TEST(clicks) {
	struct desk d;
	desk_init(&d);
	desk_start_xvfb(&d);
	desk_start_worker(&d);
	(void)setenv("DISPLAY", ":0", 1);
	Display *display = desk_paint();
	ck_assert(desk_wait_ready(&d, true, READY_MS));
	measure(&d);
	(void)XCloseDisplay(display);
	desk_done(&d);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {clicks};
	(void)setenv("CK_VERBOSITY", "minimal", 0);
	const struct suite_case bench = {
		.name = "click", .seconds = 120, .tests = tests, .count = CUA_COUNT(tests)};
	return suite_run_cases("bench", &bench, 1);
}
