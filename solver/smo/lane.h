/*
 * A problem of many in work (a lane): a run of block SMO whose source is the problem's points among those of the pool.
 * Read many.h and run.h before.
 */
#ifndef HG_LANE_H
#define HG_LANE_H

#include "solver/smo/many.h"
#include "solver/smo/run.h"

enum { HG_LANES = 32 }; /* problems in work at a time */

/* A problem's points as a source: for K_WW, and apart for all of its rows; another one is of the values that judge g.
 * Its fetches are by the thread that runs the lane, on a source of one thread (many->own, many->exact), since a source
 * makes one fetch at a time. */
struct hg_view {
    struct hg_rows super;
    struct hg_many *many;
    int thread;             /* that runs the lane now */
    struct hg_rows **own;   /* [threads] where its values come from */
    const uint32_t *point;  /* the problem's */
    uint32_t *row, *col;    /* [n] */
    void **out;             /* [n] */
    uint64_t list, columns; /* hg_fetch's as it was asked for last; as the source knows it, of this problem alone */
};

/* A problem in work, or one that waits for its next solution; the problem owns it between solutions. */
struct hg_lane {
    struct hg_run run; /* stands first: the run of a lane tells which lane it is */
    struct hg_many_problem *problem;
    struct hg_smo_options options;
    struct hg_smo_result result;
    struct hg_view view, exact; /* which share their lists */
    uint32_t *point;            /* [n] of the source (apart: of the problem), whose rows are to be added, */
    double *coef;               /* [n] times these */
    void **row;                 /* [n] */
    size_t n_moves;
    bool solved; /* a block, whose moves are not in g yet */
    bool done;
    hinge_status status;
};

/* Begins a problem on a lane of its own, or on the one that it had for other boxes. g is that of another beta: the rows
 * of what has moved since are added in the first round, as those of any round. */
hinge_status hg_lane_begin(struct hg_lane **begun, struct hg_many *many, struct hg_many_problem *problem,
                           const struct hg_smo_options *options, hinge_error *err);
/* Ends a problem: its gradient by point, outcome and bias go to the caller. Its working set is kept for the next
 * solution on the same points as long as all lanes together take no more than a quarter of the room. */
void hg_lane_end(struct hg_lane *lane, struct hg_many *many);
void hg_lane_free(struct hg_lane *lane);

/* Returns the memory of a lane, its lists of moves and views at 48 bytes a point among it. */
size_t hg_lane_bytes(const struct hg_lane *lane);

/* Makes rounds for as long as no row is lacking, for so long that the caller is asked now and then. A round begins with
 * what the last one left: its moves' rows, then the violation by the new g, which may be the end; then W, K_WW and the
 * solve. The objective of a solve is known only once its rows are in g (solved). W that is all points brings g up to
 * date itself, and leaves no moves to add. */
void hg_lane_run(struct hg_lane *lane, struct hg_many *many);

#endif
