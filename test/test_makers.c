/*
 * Who makes kernel values (params.maker): GEMM is a call of BLAS, which is counted here as the linker puts counters in
 * front of it, and the others call none; all of them make the values of the definition; what one cannot serve is
 * refused by name.
 */
#include "kernels/gram.h"
#include "kernels/whole.h"
#include "solver/smo/loops.h"
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

#define COUNTED(name, real, calls) \
    void __real_##name(int o, int ta, int tb, int m, int n, int k, real alpha, const real *a, int lda, const real *b, \
                       int ldb, real beta, real *c, int ldc); \
    void __wrap_##name(int o, int ta, int tb, int m, int n, int k, real alpha, const real *a, int lda, const real *b, \
                       int ldb, real beta, real *c, int ldc); \
    void __wrap_##name(int o, int ta, int tb, int m, int n, int k, real alpha, const real *a, int lda, const real *b, \
                       int ldb, real beta, real *c, int ldc) \
    { \
        count(calls, m, n, k); \
        __real_##name(o, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); \
    }

COUNTED(cblas_sgemm, float, &calls32)
COUNTED(cblas_dgemm, double, &calls64)

static void begin_to_count(size_t d)
{
    features = (int)d;
    calls32 = calls64 = products = 0;
}

/* All that a report counts as dot products are products of BLAS, but for those of sixteen rows or less. */
static void assert_by_blas(const hinge_report *report)
{
    double share = 2e-9 * (double)products / report->gflop;
    assert_true(share > 0.99 && share < 1 + 1e-9);
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

/* Says whether f32 rows of many features are nothing for BLAS: it runs kernels without the processor's AVX-512. */
static bool blas_is_slow(int level)
{
    return level == 4 && hinge_machine_info().blas_slow;
}

/* Dense data of many features go by BLAS on any processor, unless it is slow there. */
TEST(wide_data_go_by_gemm)
{
    enum { D = 530 };
    struct set set = set_two_class(1, 1100, D, 3);
    hinge_params params = params_by(HINGE_MAKER_AUTO, D);
    hinge_report report;
    for (int level = 1; level <= 4; level++) {
        params.cpu_level = level;
        begin_to_count(D);
        hinge_model *model = fit(&set, &params, &report);
        assert_int_equal(hg_lists_win(D, D, HINGE_F32, level), blas_is_slow(level));
        if (!blas_is_slow(level)) {
            assert_path(&report, "gemm", "f32");
            assert_true(calls32 > 0 && report.gflop > 0);
            assert_by_blas(&report);
        }
        begin_to_count(D);
        fit_decisions(model, &set, HINGE_PRECISION_F32);
        if (!blas_is_slow(hg_cpu_level(0)))
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

/* ---- whole matrices ---------------------------------------------------------------------------------------------- */

/* Reads of a whole matrix, of all columns, a stretch and a list, kept and not, against the definition. */
TEST(whole_matrix_is_read)
{
    enum { N = 700, D = 40 };
    for (int k = 0; k < 6; k++) {
        struct set set = set_two_class(21, N, D, 1);
        hinge_dtype type = k % 2 == 0 ? HINGE_F32 : HINGE_F64;
        struct hg_points points = { .x = set_matrix(&set), .n = N, .nonzeros = D };
        struct hg_tiler tiler = { hinge_kernel_polynomial(2, 0.1, 1), hg_maps(hg_cpu_level(0)), type, D,
                                  .asked = HINGE_MAKER_GEMM };
        struct hg_gram gram;
        struct hg_whole whole, view;
        assert_int_equal(hg_gram_init(&gram, &tiler, &points, NULL, N, NULL, NULL, 2, NULL), HINGE_OK);
        assert_int_equal(hg_whole_init(&whole, &gram.super, NULL, NULL), HINGE_OK);
        assert_int_equal(hg_whole_view(&view, &whole, 1, NULL), HINGE_OK);
        assert_true(gram.super.values < N * (N + 256) / 2 + N);
        uint32_t rows[90], cols[N];
        size_t n_cols = k / 2 == 0 ? N : k / 2 == 1 ? 600 : 333;
        for (uint32_t r = 0; r < 90; r++)
            rows[r] = r * 7 % N;
        for (uint32_t c = 0; c < n_cols; c++)
            cols[c] = k / 2 == 1 ? c + 50 : c * 2 % N;
        char *room = get(90 * N, 8);
        void *out[90];
        for (size_t r = 0; r < 90; r++)
            out[r] = r % 3 == 0 ? NULL : room + r * N * 8;
        double *coef = get(90, sizeof *coef), *g = get(N, sizeof *g), *want = get(N, sizeof *want);
        for (size_t r = 0; r < 90; r++) {
            coef[r] = (double)r / 90 - 0.3;
            for (size_t c = 0; c < n_cols; c++) {
                size_t i = rows[r], j = k / 2 == 0 ? c : cols[c];
                double value = plain_kernel(&tiler.kernel, set.x + i * D, set.x + j * D, D);
                want[c] += coef[r] * value;
            }
        }
        struct hg_how how = { .add = &hg_loops(hg_cpu_level(0))->add, .out = out };
        struct hg_rows *source = k % 2 == 0 ? &whole.super : &view.super;
        assert_int_equal(hg_rows_apply(source, rows, 90, coef, k / 2 == 0 ? NULL : cols, n_cols, g, &how), HINGE_OK);
        for (size_t c = 0; c < n_cols; c++) {
            assert_near(g[c], want[c], (type == HINGE_F32 ? 1e-4 : 1e-11) * (1 + fabs(want[c])));
            size_t j = k / 2 == 0 ? c : cols[c];
            double value = plain_kernel(&tiler.kernel, set.x + rows[4] * D, set.x + j * D, D);
            assert_near(hg_get(out[4], type, c), value, (type == HINGE_F32 ? 1e-5 : 1e-12) * (0.01 + value));
        }
        hg_whole_free(&view);
        hg_whole_free(&whole);
        hg_gram_free(&gram);
    }
}

/* Few points with many features: each value is made once, all by BLAS; whatever the task, what comes out is a
 * solution, and the same bits for any number of threads. */
TEST(few_wide_points)
{
    static const struct {
        hinge_task task;
        size_t n, d;
        double C;
        bool pairs;
    } cases[] = { { HINGE_C_SVC, 300, 700, 10, false },   { HINGE_C_SVC, 1100, 400, 1, false },
                  { HINGE_C_SVC, 1100, 400, 1e4, false }, { HINGE_C_SVC, 400, 600, 10, true },
                  { HINGE_NU_SVC, 500, 600, 1, false },   { HINGE_EPSILON_SVR, 600, 500, 10, false },
                  { HINGE_ONE_CLASS, 500, 500, 1, false } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t n = cases[k].n, d = cases[k].d;
        struct set set = cases[k].task == HINGE_EPSILON_SVR ? set_regression(22, n, d)
                         : cases[k].pairs                   ? set_blobs(23, n, d, 3, NULL, 3)
                                                            : set_two_class(24, n, d, 3);
        hinge_params params = params_for(cases[k].task, hinge_kernel_rbf(1 / (double)d), cases[k].C);
        struct text first = { 0 };
        for (int threads = 1; threads <= 2; threads++) {
            hinge_report report;
            params.threads = threads;
            begin_to_count(d);
            hinge_model *model = converged(&set, &params, &report);
            assert_says(report.path, ", whole");
            assert_path(&report, "gemm", n > 1024 ? "f32" : "f64");
            assert_by_blas(&report);
            if (n <= 1024 && !cases[k].pairs)
                assert_true(products < (n * (n + 256) / 2 + n) * d);
            if (threads == 1 && (cases[k].task == HINGE_C_SVC || cases[k].task == HINGE_EPSILON_SVR) && !cases[k].pairs)
                assert_solved(model, &set, &params);
            struct text text = text_of(model);
            first = threads == 1 ? text : first;
            assert_true(same_text(text, first));
        }
    }
}

/* A budget without room for the matrix, a maker or a working set that is asked for, and a limit of steps. */
TEST(few_wide_points_otherwise)
{
    struct set set = set_two_class(25, 600, 500, 3);
    hinge_report report;
    for (int k = 0; k < 4; k++) {
        hinge_params params = params_by(k == 1 ? HINGE_MAKER_PANELS : HINGE_MAKER_AUTO, set.d);
        params.cache_bytes = k == 0 ? 1 << 20 : 0;
        params.working_set = k == 2 ? 100 : 0;
        params.max_iter = k == 3 ? 10 : 0;
        hinge_model *model = fit(&set, &params, &report);
        assert_int_equal(strstr(report.path, ", whole") != NULL, k == 3);
        assert_int_equal(report.outcome, k == 3 ? HINGE_MAX_ITER : HINGE_CONVERGED);
        if (k < 3)
            assert_solved(model, &set, &params);
    }
}

/* All folds, all C and all gamma of few wide points are made of one matrix of dot products, of which each value is made
 * once; what is found is what panels find, each fold with rows of its own kernel. Equal points have kernels of their
 * own, as dot products tell no distance of 0. */
TEST(few_wide_points_in_folds)
{
    for (int k = 0; k < 4; k++) {
        struct set set = set_two_class(26, 260, 500, 3);
        double C[] = { 0.5, 5, 50 }, gamma[] = { 1e-5, 1e-4, 2e-4 };
        size_t n = set.n, d = set.d;
        hinge_params params = params_by(HINGE_MAKER_AUTO, d);
        hinge_select_options options = {
            .C = { C, 3 }, .gamma = { gamma, 3 }, .folds = 4, .eps = 1e-6, .decisions = 1, .no_refit = 1
        };
        hinge_selection *one = NULL, *other = NULL;
        if (k == 1)
            params.kernel = hinge_kernel_polynomial(2, 0, 1);
        if (k == 2)
            memcpy(set.x + d, set.x, d * sizeof *set.x);
        if (k == 3)
            params.multiclass = HINGE_ONE_VS_REST, set.y[5] = set.y[6] = set.y[7] = set.y[8] = 3;
        begin_to_count(d);
        assert_ok(hinge_select(&one, matrix_of(&set), set.y, &params, &options, &err));
        selection_given_back(one);
        assert_true(products < (k == 2 ? 3 : 1) * (n * (n + 64) / 2 + n) * d && calls32 == 0);
        params.maker = HINGE_MAKER_PANELS;
        params.precision = HINGE_PRECISION_F64;
        begin_to_count(d);
        assert_ok(hinge_select(&other, matrix_of(&set), set.y, &params, &options, &err));
        selection_given_back(other);
        assert_true(products == 0);
        size_t problems = k == 3 ? 3 : 1;
        for (size_t p = 0; p < one->n_points; p++)
            for (size_t i = 0; i < n * problems; i++)
                assert_near(one->points[p].decisions[i], other->points[p].decisions[i],
                            1e-5 * (1 + fabs(other->points[p].decisions[i])));
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

/* Dot products of few vectors at every level, of rows and columns of any number, against long double. What is between
 * rows of the output stays. */
TEST(dot_products_of_few)
{
    enum { ROWS = 17, COLS = 37, MOST = 2100, LD = COLS + 3 };
    static const size_t features[] = { 1, 15, 64, 65, 511, 1024, 2099 };
    uint64_t seed = 5200001;
    float *x = get(ROWS * (size_t)MOST, sizeof *x), *z = get(COLS * (size_t)MOST, sizeof *z), *out = get(ROWS * LD, 4);
    double *x64 = get(ROWS * (size_t)MOST, 8), *z64 = get(COLS * (size_t)MOST, 8), *out64 = get(ROWS * LD, 8);
    for (size_t i = 0; i < ROWS * MOST; i++)
        x[i] = (float)(x64[i] = draw_normal(&seed));
    for (size_t i = 0; i < COLS * MOST; i++)
        z[i] = (float)(z64[i] = draw_normal(&seed));
    for (size_t k = 0; k < 4 * 7 * 2; k++) {
        const struct hg_few *few = hg_maps((int)(k % 4) + 1)->few;
        size_t d = features[k / 8], rows = 1 + draw(&seed) % ROWS, cols = 1 + draw(&seed) % COLS;
        bool f32 = k / 4 % 2 == 0;
        for (size_t i = 0; i < ROWS * LD; i++)
            out[i] = 77, out64[i] = 77;
        if ((int)(k % 4) + 1 > hg_cpu_level(0))
            continue;
        if (f32)
            few->dots[HINGE_F32](x, d, rows, z, MOST, cols, d, out, LD);
        else
            few->dots[HINGE_F64](x64, d, rows, z64, MOST, cols, d, out64, LD);
        for (size_t i = 0; i < ROWS * LD; i++) {
            size_t r = i / LD, c = i % LD;
            long double want = 0, size = 0;
            for (size_t j = 0; j < d && r < rows && c < cols; j++) {
                long double a = f32 ? x[r * d + j] : x64[r * d + j], b = f32 ? z[c * MOST + j] : z64[c * MOST + j];
                want += a * b;
                size += fabsl(a * b);
            }
            double got = f32 ? (double)out[i] : out64[i];
            if (r >= rows || c >= cols)
                assert_true(got == 77);
            else
                assert_true(fabsl(got - want) <= (f32 ? 0x1p-24L : 0x1p-53L) * (12 + sqrtl((long double)d)) * size);
        }
    }
}

/* One example to twenty by wide models, in any precision, within what is told; up to sixteen without a call of GEMM,
 * and in f64 alone with one from there on where BLAS is slow. */
TEST(few_examples)
{
    static const size_t features[] = { 530, 1030 };
    for (size_t k = 0; k < 6; k++) {
        size_t d = features[k % 2];
        struct set set = set_two_class(31, 400, d, 2), test = set_two_class(32, 20, d, 2);
        hinge_params params = params_by(HINGE_MAKER_AUTO, d);
        static const hinge_precision precisions[] = { HINGE_PRECISION_AUTO, HINGE_PRECISION_F32, HINGE_PRECISION_F64 };
        hinge_model *model = fit(&set, &params, NULL);
        double *want = plain_decisions(model, &test), f[20];
        for (size_t rows = 1; rows <= test.n; rows++) {
            hinge_predict_report report;
            hinge_predict_options options = { .precision = precisions[k / 2], .report = &report };
            hinge_matrix some = hinge_matrix_f64(test.x, rows, d);
            begin_to_count(d);
            assert_ok(hinge_predict(model, &some, &options, NULL, f, &err));
            if (rows <= 16 || !blas_is_slow(hg_cpu_level(0)) || precisions[k / 2] == HINGE_PRECISION_F64)
                assert_int_equal(calls32 + calls64 > 0, rows > 16);
            for (size_t i = 0; i < rows; i++)
                assert_true(fabs(f[i] - want[i]) <= fmax(report.bound, 1e-10));
        }
    }
}

/* Examples by wide models come in blocks, for each of which GEMM packs all support vectors: as few as leave some for
 * two threads and more, with the same bits for any number of these. */
TEST(blocks_of_examples)
{
    enum { N = 300, D = 530 };
    static const size_t rows[] = { 65, 100, 127, 128, 300 }, blocks[] = { 2, 2, 2, 2, 5 };
    struct set set = set_two_class(5820050, 400, D, 2), test = set_two_class(5820051, N, D, 2);
    hinge_params params = params_by(HINGE_MAKER_AUTO, D);
    hinge_model *model = fit(&set, &params, NULL);
    double *want = plain_decisions(model, &test), f[2][N];
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        hinge_matrix some = hinge_matrix_f64(test.x, rows[k], D);
        hinge_predict_report report;
        hinge_predict_options options = { .precision = HINGE_PRECISION_F32, .report = &report };
        for (options.threads = 1; options.threads <= 2; options.threads++) {
            begin_to_count(D);
            assert_ok(hinge_predict(model, &some, &options, NULL, f[options.threads - 1], &err));
            assert_int_equal(calls32, blas_is_slow(hg_cpu_level(0)) ? 0 : blocks[k]);
        }
        assert_memory_equal(f[0], f[1], rows[k] * sizeof **f);
        for (size_t i = 0; i < rows[k]; i++)
            assert_true(fabs(f[0][i] - want[i]) <= report.bound);
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
