/* The main of a Check program: one suite, one case, every test in its own process. */
#pragma once

#include <check.h>
#include <stddef.h>

/* Runs the tests; the exit status. */
static inline int suite_run(const char *name, const TTest *const *tests, size_t count) {
	Suite *suite = suite_create(name);
	TCase *tc = tcase_create(name);
	for (size_t i = 0; i < count; i++) {
		tcase_add_test(tc, tests[i]);
	}
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
