/*
 * Many QPs on one Gram matrix: block SMO on problems whose points are ranges of one source's. A kernel row that is made
 * for one of them is stored for all. Problems go on side by side, each by one thread, for as long as the rows of what
 * they moved are there; then the rows that any of them lacks are made at once, by all threads. What is stored changes
 * only in between, so that nothing depends on the number of threads.
 *
 * Where making a value costs less than reading a stored one (features of two values each), nothing is stored: each
 * problem makes the rows it needs, of its active points alone, and shrinks. A grid takes a third less time then, and a
 * small part of the memory (doc/tried.md).
 */
#ifndef HG_MANY_H
#define HG_MANY_H

#include "solver/smo/block.h"
#include "solver/smo/pool.h"

struct hg_range {
    uint32_t first, count; /* points of the source */
};

/* A problem: a pair of classes, a fold, or both. All but lane are the caller's. */
struct hg_many_problem {
    struct hg_qp *qp;      /* in: a feasible start; out: the solution */
    double *g;             /* [qp->n] in: K beta of another beta; out: K beta of the solution */
    const double *moved;   /* [qp->n] start - (the beta that g belongs to); NULL if g belongs to the start */
    const uint32_t *point; /* [qp->n] of the source: the ranges, one after the other */
    const struct hg_range *range, *elsewhere; /* of its points; of those that hg_many_apply is to look at */
    size_t n_ranges, n_elsewhere;
    uint64_t before; /* steps that it has taken before, of those that any problem may take */
    /* In and out: the greatest length of a beta at which some of g was made in f64, or by which sums in f64 have
     * rounded it: errors of values, times this, may be in g beside those times beta. 0: g is of nothing, or of beta. */
    double reach;
    double unseen; /* in and out, where g belongs to the start: what rows are known to have made g wrong by elsewhere */
    /* out; the report tells how far it is on the way too */
    hinge_report report;
    double bias[2];       /* of each layer, by the g that came out */
    double work;          /* of this solution, as hg_smo_result has it */
    bool coarse;          /* the rows are too coarse for it (hg_many's exact) */
    struct hg_lane *lane; /* its working set, for the next solution on these points by these rows; NULL at first */
};

/* What problems share: the rows that are stored, the diagonal, and counts. */
struct hg_many {
    struct hg_pool pool;
    struct hg_rows **own; /* [threads] the pool's source, by one thread each */
    int threads, cpu_level;
    bool apart;              /* values cost less to make than to read: each problem makes its own */
    uint64_t columns;        /* lists of columns that problems have asked for apart */
    size_t n;                /* points */
    double *diagonal, *size; /* [n] K(x, x), and by what its rounding is measured (hg_rows_diagonal) */
    uint8_t *supports;       /* [n] a support vector of some problem's solution */
    size_t kept_bytes;       /* that lanes of solved problems hold */
    size_t most_bytes;       /* that lanes in work have held at once, at most */
    double seconds;          /* that rows took to be made */
    /* [threads] the kernel in f64, by one thread each; or NULL. Set after hg_many_take. Where the rows' rounding may
     * matter, a problem has converged only once these rows prove it, as in a run of its own, and once g at the points
     * that they were not asked for seems to be off by half of eps at most */
    struct hg_rows **exact;
    double value_error; /* of the rows' values; of several errors of random sign, a share of it */
    bool corrects;      /* g that rows in f32 make too coarse is made anew by exact; otherwise the problem ends so */
    bool whole;         /* problems are of all points and begin at 0: W is as large as in a run of its own; */
    bool newton;        /* working sets may be solved by systems; both the caller's choice, false at first */
};

/* Makes room for n points, and for rows of so many bytes at most (some hundred rows at least); hg_many_free in any
 * case. */
hinge_status hg_many_init(struct hg_many *many, size_t n, int threads, int cpu_level, size_t bytes, hinge_error *err);
void hg_many_free(struct hg_many *many);
/* Makes this the source of what is stored from now on; nothing is stored of it yet, and it and own[threads] are the
 * caller's. */
hinge_status hg_many_take(struct hg_many *many, struct hg_rows *rows, struct hg_rows **own, hinge_error *err);

/* Solves problems, each to eps. halt: its ask is called by the caller's thread; g of problems that it ends may lack
 * their last moves. Where a quarter of the bytes for rows is enough, lanes stay with their problems. */
hinge_status hg_many_solve(struct hg_many *many, struct hg_many_problem *const *problem, size_t count, double eps,
                           uint64_t max_iter, const struct hg_halt *halt, hinge_error *err);

/* Frees a problem's lane, if it has one: before rows of another source are taken. */
void hg_many_forget(struct hg_many *many, struct hg_many_problem *problem);

/* Calls tell(arg, k, g), by several threads, for each problem k < count with g = K beta at its points elsewhere. A
 * problem's points ascend; those that look at the same points elsewhere stand side by side. */
hinge_status hg_many_apply(struct hg_many *many, struct hg_many_problem *const *problem, size_t count,
                           void (*tell)(void *arg, size_t k, const double *g), void *arg, hinge_error *err);

/* Adds a point to `count` ranges of those that follow each other; returns how many there are then. */
size_t hg_add_to_ranges(struct hg_range *range, size_t count, size_t point);

/* Returns how many different support vectors all problems have had since the source was taken. */
size_t hg_many_supports(const struct hg_many *many);

#endif
