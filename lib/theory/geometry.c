/*
 * Lengths in feature space, by kernel values in f64: ||w|| of a model, the radius of the data, and whether the kernel
 * matrix is one of inner products at all (Mercer). All of it is made of the verbs of lib/rows/rows.h on a source in f64
 * (hg_dataset_exact); read those before.
 */
#include "lib/model/model.h"
#include "lib/base/team.h"
#include "lib/data/params.h"
#include "lib/data/problem.h"

#include <hinge/theory.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

/* Makes sum[n] = K coef over points[n] of a source. */
static hinge_status multiply(struct hg_gram *gram, const uint32_t *points, size_t n, const double *coef, double *sum,
                             hinge_error *err)
{
    memset(sum, 0, n * sizeof *sum);
    return hg_rows_told(hg_rows_apply(&gram->super, points, n, coef, points, n, sum, NULL), err);
}

/* ---- ||w|| ------------------------------------------------------------------------------------------------------- */

/* Lists the support vectors of a problem and their coefficients; room for n_sv of each. */
static size_t problem_sv(const hinge_model *m, size_t problem, uint32_t *id, double *coef)
{
    size_t count = 0;
    for (struct hg_coef c = { 0 }; hg_next_coef(m, &c);)
        if (c.problem == problem && c.value != 0) {
            id[count] = (uint32_t)c.sv;
            coef[count++] = c.value;
        }
    return count;
}

/* Refuses NULL and problems that the model has not. */
static hinge_status check_problem(const hinge_model *m, size_t problem, const void *out, hinge_error *err)
{
    HG_NEED(err, m, "model");
    HG_NEED(err, out, "result");
    if (problem >= m->n_problems)
        return hg_fail(err, HINGE_EINVAL, "problem: there is no problem %zu, only %zu", problem, m->n_problems);
    return HINGE_OK;
}

/* Computes |w|^2 = sum over pairs of coef_i coef_j K(x_i, x_j), by one product with K over the problem's support
 * vectors. Equal ones are looked for, as their kernel value is 1 to the bit where the kernel is one of the distance. */
