/*
 * Does what is done to a quadratic program before its first step: checks, scaling, and which equalities depend on
 * others. Read dense.h before. The order is that of hg_dense_init: places of inequalities first, since they decide how
 * many rows E and A have; then copies, scales by powers of two (which round nothing), the independent equalities, and
 * last whether Q is convex, for which the factor's room serves.
 */
#include "lib/theory/dense.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { EQUILIBRATIONS = 8 };

/* ---- the problem as given ---------------------------------------------------------------------------------------- */

/* Refuses NULL for values that should be there, and the first value that is not finite, by its name and place. */
static hinge_status check_finite(const double *x, size_t count, const char *name, hinge_error *err)
{
    if (count > 0 && x == NULL)
        return hg_fail(err, HINGE_EINVAL, "%s: NULL for %zu values", name, count);
    for (size_t k = 0; k < count; k++)
        if (!isfinite(x[k]))
            return hg_fail(err, HINGE_EINVAL, "%s[%zu]: %g is not a finite number", name, k, x[k]);
    return HINGE_OK;
}

/* Refuses sizes that overflow or that LAPACK's int does not hold, values that are not finite, and a Q that is not
 * symmetric to 1e-12 of its largest value. */
static hinge_status check(const hinge_qp *qp, hinge_error *err)
{
    size_t n = qp->n, nn, an, en;
    if (n == 0)
        return hg_fail(err, HINGE_EINVAL, "n: a problem of no variables");
    if (!hg_mul(n + qp->n_equalities, n + qp->n_equalities, &nn) || !hg_mul(qp->n_inequalities, n, &an) ||
        !hg_mul(qp->n_equalities, n, &en) || n + qp->n_equalities >= INT32_MAX || qp->n_inequalities >= INT32_MAX)
        return hg_fail(err, HINGE_ESIZE, "n: %zu variables with %zu constraints are too many", n, qp->n_inequalities);
    if (!(qp->eps >= 0 && qp->eps < 1))
        return hg_fail(err, HINGE_EINVAL, "eps: %g is not in [0, 1)", qp->eps);
    HG_TRY(check_finite(qp->q, qp->q != NULL ? n * n : 0, "q", err));
    HG_TRY(check_finite(qp->p, qp->p != NULL ? n : 0, "p", err));
    HG_TRY(check_finite(qp->a, an, "a", err));
    HG_TRY(check_finite(qp->c, qp->n_inequalities, "c", err));
    HG_TRY(check_finite(qp->e, en, "e", err));
    HG_TRY(check_finite(qp->f, qp->n_equalities, "f", err));
    double most = qp->q != NULL ? hg_dense_largest(qp->q, n * n) : 0;
    for (size_t i = 0; i < n && qp->q != NULL; i++)
        for (size_t j = 0; j < i; j++)
            if (fabs(qp->q[i * n + j] - qp->q[j * n + i]) > 1e-12 * most)
                return hg_fail(err, HINGE_EINVAL, "q: not symmetric: [%zu, %zu] is %g, [%zu, %zu] is %g", i, j,
                               qp->q[i * n + j], j, i, qp->q[j * n + i]);
    return HINGE_OK;
}

/* ---- scaling and layout ------------------------------------------------------------------------------------------ */

/* Makes all arrays one block, and divides the room of the eight points among them; each is `all` values, u, y, z, s. */
static bool allocate(struct hg_dense *r)
{
    size_t n = r->n, m = r->m, rows = r->rows, order = r->order, all = r->all;
    struct hg_dense_point *points[] = { &r->at,        &r->best[0], &r->best[1], &r->best[2],
                                        &r->predictor, &r->step,    &r->base,    &r->tau_part };
    if (!HG_ROOM(HG_ZEROS(r->q, n * n), HG_ZEROS(r->p, n), HG_ZEROS(r->a, rows * n), HG_ZEROS(r->c, rows),
                 HG_ZEROS(r->col, n), HG_ZEROS(r->row, rows), HG_ZEROS(r->r, n + rows), HG_ZEROS(r->qu, n),
                 HG_ZEROS(r->rc, m + 1), HG_ZEROS(r->b, n + rows), HG_ZEROS(r->l, n + rows), HG_ZEROS(r->root_a, m * n),
                 HG_ZEROS(r->factor, order * order), HG_ZEROS(r->room, order + m), HG_ZEROS(r->work, 64 * order),
                 HG_ZEROS(r->d, m), HG_ZEROS(r->held, r->e), HG_ZEROS(r->pivots, order), HG_ZEROS(r->at.u, 8 * all)))
        return false;
    for (size_t k = 0; k < sizeof points / sizeof *points; k++) {
        points[k]->u = r->at.u + k * all;
        points[k]->y = points[k]->u + n;
        points[k]->z = points[k]->y + r->e;
        points[k]->s = points[k]->z + m + 1;
    }
    return true;
}

