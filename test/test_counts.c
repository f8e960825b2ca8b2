/*
 * Rows by counts (kernels/hamming.h): that features of two values each, one step apart, are told from others; that
 * counts and the values made of them are those of plain loops, at every level; and that trainings by them reach the
 * optimum that LIBSVM reaches, with the violation of plain sums.
 */
#include "kernels/gram.h"
#include "test/support.h"

enum { N = 700, D = 37 };

/* Features that are high, each with a share of its own; some hardly ever, some mostly, two never or always. */
static struct set two_valued(uint64_t seed, size_t n, size_t d, double low, double high)
{
    struct set s = set_new(n, d);
    for (size_t i = 0; i < n; i++) {
        double side = 0;
        for (size_t f = 0; f < d; f++) {
            double share = f == 3 ? 0 : f == 4 ? 1 : (double)((f * 7) % 19 + 1) / 20;
            bool is_high = draw_unit(&seed) < share;
            s.x[i * d + f] = is_high ? high : low;
            side += (is_high ? 1 - share : -share) * (f % 3 == 0 ? 1 : -0.6);
        }
        s.y[i] = side + 0.5 * draw_normal(&seed) > 0 ? 1 : -1;
    }
    return s;
}

static struct hg_points points_of(const struct set *s)
{
    return (struct hg_points){ .x = set_matrix(s), .n = s->n, .nonzeros = (double)s->d };
}

static size_t differing(const double *a, const double *b, size_t d)
{
    size_t count = 0;
    for (size_t f = 0; f < d; f++)
        count += a[f] != b[f];
    return count;
}

TEST(test_counts_at_every_level)
{
    struct set s = two_valued(1, N, D, 0, 1);
    struct hg_points points = points_of(&s);
    struct hg_hamming h;
    assert_int_equal(hg_hamming_init(&h, &points, 2, NULL), HINGE_OK);
    assert_int_equal(h.features, D - 2);
    assert_true(h.step2 == 1 && h.listed > 0 && h.listed <= D / 2.0);
    points.hamming = &h;
    uint8_t *panel = aligned_alloc(64, hg_by_counts.right_bytes(NULL, &points, HG_COUNT_COLS));
    static _Alignas(64) uint8_t counts[HG_COUNT_ROWS * HG_COUNT_COLS];
    uint32_t cols[HG_COUNT_COLS], rows[HG_COUNT_ROWS];
    struct hg_left left = { .origin = { &points, rows, 0 } };
    char *memory = aligned_alloc(64, (hg_by_counts.lay_left(NULL, &points, HG_COUNT_ROWS, NULL, &left) + 63) / 64 * 64);
    hg_by_counts.lay_left(NULL, &points, HG_COUNT_ROWS, memory, &left);
    for (uint32_t c = 0; c < HG_COUNT_COLS; c++)
        cols[c] = c * 31 % N;
    for (uint32_t r = 0; r < HG_COUNT_ROWS; r++) {
        rows[r] = r * 13 % N;
        hg_by_counts.set_left(NULL, &left, r, NULL);
    }
    for (int level = HG_COUNTS_LEVEL; level <= hg_cpu_level(0); level++)
        for (size_t n = 1; n <= HG_COUNT_COLS; n += 9) {
            struct hg_right right = { .count = n, .origin = { &points, cols, 0 } };
            hg_by_counts.set_right(NULL, &right, panel, NULL);
            hg_maps(level)->counts(&left.gathered, 2, HG_COUNT_ROWS - 2, panel, counts);
            for (size_t r = 0; r < HG_COUNT_ROWS - 2; r++)
                for (size_t c = 0; c < n; c++)
                    assert_int_equal(counts[r * HG_COUNT_COLS + c],
                                     differing(s.x + rows[r + 2] * D, s.x + cols[c] * D, D));
        }
    hg_hamming_free(&h);
    free(panel), free(memory);
}

static bool is_two_valued(const struct set *s)
{
    struct hg_points points = points_of(s);
    struct hg_hamming h;
    assert_int_equal(hg_hamming_init(&h, &points, 2, NULL), HINGE_OK);
    bool yes = h.features > 0;
    assert_true(yes == (h.at != NULL) && yes == (hg_hamming_bytes(&h) > 0));
    hg_hamming_free(&h);
    return yes;
}

