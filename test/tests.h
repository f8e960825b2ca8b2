/*
 * A program of tests. What begins with TEST(name) is run, without a list of them: in the order of the lines where they
 * stand, each with the end that all tests of the program have. Of a program with a word behind it, the test of that
 * name is run alone.
 */
#ifndef TEST_TESTS_H
#define TEST_TESTS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define TEST_WITH(name, set_up, tear_down) \
    static void name(void **state); \
    __attribute__((constructor)) static void add_##name(void) \
    { \
        add_test(__LINE__, (struct CMUnitTest){ #name, name, set_up, tear_down, NULL }); \
    } \
    static void name(void **state)

#define TEST(name) TEST_WITH(name, NULL, NULL) /* or what the program defines instead */

void add_test(int line, struct CMUnitTest test);

/* Runs them, for a program with a main of its own, as that of others does; returns how many failed. */
int run_program(const char *only);

/* Whether all cases of a test are to be made, where CI=true or HINGE_CI=all, and not the part of them that ./check has
 * time for. */
bool in_full(void);

/* Ends a test that cannot be made here; scripts/count-tests.py tells why. */
#define skip_because(reason) (print_message("%s\n", reason), skip())

#endif