/* Returns the power of two next above |x| (0: 1), by which scaling rounds nothing. */
double hg_dense_power_of_two(double x)
{
    int exponent = 0;
    if (x == 0)
        return 1;
    frexp(x, &exponent);
    return ldexp(1, exponent);
}

/* Divides rows and columns of [Q; E; A] by the roots of their largest elements, again and again (Ruiz 2001), by powers
 * of two, and notes the factors in col and row. Q stays symmetric, as it is divided on both sides by col. */
static void equilibrate(struct hg_dense *r)
{
    size_t n = r->n;
    double *col = r->b, *row = r->b + n;
    for (int round = 0; round < EQUILIBRATIONS; round++) {
        for (size_t i = 0; i < r->rows; i++)
            row[i] = hg_dense_power_of_two(sqrt(hg_dense_largest(r->a + i * n, n)));
        for (size_t j = 0; j < n; j++) {
            double most = hg_dense_largest(r->q + j * n, n);
            for (size_t i = 0; i < r->rows; i++)
                most = fmax(most, fabs(r->a[i * n + j]));
            col[j] = hg_dense_power_of_two(sqrt(most));
            r->col[j] /= col[j];
            r->p[j] /= col[j];
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                r->q[i * n + j] /= col[i] * col[j];
        for (size_t i = 0; i < r->rows; i++) {
            for (size_t j = 0; j < n; j++)
                r->a[i * n + j] /= row[i] * col[j];
            r->row[i] /= row[i];
            r->c[i] /= row[i];
        }
    }
}

/* Scales u = size scaled u, and cost times the objective, such that p and Q have largest elements of about 1, where
 * both are not 0. */
static void scale_objective(struct hg_dense *r)
{
    size_t n = r->n;
    double p = hg_dense_largest(r->p, n), q = hg_dense_largest(r->q, n * n);
    r->size = p > 0 && q > 0 ? hg_dense_power_of_two(p / q) : 1;
    r->cost = 1 / hg_dense_power_of_two(HG_MAX(p * r->size, q * r->size * r->size));
    for (size_t k = 0; k < n * n; k++)
        r->q[k] *= r->cost * r->size * r->size;
    for (size_t k = 0; k < n; k++)
        r->p[k] *= r->cost * r->size;
    for (size_t k = 0; k < r->rows; k++)
        r->c[k] /= r->size;
}

/* Says whether Q + a little is positive definite, which Cholesky's factor tells: rounding of a singular Q is forgiven,
 * up to 1e-10 of its largest value, and a negative eigenvalue beyond that is not. */
static bool is_convex(struct hg_dense *r)
{
    size_t n = r->n;
    memcpy(r->factor, r->q, n * n * sizeof(double));
    double most = 0;
    for (size_t k = 0; k < n; k++)
        most = fmax(most, fabs(r->q[k * n + k]));
    for (size_t k = 0; k < n; k++)
        r->factor[k * n + k] += 1e-10 * HG_MAX(most, hg_dense_largest(r->q, n * n)) + 1e-300;
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, r->factor, (lapack_int)n) == 0;
}

/* Finds which equalities the others imply: rows that Gram and Schmidt's process, the largest first, leaves next to
 * nothing of. */
static void find_held(struct hg_dense *r)
{
    size_t n = r->n, e = r->e;
    double *rows = r->factor;
    memcpy(rows, r->a, e * n * sizeof(double));
    for (size_t next = 0; next < e;) {
        double most = 1e-22;
        next = e;
        for (size_t k = 0; k < e; k++) {
            double square = hg_dot(rows + k * n, rows + k * n, n);
            if (r->held[k] == 0 && square > most)
                most = square, next = k;
        }
        if (next == e)
            return;
        r->held[next] = 1;
        for (size_t k = 0; k < e; k++)
            for (int twice = 0; twice < 2 && r->held[k] == 0; twice++)
                cblas_daxpy((int)n, -hg_dot(rows + k * n, rows + next * n, n) / most, rows + next * n, 1, rows + k * n,
                            1);
    }
}

/* Returns the factor by which row i of A, with its c, becomes row j; 0: they are not parallel. p: where row i is
 * largest. Products of the elements are compared, since quotients would round. */
static double parallel(const hinge_qp *qp, size_t i, size_t j, size_t p)
{
    const double *a = qp->a + i * qp->n, *b = qp->a + j * qp->n;
    for (size_t k = 0; k < qp->n; k++)
        if (a[k] * b[p] != b[k] * a[p])
            return 0;
    return qp->c[i] * b[p] == qp->c[j] * a[p] ? b[p] / a[p] : 0;
}

