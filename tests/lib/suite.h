/* The main of a Check program: its cases, every test in its own process. */
#pragma once

#include <check.h>
#include <stddef.h>

/* Tests that share what is set up before and torn down after each. */
struct suite_case {
	const char *name;
	SFun setup; /* may be NULL, like the next */
	SFun teardown;
	int seconds; /* for each test; 0 for Check's own limit */
	const TTest *const *tests;
	size_t count;
};

/* Runs the cases; the exit status. */
static inline int suite_run_cases(const char *name, const struct suite_case *cases, size_t count) {
	Suite *suite = suite_create(name);
	for (size_t i = 0; i < count; i++) {
		TCase *tc = tcase_create(cases[i].name);
		if (cases[i].seconds > 0) {
			tcase_set_timeout(tc, cases[i].seconds);
		}
		tcase_add_checked_fixture(tc, cases[i].setup, cases[i].teardown);
		for (size_t t = 0; t < cases[i].count; t++) {
			tcase_add_test(tc, cases[i].tests[t]);
		}
		suite_add_tcase(suite, tc);
	}
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}

/* The same for one case without a fixture. */
static inline int suite_run(const char *name, const TTest *const *tests, size_t count) {
	return suite_run_cases(
		name, &(struct suite_case){.name = name, .tests = tests, .count = count}, 1);
}
