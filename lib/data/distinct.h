/*
 * Equal rows. Rows of the same features and of one class, or of one target, have the same linear term in the dual
 * problem and the same kernel row: to a solver they are one point, whose box is the sum of theirs. The problem is the
 * same, but smaller by up to the square. Afterwards a point's coefficient goes back to its rows in their order: each
 * gets as much as its box holds, so at most one of them is inside its box, and support vectors are as few as they can
 * be.
 *
 * Where most rows have equals, a training takes a small part of the processor time that it would take otherwise, and
 * where a fifth have, three quarters (doc/tried.md). Rows that all differ are their own points.
 */
#ifndef HG_DISTINCT_H
#define HG_DISTINCT_H

#include "lib/data/problem.h"

/* Holds what solvers see of a training. Where no rows are equal it is the whole problem itself, nothing is copied, and
 * nothing is freed. */
struct hg_distinct {
    struct hg_problem problem; /* over distinct points, without weights, which whole problems' boxes have. It borrows
                                * what it shares with the whole problem, and is that where no rows are equal */
    uint32_t *point;           /* [n of the whole problem] of each row; NULL: no two are equal */
};

/* Kernels of the user's own and precomputed ones are not made of features alone: there, rows are not compared. */
hinge_status hg_distinct_init(struct hg_distinct *distinct, const struct hg_problem *whole, hinge_error *err);
void hg_distinct_free(struct hg_distinct *distinct);

/* Holds one two-class problem on its way to a solver and back: over its rows (whole, at, rows) and over their distinct
 * points (qp, points). hg_reduced_init makes all of it, hg_reduced_free frees it; solvers change qp alone. */
struct hg_reduced {
    size_t n;
    uint32_t *rows;     /* [n] points of the whole problem */
    struct hg_qp whole; /* over them: a feasible start; in the end the solution */
    double sums[2];
    uint32_t *points; /* [qp.n] points of the distinct problem */
    struct hg_qp qp;  /* over them, for the solver */
    uint32_t *at;     /* [n] where each row's point is in qp */
    double *g, *kept; /* [qp.n], [qp.n * layers] room for a gradient, and for coefficients that may be wanted again */
};

/* Reduces problem p, qp being at its start. What has been made is to be freed on failure too. */
hinge_status hg_reduced_init(struct hg_reduced *reduced, const struct hg_distinct *distinct,
                             const struct hg_problem *whole, size_t p, hinge_error *err);
/* Sets qp to its start once more. */
void hg_reduced_start(struct hg_reduced *reduced);
/* Brings the solution of qp into the whole problem's. */
void hg_reduced_finish(struct hg_reduced *reduced);
void hg_reduced_free(struct hg_reduced *reduced);

#endif
