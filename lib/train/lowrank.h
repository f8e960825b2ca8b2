/*
 * Makes the matrix that the interior point takes in place of kernel rows: Z with K = Z Z' (nearly), by rows. For the
 * linear kernel Z is the data themselves, gathered block by block; for others it is a pivoted partial Cholesky factor
 * of K. Read solver/ipm/interior.h before.
 *
 * Where K has a factor of few columns, a training at a large C takes down to a fifth of SMO's time, and one at which
 * SMO stalls is solved (doc/tried.md). Where the caller asks for a solver (--solver smo), that one works alone.
 */
#ifndef HG_LOWRANK_H
#define HG_LOWRANK_H

#include "lib/data/problem.h"
#include "solver/ipm/interior.h"

/* Is the factor that the interior point reads by rows (super.rows). It borrows points and subset; hg_lowrank_free frees
 * z, and the linear kernel has none. */
struct hg_lowrank {
    struct hg_factor super;
    const struct hg_points *points; /* linear: the data; others: what the kernel is of */
    const uint32_t *subset;         /* [super.n] points of this problem among them */
    double *z;                      /* others: [super.n * super.d] */
    double trace_error;             /* trace(K - ZZ') / trace(K); 0 for the linear kernel as it is */
    uint64_t values;                /* kernel values computed */
    size_t most;                    /* columns it may have */
    bool finer;                     /* one of more columns can be had, which the caller says */
    size_t bytes;                   /* in use */
};

/* The trace error up to which a factor is K but for rounding: what ZZ' cannot separate K cannot. */
#define HG_NOTHING_LEFT 1e-12

/* Makes the factor of the problem on n points `subset`. rank: columns at most; 0: all of the linear kernel (the data
 * themselves where they have no more features than rows), HG_RANK_DEFAULT at most of others. Ends early when halted.
 * Borrows subset. */
hinge_status hg_lowrank_init(struct hg_lowrank *lowrank, const struct hg_problem *problem, const uint32_t *subset,
                             size_t n, size_t rank, int threads, const struct hg_halt *halt, hinge_error *err);
void hg_lowrank_free(struct hg_lowrank *lowrank);

/* Runs the interior point on the factor of qp's problem; where that is not all of the kernel, the kernel itself judges
 * what comes out, but for a run that is halted before it has. g: [n] K beta, where it was needed for that, or
 * `whole`. */
hinge_status hg_lowrank_solve(const struct hg_lowrank *lowrank, const struct hg_problem *problem, struct hg_qp *qp,
                              const struct hg_interior_options *options, double *g, bool whole,
                              struct hg_interior_result *result, hinge_error *err);

enum { HG_RANK_DEFAULT = 1000 };

/* Returns the columns that a factor of n rows may have, where nobody said how many, so that it and the interior point
 * on it take a quarter of the memory at most. */
size_t hg_lowrank_most(size_t n);

/* Returns the columns that the kernel's features are, for any data: of linear kernels, and of polynomials without
 * coefficients below 0. 0: more than HG_RANK_EXACT, or without end. */
enum { HG_RANK_EXACT = 2000 };
size_t hg_lowrank_columns(const struct hg_problem *problem);

/* Returns the columns with which the interior point may go on for SMO, which then has so many steps: those that take as
 * long. The kernel's features where n rows are twice as many; 0: too many. */
size_t hg_lowrank_inside(const struct hg_problem *problem, size_t n);
uint64_t hg_lowrank_steps(size_t n, size_t columns);

/* Finds a factor that can be solved in the time that SMO has taken for so many steps, and is so near to the kernel that
 * the gradient of the coefficients is right to a part of eps: smooth kernels have one, and few points, and at a large C
 * SMO takes long on them. Some points of many tell at once where there is none. false: none, or no memory. */
bool hg_lowrank_find(struct hg_lowrank *lowrank, const struct hg_problem *problem, const uint32_t *subset,
                     const struct hg_qp *qp, double eps, uint64_t steps, int threads, const struct hg_halt *halt);
/* Steps a row after which it is worth looking; then each time that they are twice as many. */
enum { HG_RANK_LOOK = 50 };

/* Says whether the interior point solves these problems where the caller leaves it open, by counted work. */
bool hg_lowrank_pays(const struct hg_problem *problem);

#endif
