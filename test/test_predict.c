/*
 * Decision values against plain loops in long double: in precision "auto" within 1e-4 max(1, |rho|), and with the
 * labels of exact values, for models that f32 is too coarse for in some way or other; in f64 to the last digits; with
 * examples that overflow f32, or f64's squares; and 1 for an example that is a support vector.
 */
#include "lib/model/model.h"
#include "support.h"

#include <hinge/scaling.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- models made by hand ----------------------------------------------------------------------------------------- */

/* n support vectors, half of each class, coefficients of about `size` */
static hinge_model *model_of(hinge_task task, hinge_kernel kernel, const struct set *sv, double size, double rho,
                             uint64_t *seed)
{
    hinge_model *m = hg_model_new(task, kernel, HINGE_ONE_VS_ONE, 2, 0, sv->n, sv->d, HINGE_F64);
    m->rho[0] = rho;
    memcpy(m->sv, sv->x, sv->n * sv->d * sizeof *sv->x);
    for (size_t i = 0; i < sv->n; i++) {
        bool positive = task == HINGE_ONE_CLASS || (task == HINGE_C_SVC ? i < sv->n / 2 : i % 2 == 1);
        m->coef[i] = size * (0.5 + draw_unit(seed)) * (positive ? 1 : -1);
    }
    if (task == HINGE_C_SVC) {
        m->labels[0] = 1, m->labels[1] = -1;
        m->class_sv[0] = sv->n / 2, m->class_sv[1] = sv->n - sv->n / 2;
    }
    assert_int_equal(hg_model_finish(m, 2, NULL), HINGE_OK);
    return given_back(m);
}

static long double of_distance(const hinge_kernel *k, const double *x, const double *z, size_t d)
{
    long double distance = 0;
    for (size_t c = 0; c < d; c++)
        distance += ((long double)x[c] - z[c]) * ((long double)x[c] - z[c]);
    long double root = sqrtl(k->gamma * distance);
    if (k->type == HINGE_MATERN32)
        return (1 + root) * expl(-root);
    if (k->type == HINGE_MATERN52)
        return (1 + root + root * root / 3) * expl(-root);
    return expl(-k->gamma * distance);
}

static long double of_differences(const hinge_kernel *k, const double *x, const double *z, size_t d)
{
    long double absolute = 0, ratio = 0, least = 0, most = 0;
    for (size_t c = 0; c < d; c++) {
        long double difference = (long double)x[c] - z[c];
        long double size = fabsl(x[c]) + fabsl(z[c]); /* a value below 0 is as if it were a feature of its own */
        long double of_both = x[c] * z[c] > 0 ? fmin(fabs(x[c]), fabs(z[c])) : 0;
        absolute += fabsl(difference);
        ratio += size > 0 ? difference * difference / size : 0;
        least += of_both, most += size - of_both;
    }
    if (k->type == HINGE_TANIMOTO)
        return most > 0 ? least / most : 1;
    return expl(-k->gamma * (k->type == HINGE_CHI2 ? ratio : absolute));
}

static long double value_of(const hinge_kernel *k, const double *x, const double *z, size_t d)
{
    if (k->type == HINGE_CHI2 || k->type == HINGE_TANIMOTO || k->type == HINGE_LAPLACIAN)
        return of_differences(k, x, z, d);
    if (k->type == HINGE_RBF || k->type == HINGE_MATERN32 || k->type == HINGE_MATERN52)
        return of_distance(k, x, z, d);
    long double dot = 0;
    for (size_t c = 0; c < d; c++)
        dot += (long double)x[c] * z[c];
    long double u = k->gamma * dot + k->coef0;
    return k->type == HINGE_SIGMOID ? tanhl(u) : powl(u, k->degree);
}

static long double truth(const hinge_model *m, const double *x)
{
    hinge_kernel k = hinge_model_kernel(m);
    long double sum = -m->rho[0];
    double room[4096];
    assert_true(m->d <= sizeof room / sizeof *room);
    for (size_t i = 0; i < m->n_sv; i++)
        sum += (long double)m->coef[i] * value_of(&k, x, hg_model_vectors(m, i, 1, room), m->d);
    return sum;
}

static long double *truths(const hinge_model *m, const struct set *set)
{
    long double *f = get(set->n, sizeof *f);
    for (size_t i = 0; i < set->n; i++)
        f[i] = truth(m, set->x + i * set->d);
    return f;
}

