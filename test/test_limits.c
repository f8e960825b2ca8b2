/*
 * Limits that the caller sets: the time limit and a cancel, by a clock that is the work done, so that nothing here
 * depends on how busy the machine is; and the budget of memory, by the system's own figure for this process.
 */
#include "test/support.h"

#include <hinge/io.h>
#include <hinge/theory.h>

#include <malloc.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 100000 };

/* ---- a clock ----------------------------------------------------------------------------------------------------- */

/* The linker puts these in front of what hinge calls. A second is 50 billion operations of BLAS and LAPACK, or 100,000
 * looks at the clock, between which other work is done. */
static atomic_ullong operations, looks;

static double now(void)
{
    return 1 + 2e-11 * (double)atomic_load(&operations) + 1e-5 * (double)atomic_load(&looks);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    atomic_fetch_add(&looks, 1);
    double seconds = now();
    t->tv_sec = (time_t)seconds;
    t->tv_nsec = (long)(1e9 * (seconds - (double)t->tv_sec));
    return 0;
}

static void count_work(double flop)
{
    atomic_fetch_add(&operations, (unsigned long long)flop);
}

#define COUNTED(name, parameters, arguments, flop)                         \
    void __real_##name parameters;                                         \
    void __wrap_##name parameters;                                         \
    void __wrap_##name parameters                                          \
    {                                                                      \
        count_work(flop);                                                  \
        __real_##name arguments;                                           \
    }

/* Enumerations of BLAS are int to the linker. */
COUNTED(cblas_sgemm,
        (int o, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb,
         float beta, float *c, int ldc),
        (o, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), 2.0 * m * n * k)
COUNTED(cblas_dgemm,
        (int o, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda, const double *b, int ldb,
         double beta, double *c, int ldc),
        (o, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), 4.0 * m * n * k) /* twice as long as in float */
COUNTED(cblas_dgemv,
        (int o, int ta, int m, int n, double alpha, const double *a, int lda, const double *x, int incx, double beta,
         double *y, int incy),
        (o, ta, m, n, alpha, a, lda, x, incx, beta, y, incy), 20.0 * m * n) /* memory is what it waits for */
COUNTED(cblas_dsyrk,
        (int o, int uplo, int ta, int n, int k, double alpha, const double *a, int lda, double beta, double *c,
         int ldc),
        (o, uplo, ta, n, k, alpha, a, lda, beta, c, ldc), 2.0 * n * n * k)
COUNTED(cblas_dtrsm,
        (int o, int side, int uplo, int ta, int diag, int m, int n, double alpha, const double *a, int lda, double *b,
         int ldb),
        (o, side, uplo, ta, diag, m, n, alpha, a, lda, b, ldb), 2.0 * m * n * (side == 141 ? m : n))

int __real_LAPACKE_dpotrf_work(int order, char uplo, int n, double *a, int lda);
int __wrap_LAPACKE_dpotrf_work(int order, char uplo, int n, double *a, int lda);
int __wrap_LAPACKE_dpotrf_work(int order, char uplo, int n, double *a, int lda)
{
    count_work(2.0 / 3 * n * n * n);
    return __real_LAPACKE_dpotrf_work(order, uplo, n, a, lda);
}

/* ---- runs that would take far longer ----------------------------------------------------------------------------- */

enum way { TRAIN, VALIDATE, LEAVE_ONE_OUT };

struct run {
    const char *name;
    enum way way;
    size_t n, d;
    hinge_task task;
    hinge_kernel kernel;
    double C, eps;
    hinge_solver solver;
    size_t rank;
    hinge_precision precision;
    int probability;
};

#define RBF(g) { .type = HINGE_RBF, .gamma = (g) }
#define LINEAR { .type = HINGE_LINEAR }

