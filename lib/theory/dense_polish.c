/*
 * An interior point that is near an end knows which inequalities are active, those with z > s. As equalities they make
 * linear equations, whose solution next to the point is as accurate as rounding allows, whatever the point itself lost
 * on the way. Inequalities that the solution violates join in, those whose z turns negative leave, and it is tried
 * again. All three ends need one matrix, [ Q + A'DA + ridge, E'; E, -1/weight ] with D = weight for active rows:
 *
 *   solved      Qu + p = A'z + E'y, Au = c, Eu = f: the augmented Lagrangian's steps, which take (u, z, y) to the
 *               nearest solution, be there one or many. Without Q + A'DA's bad condition: a large weight is a step
 *               that gains much, and what rounding spoils the next one mends.
 *   infeasible  A'z + E'y = 0: a projection of (z, y), where Q has no part
 *   unbounded   Qu = 0, Au = 0, Eu = 0: a projection of u
 */
#include "lib/theory/dense.h"

#include <math.h>
#include <string.h>

enum { MAX_ROUNDS = 12, MAX_STEPS = 30 };

static const double as_good = 1e-12; /* values below are rounding: of two such points the later has the better u */

/* Begins at best[kind]: divides u and z, y by the point's gain, unless they are to be made anew; then they are all 0
 * but what a proof must gain by, and a solution is one near 0, however far the point went where nothing changes. Active
 * rows, those with z > s, get `weight` in d, others 0. */
static void start(struct hg_dense *r, hinge_qp_outcome kind, bool fresh, double weight)
{
    struct hg_dense_point *x = &r->at;
    hg_dense_copy(r, x, &r->best[kind]);
    double by = hg_dense_gain(r, kind);
    for (size_t k = 0; k < r->n; k++)
        x->u[k] = fresh ? (kind == HINGE_QP_UNBOUNDED ? -r->p[k] : 0) : x->u[k] / by;
    for (size_t k = 0; k < r->rows; k++) { /* of y, and of z */
        bool active = k < r->e || x->z[k - r->e] > x->s[k - r->e];
        double anew = kind == HINGE_QP_INFEASIBLE ? r->c[k] : 0;
        x->y[k] = !active ? 0 : fresh ? anew : x->y[k] / by;
        if (k >= r->e)
            r->d[k - r->e] = active ? weight : 0;
    }
    x->z[r->m] = 1;
    x->s[r->m] = 0;
}

/* Makes l what the point lacks of the equations; returns the largest. */
static double lacks(struct hg_dense *r, hinge_qp_outcome kind)
{
    const struct hg_dense_point *x = &r->at;
    double is_solution = kind == HINGE_QP_SOLVED, has_u = kind != HINGE_QP_INFEASIBLE;
    double has_z = kind != HINGE_QP_UNBOUNDED, *of_rows = r->l + r->n;
    for (size_t k = 0; k < r->n; k++)
        r->l[k] = -is_solution * r->p[k];
    for (size_t k = 0; k < r->rows; k++)
        of_rows[k] = is_solution * r->c[k];
    hg_dense_add_q(r, -has_u, x->u, 1, r->l);
    hg_dense_add_columns(r, has_z, x->y, r->l);
    hg_dense_add_rows(r, -has_u, x->u, 1, of_rows);
    for (size_t k = 0; k < r->m; k++)
        of_rows[r->e + k] = r->d[k] > 0 ? of_rows[r->e + k] : 0;
    return hg_dense_largest(r->l, r->n + r->rows);
}

static void add(double *x, const double *change, size_t n)
{
    for (size_t k = 0; k < n; k++)
        x[k] += change[k];
}

/* Steps towards what the equations ask for while each halves what is lacking, MAX_STEPS at most: refinement by one
 * factor. */
static void solve_equations(struct hg_dense *r, hinge_qp_outcome kind)
{
    struct hg_dense_point *x = &r->at, *change = &r->step;
    double last = INFINITY;
    for (int k = 0; k < MAX_STEPS; k++) {
        double left = lacks(r, kind);
        if (!(left > 0 && left < 0.5 * last))
            return;
        last = left;
        memset(change->u, 0, r->all * sizeof(double));
        if (!hg_dense_add_solution(r, change))
            return;
        if (kind != HINGE_QP_INFEASIBLE)
            add(x->u, change->u, r->n);
        if (kind != HINGE_QP_UNBOUNDED)
            add(x->y, change->y, r->rows); /* and z */
    }
}

/* Finds the active rows that the point asks for, and brings the point to z, s >= 0; false: they are what they were. A
 * row leaves where its z is below 0 by more than rounding, and joins where A u violates it so. */
static bool exchange(struct hg_dense *r, hinge_qp_outcome kind, double weight)
{
    struct hg_dense_point *x = &r->at;
    double least_z = -1e-12 * (1 + hg_dense_largest(x->z, r->m)), least_s = -1e-12 * (1 + hg_dense_largest(x->u, r->n));
    double *of_a = r->l + r->order;
    bool changed = false;
    for (size_t k = 0; k < r->rows; k++)
        r->l[r->n + k] = kind == HINGE_QP_SOLVED ? -r->c[k] : 0;
    hg_dense_add_rows(r, 1, x->u, 1, r->l + r->n);
    for (size_t k = 0; k < r->m; k++) {
        bool was = r->d[k] > 0, leaves = was && kind != HINGE_QP_UNBOUNDED && x->z[k] < least_z;
        bool joins = !was && kind != HINGE_QP_INFEASIBLE && of_a[k] < least_s;
        changed = changed || leaves || joins;
        r->d[k] = (was && !leaves) || joins ? weight : 0;
        x->z[k] = HG_MAX(x->z[k], 0.0);
        x->s[k] = HG_MAX(of_a[k], 0.0);
    }
    return changed;
}

/* Alternates between equations and active rows, MAX_ROUNDS at most, and keeps a point where it is better, or as good as
 * rounding tells. */
double hg_dense_polish(struct hg_dense *r, hinge_qp_outcome kind, bool fresh)
{
    double weight = kind == HINGE_QP_SOLVED ? 1e8 : 1, ridge = kind == HINGE_QP_SOLVED ? 1e-7 : 1e-10;
    bool changed = true;
    start(r, kind, fresh, weight);
    for (int round = 0; round < MAX_ROUNDS && changed; round++) {
        if (!hg_dense_factor(r, kind != HINGE_QP_INFEASIBLE, ridge, 1 / weight))
            break;
        solve_equations(r, kind);
        changed = exchange(r, kind, weight);
        double value = hg_dense_value(r, kind);
        if (value <= HG_MAX(r->value[kind], as_good)) {
            r->value[kind] = value;
            hg_dense_copy(r, &r->best[kind], &r->at);
        }
    }
    return r->value[kind];
}
