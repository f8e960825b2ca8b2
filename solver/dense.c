/*
 * General convex QP by the homogeneous model: with tau and kappa beside u, z, y, s,
 *
 *     Qu + p tau - A'z - E'y = 0,   Au - c tau - s = 0,   Eu - f tau = 0,
 *     -u'Qu / tau - p'u + c'z + f'y - kappa = 0,          s'z + tau kappa = 0,     s, z, tau, kappa >= 0
 *
 * always has a solution; tau > 0 gives one of the QP, kappa > 0 a proof that it has none (Andersen and Ye 1999, "On a
 * homogeneous algorithm for the monotone complementarity problem"). Newton's system, dz and ds eliminated, is
 *
 *     [ Q + A'DA   E' ] [  du ]
 *     [ E          0  ] [ -dy ],     D = diag(z / s),
 *
 * solved for two right-hand sides, one of them that of dtau, by LAPACK's symmetric indefinite factorisation, and
 * refined by the residual of the system before the elimination.
 */
#include "lib/base.h"

#include <hinge/qp.h>

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { EQUILIBRATIONS = 8, REFINEMENTS = 4, PATIENCE = 20 };

struct point { /* also a direction */
    double *u, *z, *y, *s, tau, kappa; /* [n], [m], [e], [m] */
};

struct run {
    size_t n, m, e, order;         /* order: n + e */
    double *q, *p, *a, *c, *e_, *f; /* scaled copies */
    double *col, *row_a, *row_e;   /* scales, powers of two: u = col * scaled u, rows times row */
    double cost, size;             /* of the objective; of u beside col */
    struct point at, best, predictor, step, base, tau_part; /* base, tau_part: the two solutions of a step */
    double *r1, *r2, *r3, r4;      /* residuals of the model */
    double *qu, *rc, *b1, *b2, *b3, *l1, *l2, *l3; /* products, right-hand sides, what is left of them */
    double *factor, *root_a, *room, *work;
    lapack_int *pivots, work_size;
    double eps, mu;
    const hinge_qp *problem;
    double *memory;
};

const char *hinge_qp_outcome_text(hinge_qp_outcome outcome)
{
    static const char *const text[] = { "solved", "infeasible", "unbounded", "iteration limit" };
    return (size_t)outcome < sizeof text / sizeof *text ? text[outcome] : "unknown outcome";
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* out = beta out + alpha M x, M [rows * cols]; and by its transpose */
static void times(double alpha, const double *matrix, size_t rows, size_t cols, const double *x, double beta,
                  double *out)
{
    if (rows > 0 && cols > 0)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)rows, (int)cols, alpha, matrix, (int)cols, x, 1, beta, out, 1);
}

static void times_transposed(double alpha, const double *matrix, size_t rows, size_t cols, const double *x, double beta,
                             double *out)
{
    if (rows > 0 && cols > 0)
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)rows, (int)cols, alpha, matrix, (int)cols, x, 1, beta, out, 1);
    else
        for (size_t k = 0; k < cols; k++)
            out[k] *= beta;
}

static double dot(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += x[k] * y[k];
    return sum;
}

static double largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t k = 0; k < n; k++)
        most = fmax(most, fabs(x[k]));
    return most;
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

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
    hinge_status status = qp->q != NULL ? check_finite(qp->q, n * n, "q", err) : HINGE_OK;
    if (status == HINGE_OK && qp->p != NULL)
        status = check_finite(qp->p, n, "p", err);
    if (status == HINGE_OK)
        status = check_finite(qp->a, an, "a", err);
    if (status == HINGE_OK)
        status = check_finite(qp->c, qp->n_inequalities, "c", err);
    if (status == HINGE_OK)
        status = check_finite(qp->e, en, "e", err);
    if (status == HINGE_OK)
        status = check_finite(qp->f, qp->n_equalities, "f", err);
    double most = status == HINGE_OK && qp->q != NULL ? largest(qp->q, n * n) : 0;
    for (size_t i = 0; i < n && status == HINGE_OK && qp->q != NULL; i++)
        for (size_t j = 0; j < i; j++)
            if (fabs(qp->q[i * n + j] - qp->q[j * n + i]) > 1e-12 * most)
                return hg_fail(err, HINGE_EINVAL, "q: not symmetric: [%zu, %zu] is %g, [%zu, %zu] is %g", i, j,
                               qp->q[i * n + j], j, i, qp->q[j * n + i]);
    return status;
}