/* Makes row i and rows opposite to it an equality, which rows that are the same join: the first opposite one keeps the
 * factor by which its multiplier is read off the equality's, others are implied and have none. */
static void pair_row(struct hg_dense *r, const hinge_qp *qp, size_t i)
{
    const double *row = qp->a + i * qp->n;
    struct hg_dense_place *place = r->place;
    bool paired = false;
    size_t p = 0;
    for (size_t k = 0; k < qp->n; k++)
        p = fabs(row[k]) > fabs(row[p]) ? k : p;
    for (int same = 0; same <= (int)paired && row[p] != 0; same++)
        for (size_t j = i + 1; j < qp->n_inequalities; j++) {
            double times = place[j].row == 0 ? parallel(qp, i, j, p) : 0;
            if (times == 0 || (times > 0 && !same))
                continue;
            place[j] = paired ? (struct hg_dense_place){ SIZE_MAX, 0 } : (struct hg_dense_place){ r->e + 1, 1 / times };
            paired = true;
        }
    if (paired)
        place[i] = (struct hg_dense_place){ ++r->e, 1 };
}

/* Gives each inequality its place: in E where it is paired, or in A. Rows are numbered from 1 until all have a place,
 * as 0 says that there is none yet. Sets e, m and the sizes that follow. */
static void find_places(struct hg_dense *r, const hinge_qp *qp)
{
    for (size_t i = 0; i < qp->n_inequalities; i++) {
        if (r->place[i].row == 0)
            pair_row(r, qp, i);
        if (r->place[i].row == 0)
            r->place[i].row = ++r->m;
    }
    for (size_t i = 0; i < qp->n_inequalities; i++)
        if (r->place[i].row != SIZE_MAX)
            r->place[i].row += (r->place[i].factor == 0 ? r->e : 0) - 1;
    r->rows = r->e + r->m;
    r->order = r->n + r->e;
    r->all = r->n + r->e + 2 * (r->m + 1);
}

/* Copies Q, symmetrised, p, and the rows of E and A with their right-hand sides; all scales are 1 at first. */
static void copy_problem(struct hg_dense *r, const hinge_qp *qp)
{
    size_t n = r->n;
    for (size_t i = 0; qp->q != NULL && i < n; i++)
        for (size_t j = 0; j < n; j++)
            r->q[i * n + j] = (qp->q[i * n + j] + qp->q[j * n + i]) / 2;
    if (qp->p != NULL)
        memcpy(r->p, qp->p, n * sizeof(double));
    if (qp->n_equalities > 0) {
        memcpy(r->a, qp->e, qp->n_equalities * n * sizeof(double));
        memcpy(r->c, qp->f, qp->n_equalities * sizeof(double));
    }
    for (size_t i = 0; i < qp->n_inequalities; i++) {
        struct hg_dense_place place = r->place[i];
        if ((place.factor != 0 && place.factor != 1) || place.row == SIZE_MAX)
            continue; /* its opposite is there, or others imply it */
        memcpy(r->a + place.row * n, qp->a + i * n, n * sizeof(double));
        r->c[place.row] = qp->c[i];
    }
    for (size_t i = 0; i < n; i++)
        r->col[i] = 1;
    for (size_t i = 0; i < r->rows; i++)
        r->row[i] = 1;
}

/* Starts the point at u = 0, y = 0, s = z = 1, tau and kappa among them, from which the homogeneous model needs no
 * feasible start. */
hinge_status hg_dense_init(struct hg_dense *r, const hinge_qp *qp, hinge_error *err)
{
    size_t n = qp->n;
    HG_TRY(check(qp, err));
    *r = (struct hg_dense){ .n = n, .e = qp->n_equalities, .eps = qp->eps > 0 ? qp->eps : 1e-10, .problem = qp };
    r->place = hg_zalloc(qp->n_inequalities, sizeof *r->place);
    if (r->place != NULL)
        find_places(r, qp);
    r->work_size = (lapack_int)(64 * r->order);
    if (r->place == NULL || !allocate(r))
        return hg_fail(err, HINGE_ENOMEM, "no memory for a problem of %zu variables and %zu constraints", n,
                       qp->n_inequalities + qp->n_equalities);
    copy_problem(r, qp);
    equilibrate(r);
    scale_objective(r);
    find_held(r);
    for (size_t i = 0; i <= r->m; i++)
        r->at.s[i] = r->at.z[i] = 1;
    return is_convex(r) ? HINGE_OK : hg_fail(err, HINGE_EINVAL, "q: not positive semi-definite");
}

void hg_dense_free(struct hg_dense *r)
{
    hg_free(r->q);
    hg_free(r->place);
}
