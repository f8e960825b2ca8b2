/*
 * How wrong decision values in f32 may be (model.h): what is promised, a bound of the error for an example, the sizes
 * that bounds need, and by them the choice of what precision "auto" begins with.
 *
 * Prediction in f32 is switched off by options.precision = f64, by a kernel that f32 does not hold, and for models of
 * at most 65,536 values (hg_model_is_small) unless labels of many examples are asked for.
 */
#include "lib/model/model.h"
#include "lib/base/team.h"

#include <float.h>
#include <math.h>

/* Promises 1e-4 of max(1, largest |rho|): the scale that decision values have, and what hinge.h says of precision
 * "auto". */
double hg_model_promise(const hinge_model *m)
{
    double scale = 1;
    for (size_t p = 0; p < m->n_problems; p++)
        scale = fmax(scale, fabs(m->rho[p]));
    return 1e-4 * scale;
}

/* Bounds the error of f = sum coef K(x, z) in f32, u = 2^-24 being half a unit of the last place, by the errors of dot
 * products (hg_dot_error), map and sums. RBF: an error of `lost` in gamma |x - z|^2 multiplies K by exp(lost) at most,
 * so that share = expm1(lost + ..) is relative to sum |coef| K, and `rest` is for values that are next to 0 in f32.
 * lost grows with gamma (|x|^2 + |z|^2), as norms and dot product cancel. Other kernels have no such factor: the
 * largest error of a value for |<x, z>| <= |x| |z|, times coef_sum. */
struct hg_doubt hg_model_doubt(const hinge_model *m, double norm)
{
    static const double ulp = 0x1p-24;
    double least = 3 * FLT_MIN * (double)m->n_sv;
    /* of values times coefficients: five in f32 at a time as they are made, or a tile's */
    const struct hg_kernel_row *row = hg_kernel_row(m->kernel.type);
    bool summed = row->of_distance && hg_model_coef_rows(m) == 1;
    double sums = summed ? 8 * ulp : hg_dot_error(HINGE_F32, HG_TILE_COLS) + 2 * ulp;
    if (row->of_distance) {
        double both = m->kernel.gamma * (norm + m->largest_norm);
        double lost = (hg_dot_error(HINGE_F32, m->most_nonzeros) + 3 * ulp) * both; /* of gamma ||x - z||^2 */
        if (!(lost <= 1))
            return (struct hg_doubt){ INFINITY, INFINITY, 0 };
        /* and of the vectors, 2 sqrt(2 both) ulps a root of gamma ||x - z||^2: 4 where K is over exp(-16), 9.3 where it
         * is not 0 in f32; of the map */
        double near = 12 * ulp * sqrt(both), far = 27 * ulp * sqrt(both);
        return (struct hg_doubt){ expm1(lost + near) + (12 + row->ulps) * ulp + sums,
                                  1e-37 + 1.2e-7 * expm1(lost + far), least };
    }
    double x = sqrt(norm), z = sqrt(m->largest_norm), d = (double)m->d;
    double product = x * z + d * FLT_MIN / ulp * (1 + x + z); /* of features that are less than f32 holds as well */
    double error = hg_kernel_error(&m->kernel, HINGE_F32, m->d, product), most = hg_kernel_most(&m->kernel, product);
    return (struct hg_doubt){ 0, error + sums * most, least * fmax(most, 1) };
}

struct longest {
    const hinge_model *model;
    double nonzeros; /* atomic */
};

/* Counts features of shifted SVs that are not 0. */
static void find_longest(void *arg, int thread, size_t first, size_t end)
{
    struct longest *l = arg;
    const hinge_model *m = l->model;
    (void)thread;
    for (size_t i = first; i < end; i++) {
        size_t count = 0;
        for (size_t c = 0; c < m->d; c++)
            count += m->sv[i * m->d + c] != (m->shift != NULL ? m->shift[c] : 0);
        hg_raise(&l->nonzeros, (double)count);
    }
}

/* Derives what bounds need: coef_sum, the sum of |coef| of each problem; mixed, whether a row of coef has both signs
 * within a class, as sums of |coef| K are then not |sums of coef K|; largest_norm and most_nonzeros of shifted SVs. */