/* One array for all: called with base NULL to measure. */
static size_t lay_out(struct run *r, double *base)
{
    size_t n = r->n, m = r->m, e = r->e, at = 0;
    struct point *points[] = { &r->at, &r->best, &r->predictor, &r->step, &r->base, &r->tau_part };
    struct {
        double **to;
        size_t count;
    } parts[] = {
        { &r->q, n * n },    { &r->p, n },     { &r->a, m * n },  { &r->c, m },       { &r->e_, e * n },
        { &r->f, e },        { &r->col, n },   { &r->row_a, m },  { &r->row_e, e },   { &r->r1, n },
        { &r->r2, m },       { &r->r3, e },    { &r->qu, n },     { &r->rc, m },      { &r->b1, n },
        { &r->b2, m },       { &r->b3, e },    { &r->l1, n },     { &r->l2, m },      { &r->l3, e },
        { &r->root_a, m * n }, { &r->factor, r->order * r->order }, { &r->room, r->order + m },
        { &r->work, 64 * r->order },
    };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++, at = (at + 7) / 8 * 8) {
        *parts[k].to = base != NULL ? base + at : NULL;
        at += parts[k].count;
    }
    for (size_t k = 0; k < sizeof points / sizeof *points; k++) {
        double **to[] = { &points[k]->u, &points[k]->z, &points[k]->y, &points[k]->s };
        size_t count[] = { n, m, e, m };
        for (int j = 0; j < 4; j++) {
            *to[j] = base != NULL ? base + at : NULL;
            at += count[j];
        }
    }
    return at;
}

static double power_of_two(double x)
{
    int exponent = 0;
    if (x == 0)
        return 1;
    frexp(x, &exponent);
    return ldexp(1, exponent);
}

