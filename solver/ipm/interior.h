/*
 * Interior point for SVMs whose kernel has low rank, K = Z Z' with Z n x d: the linear kernel, explicit features, or a
 * factor of a kernel matrix. Read qp.h before; doc/interior-point.md has the mathematics.
 *
 * An iteration takes n d^2 multiplications whatever C and however the data are scaled, where SMO takes more steps the
 * larger C is. At a large C a kernel of which Z is a factor takes down to a fifth of SMO's time, and polynomials of few
 * monomials are solved where SMO stalls (doc/interior-point.md, doc/tried.md). params.solver = HINGE_SOLVER_SMO turns
 * it off.
 */
#ifndef HG_INTERIOR_H
#define HG_INTERIOR_H

#include "solver/qp.h"
#include "solver/ipm/lanes.h"
#include "solver/ipm/sweep.h"

struct hg_begun_inside;

/* What whoever knows more than the factor says of a small margin: nothing, that there is none, or that the factor is
 * too coarse to tell. */
enum hg_denial { HG_DENIES_NOTHING, HG_DENIES_MARGIN, HG_DENIES_FACTOR };

struct hg_interior_options {
    double eps;         /* the violation wanted: the run goes on for it while it can, see result.outcome */
    double gap;         /* the relative duality gap that counts as converged */
    const double *sums; /* [qp->layers] what beta sums to, unless qp->no_sum */
    uint64_t max_iter;  /* 0: as many as there is progress */
    int threads;
    struct hg_halt halt;
    int (*progress)(void *arg, const hinge_progress *p); /* or NULL; problem, n_problems, seconds are not filled */
    void *progress_arg;
    /* Hard margin: asked now and then, by beta, once no margin is above `bound`; NULL: nobody is asked */
    enum hg_denial (*ask)(void *arg, double bound);
    void *ask_arg;
    const struct hg_begun_inside *begun; /* NULL, or where the run goes on: from this lane of it */
    size_t lane;
};

struct hg_interior_result {
    hinge_report report; /* outcome, work and seconds; objective, gap, violation as in struct hg_worth. rounds:
                             * Newton systems of the interior point; iterations: and of the finish.
                             * CONVERGED: the gap of what is returned, from beta alone, is at most options.gap, and its
                             * violation at most options.eps.
                             * NO_MARGIN: hard margin, and rows prove that none separates the classes; beta is the
                             * proof */
    double bias[2];      /* of each layer */
    double margin_bound; /* hard margin: no hyperplane has a larger geometric margin; otherwise infinite */
    double floor;        /* what gaps are relative to where both objectives are smaller */
};

/* Solves the problem over the rows of factor. qp->beta needs no start; it comes back feasible, with zeros
 * and bounds exact. */
hinge_status hg_interior_point(struct hg_qp *qp, const struct hg_factor *factor,
                               const struct hg_interior_options *options, struct hg_interior_result *result,
                               hinge_error *err);

/* Problems of the same rows that were begun side by side, one a lane (lanes.h), and the sweeps' view of the rows, which
 * their own runs share. */
struct hg_begun_inside {
    struct hg_sweep_space space;
    struct hg_lanes lanes;
    size_t bytes;   /* of the lanes */
    double seconds; /* of each lane */
};

/* Brings `count` problems, as many as the code for `level` has lanes at most, to where their own runs go on to the end.
 * Their boxes are finite, and options but for sums and the lane are those of the runs. *fits: false where problems are
 * too large for lanes, or not alike: nothing was begun. hg_begun_inside_free frees it, on failure too. */
hinge_status hg_interior_begin(struct hg_begun_inside *begun, struct hg_qp *const *qps, const double *const *sums,
                               size_t count, const struct hg_factor *factor, const struct hg_interior_options *options,
                               int level, bool *fits, hinge_error *err);
void hg_begun_inside_free(struct hg_begun_inside *begun);

/* Tells what qp->beta is worth where K beta = g, into the result, whose outcome is CONVERGED no more if it is not
 * worth so much. For a factor that is not all of the kernel. Without a sum to hold, beta that is worse than none
 * becomes 0. */
void hg_interior_judge(struct hg_qp *qp, double *g, const struct hg_interior_options *options,
                       struct hg_interior_result *result);

#endif
