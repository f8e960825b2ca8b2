/*
 * Linear classifiers f(x) = <x, w> + b that walk over the examples, all at once or batch by batch: what perceptron.c
 * and sgd.c share. They take the matrix itself, n x d; labels are +1, -1. Results do not depend on the number of
 * threads. Read include/hinge/theory.h ("Linear classifiers round by round") and doc/online.md before.
 */
#ifndef HG_ONLINE_H
#define HG_ONLINE_H

#include "kernels/points.h"
#include "lib/base/teller.h"

#include <hinge/theory.h>

/* Holds one run: hg_online_init makes it, all arrays in one block whose first is w, and hg_online_end frees it. The
 * method changes w and b, by hg_online_step or by itself; the rest is work space. */
struct hg_online {
    hinge_matrix x;
    struct hg_points points; /* the rows of x */
    bool direct;             /* rows are in f64 and taken as they stand */
    const double *y;         /* [n] +1, -1 */
    int threads;
    size_t stretch;     /* rows that a thread takes in one go, by d alone */
    double *w, b;       /* [d] where the method stands */
    bool bias;          /* b takes part */
    hinge_loss smooth;  /* the logistic or exponential loss in the place of max(0, offset - y f); 0: none */
    const double *mean; /* [d] taken off the rows of batches, or NULL; the caller's */
    struct hg_teller teller;
    size_t rounds, unseen; /* carried out, and values looked at since the clock was */
    uint64_t steps;
    bool stopped; /* it wants an end */
    /* work space */
    size_t batch;         /* rows of a batch, at most */
    uint32_t *order;      /* [n] the examples as they are visited */
    double *rows, *f, *c; /* [batch * d], [batch], [batch] of a batch */
    double *part;         /* [stretches * (d + 3)] sums of each stretch, see sweep */
    double *stretch_rows; /* [threads * stretch * d] rows in f64, unless direct */
    double *stretch_f;    /* [threads * 2 * stretch] */
};

/* Points [first, first + count) in f64, rows that are *ld from each other: as they stand, or in room [count * d]. */
const double *hg_take_rows(const struct hg_points *points, size_t first, size_t count, double *room, size_t *ld);

/* Sums over all examples. */
struct hg_online_sweep {
    double loss;   /* max(0, offset - y f), or the smooth one */
    size_t errors; /* y f <= 0 */
};

/* Returns the threads of a team for rounds over all rows, some ten multiply-adds a value; what is not valid is refused
 * by the call itself. */
int hg_online_team(const hinge_matrix *x, int threads);
/* Checks x and its threads. */
hinge_status hg_examples_check(const hinge_matrix *x, int threads, hinge_error *err);
/* Checks what both methods take and give back. */
hinge_status hg_online_check(const hinge_matrix *x, const double *y, int threads, int bias, const double *w,
                             const double *b, hinge_error *err);
/* Begins a run: x, y are borrowed, w is 0. batch 0: no batches will be visited. */
hinge_status hg_online_init(struct hg_online *o, const hinge_matrix *x, const double *y, size_t batch, bool bias,
                            int threads, hinge_progress_fn progress, void *progress_arg, hinge_error *err);
/* Gives back w and b (or NULL) of a run that went well; the run is gone. */
hinge_status hg_online_end(struct hg_online *o, hinge_status status, double *w, double *b, hinge_error *err);

/* Measures f = <x, w> + b. gradient [d + 1] or NULL: sum of y (x, 1) over y f <= 0 (strict: y f < 0), and whether any
 * example is in it as the result. */
bool hg_online_sweep(struct hg_online *o, const double *w, double b, double offset, bool strict, double *gradient,
                     struct hg_online_sweep *sweep);

/* Tells the callback after each round, as in long rounds about ten times a second. True: it wants an end. loss: of the
 * round, or NaN. */
bool hg_online_tell(struct hg_online *o, bool round_over, double loss);

/* Says what is done with a batch: rows x - mean, *ld from each other, and c: y of those with y f < offset, otherwise
 * 0; y times the slope of a smooth loss. */
typedef void hg_online_batch(void *arg, const double *rows, size_t ld, size_t count, bool any);
/* Walks over all batches, in an order of the examples that is drawn anew; strict false: y f <= offset. */
void hg_online_pass(struct hg_online *o, uint64_t *state, double offset, bool strict, hg_online_batch *batch,
                    void *arg);

/* Steps w = shrink w + step rows' c, b += bias_step sum c (where it takes part). */
void hg_online_step(struct hg_online *o, const double *rows, size_t ld, size_t count, double shrink, double step,
                    double bias_step);

#endif
