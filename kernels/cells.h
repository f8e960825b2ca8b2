/*
 * Cells: points grouped so that most pairs of groups are far apart. An RBF kernel falls off so fast that, where gamma
 * is large against the spread of the data, values between far cells are below any given bound and need not be computed.
 * The groups are the leaves of a tree of halves along the feature that varies most (a k-d tree, Bentley 1975), and two
 * of them are far where their bounding boxes are: then every pair is at least as far.
 *
 * Where most pairs are far, training takes a quarter of the processor time that it takes without cells (doc/tried.md),
 * and hundreds of thousands of rows train in a minute (doc/performance.md). Elsewhere next to nothing is far, which a
 * sample of pairs finds out. A test does without cells where it leaves hg_points.cells NULL: every value is computed
 * then.
 */
#ifndef HG_CELLS_H
#define HG_CELLS_H

#include "lib/base/base.h"

struct hg_points;

struct hg_cells {
    size_t count;
    uint32_t *cell; /* [points] of each point, numbered in the tree's order: neighbours have close numbers */
    uint8_t *far;   /* [count * count] 1: every pair's squared distance is at least the one asked for */
    double near;    /* share of all pairs of points whose cells are not far, in (0, 1] */
};

/* Makes cells of the points for a squared distance. *cells stays empty (count 0) where it would not pay: less than half
 * of all pairs would be far. Does not depend on threads. */
hinge_status hg_cells_init(struct hg_cells *cells, const struct hg_points *points, double distance2, int threads,
                           hinge_error *err);
void hg_cells_free(struct hg_cells *cells);

/* Lists the numbers 0 .. n - 1 of the points subset[0..n) (NULL: 0 .. n - 1) by cell, and by number within; NULL: no
 * memory. To be freed. */
uint32_t *hg_cells_order(const struct hg_cells *cells, const uint32_t *subset, size_t n);

/* A fetch of rows is filtered like this: near[count], which cells' rows matter to some of the columns ids[n]; then the
 * rows asked for as stretches of one cell, of which hg_cells_next finds those that are near. */

void hg_cells_near(const struct hg_cells *cells, const uint32_t *ids, size_t n, uint8_t *near);

struct hg_stretches {
    size_t count;
    struct {
        uint32_t cell, end; /* from where the one before ends */
    } * of;                 /* [rows] */
};

void hg_cells_stretches(const struct hg_cells *cells, const uint32_t *ids, size_t n, struct hg_stretches *stretches);

struct hg_rows_near { /* rows [first, end); all 0: before the first ones */
    size_t first, end, next;
};

/* The next rows that matter; false: there are none left. */
bool hg_cells_next(const struct hg_stretches *stretches, const uint8_t *near, struct hg_rows_near *rows);

/* The parts of it, for two sets of points. */

/* Whether more than half of all pairs of a point of a and one of b seem to be at least that far apart. */
bool hg_cells_may_pay(const struct hg_points *a, const struct hg_points *b, double distance2);
/* Sorts ids[0..n) of points so that neighbours are side by side: leaves of about `leaf`. */
void hg_cells_sort(const struct hg_points *points, size_t leaf, uint32_t *ids, size_t n);
/* Makes box [2 * features]: the least value of each feature over points ids[0..n), n > 0, then the greatest. */
void hg_cells_box(const struct hg_points *points, const uint32_t *ids, size_t n, float *box);
/* Whether every pair of points in two boxes of d features is at least that far apart. */
bool hg_cells_are_far(const float *a, const float *b, size_t d, double distance2);

#endif