static const struct run runs[] = {
    { "block SMO, f32", TRAIN, LARGE, 50, HINGE_C_SVC, RBF(0.01), 1e3, 1e-3, HINGE_SOLVER_SMO, 0, 1, 0 },
    { "block SMO, f64", TRAIN, LARGE, 50, HINGE_EPSILON_SVR, RBF(0.01), 1e3, 1e-3, HINGE_SOLVER_SMO, 0, 2, 0 },
    { "block SMO, wide", TRAIN, LARGE, 600, HINGE_C_SVC, RBF(1e-3), 10, 1e-3, HINGE_SOLVER_SMO, 0, 0, 0 },
    { "interior point", TRAIN, LARGE, 600, HINGE_C_SVC, LINEAR, 1, 1e-9, HINGE_SOLVER_INTERIOR_POINT, 0, 0, 0 },
    { "low rank", TRAIN, 2000, 600, HINGE_C_SVC, RBF(1e-3), 10, 1e-3, HINGE_SOLVER_INTERIOR_POINT, 1500, 0, 0 },
    { "cross-validation", VALIDATE, LARGE, 50, HINGE_C_SVC, RBF(0.01), 1e3, 1e-3, HINGE_SOLVER_AUTO, 0, 0, 0 },
    { "calibration", TRAIN, 30000, 50, HINGE_C_SVC, RBF(0.01), 1, 1e-3, HINGE_SOLVER_AUTO, 0, 0, 1 },
    { "leave-one-out", LEAVE_ONE_OUT, 4000, 20, HINGE_C_SVC, RBF(0.5), 1, 1e-3, HINGE_SOLVER_AUTO, 0, 0, 0 },
};

struct wish {
    double at; /* when the run is to end */
    size_t calls;
};

static int ends_at(void *arg, const hinge_progress *progress)
{
    struct wish *wish = arg;
    wish->calls++;
    return now() >= wish->at;
}

/* Runs, ended by the clock or the callback; returns the seconds beyond the limit, and how it ended. */
static double ended_run(const struct run *run, const struct set *set, double limit, bool cancel, double *predictions,
                        hinge_outcome *outcome)
{
    hinge_params p = hinge_params_default(run->task);
    hinge_matrix x = set_matrix(set);
    hinge_model *model = NULL;
    hinge_report report = { 0 };
    hinge_leave_one_out_report loo = { 0 };
    double begin = now();
    struct wish wish = { .at = begin + limit };
    p.kernel = run->kernel;
    p.C = run->C;
    p.eps = run->eps;
    p.solver = run->solver;
    p.rank = run->rank;
    p.precision = run->precision;
    p.probability = run->probability;
    p.cache_bytes = (size_t)1 << 30;
    p.cpu_level = 3; /* rows by GEMM, whose work is counted */
    p.time_limit = cancel ? 0 : limit;
    p.threads = cancel ? 1 : 0; /* only the thread that began asks: others' work would count while it waits */
    p.progress = cancel ? ends_at : NULL;
    p.progress_arg = &wish;
    hinge_status status = run->way == TRAIN      ? hinge_train(&model, &x, set->y, &p, &report, &err)
                          : run->way == VALIDATE ? hinge_cross_validate(&x, set->y, &p, 5, predictions, &report, &err)
                                                 : hinge_leave_one_out(&x, set->y, &p, predictions, &loo, &err);
    double seconds = now() - begin;
    if (status != HINGE_OK)
        fail_msg("%s: %s", run->name, err.text);
    *outcome = run->way == LEAVE_ONE_OUT ? loo.outcome : report.outcome;
    hinge_model_free(model);
    assert_true(seconds >= limit);
    return seconds - limit;
}

static void keeps_to(const struct run *run, const struct set *set, bool cancel, double grace)
{
    const double limit = 0.1;
    double *predictions = malloc(run->n * sizeof *predictions);
    hinge_outcome outcome;
    for (size_t i = 0; i < run->n; i++)
        predictions[i] = -77;
    double over = ended_run(run, set, limit, cancel, predictions, &outcome);
    assert_int_equal(outcome, cancel ? HINGE_STOPPED : HINGE_TIME_LIMIT);
    if (run->way == VALIDATE) /* no fold is done by then, or none is left */
        for (size_t i = 0; i < run->n; i++)
            assert_true(isnan(predictions[i]) || predictions[i] == 1 || predictions[i] == -1);
    for (size_t i = 0; run->way == LEAVE_ONE_OUT && i < run->n; i++)
        assert_true(predictions[i] == -77);
    print_message("%-18s %s: work for %.3f s over %g s\n", run->name, cancel ? "cancel" : "limit ", over, limit);
    if (over > grace)
        fail_msg("%s: %.3f s beyond a %s after %.2f s", run->name, over, cancel ? "cancel" : "time limit", limit);
    free(predictions);
}