TEST(test_what_is_like_that)
{
    static const double low[] = { 0, -1, 1, 0.1, -1e9, 0 }, high[] = { 1, 1, 0, 0.3, -1e9 + 1, 1e-7 };
    for (size_t k = 0; k < sizeof low / sizeof *low; k++) {
        struct set s = two_valued(2, N, D, low[k], high[k]);
        assert_true(is_two_valued(&s));
        double *last = s.x + (N - 1) * D + D - 1, other = *last == low[k] ? high[k] : low[k];
        *last = low[k] + 2 * (high[k] - low[k]); /* a third value, */
        assert_false(is_two_valued(&s));
        *last = other;
        assert_true(is_two_valued(&s));
        for (size_t i = 512; i < N; i++) /* which the second half of the points has instead of the second, */
            s.x[i * D + 1] += s.x[i * D + 1] == high[k] ? high[k] - low[k] : 0;
        assert_false(is_two_valued(&s));
        for (size_t i = 512; i < N; i++)
            s.x[i * D + 1] = s.x[i * D + 1] != low[k] ? high[k] : low[k];
        assert_true(is_two_valued(&s));
        for (size_t i = 0; i < N; i++) /* a step of its own, */
            s.x[i * D] *= s.x[i * D] == high[k] ? 1.001 : 1;
        assert_true(is_two_valued(&s) == (high[k] == 0));
    }
    struct set s = two_valued(3, N, D, 5, 5); /* one value only, */
    assert_false(is_two_valued(&s));
    s = two_valued(3, N, 255, 0, 1);
    assert_true(is_two_valued(&s));
    s = two_valued(3, N, 700, 0, 1); /* points more than 255 features apart */
    assert_false(is_two_valued(&s));
    for (size_t k = 0; k < N * 700; k++) /* many features, few of which are ever high in a point */
        s.x[k] = k % 23 == 0 || k % 700 == 8 ? s.x[k] : 0;
    assert_true(is_two_valued(&s));
}

/* Sums of values that codes stand for against plain loops, and nothing behind them touched. */
static void check_codes(const struct hg_maps *maps, uint64_t *seed, bool narrow)
{
    static _Alignas(64) uint8_t code[HG_COUNT_ROWS * HG_COUNT_COLS];
    struct hg_codes codes;
    double coef[HG_COUNT_ROWS], g[HG_COUNT_COLS + 1], wanted[HG_COUNT_COLS], scale[HG_COUNT_COLS];
    float value[HG_COUNT_COLS + 1];
    size_t n = 1 + hg_random_below(seed, HG_COUNT_COLS), n_rows = hg_random_below(seed, HG_COUNT_ROWS + 1);
    for (size_t c = 0; c < 16; c++) {
        codes.high[c] = draw_unit(seed);
        codes.low[c] = c % 5 == 4 ? 0 : draw_unit(seed);
        codes.high32[c] = (float)codes.high[c];
        codes.low32[c] = (float)codes.low[c];
    }
    for (size_t k = 0; k < sizeof code; k++)
        code[k] = (uint8_t)hg_random_below(seed, 256);
    for (size_t r = 0; r < n_rows; r++)
        coef[r] = 200 * draw_unit(seed) - 100;
    for (size_t j = 0; j < n; j++) {
        g[j] = wanted[j] = draw_unit(seed);
        scale[j] = 1;
        for (size_t r = 0; r < n_rows; r++) {
            uint8_t c = code[r * HG_COUNT_COLS + j];
            double v = coef[r] * codes.high[c / 16] * codes.low[c % 16];
            wanted[j] += v;
            scale[j] += fabs(v);
        }
    }
    g[n] = value[n] = 4711;
    maps->decode(&codes, code, n, value);
    maps->add_codes(n_rows, coef, narrow, &codes, code, n, g);
    assert_true(g[n] == 4711 && value[n] == 4711);
    for (size_t j = 0; j < n; j++) {
        assert_true(value[j] == codes.high32[code[j] / 16] * codes.low32[code[j] % 16]);
        assert_true(fabs(g[j] - wanted[j]) <= (narrow ? 1e-6 : 1e-14) * scale[j]);
    }
}

TEST(test_codes)
{
    (void)state;
    uint64_t seed = 11;
    for (int level = HG_COUNTS_LEVEL; level <= hg_cpu_level(0); level++)
        for (int round = 0; round < 200; round++)
            check_codes(hg_maps(level), &seed, round % 2 == 0);
}