/* All examples, and then each alone; both with and without decision values. */
static void check(const hinge_model *m, const struct set *set, const char *what, double f64_within)
{
    double *f = get(set->n, sizeof *f), *label = get(set->n, sizeof *label);
    double *alone = get(set->n, sizeof *alone);
    double most = fmax(1, fabs(m->rho[0]));
    long double *right = truths(m, set);
    hinge_matrix x = set_matrix(set);
    for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision += 2) {
        hinge_predict_options options = { .threads = 2, .precision = (hinge_precision)precision };
        assert_int_equal(hinge_predict(m, &x, &options, label, f, NULL), HINGE_OK);
        assert_int_equal(hinge_predict(m, &x, &options, alone, NULL, NULL), HINGE_OK);
        for (size_t i = 0; i < set->n; i++) {
            hinge_matrix one = hinge_matrix_f64(set->x + i * set->d, 1, set->d);
            double single;
            long double want = right[i];
            double off = precision == HINGE_PRECISION_AUTO ? 1e-4 * most : f64_within;
            if (i % 7 == 0) {
                assert_int_equal(hinge_predict(m, &one, &options, NULL, &single, NULL), HINGE_OK);
                assert_near(single, want, off);
            }
            if (!(fabsl(f[i] - want) <= off))
                print_error("%s: row %zu: %.12g for %.12Lg\n", what, i, f[i], want);
            assert_near(f[i], want, off);
            if (m->labels != NULL && fabsl(want) > f64_within) {
                assert_true(label[i] == (want > 0 ? 1 : -1));
                assert_true(alone[i] == label[i]);
            }
        }
    }
}

static struct set normal(size_t n, size_t d, uint64_t *seed)
{
    struct set set = set_new(n, d);
    for (size_t at = 0; at < n * d; at++)
        set.x[at] = draw_normal(seed);
    return set;
}

/* ---- what f32 is too coarse for ---------------------------------------------------------------------------------- */

/* Each support vector has a near one of the other class; the examples are those. */
TEST(near_twins)
{
    uint64_t seed = 8;
    struct set sv = normal(1000, 80, &seed);
    for (size_t i = 0; i < 500; i++)
        for (size_t c = 0; c < sv.d; c++)
            sv.x[(i + 500) * sv.d + c] = sv.x[i * sv.d + c] + 0.01 * draw_normal(&seed);
    for (double gamma = 0.005; gamma < 300; gamma *= 100) {
        hinge_model *m = model_of(HINGE_C_SVC, hinge_kernel_rbf(gamma), &sv, 100, 0.1, &seed);
        check(m, &sv, "near twins", 1e-8);
    }
}

/* Few different values of K, each wrong by the same in all its places. */
TEST(zeros_and_ones)
{
    uint64_t seed = 9;
    struct set sv = set_new(2500, 64), x = set_new(60, 64);
    for (size_t at = 0; at < sv.n * sv.d; at++)
        sv.x[at] = draw(&seed) % 2;
    for (size_t at = 0; at < x.n * x.d; at++)
        x.x[at] = draw(&seed) % 2;
    for (double gamma = 1e-3; gamma < 1; gamma *= 20)
        for (double size = 1; size <= 1e4; size *= 100) {
            hinge_model *m = model_of(HINGE_C_SVC, hinge_kernel_rbf(gamma), &sv, size, 1, &seed);
            check(m, &x, "0/1", 1e-8 * size);
        }
}