bool hg_model_derive_sizes(hinge_model *m, int threads)
{
    struct hg_points points = hg_model_points(m, HINGE_F64);
    m->coef_sum = hg_zalloc(m->n_problems, sizeof *m->coef_sum);
    m->mixed = false;
    m->largest_norm = 0;
    m->most_nonzeros = 0;
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
    for (size_t i = 0; i < m->n_sv && m->sv != NULL && m->kernel.type != HINGE_USER; i++)
        m->largest_norm = fmax(m->largest_norm, m->norms != NULL ? m->norms[i] : hg_points_norm(&points, i, HINGE_F64));
    struct longest longest = { m, 0 };
    hg_share(threads, m->sv != NULL ? m->n_sv : 0, 64, find_longest, &longest);
    m->most_nonzeros = (size_t)longest.nonzeros;
    return m->coef_sum != NULL;
}

/* Estimates what a decision value in f32 may be off by for the model's own SVs, on average over some of them (x) and
 * with the sum of |coef| K taken from some (z); false: no memory. */
static bool typical_doubt(const hinge_model *m, double *doubt)
{
    enum { ROWS = 16, COLS = 256 };
    struct hg_points points = hg_model_points(m, HINGE_F64);
    size_t rows = HG_MIN(m->n_sv, (size_t)ROWS), cols = HG_MIN(m->n_sv, (size_t)COLS), d = m->d;
    double *x, *z, most = 0, size = 0, value[ROWS] = { 0 }, norm[ROWS];
    if (!HG_ROOM(HG_TABLE(x, rows, d), HG_ARRAY(z, d)))
        return false;
    for (size_t p = 0; p < m->n_problems; p++)
        most = fmax(most, m->coef_sum[p]);
    for (size_t r = 0; r < rows; r++) {
        hg_points_pack(&points, NULL, r * m->n_sv / rows, 1, HINGE_F64, x + r * d, d);
        norm[r] = hg_points_norm(&points, r * m->n_sv / rows, HINGE_F64);
    }
    for (size_t c = 0; c < cols; c++) {
        size_t j = c * m->n_sv / cols;
        double coef = 0, other = m->norms != NULL ? m->norms[j] : 0;
        hg_points_pack(&points, NULL, j, 1, HINGE_F64, z, d);
        for (size_t row = 0; row < hg_model_coef_rows(m); row++)
            coef += fabs(m->coef[row * m->n_sv + j]);
        for (size_t r = 0; r < rows; r++)
            value[r] += coef * fabs(hg_kernel_value(&m->kernel, hg_dot(x + r * d, z, d), norm[r], other));
        size += coef;
    }
    *doubt = 0;
    for (size_t r = 0; r < rows; r++) {
        struct hg_doubt own = hg_model_doubt(m, norm[r]);
        *doubt += (own.share * (own.share > 0 && size > 0 ? value[r] / size : 0) + own.rest) * most / (double)rows;
    }
    hg_free(x);
    return true;
}

/* Says whether prediction in f32 can be tried. */
static bool may_be_f32(const hinge_model *m)
{
    const struct hg_kernel_row *row = hg_kernel_row(m->kernel.type);
    return !m->beyond_f32 && row->source == HG_FROM_DOTS && m->kernel.type != HINGE_LINEAR;
}

/* Says whether f32 leaves few labels open. A label hangs on the sign, or on which value is larger, so that 2,000 times
 * the promise, 0.2 of the scale, leaves most labels decided; what is not is predicted again in f64. */
static bool tells_labels(const hinge_model *m, double doubt)
{
    return !hinge_task_info(m->task)->regresses && doubt <= 2000 * hg_model_promise(m);
}

bool hg_model_f32_tells_labels(const hinge_model *m)
{
    double doubt;
    return may_be_f32(m) && typical_doubt(m, &doubt) && tells_labels(m, doubt);
}

/* Chooses what "auto" begins with. Small models predict in f64. Large ones in f32, and in f64 again what f32 is too
 * coarse for, where that is likely to be little: labels that f32 leaves open, or values that may be wrong by more than
 * is promised. false: no memory. */
bool hg_model_choose_f32(hinge_model *m)
{
    m->f32_is_enough = m->f32_for_values = false;
    m->beyond_f32 = hg_kernel_beyond_f32(&m->kernel, m->largest_norm);
    if (!may_be_f32(m) || hg_model_is_small(m))
        return true;
    double doubt;
    if (!typical_doubt(m, &doubt))
        return false;
    m->f32_for_values = doubt <= hg_model_promise(m) / 2;
    m->f32_is_enough = m->f32_for_values || tells_labels(m, doubt);
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
