/* See tests.h. */
#include "test/tests.h"

enum { MAX_TESTS = 64 };

static struct CMUnitTest tests[MAX_TESTS];
static int lines[MAX_TESTS];
static size_t n_tests;

/* Compilers call constructors in an order of their own. */
void add_test(int line, struct CMUnitTest test)
{
    if (n_tests == MAX_TESTS)
        abort();
    size_t at = n_tests++;
    for (; at > 0 && lines[at - 1] > line; at--) {
        lines[at] = lines[at - 1];
        tests[at] = tests[at - 1];
    }
    lines[at] = line;
    tests[at] = test;
}

bool in_full(void)
{
    const char *ci = getenv("CI"), *hinge_ci = getenv("HINGE_CI");
    return (ci != NULL && strcmp(ci, "true") == 0) || (hinge_ci != NULL && strcmp(hinge_ci, "all") == 0);
}

int run_program(const char *only)
{
    if (only != NULL)
        cmocka_set_test_filter(only);
    return _cmocka_run_group_tests("tests", tests, n_tests, NULL, NULL);
}