/* Models of every task and kernel that predict in f32 where that is enough; it is for some. */
TEST(all_kinds)
{
    uint64_t seed = 10;
    int labels = 0, values = 0;
    struct set sv = normal(1500, 50, &seed), x = normal(80, 50, &seed);
    static const hinge_kernel_type kernels[] = { HINGE_POLYNOMIAL, HINGE_RBF, HINGE_SIGMOID, HINGE_MATERN32,
                                                 HINGE_MATERN52, HINGE_LAPLACIAN, HINGE_CHI2, HINGE_TANIMOTO };
    for (size_t t = 0; t < sizeof kernels / sizeof *kernels; t++)
        for (int task = 0; task < 2; task++)
            for (double size = 1e-5; size < 100; size *= 100) {
                hinge_kernel k = kernels[t] == HINGE_POLYNOMIAL ? hinge_kernel_polynomial(3, 0.02, 1)
                                 : kernels[t] == HINGE_SIGMOID  ? hinge_kernel_sigmoid(0.01, 0)
                                                                : hinge_kernel_rbf(task == 0 ? 0.05 : 0.3);
                k.type = kernels[t];
                hinge_model *m = model_of(task == 0 ? HINGE_C_SVC : HINGE_EPSILON_SVR, k, &sv, size, 0.01, &seed);
                labels += m->f32_is_enough, values += m->f32_for_values;
                check(m, &x, hinge_kernel_info(k.type)->keyword, 1e-9 * fmax(1, size));
            }
    assert_true(values > 3 && labels > values);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

/* Vectors of the kind that rounding is hard on: 0 normal, 1 all features equal, so that sums round alike, 2 zeros and
 * ones, 3 heavy tails, 4 far from the origin, 5 few that are not 0, 6 features of sizes from 1 to 1e-6, 7 outliers. */
static double hard_feature(int kind, size_t c, uint64_t *seed)
{
    double normal = draw_normal(seed);
    switch (kind) {
    case 1: return c == 0 ? normal : 0; /* and copied */
    case 2: return draw(seed) % 2 ? 1 : 0;
    case 3: return normal / (0.05 + draw_unit(seed)) / (0.05 + draw_unit(seed));
    case 4: return 100 + normal;
    case 5: return draw(seed) % 8 == 0 ? normal : 0;
    case 6: return normal * pow(10, -6 * (double)(c % 7) / 6);
    case 7: return draw(seed) % 500 == 0 ? 1e4 * normal : normal;
    default: return normal;
    }
}

static struct set hard_set(int kind, size_t n, size_t d, uint64_t *seed)
{
    struct set set = set_new(n, d);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < d; c++)
            set.x[i * d + c] = kind == 1 && c > 0 ? set.x[i * d] : hard_feature(kind, c, seed);
    return set;
}

/* No value in f32 is off by more than is told, of an example alone or of all together; most have a bound. */
static void check_bounds(const hinge_model *m, const struct set *x, size_t *bounded, uint64_t seed)
{
    double *f = get(x->n, sizeof *f), off = 0;
    long double *right = truths(m, x);
    hinge_matrix all = set_matrix(x);
    for (int level = 1; level <= 4; level++) {
        hinge_predict_report report;
        hinge_predict_options o = { 1, HINGE_PRECISION_F32, .cpu_level = level, .report = &report };
        for (size_t i = 0; i < x->n; i++) {
            hinge_matrix one = hinge_matrix_f64(x->x + i * x->d, 1, x->d);
            assert_int_equal(hinge_predict(m, &one, &o, NULL, f, NULL), HINGE_OK);
            off = (double)fabsl(f[0] - right[i]);
            if (report.rows_f64 == 0 && !(off <= report.bound))
                print_error("seed %llu, level %d: off by %g, bound %g\n", (unsigned long long)seed, level, off,
                            report.bound);
            assert_true(report.rows == 1 && (report.rows_f64 == 1 || off <= report.bound));
            *bounded += report.rows_f64 == 0;
        }
        assert_int_equal(hinge_predict(m, &all, &o, NULL, f, NULL), HINGE_OK);
        for (size_t i = 0; i < x->n; i++)
            assert_true(report.rows_f64 > 0 || fabsl(f[i] - right[i]) <= report.bound);
    }
}

TEST(bounds_hold)
{
    size_t bounded = 0, rows = 0;
    for (uint64_t number = 45000; number < 45160; number++) {
        uint64_t seed = number;
        int kind = (int)(number % 8), kernel = (int)(draw(&seed) % 6);
        size_t d = draw(&seed) % 3 == 0 ? 1 + draw(&seed) % 500 : 1 + draw(&seed) % 40, n = 20 + draw(&seed) % 300;
        struct set sv = hard_set(kind, n, d, &seed), x = hard_set(kind, 6, d, &seed);
        double gamma = exp(2 * draw_normal(&seed)) / (double)d, twin = draw(&seed) % 2 ? 0.1 : 1e-4;
        for (size_t c = 0; c < 2 * d; c++) /* two are near support vectors */
            x.x[c] = sv.x[c] + twin * draw_normal(&seed);
        hinge_kernel k = kernel == 0   ? hinge_kernel_polynomial(1 + (int)(draw(&seed) % 4), gamma, draw_unit(&seed))
                         : kernel == 1 ? hinge_kernel_sigmoid(gamma, draw_normal(&seed))
                         : kernel == 2 ? hinge_kernel_matern32(gamma)
                         : kernel == 3 ? hinge_kernel_matern52(gamma)
                         : kernel == 4 ? hinge_kernel_laplacian(gamma)
                                       : hinge_kernel_rbf(gamma);
        hinge_task task = draw(&seed) % 2 ? HINGE_C_SVC : HINGE_EPSILON_SVR;
        check_bounds(model_of(task, k, &sv, exp(3 * draw_normal(&seed)), 0.5, &seed), &x, &bounded, number);
        rows += 4 * x.n;
    }
    assert_true(bounded > rows / 2);
}

