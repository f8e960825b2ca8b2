/*
 * How wrong decision values in f32 may be (model.h): what is promised, a bound of the error for an example, the sizes
 * that bounds need, and by them the choice of what precision "auto" begins with.
 *
 * Prediction in f32 is switched off by options.precision = f64, by a kernel that f32 does not hold, and for models of
 * at most 65,536 values (hg_model_is_small) unless there are many examples.
 */
#include "lib/model/model.h"
#include "lib/base/team.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double ULP = 0x1p-24; /* half a unit in the last place of 1 */

/* Promises 1e-4 of max(1, largest |rho|): the scale that decision values have, and what hinge.h says of precision
 * "auto". */
double hg_model_promise(const hinge_model *m)
{
    double scale = 1;
    for (size_t p = 0; p < m->n_problems; p++)
        scale = fmax(scale, fabs(m->rho[p]));
    return 1e-4 * scale;
}

/* Holds the bound of the error of t = gamma ||x - z||^2 for one example, a + b s + c s^2 with s = sqrt(t), in halves of
 * a unit in the last place of 1. */
struct lost {
    double a, b, c;
};

/* Bounds how wrong t is, two ways. With u = 2^-24, x and z as rounded to f32, a^2 = gamma ||x||^2, b^2 = gamma ||z||^2,
 * steps and their errors are, in units of u: the norms' own a^2 + b^2, their sum as much again, the difference from
 * twice the dot product s^2, the vectors' rounding 2 s (a + b), the map's argument s^2, and gamma times twice
 * what the dot product loses. That is u times the sum of its partial sums' sizes, |<x, z>| over the features so far,
 * and once more that of all products where a level multiplies and adds in two steps. By GEMM, whose order nobody knows,
 * it is the number of products times ||x|| ||z||. By Cauchy and Schwarz a partial sum is at most the product of the
 * partial norms, and z's is at most either x's + s / sqrt(gamma) (the first way), which stays near where few vectors
 * are long, or the largest norm of all (the second). The sum of x's partial norms is at most sqrt(sums * running). What
 * f32 makes 0 (tiny), and products of roundings (the factor), come on top. */
static void bound_lost(const hinge_model *m, const struct hg_lengths *x, bool any_order, struct lost lost[2])
{
    double n = fmin(x->nonzeros, (double)m->most_nonzeros), gamma = m->kernel.gamma, a2 = gamma * x->norm;
    double stretches = floor((double)(m->d + HG_STRETCH - 1) / HG_STRETCH);
    double sums = any_order ? n : n + stretches, running = sums * x->norm;
    if (!any_order && x->running < running)
        running = x->running, sums = x->sums;
    double a = sqrt(a2), b = sqrt(gamma * m->largest_norm), squares = gamma * running, roots = sqrt(sums * squares);
    double tiny = gamma * (double)m->d * FLT_MIN / ULP * (10 + 4 * sqrt(x->norm) + 4 * sqrt(m->largest_norm));
    double more = 1.01 + 2 * sums * ULP;
    lost[0] = (struct lost){ 6 * a2 + 2 * squares + tiny, 10 * a + 2 * roots, 6 };
    lost[1] = (struct lost){ 2 * a2 + 2 * b * b + 2 * b * (roots + a) + tiny, 2 * (a + b), 2 };
    for (int way = 0; way < 2; way++)
        lost[way] = (struct lost){ more * lost[way].a, more * lost[way].b, more * lost[way].c };
}

/* Bounds how wrong t = gamma sum |x - z| is, in the same units. Vectors' rounding is gamma (sum |x| + sum |z|), and sum
 * |z| is at most either sum |x| + sum |x - z| or the largest of all; a difference's own rounding, each sum's and the
 * map's argument's are a share of t each, as nothing cancels. A sum that is not changed adds none. */
