/* Shapley values: against sums over all subsets of features in plain loops; of many features against sums of
 * elementary symmetric polynomials in long double; shares that sum to decision values; gradients against differences
 * of plain decision values; the bits for threads; refusals. */
#include "test/support.h"

#include <hinge/explain.h>
#include <hinge/scaling.h>

enum { D = 7, MANY = 64 };

/* ---- all subsets ------------------------------------------------------------------------------------------------- */

/* The kernel's value of z and an x of which only features in `set` are known. b: what the others are; NULL: factor 1,
 * or value 0. */
static double value_of(const hinge_kernel *kernel, const double *x, const double *b, const double *z, size_t d,
                       unsigned set)
{
    double dot = 0, product = 1;
    for (size_t c = 0; c < d; c++) {
        bool known = set >> c & 1;
        double v = known ? x[c] : b != NULL ? b[c] : 0, by = fabs(v - z[c]);
        dot += v * z[c];
        if (known || b != NULL)
            product *= exp(-kernel->gamma * (kernel->type == HINGE_LAPLACIAN ? by : by * by));
    }
    return kernel->type == HINGE_LINEAR       ? dot
           : kernel->type == HINGE_POLYNOMIAL ? pow(kernel->gamma * dot + kernel->coef0, kernel->degree)
                                              : product;
}

/* The coefficient of support vector i in a problem, by LIBSVM's layout. */
static double coef_of(const hinge_model *m, size_t i, size_t problem)
{
    const size_t *class_sv = hinge_model_class_sv(m);
    size_t k = hinge_model_n_classes(m), n = hinge_model_n_sv(m), c = 0, p = 0;
    if (class_sv == NULL)
        return hinge_model_coef(m)[i];
    if (hinge_model_multiclass(m) == HINGE_ONE_VS_REST && k > 2)
        return hinge_model_coef(m)[problem * n + i];
    for (size_t end = class_sv[0]; i >= end; end += class_sv[c])
        c++;
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, p++)
            if (p == problem)
                return c == a ? hinge_model_coef(m)[(b - 1) * n + i] : c == b ? hinge_model_coef(m)[a * n + i] : 0;
    return 0;
}

/* f of what is known in `set`: the mean over rows of background, or with none of what is not there. */
static double known(const hinge_model *m, size_t problem, const double *x, const struct set *background, size_t d,
                    unsigned set)
{
    hinge_kernel kernel = hinge_model_kernel(m);
    size_t rows = background != NULL ? background->n : 1;
    double f = 0, z[D];
    for (size_t i = 0; i < hinge_model_n_sv(m); i++) {
        assert_ok(hinge_model_sv(m, i, z, NULL));
        for (size_t b = 0; b < rows; b++)
            f += coef_of(m, i, problem) *
                 value_of(&kernel, x, background != NULL ? background->x + b * d : NULL, z, d, set) / (double)rows;
    }
    return f - hinge_model_rho(m)[problem];
}

static double weight_of(size_t size, size_t d)
{
    return tgamma((double)size + 1) * tgamma((double)(d - size)) / tgamma((double)d + 1);
}

/* Compares a few rows with the definition, and the sums of shares with decision values. raw: what the model is given,
 * and background too; set, seen: the same as its kernel sees them. */
static void explained(const hinge_model *m, const struct set *raw, const struct set *raw_background,
                      const struct set *set, const struct set *seen)
{
    size_t d = set->d, problems = hinge_model_n_problems(m), rows = raw->n < 3 ? raw->n : 3;
    struct set few = *raw;
    few.n = rows;
    hinge_matrix x = set_matrix(&few), b;
    if (raw_background != NULL)
        b = set_matrix(raw_background);
    double *values = get(rows * problems * d, sizeof *values), *base = get(problems, sizeof *base);
    double *f = get(1u << d, sizeof *f), *decisions = fit_decisions(m, &few, HINGE_PRECISION_F64);
    assert_ok(hinge_explain(m, &x, raw_background != NULL ? &b : NULL, NULL, values, base, &err));
    for (size_t r = 0; r < rows; r++)
        for (size_t p = 0; p < problems; p++) {
            double sum = base[p], size = 1;
            for (unsigned s = 0; s < 1u << d; s++) {
                f[s] = known(m, p, set->x + r * d, seen, d, s);
                size = fmax(size, fabs(f[s]));
            }
            for (size_t c = 0; c < d; c++) {
                double share = 0, found = values[(r * problems + p) * d + c];
                for (unsigned s = 0; s < 1u << d; s++)
                    if (!(s >> c & 1))
                        share += weight_of((size_t)__builtin_popcount(s), d) * (f[s | 1u << c] - f[s]);
                assert_near(found, share, 1e-11 * size);
                sum += found;
            }
            assert_near(base[p], f[0], 1e-11 * size);
            assert_near(sum, decisions[r * problems + p], 1e-11 * size);
        }
}

