/*
 * Block SMO: the default solver. A working set W of q points is solved to (near) optimality by second-order SMO on
 * K_WW, then the rows of the points that moved update the gradient of all active points. Read qp.h and
 * lib/rows/rows.h before; doc/solver.md has the formulas, and run.h which file does what.
 *
 * Buys: rows are asked for many at a time, which GEMM and panels make faster than one by one, and only for points that
 * moved: one that was looked at and is no support vector costs q entries of K_WW and never a row.
 */
#ifndef HG_BLOCK_H
#define HG_BLOCK_H

#include "lib/rows/rows.h"
#include "solver/smo/cache.h"
#include "solver/qp.h"
#include "solver/turns.h"

struct hg_run; /* run.h */
struct hg_smo_result;

/* A problem of so many points, or fewer, has all of them in its working set at first, unless the caller names another
 * size: its steps then need no rows. */
enum { HG_FEW_POINTS = 512 };

/* What a run goes by; all 0 but eps, threads and cpu_level is a plain run that keeps no rows, does not shrink, and
 * solves no systems, which is how tests turn these off one by one. Arrays and arena are the caller's. */
struct hg_smo_options {
    double eps;             /* the violation that is small enough */
    size_t working_set;     /* points of W, 4 a layer at least; 0: by n */
    double cut;             /* share of the violation below which a point does not come into the working set */
    uint64_t max_iter;      /* 0: none */
    bool shrinking;         /* points at rest may be left out */
    size_t cache_bytes;     /* for rows; 0: none are kept */
    struct hg_arena *arena; /* for the rows, kept by the caller between problems; or NULL */
    size_t newton_bytes;    /* for rows and the Newton finish's block together; 0: no Newton finish */
    int threads, cpu_level;
    bool profile;        /* the report's stages are wanted */
    bool symmetric;      /* the kernel is known to be */
    bool warm;           /* the start may be a solution */
    const double *g;     /* [n] K beta of the start, by these rows; NULL: it is to be made */
    bool close;          /* the start nearly solves the problem: few points violate, and W draws others in */
    bool f64_follows;    /* where rows are too coarse, the caller goes on by rows in f64 */
    size_t measured;     /* points whose error is measured at the end, at most 512; 0: 512 */
    double most_off;     /* what one value may put into any g, as the caller decides by it; 0: whatever */
    struct hg_halt halt; /* stop may be NULL */
    int (*progress)(void *arg, const hinge_progress *p); /* or NULL; problem, n_problems, seconds are not filled */
    void *progress_arg;
    hinge_progress *live; /* or NULL; newton and newton_steps are kept there while a round goes on, for halt.ask */
    bool (*leaves)(void *arg, uint64_t iterations); /* or NULL; asked each round: true ends the run as max_iter does */
    void *leaves_arg;
    double look_at; /* work after which the gradient is made anew, and look asked; 0: never */
    double (*look)(void *arg, const struct hg_way *way); /* returns the work to the next look; 0 ends the run */
    void *look_arg;
    /* or NULL; called where a run has converged, to solve other problems on its points by hg_smo_again. g: K beta */
    hinge_status (*then)(void *arg, struct hg_run *run, const double *g, const struct hg_smo_result *result,
                         hinge_error *err);
    void *then_arg;
};

/* What a run has come to; qp's beta is the solution. */
struct hg_smo_result {
    hinge_report report;    /* outcome, work and seconds, violation, objective and error of this one problem */
    bool coarse;            /* the rows, or so it seems, keep the run from its goal: f64 rows are to be tried */
    double bias[2];         /* by layer: the mean of -F over free entries */
    double objective_error; /* what the gradient's error takes from the objective at most, by a sample; NaN: unknown */
    uint64_t columns_computed; /* kernel values of rows */
    size_t working_set;        /* points of W at the end */
    double work;               /* in reads of an f32 value from memory (0.3 ns), as the Newton finish counts */
};

/* Solves qp from its beta, which must be feasible. rows: the source; exact: the same kernel in f64, by which the
 * error of rows is measured and the gradient corrected (may be rows itself). */
hinge_status hg_block_smo(struct hg_qp *qp, struct hg_rows *rows, struct hg_rows *exact,
                          const struct hg_smo_options *options, struct hg_smo_result *result, hinge_error *err);

/* Returns how many steps a problem of n points that has taken so many may take yet; 1 at least. */
uint64_t hg_smo_steps_left(size_t n, uint64_t taken);

/* Solves another problem on the points of a run that has converged: qp has boxes of its own, and else what the run's
 * has, and is solved to eps from its beta, which must be feasible, in max_iter steps at most (0: as many as the run's).
 * The run's rows, working set and gradient serve it. g [n]: K beta of the solution, in the end. */
hinge_status hg_smo_again(struct hg_run *run, struct hg_qp *qp, double eps, uint64_t max_iter, double *g,
                          struct hg_smo_result *result, hinge_error *err);

#endif