static void bound_lost_differences(const hinge_model *m, const struct hg_lengths *x, struct lost lost[2])
{
    double n = fmin(fmin(x->nonzeros + (double)m->most_nonzeros, (double)m->d), HG_STRETCH), gamma = m->kernel.gamma;
    double sums = n + floor((double)(m->d + HG_STRETCH - 1) / HG_STRETCH), more = 1.01 + 2 * sums * ULP;
    double tiny = 4 * gamma * (double)m->d * FLT_MIN / ULP;
    lost[0] = (struct lost){ more * (2 * gamma * x->absolute + tiny), 0, more * (sums + 3) };
    lost[1] = (struct lost){ more * (gamma * (x->absolute + m->largest_norm) + tiny), 0, more * (sums + 2) };
}

/* Makes the bound of a kernel that is a function of t. An error of t by e multiplies K by exp(slope(0) e) at most,
 * which is 1 + slope(0) e (1 + worst) at most where slope(0) e <= worst <= 1/4. So values lose slope(0) (1 + worst)
 * sum |coef| K (a + b s + c s^2), and their map and sums a share of sum |coef| K. Each tangent to s K and s^2 K, as
 * functions of K, bounds them by a multiple of K and a constant; those sums are at most that multiple of sum |coef| K,
 * and the constant times coef_sum, whatever the vectors are. Which tangent is near depends on sum |coef| K / coef_sum:
 * of several the least counts. sum |coef| K is known in f32 alone, and may be too small by the bound itself. Beyond s
 * = far values are next to 0, in f32 too. */
static void bound_values(const hinge_model *m, const struct hg_lengths *x, bool any_order, double sums,
                         struct hg_doubt *doubt)
{
    const struct hg_kernel_row *row = hg_kernel_row(m->kernel.type);
    double most = sqrt(m->kernel.gamma) * (sqrt(x->norm) + sqrt(m->largest_norm)), worst[2];
    struct lost lost[2];
    if (row->of_distance)
        bound_lost(m, x, any_order, lost);
    else
        bound_lost_differences(m, x, lost), most = sqrt(m->kernel.gamma * (x->absolute + m->largest_norm));
    most = fmin(most, m->far);
    for (int way = 0; way < 2; way++)
        worst[way] = row->slope(0) * ULP * (lost[way].a + most * (lost[way].b + most * lost[way].c));
    double least = fmin(worst[0], worst[1]);
    if (!(least <= 0.25) || !(x->norm <= 0x1p100))
        return;
    for (int k = 0; k < HG_TANGENTS; k++) {
        const struct hg_tangent *at = &m->tangent[k];
        double share[2], rest[2], each = ULP * row->slope(0) * (1 + least);
        for (int way = 0; way < 2; way++) {
            share[way] = each * (lost[way].a + lost[way].b * at->root + lost[way].c * at->t) + (sums + row->ulps) * ULP;
            rest[way] = each * (lost[way].b * at->root_rest + lost[way].c * at->t_rest);
        }
        int way = share[1] < share[0];
        double known = 1 - share[way]; /* of sum |coef| K, at least */
        doubt->share[k] = known > 0 ? share[way] / known : 0;
        doubt->rest[k] = known > 0 ? rest[way] / known + 1e-34 : INFINITY;
    }
}

/* Bounds the error of a value of Tanimoto's kernel or chi2, whatever z is; infinite where vectors are next to nothing,
 * or too long. Tanimoto's is (1 - v) / (1 + v), whose slope is at most 2, of the share v = sum |x - z| / sum (|x| +
 * |z|): rounded vectors move it by two halves of an ulp, terms and sums by one each above and below, and the division
 * by one. The terms of chi2's t change by at most three times what x or z change by; what else is lost is a share of t,
 * and t exp(-t) is at most 0.37. */
