/*
 * Steps of the homogeneous model, how near each is to a solution or a proof, and the run (dense.h has the equations). A
 * step is Mehrotra's predictor and corrector; of its two solutions of one system, base is for the right-hand side and
 * tau_part for what goes with dtau = 1, as tau's column and row are eliminated. The point is in scaled units all along.
 * Residuals are divided by tau, or by a proof's gain, only where they are judged.
 */
#include "lib/theory/dense.h"
#include "lib/base/team.h"

#include <math.h>
#include <string.h>

enum { REFINEMENTS = 4, PATIENCE = 20 /* iterations that come no nearer */ };

static const double least_ridge = 1e-12, least_corner = 1e-13; /* of Newton's system */

const char *hinge_qp_outcome_text(hinge_qp_outcome outcome)
{
    static const char *const text[] = { "solved", "infeasible", "unbounded", "iteration limit" };
    return (size_t)outcome < sizeof text / sizeof *text ? text[outcome] : "unknown outcome";
}

/* ---- Newton's system --------------------------------------------------------------------------------------------- */

static double tau_of(const struct hg_dense *r)
{
    return r->at.z[r->m];
}

/* Returns c'z + f'y. */
static double constant_part(const struct hg_dense *r, const struct hg_dense_point *x)
{
    return hg_dot(r->c + r->e, x->z, r->m) + hg_dot(r->c, x->y, r->e);
}

/* Makes r, r_gap and mu of the point r->at: the left sides of the model's equations, and the mean of products. qu = Q u
 * is kept for what follows. */
static void residuals(struct hg_dense *r)
{
    struct hg_dense_point *x = &r->at;
    size_t n = r->n, m = r->m, e = r->e;
    double tau = tau_of(r), *of_rows = r->r + n;
    hg_dense_add_q(r, 1, x->u, 0, r->qu);
    for (size_t k = 0; k < n; k++)
        r->r[k] = r->qu[k] + r->p[k] * tau;
    hg_dense_add_columns(r, -1, x->y, r->r);
    for (size_t k = 0; k < r->rows; k++)
        of_rows[k] = -r->c[k] * tau - (k < e ? 0 : x->s[k - e]);
    hg_dense_add_rows(r, 1, x->u, 1, of_rows);
    r->r_gap = -hg_dot(x->u, r->qu, n) / tau - hg_dot(r->p, x->u, n) + hg_dot(r->c + e, x->z, m) +
               hg_dot(r->c, x->y, e) - x->s[m];
    r->mu = hg_dot(x->s, x->z, m + 1) / (double)(m + 1);
}

/* Makes l = b - what x makes of it in the system before the elimination of z, with the ridge and corner that the factor
 * has; returns the largest. Equalities that others imply ask for nothing (held). */
static double what_is_left(struct hg_dense *r, const struct hg_dense_point *x)
{
    size_t n = r->n;
    double *of_e = r->l + n, *of_a = of_e + r->e;
    memcpy(r->l, r->b, (n + r->rows) * sizeof(double));
    hg_dense_add_q(r, -1, x->u, 1, r->l);
    hg_dense_add_columns(r, 1, x->y, r->l);
    for (size_t k = 0; k < n; k++)
        r->l[k] -= least_ridge * x->u[k];
    for (size_t k = 0; k < r->m; k++)
        of_a[k] -= r->at.s[k] / r->at.z[k] * x->z[k];
    hg_dense_add_rows(r, -1, x->u, 1, of_e);
    for (size_t k = 0; k < r->e; k++)
        of_e[k] = r->held[k] * (of_e[k] - least_corner * x->y[k]);
    return hg_dense_largest(r->l, n + r->rows);
}

/* Makes x the solution for b, refined by what is left while that halves it, REFINEMENTS times at most. */
static bool solve_system(struct hg_dense *r, struct hg_dense_point *x)
{
    memset(x->u, 0, r->all * sizeof(double));
    double last = INFINITY;
    for (int k = 0; k <= REFINEMENTS; k++) {
        double left = what_is_left(r, x);
        if (left == 0 || left > 0.5 * last)
            return true;
        last = left;
        if (!hg_dense_add_solution(r, x))
            return false;
    }
    return true;
}

/* Makes the part of a step that goes with dtau = 1. */
static bool solve_tau_part(struct hg_dense *r)
{
    for (size_t k = 0; k < r->n; k++)
        r->b[k] = -r->p[k];
    memcpy(r->b + r->n, r->c, r->rows * sizeof(double));
    return solve_system(r, &r->tau_part);
}