/* Divides rows and columns by the roots of their largest elements, again and again (Ruiz 2001), by powers of two. */
static void equilibrate(struct run *r)
{
    size_t n = r->n, m = r->m, e = r->e;
    for (int round = 0; round < EQUILIBRATIONS; round++) {
        double *col = r->b1, *row_a = r->b2, *row_e = r->b3;
        for (size_t j = 0; j < n; j++)
            col[j] = largest(r->q + j * n, n);
        for (size_t i = 0; i < m; i++)
            row_a[i] = power_of_two(sqrt(largest(r->a + i * n, n)));
        for (size_t i = 0; i < e; i++)
            row_e[i] = power_of_two(sqrt(largest(r->e_ + i * n, n)));
        for (size_t j = 0; j < n; j++) {
            for (size_t i = 0; i < m; i++)
                col[j] = fmax(col[j], fabs(r->a[i * n + j]));
            for (size_t i = 0; i < e; i++)
                col[j] = fmax(col[j], fabs(r->e_[i * n + j]));
        }
        for (size_t j = 0; j < n; j++) {
            col[j] = power_of_two(sqrt(col[j]));
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
static void scale_objective(struct run *r)
{
    size_t n = r->n;
    double p = largest(r->p, n), q = largest(r->q, n * n);
    r->size = p > 0 && q > 0 ? power_of_two(p / q) : 1;
    r->cost = 1 / power_of_two(HG_MAX(p * r->size, q * r->size * r->size));
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
static bool is_convex(struct run *r)
{
    size_t n = r->n;
    memcpy(r->factor, r->q, n * n * sizeof(double));
    double most = 0;
    for (size_t k = 0; k < n; k++)
        most = fmax(most, fabs(r->q[k * n + k]));
    for (size_t k = 0; k < n; k++)
        r->factor[k * n + k] += 1e-10 * HG_MAX(most, largest(r->q, n * n)) + 1e-300;
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, r->factor, (lapack_int)n) == 0;
}

static hinge_status run_init(struct run *r, const hinge_qp *qp, hinge_error *err)
{
    size_t n = qp->n;
    *r = (struct run){ .n = n, .m = qp->n_inequalities, .e = qp->n_equalities, .order = n + qp->n_equalities,
                       .eps = qp->eps > 0 ? qp->eps : 1e-10, .problem = qp };
    size_t size = lay_out(r, NULL);
    r->memory = hg_zalloc(size, sizeof(double));
    r->pivots = hg_alloc(r->order, sizeof *r->pivots);
    r->work_size = (lapack_int)(64 * r->order);
    if (r->memory == NULL || r->pivots == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for a problem of %zu variables and %zu constraints", n,
                       r->m + r->e);
    lay_out(r, r->memory);
    for (size_t i = 0; qp->q != NULL && i < n; i++)
        for (size_t j = 0; j < n; j++)
            r->q[i * n + j] = (qp->q[i * n + j] + qp->q[j * n + i]) / 2;
    if (qp->p != NULL)
        memcpy(r->p, qp->p, n * sizeof(double));
    if (r->m > 0) {
        memcpy(r->a, qp->a, r->m * n * sizeof(double));
        memcpy(r->c, qp->c, r->m * sizeof(double));
    }
    if (r->e > 0) {
        memcpy(r->e_, qp->e, r->e * n * sizeof(double));
        memcpy(r->f, qp->f, r->e * sizeof(double));
    }
    double *scales[] = { r->col, r->row_a, r->row_e };
    size_t counts[] = { n, r->m, r->e };
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < counts[k]; i++)
            scales[k][i] = 1;
    equilibrate(r);
    scale_objective(r);
    for (size_t i = 0; i < r->m; i++)
        r->at.s[i] = r->at.z[i] = 1;
    r->at.tau = r->at.kappa = 1;
    return is_convex(r) ? HINGE_OK : hg_fail(err, HINGE_EINVAL, "q: not positive semi-definite");
}

/* ---- Newton's system --------------------------------------------------------------------------------------------- */

static void residuals(struct run *r)
{
    struct point *x = &r->at;
    size_t n = r->n, m = r->m, e = r->e;
    times(1, r->q, n, n, x->u, 0, r->qu);
    for (size_t k = 0; k < n; k++)
        r->r1[k] = r->qu[k] + r->p[k] * x->tau;
    times_transposed(-1, r->a, m, n, x->z, 1, r->r1);
    times_transposed(-1, r->e_, e, n, x->y, 1, r->r1);
    for (size_t k = 0; k < m; k++)
        r->r2[k] = -r->c[k] * x->tau - x->s[k];
    times(1, r->a, m, n, x->u, 1, r->r2);
    for (size_t k = 0; k < e; k++)
        r->r3[k] = -r->f[k] * x->tau;
    times(1, r->e_, e, n, x->u, 1, r->r3);
    r->r4 = -dot(x->u, r->qu, n) / x->tau - dot(r->p, x->u, n) + dot(r->c, x->z, m) + dot(r->f, x->y, e) - x->kappa;
    r->mu = (dot(x->s, x->z, m) + x->tau * x->kappa) / (double)(m + 1);
}

/* [Q + A'DA + d, E'; E, -d], d some 1e-13 of it: refinement takes the d out again. */
static bool factorise(struct run *r)
{
    size_t n = r->n, m = r->m, order = r->order;
    memset(r->factor, 0, order * order * sizeof(double));
    for (size_t i = 0; i < n; i++)
        memcpy(r->factor + i * order, r->q + i * n, n * sizeof(double));
    for (size_t i = 0; i < m; i++) {
        double root = sqrt(r->at.z[i] / r->at.s[i]);
        for (size_t j = 0; j < n; j++)
            r->root_a[i * n + j] = root * r->a[i * n + j];
    }
    if (m > 0)
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)n, (int)m, 1, r->root_a, (int)n, 1, r->factor,
                    (int)order);
    for (size_t i = 0; i < r->e; i++)
        memcpy(r->factor + (n + i) * order, r->e_ + i * n, n * sizeof(double));
    for (size_t i = 0; i < n; i++)
        r->factor[i * order + i] += 1e-14 * (1 + r->factor[i * order + i]);
    for (size_t i = n; i < order; i++)
        r->factor[i * order + i] = -1e-14;
    return LAPACKE_dsytrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)order, r->factor, (lapack_int)order, r->pivots,
                               r->work, r->work_size) == 0;
}

