/*
 * The command anew, with a faster BLAS core.
 */
#include <stdlib.h>
#include <string.h>

#include "common.h"

static char **original_argv; /* before getopt sorts it */

void restart_if_slow(int allowed, int verbose)
{
    const char *off = getenv("HINGE_NO_RESTART");
    hinge_machine machine;
    if (!allowed || getenv("OPENBLAS_CORETYPE") || (off && *off && strcmp(off, "0") != 0))
        return;
    machine = hinge_machine_info();
    if (!machine.avx512 || !machine.blas_slow)
        return;
    if (set_variable("OPENBLAS_CORETYPE", "SkylakeX") || set_variable("HINGE_NO_RESTART", "1"))
        return;
    if (verbose)
        fprintf(stderr, "%s runs kernels without AVX-512: starting again with OPENBLAS_CORETYPE=SkylakeX\n",
                machine.blas);
    fflush(NULL);
    start_again(original_argv);
    if (verbose)
        warn("could not start again: going on with the slower BLAS kernels");
}

void remember_arguments(int argc, char **argv)
{
    original_argv = allocate((size_t)argc + 1, sizeof *original_argv);
    memcpy(original_argv, argv, (size_t)argc * sizeof *original_argv);
}
