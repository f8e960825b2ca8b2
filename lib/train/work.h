/*
 * One problem's solve on its way: what solve.c, which decides who solves it, and solvers.c, which runs them, share.
 */
#ifndef HG_WORK_H
#define HG_WORK_H

#include "lib/base/teller.h"
#include "lib/train/lowrank.h"
#include "lib/train/training.h"
#include "solver/smo/block.h"
#include "solver/turns.h"

/* Holds one problem's solve, on hg_solve_problem's stack, which owns what it holds. s is written run by run: report,
 * bias and what else came out; coefficients stay in reduced.qp until hg_keep_solution. */
struct hg_work {
    struct hg_training *t;
    struct hg_solution *s;
    hinge_error *err;
    int thread; /* of the team, whose arenas it takes */
    struct hg_reduced reduced;
    struct hg_smo_options options; /* of the run at hand */
    struct hg_teller teller;
    hinge_progress last;        /* told, or about to be */
    struct hg_gram rows, exact; /* while SMO runs: in f32, where it takes those, and in f64 */
    struct hg_lowrank factor;   /* one that takes less time than SMO's steps; z NULL: none was found */
    struct hg_peers *peers;     /* who solves it too; NULL: nobody */
    uint64_t met;               /* how often they had met when progress was told last */
    struct hg_peers *keeper;    /* who keeps coefficients; NULL: nobody, or those of the moment are another problem's */
    uint64_t look;              /* steps after which a factor is looked for */
    struct hg_turns turns;
    struct hg_solution before;           /* what a turn began with */
    const struct hg_begun_inside *begun; /* by lanes: the interior point goes on from there the first time; or NULL */
    size_t lane;
    double done; /* by SMO and the interior point, as turns count it */
};

/* solve.c: solves the problem that reduced has, whose number is work->last.problem, by so many threads into work->s. */
hinge_status hg_work_solve(struct hg_work *work, int threads);

/* ---- solvers.c --------------------------------------------------------------------------------------------------- */

/* Begins problem p by a thread of the team, whose arenas it takes, and so many threads for its loops. */
void hg_work_init(struct hg_work *work, size_t p, int thread, int threads);
/* Run SMO by the options o, and the interior point by the features or a factor of the kernel, from what reduced.qp
 * holds; *work->s has what came out. */
hinge_status hg_run_smo(struct hg_work *work, const struct hg_smo_options *o);
hinge_status hg_run_inside(struct hg_work *work);

#endif