/* Where differences of features, in three kernels, lose what bounds of them count: far from the origin, where vectors
 * are rounded alike in all features, and of many features, whose sums are rounded alike. Every bound is told, and most
 * are near. */
TEST(bounds_of_differences)
{
    static const size_t features[] = { 1, 3, 40, 300, 1000 };
    size_t bounded[3] = { 0 }, rows[3] = { 0 };
    for (uint64_t number = 5200010; number < 5200070; number++) {
        uint64_t seed = number;
        hinge_kernel k = hinge_kernel_laplacian(1);
        int kind = number / 30 % 2 ? 1 : (int)(number % 8);
        size_t d = features[number % 5], n = 150 + draw(&seed) % 100;
        double far = pow(10, (double)(draw(&seed) % 6)), gamma = 0.1 * draw_unit(&seed) / (double)d;
        struct set sv = hard_set(kind, n, d, &seed), x = hard_set(kind, 6, d, &seed);
        k.type = number % 3 == 0 ? HINGE_LAPLACIAN : number % 3 == 1 ? HINGE_CHI2 : HINGE_TANIMOTO;
        k.gamma = gamma;
        for (size_t i = 0; i < n * d; i++)
            sv.x[i] = far + sv.x[i];
        for (size_t i = 0; i < x.n * d; i++)
            x.x[i] = far + x.x[i];
        hinge_model *m = model_of(HINGE_ONE_CLASS, k, &sv, 10, 0.5, &seed);
        check_bounds(m, &x, &bounded[number % 3], number);
        rows[number % 3] += 4 * x.n;
    }
    for (int kernel = 0; kernel < 3; kernel++)
        assert_true(bounded[kernel] > rows[kernel] / 3);
}

/* Tangents (lib/model/doubt.c) are nowhere below what they bound. */
TEST(tangents)
{
    static const hinge_kernel_type types[] = { HINGE_RBF, HINGE_MATERN32, HINGE_MATERN52 };
    uint64_t seed = 15;
    struct set sv = normal(20, 3, &seed);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        hinge_kernel kernel = hinge_kernel_rbf(0.5);
        kernel.type = types[k];
        const struct hg_kernel_row *row = hg_kernel_row(types[k]);
        hinge_model *m = model_of(HINGE_C_SVC, kernel, &sv, 1, 0, &seed);
        for (int i = 0; i < HG_TANGENTS; i++)
            for (double t = 1e-9; t < 1e4; t *= 1.001) {
                const struct hg_tangent *at = &m->tangent[i];
                double value = row->value(t);
                assert_true(at->root >= 0 && at->t >= 0);
                assert_true(sqrt(t) * value <= (at->root * value + at->root_rest) * (1 + 1e-12));
                assert_true(t * value <= (at->t * value + at->t_rest) * (1 + 1e-12));
            }
    }
}

/* Where a kernel's slope has fallen to a value: no further out than that by much, and nowhere nearer, down to the least
 * that is asked for. */
TEST(flat)
{
    static const hinge_kernel_type types[] = { HINGE_RBF, HINGE_MATERN32, HINGE_MATERN52 };
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        const struct hg_kernel_row *row = hg_kernel_row(types[k]);
        hinge_kernel kernel = { .type = types[k], .gamma = 1 };
        assert_true(hg_kernel_flat(&kernel, row->slope(0)) == 0 && hg_kernel_flat(&kernel, 2) == 0);
        for (double slope = row->slope(0) * 0.999; slope > 1e-307; slope *= 0.97) {
            double t = hg_kernel_flat(&kernel, slope);
            assert_true(row->slope(t) <= slope * (1 + 1e-12) && row->slope(0.96 * t) > slope);
        }
        double t = hg_kernel_flat(&kernel, 1e-11 / DBL_MAX);
        assert_true(isfinite(t) && row->slope(t) <= 1e-318);
    }
}

/* Labels of ordinary tables, whose features have mean 0 and deviation 1, are made in f32 but for a few rows, by a model
 * that is small; decision values are right to what is promised, whoever made them, and the bound is told. */
