/*
 * Tiles without BLAS: one side as lists of its non-zeros, or as vectors where most values are non-zeros; the other in
 * panels of columns that lie feature by feature. A dot product is then one multiply-add for each non-zero (value) of
 * the row, as many columns at once as a vector holds. Panels that are kept save the packing that GEMM does anew for
 * each call: most of its time where rows are few. Sums run over ascending features, stretch by stretch, so that an
 * entry's bits depend on nothing but its two vectors (and the level).
 *
 * Where features or non-zeros are few, training by GEMM takes up to four times the processor time, and training by
 * lists alone up to 1.4 times that by dense rows (doc/tried.md). Of 512 features and more dense rows are GEMM's
 * (cost.c), which decides where nobody asks: params.maker has whichever is wanted.
 */
#ifndef HG_PANEL_H
#define HG_PANEL_H

#include "kernels/map.h"
#include "lib/base/base.h"

enum {
    HG_PANEL_BYTES = 256, /* of one feature of a panel: 64 columns in f32, 32 in f64 */
    HG_STRETCH = 128      /* features at a time: so much of a panel stays in L1 */
};

static inline size_t hg_panel_cols(hinge_dtype type)
{
    return HG_PANEL_BYTES / hg_size_of(type);
}

/* The non-zeros of some vectors of d features. Vector r has its own from r * capacity on; those of stretch s of its
 * features end at end[r * stretches + s]. A left side owns them (maker.h). */
struct hg_lists {
    size_t stretches, capacity; /* capacity: d */
    bool dense;                 /* value has all features, zeros too; no end, no at */
    uint32_t *end;              /* [vectors * stretches] */
    uint32_t *at;               /* [vectors * capacity] feature * hg_panel_cols */
    void *value;                /* [vectors * capacity] in the tile's type */
};

/* Values that are not kept, but summed: sum[(r * m + k) * HG_SUM_LANES ..] += values of row r times coef[k * ld ..].
 * The lanes of a sum are the caller's to add up. */
enum { HG_SUM_LANES = 8, HG_ONES = 8 };

struct hg_sums {
    size_t m, ld;         /* m: 1 or 2 */
    const void *coef;     /* [m * ld] of the tile's columns on, in the tile's type */
    double *sum;          /* [rows * m * HG_SUM_LANES] */
    const uint64_t *ones; /* [rows * HG_ONES] a bit for each column, 1 where the value is to be 1; or NULL: none is */
};

/* Tells maps->panel what to fill: out[r][col .. col + n) with the kernel values of row r and a panel's n
 * columns. */
struct hg_panel_job {
    const hinge_kernel *kernel;
    const struct hg_lists *lists;
    size_t row0, rows; /* of the lists */
    const void *norm;  /* [rows] or NULL */
    void *sums;        /* work space of an even number of rows, [rows * hg_panel_cols], 64-byte aligned, where there
                         * are several stretches */
    void *const *out;  /* [rows], column 0 of the tile */
    const struct hg_sums *into; /* RBF; or NULL: to out */
};

#endif