static double difference_error(const hinge_model *m, const struct hg_lengths *x)
{
    double n = fmin(fmin(x->nonzeros + (double)m->most_nonzeros, (double)m->d), HG_STRETCH), gamma = m->kernel.gamma;
    double sums = n + floor((double)(m->d + HG_STRETCH - 1) / HG_STRETCH), sizes = x->absolute + m->largest_norm;
    if (!(x->norm <= 0x1p100))
        return INFINITY;
    if (hg_kernel_row(m->kernel.type)->difference == HG_DIFFERENCE_SHARE)
        return x->absolute >= 0x1p-60 ? 1.01 * ULP * (4 * sums + 13) : INFINITY;
    double moved = ULP * 3 * gamma * sizes + 4 * gamma * (double)m->d * FLT_MIN;
    if (!(moved + ULP * (sums + 5) * fmin(gamma * sizes, 88) <= 0.25))
        return INFINITY;
    return 1.3 * (moved + ULP * 0.37 * (sums + 5)) + 8 * ULP;
}

/* Bounds the error of f = sum coef K(x, z) in f32: of values, and of their sums with coefficients: one rounding of each
 * coefficient, and five of a panel's products and their sum (hg_sums), or a tile's, by GEMM; f64 adds next to nothing.
 * Kernels of dot products: the largest error of a value for |<x, z>| <= |x| |z|, times coef_sum. */
struct hg_doubt hg_model_doubt(const hinge_model *m, const struct hg_lengths *x, bool any_order)
{
    const struct hg_kernel_row *row = hg_kernel_row(m->kernel.type);
    bool summed = row->of_distance && hg_model_coef_rows(m) == 1;
    double sums = (summed ? 7 : HG_TILE_COLS + 2) + 0x1p-29 * (double)m->n_sv;
    struct hg_doubt doubt = { .least = 3 * FLT_MIN * (double)m->n_sv };
    for (int k = 0; k < HG_TANGENTS; k++)
        doubt.rest[k] = INFINITY;
    if (row->value != NULL) {
        bound_values(m, x, any_order, sums, &doubt);
        return doubt;
    }
    double length = sqrt(x->norm), z = sqrt(m->largest_norm), d = (double)m->d;
    double product = length * z + d * FLT_MIN / ULP * (1 + length + z); /* of what is less than f32 holds as well */
    if (row->source == HG_FROM_PARTS) /* of which some may go by norms of either side */
        product = fmax(product, fmax(x->norm, m->largest_norm));
    double n = fmin(x->nonzeros, (double)m->most_nonzeros), running = sqrt(x->sums * x->running);
    double dot = any_order || !(running < n * length) ? n : running / length;
    double error = hg_kernel_error_by(&m->kernel, HINGE_F32, (1.01 + 2 * n * ULP) * ULP * (dot + 1), 0, product);
    double most = hg_kernel_most(&m->kernel, product);
    if (row->source == HG_FROM_DIFFERENCES)
        error = difference_error(m, x);
    for (int k = 0; k < HG_TANGENTS; k++)
        doubt.rest[k] = error + sums * ULP * most;
    doubt.least *= fmax(most, 1);
    return doubt;
}

/* Takes the tangent that bounds all values together best: one for an example, as there may be many problems. */
bool hg_model_bounds(const hinge_model *m, const struct hg_doubt *doubt, double *size)
{
    double sizes = 0, coefs = 0, least = INFINITY, share = 0, rest = INFINITY;
    for (size_t p = 0; p < m->n_problems; p++)
        sizes += size[p], coefs += m->coef_sum[p];
    for (int k = 0; k < HG_TANGENTS; k++)
        if (doubt->share[k] * sizes + doubt->rest[k] * coefs < least) {
            share = doubt->share[k], rest = doubt->rest[k];
            least = share * sizes + rest * coefs;
        }
    for (size_t p = 0; p < m->n_problems; p++)
        size[p] = share * size[p] + rest * m->coef_sum[p] + doubt->least;
    return isfinite(least);
}

/* Makes tangents to sqrt(t) K and t K, as functions of K, at some t: at k = k(t) they have the slopes sqrt(t) - k / (2
 * sqrt(t) slope(t)) and t - k / slope(t). These rise with t where they are not negative (kernel.h), so that none of the
 * tangents that do not fall meets the function again. */