TEST(ordinary_tables)
{
    static const double classes[] = { -1, 1, 3, 4, 5 };
    for (size_t k = 2; k <= 5; k += 3) {
        struct set set = set_blobs(50 + k, 900, 20, k, classes, 2.5), x = set_blobs(70 + k, 2000, 20, k, classes, 2.5);
        hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.05), 1);
        hinge_model *m = fit(&set, &params, NULL);
        hinge_predict_report report = { 0 };
        hinge_predict_options o = { .threads = 2, .report = &report };
        hinge_matrix rows = set_matrix(&x);
        double *labels = get(x.n, sizeof *labels), *f64 = get(x.n, sizeof *f64);
        assert_true(hg_model_is_small(m) && hinge_model_n_sv(m) > 250);
        assert_int_equal(hinge_predict(m, &rows, &o, labels, NULL, NULL), HINGE_OK);
        assert_true(report.rows == x.n && report.rows_f64 < x.n / 20 && report.bound > 0 && report.bound < 0.1);
        o.precision = HINGE_PRECISION_F64;
        assert_int_equal(hinge_predict(m, &rows, &o, f64, NULL, NULL), HINGE_OK);
        assert_true(report.rows_f64 == x.n && report.bound == 0 && report.promise >= 1e-4);
        for (size_t i = 0; i < x.n; i++)
            assert_true(labels[i] == f64[i]);
    }
}

/* ---- examples that are too large --------------------------------------------------------------------------------- */

TEST(too_large)
{
    uint64_t seed = 11;
    static const double large[] = { 1e15, 1e20, 1e38, 1e160, DBL_MAX, -DBL_MAX };
    struct set sv = normal(1500, 50, &seed), x = normal(24, 50, &seed);
    for (size_t i = 0; i < x.n; i++)
        x.x[i * x.d + i] = i < 6 ? large[i] : i < 12 ? large[i - 6] * draw_unit(&seed) : x.x[i * x.d + i];
    memcpy(sv.x + 3 * sv.d, x.x + 4 * x.d, sv.d * sizeof *sv.x); /* one of them is a support vector */
    for (int kind = 0; kind < 2; kind++) {
        hinge_model *m = model_of(HINGE_C_SVC, hinge_kernel_rbf(0.05), &sv, kind == 0 ? 1e-3 : 1, 0.2, &seed);
        check(m, &x, "too large", 1e-8);
        double f[24];
        hinge_matrix all = set_matrix(&x);
        hinge_predict_options f32 = { .threads = 1, .precision = HINGE_PRECISION_F32 };
        assert_int_equal(hinge_predict(m, &all, &f32, NULL, f, NULL), HINGE_OK);
        for (size_t i = 0; i < x.n; i++)
            assert_near(f[i], truth(m, x.x + i * x.d), 1e-2);
        sv.x[3 * sv.d + 4] = 0; /* none is: f32 may be tried */
    }
}

/* ---- what f32 does not hold -------------------------------------------------------------------------------------- */

/* Coefficients, products with them, values or a gamma that are less or more than f32 holds. The labels hang on them. */
TEST(too_small)
{
    uint64_t seed = 14;
    struct set sv = normal(1500, 50, &seed), x = normal(40, 50, &seed);
    for (double size = 1e-36; size > 1e-48; size /= 30) {
        hinge_model *m = model_of(HINGE_C_SVC, hinge_kernel_rbf(0.3), &sv, size, 0, &seed);
        check(m, &x, "coefficients", 1e-11 * size);
    }
    const struct {
        hinge_kernel kernel;
        double features, size;
    } cases[] = { { hinge_kernel_polynomial(1, 1e-46, 0), 1e15, 1e16 },
                  { hinge_kernel_polynomial(1, 1e41, 0), 1e-16, 1e-9 },
                  { hinge_kernel_polynomial(3, 1, 0), 1e-9, 1e40 },
                  { hinge_kernel_polynomial(1, 1, 0), 1e-21, 1e30 },
                  { hinge_kernel_sigmoid(1e-46, 0), 1e18, 1e9 },
                  { hinge_kernel_rbf(1e38), 1e-20, 1 },
                  { hinge_kernel_rbf(1e-39), 1e18, 1 } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct set vectors = set_new(sv.n, sv.d), examples = set_new(x.n, x.d);
        for (size_t at = 0; at < sv.n * sv.d; at++)
            vectors.x[at] = cases[k].features * sv.x[at];
        for (size_t at = 0; at < x.n * x.d; at++)
            examples.x[at] = cases[k].features * x.x[at];
        hinge_model *m = model_of(HINGE_C_SVC, cases[k].kernel, &vectors, cases[k].size, 0, &seed);
        check(m, &examples, "values", fmax(1e-9, 1e-13 * cases[k].size));
    }
}