/* Adds to x the solution for right-hand sides l1, l2, l3 of Q u - A'z - E'y, A u + (s/z) z, E u. */
static bool add_solution(struct run *r, struct point *x)
{
    size_t n = r->n, m = r->m, e = r->e;
    double *v = r->room, *d = r->room + r->order;
    for (size_t i = 0; i < m; i++)
        d[i] = r->at.z[i] / r->at.s[i] * r->l2[i];
    memcpy(v, r->l1, n * sizeof(double));
    times_transposed(1, r->a, m, n, d, 1, v);
    memcpy(v + n, r->l3, e * sizeof(double));
    if (LAPACKE_dsytrs_work(LAPACK_COL_MAJOR, 'U', (lapack_int)r->order, 1, r->factor, (lapack_int)r->order,
                            r->pivots, v, (lapack_int)r->order) != 0)
        return false;
    times(-1, r->a, m, n, v, 1, r->l2);
    for (size_t i = 0; i < m; i++)
        x->z[i] += r->at.z[i] / r->at.s[i] * r->l2[i];
    for (size_t k = 0; k < n; k++)
        x->u[k] += v[k];
    for (size_t k = 0; k < e; k++)
        x->y[k] -= v[n + k];
    return true;
}

/* l = b - what x makes of it; returns the largest, each part over that of b. */
static double what_is_left(struct run *r, const struct point *x)
{
    size_t n = r->n, m = r->m, e = r->e;
    memcpy(r->l1, r->b1, n * sizeof(double));
    times(-1, r->q, n, n, x->u, 1, r->l1);
    times_transposed(1, r->a, m, n, x->z, 1, r->l1);
    times_transposed(1, r->e_, e, n, x->y, 1, r->l1);
    for (size_t k = 0; k < m; k++)
        r->l2[k] = r->b2[k] - r->at.s[k] / r->at.z[k] * x->z[k];
    times(-1, r->a, m, n, x->u, 1, r->l2);
    memcpy(r->l3, r->b3, e * sizeof(double));
    times(-1, r->e_, e, n, x->u, 1, r->l3);
    return HG_MAX(largest(r->l1, n), HG_MAX(largest(r->l2, m), largest(r->l3, e)));
}

/* x = the solution for b1, b2, b3, refined while that helps. */
static bool solve_system(struct run *r, struct point *x)
{
    memset(x->u, 0, r->n * sizeof(double));
    memset(x->z, 0, r->m * sizeof(double));
    memset(x->y, 0, r->e * sizeof(double));
    double last = INFINITY;
    for (int k = 0; k <= REFINEMENTS; k++) {
        double left = what_is_left(r, x);
        if (isnan(left))
            return false;
        if (left == 0 || left > 0.5 * last)
            return true;
        last = left;
        if (!add_solution(r, x))
            return false;
    }
    return true;
}

