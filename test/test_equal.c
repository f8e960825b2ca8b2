/*
 * Equal and nearly equal points under an RBF kernel: the value of a point with itself and with an equal one is 1, to
 * the bit, in whichever way the block that it stands in was made; and in f64 every value is right to 1e-11 however far
 * the points are from the origin. All of it once for each set of kernels that OpenBLAS has for this processor, as each
 * rounds in its own way: the program calls itself.
 */
#include "kernels/gram.h"
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 210, ROWS = 45 };

/* ---- points ------------------------------------------------------------------------------------------------------ */

struct case_ {
    size_t d, each;       /* features; one value in so many is not 0 */
    double gamma_norm;    /* about */
    bool twins, subset;
    hinge_dtype data, type;
};

static double *new_points(const struct case_ *s, uint64_t *seed)
{
    double *x = calloc(N * s->d, sizeof *x);
    for (size_t i = 0; i < N; i++) {
        size_t from = i > 0 && s->twins && i % 3 != 0 ? draw(seed) % i : i;
        for (size_t c = 0; c < s->d; c++) {
            double v = draw(seed) % s->each == 0 ? draw_normal(seed) : 0;
            x[i * s->d + c] = from < i ? x[from * s->d + c] : s->data == HINGE_F32 ? (float)v : v;
        }
        if (from < i && i % 3 == 2) /* a near one: the least step, or a small one */
            x[i * s->d] = s->data == HINGE_F32 ? nextafterf((float)x[i * s->d], 9) : x[i * s->d] + 1e-6;
    }
    return x;
}

static bool are_equal(const double *a, const double *b, size_t d)
{
    bool equal = true;
    for (size_t c = 0; c < d; c++)
        equal = equal && a[c] == b[c];
    return equal;
}

static long double definition(double gamma, const double *a, const double *b, size_t d)
{
    long double sum = 0;
    for (size_t c = 0; c < d; c++)
        sum += ((long double)a[c] - b[c]) * ((long double)a[c] - b[c]);
    return expl(-gamma * sum);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct seen {
    const struct hg_gram *gram;
    double *values; /* [ROWS * n_cols] */
    size_t n_cols;
};

static void see(void *arg, const struct hg_tile *t)
{
    struct seen *s = arg;
    for (size_t r = 0; r < t->n_rows; r++)
        for (size_t c = 0; c < t->n_cols; c++)
            s->values[(t->row0 + r) * s->n_cols + t->col0 + c] =
                s->gram->super.type == HINGE_F32 ? ((const float *)t->row[r])[c] : ((const double *)t->row[r])[c];
}

static void check(const struct case_ *s, const double *x, double gamma, const struct hg_gram *gram,
                  const uint32_t *rows, const uint32_t *cols, size_t n_cols, uint64_t list)
{
    double *values = get(ROWS * n_cols, sizeof *values);
    struct seen seen = { gram, values, n_cols };
    struct hg_fetch f = { .rows = rows, .n_rows = ROWS, .cols = cols, .n_cols = n_cols, .tile = see, .arg = &seen,
                          .list = list };
    assert_int_equal(gram->super.ops->fetch((struct hg_rows *)&gram->super, &f), HINGE_OK);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < n_cols; c++) {
            size_t i = rows[r], j = cols != NULL ? cols[c] : c;
            i = gram->subset != NULL ? gram->subset[i] : i;
            j = gram->subset != NULL ? gram->subset[j] : j;
            double got = values[r * n_cols + c];
            bool equal = are_equal(x + i * s->d, x + j * s->d, s->d);
            if (!equal && s->d > 20 && (r + c) % 5 != 0) /* enough of them */
                continue;
            long double want = definition(gamma, x + i * s->d, x + j * s->d, s->d);
            bool good = equal ? got == 1 : s->type == HINGE_F32 || fabsl(got - want) <= 2e-11L;
            if (!good)
                print_error("K(%zu, %zu) = %.17g for %.17Lg: %zu features, gamma |x|^2 %g, in %s\n", i, j, got, want,
                            s->d, s->gamma_norm, s->type == HINGE_F32 ? "f32" : "f64");
            assert_true(good);
        }
}