/* Values that are infinite for the support vectors of one class say nothing of the problem of two others. */
TEST(infinite_for_others)
{
    uint64_t seed = 13;
    for (int ovr = 0; ovr < 2; ovr++) {
        struct set set = set_new(90, 3);
        for (size_t i = 0; i < set.n; i++) {
            set.y[i] = (double)(i % 3 + 1);
            for (size_t c = 0; c < 3; c++) /* the third feature is the third class's */
                set.x[i * 3 + c] = (c == 2) == (i % 3 == 2) ? draw_normal(&seed) + (double)(i % 3) : 0;
        }
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        params.kernel = hinge_kernel_polynomial(2, 1, 1);
        params.multiclass = ovr ? HINGE_ONE_VS_REST : HINGE_ONE_VS_ONE;
        hinge_model *m = fit(&set, &params, NULL);
        double row[] = { 0.5, 0.25, 1e200 }, near[] = { 0.5, 0.25, 0 }, f[3], want[3];
        hinge_matrix x = hinge_matrix_f64(row, 1, 3), z = hinge_matrix_f64(near, 1, 3);
        assert_int_equal(hinge_predict(m, &z, NULL, NULL, want, NULL), HINGE_OK);
        for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision++) {
            hinge_predict_options options = { .precision = (hinge_precision)precision };
            assert_int_equal(hinge_predict(m, &x, &options, NULL, f, NULL), HINGE_OK);
            if (!ovr) /* of classes 1 and 2 */
                assert_near(f[0], want[0], 1e-9 * (1 + fabs(want[0])));
            for (int p = 0; p < 3; p++)
                assert_false(isnan(f[p]));
        }
    }
}

/* The bound of f32's error holds, and is no looser for features that are 0 in a support vector: labels of such models
 * are told in f32. */
TEST(few_nonzeros)
{
    uint64_t seed = 14;
    struct set sv = set_new(2500, 123), x = set_new(200, 123);
    for (size_t k = 0; k < 14 * (sv.n + x.n); k++) { /* equal features fall on each other: 14 at most */
        struct set *of = k < 14 * sv.n ? &sv : &x;
        size_t row = k < 14 * sv.n ? k / 14 : k / 14 - sv.n;
        of->x[row * of->d + draw(&seed) % (row % 2 ? 20 : of->d)] = 0.7 + 0.1 * (double)(k % 3);
    }
    hinge_model *m = model_of(HINGE_C_SVC, hinge_kernel_rbf(0.5), &sv, 100, 0.1, &seed);
    hinge_predict_report report;
    hinge_predict_options options = { .threads = 2, .precision = HINGE_PRECISION_F32, .report = &report };
    hinge_matrix all = set_matrix(&x);
    double *f = get(x.n, sizeof *f);
    assert_true(m->most_nonzeros <= 14 && m->f32_is_enough);
    assert_int_equal(hinge_predict(m, &all, &options, NULL, f, NULL), HINGE_OK);
    assert_true(report.rows_f64 == 0 && report.bound < 0.1);
    for (size_t i = 0; i < x.n; i++)
        assert_near(f[i], truth(m, x.x + i * x.d), report.bound);
    check(m, &x, "few non-zeros", 1e-8);
}

/* Labels of many examples by a small model are made in f32 where that may do, and are those of exact values; values
 * are made in f64. Some examples are support vectors, some of which are equal. */
TEST(many_by_few)
{
    uint64_t seed = 13;
    struct set sv = normal(1000, 5, &seed), x = normal(4500, 5, &seed);
    memcpy(sv.x, sv.x + 5 * sv.d, sv.d * sizeof *sv.x);
    for (size_t i = 0; i < x.n; i += 100)
        memcpy(x.x + i * x.d, sv.x + i / 5 * x.d, x.d * sizeof *x.x);
    hinge_model *m = model_of(HINGE_C_SVC, hinge_kernel_rbf(0.4), &sv, 20, 0.1, &seed);
    assert_true(hg_model_is_small(m) && !m->f32_is_enough);
    check(m, &x, "many by few", 1e-9);
}

/* ---- several classes --------------------------------------------------------------------------------------------- */