/* The part of a step that goes with dtau = 1. */
static bool solve_tau_part(struct run *r)
{
    for (size_t k = 0; k < r->n; k++)
        r->b1[k] = -r->p[k];
    memcpy(r->b2, r->c, r->m * sizeof(double));
    memcpy(r->b3, r->f, r->e * sizeof(double));
    return solve_system(r, &r->tau_part);
}

/* out = the step that takes residuals to 1 - rate of themselves and products to rc, rck. */
static bool direction(struct run *r, double rate, double rck, struct point *out)
{
    const struct point *x = &r->at, *t = &r->tau_part;
    struct point *b = &r->base;
    size_t n = r->n, m = r->m, e = r->e;
    for (size_t k = 0; k < n; k++)
        r->b1[k] = -rate * r->r1[k];
    for (size_t k = 0; k < m; k++)
        r->b2[k] = -rate * r->r2[k] + r->rc[k] / x->z[k];
    for (size_t k = 0; k < e; k++)
        r->b3[k] = -rate * r->r3[k];
    if (!solve_system(r, b))
        return false;
    double top = -rate * r->r4 + rck / x->tau, bottom = dot(x->u, r->qu, n) / x->tau / x->tau + x->kappa / x->tau;
    for (size_t k = 0; k < n; k++) {
        double gradient = 2 * r->qu[k] / x->tau + r->p[k];
        top += gradient * b->u[k];
        bottom -= gradient * t->u[k];
    }
    top -= dot(r->c, b->z, m) + dot(r->f, b->y, e);
    bottom += dot(r->c, t->z, m) + dot(r->f, t->y, e);
    out->tau = top / bottom;
    out->kappa = (rck - x->kappa * out->tau) / x->tau;
    for (size_t k = 0; k < n; k++)
        out->u[k] = b->u[k] + out->tau * t->u[k];
    for (size_t k = 0; k < m; k++) {
        out->z[k] = b->z[k] + out->tau * t->z[k];
        out->s[k] = (r->rc[k] - x->s[k] * out->z[k]) / x->z[k];
    }
    for (size_t k = 0; k < e; k++)
        out->y[k] = b->y[k] + out->tau * t->y[k];
    return isfinite(out->tau);
}