static void derive_tangents(hinge_model *m)
{
    const struct hg_kernel_row *row = hg_kernel_row(m->kernel.type);
    double t = 1;
    bool of_t = row->value != NULL;
    m->far = of_t && m->kernel.gamma > 0 ? sqrt(hg_kernel_far(&m->kernel, 1e-38)) : 0;
    while (of_t && t * row->slope(t) < row->value(t))
        t *= 2;
    for (int k = 0; of_t && k < HG_TANGENTS; k++, t *= 2) {
        double value = row->value(t), root = sqrt(t), by = value / row->slope(t);
        m->tangent[k] = (struct hg_tangent){ root - by / (2 * root), value * by / (2 * root), t - by, value * by };
    }
}

/* Derives what bounds need: coef_sum, the sum of |coef| of each problem; mixed, whether a row of coef has both signs
 * within a class, as sums of |coef| K are then not |sums of coef K|; what kernels of differences have for a norm; far
 * and tangents. */
bool hg_model_derive_sizes(hinge_model *m)
{
    struct hg_points points = hg_model_points(m, HINGE_F64);
    m->coef_sum = hg_zalloc(m->n_problems, sizeof *m->coef_sum);
    m->mixed = false;
    for (size_t c = 0, sv = 0; m->coef_sum != NULL && c < hg_model_groups(m); sv += hg_model_group_sv(m, c++))
        for (size_t row = 0; row < hg_model_coef_rows(m); row++) {
            double sum = 0, size = 0, *of = &m->coef_sum[hg_coef_problem(m, c, row)];
            for (size_t i = sv; i < sv + hg_model_group_sv(m, c); i++) {
                sum += m->coef[row * m->n_sv + i];
                size += fabs(m->coef[row * m->n_sv + i]);
            }
            *of += size;
            m->mixed = m->mixed || fabs(sum) < size * (1 - 1e-9);
        }
    bool differences = hg_kernel_row(m->kernel.type)->source == HG_FROM_DIFFERENCES;
    m->largest_norm = differences ? 0 : m->largest_norm;
    for (size_t i = 0; i < m->n_sv && differences; i++)
        m->largest_norm = fmax(m->largest_norm, hg_points_lengths(&points, i).absolute);
    derive_tangents(m);
    return m->coef_sum != NULL;
}

/* Makes what the map takes for z and each of `rows` vectors, their dot product or their distance, side by side: each is
 * a sum in the order of features, and several go on at once. x: feature by feature. */
static void products_of(const hinge_model *m, const double *x, size_t rows, const double *z, double *products)
{
    bool dots = hg_kernel_row(m->kernel.type)->source == HG_FROM_DOTS;
    memset(products, 0, rows * sizeof *products);
    for (size_t k = 0; k < m->d; k++)
#pragma omp simd
        for (size_t r = 0; r < rows; r++)
            products[r] += dots ? x[k * rows + r] * z[k] : fabs(x[k * rows + r] - z[k]);
}

