/*
 * What a source of kernel rows implements: two functions, of which the verbs of rows.h are made. The Gram matrix of
 * kernels/gram.c is one, a view of one problem's points (solver/smo/many.c) another, and tests have fakes. Read rows.h
 * before.
 */
#ifndef HG_SOURCE_H
#define HG_SOURCE_H

#include "lib/rows/rows.h"

/* Tells a source what the verbs of rows.h ask it for. */
struct hg_fetch {
    const uint32_t *rows; /* [n_rows] points */
    size_t n_rows;
    const uint32_t *cols; /* [n_cols] points; NULL: points 0 .. n_cols - 1 */
    size_t n_cols;
    void *const *out; /* [n_rows] where row r goes, [n_cols] values, a tile's before tile() sees it; NULL: not kept.
                           * out itself may be NULL */
    hg_tile_fn *tile; /* or NULL */
    void *arg;
    const int *stop;    /* polled between tiles (atomically): non-zero ends early, rows are then incomplete */
    uint64_t list;      /* not 0: the number of these columns, which come again under it and no others do */
    bool rough;         /* values known to be negligible may be left out: 0 in `out`, not given to tile(); and tile()
                           * takes tiles that add themselves, which do not go to `out` */
    size_t part, parts; /* parts > 0: tiles of the source's usual width whose number leaves `part` by `parts`; rows in
                           * `out` have the columns of these, one tile's after the other's */
    bool few;           /* parts are neighbouring tiles of hg_rows_few's width, hg_rows_part of them each */
};

struct hg_rows_ops {
    hinge_status (*diagonal)(const struct hg_rows *rows, double *diagonal, double *size); /* hg_rows_diagonal's */
    hinge_status (*fetch)(struct hg_rows *rows, const struct hg_fetch *fetch);
};

#endif
