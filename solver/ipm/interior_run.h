/*
 * What a run of the interior point holds, and its end. Read sweep.h and the opening of interior.c before, which says
 * what the letters are.
 */
#ifndef HG_INTERIOR_RUN_H
#define HG_INTERIOR_RUN_H

#include "solver/ipm/finish.h"
#include "solver/ipm/interior.h"

#include <math.h>

/* The variables of one sign, one a row: a row has a variable on the side of its box (class, or sign of a coefficient),
 * and on both sides where its box spans 0. All four stay positive at every iteration. */
struct hg_side {
    double *a, *l, *u, *m; /* [n] coefficient; beyond the margin; room to the bound; slack */
    double *cap;           /* [n] C; 0: no such variable; infinite: u and m have no part */
};

struct hg_interior {
    struct hg_qp *qp;      /* its layers one after the other, as the space sweeps them: one of twice the rows */
    struct hg_qp *layered; /* the problem as the caller has it, on the same arrays */
    const struct hg_interior_options *opt;
    struct hg_interior_result *res;
    struct hg_sweep_space space;
    struct hg_cholesky cholesky;
    size_t n, cols;
    int sides; /* variables a row has at most: 2 with a kink */
    struct hg_side side[2];
    double *f, *t_affine, *t;                           /* [n] <z, w>; <z, dw> of the predictor and of the step */
    double *w, *dw, *q, *r_w, *rhs, *acc[HG_SWEEP_ACC]; /* [cols] */
    double scale;                                       /* of p and f: what y is measured by */
    double floor;                                       /* objectives below are 0 */
    double caps;                                        /* the sum of all boxes */
    double mu, target, advance; /* mean complementary product, what the step aims at, and its length */
    double gap, best_gap;       /* relative, of (w, beta) as they stand; the least so far */
    uint64_t best_iteration;
    double asked;          /* the margin's bound at the last options.ask */
    bool close;            /* the start is as near as solve asks for first */
    double *best;          /* [n] the best coefficients finished so far, */
    struct hg_worth worth; /* and what they are worth */
    int no_stop;           /* 0, for sweeps that are to be finished after a stop */
};

/* Returns s: with two sides the first is upward, the second downward; with one it is the side of the row's box. */
static inline double hg_sign_of(const struct hg_interior *r, int k, size_t i)
{
    return r->sides == 2 ? (k == 0 ? 1 : -1) : r->qp->hi[0][i] > 0 ? 1 : -1;
}

/* A variable as the sweeps take it up, with what follows from its state and f at once. */
struct hg_variable {
    double s, p, a, l, u, m;
    bool bounded;      /* C is finite */
    double y;          /* s f + p */
    double r_u;        /* C - a - u */
    double by_a, by_u; /* 1/a, 1/u: divisions are what sweeps of few columns take longest for */
    double inverse;    /* 1 / (l/a + m/u) */
};

/* Returns whether row i has a variable on side k, and if so takes it up: y = s f + p, p = kink + s off, and 1 / theta,
 * by the state and by f = <z, w> of the last sweep that measured. */
static inline bool hg_variable(const struct hg_interior *r, int k, size_t i, struct hg_variable *v)
{
    const struct hg_side *side = &r->side[k];
    double cap = side->cap[i];
    if (cap == 0)
        return false;
    v->s = hg_sign_of(r, k, i);
    v->p = r->qp->kink + v->s * r->qp->off[0][i];
    v->a = side->a[i], v->l = side->l[i], v->u = side->u[i], v->m = side->m[i];
    v->bounded = !isinf(cap);
    v->y = v->s * r->f[i] + v->p;
    v->r_u = v->bounded ? cap - v->a - v->u : 0;
    v->by_a = 1 / v->a, v->by_u = 1 / v->u;
    v->inverse = 1 / (v->l * v->by_a + v->m * v->by_u);
    return true;
}

/* Returns how many Newton systems are left, those of the finish included. */
static inline uint64_t hg_steps_left(const struct hg_interior *r)
{
    uint64_t done = r->res->report.iterations;
    return r->opt->max_iter == 0 ? UINT64_MAX : r->opt->max_iter - HG_MIN(done, r->opt->max_iter);
}

/* Says whether what is best so far is as good as was asked for. */
bool hg_interior_is_good(const struct hg_interior *r);

/* Sets a run up for a problem: `flat` becomes the problem as the space sweeps it. Makes room for its state, and sets
 * that to the start; r->space is there by then. */
void hg_interior_set(struct hg_interior *r, struct hg_qp *flat, struct hg_qp *qp,
                     const struct hg_interior_options *options, struct hg_interior_result *result);
hinge_status hg_interior_start(struct hg_interior *r, hinge_error *err);

/* Takes the state from a lane, where it is of use. */
void hg_interior_take_lane(struct hg_interior *r, const struct hg_begun_inside *begun, size_t lane);

/* Makes proximal steps from the state as it is, and keeps the best coefficients that come of them. Of the steps'
 * weight, sigma: the larger, the more a step gains, the less of its digits are lost to f's rounding, and the nearer its
 * start must be. `stuck`: the interior point gets no nearer. */
void hg_interior_finish(struct hg_interior *r, bool stuck);

/* Takes beta as the variables make it, sum of s a; rounded: those on their way to a bound are put there. */
void hg_interior_take(const struct hg_interior *r, bool rounded);

/* A run that ended before anything was finished: what can be had from the state as it stands. */
void hg_interior_salvage(struct hg_interior *r);

#endif