/* Takes some examples (x), evenly, and sums of |coef| K from some support vectors (z), whose K plain loops make. */
bool hg_model_typical_doubt(const hinge_model *m, const struct hg_points *examples, size_t rows, size_t cols,
                            double *doubt)
{
    struct hg_points points = hg_model_points(m, HINGE_F64);
    size_t d = m->d;
    bool parts = hg_kernel_row(m->kernel.type)->source == HG_FROM_PARTS; /* bounds hang on no value then */
    double *x, *z, *value, *dots, most = 0, size = 0;
    struct hg_lengths *lengths;
    rows = HG_MIN(examples->n, rows);
    cols = HG_MIN(m->n_sv, cols);
    if (!HG_ROOM(HG_TABLE(x, rows, d), HG_ARRAY(z, d), HG_ARRAY(value, rows), HG_ARRAY(dots, rows),
                 HG_ARRAY(lengths, rows)))
        return false;
    for (size_t p = 0; p < m->n_problems; p++)
        most = fmax(most, m->coef_sum[p]);
    for (size_t r = 0; r < rows; r++) {
        hg_points_pack(examples, NULL, r * examples->n / rows, 1, HINGE_F64, z, d);
        for (size_t k = 0; k < d; k++)
            x[k * rows + r] = z[k];
        lengths[r] = hg_points_lengths(examples, r * examples->n / rows);
        value[r] = 0;
    }
    for (size_t c = 0; c < cols; c++) {
        size_t j = c * m->n_sv / cols;
        double coef = 0, other = m->norms != NULL ? m->norms[j] : 0;
        hg_points_pack(&points, NULL, j, 1, HINGE_F64, z, d);
        for (size_t row = 0; row < hg_model_coef_rows(m); row++)
            coef += fabs(m->coef[row * m->n_sv + j]);
        products_of(m, x, rows, z, dots);
        for (size_t r = 0; r < rows && !parts; r++)
            value[r] += coef * fabs(hg_kernel_value(&m->kernel, dots[r], lengths[r].norm, other));
        size += coef;
    }
    *doubt = 0;
    for (size_t r = 0; r < rows; r++) {
        struct hg_doubt own = hg_model_doubt(m, &lengths[r], false);
        double bound = INFINITY, share = size > 0 ? value[r] / size : 0;
        for (int k = 0; k < HG_TANGENTS; k++)
            bound = fmin(bound, (own.share[k] * share + own.rest[k]) * most);
        *doubt += bound / (double)rows;
    }
    hg_free(x);
    return true;
}

bool hg_model_may_be_f32(const hinge_model *m)
{
    const struct hg_kernel_row *row = hg_kernel_row(m->kernel.type);
    return !m->beyond_f32 && hg_kernel_is_of_features(row) && m->kernel.type != HINGE_LINEAR;
}

/* Values may be doubted by half of the promise. A label hangs on the sign, or on which value is larger, so that 2,000
 * times the promise, 0.2 of the scale, leaves most labels decided; what is not is predicted again in f64. */
double hg_model_may_doubt(const hinge_model *m, bool values)
{
    return (values ? 0.5 : 2000) * hg_model_promise(m);
}

/* Chooses what "auto" begins with. Small models predict in f64, but for many examples. Large ones in f32, and in f64
 * again what f32 is too coarse for, where that is likely to be little: labels that f32 leaves open, or values that may
 * be wrong by more than is promised. false: no memory. */
bool hg_model_choose_f32(hinge_model *m)
{
    enum { MOST_VALUES = 1 << 19 }; /* of support vectors that are looked at, 16 vectors at least */
    m->f32_is_enough = m->f32_for_values = false;
    m->doubt = 0;
    m->beyond_f32 = hg_kernel_beyond_f32(&m->kernel, m->largest_norm);
    if (!hg_model_may_be_f32(m) || hg_model_is_small(m))
        return true;
    struct hg_points points = hg_model_points(m, HINGE_F64);
    size_t few = HG_MAX(MOST_VALUES / HG_MAX(m->d, (size_t)1), (size_t)16);
    if (!hg_model_typical_doubt(m, &points, 16, HG_MIN(few, (size_t)256), &m->doubt))
        return false;
    m->f32_for_values = m->doubt <= hg_model_may_doubt(m, true);
    bool labels = !hinge_task_info(m->task)->regresses && m->doubt <= hg_model_may_doubt(m, false);
    m->f32_is_enough = m->f32_for_values || labels;
    return true;
}

/* Rounds coefficients to f32; absolute values behind them give sums of |coef| K, by which errors are bounded. */
void hg_model_coef32(const hinge_model *m, const uint32_t *order, float *values)
{
    size_t count = hg_model_coef_rows(m) * m->n_sv;
    for (size_t i = 0; i < count; i++) {
        size_t sv = i % m->n_sv;
        values[i] = (float)m->coef[order != NULL ? i - sv + order[sv] : i];
        values[count + i] = fabsf(values[i]);
    }
}