TEST(time_limits_and_cancels)
{
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        struct run run = runs[k];
        if (!in_full() && run.rank == 0) /* as many as the clock needs to see */
            run.n = run.way == LEAVE_ONE_OUT ? 1500 : run.d == 600 ? 12500 : 25000;
        struct set set = run.task == HINGE_EPSILON_SVR ? set_regression(k, run.n, run.d)
                                                       : set_two_class(k, run.n, run.d, 2);
        keeps_to(&run, &set, false, 0.1);
        keeps_to(&run, &set, true, 0.2); /* it is asked every 0.1 s */
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* A figure of /proc/self/status in bytes. */
static double own_memory(const char *key)
{
    char line[200];
    double kib = NAN;
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtod(line + strlen(key), NULL);
    fclose(file);
    return 1024 * kib;
}

/* From now on VmHWM counts anew; false: not permitted. */
static bool forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    bool written = file != NULL && fputs("5", file) >= 0;
    return file != NULL && fclose(file) == 0 && written;
}

static const char *const names[] = { "a9a",      "abalone",     "breast_cancer", "cadata", "casp",     "cod-rna",
                                     "covtype.binary", "cpusmall", "digits", "heart_scale", "ijcnn1", "letter",
                                     "mnist",    "satimage",    "shuttle" };

/* The first rows of a shared set, or of one that ships; false: not there. */
static bool read_set(const char *name, hinge_data *data)
{
    const char *const folders[] = { getenv("HINGE_DATA"), getenv("HINGE_SOURCE") };
    char path[400];
    for (int k = 0; k < 2; k++) {
        if (folders[k] == NULL)
            continue;
        snprintf(path, sizeof path, "%s%s/%s.train.xz", folders[k], k == 0 ? "" : "/data", name);
        if (access(path, R_OK) == 0 && hinge_data_read(path, NULL, data, NULL) == HINGE_OK)
            return true;
    }
    return false;
}

static bool is_regression(const char *name)
{
    return strcmp(name, "abalone") == 0 || strcmp(name, "cadata") == 0 || strcmp(name, "casp") == 0 ||
           strcmp(name, "cpusmall") == 0;
}

/* What the process grew by at most, against what it was granted and what hinge says. */
static void check_budget(const char *name, const hinge_data *data, size_t rows, size_t budget)
{
    hinge_matrix x = data->x;
    hinge_params p = hinge_params_default(is_regression(name) ? HINGE_EPSILON_SVR : HINGE_C_SVC);
    hinge_report report;
    hinge_model *model = NULL;
    x.rows = x.rows < rows ? x.rows : rows;
    p.cache_bytes = budget;
    p.time_limit = 0.4; /* by then it is full */
    p.threads = 2;
    malloc_trim(0); /* what was freed is no room for this */
    double before = own_memory("VmRSS:");
    if (!forget_peak())
        skip_because("/proc/self/clear_refs cannot be written");
    if (hinge_train(&model, &x, data->y, &p, &report, &err) != HINGE_OK)
        fail_msg("%s: %s", name, err.text);
    double grown = own_memory("VmHWM:") - before, told = (double)report.memory_bytes;
    print_message("%-15s %6zu x %-4zu budget %5.0f MB: rows %5.0f, in all %5.0f, the system says %5.0f MB\n", name,
                  x.rows, x.cols, 1e-6 * (double)budget, 1e-6 * (double)report.cache_used, 1e-6 * told, 1e-6 * grown);
    assert_true(report.cache_bytes == budget && report.cache_used <= budget);
    if (grown > 1.05 * told + 2e6) /* the C library's and OpenMP's own */
        fail_msg("%s: hinge says %.1f MB, the system %.1f MB", name, 1e-6 * told, 1e-6 * grown);
    hinge_model_free(model);
}

