/*
 * Tells what machine and what BLAS this is, for reports and for a warning: with AVX-512 in the processor, an OpenBLAS
 * that does not know the processor chooses kernels without (tools/restart.c starts the command again with better ones).
 * OpenBLAS's and BLIS's own functions are looked up weakly: any CBLAS will do.
 */
#include "lib/base/base.h"
#include "hg_config.h"

#include <cblas.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#if HG_BLAS_IS_OPENBLAS /* where no name can be looked up weakly */
#define HAVE(f) 1
#define name_blis(name, size) false
#elif defined(__GNUC__) && defined(__ELF__)
extern char *openblas_get_config(void) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));
extern int openblas_get_parallel(void) __attribute__((weak));
extern char *bli_info_get_version_str(void) __attribute__((weak));
extern int bli_arch_query_id(void) __attribute__((weak));
extern char *bli_arch_string(int id) __attribute__((weak));
#define HAVE(f) ((f) != NULL)

/* Names BLIS, its version and the kernels that it chose; false: this is another BLAS. */
static bool name_blis(char *name, size_t size)
{
    if (!HAVE(bli_info_get_version_str) || !HAVE(bli_arch_query_id) || !HAVE(bli_arch_string))
        return false;
    snprintf(name, size, "BLIS %s %s", bli_info_get_version_str(), bli_arch_string(bli_arch_query_id()));
    return true;
}
#else
#define HAVE(f) 0
#define name_blis(name, size) false
#endif

/* Takes "OpenBLAS 0.3.21" out of "OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY USE_OPENMP Zen MAX_THREADS=64" */
static int name_length(const char *config)
{
    const char *space = strchr(config, ' ');
    space = space != NULL ? strchr(space + 1, ' ') : NULL;
    return space != NULL ? (int)(space - config) : (int)strlen(config);
}

/* Calls a BLAS slow where the processor has AVX-512 and the kernels that OpenBLAS names are none of those for it. */
hinge_machine hg_processor_info(void)
{
    static const char *const wide[] = { "SkylakeX", "Cooperlake", "SapphireRapids", "Zen4", "Zen5" };
    hinge_machine m;
    memset(&m, 0, sizeof m);
    m.threads = omp_get_max_threads();
    m.cpu_level = hg_cpu_level(0);
    m.avx512 = m.cpu_level == 4;
    if (name_blis(m.blas, sizeof m.blas)) /* though LAPACKE may bring OpenBLAS along */
        return m;
    if (!HAVE(openblas_get_config) || !HAVE(openblas_get_corename) || !HAVE(openblas_get_parallel)) {
        snprintf(m.blas, sizeof m.blas, "BLAS");
        return m;
    }
    const char *config = openblas_get_config(), *core = openblas_get_corename();
    int parallel = openblas_get_parallel();
    static const char *const build[] = { "serial", "pthread", "openmp" };
    snprintf(m.blas, sizeof m.blas, "%.*s %s %s", name_length(config), config,
             parallel >= 0 && parallel <= 2 ? build[parallel] : "?", core);
    m.blas_is_openmp = parallel == 2;
    m.blas_slow = m.avx512;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strcmp(core, wide[i]) == 0)
            m.blas_slow = 0;
    return m;
}

/* Adds the memory, for which files of the system are read. */
hinge_machine hinge_machine_info(void)
{
    hinge_machine m = hg_processor_info();
    m.total_memory = hg_total_memory();
    return m;
}
