/*
 * Who makes kernel values (params.maker): GEMM is a call of BLAS, which is counted here as the linker puts counters in
 * front of it, and the others call none; all of them make the values of the definition; what one cannot serve is
 * refused by name.
 */
#include "kernels/maker.h"
#include "test/support.h"

#include <stdatomic.h>

/* ---- counters of BLAS's calls ------------------------------------------------------------------------------------ */

/* Of products over `features` alone, which are those of kernel values: calls, and multiply-adds. */
static int features;
static atomic_ullong calls32, calls64, products;

static void count(atomic_ullong *calls, int m, int n, int k)
{
    if (k != features)
        return;
    atomic_fetch_add(calls, 1);
    atomic_fetch_add(&products, (unsigned long long)m * (unsigned long long)n * (unsigned long long)k);
}

#define COUNTED(name, real, calls)                                                                                  \
    void __real_##name(int o, int ta, int tb, int m, int n, int k, real alpha, const real *a, int lda,              \
                       const real *b, int ldb, real beta, real *c, int ldc);                                        \
    void __wrap_##name(int o, int ta, int tb, int m, int n, int k, real alpha, const real *a, int lda,              \
                       const real *b, int ldb, real beta, real *c, int ldc);                                        \
    void __wrap_##name(int o, int ta, int tb, int m, int n, int k, real alpha, const real *a, int lda,              \
                       const real *b, int ldb, real beta, real *c, int ldc)                                         \
    {                                                                                                               \
        count(calls, m, n, k);                                                                                      \
        __real_##name(o, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                     \
    }

COUNTED(cblas_sgemm, float, &calls32)
COUNTED(cblas_dgemm, double, &calls64)

static void begin_to_count(size_t d)
{
    features = (int)d;
    calls32 = calls64 = products = 0;
}

/* ---- trainings --------------------------------------------------------------------------------------------------- */

static const char *const NAMES[] = { "auto", "gemm", "panels", "lists", "counts" };
static const hinge_precision TYPES[] = { HINGE_PRECISION_F32, HINGE_PRECISION_F64 };

static hinge_params params_by(hinge_maker maker, size_t d)
{
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(1 / (double)d), 10);
    params.maker = maker;
    return params;
}

/* The path names the maker and the type of the rows. */
static void assert_path(const hinge_report *report, const char *maker, const char *type)
{
    char words[64];
    snprintf(words, sizeof words, ", %s %s, ", maker, type);
    assert_says(report->path, words);
}

/* What came of the training by plain loops: no violation above eps, and decision values. */
static void assert_solved(const hinge_model *model, const struct set *set, const hinge_params *params)
{
    struct plain_certificate plain = plain_certify(model, set, params);
    double *f = fit_decisions(model, set, HINGE_PRECISION_AUTO), *want = plain_decisions(model, set);
    assert_true(plain.kkt <= 1.05 * params->eps);
    for (size_t i = 0; i < set->n * hinge_model_n_problems(model); i++)
        assert_near(f[i], want[i], 1.1e-4 * fmax(1, fabs(hinge_model_rho(model)[0])));
}

/* Dense data of many features: all that the report counts as dot products are products of BLAS, on any processor. */
TEST(wide_data_go_by_gemm)
{
    enum { D = 530 };
    struct set set = set_two_class(1, 900, D, 3);
    hinge_params params = params_by(HINGE_MAKER_AUTO, D);
    hinge_report report;
    for (int level = 1; level <= 4; level++) {
        params.cpu_level = level;
        begin_to_count(D);
        hinge_model *model = fit(&set, &params, &report);
        assert_path(&report, "gemm", "f32");
        assert_true(calls32 > 0 && report.gflop > 0);
        assert_close(2e-9 * (double)products, report.gflop, 1e-9);
        begin_to_count(D);
        fit_decisions(model, &set, HINGE_PRECISION_F32);
        assert_true(calls32 > 0 && calls64 == 0 && products == set.n * hinge_model_n_sv(model) * D);
        if (level == 4)
            assert_solved(model, &set, &params);
    }
}

/* Each maker by name on dense and on sparse data, in both types: its path, BLAS called by GEMM alone, a solution. */
TEST(makers_by_name)
{
    static const size_t d[] = { 37, 150, 530 };
    for (size_t k = 0; k < 18; k++) {
        struct set set = set_two_class(2 + k, 500, d[k / 6], 2);
        for (size_t i = 0; k % 2 == 1 && i < set.n * set.d; i++)
            set.x[i] = i % 5 != 0 ? 0 : set.x[i];
        hinge_maker maker = (hinge_maker)(HINGE_MAKER_GEMM + k / 2 % 3);
        hinge_params params = params_by(maker, set.d);
        for (int type = 0; type < 2; type++) {
            hinge_report report;
            params.precision = TYPES[type];
            begin_to_count(set.d);
            hinge_model *model = fit(&set, &params, &report);
            assert_path(&report, NAMES[maker], type == 0 ? "f32" : "f64");
            assert_int_equal((type == 0 ? calls32 : calls64) > 0, maker == HINGE_MAKER_GEMM);
            assert_solved(model, &set, &params);
        }
    }
}

TEST(counts_by_name)
{
    struct set set = set_two_class(3, 400, 60, 2);
    hinge_params params = params_by(HINGE_MAKER_COUNTS, set.d);
    hinge_report report;
    for (size_t i = 0; i < set.n * set.d; i++)
        set.x[i] = set.x[i] > 0;
    if (hg_cpu_level(0) < HG_COUNTS_LEVEL)
        skip_because("counts are for processors with AVX-512");
    hinge_model *model = fit(&set, &params, &report);
    assert_path(&report, "counts", "f32");
    assert_solved(model, &set, &params);
    params.maker = HINGE_MAKER_LISTS;
    model = fit(&set, &params, &report);
    assert_path(&report, "lists", "f32");
    assert_solved(model, &set, &params);
}

