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

/* What u and z, y are to be divided by, unless they are to be made anew; then they are: all 0 but what a proof must
 * gain by. */
static void start(struct hg_dense *r, hinge_qp_outcome kind, bool fresh, double weight)
{
    struct hg_dense_point *x = &r->at;
    hg_dense_copy(r, x, &r->best[kind]);
    double by = fresh && kind != HINGE_QP_SOLVED ? 1 : hg_dense_gain(r, kind);
    for (size_t k = 0; k < r->n; k++)
        x->u[k] = fresh && kind == HINGE_QP_UNBOUNDED ? -r->p[k] : x->u[k] / by;
    for (size_t k = 0; k < r->e; k++)
        x->y[k] = !fresh ? x->y[k] / by : kind == HINGE_QP_INFEASIBLE ? r->f[k] : 0;
    for (size_t k = 0; k < r->m; k++) {
        bool active = x->z[k] > x->s[k];
        double anew = kind == HINGE_QP_INFEASIBLE ? r->c[k] : 0;
        r->d[k] = active ? weight : 0;
        x->z[k] = !active ? 0 : fresh ? anew : x->z[k] / by;
    }
    x->tau = 1;
    x->kappa = 0;
}

/* l1, l2, l3: what the point lacks of the equations; the largest. */
static double lacks(struct hg_dense *r, hinge_qp_outcome kind)
{
    const struct hg_dense_point *x = &r->at;
    size_t n = r->n, m = r->m, e = r->e;
    double is_solution = kind == HINGE_QP_SOLVED, has_u = kind != HINGE_QP_INFEASIBLE;
    double has_z = kind != HINGE_QP_UNBOUNDED;
    for (size_t k = 0; k < n; k++)
        r->l1[k] = -is_solution * r->p[k];
    for (size_t k = 0; k < m; k++)
        r->l2[k] = is_solution * r->c[k];
    for (size_t k = 0; k < e; k++)
        r->l3[k] = is_solution * r->f[k];
    hg_dense_times(-has_u, r->q, n, n, x->u, 1, r->l1);
    hg_dense_times_transposed(has_z, r->a, m, n, x->z, 1, r->l1);
    hg_dense_times_transposed(has_z, r->e_, e, n, x->y, 1, r->l1);
    hg_dense_times(-has_u, r->a, m, n, x->u, 1, r->l2);
    hg_dense_times(-has_u, r->e_, e, n, x->u, 1, r->l3);
    for (size_t k = 0; k < m; k++)
        r->l2[k] = r->d[k] > 0 ? r->l2[k] : 0;
    return HG_MAX(hg_dense_largest(r->l1, n), HG_MAX(hg_dense_largest(r->l2, m), hg_dense_largest(r->l3, e)));
}

static void add(double *x, const double *change, size_t n)
{
    for (size_t k = 0; k < n; k++)
        x[k] += change[k];
}

/* Steps while each halves what is lacking. */
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
            add(x->z, change->z, r->m + r->e); /* and y */
    }
}

/* The active rows that the point asks for, itself brought to z, s >= 0; false: they are what they were. */
static bool exchange(struct hg_dense *r, hinge_qp_outcome kind, double weight)
{
    struct hg_dense_point *x = &r->at;
    double least_z = -1e-12 * (1 + hg_dense_largest(x->z, r->m)), least_s = -1e-12 * (1 + hg_dense_largest(x->u, r->n));
    bool changed = false;
    for (size_t k = 0; k < r->m; k++)
        x->s[k] = kind == HINGE_QP_SOLVED ? -r->c[k] : 0;
    hg_dense_times(1, r->a, r->m, r->n, x->u, 1, x->s);
    for (size_t k = 0; k < r->m; k++) {
        bool was = r->d[k] > 0, leaves = was && kind != HINGE_QP_UNBOUNDED && x->z[k] < least_z;
        bool joins = !was && kind != HINGE_QP_INFEASIBLE && x->s[k] < least_s;
        changed = changed || leaves || joins;
        r->d[k] = (was && !leaves) || joins ? weight : 0;
        x->z[k] = HG_MAX(x->z[k], 0.0);
        x->s[k] = HG_MAX(x->s[k], 0.0);
    }
    return changed;
}

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
