/*
 * The finish of the interior point: from coefficients in the interior of their boxes to ones that are exactly 0, at a
 * bound, or free, and from (w, b) that nearly belong to them to those that do.
 *
 * A proximal step from beta0 is the problem
 *
 *     min over beta in the box:  1/2 |Z'beta|^2 + h(beta) + |beta - beta0|^2 / (2 sigma),   1'beta = sum,
 *
 * h(t) = off t + kink |t|. Its dual in w (with the intercept as last coordinate) is smooth, and at f = Z w each
 * coefficient is a projection: beta = clip(soft(beta0 - sigma (f + off), sigma kink)). So bounds are met exactly.
 * Semismooth Newton solves Z'beta(w) = w for w with the matrix I + sigma Z_F'Z_F of the free rows (Li, Sun, Toh 2018,
 * the augmented Lagrangian method for the Lasso; Rockafellar 1976 for the proximal point). It never worsens the dual
 * objective, and from a point near the optimum it takes a few steps.
 */
#ifndef HG_FINISH_H
#define HG_FINISH_H

#include "solver/qp.h"
#include "solver/ipm/cholesky.h"
#include "solver/ipm/sweep.h"

/* Tells what a set of coefficients is worth, everything from beta and Z alone. */
struct hg_worth {
    double objective; /* minimised: 1/2 beta'K beta + h(beta) */
    double primal;    /* of w = Z'beta and bias; primal + objective = gap */
    double gap;       /* relative to the largest of |primal|, |objective|, floor; infinite: no feasible w */
    double violation; /* see hg_qp_violation */
    double bias[2];   /* of f = <x, w> + bias, by layer */
};

/* A finish: the problem and the room it works in, all of it the caller's. hg_finish_step goes from beta and w to better
 * ones; hg_finish_judge tells what they are worth. */
struct hg_finish {
    struct hg_qp *qp;      /* beta: in, feasible but for its sum; out. Its layers one after the other, */
    struct hg_qp *layered; /* and as they are */
    struct hg_sweep_space *space;
    struct hg_cholesky *cholesky; /* of the space's columns */
    const double *sums;           /* [layers] what beta sums to, with an intercept */
    double floor;                 /* what gaps are relative to where both objectives are smaller */
    double *w;                    /* [cols] a guess of Z'beta and the intercept, as the space sweeps; steps mend it */
    double *trial;                /* [cols] work; after hg_finish_judge Z'beta */
    double *force, *acc, *guess;  /* [cols] work */
    double *from, *f;             /* [n] work */
    double sigma;                 /* the finish's own: of the step, */
    double piece;                 /* and which rows are free, at 0, at a bound, as one number */
    uint64_t steps, most_steps;   /* Newton systems solved; and how many may be */
};

/* Makes one proximal step with weight sigma, by whole Newton steps alone or with a line search (which gets there from
 * further away, slowly). false: stopped, or Newton's method got nowhere: beta and w are then as they were. */
bool hg_finish_step(struct hg_finish *finish, double sigma, bool search);

/* Finds what beta is worth at f = K beta, of which beta'f = square; uses layered, f, sums and floor alone. */
void hg_finish_worth(const struct hg_finish *finish, double square, struct hg_worth *worth);

/* Brings beta to its box and sum; false: stopped. */
bool hg_finish_judge(struct hg_finish *finish, struct hg_worth *worth);

#endif