struct sums {
    double *g;
    const double *coef;
    size_t added; /* values of tiles that added themselves */
};

static void add_tile(void *arg, const struct hg_tile *tile)
{
    struct sums *sums = arg;
    if (tile->add != NULL) {
        tile->add(tile, sums->coef + tile->row0, false, sums->g + tile->col0);
        sums->added += tile->n_rows * tile->n_cols;
        return;
    }
    for (size_t r = 0; r < tile->n_rows; r++)
        for (size_t c = 0; c < tile->n_cols; c++)
            sums->g[tile->col0 + c] += sums->coef[tile->row0 + r] * ((const double *)tile->row[r])[c];
}

/* Rows as a source gives them, kept, as sums, of a shuffled subset, columns again and again: those of the kernel. */
TEST(test_rows)
{
    enum { ROWS = 300, M = 650 };
    if (hg_cpu_level(0) < HG_COUNTS_LEVEL)
        skip();
    struct set s = two_valued(4, N, D, -0.25, 0.5);
    struct hg_points points = points_of(&s);
    struct hg_hamming h;
    assert_int_equal(hg_hamming_init(&h, &points, 2, NULL), HINGE_OK);
    points.hamming = &h;
    double shift[D];
    for (size_t f = 0; f < D; f++)
        shift[f] = 0.1 * (double)f;
    points.shift = shift;
    uint32_t subset[M], rows[ROWS], cols[M];
    for (uint32_t i = 0; i < M; i++) {
        subset[i] = (i * 17 + 5) % N;
        cols[i] = (i * 3 + 1) % M;
    }
    double coef[ROWS], *sum = get(M, sizeof *sum);
    float *kept32 = get(ROWS * M, sizeof *kept32);
    double *kept = get(ROWS * M, sizeof *kept);
    void *out[ROWS];
    for (uint32_t r = 0; r < ROWS; r++) {
        rows[r] = r * 7 % M;
        coef[r] = r % 2 ? 1.5 : -0.5;
    }
    for (int gamma = 0; gamma < 4; gamma++) {
        hinge_kernel kernel = hinge_kernel_rbf((double[]){ 0, 0.01, 1, 1e10 }[gamma]);
        for (int f32 = 0; f32 < 2; f32++) {
            struct hg_tiler tiler = { kernel, hg_maps(hg_cpu_level(0)), f32 ? HINGE_F32 : HINGE_F64, D, .maker = NULL };
            struct hg_gram gram;
            assert_int_equal(hg_gram_init(&gram, &tiler, &points, subset, M, NULL, NULL, 2, NULL), HINGE_OK);
            for (uint64_t number = 0; number < 3; number++) {
                for (size_t r = 0; r < ROWS; r++)
                    out[r] = r % 4 == 0 ? NULL : f32 ? (void *)(kept32 + r * M) : (void *)(kept + r * M);
                struct hg_fetch keep = { rows, ROWS, cols, M, out, NULL, NULL, NULL, number, true };
                assert_int_equal(gram.super.ops->fetch(&gram.super, &keep), HINGE_OK);
                memset(sum, 0, M * sizeof *sum);
                struct sums sums = { sum, coef, 0 };
                struct hg_fetch add = { rows, ROWS, cols, M, NULL, add_tile, &sums, NULL, number, true };
                gram.super.threads = 1; /* sums.added is one for all */
                assert_int_equal(gram.super.ops->fetch(&gram.super, &add), HINGE_OK);
                gram.super.threads = 2;
                assert_int_equal(sums.added, ROWS * M);
                for (size_t c = 0; c < M; c++) {
                    double whole = 0;
                    for (size_t r = 0; r < ROWS; r++) {
                        double k = plain_kernel(&kernel, s.x + subset[rows[r]] * D, s.x + subset[cols[c]] * D, D);
                        whole += coef[r] * k;
                        if (out[r] != NULL)
                            assert_near(f32 ? kept32[r * M + c] : kept[r * M + c], k, f32 ? 2e-7 : 1e-15);
                    }
                    assert_near(sum[c], whole, 1e-12);
                }
            }
            hg_gram_free(&gram);
        }
    }
    hg_hamming_free(&h);
}

