/*
 * Interior points of several problems in lockstep, one in each lane of a vector register: problems of the same rows and
 * few columns, whose boxes, targets and sums are their own (hinge_train_many). Read interior.h before, and the opening
 * of interior.c, whose iteration this is.
 *
 * A problem of some hundred rows and twenty columns is too small for BLAS and for loops over its rows: packing, calls
 * and divisions take the time. Side by side, each operation is one of a register of problems. No lane's numbers depend
 * on another's, nor on how many there are. What lanes come to is where each problem's own run begins
 * (hg_interior_options), which goes on as if it had come there itself, and ends as ever.
 */
#ifndef HG_LANES_H
#define HG_LANES_H

#include "solver/ipm/sweep.h"

enum { HG_LANES = 8, HG_LANES_COLS = 64, HG_LANES_VARIABLES = 1 << 14 }; /* lanes, columns and variables at most */

/* Holds problems on their way. Arrays of [.. * lanes] have the lanes' numbers side by side. Variable v of row i, of the
 * side or layer v, is at [v * n + i]; one that a lane has not has the sign 0. */
struct hg_lanes {
    size_t lanes, n, d, slots; /* rows; columns, a multiple of 8, of which the last may be 0; variables of a row */
    int intercepts;            /* 0: none; 1: of all; 2: variable v has the v-th */
    const double *x;           /* [n * d] rows as swept, without intercepts */
    double *sign, *p, *cap;    /* [slots * n * lanes] */
    double *a, *l, *u, *m;     /* [slots * n * lanes] the state, and */
    double *w;                 /* [cols * lanes] */
    double *q;                 /* [cols * lanes] */
    double *floor, *scale;     /* [lanes] as in struct hg_interior */
    double *goal;              /* [lanes] relative gap at which a lane is at its end; 0: it is from the beginning */
    double *iterations;        /* [lanes] that it took */
    double *good;              /* [lanes] 0: the state is of no use; 1: it is; 2: it is at its goal */
    double *room;              /* [hg_lanes_room] */
};

/* Returns the values of room that a run takes. */
size_t hg_lanes_room(const struct hg_lanes *lanes);

/* Code for a level of instructions. */
struct hg_lanes_code {
    size_t lanes; /* at a time, HG_LANES at most */
    /* Iterates until each lane is at its goal, gains no more, or halted. */
    void (*run)(struct hg_lanes *lanes, const struct hg_halt *halt);
};

/* Returns the code for a level, as hg_cpu_level returns it. */
const struct hg_lanes_code *hg_lanes_code(int level);

#endif
