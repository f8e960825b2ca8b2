/*
 * Steps on all free entries of one block of the kernel at once, by linear systems: for a working set that steps of two
 * entries do not get done with (block.c), and for the Newton finish (newton.c), whose block is that of all free points.
 * Read inner.h before.
 *
 * It is an active-set method. With F the block's free entries (inside their boxes, and violators) a step d solves
 *
 *     (K_FF + ridge) d + E nu = -(g + off +- kink)_F,   E'd = 0          E: a column of ones a layer
 *
 * Entries that it takes out of their boxes are put on the bound, all at once, and the rest is solved for again until
 * none leaves. That is a face: a choice of F, and the steps until its moves are taken. Mostly the objective is lower
 * then; where it is not, the first step is taken as far as it is feasible, and where that is nowhere, the ridge grows,
 * and in the end two-variable steps go on for a while. The objective only falls.
 *
 * With systems in working sets regression at a large C takes down to a fifth of its time (doc/tried.md); newton.h tells
 * what the finish gains. Rows in f32, or newton_bytes = 0 among the options (--newton 0), leave systems out of working
 * sets.
 */
#ifndef HG_FACE_H
#define HG_FACE_H

#include "solver/smo/inner.h"

#define HG_OPERATION 0.1 /* of a factorisation in f64, in reads of an f32 value from memory */

/* A lower triangle L by rows, LL' = a matrix that grows. */
struct hg_triangle {
    double *l;       /* [room * ld] the lower triangle counts */
    size_t ld, rows; /* rows: so many are factored */
};

struct hg_face {
    struct hg_inner *in; /* K_AA in f64; beta and g on A, in->qp.n points */
    int threads;
    const struct hg_halt *halt; /* its stop is not NULL; or NULL: nobody stops it */
    uint64_t max_steps;         /* systems and steps together; 0: no limit */
    double most_work;           /* that a block may take, in reads of an f32 value from memory (0.3 ns) */
    void (*progress)(void *arg, double violation); /* after every face, or NULL; violation: of the block */
    void *progress_arg;
    uint64_t *told;          /* counts systems as they are solved; or NULL */
    uint64_t systems, steps; /* linear systems solved, two-variable steps in between, */
    double work;             /* and all of it as most_work; the caller sets them back */

    size_t cap, max_held; /* points and rows of L there is room for; entries that may be held by constraints */
    double *low, *high;   /* [layers * q] of free entries: the box, with the kink as a bound, */
    double *off;          /* [layers * q] and the offset in it; an entry is layer * q + slot */
    uint8_t *is_free;     /* [layers * q] */
    double *move;         /* [layers * q] of the face so far */
    double *g_trial;      /* [q] g after the moves onto bounds */
    double *sum, *k_sum;  /* [q] moves of all layers; K_AA times it */
    double bias[2];       /* of each layer, by beta and g of the block: an entry's slope is F + bias */

    struct hg_triangle l, s; /* of K_FF + ridge, F when it was factored and what was set free since; of V'V */
    uint32_t *entry;         /* [cap] of L's rows */
    int32_t *row_of;         /* [layers * q] or -1 */
    double ridge, least;     /* and its least value, with which K_FF is positive definite; kept from block to block */
    double largest;          /* of K_AA's diagonal */
    double *v;               /* [(max_held + 2) * l.ld] V', row by row */
    int64_t *held;           /* [max_held + 2] entry, or -1 - layer for a sum */
    double *d, *first, *w;   /* [cap] a step, the face's first; [max_held + 2] */
};

/* Returns the bytes of a face of q points; what is not quadratic is rounded up. */
size_t hg_face_bytes(size_t q, int layers);

/* Makes room for blocks of up to cap points. face: all 0 but for what the caller sets, in, threads and so on. */
hinge_status hg_face_init(struct hg_face *face, size_t cap);
void hg_face_free(struct hg_face *face);

static inline bool hg_face_halted(const struct hg_face *f)
{
    return f->halt != NULL && hg_poll_halt(f->halt);
}

/* Returns whether steps end here: the caller says so, or the steps allowed are made, or the work is done. */
static inline bool hg_face_is_over(const struct hg_face *f)
{
    return hg_face_halted(f) || f->work > f->most_work || (f->max_steps > 0 && f->systems + f->steps >= f->max_steps);
}

/* Solves the block that is in face->in until its violation, which it returns, is at most target, or steps no longer
 * gain. *decrease += what the objective falls by. */
double hg_face_solve(struct hg_face *face, double target, double *decrease);

#endif