static double longest(const struct run *r, const struct point *d)
{
    double step = INFINITY;
    for (size_t k = 0; k < r->m; k++) {
        step = d->s[k] < 0 ? fmin(step, -r->at.s[k] / d->s[k]) : step;
        step = d->z[k] < 0 ? fmin(step, -r->at.z[k] / d->z[k]) : step;
    }
    step = d->tau < 0 ? fmin(step, -r->at.tau / d->tau) : step;
    return d->kappa < 0 ? fmin(step, -r->at.kappa / d->kappa) : step;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* The scaled problem's residuals at u/tau, z/tau, y/tau. */
static double accuracy(const struct run *r)
{
    const struct point *x = &r->at;
    double tau = x->tau, quadratic = dot(x->u, r->qu, r->n) / tau / tau, linear = dot(r->p, x->u, r->n) / tau;
    double primal = quadratic / 2 + linear;
    double dual = (dot(r->c, x->z, r->m) + dot(r->f, x->y, r->e)) / tau - quadratic / 2;
    double left = largest(r->r1, r->n) / tau / (1 + largest(r->p, r->n));
    left = HG_MAX(left, HG_MAX(largest(r->r2, r->m), largest(r->r3, r->e)) / tau /
                            (1 + HG_MAX(largest(r->c, r->m), largest(r->f, r->e))));
    return HG_MAX(left, fabs(primal - dual) / (1 + HG_MAX(fabs(primal), fabs(dual))));
}

/* A'z + E'y over c'z + f'y > 0: how far it is from a proof of infeasibility. */
static double infeasible(struct run *r)
{
    const struct point *x = &r->at;
    double gain = dot(r->c, x->z, r->m) + dot(r->f, x->y, r->e);
    memset(r->l1, 0, r->n * sizeof(double));
    times_transposed(1, r->a, r->m, r->n, x->z, 1, r->l1);
    times_transposed(1, r->e_, r->e, r->n, x->y, 1, r->l1);
    return gain > 0 ? largest(r->l1, r->n) / gain : INFINITY;
}

/* Qu, Eu and what Au lacks of 0 over -p'u > 0 */
static double unbounded(struct run *r)
{
    const struct point *x = &r->at;
    double gain = -dot(r->p, x->u, r->n), left = largest(r->qu, r->n);
    times(1, r->a, r->m, r->n, x->u, 0, r->l2);
    times(1, r->e_, r->e, r->n, x->u, 0, r->l3);
    for (size_t k = 0; k < r->m; k++)
        left = fmax(left, -r->l2[k]);
    return gain > 0 ? fmax(left, largest(r->l3, r->e)) / gain : INFINITY;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void move(struct run *r, const struct point *d, double step)
{
    struct point *x = &r->at;
    for (size_t k = 0; k < r->n; k++)
        x->u[k] += step * d->u[k];
    for (size_t k = 0; k < r->m; k++) {
        x->z[k] += step * d->z[k];
        x->s[k] += step * d->s[k];
    }
    for (size_t k = 0; k < r->e; k++)
        x->y[k] += step * d->y[k];
    x->tau += step * d->tau;
    x->kappa += step * d->kappa;
    double size = HG_MAX(HG_MAX(largest(x->z, r->m), largest(x->u, r->n)), HG_MAX(x->tau, x->kappa));
    if (size < 1e100) /* the model is homogeneous */
        return;
    double factor = 1 / power_of_two(size), *parts[] = { x->u, x->z, x->y, x->s };
    size_t counts[] = { r->n, r->m, r->e, r->m };
    for (int j = 0; j < 4; j++)
        for (size_t k = 0; k < counts[j]; k++)
            parts[j][k] *= factor;
    x->tau *= factor;
    x->kappa *= factor;
}

/* Mehrotra's predictor and corrector; false: nothing more to gain */
static bool iterate(struct run *r)
{
    struct point *x = &r->at, *d = &r->predictor;
    if (!factorise(r) || !solve_tau_part(r))
        return false;
    for (size_t k = 0; k < r->m; k++)
        r->rc[k] = -x->s[k] * x->z[k];
    if (!direction(r, 1, -x->tau * x->kappa, d))
        return false;
    double step = fmin(1, longest(r, d)), left = 0;
    for (size_t k = 0; k < r->m; k++)
        left += (x->s[k] + step * d->s[k]) * (x->z[k] + step * d->z[k]);
    left += (x->tau + step * d->tau) * (x->kappa + step * d->kappa);
    double ratio = left / (double)(r->m + 1) / r->mu, centre = fmin(1, ratio * ratio * ratio);
    for (size_t k = 0; k < r->m; k++)
        r->rc[k] = centre * r->mu - x->s[k] * x->z[k] - d->s[k] * d->z[k];
    if (!direction(r, 1 - centre, centre * r->mu - x->tau * x->kappa - d->tau * d->kappa, &r->step))
        return false;
    step = fmin(1, 0.995 * longest(r, &r->step));
    move(r, &r->step, step);
    return step > 1e-12;
}

static void copy_point(const struct run *r, struct point *to, const struct point *from)
{
    memcpy(to->u, from->u, r->n * sizeof(double));
    memcpy(to->z, from->z, r->m * sizeof(double));
    memcpy(to->y, from->y, r->e * sizeof(double));
    memcpy(to->s, from->s, r->m * sizeof(double));
    to->tau = from->tau;
    to->kappa = from->kappa;
}

/* The point solves the problem to eps. u is nowhere near as accurate as the objective, and the last iterations gain
 * digits fast: go on while they do. Ends at the best point. */
static void polish(struct run *r, double solved, hinge_qp_result *result)
{
    copy_point(r, &r->best, &r->at);
    for (double last = INFINITY; solved > 0 && solved < 0.2 * last && iterate(r); result->iterations++) {
        last = solved;
        residuals(r);
        solved = accuracy(r);
        if (!(solved < last))
            break;
        result->residual = solved;
        copy_point(r, &r->best, &r->at);
    }
    copy_point(r, &r->at, &r->best);
    residuals(r);
}

static hinge_qp_outcome run_solver(struct run *r, hinge_qp_result *result)
{
    uint64_t most = r->problem->max_iter > 0 ? r->problem->max_iter : 200, since = 0;
    double best = INFINITY;
    for (result->iterations = 0;; result->iterations++) {
        residuals(r);
        double solved = accuracy(r), none = infeasible(r), falls = unbounded(r);
        result->residual = solved;
        if (solved <= r->eps) {
            polish(r, solved, result);
            return HINGE_QP_SOLVED;
        }
        double least = fmin(solved, fmin(none, falls));
        since = least < 0.9 * best ? 0 : since + 1;
        best = fmin(best, least);
        if (none <= r->eps || falls <= r->eps) {
            result->residual = fmin(none, falls);
            return none <= falls ? HINGE_QP_INFEASIBLE : HINGE_QP_UNBOUNDED;
        }
        if (result->iterations == most || since > PATIENCE || !iterate(r))
            return HINGE_QP_LIMIT;
    }
}

/* Back to the caller's scale: u, z, y divided by what makes them a solution, or a proof. */
static void deliver(const struct run *r, hinge_qp_result *out)
{
    const struct point *x = &r->at;
    double gain = dot(r->c, x->z, r->m) + dot(r->f, x->y, r->e), fall = -dot(r->p, x->u, r->n) / r->cost;
    double by = out->outcome == HINGE_QP_INFEASIBLE ? gain : out->outcome == HINGE_QP_UNBOUNDED ? fall : x->tau;
    double dual = out->outcome == HINGE_QP_INFEASIBLE ? 1 / r->size : 1 / r->cost / r->size;
    for (size_t k = 0; out->u != NULL && k < r->n; k++)
        out->u[k] = x->u[k] / by * r->col[k] * r->size;
    for (size_t k = 0; out->z != NULL && k < r->m; k++)
        out->z[k] = x->z[k] / by * dual * r->row_a[k];
    for (size_t k = 0; out->y != NULL && k < r->e; k++)
        out->y[k] = x->y[k] / by * dual * r->row_e[k];
    double quadratic = dot(x->u, r->qu, r->n) / x->tau / x->tau;
    out->primal = (quadratic / 2 + dot(r->p, x->u, r->n) / x->tau) / r->cost;
    out->dual = (gain / x->tau - quadratic / 2) / r->cost;
    if (out->outcome == HINGE_QP_INFEASIBLE)
        out->primal = out->dual = INFINITY;
    if (out->outcome == HINGE_QP_UNBOUNDED)
        out->primal = out->dual = -INFINITY;
}

hinge_status hinge_qp_solve(const hinge_qp *problem, hinge_qp_result *result, hinge_error *err)
{
    hg_ok(err);
    if (problem == NULL || result == NULL)
        return hg_fail(err, HINGE_EINVAL, "%s: NULL", problem == NULL ? "problem" : "result");
    hinge_status status = check(problem, err);
    if (status != HINGE_OK)
        return status;
    struct run r = { 0 };
    hinge_qp_result out = *result;
#pragma omp parallel num_threads(1)
    {
        hg_blas_alone();
        status = run_init(&r, problem, err);
        if (status == HINGE_OK) {
            out.outcome = run_solver(&r, &out);
            deliver(&r, &out);
        }
    }
    hg_free(r.memory);
    hg_free(r.pivots);
    if (status == HINGE_OK)
        *result = out;
    return status;
}