/* Fewer points than a tile has columns, none of whose rows is kept. */
TEST(test_few_points)
{
    static const size_t count[] = { 1, 2, 63, 64, 65, 127, 128, 129 };
    if (hg_cpu_level(0) < HG_COUNTS_LEVEL)
        skip();
    for (size_t k = 0; k < sizeof count / sizeof *count; k++) {
        size_t n = count[k];
        struct set s = two_valued(7, 200, D, 0, 1);
        struct hg_points points = points_of(&s);
        struct hg_hamming h;
        assert_int_equal(hg_hamming_init(&h, &points, 2, NULL), HINGE_OK);
        points.hamming = &h;
        hinge_kernel kernel = hinge_kernel_rbf(0.05);
        struct hg_tiler tiler = { kernel, hg_maps(hg_cpu_level(0)), HINGE_F64, D, .maker = NULL };
        struct hg_gram gram;
        assert_int_equal(hg_gram_init(&gram, &tiler, &points, NULL, n, NULL, NULL, 1, NULL), HINGE_OK);
        uint32_t rows[129];
        double sum[129] = { 0 }, coef[129];
        for (uint32_t r = 0; r < n; r++) {
            rows[r] = r;
            coef[r] = 1 + r % 3;
        }
        struct sums sums = { sum, coef, 0 };
        struct hg_fetch f = { rows, n, NULL, n, NULL, add_tile, &sums, NULL, 0, false };
        assert_int_equal(gram.super.ops->fetch(&gram.super, &f), HINGE_OK);
        for (size_t c = 0; c < n; c++) {
            double whole = 0;
            for (size_t r = 0; r < n; r++)
                whole += coef[r] * plain_kernel(&kernel, s.x + r * D, s.x + c * D, D);
            assert_near(sum[c], whole, 1e-11);
        }
        hg_gram_free(&gram);
        hg_hamming_free(&h);
    }
}

TEST(test_trainings)
{
    struct set s = two_valued(5, 3 * N, D, 0, 1);
    for (int task = 0; task < 2; task++)
        for (int large = 0; large < 2; large++)
            for (int eps = 0; eps < 2; eps++) {
                hinge_params params = hinge_params_default(task == 0 ? HINGE_C_SVC : HINGE_ONE_CLASS);
                params.kernel = hinge_kernel_rbf(large ? 0.2 : 0.02);
                params.C = large ? 1000 : 1;
                params.nu = 0.3;
                params.eps = eps == 0 ? 1e-3 : 1e-6;
                double *beta[3];
                for (int k = 0; k < 3; k++) { /* threads 1 and 2; the lowest level */
                    hinge_report report;
                    params.threads = k == 1 ? 2 : 1;
                    params.cpu_level = k == 2 ? 1 : 0;
                    hinge_model *model = converged(&s, &params, &report);
                    bool counts = hg_cpu_level(params.cpu_level) >= HG_COUNTS_LEVEL;
                    assert_true(counts == (strstr(report.path, "counts f") != NULL));
                    beta[k] = fit_beta(model, s.n);
                    double violation = plain_certify(model, &s, &params).kkt;
                    assert_true(violation > 0 && violation <= 2 * params.eps * 1.01);
                }
                assert_memory_equal(beta[0], beta[1], s.n * sizeof(double));
            }
}

TEST(test_libsvm_agrees)
{
    struct set s = two_valued(6, 2 * N, D, -1, 1);
    for (size_t i = 0; i < s.n; i++) /* three classes */
        s.y[i] = i % 5 == 0 ? 3 : s.y[i];
    for (int task = 0; task < 2; task++) {
        hinge_params params = hinge_params_default(task == 0 ? HINGE_C_SVC : HINGE_EPSILON_SVR);
        params.kernel = hinge_kernel_rbf(0.02);
        params.C = 10;
        params.p = 0.1;
        params.eps = 1e-5;
        hinge_report report;
        hinge_model *model = fit(&s, &params, &report);
        bool counts = hg_cpu_level(0) >= HG_COUNTS_LEVEL;
        assert_true(counts == (strstr(report.path, "counts f32") != NULL));
        struct oracle oracle = oracle_train(&s, &params);
        size_t problems = task == 0 ? 3 : 1;
        double *labels = get(s.n, sizeof *labels), *theirs = get(s.n * problems, sizeof *theirs);
        oracle_predict(&oracle, &s, labels, theirs);
        double *ours = fit_decisions(model, &s, HINGE_PRECISION_AUTO);
        assert_true(largest_difference(ours, theirs, s.n * problems) < 2e-3);
    }
}