hinge_status hinge_model_norm2(const hinge_model *m, size_t problem, double *norm2, hinge_error *err)
{
    HG_TRY(check_problem(m, problem, norm2, err));
    if (m->sv == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: a precomputed kernel's support vectors have no features");
    uint32_t *id, *own, *equal = NULL;
    double *coef, *g;
    HG_TRY(HG_MAKE(err, "the support vectors of a problem", HG_ARRAY(id, m->n_sv), HG_ARRAY(own, m->n_sv),
                   HG_ARRAY(coef, m->n_sv), HG_ARRAY(g, m->n_sv)));
    struct hg_gram gram = { 0 };
    struct hg_dataset sv = {
        .kernel = m->kernel, .d = m->d, .norms = m->norms, .points = hg_model_points(m, HINGE_F64)
    };
    size_t count = problem_sv(m, problem, id, coef);
    for (size_t i = 0; i < count; i++)
        own[i] = (uint32_t)i;
    int threads = hg_kernel_team(&m->kernel, 0, (double)count * (double)count, m->d);
    hinge_status status = HINGE_OK;
    if (hg_kernel_row(m->kernel.type)->of_distance)
        status = hg_equal_find(&sv.points, threads, &equal, err);
    sv.points.equal = equal;
    HG_THEN(status, hg_dataset_exact(&sv, id, count, threads, &gram, err));
    HG_THEN(status, multiply(&gram, own, count, coef, g, err));
    if (status == HINGE_OK)
        *norm2 = hg_dot(coef, g, count);
    hg_gram_free(&gram);
    hg_free(equal);
    hg_free(id);
    return status == HINGE_OK ? hg_ok(err) : status;
}

/* Sums |coef| of the problem, which is y alpha. */
hinge_status hinge_model_sum_alpha(const hinge_model *m, size_t problem, double *sum_alpha, hinge_error *err)
{
    double sum = 0;
    HG_TRY(check_problem(m, problem, sum_alpha, err));
    if (m->task != HINGE_C_SVC)
        return hg_fail(err, HINGE_EINVAL, "model: not a C-SVC one");
    for (struct hg_coef c = { 0 }; hg_next_coef(m, &c);)
        sum += c.problem == problem ? fabs(c.value) : 0;
    *sum_alpha = sum;
    return hg_ok(err);
}

/* ---- the kernel matrix of given points --------------------------------------------------------------------------- */

/* Holds points with a kernel and nothing else: the problem of one-class, which has no labels. */
struct plain {
    struct hg_problem problem;
    struct hg_gram gram;
    uint32_t *ids; /* [problem.n] 0, 1, 2, ... */
};

static void close_points(struct plain *p)
{
    hg_gram_free(&p->gram);
    hg_free(p->ids);
    hg_problem_free(&p->problem);
}

/* Makes the problem and its source; close_points frees what there is, also where this fails. */
static hinge_status open_points(struct plain *p, const hinge_matrix *x, const hinge_kernel *kernel, int threads,
                                hinge_error *err)
{
    hinge_params params = hinge_params_default(HINGE_ONE_CLASS);
    struct hg_problem *pr = &p->problem;
    *p = (struct plain){ .ids = NULL };
    HG_NEED(err, kernel, "kernel");
    params.kernel = *kernel;
    params.threads = threads;
    HG_TRY(hg_problem_init(pr, x, NULL, &params, NULL, err));
    HG_TRY(HG_MAKE(err, "the rows of a kernel matrix", HG_ARRAY(p->ids, pr->data.n)));
    for (size_t i = 0; i < pr->data.n; i++)
        p->ids[i] = (uint32_t)i;
    return hg_dataset_exact(&pr->data, NULL, pr->data.n, pr->data.threads, &p->gram, err);
}

/* Turns the diagonal K_ii into |Phi(x_i) - mean|^2 = K_ii - 2/n sum_j K_ij + 1/n^2 sum_jk K_jk. coef NULL sums whole
 * rows. */
static hinge_status centre(struct hg_gram *gram, const uint32_t *ids, double *diagonal, hinge_error *err)
{
    size_t n = gram->super.n;
    double all = 0, *sum = hg_alloc(n, sizeof *sum);
    if (sum == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows", n);
    hinge_status status = multiply(gram, ids, n, NULL, sum, err);
    for (size_t i = 0; i < n; i++)
        all += sum[i] / (double)n / (double)n;
    for (size_t i = 0; i < n; i++)
        diagonal[i] += all - 2 * sum[i] / (double)n;
    hg_free(sum);
    return status;
}

/* Finds the largest |x_i - mean|^2 in the data themselves, which are the linear kernel's feature space: no kernel
 * values are needed, and nothing cancels. */
static hinge_status linear_centred(const hinge_matrix *x, double *square, hinge_error *err)
{
    double *mean;
    HG_TRY(HG_MAKE(err, "the means of features", HG_ZEROS(mean, x->cols)));
    for (size_t i = 0; i < x->rows; i++)
        for (size_t c = 0; c < x->cols; c++)
            mean[c] += hg_matrix_value(x, i, c) / (double)x->rows;
    *square = 0;
    for (size_t i = 0; i < x->rows; i++) {
        double sum = 0;
        for (size_t c = 0; c < x->cols; c++)
            sum += (hg_matrix_value(x, i, c) - mean[c]) * (hg_matrix_value(x, i, c) - mean[c]);
        *square = fmax(*square, sum);
    }
    hg_free(mean);
    return HINGE_OK;
}

/* Finds the largest |Phi(x)|^2, less the mean where centred; NaN where one is. */
static hinge_status largest_square(struct plain *p, bool centred, double *square, hinge_error *err)
{
    size_t n = p->problem.data.n;
    double *diagonal;
    HG_TRY(HG_MAKE(err, "the diagonal of a kernel matrix", HG_ARRAY(diagonal, n)));
    hinge_status status = hg_rows_told(hg_rows_diagonal(&p->gram.super, diagonal, NULL), err);
    if (centred)
        HG_THEN(status, centre(&p->gram, p->ids, diagonal, err));
    for (size_t i = 0; status == HINGE_OK && i < n && !isnan(*square); i++)
        *square = isnan(diagonal[i]) ? NAN : fmax(*square, diagonal[i]);
    hg_free(diagonal);
    return status;
}

/* Returns the radius of a ball about 0, or about the mean, that holds all points; the smallest ball that does may be
 * smaller. */
hinge_status hinge_radius(const hinge_matrix *x, const hinge_kernel *kernel, int centred, int threads, double *radius,
                          hinge_error *err)
{
    struct plain p;
    double square = 0;
    if (radius == NULL || (centred != 0 && centred != 1))
        return hg_fail(err, HINGE_EINVAL, "%s", radius == NULL ? "radius: NULL" : "centred: neither 0 nor 1");
    hinge_status status = open_points(&p, x, kernel, threads, err);
    if (status == HINGE_OK)
        status = centred && kernel->type == HINGE_LINEAR ? linear_centred(x, &square, err)
                                                         : largest_square(&p, centred != 0, &square, err);
    close_points(&p);
    HG_TRY(status);
    if (!isfinite(square))
        return hg_fail(err, HINGE_EINVAL, "kernel: its values are not finite on these data");
    *radius = sqrt(square);
    return hg_ok(err);
}

/* ---- Mercer ------------------------------------------------------------------------------------------------------ */

/* Makes K [n * n], all of it, as a kernel that is not symmetric shall be seen; refuses values that are not finite. */
static hinge_status whole_matrix(struct hg_gram *gram, const uint32_t *ids, double *K, hinge_error *err)
{
    size_t n = gram->super.n;
    HG_TRY(hg_rows_told(hg_rows_block(&gram->super, ids, n, ids, n, K), err));
    for (size_t i = 0; i < n * n; i++)
        if (!isfinite(K[i]))
            return hg_fail(err, HINGE_EINVAL, "kernel: K(%zu, %zu) is %g, not a finite number", i / n, i % n, K[i]);
    return HINGE_OK;
}

/* Turns K into (K + K') / 2 in place, and tells the largest |K_ij - K_ji| and |K_ij|. */
static void symmetrise(double *K, size_t n, double *asymmetry, double *largest)
{
    *asymmetry = *largest = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double a = K[i * n + j], b = K[j * n + i];
            *asymmetry = fmax(*asymmetry, fabs(a - b));
            *largest = fmax(*largest, fmax(fabs(a), fabs(b)));
            K[i * n + j] = K[j * n + i] = a / 2 + b / 2;
        }
}

/* Finds eigenvalues in ascending order by LAPACK's dsyevr; K is destroyed. One BLAS thread, so that their bits do not
 * depend on how many there are. */
static hinge_status eigenvalues(double *K, size_t n, double *value, hinge_error *err)
{
    lapack_int size = (lapack_int)n, found = 0, info = 0, one_int = 0, z_sides[2];
    double one = 0, z = 0;
    double *work = NULL;
    lapack_int *iwork = NULL;
    hinge_status status = HINGE_OK;
    HG_TEAM(1)
    {
        info = LAPACKE_dsyevr_work(LAPACK_COL_MAJOR, 'N', 'A', 'L', size, K, size, 0, 0, 0, 0, 0, &found, value, &z, 1,
                                   z_sides, &one, -1, &one_int, -1); /* how much work space? */
        if (info == 0 && HG_ROOM(HG_ARRAY(work, (size_t)one), HG_ARRAY(iwork, (size_t)one_int)))
            info = LAPACKE_dsyevr_work(LAPACK_COL_MAJOR, 'N', 'A', 'L', size, K, size, 0, 0, 0, 0, 0, &found, value, &z,
                                       1, z_sides, work, (lapack_int)one, iwork, one_int);
    }
    if (info == 0 && work == NULL)
        status = hg_fail(err, HINGE_ENOMEM, "no memory for the eigenvalues of %zu rows", n);
    else if (info != 0)
        status = hg_fail(err, HINGE_EINTERNAL, "LAPACK's dsyevr failed: %d", (int)info);
    hg_free(work);
    return status;
}

/* Judges the matrix: symmetric where the asymmetry is at most tolerance times the largest value, semi-definite where
 * the smallest eigenvalue is at least -tolerance times the largest in size. */
static hinge_status check_mercer(struct plain *p, hinge_mercer *m, hinge_error *err)
{
    size_t n = p->problem.data.n, bytes;
    double *K, *value, largest;
    if (!hg_mul(n, n, &bytes) || !hg_mul(bytes, sizeof *K, &bytes) || bytes > hg_total_memory())
        return hg_fail(err, HINGE_ESIZE,
                       "x: the kernel matrix of %zu rows does not fit this machine's memory; take a "
                       "sample",
                       n);
    HG_TRY(HG_MAKE(err, "a kernel matrix", HG_TABLE(K, n, n), HG_ARRAY(value, n)));
    hinge_status status = whole_matrix(&p->gram, p->ids, K, err);
    if (status == HINGE_OK) {
        symmetrise(K, n, &m->asymmetry, &largest);
        status = eigenvalues(K, n, value, err);
    }
    if (status == HINGE_OK) {
        m->smallest = value[0];
        m->largest = value[n - 1];
        m->symmetric = m->asymmetry <= m->tolerance * largest;
        m->semidefinite = m->smallest >= -m->tolerance * fmax(m->largest, -m->smallest);
    }
    hg_free(K);
    return status;
}

/* Takes 1e-10 for a tolerance of 0. */
hinge_status hinge_mercer_check(const hinge_matrix *x, const hinge_kernel *kernel, double tolerance, int threads,
                                hinge_mercer *mercer, hinge_error *err)
{
    struct plain p;
    hinge_mercer m = { .tolerance = tolerance > 0 ? tolerance : 1e-10 };
    if (mercer == NULL || !(tolerance >= 0 && tolerance < 1))
        return hg_fail(err, HINGE_EINVAL, "%s", mercer == NULL ? "mercer: NULL" : "tolerance: not in [0, 1)");
    hinge_status status = open_points(&p, x, kernel, threads, err);
    HG_THEN(status, check_mercer(&p, &m, err));
    close_points(&p);
    HG_TRY(status);
    *mercer = m;
    return hg_ok(err);
}
