/*
 * Convex quadratic programs, dense and in double: what the textbooks' support vector machines are before anything is
 * known of their structure. The conventions are those of hinge.h.
 */
#ifndef HINGE_QP_H
#define HINGE_QP_H

#include <hinge/hinge.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The problem: minimise 1/2 u'Qu + p'u subject to A u >= c, E u = f. Arrays are the caller's, row-major, finite. */
typedef struct hinge_qp {
    size_t n;              /* number of variables u */
    const double *q;       /* [n * n] symmetric, positive semi-definite (singular is fine); NULL: 0 */
    const double *p;       /* [n]; NULL: 0 */
    size_t n_inequalities; /* rows of A */
    const double *a, *c;   /* [n_inequalities * n], [n_inequalities] */
    size_t n_equalities;   /* rows of E, which may depend on each other */
    const double *e, *f;   /* [n_equalities * n], [n_equalities] */
    double eps;            /* relative accuracy of residuals and gap; 0: 1e-10 */
    uint64_t max_iter;     /* most steps of the interior point; 0: 200 */
} hinge_qp;

typedef enum hinge_qp_outcome {
    HINGE_QP_SOLVED = 0,
    HINGE_QP_INFEASIBLE, /* no u meets the constraints, as z >= 0 and y prove: A'z + E'y = 0 and c'z + f'y = 1 */
    HINGE_QP_UNBOUNDED,  /* the objective falls for ever along u from any point that meets the constraints, if there is
                          * one: Qu = 0, Au >= 0, Eu = 0, p'u = -1 */
    HINGE_QP_LIMIT       /* max_iter was reached, or rounding kept the run from eps: u, z, y are the best seen */
} hinge_qp_outcome;

/* Returns "solved", "infeasible", "unbounded", "iteration limit"; never NULL. */
HINGE_API const char *hinge_qp_outcome_text(hinge_qp_outcome outcome);

/* The solution u and its multipliers: Qu + p = A'z + E'y, z >= 0, z'(Au - c) = 0. */
typedef struct hinge_qp_result {
    double *u; /* [n] the caller's array, as are z and y; each may be NULL */
    double *z; /* [n_inequalities] */
    double *y; /* [n_equalities] */
    hinge_qp_outcome outcome;
    double primal, dual; /* 1/2 u'Qu + p'u and c'z + f'y - 1/2 u'Qu; infeasible: +infinity; unbounded: -infinity */
    double residual;     /* rows and columns scaled to largest elements of about 1: the largest of |Qu + p - A'z -
                            * E'y| over 1 + max |p|, what u lacks of its constraints over 1 + max |c|, |f|, and primal -
                            * dual over 1 + |primal|. Where the rounding of large z, y, u keeps these from eps, but not
                            * from 1e-6, max |z|, |y|, |u| is added to what the first two are over, and the terms of
                            * u'Qu, p'u, z'Au and y'Eu, each by its size, to what the last is. Of a proof: what it lacks
                            * of the zeros above */
    uint64_t iterations; /* steps of the interior point, and of a second one: a run without an end is followed by one
                            * for the constraints alone, which may prove that nothing meets them */
} hinge_qp_result;

/* Solves by a homogeneous interior point (Andersen and Ye 1999, with Mehrotra's corrector): it ends at a solution or at
 * a proof that there is none. From the inequalities that its last points find active, a solution or a proof is computed
 * as exactly as rounding allows. Two inequalities that together are an equality may be given as such (y'u >= 0 and
 * -y'u >= 0). Work of an iteration: A'DA and a factorisation of n + n_equalities rows; one thread.
 * Memory: 2 (n + n_equalities)^2 + 2 n_inequalities n. EINVAL: what is not finite, Q not symmetric or not positive
 * semi-definite, NULL arrays. */
HINGE_API hinge_status hinge_qp_solve(const hinge_qp *problem, hinge_qp_result *result, hinge_error *err);

#ifdef __cplusplus
}
#endif
#endif