/* The text of a model of n support vectors of d features from 0 to 255. */
static struct text text_of_bytes(size_t n, size_t d)
{
    struct text text = { get(n * (d * 9 + 16) + 300, 1), 0 };
    uint64_t seed = 5820040;
    char *p = text.bytes;
    p += sprintf(p, "svm_type c_svc\nkernel_type rbf\ngamma 1e-6\nnr_class 2\ntotal_sv %zu\nrho 0\n", n);
    p += sprintf(p, "label 1 -1\nnr_sv %zu %zu\nSV\n", n / 2, n - n / 2);
    for (size_t i = 0; i < n; i++) {
        p += sprintf(p, "%d", i < n / 2 ? 1 : -1);
        for (size_t f = 0; f < d; f++)
            p += sprintf(p, " %zu:%d", f + 1, (int)(draw(&seed) % 256));
        p += sprintf(p, "\n");
    }
    text.size = (size_t)(p - text.bytes);
    return text;
}

/* Support vectors that are bytes are read as such: there is never a copy of them in f64. */
TEST(memory_of_models_of_bytes)
{
    enum { N = 6000, D = 500 };
    struct text text = text_of_bytes(N, D), small = text_of_bytes(200, D);
    hinge_model *model = NULL;
    assert_ok(hinge_model_parse(&model, "small", small.bytes, small.size, NULL, &err)); /* what stays */
    hinge_model_free(model);
    malloc_trim(0);
    double before = own_memory("VmRSS:"), bytes = (double)N * D;
    if (!forget_peak())
        skip_because("/proc/self/clear_refs cannot be written");
    assert_ok(hinge_model_parse(&model, "text", text.bytes, text.size, NULL, &err));
    double grown = own_memory("VmHWM:") - before;
    print_message("%.0f MB of bytes: %.0f MB\n", 1e-6 * bytes, 1e-6 * grown);
    assert_true(grown < 4 * bytes); /* panels and norms among them */
    hinge_model_free(model);
}

TEST(memory_budgets)
{
    size_t found = 0;
    struct set warm = set_two_class(1, 4000, 60, 1); /* BLAS and OpenMP take what they keep */
    hinge_params p = hinge_params_default(HINGE_C_SVC);
    p.threads = 2;
    fit(&warm, &p, NULL);
    p.precision = HINGE_PRECISION_F64;
    fit(&warm, &p, NULL);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        hinge_data data = { 0 };
        if (!read_set(names[k], &data))
            continue;
        found++;
        check_budget(names[k], &data, 20000, (size_t)20 << 20);
        check_budget(names[k], &data, 20000, (size_t)200 << 20);
        hinge_data_free(&data);
    }
    print_message("%zu of %zu sets; the others are where HINGE_DATA says\n", found, sizeof names / sizeof *names);
    assert_true(found >= 2);
}

/* No row fits, or a handful: the same optimum. */
TEST(small_budgets)
{
    struct set set = set_two_class(7, 3000, 10, 1.5);
    const size_t budgets[] = { 0, 1, 64, 4096, 3 * 3000 * sizeof(float), 1 << 20 };
    hinge_params p = hinge_params_default(HINGE_C_SVC);
    double objective = NAN;
    p.C = 10;
    p.eps = 1e-5;
    for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
        hinge_report report;
        p.cache_bytes = budgets[k];
        converged(&set, &p, &report);
        assert_true(k == 0 || report.cache_used <= budgets[k]);
        objective = k == 0 ? report.objective : objective;
        assert_close(report.objective, objective, 1e-6);
    }
}

static int questions; /* to the system, how much memory there is */

size_t __real_hg_total_memory(void);
size_t __wrap_hg_total_memory(void);
size_t __wrap_hg_total_memory(void)
{
    questions++;
    return __real_hg_total_memory();
}

/* What takes longer than a small training is not done for it, and nothing else changes. */
TEST(small_trainings)
{
    const size_t rows[] = { 20, 50, 190, 400 };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct set set = set_two_class(8, rows[k], 5, 1);
        hinge_params p = hinge_params_default(HINGE_C_SVC);
        hinge_report report, r;
        questions = 0;
        fit(&set, &p, &report);
        assert_int_equal(questions > 0, rows[k] > 200);
        p.cache_bytes = __real_hg_total_memory() / 8;
        fit(&set, &p, &r);
        assert_true(r.objective == report.objective && r.iterations == report.iterations);
        assert_string_equal(r.path, report.path);
    }
}