static void check_case(const struct case_ *s, uint64_t *seed)
{
    double *x = new_points(s, seed), norm = 0;
    float *x32 = malloc(N * s->d * sizeof *x32);
    uint32_t subset[N], rows[ROWS], cols[N], *equal;
    for (size_t at = 0; at < N * s->d; at++) {
        x32[at] = (float)x[at];
        norm += x[at] * x[at] / N;
    }
    const void *data = s->data == HINGE_F32 ? (const void *)x32 : (const void *)x;
    struct hg_points points = { .x = { data, s->data, N, s->d, s->d }, .n = N,
                                .nonzeros = (double)s->d / (double)s->each };
    double *shift = calloc(s->d, sizeof *shift);
    for (size_t c = 0; c < s->d && s->subset; c++)
        shift[c] = draw_normal(seed);
    points.shift = s->subset ? shift : NULL;
    assert_int_equal(hg_equal_find(&points, 2, &equal, NULL), HINGE_OK);
    assert_true(s->twins || s->each > 1 || equal == NULL);
    points.equal = equal;
    double *norms = malloc(N * sizeof *norms);
    hg_points_norms(&points, s->type, norms, 1);
    for (size_t i = 0; i < N; i++)
        subset[i] = (uint32_t)i;
    for (size_t i = N; i-- > 1;) {
        size_t at = draw(seed) % (i + 1);
        uint32_t kept = subset[i];
        subset[i] = subset[at], subset[at] = kept;
    }
    size_t n = s->subset ? N - 30 : N, count = 101;
    hinge_kernel kernel = hinge_kernel_rbf(s->gamma_norm / norm);
    struct hg_tiler tiler = { kernel, hg_maps(hg_cpu_level(0)), s->type, s->d, .maker = NULL };
    struct hg_gram gram;
    hinge_status status = hg_gram_init(&gram, &tiler, &points, s->subset ? subset : NULL, n, NULL, norms, 2, NULL);
    assert_int_equal(status, HINGE_OK);
    static const uint64_t again[] = { 0, 0, 9, 9, 10, 0 };
    for (size_t k = 0; k < 6; k++) { /* all columns; a list, known by its number, and another; one with repeats */
        for (size_t r = 0; r < ROWS; r++)
            rows[r] = (uint32_t)(draw(seed) % n);
        for (size_t c = 0; c < count && k != 3; c++)
            cols[c] = k == 5 ? (uint32_t)(draw(seed) % n) : (uint32_t)((c * 7 + k / 4) % n);
        check(s, x, tiler.kernel.gamma, &gram, rows, k == 0 ? NULL : cols, k == 0 ? n : count, again[k]);
    }
    hg_gram_free(&gram);
    hg_free(equal);
    free(x), free(x32), free(norms), free(shift);
}

TEST(test_rows)
{
    static const size_t d[] = { 1, 3, 20, 130, 400 };
    static const double gamma_norm[] = { 1, 1e4, 1e10, 1e15, 1e30 };
    uint64_t seed = 15;
    for (size_t k = 0; k < 5; k++)
        for (size_t g = 0; g < 5; g++)
            for (unsigned bits = 0; bits < 16; bits += k > 1 ? 3 : 1) {
                struct case_ s = { d[k], bits & 1 && k > 1 ? 9 : 1, gamma_norm[g], bits & 2, bits & 4,
                                   bits & 8 ? HINGE_F32 : HINGE_F64, (g + bits) % 2 ? HINGE_F32 : HINGE_F64 };
                check_case(&s, &seed);
            }
}

/* ---- trainings --------------------------------------------------------------------------------------------------- */

/* No two rows are near: K is the identity, and the optimum known. */
TEST(test_far_integers)
{
    uint64_t seed = 3;
    struct set set = set_new(600, 200);
    for (double range = 1e5; range <= 1e9; range *= 1e4) {
        double plus = 0, minus = 0;
        for (size_t i = 0; i < set.n; i++) {
            for (size_t c = 0; c < set.d; c++)
                set.x[i * set.d + c] = floor(range * draw_unit(&seed));
            set.y[i] = draw(&seed) % 5 < 2 ? 1 : -1;
            *(set.y[i] > 0 ? &plus : &minus) += 1;
        }
        assert_true(plus < minus);
        for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision++) {
            hinge_params params = hinge_params_default(HINGE_C_SVC);
            params.kernel = hinge_kernel_rbf(HINGE_GAMMA_AUTO);
            params.precision = (hinge_precision)precision;
            params.max_iter = 1000000;
            hinge_report report;
            hinge_model *model = fit(&set, &params, &report);
            assert_int_equal(report.outcome, HINGE_CONVERGED);
            assert_near(report.objective, plus / 2 + plus * plus / (2 * minus) - 2 * plus, 1e-2);
            hinge_certificate certificate = certified(model, &set, &params);
            assert_near(-certificate.dual, report.objective, 1e-6);
        }
    }
}

