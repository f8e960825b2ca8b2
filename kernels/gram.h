/*
 * A source of kernel rows over points: tile by tile of columns, as a maker (maker.h) makes them. Read lib/rows/source.h
 * before. One source serves one solver at a time; solvers that run side by side have a source each, over the same
 * points.
 */
#ifndef HG_GRAM_H
#define HG_GRAM_H

#include "kernels/cells.h"
#include "kernels/equal.h"
#include "kernels/maker.h"

/* Holds a source; its members are its own but for hg_gram_init's, and what a fetch changes is said. */
struct hg_gram {
    struct hg_rows super;
    struct hg_tiler tiler;
    struct hg_points points;    /* of these */
    const uint32_t *subset;     /* [super.n] points of this source; NULL: all */
    const void *norms;          /* [points.n] in the tiler's type; NULL where not needed */
    struct hg_table table;      /* the tiler's, where its maker wants one */
    uint32_t *order;            /* [super.n] the source's points by cell; NULL: no cells */
    struct hg_equal equal;      /* RBF by norms; otherwise empty */
    size_t tile_cols, max_rows; /* columns of a tile, and rows that are made together, at most */
    void *work;                 /* per thread and for the rows asked: allocated once */
    size_t work_bytes;
    struct hg_arena *lent; /* the caller's, for what is kept; or NULL */
    char *kept;            /* right sides by tile, for fetches of the same columns; or NULL */
    size_t kept_bytes;     /* of a tile */
};

/* Makes a source of the points subset [n] (NULL: all, and n = points->n). Rows are numbered 0 .. n - 1. `tiler` must
 * have kernel, maps, type and d set. The arrays behind points, subset, column and norms must outlive the source. On
 * failure nothing is left to be freed. */
hinge_status hg_gram_init(struct hg_gram *gram, const struct hg_tiler *tiler, const struct hg_points *points,
                          const uint32_t *subset, size_t n, const uint32_t *column, const void *norms, int threads,
                          hinge_error *err);
/* Has peers make sums of its rows with this process, in tiles that are narrow enough for all to have some; before its
 * first fetch. NULL: none. */
void hg_gram_share(struct hg_gram *gram, struct hg_peers *peers);
void hg_gram_free(struct hg_gram *gram);

#endif