/* Makes out the step that takes residuals to 1 - rate of themselves and products to rc. dtau is the quotient that the
 * gap's equation leaves when u, y, z = base + dtau tau_part stand in it; ds follows from each product's row. false: the
 * quotient is no number. */
static bool direction(struct hg_dense *r, double rate, struct hg_dense_point *out)
{
    const struct hg_dense_point *x = &r->at, *t = &r->tau_part, *b = &r->base;
    size_t n = r->n, m = r->m;
    double tau = tau_of(r), kappa = x->s[m];
    for (size_t k = 0; k < n + r->rows; k++)
        r->b[k] = -rate * r->r[k];
    for (size_t k = 0; k < m; k++)
        r->b[r->order + k] += r->rc[k] / x->z[k];
    if (!solve_system(r, &r->base))
        return false;
    double top = -rate * r->r_gap + r->rc[m] / tau;
    double bottom = hg_dot(x->u, r->qu, n) / tau / tau + kappa / tau;
    for (size_t k = 0; k < n; k++) {
        double gradient = 2 * r->qu[k] / tau + r->p[k];
        top += gradient * b->u[k];
        bottom -= gradient * t->u[k];
    }
    top -= constant_part(r, b);
    bottom += constant_part(r, t);
    double dtau = out->z[m] = top / bottom;
    for (size_t k = 0; k < n + r->rows; k++) /* of u, y and z */
        out->u[k] = b->u[k] + dtau * t->u[k];
    for (size_t k = 0; k <= m; k++)
        out->s[k] = (r->rc[k] - x->s[k] * out->z[k]) / x->z[k];
    return isfinite(dtau);
}

/* Returns how far d leads until the first s or z is 0. */
static double longest(const struct hg_dense *r, const struct hg_dense_point *d)
{
    double step = INFINITY;
    for (size_t k = 0; k <= r->m; k++) {
        step = d->s[k] < 0 ? fmin(step, -r->at.s[k] / d->s[k]) : step;
        step = d->z[k] < 0 ? fmin(step, -r->at.z[k] / d->z[k]) : step;
    }
    return step;
}

/* ---- how near ---------------------------------------------------------------------------------------------------- */

double hg_dense_gain(const struct hg_dense *r, hinge_qp_outcome kind)
{
    const struct hg_dense_point *x = &r->at;
    if (kind == HINGE_QP_SOLVED)
        return tau_of(r);
    return kind == HINGE_QP_UNBOUNDED ? -hg_dot(r->p, x->u, r->n) : constant_part(r, x);
}

/* Returns what u'Qu, p'u and y'[E; A]u add up, each term by its size: the gap is u'(Qu + p - A'z - E'y) and what u
 * lacks of rows times y and z. */
static double gap_terms(const struct hg_dense *r)
{
    const double *u = r->at.u, *y = r->at.y;
    double sum = 0;
    for (size_t k = 0; k < r->rows; k++)
        for (size_t i = 0; i < r->n; i++)
            sum += fabs(y[k] * r->a[k * r->n + i] * u[i]);
    for (size_t i = 0; i < r->n; i++) {
        sum += fabs(r->p[i] * u[i]) * tau_of(r);
        for (size_t j = 0; j < r->n; j++)
            sum += fabs(u[i] * r->q[i * r->n + j] * u[j]);
    }
    return sum;
}

/* Makes the scaled problem's residuals at u/tau, z/tau, y/tau. A large `size` divides what u lacks of its constraints,
 * and a small `cost` multiplies the gap: what they are over shrinks likewise. With `rounding`, what Qu + p - A'z - E'y,
 * Au - c and the gap are more than 0 is over the terms they are sums of, where it is no more than the rounding of those
 * terms. */