static const hinge_kernel kernels[] = { { .type = HINGE_RBF, .gamma = 0.4 },
                                        { .type = HINGE_RBF, .gamma = 30 },
                                        { .type = HINGE_LAPLACIAN, .gamma = 0.3 },
                                        { .type = HINGE_LINEAR, .gamma = 1 },
                                        { .type = HINGE_POLYNOMIAL, .degree = 3, .gamma = 0.5, .coef0 = 1 },
                                        { .type = HINGE_POLYNOMIAL, .degree = 6, .gamma = 0.3, .coef0 = -0.2 },
                                        { .type = HINGE_POLYNOMIAL, .degree = 1, .gamma = 2, .coef0 = 3 },
                                        { .type = HINGE_POLYNOMIAL, .degree = 0, .gamma = 2 } };

TEST(all_subsets)
{
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (size_t d = 1; d <= D; d += 3) {
            struct set set = set_regression(5300000 + k, 40, d), background = set_regression(5300100 + k, 5, d);
            hinge_params params = params_for(HINGE_EPSILON_SVR, kernels[k], 2);
            hinge_model *m = fit(&set, &params, NULL);
            explained(m, &set, NULL, &set, NULL);
            explained(m, &set, &background, &set, &background);
        }
}

TEST(many_classes)
{
    for (int way = HINGE_ONE_VS_ONE; way <= HINGE_ONE_VS_REST; way++)
        for (size_t k = 0; k < 5; k += 2) {
            struct set set = set_blobs(5300200, 60, 5, 4, NULL, 1), background = set_blobs(5300201, 4, 5, 4, NULL, 1);
            hinge_params params = params_for(HINGE_C_SVC, kernels[k], 5);
            params.multiclass = (hinge_multiclass)way;
            hinge_model *m = fit(&set, &params, NULL);
            explained(m, &set, NULL, &set, NULL);
            explained(m, &set, &background, &set, &background);
        }
}

TEST(scaled)
{
    struct set set = set_regression(5300300, 50, 4), background = set_regression(5300301, 6, 4);
    set_multiply(&set, 100);
    set_multiply(&background, 100);
    for (size_t k = 0; k < 5; k++) {
        hinge_params params = params_for(HINGE_EPSILON_SVR, kernels[k], 10);
        hinge_scaling scaling = { .lower = -1, .upper = 1 };
        params.scaling = &scaling;
        hinge_model *m = fit(&set, &params, NULL);
        struct set seen = set_new(set.n, 4), seen_background = set_new(background.n, 4);
        const double *factor = hinge_model_scale_factor(m), *offset = hinge_model_scale_offset(m);
        for (size_t i = 0; i < set.n * 4; i++)
            seen.x[i] = set.x[i] * factor[i % 4] + offset[i % 4];
        for (size_t i = 0; i < background.n * 4; i++)
            seen_background.x[i] = background.x[i] * factor[i % 4] + offset[i % 4];
        explained(m, &set, NULL, &seen, NULL);
        explained(m, &set, &background, &seen, &seen_background);
    }
}

/* ---- many features ----------------------------------------------------------------------------------------------- */

/* The integral of prod over l != c of (1 - t) low[l] + t high[l], by its coefficients in t^k (1 - t)^(n - k), which are
 * >= 0. */
static long double integral(size_t d, size_t c, const double *low, const double *high)
{
    long double *e = get(d, sizeof *e), sum = 0, beta = 1.0L / (long double)d;
    size_t n = 0;
    e[0] = 1;
    for (size_t l = 0; l < d; l++)
        if (l != c) {
            n++;
            for (size_t k = n; k-- > 0;) {
                e[k + 1 < d ? k + 1 : k] += k + 1 <= n ? e[k] * high[l] : 0;
                e[k] *= low[l];
            }
        }
    for (size_t k = 0; k <= n; k++) { /* k! (n - k)! / (n + 1)! */
        sum += e[k] * beta;
        beta *= (long double)(k + 1) / (long double)(n - k > 0 ? n - k : 1);
    }
    return sum;
}

