/*
 * General convex QP by the homogeneous model: with tau and kappa beside u, z, y, s,
 *
 *     Qu + p tau - A'z - E'y = 0,   Au - c tau - s = 0,   Eu - f tau = 0,
 *     -u'Qu / tau - p'u + c'z + f'y - kappa = 0,          s'z + tau kappa = 0,     s, z, tau, kappa >= 0
 *
 * always has a solution; tau > 0 gives one of the QP, kappa > 0 a proof that it has none (Andersen and Ye 1999, "On a
 * homogeneous algorithm for the monotone complementarity problem"). Rows of E and A stand in one matrix, E's first, as
 * do y and z; tau and kappa are one more pair of z and s.
 *
 *   dense_setup.c   checks, scales, finds equalities that depend on others
 *   dense_system.c  the linear system of a step
 *   dense.c         the steps, and how the run ends
 *   dense_polish.c  what the last steps leave to rounding: solutions and proofs from their active rows
 */
#ifndef HG_DENSE_H
#define HG_DENSE_H

#include "lib/base/base.h"

#include <hinge/qp.h>
#include <lapacke.h>

enum { HG_DENSE_KINDS = 3 }; /* HINGE_QP_SOLVED, _INFEASIBLE, _UNBOUNDED: ends that a point can be near */

/* Tells where an inequality of the caller's went: two that are opposite, a'u >= c and -a'u >= -c, are one equality,
 * since nothing lies between them for an interior point to pass through. */
struct hg_dense_place {
    size_t row;    /* of [E; A]; SIZE_MAX: nowhere, others imply it */
    double factor; /* 0: of A. Otherwise z is what of factor * y is not negative */
};

struct hg_dense_point {    /* also a direction */
    double *u, *y, *z, *s; /* [n], [e], [m + 1] with tau, [m + 1] with kappa, one behind the other */
};

/* Holds one run. hg_dense_init makes it, all arrays but place in one block whose first is q; hg_dense_free frees it.
 * What is at hand is scaled: deliver (dense.c) undoes col, row, cost and size. */
struct hg_dense {
    size_t n, e, m, rows, order, all; /* rows: e + m; order: n + e; all: values of a point */
    double *q, *p, *a, *c;            /* scaled copies; a [rows * n] is [E; A], c [rows] f and c */
    double *col, *row;                /* scales, powers of two: u = col * scaled u, rows times row */
    double cost, size;                /* of the objective; of u beside col */
    double *held;                     /* [e] 1: an equality that does not depend on others; 0: it follows from them */
    struct hg_dense_point at, predictor, step, base, tau_part; /* base, tau_part: the two solutions of a step */
    struct hg_dense_point best[HG_DENSE_KINDS];                /* the nearest to each end so far */
    double value[HG_DENSE_KINDS];                              /* how near best is: hg_dense_value's */
    double *r, r_gap;                                          /* [n + rows] and of the gap: residuals of the model */
    double *qu, *rc;                                           /* [n], [m + 1]: products */
    double *b, *l;                             /* [n + rows] a right-hand side, and what is left of it */
    double *d, *factor, *root_a, *room, *work; /* d: [m] of A'DA */
    lapack_int *pivots, work_size;
    double eps, mu;
    const hinge_qp *problem;
    struct hg_dense_place *place; /* [problem->n_inequalities] */
};

/* ---- dense_setup.c ----------------------------------------------------------------------------------------------- */

hinge_status hg_dense_init(struct hg_dense *r, const hinge_qp *problem, hinge_error *err);
void hg_dense_free(struct hg_dense *r);

double hg_dense_power_of_two(double x);

/* ---- dense_system.c ---------------------------------------------------------------------------------------------- */

/* Multiply out = beta out + alpha Q u; the same of [E; A] u; out += alpha [E; A]'v */
void hg_dense_add_q(const struct hg_dense *r, double alpha, const double *u, double beta, double *out);
void hg_dense_add_rows(const struct hg_dense *r, double alpha, const double *u, double beta, double *out);
void hg_dense_add_columns(const struct hg_dense *r, double alpha, const double *v, double *out);
double hg_dense_largest(const double *x, size_t n);

/* Factors [ quadratic Q + A'DA + ridge, E'; E, -corner ] by LAPACK's symmetric indefinite factorisation. */
bool hg_dense_factor(struct hg_dense *r, double quadratic, double ridge, double corner);

/* Adds to x the solution for right-hand sides l of Q u - A'z - E'y, E u + corner y, A u + z / D. */
bool hg_dense_add_solution(struct hg_dense *r, struct hg_dense_point *x);

/* ---- dense.c ----------------------------------------------------------------------------------------------------- */

void hg_dense_copy(const struct hg_dense *r, struct hg_dense_point *to, const struct hg_dense_point *from);

/* Returns what the point is divided by: tau; c'z + f'y of a proof that nothing is feasible, -p'u of one that nothing
 * bounds. */
double hg_dense_gain(const struct hg_dense *r, hinge_qp_outcome kind);

/* Returns how far r->at is from a solution, or a proof: hinge_qp_result.residual. 1e-16 at least where rounding would
 * hide what it lacks. */
double hg_dense_value(struct hg_dense *r, hinge_qp_outcome kind);

/* ---- dense_polish.c ---------------------------------------------------------------------------------------------- */

/* Brings best[kind] to the rounding of the equations that its active rows make; r->at is what it was tried on. fresh:
 * u, z, y start from the least there is, not from the point's. The value of what is best then. */
double hg_dense_polish(struct hg_dense *r, hinge_qp_outcome kind, bool fresh);

#endif