static double accuracy(const struct hg_dense *r, bool rounding)
{
    const double *u = r->at.u;
    double tau = tau_of(r), quadratic = hg_dot(u, r->qu, r->n) / tau / tau;
    double primal = quadratic / 2 + hg_dot(r->p, u, r->n) / tau;
    double dual = hg_dense_gain(r, HINGE_QP_INFEASIBLE) / tau - quadratic / 2;
    double slope = hg_dense_largest(r->r, r->n) / tau, slope_size = 1 + hg_dense_largest(r->p, r->n);
    double rows = hg_dense_largest(r->r + r->n, r->rows) / tau;
    double rows_size = fmin(1, 1 / r->size) + hg_dense_largest(r->c, r->rows);
    double most_u = hg_dense_largest(u, r->n) / tau, most_z = hg_dense_largest(r->at.y, r->rows) / tau;
    slope_size += rounding && slope <= 1e-14 * (most_u + most_z) ? most_u + most_z : 0;
    rows_size += rounding && rows <= 1e-14 * most_u ? most_u : 0;
    double gap = fabs(primal - dual), gap_size = fmin(1, r->cost) + HG_MAX(fabs(primal), fabs(dual));
    double terms = rounding ? gap_terms(r) / tau / tau : 0;
    gap_size += gap <= 1e-14 * terms ? terms : 0;
    return HG_MAX(gap / gap_size, HG_MAX(slope / slope_size, rows / rows_size));
}

/* Returns the error of a proof, as large as `size`, that lacks so much: both are divided by its gain, and it counts for
 * no less than its rounding. A proof that gains nothing is none. */
static double over_gain(double lacks, double size, double gain)
{
    return gain > 0 ? HG_MAX(lacks / gain, 1e-16 * (size / gain)) : INFINITY;
}

/* Judges A'z + E'y of a proof that nothing is feasible. */
static double infeasible(struct hg_dense *r)
{
    memset(r->l, 0, r->n * sizeof(double));
    hg_dense_add_columns(r, 1, r->at.y, r->l);
    return over_gain(hg_dense_largest(r->l, r->n), hg_dense_largest(r->at.y, r->rows),
                     hg_dense_gain(r, HINGE_QP_INFEASIBLE));
}

/* Judges Qu, Eu and what Au lacks of 0, of a proof that nothing bounds the objective. */
static double unbounded(struct hg_dense *r)
{
    double lacks = hg_dense_largest(r->qu, r->n), *of_rows = r->l + r->n;
    hg_dense_add_rows(r, 1, r->at.u, 0, of_rows);
    for (size_t k = 0; k < r->rows; k++)
        lacks = fmax(lacks, k < r->e ? fabs(of_rows[k]) : -of_rows[k]);
    return over_gain(lacks, hg_dense_largest(r->at.u, r->n), hg_dense_gain(r, HINGE_QP_UNBOUNDED));
}

