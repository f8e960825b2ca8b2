/*
 * The q x q subproblem of a working set: second-order SMO over two-variable steps on K_WW. Read qp.h before.
 *
 * Buys: K_WW stays in a core's caches, so that a step costs 0.5 to 1.1 us at q = 1024 where one over all points reads
 * two rows of them. Steps in f32, while that is exact enough, take 0.49 us instead of 0.85 by AVX-512, 0.64 instead of
 * 0.94 by AVX2 (check_kernels --bench, doc/performance.md); those on K_WW in f64 (type) are in f64 throughout.
 */
#ifndef HG_INNER_H
#define HG_INNER_H

#include "solver/smo/loops.h"
#include "solver/qp.h"

/* The problem of a working set, whose entries are in slots; g is K beta on its points. Without a sum the last slot is
 * an entry of kernel 0 and no bounds: a pair with it is a step of one entry alone. */
struct hg_inner {
    struct hg_qp qp; /* n: slots that are used; the last one without a sum counts */
    hinge_dtype type;
    void *k; /* [cap * ld] K_WW in the rows' type */
    size_t ld;
    double *g;               /* [cap] in: K beta on W, by all of beta; out: the same, after the steps */
    double *diagonal;        /* [cap] K_kk by the block's own values */
    float *diagonal32;       /* [cap] times unit.k */
    double *up[2], *down[2]; /* [cap] each, as hg_up and hg_down have them; set by the solve itself */
    struct hg_unit unit;     /* of K_WW, in f64 alone; tau: in f32 too. f: of the copies below, while `narrow` */
    /* Copies of these in f32, relative to off[0] - middle and times unit.f; they hold while `narrow`. */
    bool narrow;
    double middle;
    float *g32, *up32[2], *down32[2];
    double *start; /* [cap] sum of the layers' beta when g was last K beta in f64 */
    void **row;    /* [cap] room for lists of rows, */
    double *coef;  /* [cap] and of what they are multiplied by */
    const struct hg_loops *loops;
};

/* Makes room for cap points of a problem; hg_inner_free in any case. */
hinge_status hg_inner_init(struct hg_inner *inner, size_t cap, const struct hg_qp *whole, hinge_dtype type,
                           const struct hg_loops *loops, hinge_error *err);
void hg_inner_free(struct hg_inner *inner);

/* Puts the entries of point i of the whole problem into a slot. */
void hg_inner_put(struct hg_inner *inner, size_t slot, const struct hg_qp *qp, size_t i);

/* Takes K_WW's entry of a slot on its diagonal, once it is there. */
void hg_inner_take_diagonal(struct hg_inner *inner, size_t slot);

/* Tells what a run of the subproblem did. */
struct hg_inner_result {
    double violation, target; /* at its end; what it was to be at most */
    double decrease;          /* of the objective, >= 0 for a positive semi-definite kernel */
    uint64_t steps;
};

/* Solves until the violation is at most max(eps, shrink * first violation), or max_steps. Where that is coarse enough
 * for it, steps are made in f32; `exact`: g is to be K beta in f64 all the same, and the violation is judged by it. */
struct hg_inner_result hg_inner_solve(struct hg_inner *inner, double eps, double shrink, bool exact,
                                      uint64_t max_steps);

#endif
