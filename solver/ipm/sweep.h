/*
 * Passes over a matrix Z of n rows and d columns (K = Z Z') that is not held whole unless it is small: blocks of rows
 * are made in f64, used, and forgotten. Memory is O(d^2) however many rows there are.
 *
 * Rows are swept as z_i' = (x_i - shift, 1): with an intercept the last column is 1, and shift has the means of columns
 * that are far from 0 (more than three standard deviations: there x - shift is hardly rounded), so that <z_i, w> =
 * <x_i, u> + b for w = (u, b + <shift, u>); without one the rows are as they come. With two intercepts all rows are
 * swept twice: first as (x_i - shift, 1, 0), then, as rows n and on, as (x_i - shift, 0, 1).
 *
 * The rows fall into a number of slots that depends on n and d alone; a slot is swept by one thread from its first
 * row to its last, and the slots' sums are added in order: the results are the same bits for any number of threads.
 */
#ifndef HG_SWEEP_H
#define HG_SWEEP_H

#include "lib/base/base.h"

/* A source of rows, the first member of every one. Called by several threads at once. */
struct hg_factor {
    size_t n, d;
    /* Reads out[k * ld + c] = Z[first + k, c], k < count */
    void (*rows)(const struct hg_factor *factor, size_t first, size_t count, double *out, size_t ld);
};

enum { HG_SWEEP_SUMS = 8, HG_SWEEP_ACC = 3, HG_SWEEP_BLOCK = 512 };

/* Says what a sweep does with a block of rows. */
struct hg_block {
    size_t first, count;
    const double *rows;      /* [count * ld] where v, acc, normal or raw make them */
    const double *t;         /* [count] <z_i, v>; NULL where v is */
    double *y[HG_SWEEP_ACC]; /* [count] to be filled for each of acc: acc = sum_i y_i z_i */
    double *weight;          /* [count] to be filled, >= 0, where `normal` is wanted; otherwise NULL */
    double *sum;             /* [HG_SWEEP_SUMS] of the slot, to be added to, 0 at first */
    double *least;           /* of the slot, to be lowered, +infinity at first */
};

/* Says what a sweep is to make of the rows, and what came of it. Products with v come first; rows() then fills in y and
 * weight of a block by them; acc and normal are made of these. */
struct hg_sweep {
    const double *v;           /* [cols] or NULL */
    int n_acc;                 /* how many of acc are wanted, 0 .. HG_SWEEP_ACC */
    double *acc[HG_SWEEP_ACC]; /* [cols] sum_i y_i z_i */
    bool raw;                  /* the rows themselves are wanted */
    bool as_is;                /* rows without the shift */
    bool every;                /* rows without a box take part too */
    bool exact;                /* acc[0] in twice the working precision, rounded at the end */
    bool normal;               /* sum_i weight_i z_i z_i' into the space's normal, lower triangle */
    void (*rows)(void *arg, const struct hg_block *block);
    void *arg;
    double sum[HG_SWEEP_SUMS], least; /* over all rows */
};

/* Z as the sweeps of a run see it, and their room; made once, changed by nobody but the sweeps. */
struct hg_sweep_space {
    const struct hg_factor *factor;
    int intercepts;          /* 0, 1 or 2 */
    size_t n, cols, ld;      /* rows and columns as swept; of a row in a block and in normal */
    const double *lo, *hi;   /* [n] the caller's boxes; a block of rows whose boxes are all empty is left out */
    double *shift;           /* [d]; 0 without an intercept */
    bool shifts;             /* one of them is not 0 */
    const double *held;      /* [n * ld] rows as swept, where they are few; otherwise NULL */
    double norm, largest;    /* mean and largest squared norm of x_i - shift, i < n */
    double *normal;          /* [cols * ld] lower triangle, symmetric */
    size_t slots, slot_rows; /* how many, and rows of each but the last */
    int threads;
    double *work;                  /* [slots * work_slot + threads * work_thread] sums of the slots, room of threads, */
    size_t work_slot, work_thread; /* in doubles each */
    struct hg_halt halt;           /* polled at every block, in wide ones more often: ends a sweep early */
    double gflop;                  /* done so far */
    size_t bytes;                  /* allocated */
};

/* Borrows factor and what halt points to. Takes column means and squares where there is an intercept, and the norms:
 * two sweeps. */
hinge_status hg_sweep_init(struct hg_sweep_space *space, const struct hg_factor *factor, int intercepts, int threads,
                           const struct hg_halt *halt, hinge_error *err);
void hg_sweep_free(struct hg_sweep_space *space);

/* Returns the regulariser's weight of a column, R's diagonal: an intercept has none. */
static inline double hg_sweep_ridge(const struct hg_sweep_space *space, size_t c)
{
    return c < space->factor->d ? 1 : 0;
}

/* Makes a sweep; false: it ended early, the results are incomplete */
bool hg_sweep_run(struct hg_sweep_space *space, struct hg_sweep *sweep);

#endif