TEST(any_number_of_threads)
{
    for (int maker = HINGE_MAKER_AUTO; maker <= HINGE_MAKER_LISTS; maker++) {
        struct set set = set_two_class(4, 700, 520, 3);
        hinge_params params = params_by((hinge_maker)maker, set.d);
        struct text first = { 0 };
        for (int threads = 1; threads <= 4; threads *= 2) {
            params.threads = threads;
            struct text text = text_of(fit(&set, &params, NULL));
            first = threads == 1 ? text : first;
            assert_true(same_text(text, first));
        }
    }
}

/* ---- predictions and blocks -------------------------------------------------------------------------------------- */

TEST(predictions_by_name)
{
    static const size_t d[] = { 37, 530 };
    for (size_t k = 0; k < 4; k++) {
        struct set set = set_two_class(5, 1200, d[k % 2], 2), test = set_two_class(6, 300, d[k % 2], 2);
        hinge_params params = params_by(HINGE_MAKER_AUTO, set.d);
        hinge_model *model = fit(&set, &params, NULL);
        double *want = plain_decisions(model, &test), *f = get(test.n, sizeof *f);
        for (int maker = HINGE_MAKER_GEMM; maker <= HINGE_MAKER_LISTS; maker++) {
            hinge_predict_options options = { .maker = (hinge_maker)maker, .precision = TYPES[k / 2] };
            begin_to_count(set.d);
            assert_ok(hinge_predict(model, matrix_of(&test), &options, NULL, f, &err));
            assert_int_equal(calls32 + calls64 > 0, maker == HINGE_MAKER_GEMM);
            for (size_t i = 0; i < test.n; i++)
                assert_near(f[i], want[i], k / 2 == 0 ? 1e-3 : 1e-9);
        }
    }
}

TEST(blocks_by_name)
{
    struct set a = set_two_class(7, 70, 90, 2), b = set_two_class(8, 45, 90, 2);
    hinge_kernel kernel = hinge_kernel_polynomial(2, 0.01, 1);
    double *want = plain_gram(&kernel, &a, &b), *out = get(a.n * b.n, sizeof *out);
    for (int maker = HINGE_MAKER_AUTO; maker <= HINGE_MAKER_LISTS; maker++) {
        hinge_predict_options options = { .maker = (hinge_maker)maker };
        begin_to_count(a.d);
        assert_ok(hinge_kernel_block(&kernel, matrix_of(&a), matrix_of(&b), &options, HINGE_F64, out, b.n, &err));
        assert_true(maker == HINGE_MAKER_AUTO || (calls64 > 0) == (maker == HINGE_MAKER_GEMM));
        for (size_t i = 0; i < a.n * b.n; i++)
            assert_near(out[i], want[i], 1e-10);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

TEST(what_cannot_serve)
{
    struct set set = set_two_class(9, 200, 20, 1), far = set_two_class(9, 200, 20, 1);
    hinge_params params = params_by(HINGE_MAKER_COUNTS, set.d);
    hinge_model *model = NULL;
    assert_refused(hinge_train(&model, matrix_of(&set), set.y, &params, NULL, &err), HINGE_EINVAL,
                   "maker: counts cannot make the kernel values of these data, but those of a kernel of distances");
    params.maker = (hinge_maker)17;
    assert_refused(hinge_train(&model, matrix_of(&set), set.y, &params, NULL, &err), HINGE_EINVAL,
                   "maker: 17 is not a hinge_maker");
    params.maker = HINGE_MAKER_GEMM;
    params.kernel = hinge_kernel_precomputed();
    assert_refused(hinge_params_check(&params, 0, 5, &err), HINGE_EINVAL,
                   "maker: a precomputed kernel's values are not made of dot products");
    for (size_t i = 0; i < far.n; i++) /* two heaps, so far from each other that f64 loses what is within them */
        far.x[i * far.d] += i % 2 == 0 ? 1e7 : -1e7;
    params = params_by(HINGE_MAKER_LISTS, far.d);
    params.precision = HINGE_PRECISION_F64;
    assert_refused(hinge_train(&model, matrix_of(&far), far.y, &params, NULL, &err), HINGE_EINVAL,
                   "maker: lists cannot make the kernel values of these data");
    assert_null(model);
}

TEST(what_cannot_serve_a_prediction)
{
    struct set set = set_two_class(10, 200, 20, 1);
    hinge_params params = params_by(HINGE_MAKER_AUTO, set.d);
    hinge_model *model = fit(&set, &params, NULL);
    double f[200];
    hinge_predict_options options = { .maker = HINGE_MAKER_COUNTS };
    assert_refused(hinge_predict(model, matrix_of(&set), &options, NULL, f, &err), HINGE_EINVAL,
                   "there is AVX-512; and not of predictions");
    params.kernel = hinge_kernel_linear();
    model = fit(&set, &params, NULL);
    options.maker = HINGE_MAKER_PANELS;
    assert_refused(hinge_predict(model, matrix_of(&set), &options, NULL, f, &err), HINGE_EINVAL,
                   "maker: a linear model predicts by its weights, which is gemm");
    options.maker = HINGE_MAKER_GEMM;
    assert_ok(hinge_predict(model, matrix_of(&set), &options, NULL, f, &err));
}