double hg_dense_value(struct hg_dense *r, hinge_qp_outcome kind)
{
    residuals(r);
    return kind == HINGE_QP_SOLVED ? accuracy(r, false) : kind == HINGE_QP_INFEASIBLE ? infeasible(r) : unbounded(r);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

void hg_dense_copy(const struct hg_dense *r, struct hg_dense_point *to, const struct hg_dense_point *from)
{
    memcpy(to->u, from->u, r->all * sizeof(double));
}

/* Goes along d; a point that has grown beyond 1e100 is scaled back by a power of two, as the model is homogeneous. */
static void move(struct hg_dense *r, const struct hg_dense_point *d, double step)
{
    struct hg_dense_point *x = &r->at;
    for (size_t k = 0; k < r->all; k++)
        x->u[k] += step * d->u[k];
    double size = HG_MAX(HG_MAX(hg_dense_largest(x->z, r->m + 1), hg_dense_largest(x->u, r->n)), x->s[r->m]);
    double factor = 1 / hg_dense_power_of_two(size);
    for (size_t k = 0; size >= 1e100 && k < r->all; k++) /* the model is homogeneous */
        x->u[k] *= factor;
}

/* Makes a step by Mehrotra's predictor and corrector; false: nothing more to gain, or no factor. The predictor aims at
 * products of 0; what it leaves of mu, to the cube, is where the corrector aims, with the predictor's own products
 * taken out. 0.995 of the longest step keeps s and z positive. */
static bool iterate(struct hg_dense *r)
{
    struct hg_dense_point *x = &r->at, *d = &r->predictor;
    for (size_t k = 0; k < r->m; k++)
        r->d[k] = x->z[k] / x->s[k];
    if (!hg_dense_factor(r, 1, least_ridge, least_corner) || !solve_tau_part(r))
        return false;
    for (size_t k = 0; k <= r->m; k++)
        r->rc[k] = -x->s[k] * x->z[k];
    if (!direction(r, 1, d))
        return false;
    double step = fmin(1, longest(r, d)), left = 0;
    for (size_t k = 0; k <= r->m; k++)
        left += (x->s[k] + step * d->s[k]) * (x->z[k] + step * d->z[k]);
    double ratio = left / (double)(r->m + 1) / r->mu, centre = fmin(1, ratio * ratio * ratio);
    for (size_t k = 0; k <= r->m; k++)
        r->rc[k] = centre * r->mu - x->s[k] * x->z[k] - d->s[k] * d->z[k];
    if (!direction(r, 1 - centre, &r->step))
        return false;
    step = fmin(1, 0.995 * longest(r, &r->step));
    move(r, &r->step, step);
    return step > 1e-12;
}

/* Keeps the nearest points to each end, and says whether to go on; least: the nearest of all so far. Where eps is
 * reached, it goes on while an iteration gains a factor of five: u is nowhere near as accurate as the objective. */
static bool look(struct hg_dense *r, double *least)
{
    double before = r->value[HINGE_QP_SOLVED];
    for (int kind = 0; kind < HG_DENSE_KINDS; kind++) {
        double value = hg_dense_value(r, (hinge_qp_outcome)kind);
        if (value < r->value[kind]) {
            r->value[kind] = value;
            hg_dense_copy(r, &r->best[kind], &r->at);
        }
        *least = fmin(*least, r->value[kind]);
    }
    double solved = r->value[HINGE_QP_SOLVED];
    if (solved <= r->eps)
        return solved > 1e-16 && solved < 0.2 * before;
    return *least > r->eps;
}

/* Chooses the nearest end that the points seen lead to, the likeliest first, each polished twice (dense_polish.c): a
 * solution where eps is reached, otherwise as near as they come. Large multipliers may have kept a solution from eps by
 * their rounding alone; a point with violations is none, however. */
static hinge_qp_outcome conclude(struct hg_dense *r)
{
    bool tried[HG_DENSE_KINDS] = { false };
    for (int round = 0; round < HG_DENSE_KINDS; round++) {
        int kind = -1;
        for (int k = 0; k < HG_DENSE_KINDS; k++)
            if (!tried[k] && (kind < 0 || (r->value[k] < r->value[kind] && r->value[kind] > r->eps)))
                kind = k;
        tried[kind] = true;
        for (int fresh = 0; fresh < 2 && !isinf(r->value[kind]); fresh++)
            if (hg_dense_polish(r, (hinge_qp_outcome)kind, fresh) <= r->eps)
                return (hinge_qp_outcome)kind;
    }
    hg_dense_copy(r, &r->at, &r->best[HINGE_QP_SOLVED]);
    if (hg_dense_value(r, HINGE_QP_SOLVED) <= 1e-6)
        r->value[HINGE_QP_SOLVED] = accuracy(r, true);
    return r->value[HINGE_QP_SOLVED] <= r->eps ? HINGE_QP_SOLVED : HINGE_QP_LIMIT;
}

/* Looks for a proof that asks for no iterations: of equalities that depend on each other and contradict each other. */
static bool contradict(struct hg_dense *r)
{
    if (hg_dot(r->held, r->held, r->e) == (double)r->e)
        return false;
    bool proved = hg_dense_polish(r, HINGE_QP_INFEASIBLE, true) <= r->eps;
    hg_dense_copy(r, &r->at, &r->best[HINGE_QP_SOLVED]);
    return proved;
}

/* Runs from r->at until an end is near, nothing has come nearer for PATIENCE iterations, or max_iter (200) are done.
 * r->at is what is to be delivered then. */
static hinge_qp_outcome run_solver(struct hg_dense *r, hinge_qp_result *result)
{
    uint64_t most = r->problem->max_iter > 0 ? r->problem->max_iter : 200, since = 0;
    double best = INFINITY, least = INFINITY;
    hinge_qp_outcome end = HINGE_QP_INFEASIBLE;
    result->iterations = 0;
    for (int kind = 0; kind < HG_DENSE_KINDS; kind++) {
        r->value[kind] = INFINITY;
        hg_dense_copy(r, &r->best[kind], &r->at);
    }
    if (!contradict(r)) {
        while (look(r, &least)) {
            since = least < 0.9 * best ? 0 : since + 1;
            best = fmin(best, least);
            if (result->iterations == most || since > PATIENCE || !iterate(r))
                break;
            result->iterations++;
        }
        end = conclude(r);
    }
    int kind = end == HINGE_QP_LIMIT ? (int)HINGE_QP_SOLVED : (int)end;
    hg_dense_copy(r, &r->at, &r->best[kind]);
    residuals(r);
    result->residual = r->value[kind];
    return end;
}

/* Brings the point back to the caller's scale: u, z, y divided by what makes them a solution, or a proof. Inequalities
 * that became equalities get the part of y that has their sign. */
static void deliver(const struct hg_dense *r, hinge_qp_result *out)
{
    const struct hg_dense_point *x = &r->at;
    bool limit = out->outcome == HINGE_QP_LIMIT;
    double by = hg_dense_gain(r, limit ? HINGE_QP_SOLVED : out->outcome);
    by /= out->outcome == HINGE_QP_UNBOUNDED ? r->cost : 1;
    double dual = out->outcome == HINGE_QP_INFEASIBLE ? 1 / r->size : 1 / r->cost / r->size;
    for (size_t k = 0; out->u != NULL && k < r->n; k++)
        out->u[k] = x->u[k] / by * r->col[k] * r->size;
    for (size_t k = 0; out->z != NULL && k < r->problem->n_inequalities; k++) {
        size_t row = r->place[k].row;
        double factor = r->place[k].factor, times = factor == 0 ? 1 : factor;
        double z = row == SIZE_MAX ? 0 : times * x->y[row] / by * dual * r->row[row]; /* z stands behind y */
        out->z[k] = factor == 0 ? z : fmax(z, 0);
    }
    for (size_t k = 0; out->y != NULL && k < r->problem->n_equalities; k++)
        out->y[k] = x->y[k] / by * dual * r->row[k];
    double tau = tau_of(r), quadratic = hg_dot(x->u, r->qu, r->n) / tau / tau;
    out->primal = (quadratic / 2 + hg_dot(r->p, x->u, r->n) / tau) / r->cost;
    out->dual = (hg_dense_gain(r, HINGE_QP_INFEASIBLE) / tau - quadratic / 2) / r->cost;
    if (out->outcome == HINGE_QP_INFEASIBLE)
        out->primal = out->dual = INFINITY;
    if (out->outcome == HINGE_QP_UNBOUNDED)
        out->primal = out->dual = -INFINITY;
}

/* Looks for a proof that nothing is feasible where the run ended without an end, by a second run without the objective:
 * where Q is small beside p that asks for a large u, beside which constraints that contradict each other look met.
 * Where it finds one, *r is that run, and the first is freed. */
static hinge_status look_for_contradiction(struct hg_dense *r, hinge_qp_result *out, hinge_error *err)
{
    hinge_qp constraints = *r->problem;
    constraints.q = constraints.p = NULL;
    if (constraints.max_iter > 0 && (constraints.max_iter -= out->iterations) == 0)
        return HINGE_OK;
    struct hg_dense other = { 0 };
    hinge_qp_result found = *out;
    hinge_status status = hg_dense_init(&other, &constraints, err);
    if (status == HINGE_OK) {
        hinge_qp_outcome end = run_solver(&other, &found);
        out->iterations += found.iterations;
        if (end == HINGE_QP_INFEASIBLE) {
            struct hg_dense first = *r;
            *r = other;
            other = first;
            r->problem = first.problem;
            out->outcome = end;
            out->residual = found.residual;
        }
    }
    hg_dense_free(&other);
    return status;
}

/* Runs within a region of one thread, whose BLAS calls stay alone, so that the bits do not depend on the number of
 * threads. *result is written only where all went well. */
hinge_status hinge_qp_solve(const hinge_qp *problem, hinge_qp_result *result, hinge_error *err)
{
    hg_ok(err);
    HG_NEED(err, problem, "problem");
    HG_NEED(err, result, "result");
    hinge_status status = HINGE_OK;
    struct hg_dense r = { 0 };
    hinge_qp_result out = *result;
    HG_TEAM(1)
    {
        status = hg_dense_init(&r, problem, err);
        if (status == HINGE_OK) {
            out.outcome = run_solver(&r, &out);
            if (out.outcome == HINGE_QP_LIMIT)
                status = look_for_contradiction(&r, &out, err);
        }
        if (status == HINGE_OK)
            deliver(&r, &out);
    }
    hg_dense_free(&r);
    if (status == HINGE_OK)
        *result = out;
    return status;
}