/* ---- passes over all points -------------------------------------------------------------------------------------- */

enum { POINTS = 1100, D = 300 }; /* more than a piece of either has */

/* Checks norms and non-zeros of points less a shift (NULL: none) against plain loops. */
static void check_survey(const double *x, const double *shift, int threads)
{
    double norms[POINTS], largest = 0, all = 0;
    float norms32[POINTS];
    size_t most = 0;
    struct hg_points points = { .x = hinge_matrix_f64(x, POINTS, D), .n = POINTS, .shift = shift };
    struct hg_survey survey = { .norms = norms, .norms32 = norms32 };
    hg_points_survey(&points, &survey, threads);
    for (size_t i = 0; i < POINTS; i++) {
        double norm = 0, norm32 = 0;
        size_t nonzeros = 0;
        for (size_t c = 0; c < D; c++) {
            double v = x[i * D + c] - (shift != NULL ? shift[c] : 0);
            norm += v * v;
            norm32 += (double)(float)v * (float)v;
            nonzeros += v != 0;
            all += (float)v != 0;
        }
        assert_near(norms[i], norm, 1e-12 * norm);
        assert_near(norms32[i], norm32, 1e-7 * norm32);
        largest = HG_MAX(largest, norms[i]);
        most = HG_MAX(most, nonzeros);
    }
    assert_true(survey.largest == largest && survey.most_nonzeros == most);
    assert_near(survey.nonzeros, all / POINTS, 1e-12 * D);
}

/* Some values are 0, and others so small that f32 makes them 0. */
TEST(test_passes_over_all_points)
{
    uint64_t seed = 7;
    double *x = malloc(POINTS * D * sizeof *x), nonzeros = 0;
    for (size_t at = 0; at < POINTS * D; at++) {
        uint64_t kind = draw(&seed) % 10;
        x[at] = kind == 0 ? 0 : kind == 1 ? 1e-60 : 5 + draw_normal(&seed);
        nonzeros += kind > 1 ? 1.0 / POINTS : 0;
    }
    for (int threads = 1; threads < 4; threads++) {
        struct hg_points points = { .x = hinge_matrix_f64(x, POINTS, D), .n = POINTS };
        bool wanted;
        double *mean = hg_points_centre(&points, threads, &wanted);
        assert_non_null(mean);
        assert_near(points.nonzeros, nonzeros, 1e-9);
        for (size_t c = 0; c < D; c++) {
            double sum = 0;
            for (size_t i = 0; i < POINTS; i++)
                sum += x[i * D + c];
            assert_near(mean[c], sum / POINTS, 1e-10);
        }
        check_survey(x, NULL, threads);
        check_survey(x, x, threads); /* the first point is 0 then */
        hg_free(mean);
    }
    free(x);
}

/* ---- one run for each core --------------------------------------------------------------------------------------- */

static int all_cores(const char *self)
{
    static const struct {
        const char *name;
        int level;
    } cores[] = { { "Sandybridge", 3 }, { "Nehalem", 2 }, { "Zen", 3 }, { "Haswell", 3 }, { "Cooperlake", 4 },
                  { "SkylakeX", 4 } };
    int failed = 0;
    for (size_t k = 0; k < sizeof cores / sizeof *cores; k++)
        if (cores[k].level <= hg_cpu_level(0) && (in_full() || k % 2 == 1)) { /* or one of each level */
            char command[4096];
            setenv("OPENBLAS_CORETYPE", cores[k].name, 1);
            snprintf(command, sizeof command, "\"%s\" this", self);
            printf("%s\n", cores[k].name);
            fflush(stdout);
            failed |= system(command) != 0;
        }
    return failed;
}

int main(int argc, char **argv)
{
    return argc < 2 && hg_cpu_level(0) > 1 ? all_cores(argv[0]) : run_program(NULL);
}