TEST(many_features)
{
    const size_t dims[] = { 33, 64, 65, 100, 301, 784 };
    const double gammas[] = { 0.001, 0.1, 20 };
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++)
        for (size_t g = 0; g < 3; g++) {
            size_t d = dims[k], n;
            struct set set = set_regression(5300400 + k, 4, d), b = set_regression(5300500 + k, 1, d);
            hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(gammas[g]), 1);
            hinge_model *m = fit(&set, &params, NULL);
            hinge_matrix x = set_matrix(&set), background = set_matrix(&b);
            double *with = get(4 * d, sizeof *with), *without = get(4 * d, sizeof *without), base;
            double *high = get(d, sizeof *high), *low = get(d, sizeof *low), *one = get(d, sizeof *one);
            assert_ok(hinge_explain(m, &x, &background, NULL, with, &base, &err));
            assert_ok(hinge_explain(m, &x, NULL, NULL, without, &base, &err));
            n = hinge_model_n_sv(m);
            for (size_t c = 0; c < d; c += d / 3) {
                long double wanted = 0, wanted_without = 0, size = 0;
                for (size_t i = 0; i < n; i++) {
                    const double *z = set.x + hinge_model_sv_index(m)[i] * d;
                    for (size_t l = 0; l < d; l++) {
                        one[l] = 1;
                        high[l] = exp(-gammas[g] * (set.x[l] - z[l]) * (set.x[l] - z[l]));
                        low[l] = exp(-gammas[g] * (b.x[l] - z[l]) * (b.x[l] - z[l]));
                    }
                    double coef = hinge_model_coef(m)[i];
                    wanted += coef * (high[c] - low[c]) * integral(d, c, low, high);
                    wanted_without += coef * (high[c] - 1) * integral(d, c, one, high);
                    size += fabs(coef) * (fabs(high[c] - low[c]) * integral(d, c, low, high) +
                                          fabs(high[c] - 1) * integral(d, c, one, high));
                }
                assert_near(with[c], (double)wanted, 2e-12 * (double)size + 1e-300);
                assert_near(without[c], (double)wanted_without, 2e-12 * (double)size + 1e-300);
            }
        }
}

/* Features by which no vector is near, of x and of background: factors that are 0 leave nothing undefined. */
TEST(factors_of_zero)
{
    struct set set = set_regression(5300600, 10, 3), far = set_regression(5300601, 2, 3);
    hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(1), 1);
    hinge_model *m = fit(&set, &params, NULL);
    far.x[1] = far.x[4] = 1e6;
    hinge_matrix x = set_matrix(&far), background = set_matrix(&far);
    double values[6], base, rho = hinge_model_rho(m)[0];
    assert_ok(hinge_explain(m, &x, &background, NULL, values, &base, &err));
    for (size_t k = 0; k < 6; k++)
        assert_near(values[k], 0, 0);
    assert_near(base, -rho, 1e-15);
    explained(m, &far, NULL, &far, NULL);
}

/* ---- threads, levels, types -------------------------------------------------------------------------------------- */

TEST(threads_and_levels)
{
    struct set set = set_blobs(5300700, 400, 20, 3, NULL, 3), background = set_blobs(5300701, 30, 20, 3, NULL, 3);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.02), 1);
    hinge_model *m = fit(&set, &params, NULL);
    size_t count = 40 * 3 * 20;
    hinge_matrix x = set_matrix(&set), b = set_matrix(&background);
    x.rows = 40;
    double *one = get(count, sizeof *one), *other = get(count, sizeof *other), base[3];
    hinge_predict_options options = { .threads = 1 };
    for (int with = 0; with < 2; with++) {
        options.threads = 1, options.cpu_level = 0;
        assert_ok(hinge_explain(m, &x, with ? &b : NULL, &options, one, base, &err));
        for (options.threads = 2; options.threads <= 4; options.threads++) {
            assert_ok(hinge_explain(m, &x, with ? &b : NULL, &options, other, base, &err));
            assert_memory_equal(one, other, count * sizeof *one);
        }
        for (options.cpu_level = 1; options.cpu_level <= 4; options.cpu_level++) {
            assert_ok(hinge_explain(m, &x, with ? &b : NULL, &options, other, base, &err));
            assert_true(largest_difference(one, other, count) <= 1e-12);
        }
        options.cpu_level = 0;
    }
    assert_ok(hinge_gradients(m, &x, &options, one, &err));
    options.threads = 1;
    assert_ok(hinge_gradients(m, &x, &options, other, &err));
    assert_memory_equal(one, other, count * sizeof *one);
}

TEST(by_columns)
{
    struct set set = set_regression(5300800, 300, 6);
    hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.2), 1);
    hinge_model *m = fit(&set, &params, NULL);
    float *columns = get(300 * 6, sizeof *columns);
    for (size_t i = 0; i < 300 * 6; i++) {
        set.x[i] = (float)set.x[i];
        columns[i % 6 * 300 + i / 6] = (float)set.x[i];
    }
    hinge_matrix x = set_matrix(&set), other = { columns, HINGE_F32, 300, 6, 300, HINGE_COLUMN_MAJOR };
    double *one = get(1800, sizeof *one), *two = get(1800, sizeof *two), base;
    hinge_matrix some = x, other_some = other;
    some.rows = other_some.rows = 10;
    assert_ok(hinge_explain(m, &x, &some, NULL, one, &base, &err));
    assert_ok(hinge_explain(m, &other, &other_some, NULL, two, &base, &err));
    assert_memory_equal(one, two, 1800 * sizeof *one);
    assert_ok(hinge_gradients(m, &x, NULL, one, &err));
    assert_ok(hinge_gradients(m, &other, NULL, two, &err));
    assert_memory_equal(one, two, 1800 * sizeof *one);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