/* The values of all problems by plain sums over all support vectors. */
static void plain_values(const hinge_model *m, const double *x, long double *f)
{
    double room[4096];
    assert_true(m->d <= sizeof room / sizeof *room);
    for (size_t p = 0; p < m->n_problems; p++)
        f[p] = -m->rho[p];
    for (size_t c = 0, i = 0; c < hg_model_groups(m); c++)
        for (size_t end = i + hg_model_group_sv(m, c); i < end; i++) {
            long double k = value_of(&m->kernel, x, hg_model_vectors(m, i, 1, room), m->d);
            for (size_t row = 0; row < hg_model_coef_rows(m); row++)
                f[hg_coef_problem(m, c, row)] += (long double)m->coef[row * m->n_sv + i] * k;
        }
}

static double plain_label(const hinge_model *m, const long double *f)
{
    size_t votes[16] = { 0 }, best = 0;
    bool rest = m->multiclass == HINGE_ONE_VS_REST;
    for (size_t a = 0, p = 0; a < m->n_classes && !rest; a++)
        for (size_t b = a + 1; b < m->n_classes; b++, p++)
            votes[f[p] > 0 ? a : b]++;
    for (size_t c = 1; c < m->n_classes; c++)
        if (rest ? f[c] > f[best] : votes[c] > votes[best])
            best = c;
    return m->labels[best];
}

/* Twelve classes of n / 12 vectors each around a place of their own. */
static hinge_model *twelve_classes(hinge_kernel kernel, hinge_multiclass multiclass, const struct set *sv, double size,
                                   uint64_t *seed)
{
    hinge_model *m = hg_model_new(HINGE_C_SVC, kernel, multiclass, 12, 0, sv->n, sv->d, HINGE_F64);
    memcpy(m->sv, sv->x, sv->n * sv->d * sizeof *sv->x);
    for (size_t c = 0; c < 12; c++)
        m->labels[c] = (double)(c * c), m->class_sv[c] = sv->n / 12;
    for (size_t p = 0; p < m->n_problems; p++)
        m->rho[p] = 0.01 * draw_normal(seed);
    for (size_t row = 0; row < hg_model_coef_rows(m); row++)
        for (size_t i = 0; i < sv->n; i++) {
            size_t c = i * 12 / sv->n;
            bool first = multiclass == HINGE_ONE_VS_REST ? row == c : row >= c;
            m->coef[row * sv->n + i] = (first ? size : -size) * draw_unit(seed);
        }
    assert_int_equal(hg_model_finish(m, 2, NULL), HINGE_OK);
    return given_back(m);
}

/* Values and labels of all examples are those of plain sums. */
static void check_classes(const hinge_model *m, const struct set *x, double within)
{
    double *f = get(x->n * m->n_problems, sizeof *f), *label = get(x->n, sizeof *label);
    double *alone = get(x->n, sizeof *alone);
    long double *want = get(m->n_problems, sizeof *want);
    hinge_matrix all = set_matrix(x);
    hinge_predict_options f64 = { .threads = 2, .precision = HINGE_PRECISION_F64 }, best = { .threads = 2 };
    assert_int_equal(hinge_predict(m, &all, &f64, label, f, NULL), HINGE_OK);
    assert_int_equal(hinge_predict(m, &all, &best, alone, NULL, NULL), HINGE_OK);
    for (size_t i = 0; i < x->n; i++) {
        plain_values(m, x->x + i * x->d, want);
        for (size_t p = 0; p < m->n_problems; p++)
            assert_near(f[i * m->n_problems + p], want[p], within);
        assert_true(label[i] == plain_label(m, want) && alone[i] == label[i]);
    }
}

/* Labels are begun in f32, where votes between some classes are not sure, and are those of exact values. */
TEST(unsure_votes)
{
    uint64_t seed = 16;
    struct set sv = normal(2400, 40, &seed), x = normal(200, 40, &seed);
    int labels = 0;
    for (double size = 1e-3; size < 1e5; size *= 10)
        for (int ovr = 0; ovr < 2; ovr++) {
            hinge_multiclass multiclass = ovr ? HINGE_ONE_VS_REST : HINGE_ONE_VS_ONE;
            hinge_model *m = twelve_classes(hinge_kernel_rbf(0.02), multiclass, &sv, size, &seed);
            labels += m->f32_is_enough && !m->f32_for_values;
            check_classes(m, &x, 1e-9 * fmax(1, size));
        }
    assert_true(labels > 0);
}

