/*
 * What is done to a quadratic program before its first step: checks, scaling, and which equalities depend on others.
 * Read dense.h before.
 */
#include "lib/theory/dense.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { EQUILIBRATIONS = 8 };

/* ---- the problem as given ---------------------------------------------------------------------------------------- */

static hinge_status check_finite(const double *x, size_t count, const char *name, hinge_error *err)
{
    if (count > 0 && x == NULL)
        return hg_fail(err, HINGE_EINVAL, "%s: NULL for %zu values", name, count);
    for (size_t k = 0; k < count; k++)
        if (!isfinite(x[k]))
            return hg_fail(err, HINGE_EINVAL, "%s[%zu]: %g is not a finite number", name, k, x[k]);
    return HINGE_OK;
}

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
    HG_TRY(qp->q != NULL ? check_finite(qp->q, n * n, "q", err) : HINGE_OK);
    if (qp->p != NULL)
        HG_TRY(check_finite(qp->p, n, "p", err));
    HG_TRY(check_finite(qp->a, an, "a", err));
    HG_TRY(check_finite(qp->c, qp->n_inequalities, "c", err));
    HG_TRY(check_finite(qp->e, en, "e", err));
    hinge_status status = check_finite(qp->f, qp->n_equalities, "f", err);
    double most = status == HINGE_OK && qp->q != NULL ? hg_dense_largest(qp->q, n * n) : 0;
    for (size_t i = 0; i < n && status == HINGE_OK && qp->q != NULL; i++)
        for (size_t j = 0; j < i; j++)
            if (fabs(qp->q[i * n + j] - qp->q[j * n + i]) > 1e-12 * most)
                return hg_fail(err, HINGE_EINVAL, "q: not symmetric: [%zu, %zu] is %g, [%zu, %zu] is %g", i, j,
                               qp->q[i * n + j], j, i, qp->q[j * n + i]);
    return status;
}

/* ---- scaling and layout ------------------------------------------------------------------------------------------ */

static bool allocate(struct hg_dense *r)
{
    size_t n = r->n, m = r->m, e = r->e, all = r->all = n + m + e + m;
    struct hg_dense_point *points[] = { &r->at,      &r->best[0], &r->best[1], &r->best[2],
                                       &r->predictor, &r->step,    &r->base,    &r->tau_part };
    if (!HG_ROOM(HG_ZEROS(r->q, n * n), HG_ZEROS(r->p, n), HG_ZEROS(r->a, m * n), HG_ZEROS(r->c, m),
                 HG_ZEROS(r->e_, e * n), HG_ZEROS(r->f, e), HG_ZEROS(r->col, n), HG_ZEROS(r->row_a, m),
                 HG_ZEROS(r->row_e, e), HG_ZEROS(r->r1, n), HG_ZEROS(r->r2, m), HG_ZEROS(r->r3, e), HG_ZEROS(r->qu, n),
                 HG_ZEROS(r->rc, m), HG_ZEROS(r->b1, n), HG_ZEROS(r->b2, m), HG_ZEROS(r->b3, e), HG_ZEROS(r->l1, n),
                 HG_ZEROS(r->l2, m), HG_ZEROS(r->l3, e), HG_ZEROS(r->root_a, m * n),
                 HG_ZEROS(r->factor, r->order * r->order), HG_ZEROS(r->room, r->order + m),
                 HG_ZEROS(r->work, 64 * r->order), HG_ZEROS(r->d, m), HG_ZEROS(r->held, e),
                 HG_ZEROS(r->pivots, r->order), HG_ZEROS(r->at.u, 8 * all)))
        return false;
    for (size_t k = 0; k < sizeof points / sizeof *points; k++) {
        points[k]->u = r->at.u + k * all;
        points[k]->z = points[k]->u + n;
        points[k]->y = points[k]->z + m;
        points[k]->s = points[k]->y + e;
    }
    return true;
}

double hg_dense_power_of_two(double x)
{
    int exponent = 0;
    if (x == 0)
        return 1;
    frexp(x, &exponent);
    return ldexp(1, exponent);
}

/* Divides rows and columns by the roots of their largest elements, again and again (Ruiz 2001), by powers of two. */
static void equilibrate(struct hg_dense *r)
{
    size_t n = r->n, m = r->m, e = r->e;
    for (int round = 0; round < EQUILIBRATIONS; round++) {
        double *col = r->b1, *row_a = r->b2, *row_e = r->b3;
        for (size_t j = 0; j < n; j++)
            col[j] = hg_dense_largest(r->q + j * n, n);
        for (size_t i = 0; i < m; i++)
            row_a[i] = hg_dense_power_of_two(sqrt(hg_dense_largest(r->a + i * n, n)));
        for (size_t i = 0; i < e; i++)
            row_e[i] = hg_dense_power_of_two(sqrt(hg_dense_largest(r->e_ + i * n, n)));
        for (size_t j = 0; j < n; j++) {
            for (size_t i = 0; i < m; i++)
                col[j] = fmax(col[j], fabs(r->a[i * n + j]));
            for (size_t i = 0; i < e; i++)
                col[j] = fmax(col[j], fabs(r->e_[i * n + j]));
        }
        for (size_t j = 0; j < n; j++) {
            col[j] = hg_dense_power_of_two(sqrt(col[j]));
            r->col[j] /= col[j];
            r->p[j] /= col[j];
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                r->q[i * n + j] /= col[i] * col[j];
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < n; j++)
                r->a[i * n + j] /= row_a[i] * col[j];
            r->row_a[i] /= row_a[i];
            r->c[i] /= row_a[i];
        }
        for (size_t i = 0; i < e; i++) {
            for (size_t j = 0; j < n; j++)
                r->e_[i * n + j] /= row_e[i] * col[j];
            r->row_e[i] /= row_e[i];
            r->f[i] /= row_e[i];
        }
    }
}