TEST(gradients)
{
    const hinge_kernel all[] = { hinge_kernel_linear(),
                                 hinge_kernel_polynomial(3, 0.5, 1),
                                 hinge_kernel_polynomial(1, 2, 0),
                                 hinge_kernel_polynomial(0, 1, 1),
                                 hinge_kernel_rbf(0.3),
                                 hinge_kernel_sigmoid(0.1, 0.2),
                                 hinge_kernel_matern32(0.5),
                                 hinge_kernel_matern52(0.5),
                                 hinge_kernel_laplacian(0.2) };
    struct set set = set_blobs(5300900, 60, 4, 3, NULL, 1), rows = set_blobs(5300901, 300, 4, 3, NULL, 1);
    hinge_scaling scaling = { .lower = -1, .upper = 1 };
    hinge_matrix x = set_matrix(&rows);
    for (size_t k = 0; k < 2 * sizeof all / sizeof *all; k++) {
        hinge_params params = params_for(HINGE_C_SVC, all[k / 2], 2);
        params.scaling = k % 2 ? &scaling : NULL;
        hinge_model *m = fit(&set, &params, NULL);
        double *gradients = get(300 * 3 * 4, sizeof *gradients), h = 1e-5;
        assert_ok(hinge_gradients(m, &x, NULL, gradients, &err));
        for (size_t c = 0; c < 4; c++) {
            struct set up = set_join(&rows, &rows), down = set_join(&rows, &rows);
            for (size_t i = 0; i < 300; i++)
                up.x[i * 4 + c] += h, down.x[i * 4 + c] -= h;
            double *above = fit_decisions(m, &up, HINGE_PRECISION_F64),
                   *below = fit_decisions(m, &down, HINGE_PRECISION_F64);
            for (size_t i = 0; i < 300 * 3; i++)
                assert_near(gradients[i * 4 + c], (above[i] - below[i]) / (2 * h), 1e-5);
        }
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static int stop(void *arg, const hinge_progress *progress)
{
    assert_int_equal(progress->n, 20);
    return ++*(int *)arg > 0;
}

TEST(refusals)
{
    struct set set = set_regression(5301000, 20, 3), wide = set_regression(5301001, 20, 4);
    hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(1), 1);
    hinge_model *m = fit(&set, &params, NULL);
    hinge_matrix x = set_matrix(&set), w = set_matrix(&wide), none = x;
    double values[60], base;
    int calls = 0;
    hinge_predict_options options = { .progress = stop, .progress_arg = &calls };
    none.rows = 0;
    assert_refused(hinge_explain(NULL, &x, NULL, NULL, values, &base, &err), HINGE_EINVAL, "model: NULL");
    assert_refused(hinge_explain(m, &w, NULL, NULL, values, &base, &err), HINGE_EINVAL, "x.cols: 4");
    assert_refused(hinge_explain(m, &x, &w, NULL, values, &base, &err), HINGE_EINVAL, "background.cols: 4");
    assert_refused(hinge_explain(m, &x, &none, NULL, values, &base, &err), HINGE_EINVAL, "background");
    assert_refused(hinge_explain(m, &x, NULL, &options, values, &base, &err), HINGE_ECALLBACK, "rows");
    assert_refused(hinge_gradients(m, &x, &options, values, &err), HINGE_ECALLBACK, "rows");
    assert_refused(hinge_gradients(m, &w, NULL, values, &err), HINGE_EINVAL, "x.cols: 4");
    assert_refused(hinge_gradients(NULL, &x, NULL, values, &err), HINGE_EINVAL, "model: NULL");
    set.x[5] = NAN;
    assert_refused(hinge_explain(m, &x, NULL, NULL, values, &base, &err), HINGE_EINVAL, "x: ");
    assert_refused(hinge_gradients(m, &x, NULL, values, &err), HINGE_EINVAL, "x: ");
    set.x[5] = 0;
    params.kernel = hinge_kernel_matern32(1);
    assert_refused(hinge_explain(fit(&set, &params, NULL), &x, NULL, NULL, values, &base, &err), HINGE_EINVAL,
                   "matern32 is no product");
    params.kernel = hinge_kernel_polynomial(17, 0.1, 0);
    assert_refused(hinge_explain(fit(&set, &params, NULL), &x, NULL, NULL, values, &base, &err), HINGE_EINVAL,
                   "degree: 17");
}