/* Equal vectors of a class are one in prediction, and those of different classes are not; the model keeps them all. */
TEST(equal_vectors)
{
    uint64_t seed = 15;
    struct set sv = normal(1800, 20, &seed), x = normal(150, 20, &seed);
    for (size_t i = 0; i < sv.n; i++) /* in each class 50 vectors three times; the first of all classes are one */
        memcpy(sv.x + i * sv.d, sv.x + (i % 50 == 0 ? 0 : i - i % 150 + i % 50) * sv.d, sv.d * sizeof *sv.x);
    memcpy(x.x, sv.x, 60 * sv.d * sizeof *sv.x);
    for (int kind = 0; kind < 4; kind++) {
        hinge_kernel k = kind % 2 ? hinge_kernel_polynomial(3, 0.02, 1) : hinge_kernel_rbf(0.02);
        hinge_model *m = twelve_classes(k, kind < 2 ? HINGE_ONE_VS_ONE : HINGE_ONE_VS_REST, &sv, 1, &seed);
        assert_non_null(m->merged);
        assert_int_equal(m->merged->n_sv, 12 * 50);
        assert_int_equal(hinge_model_n_sv(m), 1800);
        check_classes(m, &x, 1e-9);
        m = model_of(kind < 2 ? HINGE_EPSILON_SVR : HINGE_C_SVC, k, &sv, 1, 0.1, &seed);
        assert_int_equal(m->merged->n_sv, kind < 2 ? 12 * 49 + 1 : 2 * (6 * 49 + 1));
        check(m, &x, "equal vectors", 1e-9);
    }
    for (size_t i = 0; i < 12; i++) /* one of each class, all equal */
        memcpy(sv.x + i * sv.d, sv.x, sv.d * sizeof *sv.x);
    sv.n = 12;
    hinge_model *m = twelve_classes(hinge_kernel_rbf(0.02), HINGE_ONE_VS_ONE, &sv, 1, &seed);
    assert_null(m->merged);
}

/* ---- K(x, x) ----------------------------------------------------------------------------------------------------- */

/* Support vectors as examples, all far from each other: f = coef - rho, to the bit. Some are twice there. */
TEST(themselves)
{
    uint64_t seed = 12;
    for (size_t d = 63; d < 250; d += in_full() ? 90 : 180)
        for (double range = 10; range < 1e20; range *= in_full() ? 1e6 : 1e12)
            for (size_t n = 40; n < 3000; n *= 8) {
                struct set sv = set_new(n, d);
                for (size_t at = 0; at < n * d; at++)
                    sv.x[at] = range * draw_normal(&seed);
                memcpy(sv.x, sv.x + 5 * d, d * sizeof *sv.x);
                hinge_model *m = model_of(HINGE_C_SVC, hinge_kernel_rbf(60 / (range * range)), &sv, 1, 0, &seed);
                double *f = get(n, sizeof *f);
                for (size_t i = 0; i < n; i++)
                    m->coef[i] = (i < n / 2 ? 1 : -1) * (double)(1 + draw(&seed) % 8) / 8;
                m->coef[0] = m->coef[5] = 0.5;
                assert_int_equal(hinge_model_set_scaling(m, NULL, NULL, NULL), HINGE_OK); /* derives all anew */
                for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision++) {
                    hinge_predict_options options = { .threads = 2, .precision = (hinge_precision)precision };
                    hinge_matrix x = set_matrix(&sv);
                    assert_int_equal(hinge_predict(m, &x, &options, NULL, f, NULL), HINGE_OK);
                    for (size_t i = 0; i < n; i++) {
                        double want = i == 0 || i == 5 ? 1 : m->coef[i];
                        assert_true(f[i] == want);
                    }
                }
            }
}

/* A child made by fork trains and predicts with one thread, whatever its parent did with two: doc/threads.md. */
TEST(forks)
{
    static const double labels[] = { 1, 2, 3 };
    struct set set = set_blobs(5, 300, 4, 3, labels, 1);
    hinge_matrix x = set_matrix(&set);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.5), 1);
    hinge_predict_options options = { .threads = 1 };
    int status = -1;
    params.threads = 2;
    hinge_model *model = fit(&set, &params, NULL), *own = NULL;
    double *expected = fit_labels(model, &set);
    params.threads = 1;
    pid_t child = fork();
    if (child == 0) {
        double found[300];
        bool fine = hinge_train(&own, &x, set.y, &params, NULL, NULL) == HINGE_OK &&
                    hinge_predict(own, &x, &options, found, NULL, NULL) == HINGE_OK;
        _exit(!fine || memcmp(found, expected, sizeof found) != 0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
}