/* u = size scaled u, and cost times the objective, such that p and Q have largest elements of about 1, where both are
 * not 0. */
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
    for (size_t k = 0; k < r->m; k++)
        r->c[k] /= r->size;
    for (size_t k = 0; k < r->e; k++)
        r->f[k] /= r->size;
}

/* Q + a little is positive definite, or Q has a negative eigenvalue. */
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

/* Which equalities the others imply: rows that Gram and Schmidt's process, the largest first, leaves next to nothing
 * of. */
static void find_held(struct hg_dense *r)
{
    size_t n = r->n, e = r->e;
    double *rows = r->factor;
    memcpy(rows, r->e_, e * n * sizeof(double));
    for (size_t next = 0; next < e;) {
        double most = 1e-22;
        next = e;
        for (size_t k = 0; k < e; k++) {
            double square = hg_dense_dot(rows + k * n, rows + k * n, n);
            if (r->held[k] == 0 && square > most)
                most = square, next = k;
        }
        if (next == e)
            return;
        r->held[next] = 1;
        for (size_t k = 0; k < e; k++)
            for (int twice = 0; twice < 2 && r->held[k] == 0; twice++)
                cblas_daxpy((int)n, -hg_dense_dot(rows + k * n, rows + next * n, n) / most, rows + next * n, 1,
                            rows + k * n, 1);
    }
}

/* Row i of A times what makes it row j, with its c: how often; 0: they are not parallel. p: where row i is not 0. */
static double parallel(const hinge_qp *qp, size_t i, size_t j, size_t p)
{
    const double *a = qp->a + i * qp->n, *b = qp->a + j * qp->n;
    for (size_t k = 0; k < qp->n; k++)
        if (a[k] * b[p] != b[k] * a[p])
            return 0;
    return qp->c[i] * b[p] == qp->c[j] * a[p] ? b[p] / a[p] : 0;
}

/* Row i and rows opposite to it become an equality, and with it rows that are the same. */
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

/* Rows are numbered from 1 until all have a place. */
static void find_places(struct hg_dense *r, const hinge_qp *qp)
{
    for (size_t i = 0; i < qp->n_inequalities; i++) {
        if (r->place[i].row == 0)
            pair_row(r, qp, i);
        if (r->place[i].row == 0)
            r->place[i].row = ++r->m;
    }
    for (size_t i = 0; i < qp->n_inequalities; i++)
        r->place[i].row -= r->place[i].row != SIZE_MAX;
}

static void copy_problem(struct hg_dense *r, const hinge_qp *qp)
{
    size_t n = r->n;
    for (size_t i = 0; qp->q != NULL && i < n; i++)
        for (size_t j = 0; j < n; j++)
            r->q[i * n + j] = (qp->q[i * n + j] + qp->q[j * n + i]) / 2;
    if (qp->p != NULL)
        memcpy(r->p, qp->p, n * sizeof(double));
    if (qp->n_equalities > 0) {
        memcpy(r->e_, qp->e, qp->n_equalities * n * sizeof(double));
        memcpy(r->f, qp->f, qp->n_equalities * sizeof(double));
    }
    for (size_t i = 0; i < qp->n_inequalities; i++) {
        struct hg_dense_place place = r->place[i];
        if (place.factor != 0 && place.factor != 1)
            continue; /* its opposite is there */
        if (place.row == SIZE_MAX)
            continue;
        memcpy((place.factor != 0 ? r->e_ : r->a) + place.row * n, qp->a + i * n, n * sizeof(double));
        (place.factor != 0 ? r->f : r->c)[place.row] = qp->c[i];
    }
    double *scales[] = { r->col, r->row_a, r->row_e };
    size_t counts[] = { n, r->m, r->e };
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < counts[k]; i++)
            scales[k][i] = 1;
}

hinge_status hg_dense_init(struct hg_dense *r, const hinge_qp *qp, hinge_error *err)
{
    size_t n = qp->n;
    HG_TRY(check(qp, err));
    *r = (struct hg_dense){ .n = n, .e = qp->n_equalities, .eps = qp->eps > 0 ? qp->eps : 1e-10, .problem = qp };
    r->place = hg_zalloc(qp->n_inequalities, sizeof *r->place);
    if (r->place != NULL)
        find_places(r, qp);
    r->order = n + r->e;
    r->work_size = (lapack_int)(64 * r->order);
    if (r->place == NULL || !allocate(r))
        return hg_fail(err, HINGE_ENOMEM, "no memory for a problem of %zu variables and %zu constraints", n,
                       qp->n_inequalities + qp->n_equalities);
    copy_problem(r, qp);
    equilibrate(r);
    scale_objective(r);
    find_held(r);
    for (size_t i = 0; i < r->m; i++)
        r->at.s[i] = r->at.z[i] = 1;
    r->at.tau = r->at.kappa = 1;
    return is_convex(r) ? HINGE_OK : hg_fail(err, HINGE_EINVAL, "q: not positive semi-definite");
}

void hg_dense_free(struct hg_dense *r)
{
    hg_free(r->q);
    hg_free(r->place);
}
