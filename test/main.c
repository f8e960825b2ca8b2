/* The main of programs of tests that have none of their own: see tests.h. */
#include "test/tests.h"

int main(int argc, char **argv)
{
    return run_program(argv[argc > 1 ? 1 : argc]);
}
