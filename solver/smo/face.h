/*
 * What the Newton finish (newton.c) holds, and its inner half: steps on the free entries of one block (face.c). Read
 * inner.h and the opening of newton.c before.
 */
#ifndef HG_FACE_H
#define HG_FACE_H

#include "solver/smo/inner.h"
#include "solver/smo/newton.h"

#define HG_MOST_RIDGE 0.01 /* a share of the diagonal of K */

/* A lower triangle L by rows, LL' = a matrix that grows. */
struct hg_triangle {
    double *l;
    size_t ld, rows;
};

struct hg_newton {
    struct hg_qp *qp;
    struct hg_rows *rows;
    const struct hg_newton_options *opt;
    struct hg_newton_result *res;
    double *g, *g_next;    /* [n] K beta; room for the next one */
    double *beta[2];       /* [n] the pass's start */
    double *coef;          /* [n] */
    uint32_t *list;        /* [n] */
    double bias[2];

    uint32_t *point;       /* [n] the points of A, */
    size_t q;              /* so many; an entry is layer * q + slot */
    struct hg_inner in;    /* K_AA; beta and g on A */
    double *low, *high;    /* [layers * q] of free entries: the box, with the kink as a bound, */
    double *off;           /* [layers * q] and the offset in it */
    uint8_t *is_free;      /* [layers * q] */
    double *move;          /* [layers * q] of the face so far */
    double *g_trial;       /* [q] g after the moves onto bounds */
    double *sum, *k_sum;   /* [q] moves of all layers; K_AA times it */

    size_t cap;            /* rows that L may have */
    struct hg_triangle l, s; /* K_FF; V'V */
    uint32_t *entry;       /* [cap] of L's rows */
    int32_t *row_of;       /* [layers * q] or -1 */
    double ridge, least;   /* and its least value, with which K_FF is positive definite */
    double largest;        /* of K_AA's diagonal */
    double most_work;      /* that the finish may take, in reads of an f32 value from memory (newton.h) */
    size_t max_held;       /* entries that may be held by constraints */
    double *v;             /* [(max_held + 2) * l.ld] V', row by row */
    int64_t *held;         /* [max_held + 2] entry, or -1 - layer for a sum */
    double *d, *first, *w; /* [cap] a step, the face's first; [max_held + 2] */
};

static inline bool hg_newton_halted(const struct hg_newton *t)
{
    return hg_poll_halt(&t->opt->halt);
}

/* Returns whether the finish ends here: the caller says so, the steps allowed are made, or far more work is done than a
 * finish that succeeds is known to take. */
static inline bool hg_newton_is_over(const struct hg_newton *t)
{
    return hg_newton_halted(t) || t->res->work > t->most_work ||
           (t->opt->max_steps > 0 && t->res->systems + t->res->steps >= t->opt->max_steps);
}

/* Counts operations, and values in f64 that are read for them: what takes longer is the work. */
static inline void hg_newton_count(const struct hg_newton *t, double operations, double values)
{
    t->res->work += HG_MAX(HG_OPERATION * operations, 2 * values);
}

static inline bool hg_is_inside(const struct hg_qp *qp, double b, int l, size_t i)
{
    return b > qp->lo[l][i] && b < qp->hi[l][i] && (qp->kink == 0 || b != 0);
}

/* Row `slot` of K_AA. */
static inline const double *hg_block_row(const struct hg_newton *t, size_t slot)
{
    return (const double *)t->in.k + slot * t->in.ld;
}

/* The violation of the block, and each layer's bias. */
double hg_look_at_block(struct hg_newton *t);

/* A step on the free entries. false: the objective does not fall by it. */
bool hg_solve_face(struct hg_newton *t, double tolerance, double *decrease);

#endif
